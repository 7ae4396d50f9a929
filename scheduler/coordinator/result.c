/* Results of runs: made with the run, decided once, kept until their object is gone and nobody reads their rooms. */
#include "scheduler/state.h"

#include "base/bits.h"
#include "base/error.h"

/* Results that nobody has, kept to be used again. */
#define IDLE_MAX 4096u

static size_t result_bytes(uint32_t pool)
{
        size_t places = (size_t)1 << pool;

        return sizeof(struct pw_result_live) + places * sizeof(struct pw_room) + PW_BITS_WORDS(places) * sizeof(uint64_t);
}

static int64_t kept_bytes(const struct pw_result_live *result)
{
        return (int64_t)(result_bytes(result->pool) + PW_HEAP_BYTES + 2 * sizeof(void *)); /* its slot, here and at its host */
}

static struct pw_result_live *result_make(struct pw_scheduler *scheduler, uint32_t pool)
{
        struct pw_result_live *result = calloc(1, result_bytes(pool));

        if (!result)
                return NULL;
        result->slot = pw_handles_add(&scheduler->slots, result);
        if (!result->slot) {
                free(result);
                return NULL;
        }
        result->scheduler = scheduler;
        result->pool = pool;
        result->result.rooms = result->room_store;
        result->result.lost = (_Atomic uint64_t *)(result->room_store + ((size_t)1 << pool));
        pw_list_init(&result->result.link);
        return result;
}

static struct pw_result_live *result_alloc(struct pw_scheduler *scheduler, uint32_t room_count)
{
        uint32_t pool = 0;
        struct pw_result_live *result;

        while (1u << pool < room_count)
                pool++;
        if (pw_list_empty(&scheduler->idle_results[pool]))
                return result_make(scheduler, pool);
        result = pw_result_live(pw_list_first(&scheduler->idle_results[pool], struct pw_result, link));
        pw_list_remove(&result->result.link);
        scheduler->idle_result_count--;
        return result;
}

struct pw_result_live *pw_result_new(struct pw_live *live, uint32_t index)
{
        struct pw_sched_program *program = live->program;
        struct pw_result_type *type = program->types[index];
        uint32_t places = program->row.slices[type->value.slice].device_count;
        struct pw_result_live *result = result_alloc(program->scheduler, places);
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
        open->type = pw_type_use(type);
        open->room_count = open->users = 0;
        result->untold = type->slice_hosts;
        open->donated = false;
        open->losses = 0;
        pw_bits_clear(open->lost, places);
        pw_list_init(&result->waiters);
        /* by its parts: a copy of the whole would wait until they are written */
        result->maker.coordinator = program->scheduler->host;
        result->maker.epoch = program->scheduler->epoch;
        result->maker.number = live->run.number;
        result->kept = result->useless = result->let_go = result->gone = false;
        result->waiting = 0;
        result->sentence = 0;
        result->failed.status = PW_OK;
        pw_list_append(&program->scheduler->results, &open->link);
        return result;
}

void pw_result_free(struct pw_result_live *result)
{
        free(result->result.error);
        pw_type_leave(result->result.type, result->scheduler, result->quota);
        free(result);
}

void pw_result_recycle(struct pw_result_live *result)
{
        struct pw_scheduler *scheduler = result->scheduler;

        free(result->result.error);
        result->result.error = NULL;
        pw_type_leave(result->result.type, scheduler, result->quota);
        result->result.type = NULL;
        pw_list_remove(&result->result.link);
        pw_quota_records(scheduler, result->quota, -kept_bytes(result));
        if (scheduler->idle_result_count >= IDLE_MAX) {
                pw_handles_remove(&scheduler->slots, result->slot);
                free(result);
                return;
        }
        scheduler->idle_result_count++;
        pw_list_prepend(&scheduler->idle_results[result->pool], &result->result.link);
}

/* Who was not admitted because of it arrives: it has failed, so its rooms are not waited for. */
static void wake_waiters(struct pw_result_live *result)
{
        struct pw_live_input *input;

        pw_list_each(&result->waiters, input, struct pw_live_input, link)
                pw_input_arrived(input);
}

static void note_error(struct pw_result_live *result, enum pw_status status, const char *text)
{
        result->result.error = calloc(1, sizeof *result->result.error);
        if (!result->result.error)
                return;
        pw_error_set(result->result.error, status, "%s", text);
        if (!result->sentence)
                result->sentence = (uint32_t)strlen(result->result.error->text);
}

