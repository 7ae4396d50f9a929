/* Names, leases, frees: what changes who holds an object, by request. */
#include "daemon/name.h"

#include "base/memory.h"
#include "daemon/inspect/waits.h"
#include "daemon/meta/meta.h"
#include "store/object.h"

#include <ctype.h>

#define NAME_MAX_BYTES 255

struct lookup {
        struct pw_list link; /* in daemon->lookups */
        uint32_t session;
        uint64_t id;         /* of the request */
        uint64_t since_us, until_us;
        char name[NAME_MAX_BYTES + 1];
};

static enum pw_status check_name(const char *name, struct pw_error *ret_err)
{
        size_t length = strlen(name);

        if (length < 1 || length > NAME_MAX_BYTES)
                return pw_error_set(ret_err, PW_INVALID, "name: %zu bytes, it has 1 to %d", length, NAME_MAX_BYTES);
        for (const char *c = name; *c; c++)
                if (!isgraph((unsigned char)*c))
                        return pw_error_set(ret_err, PW_INVALID, "name: byte %zu, 0x%02x, is not a printable ASCII character",
                                            (size_t)(c - name), (unsigned char)*c);
        return PW_OK;
}

enum pw_status pw_object_by_id(struct pw_dsession *session, const Pathways__Wire__ObjectId *wire, struct pw_object **ret_object,
                               struct pw_error *ret_err)
{
        struct pw_daemon *daemon = session->daemon;
        char text[PW_ID_TEXT_BYTES];
        struct pw_id id;
        struct pw_object *object;

        if (!wire)
                return pw_error_set(ret_err, PW_PROTOCOL, "a request without its object");
        id = (struct pw_id){ wire->place, wire->epoch, wire->generation };
        if (pw_id_host(id) != daemon->host || id.epoch != daemon->epoch)
                return pw_error_set(ret_err, PW_NOT_FOUND,
                                    "%s: of another host, or of an earlier life of this one (this is h%u.%x)",
                                    pw_id_format(id, text), daemon->host, daemon->epoch);
        object = pw_store_find(daemon->store, session->operator_ ? 0 : session->number, pw_id_segment(id), pw_id_slot(id),
                               id.generation);
        if (!object)
                return pw_error_set(ret_err, PW_GONE, "%s: there is no such object (any more)", pw_id_format(id, text));
        *ret_object = object;
        return PW_OK;
}

static void answer(struct pw_dsession *session, uint64_t id, enum pw_status status, const struct pw_error *err)
{
        if (status == PW_OK)
                pw_session_reply_ok(session, id);
        else
                pw_session_reply_error(session, id, status, err->text);
}

/* The reference for `session` is taken before the reply leaves. */
static void answer_object(struct pw_dsession *session, uint64_t id, struct pw_object *object)
{
        struct pw_store *store = session->daemon->store;
        struct pw_error err;
        enum pw_status status = pw_store_hold(store, object, (struct pw_owner){ PW_OWNER_SESSION, session->number }, &err);

        if (status == PW_OK)
                pw_session_reply_object(session, id, pw_object_id(store, object));
        else
                pw_session_reply_error(session, id, status, err.text);
}

/* Whoever waits for `name` in the tenant of `binder` gets it. */
static void serve_lookups(struct pw_dsession *binder, const char *name, struct pw_object *object)
{
        struct pw_daemon *daemon = binder->daemon;
        struct lookup *lookup;

        pw_list_each(&daemon->lookups, lookup, struct lookup, link) {
                struct pw_dsession *session = pw_session_get(daemon, lookup->session);

                if (!session || session->tenant != binder->tenant || strcmp(lookup->name, name) != 0)
                        continue;
                answer_object(session, lookup->id, object);
                pw_list_remove(&lookup->link);
                free(lookup);
        }
}

void pw_name_bind(struct pw_dsession *session, uint64_t id, const Pathways__Wire__NameBind *request)
{
        struct pw_daemon *daemon = session->daemon;
        struct pw_object *object;
        struct pw_error err;
        enum pw_status status = check_name(request->name, &err);

        if (status == PW_OK)
                status = pw_object_by_id(session, request->object, &object, &err);
        if (status == PW_OK)
                status = pw_store_name_bind(daemon->store, session->tenant->name, request->name, object, &err);
        answer(session, id, status, &err);
        if (status != PW_OK)
                return;
        pw_meta_name(daemon->meta, session->tenant->name, request->name, pw_object_id(daemon->store, object));
        serve_lookups(session, request->name, object);
}

