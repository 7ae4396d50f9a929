/* Transfer: an object is charged to another owner of its tenant, whom the request names as listings do. */
#include "daemon/client/object/transfer.h"

#include "base/memory.h"
#include "daemon/client/lane.h"
#include "daemon/client/object/name.h"
#include "daemon/session/object.h"
#include "daemon/session/output.h"
#include "store/object.h"

#include <stdlib.h>

#define NAME_WORD "name "
#define PID_WORD "pid "

static bool is_called(const struct pw_dsession *session, const char *to)
{
        char *end;

        if (strncmp(to, PID_WORD, strlen(PID_WORD)))
                return !strcmp(session->client, to);
        return strtol(to + strlen(PID_WORD), &end, 10) == session->pid && !*end;
}

/* Of the sessions of that process and tenant one that holds the object, else the oldest, as far as their lanes are read: for a part
 * of a round all together. NULL: there is none. */
static struct pw_dsession *find_session(struct pw_daemon *daemon, const struct pw_object *object, const char *to)
{
        const char *tenant = pw_object_tenant(daemon->store, object);
        struct pw_dsession *session, *oldest = NULL;

        daemon->clients.round++;
        for (uint32_t i = 0; (session = pw_table_next(&daemon->registry.sessions, &i));) {
                if (session->ended || session->role != PW_ROLE_CLIENT || strcmp(session->tenant->name, tenant) ||
                    !is_called(session, to))
                        continue;
                (void)pw_lanes_read_quantum(session, pw_lanes_pass(session)); /* what it has taken and given back counts */
                if (session->ended)
                        continue;
                if (pw_store_holds(daemon->store, object, session->number))
                        return session;
                if (!oldest || session->number < oldest->number)
                        oldest = session;
        }
        return oldest;
}

static enum pw_status to_session(struct pw_daemon *daemon, struct pw_object *object, const char *to, struct pw_error *ret_err)
{
        struct pw_dsession *session = find_session(daemon, object, to);

        if (!session || session->ended)
                return pw_error_set(ret_err, PW_NOT_FOUND,
                                    "transfer: no process of tenant %s that is attached is called %.100s; `pathways owners` lists "
                                    "owners",
                                    pw_object_tenant(daemon->store, object), to);
        return pw_store_transfer(daemon->store, object, session->number, pw_now_us(), ret_err);
}

static enum pw_status transfer(struct pw_dsession *session, const Pathways__Wire__Transfer *request, struct pw_error *ret_err)
{
        struct pw_daemon *daemon = session->daemon;
        struct pw_object *object;
        char text[PW_ID_TEXT_BYTES];
        enum pw_status status = pw_object_by_id(session, request->object, &object, ret_err);

        if (status != PW_OK)
                return status;
        if (!pw_store_holds(daemon->store, object, session->number))
                return pw_error_set(ret_err, PW_DENIED, "transfer: %s does not hold %s", session->client,
                                    pw_id_format(pw_object_id(daemon->store, object), text));
        if (!strncmp(request->to, NAME_WORD, strlen(NAME_WORD)))
                return pw_store_transfer_to_name(daemon->store, object, request->to + strlen(NAME_WORD), ret_err);
        return to_session(daemon, object, request->to, ret_err);
}

void pw_transfer_request(struct pw_dsession *session, uint64_t id, const Pathways__Wire__Transfer *request)
{
        struct pw_error err;
        enum pw_status status = transfer(session, request, &err);

        if (status == PW_OK)
                pw_session_reply_ok(session, id);
        else
                pw_session_reply_error(session, id, status, err.text);
}
