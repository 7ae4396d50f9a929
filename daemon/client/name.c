/* Names, leases, frees: what changes who holds an object, by request. */
#include "daemon/client/name.h"

#include "base/memory.h"
#include "daemon/meta/meta.h"
#include "daemon/session/kept.h"
#include "daemon/session/object.h"
#include "daemon/session/output.h"
#include "daemon/wait.h"
#include "store/object.h"

#include <ctype.h>

#define NAME_MAX_BYTES 255
#define LOOKUPS_OF_SESSION 1024u  /* that wait: a thread each */
#define LOOKUPS_OF_TENANT 32768u
#define LOOKUP_BYTES 136           /* its record, its places in lists and the heap of ends */
#define WANTED_BYTES 96            /* of a name, besides its letters */
#define TOLD_PART 128u            /* lookups that are answered in a turn */

/* Lookups of one name of one tenant, that nobody has bound yet. In pw_clients.wanted, by the hash of both; chained, where that is
 * one. */
struct wanted {
        struct wanted *same_key;
        uint64_t key;
        struct pw_tenant *tenant;
        struct pw_list lookups;
        char name[];
};

struct lookup {
        struct pw_list link;         /* of its name; in daemon->clients.found once that is bound */
        struct pw_list of_session;
        struct pw_heap_item end;     /* in daemon->clients.lookups, by when it gives up, until it is found */
        struct pw_dsession *session;
        struct wanted *wanted;       /* NULL: found */
        uint64_t id;                 /* of the request */
        uint64_t since_us;
        struct pw_id object;         /* found: the session holds it, unless */
        enum pw_status status;       /* it could not: what is to be said instead */
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

/* --- lookups that wait -------------------------------------------------------------------------------------------------------- */

static struct wanted *find_wanted(const struct pw_daemon *daemon, const struct pw_tenant *tenant, const char *name)
{
        struct wanted *wanted = pw_table_get(&daemon->clients.wanted, pw_hash_pair(&daemon->hash_secret, tenant->name, name));

        while (wanted && (wanted->tenant != tenant || strcmp(wanted->name, name) != 0))
                wanted = wanted->same_key;
        return wanted;
}

static int64_t wanted_bytes(const struct wanted *wanted) { return WANTED_BYTES + (int64_t)strlen(wanted->name); }

static struct wanted *make_wanted(struct pw_daemon *daemon, struct pw_tenant *tenant, const char *name)
{
        struct wanted *wanted = malloc(sizeof *wanted + strlen(name) + 1);

        if (!wanted)
                return NULL;
        wanted->tenant = tenant;
        wanted->key = pw_hash_pair(&daemon->hash_secret, tenant->name, name);
        wanted->same_key = pw_table_get(&daemon->clients.wanted, wanted->key);
        pw_list_init(&wanted->lookups);
        strcpy(wanted->name, name);
        if (!pw_table_put(&daemon->clients.wanted, wanted->key, wanted)) {
                free(wanted);
                return NULL;
        }
        pw_kept_count(daemon, tenant, PW_KEPT_REQUESTS, wanted_bytes(wanted));
        return wanted;
}

/* Unless somebody still waits for it. */
static void forget_wanted(struct pw_daemon *daemon, struct wanted *wanted)
{
        struct wanted *first = pw_table_get(&daemon->clients.wanted, wanted->key), **at = &first;

        if (!pw_list_empty(&wanted->lookups))
                return;
        while (*at != wanted)
                at = &(*at)->same_key;
        *at = wanted->same_key;
        if (first)
                (void)!pw_table_put(&daemon->clients.wanted, wanted->key, first); /* its cell is there */
        else
                pw_table_remove(&daemon->clients.wanted, wanted->key);
        pw_kept_count(daemon, wanted->tenant, PW_KEPT_REQUESTS, -wanted_bytes(wanted));
        free(wanted);
}

static void free_lookup(struct lookup *lookup)
{
        struct pw_dsession *session = lookup->session;

        pw_list_remove(&lookup->link);
        pw_list_remove(&lookup->of_session);
        pw_heap_remove(&session->daemon->clients.lookups, &lookup->end);
        session->lookup_count--;
        session->tenant->lookups--;
        pw_kept_count(session->daemon, session->tenant, PW_KEPT_REQUESTS, -LOOKUP_BYTES);
        if (lookup->wanted)
                forget_wanted(session->daemon, lookup->wanted);
        free(lookup);
}

/* Errors: PW_LIMIT. */
static enum pw_status check_count(const struct pw_dsession *session, struct pw_error *ret_err)
{
        if (session->lookup_count >= LOOKUPS_OF_SESSION)
                return pw_error_set(ret_err, PW_LIMIT, "%u lookups of the session wait, as many as may", session->lookup_count);
        if (session->tenant->lookups >= LOOKUPS_OF_TENANT)
                return pw_error_set(ret_err, PW_LIMIT, "%u lookups of tenant %s wait, as many as may", session->tenant->lookups,
                                    session->tenant->name);
        return PW_OK;
}

static enum pw_status wait_for(struct pw_dsession *session, uint64_t id, const Pathways__Wire__NameLookup *request,
                               struct pw_error *ret_err)
{
        struct pw_daemon *daemon = session->daemon;
        uint64_t now_us = pw_now_us(), until_us = request->timeout_us < 0 ? UINT64_MAX : now_us + (uint64_t)request->timeout_us;
        enum pw_status status = check_count(session, ret_err);
        struct lookup *lookup = status == PW_OK ? calloc(1, sizeof *lookup) : NULL;
        struct wanted *wanted = lookup ? find_wanted(daemon, session->tenant, request->name) : NULL;

