/* Draining a host, asked of its daemon. */
#include "libclient/listing.h"
#include "libclient/session.h"

enum pw_status pw_drain_host(struct pw_session *session, const char *host, const char *to, int64_t timeout_us,
                             struct pw_error *ret_err)
{
        Pathways__Wire__Drain body = PATHWAYS__WIRE__DRAIN__INIT;
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        enum pw_status status = pw_session_check(session, ret_err);

        if (status != PW_OK)
                return status;
        body.host = (char *)(uintptr_t)host;
        body.to = (char *)(uintptr_t)(to ? to : "");
        body.timeout_us = timeout_us;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_DRAIN;
        request.drain = &body;
        return pw_session_tell(session, &request, ret_err);
}
