/* Fetches: who waits for one, its room, its end. */
#include "daemon/memory/fetch/fetch.h"

#include "base/memory.h"
#include "daemon/memory/fetch/fetch_private.h"
#include "daemon/memory/segment.h"
#include "store/account/quota.h"
#include "store/fetched.h"
#include "store/object.h"

#include <stdlib.h>

#define ROOM_US 30000000u /* as a put waits for room */
#define WAITERS_MAX 16384u /* of a tenant; and so many fetches of its values, which go on when nobody waits */
#define TRIES_MOST 4u       /* of a fetch whose device is lost */
#define LATE_PART 1024u    /* of those whose time is over, so many in a turn */

/* The daemon's own claim of what is read, like a run's (there is no run 0). */
static const struct pw_owner claim = { PW_OWNER_RUN, 0 };

struct waiter {
        struct pw_list link, of_session;
        struct pw_fetch *fetch;
        struct pw_heap_item end;
        uint32_t session;  /* 0: of the daemon, which `taker` says */
        uint64_t request, since_us, until_us;
        struct pw_tenant *tenant;
        struct pw_fetch_taker taker;
};

/* --- who waits ---------------------------------------------------------------------------------------------------------------- */

static void forget(struct waiter *waiter)
{
        if (waiter->tenant)
                waiter->tenant->fetches--;
        pw_heap_remove(&waiter->fetch->daemon->memory.fetches->waits, &waiter->end);
        pw_list_remove(&waiter->link);
        pw_list_remove(&waiter->of_session);
        free(waiter);
}

static void answer(struct pw_daemon *daemon, struct waiter *waiter, const struct pw_error *why)
{
        struct pw_dsession *session = waiter->session ? pw_session_get(&daemon->registry, waiter->session) : NULL;
        struct pw_fetch_taker taker = waiter->taker;
        uint64_t request = waiter->request;

        forget(waiter); /* a session that does not read its replies may end with one */
        if (taker.done)
                taker.done(taker.context, why);
        else if (session && why)
                pw_session_reply_error(session, request, why->status, why->text);
        else if (session)
                pw_session_reply_ok(session, request);
}

static void answer_all(struct pw_fetch *fetch, const struct pw_error *why)
{
        while (!pw_list_empty(&fetch->waiters))
                answer(fetch->daemon, pw_list_first(&fetch->waiters, struct waiter, link), why);
}

static enum pw_status add_waiter(struct pw_fetch *fetch, const struct waiter *like, struct pw_error *ret_err)
{
        struct pw_dsession *session = like->session ? pw_session_get(&fetch->daemon->registry, like->session) : NULL;
        struct waiter *waiter;

        if (like->tenant && like->tenant->fetches >= WAITERS_MAX)
                return pw_error_set(ret_err, PW_LIMIT, "tenant %s waits for %u values of devices: wait for fewer at a time",
                                    like->tenant->name, WAITERS_MAX);
        waiter = malloc(sizeof *waiter);
        if (waiter)
                *waiter = *like;
        if (!waiter || !pw_heap_add(&fetch->daemon->memory.fetches->waits, &waiter->end, like->until_us)) {
                free(waiter);
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd is out of memory");
        }
        waiter->fetch = fetch;
        waiter->since_us = pw_now_us();
        pw_list_init(&waiter->link);
        pw_list_init(&waiter->of_session);
        pw_list_append(&fetch->waiters, &waiter->link);
        if (session)
                pw_list_append(&session->fetches, &waiter->of_session);
        if (waiter->tenant)
                waiter->tenant->fetches++;
        return PW_OK;
}

/* --- one fetch ---------------------------------------------------------------------------------------------------------------- */

static void leave(struct pw_fetch *fetch)
{
        if (pw_list_empty(&fetch->link))
                return;
        pw_list_remove(&fetch->link);
        (void)pw_table_remove(&fetch->daemon->memory.fetches->of_objects, (uintptr_t)fetch->object);
        fetch->tenant->fetched--;
}

