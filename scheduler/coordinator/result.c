/* Results of runs: made with the run, decided once, kept until their object is gone and nobody reads their rooms. */
#include "scheduler/state.h"

#include "base/bits.h"
#include "base/error.h"

/* Results that nobody has, kept to be used again. */
#define IDLE_MAX 4096u

static size_t result_bytes(uint32_t pool)
{
        size_t places = (size_t)1 << pool;

        return sizeof(struct pw_result_live) + places * (sizeof(struct pw_room) + sizeof(uint64_t)) +
               PW_BITS_WORDS(places) * sizeof(uint64_t);
}

static int64_t kept_bytes(const struct pw_result_live *result) { return (int64_t)(result_bytes(result->pool) + PW_HEAP_BYTES); }

static struct pw_result_live *result_alloc(struct pw_scheduler *scheduler, uint32_t room_count)
{
        uint32_t pool = 0;
        struct pw_result_live *result;

        while (1u << pool < room_count)
                pool++;
        if (!pw_list_empty(&scheduler->idle_results[pool])) {
                result = pw_result_live(pw_list_first(&scheduler->idle_results[pool], struct pw_result, link));
                pw_list_remove(&result->result.link);
                scheduler->idle_result_count--;
                return result;
        }
        result = calloc(1, result_bytes(pool));
        if (!result)
                return NULL;
        result->scheduler = scheduler;
        result->pool = pool;
        result->result.rooms = result->room_store;
        result->result.seqs = (uint64_t *)(result->room_store + ((size_t)1 << pool));
        result->result.lost = (_Atomic uint64_t *)(result->result.seqs + ((size_t)1 << pool));
        pw_list_init(&result->result.link);
        return result;
}

struct pw_result_live *pw_result_new(struct pw_live *live, uint32_t index)
{
        struct pw_program *program = live->program;
        const struct pw_image_value *value = pw_program_result_value(program, index);
        const struct pw_slice_map *map = &program->row.slices[value->slice];
        struct pw_result_live *result = result_alloc(program->scheduler, map->device_count);
        struct pw_result *open;

        if (!result)
                return NULL;
        result->quota = pw_live_quota(live);
        pw_quota_records(program->scheduler, result->quota, kept_bytes(result));
        open = &result->result;
        open->run = &live->run;
        open->index = index;
        open->program = program->row.program;
        open->object = NULL;
        open->status = PW_NOT_READY;
        open->error = NULL;
        open->value = *value;
        open->slice = map->id;
        memcpy(open->mesh, map->mesh, sizeof open->mesh);
        open->room_count = open->users = 0;
        open->donated = false;
        open->losses = 0;
        pw_bits_clear(open->lost, map->device_count);
        memset(open->seqs, 0, map->device_count * sizeof *open->seqs);
        pw_list_init(&result->waiters);
        pw_list_init(&result->readers);
        result->slice_serial = program->slices[value->slice].serial;
        result->maker = live->here;
        result->islands = program->plan.results[index].islands;
        result->ordered = 0;
        result->left = program->plan.results[index].writer_members;
        result->letting_go = result->given = result->gone = false;
        result->source = result->heir = NULL;
        result->sentence = 0;
        result->failed.status = PW_OK;
        pw_list_append(&program->scheduler->results, &open->link);
        return result;
}

void pw_result_recycle(struct pw_result_live *result)
{
        free(result->result.error);
        result->result.error = NULL;
        pw_list_remove(&result->result.link);
        pw_quota_records(result->scheduler, result->quota, -kept_bytes(result));
        if (result->scheduler->idle_result_count >= IDLE_MAX) {
                free(result);
                return;
        }
        result->scheduler->idle_result_count++;
        pw_list_append(&result->scheduler->idle_results[result->pool], &result->result.link);
}

/* Who was not admitted because of it arrives: it has failed, so its rooms are not waited for. */
static void wake_waiters(struct pw_result_live *result)
{
        struct pw_live_input *input;

        pw_list_each(&result->waiters, input, struct pw_live_input, link)
                pw_input_arrived(input);
}

void pw_result_decide(struct pw_result_live *result, enum pw_status status, const char *text)
{
        struct pw_action *action = pw_action_add(result->scheduler, PW_ACT_RESULT);

        action->run = result->result.run;
        action->result = &result->result;
        action->status = result->result.status = status;
        if (status == PW_OK)
                return;
        action->text = strdup(text ? text : pw_status_text(status));
        result->result.error = calloc(1, sizeof *result->result.error);
        if (result->result.error) {
                pw_error_set(result->result.error, status, "%s", action->text ? action->text : "");
                if (!result->sentence)
                        result->sentence = (uint32_t)strlen(result->result.error->text);
        }
        wake_waiters(result);
        pw_result_let_go(result);
}

void pw_result_member_done(struct pw_result_live *result)
{
        struct pw_error error;

        if (--result->left || result->result.status != PW_NOT_READY)
                return;
        if (result->failed.status == PW_OK) {
                pw_result_decide(result, PW_OK, NULL);
                return;
        }
        result->sentence = pw_result_sentence(result, &error);
        pw_result_decide(result, error.status, error.text);
}

static bool owns_rooms(const struct pw_result_live *result)
{
        return result->result.room_count && !result->result.donated && !result->given;
}

void pw_result_let_go(struct pw_result_live *result)
{
        const struct pw_result *open = &result->result;

        if (!result->letting_go && owns_rooms(result)) {
                for (uint32_t i = 0; i < open->room_count; i++)
                        pw_room_change(result->scheduler->devices[open->rooms[i].device], &open->rooms[i], PW_USE_RESULT,
                                       PW_USE_LETTING_GO);
                result->scheduler->look = true;
        }
        result->letting_go = true;
        pw_result_maybe_drop(result);
}

static void give_rooms(struct pw_result_live *result)
{
        const struct pw_result *open = &result->result;

        if (!owns_rooms(result))
                return;
        for (uint32_t i = 0; i < open->room_count; i++)
                pw_room_give(result->scheduler->devices[open->rooms[i].device], &open->rooms[i], PW_USE_LETTING_GO);
        result->given = result->scheduler->look = true;
}

static bool may_drop(const struct pw_result_live *result)
{
        return !result->result.run && !result->result.users && !result->source && !result->gone;
}

static void drop(struct pw_result_live *result)
{
        struct pw_result *open = &result->result;

        if (result->letting_go)
                give_rooms(result);
        if (open->object)
                return;
        result->gone = true;
        pw_list_remove(&open->link);
        pw_list_append(&result->scheduler->actions.gone_results, &open->link);
}

void pw_result_maybe_drop(struct pw_result_live *result)
{
        while (result && may_drop(result)) {
                struct pw_result_live *heir = result->heir;

                if (heir)
                        result->heir = heir->source = NULL;
                drop(result);
                result = heir;
        }
}

void pw_scheduler_result_free(struct pw_scheduler *scheduler, struct pw_result *open, uint64_t now_us)
{
        scheduler->now_us = now_us;
        open->object = NULL;
        if (open->run)
                pw_live_result_gone(pw_live_of(open->run));
        pw_result_let_go(pw_result_live(open));
}
