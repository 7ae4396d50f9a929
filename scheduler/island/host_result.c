/* Results on their host: made with the run, kept until their coordinator has released them and nobody here reads their rooms. */
#include "scheduler/state.h"

#include "base/bits.h"
#include "base/memory.h"

/* Records that nobody has, kept to be used again. */
#define IDLE_MAX 4096u

static size_t record_bytes(uint32_t pool)
{
        size_t places = (size_t)1 << pool;

        return sizeof(struct pw_host_result) + places * (sizeof(struct pw_room) + sizeof(uint64_t)) +
               PW_BITS_WORDS(places) * sizeof(uint64_t);
}

static int64_t kept_bytes(const struct pw_host_result *result) { return (int64_t)(record_bytes(result->pool) + PW_HEAP_BYTES); }

static struct pw_host_result *alloc(struct pw_scheduler *scheduler, uint32_t room_count)
{
        struct pw_host_result *result;
        uint32_t pool = 0;

        while (1u << pool < room_count)
                pool++;
        if (!pw_list_empty(&scheduler->idle_host_results[pool])) {
                result = pw_list_first(&scheduler->idle_host_results[pool], struct pw_host_result, link);
                pw_list_remove(&result->link);
                scheduler->idle_host_result_count--;
                return result;
        }
        result = calloc(1, record_bytes(pool));
        if (!result)
                return NULL;
        result->scheduler = scheduler;
        result->pool = pool;
        result->rooms = result->room_store;
        result->seqs = (uint64_t *)(result->room_store + ((size_t)1 << pool));
        result->lost = (_Atomic uint64_t *)(result->seqs + ((size_t)1 << pool));
        pw_list_init(&result->link);
        return result;
}

static void recycle(struct pw_host_result *result)
{
        struct pw_scheduler *scheduler = result->scheduler;

        pw_list_remove(&result->link);
        pw_quota_records(scheduler, result->quota, -kept_bytes(result));
        pw_type_leave(result->type, scheduler, result->quota);
        result->type = NULL;
        if (scheduler->idle_host_result_count >= IDLE_MAX) {
                free(result);
                return;
        }
        scheduler->idle_host_result_count++;
        pw_list_prepend(&scheduler->idle_host_results[result->pool], &result->link);
}

struct pw_host_result *pw_host_result_new(struct pw_host_run *run, uint32_t index, uint32_t slot)
{
        struct pw_sched_program *program = run->program;
        struct pw_scheduler *scheduler = program->scheduler;
        struct pw_result_type *type = program->types[index];
        uint32_t places = program->row.slices[type->value.slice].device_count;
        struct pw_host_result *result;

        if (!pw_requester_reach(run->requester, slot))
                return NULL;
        result = alloc(scheduler, places);
        if (!result)
                return NULL;
        run->requester->results[slot] = result;
        result->requester = run->requester;
        result->quota = program->quota;
        pw_quota_records(scheduler, result->quota, kept_bytes(result));
        result->run = run->id;
        result->index = index;
        result->slot = slot;
        result->program = program->row.program;
        result->maker = run;
        result->type = pw_type_use(type);
        result->room_count = result->losses = result->ordered = 0;
        pw_bits_clear(result->lost, places);
        memset(result->seqs, 0, places * sizeof *result->seqs);
        result->islands = program->plan.results[index].islands;
        result->left = program->plan.results[index].writer_members;
        result->read_by = 0;
        pw_list_init(&result->readers);
        result->letting_go = result->released = result->donated = result->given = false;
        result->source = result->heir = NULL;
        pw_list_append(&scheduler->host_results, &result->link);
        return result;
}

struct pw_host_result *pw_host_result_find(const struct pw_scheduler *scheduler, const struct pw_run_id *run, uint32_t index,
                                           uint32_t slot)
{
        const struct pw_requester *requester = pw_requester_of(scheduler, run);
        struct pw_host_result *result = requester ? pw_requester_result(requester, slot) : NULL;

        return result && pw_same_run(&result->run, run) && result->index == index ? result : NULL;
}

void pw_host_result_member_done(struct pw_host_result *result)
{
        if (!--result->left)
                pw_core_tell(result->scheduler,
                             &(struct pw_core_message){ .kind = PW_CORE_RESULT, .run = result->run, .slot = result->maker->at,
                                                        .host = result->scheduler->host, .result = result->index }, NULL);
}

bool pw_host_result_is_here(const struct pw_host_result *result, uint32_t place)
{
        return result->rooms[place].host == result->scheduler->host;
}

static bool owns_rooms(const struct pw_host_result *result) { return result->room_count && !result->donated; }

enum pw_status pw_host_result_let_go(struct pw_host_result *result)
{
        if (result->letting_go)
                return PW_EXISTS;
        result->letting_go = true;
        for (uint32_t i = 0; owns_rooms(result) && i < result->room_count; i++)
                if (pw_host_result_is_here(result, i))
                        pw_room_change(result->scheduler->devices[result->rooms[i].device], &result->rooms[i], PW_USE_RESULT,
                                       PW_USE_LETTING_GO);
        result->scheduler->scan |= owns_rooms(result);
        return PW_OK;
}

static void give_rooms(struct pw_host_result *result)
{
        for (uint32_t i = 0; owns_rooms(result) && i < result->room_count; i++)
                if (pw_host_result_is_here(result, i))
                        pw_room_give(result->scheduler->devices[result->rooms[i].device], &result->rooms[i], PW_USE_LETTING_GO);
        result->scheduler->scan |= owns_rooms(result);
}

/* Nobody writes or reads its rooms any more, nor those of the one whose rooms it has. */
static bool is_over(const struct pw_host_result *result)
{
        return !result->maker && result->released && !result->source && !result->read_by;
}

void pw_host_result_left(struct pw_host_result *result)
{
        while (result && is_over(result)) {
                struct pw_host_result *heir = result->heir;

                if (heir)
                        heir->source = NULL;
                give_rooms(result);
                recycle(result);
                result = heir;
        }
}

/* Who comes later and has its number is another. */
enum pw_status pw_host_result_release(struct pw_host_result *result)
{
        if (result->released)
                return PW_EXISTS;
        pw_host_result_let_go(result);
        result->requester->results[result->slot] = NULL;
        result->released = true;
        pw_host_result_left(result);
        return PW_OK;
}

void pw_host_results_free(struct pw_scheduler *scheduler)
{
        struct pw_host_result *result;

        pw_list_each(&scheduler->host_results, result, struct pw_host_result, link) {
                pw_type_leave(result->type, scheduler, result->quota);
                free(result);
        }
        for (uint32_t i = 0; i < PW_RESULT_POOLS; i++)
                pw_list_each(&scheduler->idle_host_results[i], result, struct pw_host_result, link)
                        free(result);
}