        if (lookup && !wanted)
                wanted = make_wanted(daemon, session->tenant, request->name);
        if (!wanted || !pw_heap_add(&daemon->clients.lookups, &lookup->end, until_us)) {
                if (wanted)
                        forget_wanted(daemon, wanted);
                free(lookup);
                return status != PW_OK ? status : pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a lookup");
        }
        lookup->session = session;
        lookup->wanted = wanted;
        lookup->id = id;
        lookup->since_us = now_us;
        pw_list_append(&wanted->lookups, &lookup->link);
        pw_list_append(&session->lookups, &lookup->of_session);
        session->lookup_count++;
        session->tenant->lookups++;
        pw_kept_count(daemon, session->tenant, PW_KEPT_REQUESTS, LOOKUP_BYTES);
        return PW_OK;
}

/* Whoever waits for the name has a reference from now on, before it can go again, or is told why not: nobody binds the name
 * once more for it. All are told, in parts. */
static void serve_lookups(const struct pw_dsession *binder, const char *name, struct pw_object *object)
{
        struct pw_daemon *daemon = binder->daemon;
        struct wanted *wanted = find_wanted(daemon, binder->tenant, name);
        struct lookup *lookup;

        if (!wanted)
                return;
        pw_list_each(&wanted->lookups, lookup, struct lookup, link) {
                struct pw_owner owner = { PW_OWNER_SESSION, lookup->session->number };

                lookup->status = pw_store_hold(daemon->store, object, owner, NULL);
                pw_heap_remove(&daemon->clients.lookups, &lookup->end);
                pw_list_remove(&lookup->link);
                pw_list_append(&daemon->clients.found, &lookup->link);
                lookup->wanted = NULL;
                lookup->object = pw_object_id(daemon->store, object);
        }
        forget_wanted(daemon, wanted);
        daemon->loop.more = true;
}

static void refuse_found(struct pw_dsession *session, uint64_t id, struct pw_id object, enum pw_status status)
{
        char object_text[PW_ID_TEXT_BYTES];
        struct pw_error err;

        pw_error_set(&err, status, "the name was bound to %s, and the session could not be given a reference to it: %s",
                     pw_id_format(object, object_text),
                     status == PW_NO_MEMORY ? "pathwaysd is out of memory" : pw_status_text(status));
        pw_session_reply_error(session, id, status, err.text);
}

bool pw_names_turn(struct pw_daemon *daemon)
{
        uint32_t told = 0;

        for (; told < TOLD_PART && !pw_list_empty(&daemon->clients.found); told++) {
                struct lookup *lookup = pw_list_first(&daemon->clients.found, struct lookup, link);
                struct pw_dsession *session = lookup->session;
                struct pw_id object = lookup->object;
                uint64_t id = lookup->id;
                enum pw_status status = lookup->status;

                free_lookup(lookup); /* telling may end the session, which would free it */
                if (status == PW_OK)
                        pw_session_reply_object(session, id, object);
                else
                        refuse_found(session, id, object, status);
        }
        return told;
}

void pw_names_session_end(struct pw_dsession *session)
{
        struct lookup *lookup;

        pw_list_each(&session->lookups, lookup, struct lookup, of_session)
                free_lookup(lookup);
}

static void each_of(const struct lookup *lookup, void (*row)(void *, const struct pw_wait_row *), void *context)
{
        if (lookup->wanted)
                row(context,
                    &(struct pw_wait_row){ .kind = PW_WAIT_KIND_NAME, .session = lookup->session, .name = lookup->wanted->name,
                                                    .since_us = lookup->since_us, .until_us = lookup->end.key });
}

void pw_names_each_wait(struct pw_daemon *daemon, const struct pw_dsession *session,
                        void (*row)(void *, const struct pw_wait_row *), void *context)
{
        const struct pw_heap *lookups = &daemon->clients.lookups;
        struct lookup *lookup;

        for (uint32_t i = 0; !session && i < lookups->count; i++)
                each_of(pw_container_of(lookups->items[i], struct lookup, end), row, context);
        if (session)
                pw_list_each(&session->lookups, lookup, struct lookup, of_session)
                        each_of(lookup, row, context);
}

void pw_names_each_wait_of(const struct pw_daemon *daemon, const struct pw_tenant *tenant, const char *name,
                           void (*row)(void *, const struct pw_wait_row *), void *context)
{
        const struct wanted *wanted = find_wanted(daemon, tenant, name);
        struct lookup *lookup;

        if (wanted)
                pw_list_each(&wanted->lookups, lookup, struct lookup, link)
                        each_of(lookup, row, context);
}

uint64_t pw_names_next_us(const struct pw_daemon *daemon) { return pw_heap_first_key(&daemon->clients.lookups); }

void pw_names_tick(struct pw_daemon *daemon, uint64_t now_us)
{
        for (uint32_t told = 0; pw_names_next_us(daemon) <= now_us; told++) {
                struct lookup *lookup = pw_container_of(pw_heap_first(&daemon->clients.lookups), struct lookup, end);
                struct pw_dsession *session = lookup->session;
                uint64_t id = lookup->id;
                struct pw_error err;

                if (told == TOLD_PART) {
                        daemon->loop.more = true;
                        return;
                }
                pw_error_set(&err, PW_DEADLINE, "name %s: nobody bound it before the deadline", lookup->wanted->name);
                free_lookup(lookup);
                pw_session_reply_error(session, id, PW_DEADLINE, err.text);
        }
}

void pw_names_done(struct pw_daemon *daemon)
{
        pw_table_done(&daemon->clients.wanted);
        pw_heap_done(&daemon->clients.lookups);
}

/* --- requests ----------------------------------------------------------------------------------------------------------------- */

/* For a time, where one is given. */
static enum pw_status bind_for(struct pw_dsession *session, const Pathways__Wire__NameBind *request, struct pw_object *object,
                               struct pw_error *ret_err)
{
        struct pw_store *store = session->daemon->store;
        const char *tenant = session->tenant->name;
        bool bound = pw_store_name_find(store, tenant, request->name) == object;
        uint64_t now_us = pw_now_us();
        enum pw_status status = pw_store_name_bind(store, tenant, request->name, object, ret_err);

