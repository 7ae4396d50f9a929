/* The other host: on the daemon's loop thread. */
#include "tests/threads/other_host.h"

#include "base/memory.h"
#include "daemon/memory/freezer/proxies.h"
#include "daemon/memory/freezer/replica.h"
#include "daemon/session/foreign.h"
#include "daemon/session/output.h"
#include "daemon/session/tenant.h"
#include "store/object.h"
#include "store/proxy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

_Atomic uint32_t other_opened, other_fetched, other_freed;

/* Who waits for a slot, or for bytes. */
struct wait { struct pw_daemon *daemon; uint32_t session, slot; uint64_t request; };

static struct { struct pw_cell cell; bool decided; } known[OTHER_NONE];

static struct pw_object *proxy_of(struct pw_daemon *daemon, uint32_t slot)
{
        return slot && slot < OTHER_NONE ? pw_store_proxy_find(daemon->store, known[slot].cell) : NULL;
}

static uint64_t bytes_of(uint32_t slot)
{
        switch (slot) {
        case OTHER_MATRIX: return 48;
        case OTHER_EMPTY: return 0;
        case OTHER_LARGE: return OTHER_LARGE_BYTES;
        case OTHER_HUGE: return UINT64_C(1) << 30;
        default: return OTHER_BYTES_COUNT;
        }
}

static void decide(struct pw_daemon *daemon, uint32_t slot)
{
        struct pw_value_type type = { PW_OPAQUE, { 1, { bytes_of(slot) } } };
        struct pw_decision decision = { .bytes = bytes_of(slot), .elsewhere = &type };

        if (slot == OTHER_MATRIX)
                type = (struct pw_value_type){ PW_F32, { 2, { 3, 4 } } };
        if (slot == OTHER_FAILED)
                decision = (struct pw_decision){ .status = PW_FAILED, .text = "function a/b failed on device h3:1" };
        pw_store_decide(daemon->store, proxy_of(daemon, slot), &decision, pw_now_us());
        daemon->loop.more = true;
}

static void tell(struct pw_daemon *daemon, uint32_t number, uint64_t request, struct pw_object *object, const struct pw_error *err)
{
        struct pw_dsession *session = pw_session_get(&daemon->registry, number);
        struct pw_error held;

        if (!session)
                return;
        if (object && pw_store_hold(daemon->store, object, (struct pw_owner){ PW_OWNER_SESSION, number }, &held) != PW_OK)
                object = NULL, err = &held;
        if (object)
                pw_session_reply_object(session, request, pw_object_id(daemon->store, object), pw_object_cell(object));
        else
                pw_session_reply_error(session, request, err->status, err->text);
}

static void made(void *context, struct pw_object *object, const struct pw_error *err)
{
        struct wait *wait = context;
        struct pw_daemon *daemon = wait->daemon;

        if (object)
                known[wait->slot].cell = pw_object_cell(object);
        tell(daemon, wait->session, wait->request, object, err);
        if (object && wait->slot != OTHER_LATE)
                decide(daemon, wait->slot);
        if (object)
                pw_proxies_handed_out(daemon, object);
        free(wait);
}

static struct wait *note(struct pw_dsession *session, uint64_t request, uint32_t slot)
{
        struct wait *wait = malloc(sizeof *wait);

        assert_non_null(wait);
        *wait = (struct wait){ session->daemon, session->number, slot, request };
        return wait;
}

static void command(struct pw_daemon *daemon, uint32_t slot)
{
        struct pw_object *object = proxy_of(daemon, slot & 0xff);

        if (object && slot & OTHER_DECIDE)
                decide(daemon, slot & 0xff);
        else if (object)
                pw_store_lose(daemon->store, object, PW_HOST_LOST, "host h3 was lost", pw_now_us());
        daemon->loop.more = true;
}

