/* From what other hosts hold here to references in the store, and from what becomes of it to what they are told. */
#include "daemon/peer/lending.h"

#include "base/memory.h"
#include "daemon/peer/borrowing.h"
#include "daemon/peer/known.h"
#include "daemon/peer/pull/offering.h"
#include "daemon/peer/taking.h"

#include <stdlib.h>

#define PARTS 256u /* references of ended terms that go in a turn */

/* What a host holds of a tenant, in a term: a session of the store. */
struct pw_lent {
        struct pw_list link;     /* in peers->lent */
        uint64_t handle;         /* of the session in cluster/borrow/lend.h */
        uint32_t session, count; /* count: references */
        char tenant[];
};

/* A loan of an object that is not decided. */
struct pw_lent_watch {
        struct pw_list link;     /* of its place */
        uint64_t handle, number;
        uint32_t host, generation;
};

/* --- sessions of the store ---------------------------------------------------------------------------------------------------- */

static struct pw_lent *find_lent(struct pw_peers *peers, uint64_t handle, const char *tenant)
{
        struct pw_lent *lent;

        pw_list_each(&peers->lent, lent, struct pw_lent, link)
                if (lent->handle == handle && !strcmp(lent->tenant, tenant))
                        return lent;
        return NULL;
}

static struct pw_lent *open_lent(struct pw_peers *peers, const struct pw_lend_action *action, const char *tenant,
                                 struct pw_error *ret_err)
{
        const struct pw_host *host = pw_hosts_get(&peers->hosts, action->host);
        struct pw_daemon *daemon = peers->daemon;
        struct pw_lent *lent = calloc(1, sizeof *lent + strlen(tenant) + 1);
        char client[PW_HOST_NAME_MAX + 8];
        struct pw_store_session_params params = { .session = daemon->registry.next_session + 1, .tenant = tenant, .client = client,
                                                  .now_us = pw_now_us() };

        snprintf(client, sizeof client, "host %s", host ? host->row.name : "?");
        if (!lent) {
                (void)!pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for what a host holds");
                return NULL;
        }
        if (pw_store_session_open(daemon->store, &params, ret_err) != PW_OK) {
                free(lent);
                return NULL;
        }
        strcpy(lent->tenant, tenant);
        lent->handle = action->session;
        lent->session = ++daemon->registry.next_session;
        pw_list_append(&peers->lent, &lent->link);
        return lent;
}

static void close_if_idle(struct pw_peers *peers, struct pw_lent *lent)
{
        if (lent->count)
                return;
        pw_store_session_end(peers->daemon->store, lent->session, true, pw_now_us());
        pw_list_remove(&lent->link);
        free(lent);
}

/* --- holding ------------------------------------------------------------------------------------------------------------------ */

static bool is_tenant(const struct pw_talk_message *message, const char *tenant)
{
        return strlen(tenant) == message->tenant.count && !memcmp(tenant, message->tenant.at, message->tenant.count);
}

static enum pw_status not_here(const struct pw_lend_action *action, enum pw_status status, const char *why,
                               struct pw_error *ret_err)
{
        char id[PW_ID_TEXT_BYTES];

        return pw_error_set(ret_err, status, "%s: %s", pw_id_format(action->id, id), why);
}

/* The object of the tenant, or a replica of a lost host's that is whole here. */
static enum pw_status find_object(struct pw_peers *peers, const struct pw_lend_action *action, struct pw_object **ret_object,
                                  struct pw_error *ret_err)
{
        struct pw_daemon *daemon = peers->daemon;

        if (pw_id_host(action->id) != daemon->host) {
                *ret_object = pw_borrowing_whole(peers, action->id, action->message->tenant);
                return *ret_object ? PW_OK : not_here(action, PW_GONE, "no replica of it is here", ret_err);
        }
        if (action->id.epoch != daemon->epoch)
                return not_here(action, PW_HOST_LOST, "the pathwaysd that had it has ended", ret_err);
        *ret_object = pw_store_find(daemon->store, 0, pw_id_segment(action->id), pw_id_slot(action->id), action->id.generation);
        if (!*ret_object || !is_tenant(action->message, pw_object_tenant(peers->daemon->store, *ret_object)))
                return not_here(action, PW_GONE, "the object is gone", ret_err); /* also where it is not theirs to know of */
        return PW_OK;
}