        if (status != PW_OK || request->ttl_us <= 0)
                return status;
        status = pw_store_name_until(store, tenant, request->name, now_us + (uint64_t)request->ttl_us, ret_err);
        if (status != PW_OK && !bound)
                (void)!pw_store_name_remove(store, tenant, request->name, now_us, NULL);
        return status;
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
                status = bind_for(session, request, object, &err);
        answer(session, id, status, &err);
        if (status != PW_OK)
                return;
        pw_meta_name(daemon->meta, session->tenant->name, request->name, pw_object_id(daemon->store, object));
        serve_lookups(session, request->name, object);
}

void pw_name_ended(void *context, const char *tenant, const char *name, struct pw_id object)
{
        const struct pw_daemon *daemon = context;

        pw_meta_unname(daemon->meta, tenant, name, object);
}

void pw_name_remove(struct pw_dsession *session, uint64_t id, const Pathways__Wire__NameRemove *request)
{
        struct pw_daemon *daemon = session->daemon;
        struct pw_error err;
        enum pw_status status = pw_store_name_remove(daemon->store, session->tenant->name, request->name, pw_now_us(), &err);

        answer(session, id, status, &err);
}

void pw_name_lookup(struct pw_dsession *session, uint64_t id, const Pathways__Wire__NameLookup *request)
{
        struct pw_daemon *daemon = session->daemon;
        struct pw_error err;
        enum pw_status status = check_name(request->name, &err);
        struct pw_object *object = status == PW_OK ? pw_store_name_find(daemon->store, session->tenant->name, request->name) : NULL;

        if (object) {
                answer_object(session, id, object);
                return;
        }
        if (status == PW_OK)
                status = request->timeout_us == 0 ? pw_error_set(&err, PW_NOT_FOUND, "name %s: not bound", request->name)
                                                  : wait_for(session, id, request, &err);
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
