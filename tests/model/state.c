/* Memory under the explorer, and hashes of it. Each thread has an arena of its own, so that where its memory lies does not depend
 * on who else runs. */
#include "tests/model/explore_private.h"

#define ARENA_BYTES (1u << 20)
#define SHARED_ARENA MODEL_THREADS
#define PIECES 128u

static struct {
        uint8_t *arenas[MODEL_THREADS + 1], *unnamed; /* of each 4 bytes of the shared one: who used them (bits), and 0x80: wrote */
        size_t used[MODEL_THREADS + 1];
        uint32_t owner; /* of what begin() allocates */
        struct region pieces[PIECES]; /* what services have in memory that others know, without what was named */
        uint32_t piece_count;
} memory;

/* --- memory ---------------------------------------------------------------------------------------------------------- */

void model_alloc_for(int thread) { memory.owner = thread < 0 ? SHARED_ARENA : (uint32_t)thread; }

void *model_alloc(size_t bytes)
{
        uint32_t owner = x.self < 0 ? memory.owner : (uint32_t)x.self;
        uint8_t *place = memory.arenas[owner] + memory.used[owner];

        bytes = (bytes + 127) & ~(size_t)63; /* the size lies before it */
        if (memory.used[owner] + bytes + 64 > ARENA_BYTES)
                abort();
        memory.used[owner] += bytes;
        memset(place, 0, bytes);
        *(size_t *)(void *)place = bytes - 64;
        return place + 64;
}

void *model_realloc(void *old, size_t bytes)
{
        void *larger = model_alloc(bytes);

        if (old) {
                size_t old_bytes = *(size_t *)(void *)((uint8_t *)old - 64);
                memcpy(larger, old, old_bytes < bytes ? old_bytes : bytes);
        }
        return larger;
}

void model_free(void *place)
{
        if (place)
                memset(place, 0, *(size_t *)(void *)((uint8_t *)place - 64));
}

char *model_strdup(const char *text) { return strcpy(model_alloc(strlen(text) + 1), text); }

/* --- what the model names --------------------------------------------------------------------------------------------- */

static void add(struct regions *regions, const volatile void *place, size_t bytes, const volatile void *guard)
{
        if (regions->count == REGIONS)
                abort();
        regions->items[regions->count++] = (struct region){ .memory = place, .bytes = bytes, .guard = guard };
}

void model_share(const volatile void *place, size_t bytes) { add(&x.words, place, bytes, NULL); }
void model_share_plain(const volatile void *place, size_t bytes, const volatile void *word)
{
        add(word ? &x.plain : &x.views, place, bytes, word);
}
void model_check_sees(const volatile void *word, size_t bytes) { add(&x.views, word, bytes, NULL); }
void model_state(const void *place, size_t bytes) { add(&x.states, place, bytes, NULL); }

uint32_t pw_word_find(const volatile void *place)
{
        uint32_t i = 0;

        while (i < x.words.count && (uintptr_t)place - (uintptr_t)x.words.items[i].memory >= x.words.items[i].bytes)
                i++;
        return i < x.words.count ? i : REGIONS;
}

void pw_state_unnamed(const volatile void *place, bool writes)
{
        size_t at = (uintptr_t)place - (uintptr_t)memory.arenas[SHARED_ARENA];
        uint8_t *used;

        if (at >= ARENA_BYTES)
                return;
        used = &memory.unnamed[at / 4];
        *used |= (uint8_t)(1u << x.self | (writes ? 0x80 : 0));
        model_must(!(*used & 0x80) || !(*used & 0x7f & ((*used & 0x7f) - 1)), "a word has several users and was not named");
}

/* --- hashes ----------------------------------------------------------------------------------------------------------- */

uint64_t pw_mix(uint64_t hash, uint64_t value)
{
        hash = ((hash + 0x7f4a7c15) ^ value) * UINT64_C(0x9e3779b97f4a7c15); /* the sum: nothing that is read leaves 0 as it is */
        return hash ^ hash >> 29;
}

/* Four chains side by side: it is most of the work. */
uint64_t pw_mix_bytes(uint64_t hash, const void *place, size_t bytes)
{
        uint64_t chains[4] = { hash, hash + 1, hash + 2, hash + 3 }, words[4];
        const uint8_t *at = place;

        for (; bytes >= sizeof words; at += sizeof words, bytes -= sizeof words) {
                memcpy(words, at, sizeof words);
                for (int i = 0; i < 4; i++)
                        chains[i] = pw_mix(chains[i], words[i]);
        }
        memset(words, 0, sizeof words);
        memcpy(words, at, bytes);
        for (int i = 0; i < 4; i++)
                hash = pw_mix(hash, pw_mix(chains[i], words[i]));
        return hash;
}

