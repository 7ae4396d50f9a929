/* Names, leases, frees: what changes who holds an object, by request. */
#include "daemon/client/object/name.h"

#include "base/memory.h"
#include "daemon/session/foreign.h"
#include "daemon/session/object.h"
#include "daemon/session/output.h"
#include "daemon/wait.h"
#include "store/name.h"
#include "store/object.h"

#define OPEN_US 30000000u /* how long the home of a name that is looked up without waiting may take to answer */
#define TOLD_PART 128u /* requests that are answered in a turn */

static void answer(struct pw_dsession *session, uint64_t id, enum pw_status status, const struct pw_error *err)
{
        if (status == PW_OK)
                pw_session_reply_ok(session, id);
        else
                pw_session_reply_error(session, id, status, err->text);
}

void pw_name_answer_object(struct pw_dsession *session, uint64_t id, struct pw_object *object)
{
        struct pw_store *store = session->daemon->store;
        struct pw_error err;
        enum pw_status status = pw_store_hold(store, object, (struct pw_owner){ PW_OWNER_SESSION, session->number }, &err);

        if (status == PW_OK)
                pw_session_reply_object(session, id, pw_object_id(store, object), pw_object_cell(object));
        else
                pw_session_reply_error(session, id, status, err.text);
}

/* --- requests ----------------------------------------------------------------------------------------------------------------- */

static struct pw_name_request request_of(const struct pw_dsession *session, uint64_t id, const char *name)
{
        return (struct pw_name_request){ .session = session->number, .request = id, .tenant = session->tenant->name, .name = name,
                                         .now_us = pw_now_us() };
}

static bool is_foreign(const struct pw_daemon *daemon, struct pw_id id)
{
        return pw_id_host(id) != daemon->host || id.epoch != daemon->epoch;
}

/* The home of the object binds it. */
static enum pw_status bind_elsewhere(struct pw_dsession *session, uint64_t id, const Pathways__Wire__NameBind *request,
                                     struct pw_id object, struct pw_error *ret_err)
{
        const struct pw_foreign *foreign = session->daemon->registry.foreign;
        struct pw_foreign_name name = { .object = object, .name = request->name,
                                        .ttl_us = request->ttl_us > 0 ? request->ttl_us : 0 };

        if (!foreign)
                return pw_error_set(ret_err, PW_UNSUPPORTED, "no other host is dealt with: this one has no --listen");
        foreign->name(session, id, &name);
        return PW_OK;
}

/* What is accepted is answered once metadata has answered. */
void pw_name_bind(struct pw_dsession *session, uint64_t id, const Pathways__Wire__NameBind *request)
{
        struct pw_name_request ask = request_of(session, id, request->name);
        struct pw_store *store = session->daemon->store;
        struct pw_object *object;
        struct pw_error err;
        enum pw_status status = pw_store_name_check(request->name, &err);

        if (status == PW_OK)
                status = pw_object_by_id(session, request->object, &object, &err);
        if (status == PW_OK && is_foreign(session->daemon, pw_object_id(store, object)))
                status = bind_elsewhere(session, id, request, pw_object_id(store, object), &err);
        else if (status == PW_OK)
                status = pw_store_name_bind(store, &ask, object,
                                            request->ttl_us > 0 ? ask.now_us + (uint64_t)request->ttl_us : 0, &err);
        if (status != PW_OK)
                pw_session_reply_error(session, id, status, err.text);
}

/* Where it is not bound here the home of its object removes it, once metadata has said which that is. */
void pw_name_remove(struct pw_dsession *session, uint64_t id, const Pathways__Wire__NameRemove *request)
{
        struct pw_name_request ask = request_of(session, id, request->name);
        struct pw_error err;
        enum pw_status status = pw_store_name_remove(session->daemon->store, &ask, &err);

        ask.to_remove = true;
        if (status == PW_NOT_FOUND && pw_store_name_check(request->name, &err) == PW_OK)
                status = pw_store_name_look(session->daemon->store, &ask, &err);
        if (status != PW_OK)
                pw_session_reply_error(session, id, status, err.text);
}

