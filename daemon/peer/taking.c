/* Objects that this host takes over: a tenant for them, an open, their bytes, then an answer, or who wanted them is told. */
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
        struct pw_id id;
        pw_taking_done_fn done;          /* NULL: a HOLD is to be answered */
        void *context;
        char name[];                     /* of the tenant */
};

static void forget(struct pw_taking *taking)
{
        pw_list_remove(&taking->link);
        free(taking);
}

static struct pw_object *whole_of(const struct pw_taking *taking)
{
        struct pw_talk_bytes tenant = { taking->name, (uint32_t)strlen(taking->name) };

        return taking->object ? pw_borrowing_whole(taking->peers, taking->id, tenant) : NULL;
}

/* As it is now: whole, or not to be had from here. */
static void answer(struct pw_taking *taking)
{
        struct pw_daemon *daemon = taking->peers->daemon;

        if (taking->done)
                taking->done(taking->peers, taking->context, whole_of(taking));
        else
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

static struct pw_taking *taking_new(struct pw_peers *peers, struct pw_id id, const char *tenant, uint32_t tenant_bytes)
{
        struct pw_taking *taking = calloc(1, sizeof *taking + tenant_bytes + 1);

        if (!taking)
                return NULL;
        memcpy(taking->name, tenant, tenant_bytes);
        taking->peers = peers;
        taking->id = id;
        pw_list_init(&taking->link);
        return taking;
}

static void begin(struct pw_taking *taking)
{
        struct pw_peers *peers = taking->peers;

        pw_list_append(&peers->takings, &taking->link);
        pw_opening_take(peers, taking, taking->id, pw_now_us() + WAIT_US);
}

enum pw_status pw_taking_get(struct pw_peers *peers, struct pw_id id, const char *tenant, pw_taking_done_fn done, void *context,
                             struct pw_error *ret_err)
{
        struct pw_daemon *daemon = peers->daemon;
        struct pw_taking *taking = taking_new(peers, id, tenant, (uint32_t)strlen(tenant));
        enum pw_status status = taking ? daemon->registry.tenancy->enter(daemon, taking->name, &taking->tenant, ret_err)
                                       : pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for what it takes over");

        if (status != PW_OK) {
                free(taking);
                return status;
        }
        taking->done = done;
        taking->context = context;
        begin(taking);
        return PW_OK;
}

bool pw_taking_begin(struct pw_peers *peers, const struct pw_lend_action *action)
{
        struct pw_daemon *daemon = peers->daemon;
        struct pw_taking *taking;
        struct pw_error err;

        if (pw_id_host(action->id) == daemon->host || !pw_borrow_takes_over(peers->borrow) ||
            pw_borrowing_whole(peers, action->id, action->message->tenant))
                return false;
        taking = taking_new(peers, action->id, action->message->tenant.at, action->message->tenant.count);
        if (!taking)
                return false;
        taking->action = *action;
        taking->message = *action->message;
        taking->message.tenant.at = taking->name;
        taking->action.message = &taking->message;
        if (daemon->registry.tenancy->enter(daemon, taking->name, &taking->tenant, &err) != PW_OK) {
                pw_log(&daemon->log, PW_LOG_WARNING, "not taken over tenant=%s reason=\"%s\"", taking->name, err.text);
                free(taking);
                return false;
        }
        begin(taking);
        return true;
}

void pw_taking_done(struct pw_peers *peers)
{
        struct pw_taking *taking;

        pw_list_each(&peers->takings, taking, struct pw_taking, link)
                forget(taking);
}
