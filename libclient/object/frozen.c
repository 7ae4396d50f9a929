/* Frozen puts: the value in a room of the session, from where the daemon copies it to where nobody else can write. */
#include "libclient/object/frozen.h"

#include "base/memory.h"

/* Room is waited for twice, within one time. */
static int64_t left_us(int64_t deadline_ns)
{
        if (deadline_ns == INT64_MAX)
                return -1;
        int64_t left = (deadline_ns - pw_now_ns() + 999) / 1000;
        return left > 0 ? left : 0;
}

static enum pw_status ask(const struct pw_future *staged, const struct pw_put_params *params, int64_t timeout_us,
                          struct pw_future **ret_future, struct pw_error *ret_err)
{
        struct pw_session *session = pw_future_session(staged);
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__Freeze freeze = PATHWAYS__WIRE__FREEZE__INIT;
        struct pw_dims dims = params->dims;
        struct pw_answer answer;
        freeze.lane = staged->lane->number;
        freeze.offset = staged->entry->room_offset;
        freeze.bytes = staged->entry->bytes;
        freeze.dtype = (uint32_t)params->dtype;
        freeze.n_dims = params->dtype == PW_OPAQUE ? 0 : dims.rank;
        freeze.dims = dims.dim;
        freeze.timeout_us = timeout_us;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_FREEZE;
        request.freeze = &freeze;
        enum pw_status status = pw_session_call(session, &request, PATHWAYS__WIRE__REPLY__BODY_OBJECT, &answer, ret_err);
        if (status != PW_OK)
                return status;
        status = pw_session_adopt(session, answer.reply->object, ret_future, ret_err);
        pw_answer_done(&answer);
        return status;
}

enum pw_status pw_put_flagged(struct pw_session *session, const struct pw_bytes *value, const struct pw_put_params *params,
                              struct pw_future **ret_future, struct pw_error *ret_err)
{
        struct pw_put_params plain = *params;
        struct pw_future *staged;
        void *room;
        if (params->flags != PW_PUT_FROZEN)
                return pw_error_set(ret_err, PW_INVALID, "flags 0x%llx of a put: there is only PW_PUT_FROZEN",
                                    (unsigned long long)params->flags);
        if (!value->data && value->bytes)
                return pw_error_set(ret_err, PW_INVALID, "data is NULL for %llu bytes", (unsigned long long)value->bytes);
        if (!ret_future)
                return pw_given_check(ret_future, "ret_future", ret_err);
        plain.flags = 0;
        int64_t deadline_ns = pw_deadline_ns(params->timeout_us ? params->timeout_us : PW_PUT_TIMEOUT_US);
        enum pw_status status = pw_create(session, value->bytes, &plain, &staged, &room, ret_err);
        if (status != PW_OK)
                return status;
        if (value->bytes)
                memcpy(room, value->data, value->bytes);
        status = ask(staged, params, left_us(deadline_ns), ret_future, ret_err);
        pw_unref(staged); /* what was only staged ends with PW_CANCELLED, which nobody sees */
        return status;
}