uint64_t pw_mix_regions(uint64_t hash, const struct regions *regions)
{
        for (uint32_t i = 0; i < regions->count; i++) {
                const struct region *region = &regions->items[i];
                hash = region->guard ? pw_mix(hash, region->published)
                                     : pw_mix_bytes(hash, (const void *)(uintptr_t)region->memory, region->bytes);
        }
        return hash;
}

uint64_t pw_state(void)
{
        uint64_t hash = pw_mix(x.dead, x.kills);

        hash = pw_mix_regions(pw_mix_regions(pw_mix_regions(hash, &x.words), &x.plain), &x.views);
        for (int i = 0; i < x.thread_count; i++)
                hash = pw_mix(pw_mix(hash, x.threads[i].history), (uint64_t)x.threads[i].status << 2 |
                              (uint64_t)x.threads[i].started << 1 | x.threads[i].timed_out);
        return hash ? hash : 1;
}

/* --- the services' own ------------------------------------------------------------------------------------------------- */

/* [from, to) without what is named from region `first` on: words first, then plain. */
static void add_piece(uintptr_t from, uintptr_t to, uint32_t first)
{
        for (uint32_t i = first; i < x.words.count + x.plain.count && from < to; i++) {
                const struct region *named = i < x.words.count ? &x.words.items[i] : &x.plain.items[i - x.words.count];
                uintptr_t begin = (uintptr_t)named->memory, end = begin + named->bytes;
                if (end <= from || begin >= to)
                        continue;
                if (begin > from)
                        add_piece(from, begin, i + 1);
                from = end;
        }
        if (from >= to)
                return;
        if (memory.piece_count == PIECES)
                abort();
        memory.pieces[memory.piece_count++] = (struct region){ .memory = (const void *)from, .bytes = to - from };
}

void pw_state_begin(void)
{
        for (uint32_t i = 0; i <= MODEL_THREADS; i++) {
                if (!memory.arenas[i] && !(memory.arenas[i] = malloc(ARENA_BYTES)))
                        abort();
                memory.used[i] = 0;
        }
        if (!memory.unnamed && !(memory.unnamed = calloc(1, ARENA_BYTES / 4)))
                abort();
        memory.owner = SHARED_ARENA;
        x.words.count = x.plain.count = x.states.count = x.views.count = 0;
}

void pw_state_built(void)
{
        uintptr_t shared = (uintptr_t)memory.arenas[SHARED_ARENA];

        for (uint32_t i = 0; i < x.plain.count; i++) {
                struct region *region = &x.plain.items[i];
                region->published = pw_mix_bytes(1, (const void *)(uintptr_t)region->memory, region->bytes);
        }
        memory.piece_count = 0;
        add_piece(shared, shared + memory.used[SHARED_ARENA], 0);
        for (uint32_t i = 0; i < x.states.count; i++)
                add_piece((uintptr_t)x.states.items[i].memory, (uintptr_t)x.states.items[i].memory + x.states.items[i].bytes, 0);
}

uint64_t pw_state_of_services(uint32_t where)
{
        uint64_t hash = where;

        for (uint32_t i = 0; i < memory.piece_count; i++)
                hash = pw_mix_bytes(hash, (const void *)(uintptr_t)memory.pieces[i].memory, memory.pieces[i].bytes);
        for (int i = 0; i < x.thread_count; i++)
                if (x.threads[i].service)
                        hash = pw_mix_bytes(hash, memory.arenas[i], memory.used[i]);
        return hash;
}

/* --- sets --------------------------------------------------------------------------------------------------------------- */

static void grow(struct seen *seen)
{
        struct seen old = *seen;
        bool new;

        *seen = (struct seen){ .capacity = old.capacity ? 2 * old.capacity : 1 << 12 };
        seen->hashes = calloc(seen->capacity, sizeof *seen->hashes);
        seen->values = calloc(seen->capacity, sizeof *seen->values);
        if (!seen->hashes || !seen->values)
                abort();
        for (uint64_t i = 0; i < old.capacity; i++)
                if (old.hashes[i])
                        *pw_seen_put(seen, old.hashes[i], &new) = old.values[i];
        free(old.hashes);
        free(old.values);
}

uint32_t *pw_seen_put(struct seen *seen, uint64_t hash, bool *ret_new)
{
        if (4 * (seen->count + 1) > 3 * seen->capacity)
                grow(seen);
        for (uint64_t i = hash;; i++) {
                uint64_t place = i & (seen->capacity - 1);

                *ret_new = !seen->hashes[place];
                if (!*ret_new && seen->hashes[place] != hash)
                        continue;
                if (*ret_new) {
                        seen->hashes[place] = hash;
                        seen->count++;
                        seen->digest ^= pw_mix(hash, 1);
                }
                return &seen->values[place];
        }
}

void pw_seen_clear(struct seen *seen)
{
        free(seen->hashes);
        free(seen->values);
        *seen = (struct seen){ 0 };
}
