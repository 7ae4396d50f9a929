/* Bytes of objects of other hosts: a room, then a value that came along or a pull, then they are the proxy's. */
#include "base/memory.h"
#include "daemon/peer/asks.h"
#include "daemon/peer/borrowed.h"
#include "daemon/peer/pull/pulling.h"
#include "daemon/peer/taking.h"
#include "daemon/session/output.h"
#include "store/object.h"
#include "store/proxy.h"

#include <stdlib.h>

#define SLOW_US 30000000u /* for so long what is not sent within a lease is asked for again */

struct pw_fetching {
        struct pw_list link, of_all; /* of its object; peers->fetches */
        struct pw_borrowed *borrowed;
        uint32_t session;
        struct pw_tenant *tenant;
        struct pw_taking *taking; /* NULL: of a session, as these two are */
        uint64_t request, since_us, until_us;
};

/* --- who waits ---------------------------------------------------------------------------------------------------------------- */

static void forget(struct pw_peers *peers, struct pw_fetching *fetching)
{
        if (!fetching->taking)
                pw_asks_end(fetching->tenant, pw_session_get(&peers->daemon->registry, fetching->session));
        pw_list_remove(&fetching->link);
        pw_list_remove(&fetching->of_all);
        free(fetching);
}

/* A session that does not read its replies ends with one, and all that it fetches with it: so this is over before it is told. */
static void answer(struct pw_peers *peers, struct pw_fetching *fetching, const struct pw_error *why)
{
        struct pw_dsession *session = pw_session_get(&peers->daemon->registry, fetching->session);
        uint64_t request = fetching->request;
        struct pw_taking *taking = fetching->taking;

        forget(peers, fetching);
        if (taking)
                pw_taking_fetched(taking);
        else if (session && why)
                pw_session_reply_error(session, request, why->status, why->text);
        else if (session)
                pw_session_reply_ok(session, request);
}

void pw_fetching_answer(struct pw_borrowed *borrowed, const struct pw_error *why)
{
        while (!pw_list_empty(&borrowed->fetches))
                answer(borrowed->peers, pw_list_first(&borrowed->fetches, struct pw_fetching, link), why);
        if (why && pw_borrowed_object(borrowed))
                pw_store_proxy_unfetched(borrowed->peers->daemon->store, borrowed->object);
}

void pw_fetching_session_end(struct pw_dsession *session)
{
        struct pw_fetching *fetching;

        pw_list_each(&session->daemon->peers->fetches, fetching, struct pw_fetching, of_all)
                if (!fetching->taking && fetching->session == session->number)
                        forget(session->daemon->peers, fetching);
}

uint64_t pw_fetching_turn(struct pw_peers *peers, uint64_t now_us)
{
        struct pw_fetching *fetching;
        uint64_t next_us = UINT64_MAX;
        struct pw_list due;
        struct pw_error err;

        pw_list_init(&due);
        pw_list_each(&peers->fetches, fetching, struct pw_fetching, of_all) {
                if (fetching->until_us > now_us) {
                        next_us = pw_min_u64(next_us, fetching->until_us);
                        continue;
                }
                pw_list_remove(&fetching->of_all);
                pw_list_append(&due, &fetching->of_all);
        }
        (void)!pw_error_set(&err, PW_DEADLINE, "its bytes are on another host, and did not come in time: see pathways why");
        while (!pw_list_empty(&due))
                answer(peers, pw_list_first(&due, struct pw_fetching, of_all), &err);
        return next_us;
}

void pw_fetching_each_wait(const struct pw_peers *peers, const struct pw_dsession *session,
                           void (*row)(void *, const struct pw_wait_row *), void *context)
{
        struct pw_fetching *fetching;

        pw_list_each(&peers->fetches, fetching, struct pw_fetching, of_all) {
                struct pw_dsession *asker = pw_session_get(&peers->daemon->registry, fetching->session);
                struct pw_object *object = pw_borrowed_object(fetching->borrowed);

                if (asker && object && (!session || asker == session))
                        row(context, &(struct pw_wait_row){ .kind = PW_WAIT_KIND_BYTES, .session = asker, .object = object,
                                                            .segment = object->segment, .slot = object->slot,
                                                            .since_us = fetching->since_us, .until_us = fetching->until_us });
        }
}

/* --- the bytes ---------------------------------------------------------------------------------------------------------------- */

/* They are whole, and no thread writes there. */
static enum pw_status give_to_proxy(struct pw_borrowed *borrowed, struct pw_error *ret_err)
{
        struct pw_replica *replica = borrowed->replica;
        struct pw_daemon *daemon = borrowed->peers->daemon;
        enum pw_status status;

        borrowed->replica = NULL;
        status = pw_replica_done(daemon, replica, pw_borrowed_object(borrowed), ret_err);
        if (status == PW_OK && borrowed->pulling &&
            pw_store_hold(daemon->store, borrowed->object->backing, pw_peers_threads, ret_err) == PW_OK)
                borrowed->kept = borrowed->object->backing;
        daemon->loop.more = true;
        return status;
}

