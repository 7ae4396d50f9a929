/* What is not in this host's memory: objects of other hosts, opened, and bytes, fetched, by the daemon. */
#include "libclient/object/foreign.h"

#include "base/memory.h"

static enum pw_status ask_for_bytes(struct pw_future *future, int64_t timeout_us, struct pw_error *ret_err)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__ObjectFetch fetch = PATHWAYS__WIRE__OBJECT_FETCH__INIT;
        Pathways__Wire__ObjectId object = pw_wire_id(pw_future_local_id(future));
        fetch.object = &object;
        fetch.timeout_us = timeout_us == PW_FOREVER ? -1 : timeout_us < 0 ? 0 : timeout_us;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_OBJECT_FETCH;
        request.object_fetch = &fetch;
        return pw_session_tell(pw_future_session(future), &request, ret_err);
}

enum pw_status pw_future_fetch(struct pw_future *future, int64_t timeout_us, uint64_t *word, struct pw_error *ret_err)
{
        char id[PW_ID_TEXT_BYTES];
        enum pw_status status = ask_for_bytes(future, timeout_us, ret_err);
        uint64_t now = pw_future_word(future);
        if (status != PW_OK && status != PW_DAEMON_GONE && pw_word_state(now) != PW_ENTRY_READY)
                return pw_future_error(future, now, ret_err); /* that came to be while its bytes were waited for */
        if (status == PW_DEADLINE && timeout_us <= 0)
                return pw_error_set(ret_err, PW_NOT_READY, pw_future_is_proxy(future) ? "%s: its bytes are not on this host yet"
                                                           : "%s: its bytes are on a device, and are being copied to host memory",
                                    pw_id_format(pw_future_id(future), id));
        if (status != PW_OK)
                return status;
        if (pw_word_state(now) != PW_ENTRY_READY)
                return pw_future_error(future, now, ret_err);
        /* One of this host: the daemon knows who holds it, and so another move, which has set the flag again, does nothing. */
        if (pw_word_elsewhere(now) && pw_future_is_proxy(future))
                return pw_error_set(ret_err, PW_PROTOCOL, "%s: pathwaysd says that its bytes are here, its entry that they are not",
                                    pw_id_format(pw_future_id(future), id));
        *word = now;
        return PW_OK;
}

enum pw_status pw_foreign_future(struct pw_session *session, struct pw_id id, struct pw_future **ret_future,
                                 struct pw_error *ret_err)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__ObjectOpen open = PATHWAYS__WIRE__OBJECT_OPEN__INIT;
        Pathways__Wire__ObjectId object = pw_wire_id(id);
        struct pw_answer answer;
        open.object = &object;
        open.timeout_us = PW_FOREIGN_OPEN_US;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_OBJECT_OPEN;
        request.object_open = &open;
        pw_session_ref(session); /* pw_close() may come meanwhile */
        enum pw_status status = pw_session_call(session, &request, PATHWAYS__WIRE__REPLY__BODY_OBJECT, &answer, ret_err);
        if (status == PW_OK) {
                status = pw_session_adopt(session, answer.reply->object, ret_future, ret_err);
                pw_answer_done(&answer);
        }
        pw_session_unref(session);
        return status;
}