static void free_fetch(struct pw_fetch *fetch)
{
        leave(fetch);
        free(fetch->offsets);
        free(fetch->tasks);
        free(fetch);
}

static void tell(struct pw_fetch *fetch)
{
        struct pw_daemon *daemon = fetch->daemon;
        char id[PW_ID_TEXT_BYTES];

        pw_id_format(pw_object_id(daemon->store, fetch->object), id);
        daemon->memory.fetched(daemon, &(struct pw_fetched_value){ .object = id, .tenant = fetch->tenant->name,
                                                                   .bytes = pw_object_entry(daemon->store, fetch->object)->bytes,
                                                                   .start_us = fetch->since_us, .end_us = pw_now_us() });
}

void pw_fetches_told(struct pw_daemon *daemon, void (*told)(struct pw_daemon *daemon, const struct pw_fetched_value *value))
{
        daemon->memory.fetched = told;
}

static void has_room(void *context, struct pw_replica *replica, const struct pw_error *err)
{
        struct pw_fetch *fetch = context;

        if (err) { /* the replica is no more */
                fetch->replica = NULL;
                fetch->why = *err;
                pw_fetch_end(fetch);
                return;
        }
        fetch->replica = replica;
        if (fetch->task_count)
                pw_fetch_tasks_begin(fetch);
        else
                pw_fetch_end(fetch);
}

static enum pw_status ask_room(struct pw_fetch *fetch, struct pw_error *ret_err)
{
        struct pw_replica_want want = { .tenant = fetch->tenant, .kind = PW_FREEZER_FETCHED, .until_us = pw_now_us() + ROOM_US,
                                        .room = has_room, .context = fetch };
        enum pw_status status = pw_fetch_plan(fetch, &want.bytes, ret_err);

        return status == PW_OK ? pw_replica_ask(fetch->daemon, &want, &fetch->replica, ret_err) : status;
}

/* Another device may have what one that ended had. */
static bool begin_again(struct pw_fetch *fetch)
{
        const struct pw_entry *entry = pw_object_entry(fetch->daemon->store, fetch->object);
        struct pw_error err;

        if (fetch->why.status != PW_DEVICE_LOST || pw_word_state(atomic_load(&entry->word)) != PW_ENTRY_READY ||
            ++fetch->tries == TRIES_MOST)
                return false;
        if (fetch->replica)
                pw_replica_give_up(fetch->daemon, fetch->replica);
        fetch->replica = NULL;
        free(fetch->offsets);
        free(fetch->tasks);
        fetch->offsets = NULL;
        fetch->tasks = NULL;
        fetch->task_count = 0;
        if (ask_room(fetch, &err) != PW_OK)
                return false;
        fetch->why.status = PW_OK;
        fetch->daemon->loop.more = true;
        return true;
}

void pw_fetch_end(struct pw_fetch *fetch)
{
        struct pw_daemon *daemon = fetch->daemon;
        struct pw_error why = fetch->why;
        bool failed = why.status != PW_OK;

        if (failed && begin_again(fetch))
                return;
        if (failed && fetch->replica)
                pw_replica_give_up(daemon, fetch->replica);
        else if (!failed)
                failed = pw_replica_fetched(daemon, fetch->replica, fetch->object, fetch->offsets, &why) != PW_OK;
        fetch->replica = NULL;
        if (!failed)
                tell(fetch);
        leave(fetch); /* who asks from here on is answered anew */
        pw_store_release(daemon->store, fetch->object, claim, pw_now_us());
        answer_all(fetch, failed ? &why : NULL);
        free_fetch(fetch);
        daemon->loop.more = true;
}

static struct pw_fetches *fetches_of(struct pw_daemon *daemon)
{
        struct pw_fetches *fetches = daemon->memory.fetches;

