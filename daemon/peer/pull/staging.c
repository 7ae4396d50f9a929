/* Places for chunks, and the threads that fill them. */
#include "daemon/peer/pull/staging.h"

#include "base/memory.h"
#include "cluster/pull/pull_message.h"
#include "daemon/transport/crew.h"

#include <stdlib.h>
#include <sys/mman.h>

struct pw_staging {
        struct pw_peers *peers;
        size_t reserve_bytes;     /* of each host */
        void (*staged)(struct pw_peers *peers, uint64_t send, enum pw_status status);
        struct pw_crew *crew;
        struct pw_table reserves; /* host -> its places */
        struct pw_list works;     /* under way */
};

struct stage {
        struct pw_crew_work work; /* first */
        struct pw_list link;
        struct pw_staging *staging;
        struct pw_offered *offered;
        struct pw_staging_chunk chunk;
        uint8_t *to;
        enum pw_status status;
};

uint32_t pw_staging_slots(const struct pw_peers *peers)
{
        return (uint32_t)(peers->daemon->settings.link_reserve / PW_PULL_CHUNK_BYTES);
}

enum pw_status pw_staging_new(struct pw_peers *peers, void (*staged)(struct pw_peers *peers, uint64_t send, enum pw_status status),
                              struct pw_staging **ret_staging, struct pw_error *ret_err)
{
        struct pw_staging *staging = calloc(1, sizeof *staging);
        enum pw_status status;

        if (!staging)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for chunks on their way");
        staging->peers = peers;
        staging->reserve_bytes = (size_t)pw_staging_slots(peers) * PW_PULL_CHUNK_BYTES;
        staging->staged = staged;
        pw_list_init(&staging->works);
        status = pw_crew_new(&peers->daemon->loop, &staging->crew, ret_err);
        if (status == PW_OK)
                *ret_staging = staging;
        else
                free(staging);
        return status;
}

void pw_staging_free(struct pw_staging *staging)
{
        struct stage *stage;
        void *places;

        if (!staging)
                return;
        pw_crew_free(staging->crew);
        pw_list_each(&staging->works, stage, struct stage, link)
                free(stage);
        for (uint32_t at = 0; (places = pw_table_next(&staging->reserves, &at));)
                munmap(places, staging->reserve_bytes);
        pw_table_done(&staging->reserves);
        free(staging);
}

uint8_t *pw_staging_place(const struct pw_staging *staging, uint32_t host, uint32_t slot)
{
        return (uint8_t *)pw_table_get(&staging->reserves, host) + (size_t)slot * PW_PULL_CHUNK_BYTES;
}

/* NULL: out of memory. */
static void *reserve_of(struct pw_staging *staging, uint32_t host)
{
        void *places = pw_table_get(&staging->reserves, host);

        if (places)
                return places;
        places = mmap(NULL, staging->reserve_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (places == MAP_FAILED)
                return NULL;
        if (!pw_table_put(&staging->reserves, host, places)) {
                munmap(places, staging->reserve_bytes);
                return NULL;
        }
        pw_store_overhead(staging->peers->daemon->store, (int64_t)staging->reserve_bytes);
        return places;
}

/* --- filling ------------------------------------------------------------------------------------------------------------------ */

static void fill(struct pw_crew_work *work)
{
        struct stage *stage = (struct stage *)work;
        uint64_t first = (uint64_t)stage->chunk.chunk * PW_PULL_CHUNK_BYTES;

        uint32_t bytes = pw_pull_chunk_bytes(stage->offered->bytes, stage->chunk.chunk);

        stage->status = stage->offered->gather(stage->offered, first, bytes, stage->to);
}

static void filled(struct pw_crew_work *work)
{
        struct stage *stage = (struct stage *)work;

        stage->staging->staged(stage->staging->peers, stage->chunk.send, stage->status);
        pw_list_remove(&stage->link);
        free(stage);
}

enum pw_status pw_staging_fill(struct pw_staging *staging, struct pw_offered *offered, const struct pw_staging_chunk *chunk,
                               struct pw_error *ret_err)
{
        struct stage *stage = reserve_of(staging, chunk->host) ? calloc(1, sizeof *stage) : NULL;
        enum pw_status status;

        if (!stage)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a chunk on its way");
        *stage = (struct stage){ .work = { .work = fill, .done = filled }, .staging = staging, .offered = offered, .chunk = *chunk,
                                 .to = pw_staging_place(staging, chunk->host, chunk->slot) };
        pw_list_init(&stage->link);
        status = pw_crew_ask(staging->crew, &stage->work, ret_err);
        if (status == PW_OK)
                pw_list_append(&staging->works, &stage->link);
        else
                free(stage);
        return status;
}
