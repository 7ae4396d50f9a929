/* Objects of other hosts, as clients ask for them. */
#include "daemon/client/object/foreign.h"

#include "base/memory.h"
#include "daemon/client/object/name.h"
#include "daemon/session/foreign.h"
#include "daemon/memory/fetch/fetch.h"
#include "daemon/session/object.h"
#include "store/fetched.h"
#include "store/proxy.h"

static uint64_t until(int64_t timeout_us) { return timeout_us < 0 ? UINT64_MAX : pw_now_us() + (uint64_t)timeout_us; }

/* One of this host, in this epoch. */
static void open_here(struct pw_dsession *session, uint64_t id, struct pw_id object_id)
{
        struct pw_object *object;
        struct pw_error err;
        enum pw_status status = pw_object_of_id(session, object_id, &object, &err);

        if (status == PW_OK)
                pw_name_answer_object(session, id, object);
        else
                pw_session_reply_error(session, id, status, err.text);
}

void pw_foreign_open(struct pw_dsession *session, uint64_t id, const Pathways__Wire__ObjectOpen *request)
{
        const struct pw_daemon *daemon = session->daemon;
        char text[PW_ID_TEXT_BYTES], sentence[PW_ID_TEXT_BYTES + 60];
        struct pw_id object;

        if (!request->object) {
                pw_session_reply_error(session, id, PW_PROTOCOL, "a request without its object");
                return;
        }
        object = (struct pw_id){ request->object->place, request->object->epoch, request->object->generation };
        if (pw_id_host(object) == daemon->host && object.epoch == daemon->epoch) {
                open_here(session, id, object);
        } else if (daemon->registry.foreign) {
                daemon->registry.foreign->open(session, id, object, until(request->timeout_us));
        } else if (pw_id_host(object) == daemon->host) {
                snprintf(sentence, sizeof sentence, "%s: the pathwaysd that had it has ended", pw_id_format(object, text));
                pw_session_reply_error(session, id, PW_GONE, sentence);
        } else {
                snprintf(sentence, sizeof sentence, "%s: no such host in this cluster", pw_id_format(object, text));
                pw_session_reply_error(session, id, PW_NOT_FOUND, sentence);
        }
}

void pw_foreign_fetch(struct pw_dsession *session, uint64_t id, const Pathways__Wire__ObjectFetch *request)
{
        struct pw_daemon *daemon = session->daemon;
        struct pw_object *object;
        struct pw_error err;
        enum pw_status status = pw_object_by_id(session, request->object, &object, &err);

        if (status != PW_OK)
                pw_session_reply_error(session, id, status, err.text);
        else if (pw_store_proxy_elsewhere(daemon->store, object) && daemon->registry.foreign)
                daemon->registry.foreign->fetch(session, id, object, until(request->timeout_us));
        else if (pw_store_is_apart(daemon->store, object))
                pw_fetch_request(session, id, object, until(request->timeout_us));
        else
                pw_session_reply_ok(session, id); /* what the entry says is all that there is */
}