        if (fetches)
                return fetches;
        fetches = daemon->memory.fetches = calloc(1, sizeof *fetches);
        if (!fetches)
                return NULL;
        pw_list_init(&fetches->all);
        for (uint32_t i = 0; i < PW_DEVICES_MAX; i++) {
                pw_list_init(&fetches->devices[i].to_give);
                pw_list_init(&fetches->devices[i].given);
        }
        return fetches;
}

static struct pw_tenant *tenant_of(struct pw_daemon *daemon, const struct pw_object *object)
{
        return pw_segment_get(&daemon->memory, object->segment)->tenant;
}

static enum pw_status begin(struct pw_daemon *daemon, struct pw_object *object, struct pw_fetch **ret_fetch,
                            struct pw_error *ret_err)
{
        struct pw_fetches *fetches = fetches_of(daemon);
        struct pw_fetch *fetch = fetches ? calloc(1, sizeof *fetch) : NULL;
        enum pw_status status;

        if (!fetch)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd is out of memory");
        *fetch = (struct pw_fetch){ .daemon = daemon, .tenant = tenant_of(daemon, object), .object = object,
                                    .since_us = pw_now_us() };
        pw_list_init(&fetch->link);
        pw_list_init(&fetch->waiters);
        status = pw_store_hold(daemon->store, object, claim, ret_err);
        if (status != PW_OK) {
                free_fetch(fetch);
                return status;
        }
        status = ask_room(fetch, ret_err);
        if (status == PW_OK && !pw_table_put(&fetches->of_objects, (uintptr_t)object, fetch)) {
                pw_replica_give_up(daemon, fetch->replica);
                status = pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd is out of memory");
        }
        if (status != PW_OK) {
                pw_store_release(daemon->store, object, claim, pw_now_us());
                free_fetch(fetch);
                return status;
        }
        fetch->tenant->fetched++;
        pw_list_append(&fetches->all, &fetch->link);
        daemon->loop.more = true;
        *ret_fetch = fetch;
        return PW_OK;
}

/* NULL: nothing fetches it. */
static struct pw_fetch *find(const struct pw_daemon *daemon, const struct pw_object *object)
{
        const struct pw_fetches *fetches = daemon->memory.fetches;

        return fetches ? pw_table_get(&fetches->of_objects, (uintptr_t)object) : NULL;
}

/* Under way, or begun. */
static enum pw_status fetch_of(struct pw_daemon *daemon, struct pw_object *object, struct pw_fetch **ret_fetch,
                               struct pw_error *ret_err)
{
        *ret_fetch = find(daemon, object);
        return *ret_fetch ? PW_OK : begin(daemon, object, ret_fetch, ret_err);
}

/* 0: it has room, or has failed. */
static uint64_t room_token(const struct pw_fetch *fetch) { return fetch->replica ? pw_replica_token(fetch->replica) : 0; }

bool pw_fetch_see(const struct pw_daemon *daemon, const struct pw_object *object, struct pw_fetch_seen *ret_seen)
{
        const struct pw_fetch *fetch = find(daemon, object);

        if (!fetch)
                return false;
        *ret_seen = (struct pw_fetch_seen){ .tenant = fetch->tenant, .room_token = room_token(fetch), .since_us = fetch->since_us,
                                            .bytes = pw_object_entry(daemon->store, object)->bytes };
        for (uint32_t i = 0; i < fetch->task_count; i++) /* those that are done are in no list */
                if (!i || !pw_list_empty(&fetch->tasks[i].link))
                        ret_seen->device = fetch->tasks[i].device;
        return true;
}

/* --- requests ----------------------------------------------------------------------------------------------------------------- */