static void drop_replica(struct pw_borrowed *borrowed)
{
        if (borrowed->replica)
                pw_replica_give_up(borrowed->peers->daemon, borrowed->replica);
        borrowed->replica = NULL;
}

static void want_bytes(struct pw_borrowed *borrowed, uint64_t until_us);

/* 0: nobody. */
static uint32_t lender_of(const struct pw_borrowed *borrowed)
{
        struct pw_proxy_row row = { .lender = 0 };

        if (borrowed->proxy)
                pw_proxy_row(borrowed->proxy, &row);
        return row.lender;
}

/* The one from which it was pulled drains, and who takes over lends it now. */
static bool has_another_lender(const struct pw_borrowed *borrowed)
{
        return pw_borrowed_object(borrowed) && pw_store_proxy_elsewhere(borrowed->peers->daemon->store, borrowed->object) &&
               lender_of(borrowed) && lender_of(borrowed) != borrowed->pulled_from;
}

/* A source that is there may be slow for a lease. Those that there are have been tried, and none was in time: once more, for those
 * who still wait, and not for ever. */
static bool is_tried_again(struct pw_borrowed *borrowed, enum pw_status status)
{
        uint64_t now_us = pw_now_us();

        if (status != PW_DEADLINE || pw_list_empty(&borrowed->fetches))
                return false;
        if (!borrowed->slow_since_us)
                borrowed->slow_since_us = now_us;
        return now_us - borrowed->slow_since_us < SLOW_US;
}

/* All bytes were pulled, or they cannot be had now. */
static void pulled(void *context, enum pw_status status, const struct pw_error *err)
{
        struct pw_borrowed *borrowed = context;
        struct pw_error why;

        if ((status != PW_OK && has_another_lender(borrowed)) || is_tried_again(borrowed, status)) {
                pw_pulling_end(borrowed->pulling); /* let_go() goes on, with whoever lends it now */
                return;
        }
        borrowed->slow_since_us = 0;
        if (status != PW_OK)
                (void)!pw_error_set(&why, status, "%s", err->text);
        else if (!pw_borrowed_object(borrowed) || !pw_store_proxy_elsewhere(borrowed->peers->daemon->store, borrowed->object))
                status = pw_error_set(&why, PW_GONE, "nobody wants its bytes any more");
        else
                status = give_to_proxy(borrowed, &why);
        if (status == PW_OK && borrowed->proxy)
                pw_borrow_pulled(borrowed->peers->borrow, borrowed->proxy);
        if (status != PW_OK)
                pw_pulling_end(borrowed->pulling);
        pw_fetching_answer(borrowed, status == PW_OK ? NULL : &why);
        pw_borrowing_act(borrowed->peers);
}

/* Nobody waits any more but runs, maybe. */
static void give_up_slow(struct pw_borrowed *borrowed)
{
        struct pw_error err;

        borrowed->slow_since_us = 0;
        (void)!pw_error_set(&err, PW_DEADLINE, "its bytes are on another host, and did not come in time: see pathways why");
        pw_fetching_answer(borrowed, &err);
}

/* No thread has the room any more. */
static void let_go(void *context)
{
        struct pw_borrowed *borrowed = context;

        borrowed->pulling = NULL;
        drop_replica(borrowed);
        if (borrowed->kept)
                pw_store_release(borrowed->peers->daemon->store, borrowed->kept, pw_peers_threads, pw_now_us());
        borrowed->kept = NULL;
        borrowed->peers->daemon->loop.more = true;
        if (!borrowed->object)
                pw_borrowed_settle(borrowed);
        else if (!pw_list_empty(&borrowed->fetches) || has_another_lender(borrowed))
                want_bytes(borrowed, UINT64_MAX); /* asked for meanwhile, or still */
        else if (borrowed->slow_since_us)
                give_up_slow(borrowed);
}

static enum pw_status pull(struct pw_borrowed *borrowed, struct pw_error *ret_err)
{
        struct pw_pulling_request request = { .id = borrowed->id, .bytes = borrowed->known.bytes,
                                              .to = pw_replica_bytes(borrowed->replica), .tenant = borrowed->tenant->name,
                                              .done = pulled, .let_go = let_go, .context = borrowed };

        if (!borrowed->proxy)
                return pw_error_set(ret_err, PW_GONE, "nobody holds it");
        request.lender = borrowed->pulled_from = lender_of(borrowed);
        return pw_pulling_begin(borrowed->peers, &request, &borrowed->pulling, ret_err);
}

/* There is room. A value that came along is copied; it is small. */
static enum pw_status fill(struct pw_borrowed *borrowed, struct pw_error *ret_err)
{
        const struct pw_talk_known *known = &borrowed->known;

