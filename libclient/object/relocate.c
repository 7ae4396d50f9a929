/* Moving a value to another memory: a copy is made there, by this process in host memory, by a run on devices; then the daemon
 * gives the object the place of the copy. */
#include "base/memory.h"
#include "libclient/object/foreign.h"
#include "libclient/object/unref.h"
#include "libclient/params.h"
#include "libclient/program/program.h"

#include <inttypes.h>
#include <time.h>

#define DEFAULT_TIMEOUT_US INT64_C(30000000)

struct move {
        struct pw_session *session;
        struct pw_future *future;
        struct pw_slice *slice; /* NULL: to host memory */
        struct pw_sharding sharding;
        struct pw_info info;
        int64_t started_ns, deadline_ns;
        bool is_result;         /* else a client put it */
};

static int64_t now_ns(void)
{
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int64_t left_us(const struct move *move)
{
        int64_t left_ns = move->deadline_ns - now_ns();
        if (move->deadline_ns == INT64_MAX)
                return PW_FOREVER;
        return left_ns > 1000 ? left_ns / 1000 : 1; /* 0 would be the default */
}

static void fill_id(Pathways__Wire__ObjectId *object, const struct pw_future *future)
{
        struct pw_id id = pw_future_local_id(future);
        object->place = id.place;
        object->epoch = id.epoch;
        object->generation = id.generation;
}

/* Give the object the place of `copy`; NULL: ask whether that could be now. */
static enum pw_status ask(const struct move *move, const struct pw_future *copy, struct pw_error *ret_err)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__Move body = PATHWAYS__WIRE__MOVE__INIT;
        Pathways__Wire__ObjectId object = PATHWAYS__WIRE__OBJECT_ID__INIT, with = PATHWAYS__WIRE__OBJECT_ID__INIT;
        fill_id(&object, move->future);
        body.object = &object;
        if (copy) {
                fill_id(&with, copy);
                body.with = &with;
        }
        body.took_us = (uint64_t)(now_ns() - move->started_ns) / 1000;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_MOVE;
        request.move = &body;
        return pw_session_tell(move->session, &request, ret_err);
}

/* --- copies ------------------------------------------------------------------------------------------------------------------ */

static enum pw_status copy_to_host(const struct move *move, struct pw_future **ret_copy, struct pw_error *ret_err)
{
        struct pw_put_params params = { .timeout_us = left_us(move) };
        struct pw_future *copy;
        void *data;
        enum pw_status status = pw_create(move->session, move->info.bytes, &params, &copy, &data, ret_err);
        if (status != PW_OK)
                return status;
        if (move->info.bytes)
                status = pw_future_gather(move->future, data, ret_err);
        if (status == PW_OK)
                status = pw_seal(copy, ret_err);
        if (status == PW_OK)
                *ret_copy = copy;
        else
                pw_unref(copy);
        return status;
}

static enum pw_status run_copy(const struct move *move, struct pw_program *program, struct pw_future **ret_copy,
                               struct pw_error *ret_err)
{
        struct pw_future *copy;
        uint64_t word;
        pw_result(program, pw_input(program, move->slice, move->info.dtype, move->info.dims, move->sharding, 0));
        enum pw_status status = pw_compile(program, ret_err);
        struct pw_run_params params = { .deadline_us = left_us(move) };
        if (status == PW_OK)
                status = pw_run_with(program, &move->future, 1, &params, &copy, ret_err);
        if (status != PW_OK)
                return status;
        status = pw_future_await(copy, PW_FOREVER, &word, ret_err); /* the run has the deadline */
        if (status == PW_OK && pw_future_status(word) != PW_OK)
                status = pw_future_error(copy, word, ret_err);
        if (status == PW_OK)
                *ret_copy = copy;
        else
                pw_unref(copy);
        return status;
}

