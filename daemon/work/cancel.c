/* Cancelling by request: of the run that makes an object, or of a run by its number. */
#include "daemon/work/cancel.h"

#include "daemon/session/object.h"
#include "daemon/session/output.h"
#include "store/object.h"

#include <inttypes.h>

/* The run behind an object that the session may touch; 0: it is decided, there is nothing to cancel. */
static enum pw_status run_of_object(struct pw_dsession *session, const Pathways__Wire__ObjectId *id, uint64_t *ret_run,
                                    struct pw_error *ret_err)
{
        struct pw_daemon *daemon = session->daemon;
        char text[PW_ID_TEXT_BYTES];
        struct pw_object *object;
        enum pw_status status = pw_object_by_id(session, id, &object, ret_err);

        if (status != PW_OK)
                return status;
        if (!pw_object_run(object))
                return pw_error_set(ret_err, PW_INVALID, "%s: no run makes it, so there is none to cancel",
                                    pw_id_format(pw_object_id(daemon->store, object), text));
        *ret_run = pw_word_decided(pw_entry_load(pw_object_entry(daemon->store, object))) ? 0 : object->run;
        return PW_OK;
}

/* Runs of other tenants are not there, except for operators. */
static enum pw_status check_run(struct pw_dsession *session, uint64_t number, struct pw_error *ret_err)
{
        const struct pw_run *run = pw_scheduler_run(session->daemon->scheduler, number);

        if (run && (session->operator_ || !strcmp(run->row->tenant, session->tenant->name)))
                return PW_OK;
        return pw_error_set(ret_err, PW_NOT_FOUND, "run %" PRIu64 ": tenant %s has none of that number under way", number,
                            session->tenant->name);
}

void pw_cancel_request(struct pw_dsession *session, uint64_t id, const Pathways__Wire__Cancel *request)
{
        uint64_t number = request->run;
        struct pw_error err;
        enum pw_status status = request->object ? run_of_object(session, request->object, &number, &err) : check_run(session,
                                                                                                                     number, &err);

        if (status != PW_OK) {
                pw_session_reply_error(session, id, status, err.text);
                return;
        }
        if (number)
                pw_scheduler_cancel(session->daemon->scheduler, number, session->client, pw_now_us());
        pw_session_reply_ok(session, id);
}
