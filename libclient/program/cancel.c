/* Cancelling runs, asked of the daemon. */
#include "libclient/object/foreign.h"
#include "libclient/listing.h"
#include "libclient/session.h"

/* The daemon reads this session's rings before it looks for the run, so one that was just submitted is found. */
static enum pw_status cancel(struct pw_session *session, Pathways__Wire__Cancel *body, struct pw_error *ret_err)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_CANCEL;
        request.cancel = body;
        return pw_session_tell(session, &request, ret_err);
}

enum pw_status pw_cancel_object(struct pw_session *session, struct pw_id id, struct pw_error *ret_err)
{
        Pathways__Wire__Cancel body = PATHWAYS__WIRE__CANCEL__INIT;
        Pathways__Wire__ObjectId object = pw_wire_id(id);
        enum pw_status status = pw_session_check(session, ret_err);
        if (status != PW_OK)
                return status;
        body.object = &object;
        return cancel(session, &body, ret_err);
}

enum pw_status pw_cancel_run(struct pw_session *session, uint64_t run, struct pw_error *ret_err)
{
        Pathways__Wire__Cancel body = PATHWAYS__WIRE__CANCEL__INIT;
        enum pw_status status = pw_session_check(session, ret_err);
        if (status != PW_OK)
                return status;
        body.run = run;
        return cancel(session, &body, ret_err);
}

enum pw_status pw_cancel(struct pw_future *future, struct pw_error *ret_err)
{
        enum pw_status status = pw_future_check(future, ret_err);
        if (status != PW_OK)
                return status;
        return pw_cancel_object(pw_future_session(future), pw_future_local_id(future), ret_err);
}