static enum pw_status copy_to_devices(const struct move *move, struct pw_future **ret_copy, struct pw_error *ret_err)
{
        struct pw_program *program = pw_program_new(move->session, "pw_relocate");
        enum pw_status status = run_copy(move, program, ret_copy, ret_err);
        pw_program_free(program);
        return status;
}

/* --- the call ----------------------------------------------------------------------------------------------------------------- */

static enum pw_status check_params(const struct pw_relocate_params *params, const struct pw_future *future,
                                   struct pw_error *ret_err)
{
        if (params && params->timeout_us < 0)
                return pw_error_set(ret_err, PW_INVALID, "a timeout of %" PRId64 " us", params->timeout_us);
        if (params && params->slice && params->slice->session != pw_future_session(future))
                return pw_error_set(ret_err, PW_INVALID, "the slice is of another session than the future");
        return PW_OK;
}

/* Wait for the value; see that nothing else in the process refers to it through this handle. */
static enum pw_status prepare(struct move *move, struct pw_future *future, const struct pw_relocate_params *params,
                              struct pw_error *ret_err)
{
        int64_t timeout_us = params && params->timeout_us ? params->timeout_us : DEFAULT_TIMEOUT_US;
        uint64_t word;
        char id[PW_ID_TEXT_BYTES];
        *move = (struct move){ .session = pw_future_session(future), .future = future, .started_ns = now_ns() };
        move->slice = params ? params->slice : NULL;
        move->sharding = params ? params->sharding : PW_BROADCAST;
        move->deadline_ns = pw_deadline_ns(timeout_us);
        enum pw_status status = pw_future_await(future, timeout_us, &word, ret_err);
        if (status == PW_OK && pw_future_status(word) != PW_OK)
                status = pw_future_error(future, word, ret_err);
        if (status == PW_OK && pw_word_elsewhere(word) && !move->slice)
                status = pw_future_fetch(future, left_us(move), &word, ret_err);
        if (status == PW_OK)
                status = pw_future_info(future, &move->info, ret_err);
        if (status != PW_OK)
                return status;
        move->is_result = pw_future_segment(future)->kind == PW_SEGMENT_FUTURES;
        if ((atomic_load(&future->refs) & PW_REFS_COUNT) == 1)
                return PW_OK;
        return pw_error_set(ret_err, PW_BUSY, "%s: this process has a view of it, or another reference",
                            pw_id_format(pw_future_id(future), id));
}

/* It is in host memory already. */
static bool is_there(const struct move *move)
{
        const struct pw_shard_list *list;
        if (move->slice || !move->is_result)
                return !move->slice;
        return pw_future_shards(move->future, &list, NULL) == PW_OK && list->shards[0].device.device == PW_SHARD_IN_HOST;
}

enum pw_status pw_relocate_sized(struct pw_future **future, const struct pw_relocate_params *params, size_t params_bytes,
                                 struct pw_error *ret_err)
{
        struct pw_relocate_params known;
        if (!PW_PARAMS_KNOWN(params, params_bytes)) {
                enum pw_status status = pw_params_convert(
                        &(struct pw_params){ "pw_relocate()", params, params_bytes, &known, sizeof known }, ret_err);
                if (status != PW_OK)
                        return status;
                params = &known;
        }
        struct pw_future *copy = NULL;
        struct move move;
        enum pw_status status = pw_future_check(future ? *future : NULL, ret_err);
        if (status == PW_OK)
                status = check_params(params, *future, ret_err);
        if (status == PW_OK)
                status = prepare(&move, *future, params, ret_err);
        if (status != PW_OK || is_there(&move))
                return status;
        if (move.is_result)
                status = ask(&move, NULL, ret_err);
        if (status == PW_OK)
                status = move.slice ? copy_to_devices(&move, &copy, ret_err) : copy_to_host(&move, &copy, ret_err);
        if (status != PW_OK)
                return status;
        if (!move.is_result) { /* its id says where it was put */
                pw_unref(*future);
                *future = copy;
                return PW_OK;
        }
        status = ask(&move, copy, ret_err);
        pw_unref(copy);
        return status;
}
