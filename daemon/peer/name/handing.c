/* Names and leases that are handed on, from the store to the other host, and from there to the store. */
#include "daemon/peer/name/handing.h"

#include "base/memory.h"
#include "cluster/drain/hand.h"
#include "daemon/peer/borrowing.h"
#include "daemon/peer/name/naming.h"
#include "daemon/peer/taking.h"
#include "store/name.h"
#include "store/object.h"
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW 64u
#define PAUSE_US 500000u /* of one that the other host could not take */

/* What another host hands on, while its object is got. */
struct handed {
        struct pw_list link;   /* in peers->handed */
        uint32_t host;         /* 0: its term has ended, and nobody is to be told */
        uint64_t theirs;       /* number of the question */
        struct pw_id id;
        struct pw_name_keeper from;
        uint64_t until_us;     /* CLOCK_MONOTONIC; 0: never */
        char *name;            /* "": a lease; behind the tenant's */
        char tenant[];
};

/* --- this host drains --------------------------------------------------------------------------------------------------------- */

enum pw_status pw_handing_open(struct pw_peers *peers, struct pw_error *ret_err)
{
        return pw_hand_new(&(struct pw_hand_params){ WINDOW, PAUSE_US }, &peers->hand, ret_err);
}

/* What has ended otherwise is no value that somebody could take over. */
static bool is_value(struct pw_daemon *daemon, const struct pw_object *object)
{
        uint64_t word = atomic_load(&pw_object_entry(daemon->store, object)->word);

        return pw_word_state(word) == PW_ENTRY_PENDING || pw_word_state(word) == PW_ENTRY_READY;
}

static void see(void *context, const struct pw_claim_row *row)
{
        struct pw_peers *peers = context;
        struct pw_error err;

        if (!is_value(peers->daemon, row->object))
                return;
        if (pw_hand_see(peers->hand, row->number, pw_object_id(peers->daemon->store, row->object),
                        row->is_settled && pw_store_watch(peers->daemon->store, row->object), &err) != PW_OK)
                peers->hand_looks = true; /* in a later turn there may be memory */
}

static void look(struct pw_peers *peers)
{
        struct pw_claim_stamp stamp = pw_store_claim_stamp(peers->daemon->store);

        if (!peers->hand_looks && !memcmp(&stamp, &peers->hand_stamp, sizeof stamp))
                return;
        peers->hand_stamp = stamp;
        peers->hand_looks = false;
        pw_hand_look(peers->hand);
        pw_store_each_claim(peers->daemon->store, see, peers);
        pw_hand_looked(peers->hand);
}

uint64_t pw_handing_count(struct pw_peers *peers)
{
        look(peers);
        return pw_hand_count(peers->hand);
}

static struct pw_object *find_object(struct pw_peers *peers, struct pw_id id)
{
        struct pw_daemon *daemon = peers->daemon;

        if (pw_id_host(id) != daemon->host || id.epoch != daemon->epoch)
                return pw_borrowing_find(daemon, NULL, id);
        return pw_store_find(daemon->store, 0, pw_id_segment(id), pw_id_slot(id), id.generation);
}

/* False: it is not there any more, or not said for want of memory: as if it had been refused. */
static bool ask(struct pw_peers *peers, const struct pw_hand_action *action)
{
        const struct pw_object *object = find_object(peers, action->id);
        uint64_t now_us = pw_now_us();
        struct pw_peer_name message = { .kind = PW_PEER_NAME_TAKE, .number = action->number | PW_HANDING_NUMBERS,
                                        .id = action->id };
        struct pw_link_frame *frame;
        struct pw_claim_row row;

        if (!object || !pw_store_claim_see(peers->daemon->store, object, action->number, &row))
                return false;
        message.tenant = row.tenant;
        message.name = row.name ? row.name : "";
        message.ttl_us = !row.until_us ? 0 : row.until_us > now_us ? (int64_t)(row.until_us - now_us) : 1;
        frame = pw_peer_name_frame(&message);
        if (frame)
                pw_peers_send(peers, action->host, PW_PEER_BODY_NAME, frame);
        return frame;
}

static void let_go(struct pw_peers *peers, const struct pw_hand_action *action)
{
        const struct pw_object *object = find_object(peers, action->id);

        if (object)
                pw_store_claim_end(peers->daemon->store, object, action->number, pw_now_us());
        peers->daemon->loop.more = true;
}

void pw_handing_turn(struct pw_peers *peers)
{
        struct pw_hand_action action;

        if (pw_drain_state(peers->drain) == PW_DRAIN_NONE)
                return;
        look(peers);
        pw_hand_to(peers->hand, pw_drain_successor(peers->drain));
        while (pw_hand_next(peers->hand, pw_boot_us(), &action)) {
                if (action.kind == PW_HAND_LET_GO)
                        let_go(peers, &action);
                else if (!ask(peers, &action))
                        pw_hand_answered(peers->hand, action.host, action.number, PW_NO_MEMORY, pw_boot_us());
        }
}

