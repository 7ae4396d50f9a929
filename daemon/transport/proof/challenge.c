/* Challenge and answer, both ways. */
#include "daemon/transport/proof/challenge.h"

#include "base/memory.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

static const uint8_t magic[PW_CHALLENGE_MAGIC] = { 'p', 'w', 'C', 1 };

enum side { CALLER = 0, LISTENER = 1 };

/* Bytes of the steps: the caller's number; the other one's, and his hash; the caller's hash. */
static const uint32_t needs[PW_CHALLENGE_STEPS] = { PW_CHALLENGE_MAGIC + PW_CHALLENGE_NUMBER, PW_CHALLENGE_MAX, PW_CHALLENGE_HASH };

/* False: the library is out of memory. */
static bool make_hash(const struct pw_challenge *challenge, enum side side, uint8_t hash[PW_CHALLENGE_HASH])
{
        static const char labels[2][16] = { "pathways caller", "pathways listens" };
        uint8_t text[sizeof labels[0] + sizeof challenge->numbers + PW_CHALLENGE_ABOUT];
        unsigned bytes = PW_CHALLENGE_HASH;

        memcpy(text, labels[side], sizeof labels[side]);
        memcpy(text + sizeof labels[0], challenge->numbers, sizeof challenge->numbers);
        memcpy(text + sizeof labels[0] + sizeof challenge->numbers, challenge->about, PW_CHALLENGE_ABOUT);
        return HMAC(EVP_sha256(), challenge->secret->bytes, (int)challenge->secret->count, text, sizeof text, hash, &bytes) != NULL;
}

static enum pw_status no_memory(struct pw_error *ret_err)
{
        return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory for a keyed hash");
}

/* What this side says in the step, if it is this side's. */
static enum pw_status prepare(struct pw_challenge *challenge, struct pw_error *ret_err)
{
        uint8_t *at = challenge->bytes;

        challenge->done = 0;
        challenge->need = challenge->step < PW_CHALLENGE_STEPS ? needs[challenge->step] : 0;
        if (challenge->step == PW_CHALLENGE_STEPS || !pw_challenge_says(challenge))
                return PW_OK;
        if (challenge->step == 2)
                return make_hash(challenge, CALLER, at) ? PW_OK : no_memory(ret_err);
        memcpy(at, magic, sizeof magic);
        memcpy(at + sizeof magic, challenge->numbers[challenge->step], PW_CHALLENGE_NUMBER);
        if (challenge->step == 0)
                return PW_OK;
        return make_hash(challenge, LISTENER, at + sizeof magic + PW_CHALLENGE_NUMBER) ? PW_OK : no_memory(ret_err);
}

enum pw_status pw_challenge_begin(struct pw_challenge *challenge, const struct pw_secret *secret, bool caller,
                                  const uint8_t about[PW_CHALLENGE_ABOUT], struct pw_error *ret_err)
{
        *challenge = (struct pw_challenge){ .secret = secret, .caller = caller };
        memcpy(challenge->about, about, PW_CHALLENGE_ABOUT);
        if (RAND_bytes(challenge->numbers[caller ? CALLER : LISTENER], PW_CHALLENGE_NUMBER) != 1)
                return pw_error_set(ret_err, PW_SYSTEM, "no random number can be had");
        return prepare(challenge, ret_err);
}

static enum pw_status check_hash(const struct pw_challenge *challenge, enum side side, const uint8_t *hash,
                                 struct pw_error *ret_err)
{
        uint8_t right[PW_CHALLENGE_HASH];

        if (!make_hash(challenge, side, right))
                return no_memory(ret_err);
        if (CRYPTO_memcmp(right, hash, sizeof right) != 0)
                return pw_error_set(ret_err, PW_DENIED, "it does not know the secret of this host: give both one --secret-file, "
                                    "with nothing between them that carries their bytes on");
        return PW_OK;
}

/* What the other side said. */
static enum pw_status check(struct pw_challenge *challenge, struct pw_error *ret_err)
{
        const uint8_t *at = challenge->bytes;

        if (challenge->step == 2)
                return check_hash(challenge, CALLER, at, ret_err);
        memcpy(challenge->numbers[challenge->step], at + sizeof magic, PW_CHALLENGE_NUMBER);
        if (challenge->step == 0)
                return PW_OK;
        return check_hash(challenge, LISTENER, at + sizeof magic + PW_CHALLENGE_NUMBER, ret_err);
}

enum pw_status pw_challenge_moved(struct pw_challenge *challenge, size_t bytes, struct pw_error *ret_err)
{
        bool says = pw_challenge_says(challenge);
        enum pw_status status = PW_OK;

        challenge->done += (uint32_t)bytes;
        if (!says && challenge->step < 2 && memcmp(challenge->bytes, magic, pw_min_u64(challenge->done, sizeof magic)) != 0)
                return pw_error_set(ret_err, PW_PROTOCOL, "what it says is no challenge of a pathwaysd, or of another version");
        if (challenge->done < challenge->need)
                return PW_OK;
        if (!says)
                status = check(challenge, ret_err);
        if (status != PW_OK)
                return status;
        challenge->step++;
        return prepare(challenge, ret_err);
}
