/* SipHash-2-4. */
#include "base/hash.h"

#include "base/memory.h"

struct sip { uint64_t v0, v1, v2, v3; };

static uint64_t rotate(uint64_t x, unsigned bits) { return x << bits | x >> (64 - bits); }

static void mix(struct sip *sip)
{
        sip->v0 += sip->v1, sip->v1 = rotate(sip->v1, 13) ^ sip->v0, sip->v0 = rotate(sip->v0, 32);
        sip->v2 += sip->v3, sip->v3 = rotate(sip->v3, 16) ^ sip->v2;
        sip->v0 += sip->v3, sip->v3 = rotate(sip->v3, 21) ^ sip->v0;
        sip->v2 += sip->v1, sip->v1 = rotate(sip->v1, 17) ^ sip->v2, sip->v2 = rotate(sip->v2, 32);
}

static void take_word(struct sip *sip, uint64_t word)
{
        sip->v3 ^= word;
        mix(sip);
        mix(sip);
        sip->v0 ^= word;
}

static struct sip begin(const struct pw_hash_secret *secret)
{
        return (struct sip){ secret->words[0] ^ UINT64_C(0x736f6d6570736575), secret->words[1] ^ UINT64_C(0x646f72616e646f6d),
                             secret->words[0] ^ UINT64_C(0x6c7967656e657261), secret->words[1] ^ UINT64_C(0x7465646279746573) };
}

/* Up to 8 bytes, the first one lowest. */
static uint64_t word_of(const uint8_t *data, size_t bytes)
{
        uint64_t word = 0;

        for (size_t i = 0; i < bytes; i++)
                word |= (uint64_t)data[i] << 8 * i;
        return word;
}

static void take_bytes(struct sip *sip, const uint8_t *data, size_t bytes)
{
        size_t at = 0;

        for (; bytes - at >= 8; at += 8)
                take_word(sip, word_of(data + at, 8));
        take_word(sip, word_of(data + at, bytes - at) | (uint64_t)bytes << 56);
}

static uint64_t finish(struct sip *sip)
{
        sip->v2 ^= 0xff;
        for (int i = 0; i < 4; i++)
                mix(sip);
        return sip->v0 ^ sip->v1 ^ sip->v2 ^ sip->v3;
}

uint64_t pw_hash(const struct pw_hash_secret *secret, const void *data, size_t bytes)
{
        struct sip sip = begin(secret);

        take_bytes(&sip, data, bytes);
        return finish(&sip);
}

/* Each ends with its length, so that no byte can move from one to the other. */
uint64_t pw_hash_pair(const struct pw_hash_secret *secret, const char *first, const char *second)
{
        struct sip sip = begin(secret);

        take_bytes(&sip, (const uint8_t *)first, strlen(first));
        take_bytes(&sip, (const uint8_t *)second, strlen(second));
        return finish(&sip);
}
