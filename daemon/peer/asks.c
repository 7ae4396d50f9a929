/* How much sessions may ask of other hosts at a time. */
#include "daemon/peer/asks.h"

#include "daemon/session/tenant.h"

enum pw_status pw_asks_begin(struct pw_dsession *session, struct pw_error *ret_err)
{
        struct pw_tenant *tenant = session->tenant;

        if (session->asks >= PW_ASKS_OF_SESSION)
                return pw_error_set(ret_err, PW_LIMIT, "%u requests of the session wait for other hosts, as many as may",
                                    session->asks);
        if (tenant->asks >= PW_ASKS_OF_TENANT)
                return pw_error_set(ret_err, PW_LIMIT, "%u requests of tenant %s wait for other hosts, as many as may",
                                    tenant->asks, tenant->name);
        session->asks++;
        tenant->asks++;
        return PW_OK;
}

void pw_asks_end(struct pw_tenant *tenant, struct pw_dsession *session)
{
        tenant->asks--;
        if (session)
                session->asks--;
}