void pw_name_remove(struct pw_dsession *session, uint64_t id, const Pathways__Wire__NameRemove *request)
{
        struct pw_daemon *daemon = session->daemon;
        struct pw_error err;
        enum pw_status status = pw_store_name_remove(daemon->store, session->tenant->name, request->name, pw_now_us(), &err);

        if (status == PW_OK)
                pw_meta_unname(daemon->meta, session->tenant->name, request->name);
        answer(session, id, status, &err);
}

void pw_name_lookup(struct pw_dsession *session, uint64_t id, const Pathways__Wire__NameLookup *request)
{
        struct pw_daemon *daemon = session->daemon;
        struct pw_error err;
        enum pw_status status = check_name(request->name, &err);
        struct pw_object *object = status == PW_OK ? pw_store_name_find(daemon->store, session->tenant->name, request->name) : NULL;
        struct lookup *lookup;

        if (object) {
                answer_object(session, id, object);
                return;
        }
        if (status == PW_OK && request->timeout_us == 0)
                status = pw_error_set(&err, PW_NOT_FOUND, "name %s: not bound", request->name);
        lookup = status == PW_OK ? calloc(1, sizeof *lookup) : NULL;
        if (!lookup) {
                pw_session_reply_error(session, id, status == PW_OK ? PW_NO_MEMORY : status,
                                       status == PW_OK ? "pathwaysd is out of memory" : err.text);
                return;
        }
        lookup->session = session->number;
        lookup->id = id;
        lookup->since_us = pw_now_us();
        lookup->until_us = request->timeout_us < 0 ? UINT64_MAX : pw_now_us() + (uint64_t)request->timeout_us;
        strcpy(lookup->name, request->name); /* check_name() measured it */
        pw_list_append(&daemon->lookups, &lookup->link);
}

void pw_name_lease(struct pw_dsession *session, uint64_t id, const Pathways__Wire__Lease *request)
{
        struct pw_object *object;
        struct pw_error err;
        enum pw_status status = request->ttl_us > 0 ? PW_OK : pw_error_set(&err, PW_INVALID, "lease: lasts %lld us, at least 1",
                                                                            (long long)request->ttl_us);

        if (status == PW_OK)
                status = pw_object_by_id(session, request->object, &object, &err);
        if (status == PW_OK)
                status = pw_store_lease(session->daemon->store, object, pw_now_us() + (uint64_t)request->ttl_us, &err);
        answer(session, id, status, &err);
}

void pw_name_free(struct pw_dsession *session, uint64_t id, const Pathways__Wire__Free *request)
{
        struct pw_object *object;
        struct pw_error err;
        enum pw_status status = pw_object_by_id(session, request->object, &object, &err);

        if (status == PW_OK)
                status = pw_store_free_object(session->daemon->store, object, request->force, pw_now_us(), &err);
        answer(session, id, status, &err);
}

void pw_names_session_end(struct pw_dsession *session)
{
        struct lookup *lookup;

        pw_list_each(&session->daemon->lookups, lookup, struct lookup, link) {
                if (lookup->session != session->number)
                        continue;
                pw_list_remove(&lookup->link);
                free(lookup);
        }
}

void pw_names_each_wait(struct pw_daemon *daemon, const struct pw_dsession *session,
                        void (*row)(void *, const struct pw_wait_row *), void *context)
{
        struct lookup *lookup;

        pw_list_each(&daemon->lookups, lookup, struct lookup, link) {
                struct pw_dsession *asker = pw_session_get(daemon, lookup->session);

                if (asker && (!session || asker == session))
                        row(context, &(struct pw_wait_row){ .kind = PW_WAIT_KIND_NAME, .session = asker, .name = lookup->name,
                                                            .since_us = lookup->since_us, .until_us = lookup->until_us });
        }
}

uint64_t pw_names_next_us(const struct pw_daemon *daemon)
{
        uint64_t next_us = UINT64_MAX;
        struct lookup *lookup;

        pw_list_each(&daemon->lookups, lookup, struct lookup, link)
                next_us = pw_min_u64(next_us, lookup->until_us);
        return next_us;
}

void pw_names_tick(struct pw_daemon *daemon, uint64_t now_us)
{
        struct lookup *lookup;

        pw_list_each(&daemon->lookups, lookup, struct lookup, link) {
                struct pw_dsession *session = pw_session_get(daemon, lookup->session);
                struct pw_error err;

                if (lookup->until_us > now_us)
                        continue;
                pw_list_remove(&lookup->link);
                pw_error_set(&err, PW_DEADLINE, "name %s: nobody bound it before the deadline", lookup->name);
                if (session)
                        pw_session_reply_error(session, lookup->id, PW_DEADLINE, err.text);
                free(lookup);
        }
}