uint64_t pw_handing_next_us(const struct pw_peers *peers)
{
        return pw_drain_state(peers->drain) == PW_DRAIN_NONE ? UINT64_MAX : pw_hand_next_us(peers->hand);
}

void pw_handing_answered(struct pw_peers *peers, uint32_t host, uint64_t number, enum pw_status status)
{
        pw_hand_answered(peers->hand, host, number, status, pw_boot_us());
        peers->daemon->loop.more = true;
}

void pw_handing_decided(struct pw_peers *peers)
{
        peers->hand_looks = pw_drain_state(peers->drain) != PW_DRAIN_NONE;
}

/* --- another one does --------------------------------------------------------------------------------------------------------- */

static void forget(struct handed *handed)
{
        pw_list_remove(&handed->link);
        free(handed);
}

static enum pw_status hold(struct pw_peers *peers, const struct handed *handed, struct pw_object *object, struct pw_error *ret_err)
{
        struct pw_store *store = peers->daemon->store;
        char text[PW_ID_TEXT_BYTES];

        if (!object)
                return pw_error_set(ret_err, PW_NOT_READY, "%s is not to be had now", pw_id_format(handed->id, text));
        if (strcmp(pw_object_tenant(store, object), handed->tenant))
                return pw_error_set(ret_err, PW_GONE, "%s is gone", pw_id_format(handed->id, text));
        if (handed->name[0])
                return pw_naming_take(peers, &(struct pw_naming_taken){ .host = handed->host, .theirs = handed->theirs,
                                      .tenant = handed->tenant, .name = handed->name, .object = object, .from = handed->from,
                                      .until_us = handed->until_us }, ret_err);
        return pw_store_lease(store, object, handed->until_us, ret_err);
}

static void got(struct pw_peers *peers, void *context, struct pw_object *object)
{
        struct handed *handed = context;
        struct pw_error err = { PW_OK, "" };
        enum pw_status status = handed->host ? hold(peers, handed, object, &err) : PW_OK;

        if (handed->host && (status != PW_OK || !handed->name[0])) /* else metadata answers */
                pw_naming_answer(peers, handed->host, handed->theirs, status, status == PW_OK ? "" : err.text);
        forget(handed);
}

static struct handed *handed_new(struct pw_peers *peers, uint32_t host, const struct pw_peer_name *message)
{
        const struct pw_host *from = pw_hosts_get(&peers->hosts, host);
        size_t tenant_bytes = strlen(message->tenant) + 1, name_bytes = strlen(message->name) + 1;
        struct handed *handed = malloc(sizeof *handed + tenant_bytes + name_bytes);

        if (!handed)
                return NULL;
        *handed = (struct handed){ .host = host, .theirs = message->number, .id = message->id,
                                   .from = { host, from && from->peer ? from->peer->link->epoch : 0 },
                                   .until_us = message->ttl_us ? pw_now_us() + (uint64_t)message->ttl_us : 0 };
        handed->name = handed->tenant + tenant_bytes;
        memcpy(handed->tenant, message->tenant, tenant_bytes);
        memcpy(handed->name, message->name, name_bytes);
        pw_list_init(&handed->link);
        pw_list_append(&peers->handed, &handed->link);
        return handed;
}

enum pw_status pw_handing_take(struct pw_peers *peers, uint32_t host, const struct pw_peer_name *message, struct pw_error *ret_err)
{
        struct handed *handed = handed_new(peers, host, message);
        struct pw_object *object;
        struct pw_error err;
        enum pw_status status = PW_OK;

        if (!handed)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for what is handed on");
        object = find_object(peers, handed->id);
        if (pw_drain_state(peers->drain) != PW_DRAIN_NONE)
                status = pw_error_set(&err, PW_BUSY, "host %s drains itself", peers->own.name);
        else if (pw_id_host(handed->id) == peers->own.host && handed->id.epoch == peers->own.peer.epoch)
                got(peers, handed, object); /* it comes home */
        else
                status = pw_taking_get(peers, handed->id, handed->tenant, got, handed, &err);
        if (status == PW_OK)
                return PW_OK;
        pw_naming_answer(peers, host, handed->theirs, status, err.text);
        forget(handed);
        return PW_OK;
}

/* --- ends --------------------------------------------------------------------------------------------------------------------- */

void pw_handing_ended(struct pw_peers *peers, uint32_t host)
{
        struct handed *handed;

        pw_hand_ended(peers->hand, host);
        pw_list_each(&peers->handed, handed, struct handed, link)
                if (handed->host == host)
                        handed->host = 0;
}

void pw_handing_done(struct pw_peers *peers)
{
        struct handed *handed;

        pw_list_each(&peers->handed, handed, struct handed, link)
                forget(handed);
        pw_hand_free(peers->hand);
        peers->hand = NULL;
}