static void open_there(struct pw_dsession *session, uint64_t request, struct pw_id id, uint64_t until_us)
{
        uint32_t slot = pw_id_slot(id);
        struct pw_object *object = proxy_of(session->daemon, slot);
        struct pw_proxy_want want = { session->tenant, id, slot, until_us, made, NULL };
        struct pw_error err;

        if (slot >= OTHER_NONE) {
                command(session->daemon, slot);
                pw_session_reply_error(session, request, PW_NOT_FOUND, "h3 has no such object");
        } else if (object) {
                tell(session->daemon, session->number, request, object, NULL);
        } else {
                atomic_fetch_add(&other_opened, 1);
                want.context = note(session, request, slot);
                assert_int_equal(pw_proxies_make(session->daemon, &want, &err), PW_OK);
        }
}

static void room(void *context, struct pw_replica *replica, const struct pw_error *err)
{
        struct wait *wait = context;
        struct pw_dsession *session = pw_session_get(&wait->daemon->registry, wait->session);
        struct pw_object *object = proxy_of(wait->daemon, wait->slot);
        struct pw_error late;

        if (!err) {
                memset(pw_replica_bytes(replica), (int)wait->slot, bytes_of(wait->slot));
                (void)!pw_replica_done(wait->daemon, replica, object, &late); /* PW_GONE: it is here already */
        }
        if (session && err)
                pw_session_reply_error(session, wait->request, err->status, err->text);
        else if (session)
                pw_session_reply_ok(session, wait->request);
        free(wait);
}

static void fetch(struct pw_dsession *session, uint64_t request, struct pw_object *object, uint64_t until_us)
{
        struct pw_daemon *daemon = session->daemon;
        uint32_t slot = (uint32_t)object->run;
        struct pw_replica_want want = { session->tenant, PW_FREEZER_FROZEN, bytes_of(slot), until_us, room, NULL };
        struct pw_replica *replica;
        struct pw_error err;

        atomic_fetch_add(&other_fetched, 1);
        if (slot == OTHER_AWAY) {
                pw_store_lose(daemon->store, object, PW_HOST_LOST, "host h3 was lost", pw_now_us());
                pw_session_reply_ok(session, request);
                return;
        }
        want.context = note(session, request, slot);
        if (pw_replica_ask(daemon, &want, &replica, &err) == PW_OK)
                return;
        free(want.context);
        pw_session_reply_error(session, request, err.status, err.text);
}

static struct pw_object *find(struct pw_daemon *daemon, const char *tenant, struct pw_id id)
{
        (void)tenant; /* there is one here */
        return pw_id_equal(id, other_id(pw_id_slot(id))) ? proxy_of(daemon, pw_id_slot(id)) : NULL;
}

static void session_end(struct pw_dsession *session) { (void)session; }

static void freed(struct pw_daemon *daemon, uint64_t number)
{
        (void)daemon;
        known[number].cell = (struct pw_cell){ 0 };
        atomic_fetch_add(&other_freed, 1);
}

/* By a run: nobody is answered. */
static void wanted(struct pw_daemon *daemon, uint64_t number)
{
        struct pw_tenant *tenant = NULL;
        struct wait *wait = malloc(sizeof *wait);
        struct pw_replica_want want = { NULL, PW_FREEZER_FROZEN, bytes_of((uint32_t)number), UINT64_MAX, room, wait };
        struct pw_replica *replica;
        struct pw_error err;

        for (uint32_t i = 0; !want.tenant && (tenant = pw_table_next(&daemon->registry.tenants, &i));)
                want.tenant = tenant;
        assert_non_null(wait);
        *wait = (struct wait){ daemon, 0, (uint32_t)number, 0 };
        atomic_fetch_add(&other_fetched, 1);
        if (number == OTHER_AWAY) {
                free(wait);
                pw_store_proxy_unfetched(daemon->store, proxy_of(daemon, OTHER_AWAY));
                return;
        }
        assert_int_equal(pw_replica_ask(daemon, &want, &replica, &err), PW_OK);
}

static void name_there(struct pw_dsession *session, uint64_t request, const struct pw_foreign_name *name)
{
        pw_session_reply_error(session, request, PW_UNSUPPORTED, name->name);
}

static void named(struct pw_daemon *daemon, const struct pw_name_told *told) { (void)daemon, (void)told; }

static const struct pw_foreign other = { find, open_there, fetch, name_there, named, session_end, freed, wanted };

void other_host_prepare(struct pw_daemon *daemon) { daemon->registry.foreign = &other; }