static struct pw_list *watches_of(struct pw_peers *peers, const struct pw_object *object)
{
        return pw_table_get(&peers->watched, pw_object_place(object));
}

static enum pw_status watch(struct pw_peers *peers, const struct pw_lend_action *action, struct pw_object *object,
                            struct pw_error *ret_err)
{
        struct pw_lent_watch *one = malloc(sizeof *one);
        struct pw_list *all = watches_of(peers, object);

        if (one && !all) {
                all = malloc(sizeof *all);
                if (all)
                        pw_list_init(all);
                if (all && !pw_table_put(&peers->watched, pw_object_place(object), all)) {
                        free(all);
                        all = NULL;
                }
        }
        if (!one || !all) {
                free(one);
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for what a host waits for");
        }
        *one = (struct pw_lent_watch){ .handle = action->session, .number = action->number, .host = action->host,
                                        .generation = object->generation };
        pw_list_init(&one->link);
        pw_list_append(all, &one->link);
        return PW_OK;
}

static void unwatch(struct pw_peers *peers, const struct pw_object *object, uint64_t handle, uint64_t number)
{
        struct pw_list *all = watches_of(peers, object);
        struct pw_lent_watch *one;

        if (!all)
                return;
        pw_list_each(all, one, struct pw_lent_watch, link) {
                if (one->handle != handle || one->number != number)
                        continue;
                pw_list_remove(&one->link);
                free(one);
        }
        if (pw_list_empty(all))
                free(pw_table_remove(&peers->watched, pw_object_place(object)));
}

static enum pw_status hold(struct pw_peers *peers, const struct pw_lend_action *action, struct pw_object **ret_object,
                           struct pw_error *ret_err)
{
        struct pw_store *store = peers->daemon->store;
        struct pw_lent *lent;
        enum pw_status status = find_object(peers, action, ret_object, ret_err);

        if (status != PW_OK)
                return status;
        lent = find_lent(peers, action->session, pw_object_tenant(peers->daemon->store, *ret_object));
        if (!lent)
                lent = open_lent(peers, action, pw_object_tenant(peers->daemon->store, *ret_object), ret_err);
        if (!lent)
                return ret_err->status;
        status = pw_store_hold(store, *ret_object, (struct pw_owner){ PW_OWNER_SESSION, lent->session }, ret_err);
        if (status == PW_OK)
                lent->count++;
        close_if_idle(peers, lent);
        return status;
}

static void unhold(struct pw_peers *peers, const struct pw_lend_action *action)
{
        struct pw_daemon *daemon = peers->daemon;
        struct pw_object *object =
                pw_id_host(action->id) == daemon->host
                        ? pw_store_find(daemon->store, 0, pw_id_segment(action->id), pw_id_slot(action->id), action->id.generation)
                        : pw_borrowing_find(daemon, NULL, action->id);
        struct pw_lent *lent = object ? find_lent(peers, action->session, pw_object_tenant(peers->daemon->store, object)) : NULL;

        if (!lent)
                return;
        unwatch(peers, object, action->session, action->number);
        pw_store_release(daemon->store, object, (struct pw_owner){ PW_OWNER_SESSION, lent->session }, pw_now_us());
        lent->count--;
        close_if_idle(peers, lent);
        pw_offering_unheld(peers, action->id);
        daemon->loop.more = true;
}

/* The answer; without memory for it the host is given up, and what was held goes with that. */
static void answer_hold(struct pw_peers *peers, const struct pw_lend_action *action)
{
        struct pw_known_space space;
        struct pw_talk_known known = { .state = PW_TALK_NONE };
        struct pw_object *object = NULL;
        struct pw_error err;
        enum pw_status status = hold(peers, action, &object, &space.err);

        if (status == PW_OK && !pw_store_watch(peers->daemon->store, object)) {
                status = watch(peers, action, object, &space.err);
                if (status != PW_OK)
                        unhold(peers, action);
        }
        if (status == PW_OK)
                pw_known(peers->daemon, object, &space, &known);
        else
                known = (struct pw_talk_known){ .status = status, .text = { space.err.text, (uint32_t)strlen(space.err.text) } };
        if (pw_lend_held(peers->lend, action->session, action->number, &known, &err) == PW_OK)
                return;
        pw_peers_give_up(peers, action->host, &err);
        (void)!pw_lend_held(peers->lend, action->session, action->number, &known, &err);
}