void pw_result_decide(struct pw_result_live *result, enum pw_status status, const char *text)
{
        struct pw_action *action = pw_action_add(result->scheduler, PW_ACT_RESULT);

        action->run = result->result.run;
        action->result = &result->result;
        action->status = result->result.status = status;
        if (status == PW_OK)
                return;
        pw_action_text(result->scheduler, action, text ? text : pw_status_text(status));
        note_error(result, status, action->text ? action->text : "");
        wake_waiters(result);
        pw_result_let_go(result);
}

/* --- what its host says ------------------------------------------------------------------------------------------------------- */

/* False: that host has told of it before. */
static bool tell_once(struct pw_live *live, uint32_t host, uint32_t result)
{
        uint64_t bit = (uint64_t)host * live->run.result_count + result;

        if (live->host_count == 1)
                return true;
        if (live->told[bit / 64] >> bit % 64 & 1)
                return false;
        live->told[bit / 64] |= UINT64_C(1) << bit % 64;
        return true;
}

enum pw_status pw_live_result(struct pw_live *live, uint32_t host, const struct pw_core_message *message,
                              const struct pw_core_body *body, struct pw_error *ret_err)
{
        struct pw_result_live *result = pw_result_live(live->run.results[message->result]);
        struct pw_error error;

        (void)body, (void)ret_err;
        if (result->result.status != PW_NOT_READY || !result->untold || !tell_once(live, host, message->result))
                return PW_EXISTS;
        if (--result->untold)
                return PW_OK;
        if (result->failed.status == PW_OK) {
                pw_result_decide(result, PW_OK, NULL);
                return PW_OK;
        }
        result->sentence = pw_result_sentence(result, &error);
        pw_result_decide(result, error.status, error.text);
        return PW_OK;
}

struct pw_result_live *pw_result_find(const struct pw_scheduler *scheduler, const struct pw_core_message *message)
{
        struct pw_result_live *result = pw_handles_get(&scheduler->slots, message->slot);

        return result && !result->gone && pw_same_run(&result->maker, &message->run) && result->result.index == message->result ?
                result : NULL;
}

/* It was good. */
static void lose(struct pw_result_live *result, enum pw_status status, const char *text)
{
        struct pw_result *open = &result->result;
        struct pw_action *action = pw_action_add(result->scheduler, PW_ACT_RESULT_LOST);

        open->status = status;
        note_error(result, status, text ? text : "");
        action->result = open;
        action->status = status;
        pw_action_text(result->scheduler, action, text ? text : pw_status_text(status));
}

/* Some places are lost by now. A host knows of its own alone: who held the same on another may have lost it before.
 * Or a host was given up that is done with its part before others are. */
static void went_on(struct pw_result_live *result, enum pw_status status, const char *text)
{
        struct pw_result *open = &result->result;

        open->losses++;
        if (pw_status_error(open->status))
                return;
        if (!pw_type_lives_on(open->type, open->room_count, open->lost)) {
                if (open->status == PW_OK)
                        lose(result, status, text);
                else if (result->failed.status == PW_OK) /* what is known already is said once it is written */
                        pw_result_decide(result, status, text);
        } else if (open->status == PW_OK) { /* else it becomes ready with these lost */
                pw_action_add(result->scheduler, PW_ACT_SHARDS_LOST)->result = open;
        }
}

static enum pw_status lose_place(struct pw_result_live *result, uint32_t place, struct pw_error *ret_err)
{
        struct pw_result *open = &result->result;

        if (place >= open->room_count)
                return pw_error_set(ret_err, PW_PROTOCOL, "result %u of run %lu has no place %u", open->index,
                                    (unsigned long)result->maker.number, place);
        if (pw_bits_has(open->lost, place))
                return PW_EXISTS;
        pw_bits_add(open->lost, place);
        went_on(result, PW_DEVICE_LOST, NULL);
        return PW_OK;
}

/* Of a run that has ended only the rooms are left to look at. */
static bool has_places(const struct pw_result *open, uint32_t host)
{
        if (open->run)
                return pw_places_of(&pw_live_of(open->run)->program->slices[open->type->value.slice], host);
        for (uint32_t place = 0; place < open->room_count; place++)
                if (open->rooms[place].host == host)
                        return true;
        return false;
}

