/* Objects that this host takes over: a tenant for them, an open, their bytes, then an answer. */
#include "daemon/peer/taking.h"

#include "base/memory.h"
#include "daemon/peer/borrowed.h"
#include "daemon/peer/borrowing.h"
#include "daemon/peer/lending.h"
#include "daemon/session/tenant.h"
#include "store/object.h"
#include "store/proxy.h"

#include <stdlib.h>

#define WAIT_US 30000000u /* for the answer of who has it, and for room */

struct pw_taking {
        struct pw_list link;             /* in peers->takings */
        struct pw_peers *peers;
        struct pw_lend_action action;    /* HOLD, with this message: */
        struct pw_talk_message message;
        struct pw_tenant *tenant;        /* stays while this is under way */
        struct pw_object *object;        /* its slot, held; NULL: not had */
        char name[];                     /* of the tenant */
};

static void forget(struct pw_taking *taking)
{
        pw_list_remove(&taking->link);
        free(taking);
}

/* As it is now: whole, or not to be had from here. */
static void answer(struct pw_taking *taking)
{
        struct pw_daemon *daemon = taking->peers->daemon;

        pw_lending_answer(taking->peers, &taking->action);
        if (taking->object)
                pw_store_release(daemon->store, taking->object, pw_peers_threads, pw_now_us());
        daemon->registry.tenancy->leave(daemon, taking->tenant);
        daemon->loop.more = true;
        forget(taking);
}

const char *pw_taking_tenant(const struct pw_taking *taking) { return taking->name; }

void pw_taking_fetched(struct pw_taking *taking) { answer(taking); }

void pw_taking_opened(struct pw_taking *taking, struct pw_borrowed *borrowed)
{
        struct pw_store *store = taking->peers->daemon->store;
        struct pw_object *object = borrowed ? pw_borrowed_object(borrowed) : NULL;
        struct pw_error err;

        if (object && pw_store_hold(store, object, pw_peers_threads, &err) == PW_OK)
                taking->object = object;
        if (!taking->object || !pw_store_proxy_elsewhere(store, object) || pw_fetching_take(borrowed, taking, WAIT_US) != PW_OK)
                answer(taking); /* it is here, or it is not decided, or not had */
}

static struct pw_taking *taking_new(struct pw_peers *peers, const struct pw_lend_action *action)
{
        const struct pw_talk_bytes *tenant = &action->message->tenant;
        struct pw_taking *taking = calloc(1, sizeof *taking + tenant->count + 1);

        if (!taking)
                return NULL;
        memcpy(taking->name, tenant->at, tenant->count);
        taking->peers = peers;
        taking->action = *action;
        taking->message = *action->message;
        taking->message.tenant.at = taking->name;
        taking->action.message = &taking->message;
        pw_list_init(&taking->link);
        return taking;
}

bool pw_taking_begin(struct pw_peers *peers, const struct pw_lend_action *action)
{
        struct pw_daemon *daemon = peers->daemon;
        struct pw_taking *taking;
        struct pw_error err;

        if (pw_id_host(action->id) == daemon->host || !pw_borrow_takes_over(peers->borrow) ||
            pw_borrowing_whole(peers, action->id, action->message->tenant))
                return false;
        taking = taking_new(peers, action);
        if (!taking)
                return false;
        if (daemon->registry.tenancy->enter(daemon, taking->name, &taking->tenant, &err) != PW_OK) {
                pw_log(&daemon->log, PW_LOG_WARNING, "not taken over tenant=%s reason=\"%s\"", taking->name, err.text);
                free(taking);
                return false;
        }
        pw_list_append(&peers->takings, &taking->link);
        pw_opening_take(peers, taking, action->id, pw_now_us() + WAIT_US);
        return true;
}

void pw_taking_done(struct pw_peers *peers)
{
        struct pw_taking *taking;

        pw_list_each(&peers->takings, taking, struct pw_taking, link)
                forget(taking);
}