void pw_fetch_request(struct pw_dsession *session, uint64_t id, struct pw_object *object, uint64_t until_us)
{
        struct waiter waiter = { .session = session->number, .request = id, .until_us = until_us, .tenant = session->tenant };
        const struct pw_tenant *tenant = tenant_of(session->daemon, object);
        struct pw_fetch *fetch;
        struct pw_error err;
        enum pw_status status = PW_OK;

        if (tenant->fetched >= WAITERS_MAX && !find(session->daemon, object))
                status = pw_error_set(&err, PW_LIMIT, "%u values of tenant %s are fetched from devices: wait for some of them",
                                      WAITERS_MAX, tenant->name);
        if (status == PW_OK)
                status = fetch_of(session->daemon, object, &fetch, &err);
        if (status == PW_OK)
                status = add_waiter(fetch, &waiter, &err);
        if (status != PW_OK)
                pw_session_reply_error(session, id, status, err.text);
}

enum pw_status pw_fetch_for(struct pw_daemon *daemon, struct pw_object *object, const struct pw_fetch_taker *taker,
                            struct pw_error *ret_err)
{
        struct waiter waiter = { .until_us = UINT64_MAX, .taker = *taker };
        struct pw_fetch *fetch;
        enum pw_status status = fetch_of(daemon, object, &fetch, ret_err);

        return status == PW_OK ? add_waiter(fetch, &waiter, ret_err) : status;
}

/* --- ends --------------------------------------------------------------------------------------------------------------------- */

void pw_fetches_session_end(struct pw_dsession *session)
{
        while (!pw_list_empty(&session->fetches))
                forget(pw_list_first(&session->fetches, struct waiter, of_session));
}

uint64_t pw_fetches_next_us(const struct pw_daemon *daemon)
{
        return daemon->memory.fetches ? pw_heap_first_key(&daemon->memory.fetches->waits) : UINT64_MAX;
}

void pw_fetches_tick(struct pw_daemon *daemon, uint64_t now_us)
{
        struct pw_heap *waits = &daemon->memory.fetches->waits;
        struct pw_error err;

        for (uint32_t i = 0; i < LATE_PART && pw_heap_first_key(waits) <= now_us; i++) {
                struct waiter *waiter = pw_container_of(pw_heap_first(waits), struct waiter, end);
                uint64_t room = room_token(waiter->fetch);

                if (!room || waiter->until_us <= waiter->since_us || !pw_store_room_lacks(daemon->store, room, now_us, &err))
                        (void)!pw_error_set(&err, PW_DEADLINE,
                                            "its bytes are on a device, and did not come in time: see pathways why");
                answer(daemon, waiter, &err);
        }
}

void pw_fetches_each_wait(struct pw_daemon *daemon, const struct pw_dsession *session,
                          void (*row)(void *context, const struct pw_wait_row *row), void *context)
{
        const struct pw_fetch *fetch;
        const struct waiter *waiter;

        if (!daemon->memory.fetches)
                return;
        pw_list_each(&daemon->memory.fetches->all, fetch, struct pw_fetch, link)
                pw_list_each(&fetch->waiters, waiter, struct waiter, link) {
                        struct pw_dsession *asker = waiter->session ? pw_session_get(&daemon->registry, waiter->session) : NULL;

                        if (asker && (!session || asker == session))
                                row(context, &(struct pw_wait_row){ .kind = PW_WAIT_KIND_BYTES, .session = asker,
                                                                    .object = fetch->object, .segment = fetch->object->segment,
                                                                    .slot = fetch->object->slot, .since_us = waiter->since_us,
                                                                    .until_us = waiter->until_us });
                }
}

void pw_fetches_done(struct pw_daemon *daemon)
{
        struct pw_fetches *fetches = daemon->memory.fetches;
        struct pw_fetch *fetch;
        struct waiter *waiter;

        if (!fetches)
                return;
        pw_list_each(&fetches->all, fetch, struct pw_fetch, link) {
                pw_list_each(&fetch->waiters, waiter, struct waiter, link)
                        free(waiter);
                if (fetch->replica)
                        pw_replica_give_up(daemon, fetch->replica);
                free_fetch(fetch);
        }
        pw_heap_done(&fetches->waits);
        pw_table_done(&fetches->of_objects);
        free(fetches);
        daemon->memory.fetches = NULL;
}