enum pw_status pw_result_check(const struct pw_result_live *result, const struct pw_core_message *message,
                               struct pw_error *ret_err)
{
        const struct pw_result *open = &result->result;
        unsigned long number = (unsigned long)result->maker.number;
        bool one = message->kind == PW_CORE_LOST && message->status == PW_OK;

        if (!has_places(open, message->host) ||
            (one && message->place < open->room_count && open->rooms[message->place].host != message->host))
                return pw_error_set(ret_err, PW_PROTOCOL, "host %u tells of result %u of run %lu, and has no such place of it",
                                    message->host, open->index, number);
        return PW_OK;
}

enum pw_status pw_result_lost(struct pw_result_live *result, const struct pw_core_message *message,
                              const struct pw_core_body *body, struct pw_error *ret_err)
{
        struct pw_result *open = &result->result;

        if (message->status == PW_OK)
                return lose_place(result, message->place, ret_err);
        if (open->status == PW_NOT_READY && open->run && result->untold < result->result.type->slice_hosts)
                return pw_live_spoiled(pw_live_of(open->run), 0,
                                       &(struct pw_core_message){ .status = message->status, .result = open->index,
                                                                  .node = PW_NODE_NONE, .device = message->device },
                                       body, ret_err);
        if (open->status != PW_OK)
                return PW_EXISTS;
        lose(result, message->status, body->text);
        return PW_OK;
}

void pw_result_lose_host(struct pw_result_live *result, uint32_t host, const char *text)
{
        struct pw_result *open = &result->result;
        bool any = false;

        for (uint32_t place = 0; !open->donated && place < open->room_count; place++)
                if (open->rooms[place].host == host && !pw_bits_has(open->lost, place)) {
                        pw_bits_add(open->lost, place);
                        any = true;
                }
        if (any)
                went_on(result, PW_HOST_LOST, text);
}

/* --- its end ---------------------------------------------------------------------------------------------------------------- */

static void tell(const struct pw_result_live *result, enum pw_core_kind kind, uint32_t host)
{
        pw_core_tell(result->scheduler, &(struct pw_core_message){ .kind = kind, .run = result->maker, .slot = result->slot,
                                                                   .result = result->result.index,
                                                                   .host = result->result.type->hosts->numbers[host] }, NULL);
}

/* All hosts that have it. */
static void tell_all(const struct pw_result_live *result, enum pw_core_kind kind)
{
        const struct pw_live *live = result->result.run ? pw_live_of(result->result.run) : NULL;

        for (uint32_t host = 0; host < result->result.type->hosts->count; host++)
                if (!live || pw_live_is_asked(live, host))
                        tell(result, kind, host);
}

/* Nobody wants it, and no run reads it. */
static void maybe_release(struct pw_result_live *result)
{
        if (!result->kept || !result->useless || result->result.users)
                return;
        result->kept = false;
        tell_all(result, PW_CORE_RELEASE);
}

/* Nobody wants it but runs that read it, and these are all admitted: its rooms are sure to come back, if it has any of its own. */
static void maybe_let_go(struct pw_result_live *result)
{
        if (!result->kept || !result->useless || !result->result.users || result->waiting || result->let_go ||
            result->result.donated)
                return;
        result->let_go = true;
        tell_all(result, PW_CORE_LET_GO);
}

/* It may have become useless before, or been released where others have it. */
void pw_result_kept(struct pw_result_live *result, uint32_t host)
{
        bool useless = result->useless, read = result->result.users;

        if (useless && !read)
                tell(result, PW_CORE_RELEASE, host);
        else if (useless && !result->waiting)
                tell(result, PW_CORE_LET_GO, host);
        result->let_go |= useless && read && !result->waiting;
        result->kept = !useless || read;
}

void pw_result_let_go(struct pw_result_live *result)
{
        result->useless = true;
        pw_result_maybe_drop(result);
}

void pw_result_maybe_drop(struct pw_result_live *result)
{
        struct pw_result *open = &result->result;

        maybe_let_go(result);
        maybe_release(result);
        if (open->run || open->users || open->object || !result->useless || result->gone)
                return;
        result->gone = true;
        pw_list_remove(&open->link);
        pw_list_append(&result->scheduler->actions.gone_results, &open->link);
}

void pw_scheduler_result_free(struct pw_scheduler *scheduler, struct pw_result *open, uint64_t now_us)
{
        scheduler->now_us = now_us;
        open->object = NULL;
        if (open->run)
                pw_live_result_gone(pw_live_of(open->run));
        pw_result_let_go(pw_result_live(open));
}