static void find(struct pw_peers *peers, const struct pw_lend_action *action)
{
        uint8_t ids[PW_TALK_IDS_MAX * PW_TALK_ID_BYTES];
        uint32_t count = 0;
        struct pw_error err;

        for (uint32_t i = 0; i < pw_talk_id_count(action->message); i++)
                if (pw_borrow_has(peers->borrow, pw_talk_id(action->message, i)))
                        pw_talk_put_id(ids + PW_TALK_ID_BYTES * count++, pw_talk_id(action->message, i));
        if (pw_lend_found(peers->lend, action->session, action->number, (struct pw_talk_bytes){ ids, count * PW_TALK_ID_BYTES },
                          &err) != PW_OK)
                pw_peers_give_up(peers, action->host, &err);
}

static void act(struct pw_peers *peers)
{
        struct pw_lend_action action;

        while (pw_lend_next(peers->lend, &action)) {
                switch (action.kind) {
                case PW_LEND_HOLD:
                        if (!pw_taking_begin(peers, &action))
                                answer_hold(peers, &action);
                        break;
                case PW_LEND_UNHOLD: unhold(peers, &action); break;
                case PW_LEND_FIND: find(peers, &action); break;
                case PW_LEND_SEND:
                        pw_peers_send(peers, action.host, PW_PEER_BODY_TALK, action.frame);
                        if (action.answers)
                                pw_peers_work_done(peers, action.host);
                        break;
                }
        }
}

void pw_lending_answer(struct pw_peers *peers, const struct pw_lend_action *action)
{
        answer_hold(peers, action);
        act(peers);
}

/* --- events ------------------------------------------------------------------------------------------------------------------- */

enum pw_status pw_lending_hear(struct pw_peers *peers, uint32_t host, const struct pw_talk_message *message,
                               struct pw_error *ret_err)
{
        enum pw_status status = pw_lend_receive(peers->lend, host, message, ret_err);

        act(peers);
        return status;
}

void pw_lending_ended(struct pw_peers *peers, uint32_t host)
{
        pw_lend_ended(peers->lend, host);
        peers->daemon->loop.more = true;
}

void pw_lending_decided(struct pw_peers *peers, struct pw_object *object)
{
        struct pw_list *all = pw_table_remove(&peers->watched, pw_object_place(object));
        struct pw_lent_watch *one;
        struct pw_known_space space;
        struct pw_talk_known known;
        struct pw_error err;

        if (!all)
                return;
        pw_known(peers->daemon, object, &space, &known);
        pw_list_each(all, one, struct pw_lent_watch, link) {
                if (one->generation == object->generation &&
                    pw_lend_told(peers->lend, one->handle, one->number, &known, &err) != PW_OK)
                        pw_peers_give_up(peers, one->host, &err);
                pw_list_remove(&one->link);
                free(one);
        }
        free(all);
        act(peers);
}

bool pw_lending_turn(struct pw_peers *peers)
{
        bool more = pw_lend_turn(peers->lend, PARTS);

        act(peers);
        return more;
}

void pw_lending_done(struct pw_peers *peers)
{
        struct pw_lent *lent;
        struct pw_list *all;
        struct pw_lent_watch *one;

        pw_list_each(&peers->lent, lent, struct pw_lent, link)
                free(lent);
        pw_list_init(&peers->lent);
        for (uint32_t at = 0; (all = pw_table_next(&peers->watched, &at));) {
                pw_list_each(all, one, struct pw_lent_watch, link)
                        free(one);
                free(all);
        }
        pw_table_done(&peers->watched);
        pw_lend_free(peers->lend);
}
