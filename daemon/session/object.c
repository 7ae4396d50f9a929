/* Objects by the ids that come from outside. */
#include "daemon/session/object.h"

#include "daemon/session/foreign.h"
#include "daemon/session/tenant.h"
#include "store/store.h"

static enum pw_status find_foreign(const struct pw_dsession *session, struct pw_id id, struct pw_object **ret_object,
                                   struct pw_error *ret_err)
{
        struct pw_daemon *daemon = session->daemon;
        const struct pw_foreign *foreign = daemon->registry.foreign;
        char text[PW_ID_TEXT_BYTES];

        *ret_object = foreign ? foreign->find(daemon, session->operator_ ? NULL : session->tenant->name, id) : NULL;
        if (*ret_object)
                return PW_OK;
        pw_id_format(id, text);
        if (pw_id_host(id) == daemon->host)
                return pw_error_set(ret_err, PW_NOT_FOUND, "%s: of an earlier life of this host, and nobody here holds it (this is "
                                    "h%u.%x)", text, daemon->host, daemon->epoch);
        return pw_error_set(ret_err, PW_NOT_FOUND, "%s: of host h%u, and nobody here holds it: ask there (this is h%u.%x)", text,
                            pw_id_host(id), daemon->host, daemon->epoch);
}

enum pw_status pw_object_of_id(struct pw_dsession *session, struct pw_id id, struct pw_object **ret_object,
                               struct pw_error *ret_err)
{
        struct pw_daemon *daemon = session->daemon;
        struct pw_object *object;
        char text[PW_ID_TEXT_BYTES];

        if (pw_id_host(id) != daemon->host || id.epoch != daemon->epoch)
                return find_foreign(session, id, ret_object, ret_err);
        object = pw_store_find(daemon->store, session->operator_ ? 0 : session->number, pw_id_segment(id), pw_id_slot(id),
                               id.generation);
        if (!object)
                return pw_error_set(ret_err, PW_GONE, "%s: there is no such object (any more)", pw_id_format(id, text));
        *ret_object = object;
        return PW_OK;
}

enum pw_status pw_object_by_id(struct pw_dsession *session, const Pathways__Wire__ObjectId *wire, struct pw_object **ret_object,
                               struct pw_error *ret_err)
{
        if (!wire)
                return pw_error_set(ret_err, PW_PROTOCOL, "a request without its object");
        return pw_object_of_id(session, (struct pw_id){ wire->place, wire->epoch, wire->generation }, ret_object, ret_err);
}