void pw_name_lookup(struct pw_dsession *session, uint64_t id, const Pathways__Wire__NameLookup *request)
{
        struct pw_store *store = session->daemon->store;
        struct pw_name_request ask = request_of(session, id, request->name);
        uint64_t until_us = request->timeout_us < 0 ? UINT64_MAX : ask.now_us + (uint64_t)request->timeout_us;
        struct pw_error err;
        enum pw_status status = pw_store_name_check(request->name, &err);
        struct pw_object *object = status == PW_OK ? pw_store_name_find(store, ask.tenant, ask.name) : NULL;

        if (object) {
                pw_name_answer_object(session, id, object);
                return;
        }
        if (status == PW_OK)
                status = request->timeout_us == 0 ? pw_store_name_look(store, &ask, &err)
                                                  : pw_store_name_wait(store, &ask, until_us, &err);
        if (status != PW_OK)
                pw_session_reply_error(session, id, status, err.text);
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

/* --- answers ------------------------------------------------------------------------------------------------------------------ */

/* It is an object of this host, which drains, and has handed the name on: it may be here still. */
static void open_handed_on(struct pw_dsession *session, const struct pw_name_told *told)
{
        struct pw_store *store = session->daemon->store;
        struct pw_id id = told->object;
        struct pw_object *object = pw_store_find(store, 0, pw_id_segment(id), pw_id_slot(id), id.generation);
        char text[PW_ID_TEXT_BYTES];
        struct pw_error err;

        if (object && !strcmp(pw_object_tenant(store, object), session->tenant->name)) {
                pw_name_answer_object(session, told->request, object);
                return;
        }
        pw_error_set(&err, PW_BUSY, "host %s drains: name %s and its object %s are on host h%u now, attach there",
                     session->daemon->carried.host_name, told->name, pw_id_format(id, text), told->keeper);
        pw_session_reply_error(session, told->request, err.status, err.text);
}

/* Its name is known, and its home is asked for it: until the end of the wait for the name, if that was for a time. */
static void open_elsewhere(struct pw_dsession *session, const struct pw_name_told *told)
{
        const struct pw_foreign *foreign = session->daemon->registry.foreign;
        char text[PW_ID_TEXT_BYTES];
        struct pw_error err;

        if (foreign && told->to_remove)
                foreign->name(session, told->request, &(struct pw_foreign_name){ .object = told->object, .keeper = told->keeper,
                                                                                  .name = told->name, .removes = true });
        else if (foreign && !is_foreign(session->daemon, told->object))
                open_handed_on(session, told);
        else if (foreign)
                foreign->open(session, told->request, told->object, told->until_us ? told->until_us : pw_now_us() + OPEN_US);
        if (foreign)
                return;
        pw_error_set(&err, PW_UNSUPPORTED, "the name is bound to %s, on host h%u, with which this one does not deal: it has no "
                     "--listen", pw_id_format(told->object, text), pw_id_host(told->object));
        pw_session_reply_error(session, told->request, PW_UNSUPPORTED, err.text);
}

bool pw_names_turn(struct pw_daemon *daemon)
{
        struct pw_name_told told;
        uint32_t count = 0;

        for (; count < TOLD_PART && pw_store_name_told(daemon->store, &told); count++) {
                struct pw_dsession *session = pw_session_get(&daemon->registry, told.session);

                if (!session && daemon->registry.foreign)
                        daemon->registry.foreign->named(daemon, &told);
                if (!session || session->ended)
                        continue;
                if (told.status != PW_OK)
                        pw_session_reply_error(session, told.request, told.status, told.text);
                else if (told.elsewhere)
                        open_elsewhere(session, &told);
                else if (told.found)
                        pw_session_reply_object(session, told.request, told.object, told.cell);
                else
                        pw_session_reply_ok(session, told.request);
        }
        return count;
}

/* --- who waits ---------------------------------------------------------------------------------------------------------------- */

struct waits {
        struct pw_daemon *daemon;
        void (*row)(void *context, const struct pw_wait_row *row);
        void *context;
};

static void each_wait(void *context, const struct pw_name_wait_row *wait)
{
        const struct waits *waits = context;
        struct pw_dsession *session = pw_session_get(&waits->daemon->registry, wait->session);

        if (session)
                waits->row(waits->context, &(struct pw_wait_row){ .kind = wait->asks ? PW_WAIT_KIND_METADATA : PW_WAIT_KIND_NAME,
                                                                  .session = session, .name = wait->name,
                                                                  .since_us = wait->since_us, .until_us = wait->until_us });
}

void pw_names_each_wait(struct pw_daemon *daemon, const struct pw_dsession *session,
                        void (*row)(void *, const struct pw_wait_row *), void *context)
{
        struct waits waits = { daemon, row, context };

        pw_store_each_name_wait(daemon->store, session ? session->number : 0, each_wait, &waits);
}

void pw_names_each_wait_of(struct pw_daemon *daemon, const struct pw_tenant *tenant, const char *name,
                           void (*row)(void *, const struct pw_wait_row *), void *context)
{
        struct waits waits = { daemon, row, context };

        pw_store_each_wait_for_name(daemon->store, tenant->name, name, each_wait, &waits);
}