        if (known->state != PW_TALK_WHOLE && known->bytes)
                return pull(borrowed, ret_err);
        if (known->value.count)
                memcpy(pw_replica_bytes(borrowed->replica), known->value.at, known->value.count);
        if (pw_borrowed_object(borrowed))
                pw_borrowed_decide(borrowed);
        return give_to_proxy(borrowed, ret_err);
}

static void room(void *context, struct pw_replica *replica, const struct pw_error *err)
{
        struct pw_borrowed *borrowed = context;
        struct pw_error why;
        enum pw_status status;

        if (err) { /* the replica is no more */
                borrowed->replica = NULL;
                status = pw_error_set(&why, err->status, "%s", err->text);
                if (pw_borrowed_object(borrowed))
                        pw_borrowed_decide(borrowed);
        } else {
                borrowed->replica = replica;
                status = fill(borrowed, &why);
                if (status != PW_OK && !borrowed->pulling)
                        drop_replica(borrowed);
        }
        if (status != PW_OK || !borrowed->pulling)
                pw_fetching_answer(borrowed, status == PW_OK ? NULL : &why);
        if (!borrowed->handed_out)
                pw_opening_answer_all(borrowed);
        pw_borrowing_act(borrowed->peers);
}

static enum pw_status ask_room(struct pw_borrowed *borrowed, uint64_t until_us, struct pw_error *ret_err)
{
        struct pw_replica_want want = { .tenant = borrowed->tenant, .bytes = borrowed->known.bytes, .until_us = until_us,
                                        .room = room, .context = borrowed };

        return pw_replica_ask(borrowed->peers->daemon, &want, &borrowed->replica, ret_err);
}

static void want_bytes(struct pw_borrowed *borrowed, uint64_t until_us)
{
        struct pw_error err;

        if (!borrowed->replica && !borrowed->pulling && ask_room(borrowed, until_us, &err) != PW_OK)
                pw_fetching_answer(borrowed, &err);
        borrowed->peers->daemon->loop.more = true;
}

bool pw_fetching_place(struct pw_borrowed *borrowed)
{
        struct pw_error err;

        return borrowed->replica || ask_room(borrowed, UINT64_MAX, &err) == PW_OK;
}

void pw_fetching_stop(struct pw_borrowed *borrowed)
{
        if (borrowed->pulling)
                pw_pulling_end(borrowed->pulling); /* let_go() drops the room */
        else
                drop_replica(borrowed);
}

/* --- requests ----------------------------------------------------------------------------------------------------------------- */

static void add(struct pw_borrowed *borrowed, struct pw_fetching *fetching)
{
        pw_list_init(&fetching->link);
        pw_list_init(&fetching->of_all);
        pw_list_append(&borrowed->fetches, &fetching->link);
        pw_list_append(&borrowed->peers->fetches, &fetching->of_all);
}

void pw_fetching_fetch(struct pw_dsession *session, uint64_t request, struct pw_object *object, uint64_t until_us)
{
        struct pw_peers *peers = session->daemon->peers;
        struct pw_borrowed *borrowed = pw_borrowed_of(peers, object->run);
        struct pw_fetching *fetching;
        struct pw_error err;

        if (!borrowed || !pw_store_proxy_elsewhere(peers->daemon->store, object)) {
                pw_session_reply_ok(session, request); /* its entry says what became of it */
                return;
        }
        if (pw_asks_begin(session, &err) != PW_OK) {
                pw_session_reply_error(session, request, err.status, err.text);
                return;
        }
        fetching = malloc(sizeof *fetching);
        if (!fetching) {
                pw_asks_end(session->tenant, session);
                pw_session_reply_error(session, request, PW_NO_MEMORY, "pathwaysd is out of memory");
                return;
        }
        *fetching = (struct pw_fetching){ .borrowed = borrowed, .session = session->number, .tenant = session->tenant,
                                           .request = request, .since_us = pw_now_us(), .until_us = until_us };
        add(borrowed, fetching);
        peers->fetches_us = pw_min_u64(peers->fetches_us, until_us);
        want_bytes(borrowed, until_us);
}

enum pw_status pw_fetching_take(struct pw_borrowed *borrowed, struct pw_taking *taking, uint64_t wait_us)
{
        struct pw_fetching *fetching = calloc(1, sizeof *fetching);

        if (!fetching)
                return PW_NO_MEMORY;
        *fetching = (struct pw_fetching){ .borrowed = borrowed, .taking = taking, .since_us = pw_now_us(), .until_us = UINT64_MAX };
        add(borrowed, fetching);
        want_bytes(borrowed, pw_now_us() + wait_us);
        return PW_OK;
}

void pw_fetching_wanted(struct pw_daemon *daemon, uint64_t number)
{
        struct pw_borrowed *borrowed = pw_borrowed_of(daemon->peers, number);

        if (borrowed && pw_borrowed_object(borrowed))
                want_bytes(borrowed, UINT64_MAX);
}
