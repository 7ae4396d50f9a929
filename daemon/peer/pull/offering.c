/* Values that this host lends, where their bytes lie, until no thread sends them. */
#include "daemon/peer/pull/offering.h"

#include "base/memory.h"
#include "cluster/pull/source.h"
#include "cluster/pull/spread.h"
#include "daemon/memory/lent_map.h"
#include "daemon/peer/known.h"
#include "daemon/peer/pull/spread_value.h"
#include "store/fetched.h"

#include <stdlib.h>

struct offering {
        struct pw_offered offered; /* first */
        struct pw_list link;
        struct pw_peers *peers;
        struct pw_id id;
        uint64_t number;
        struct pw_object *object;
        struct pw_spread_value *spread; /* NULL: its bytes lie in a row, in `map` */
        struct pw_lent_map *map;
        bool withdrawn;
};

static struct offering *find(const struct pw_peers *peers, struct pw_id id)
{
        struct offering *offering;

        pw_list_each(&peers->offerings, offering, struct offering, link)
                if (pw_id_equal(offering->id, id) && !offering->withdrawn)
                        return offering;
        return NULL;
}

static void forget(struct offering *offering)
{
        pw_lent_map_give(offering->map);
        pw_spread_value_free(offering->spread);
        pw_list_remove(&offering->link);
        free(offering);
}

static void let_go(struct pw_offered *offered)
{
        struct offering *offering = (struct offering *)offered;
        struct pw_daemon *daemon = offering->peers->daemon;

        pw_store_release(daemon->store, offering->object, pw_peers_threads, pw_now_us());
        daemon->loop.more = true;
        forget(offering);
}

static enum pw_status gather(const struct pw_offered *offered, uint64_t first, uint32_t bytes, uint8_t *to)
{
        return pw_spread_value_read(((const struct offering *)offered)->spread, first, bytes, to);
}

/* Its bytes, as the threads read them. */
static enum pw_status map(struct offering *offering, struct pw_error *ret_err)
{
        struct pw_daemon *daemon = offering->peers->daemon;
        struct pw_segment *segment;
        struct pw_value_at at;
        uint8_t *bytes;
        enum pw_status status = pw_value_at(daemon, offering->object, &at, ret_err);

        if (status == PW_UNSUPPORTED) {
                offering->offered = (struct pw_offered){ .gather = gather, .let_go = let_go };
                return pw_spread_value_new(daemon, offering->object, &offering->spread, &offering->offered.bytes, ret_err);
        }
        if (status != PW_OK)
                return status;
        segment = pw_segment_get(&daemon->memory, at.segment);
        if (!segment || at.is_inline)
                return pw_error_set(ret_err, PW_PROTOCOL, "its producer wrote a place that cannot be");
        status = pw_lent_map_take(segment, at.offset, at.bytes, &offering->map, &bytes, ret_err);
        if (status == PW_OK)
                offering->offered = (struct pw_offered){ .at = bytes, .bytes = at.bytes, .let_go = let_go };
        return status;
}

static enum pw_status offer(struct offering *offering, struct pw_error *ret_err)
{
        struct pw_peers *peers = offering->peers;
        struct pw_offer_params params = { .id = offering->id, .is_whole = true, .place = offering };
        enum pw_status status = map(offering, ret_err);

        offering->offered.id = offering->id;
        offering->offered.tenant = pw_object_tenant(peers->daemon->store, offering->object);
        params.bytes = offering->offered.bytes;
        params.is_staged = offering->offered.gather != NULL;
        if (status == PW_OK)
                status = pw_store_hold(peers->daemon->store, offering->object, pw_peers_threads, ret_err);
        if (status != PW_OK)
                return status;
        status = pw_pull_source_offer(peers->source, &params, &offering->number, ret_err);
        if (status != PW_OK) {
                pw_store_release(peers->daemon->store, offering->object, pw_peers_threads, pw_now_us());
                return status;
        }
        pw_list_append(&peers->offerings, &offering->link);
        status = pw_pull_spread_offer(peers->spread, offering->id, offering->number, ret_err);
        if (status != PW_OK) {
                offering->withdrawn = true;
                pw_pull_source_withdraw(peers->source, offering->number, status); /* let_go() comes */
        }
        return PW_OK;
}

static void withdraw(struct offering *offering, enum pw_status why)
{
        struct pw_peers *peers = offering->peers;

        offering->withdrawn = true;
        pw_pull_spread_withdraw(peers->spread, offering->id, why);
        pw_pull_source_withdraw(peers->source, offering->number, why);
        peers->daemon->loop.more = true;
}

/* Where it is not there to be sent, why. */
static enum pw_status check(struct pw_daemon *daemon, const struct pw_object *object)
{
        uint64_t word = object ? pw_entry_load(pw_object_entry(daemon->store, object)) : 0;

        if (object && pw_word_state(word) == PW_ENTRY_READY)
                return PW_OK;
        return object && pw_word_state(word) == PW_ENTRY_LOST ? pw_status_told(pw_word_error(word)) : PW_GONE;
}

/* NULL: of another host or epoch, or gone. */
static struct pw_object *object_of(struct pw_peers *peers, struct pw_id id)
{
        struct pw_daemon *daemon = peers->daemon;

        if (pw_id_host(id) != daemon->host || id.epoch != daemon->epoch)
                return NULL;
        return pw_store_find(daemon->store, 0, pw_id_segment(id), pw_id_slot(id), id.generation);
}

struct pw_object *pw_offering_apart(struct pw_peers *peers, struct pw_id id)
{
        struct pw_object *object = object_of(peers, id);

        return object && pw_store_is_apart(peers->daemon->store, object) ? object : NULL;
}

enum pw_status pw_offering_wanted(struct pw_peers *peers, struct pw_id id)
{
        struct pw_daemon *daemon = peers->daemon;
        struct offering *offering;
        struct pw_object *object;
        struct pw_error err;
        enum pw_status status;

        if (pw_id_host(id) != daemon->host || id.epoch != daemon->epoch)
                return PW_OK;
        offering = find(peers, id);
        object = object_of(peers, id);
        status = check(daemon, object);
        if (offering && status != PW_OK)
                withdraw(offering, status);
        if (offering)
                return status;
        offering = status == PW_OK ? calloc(1, sizeof *offering) : NULL;
        if (!offering)
                return status == PW_OK ? PW_NO_MEMORY : status;
        pw_list_init(&offering->link);
        offering->peers = peers;
        offering->id = id;
        offering->object = object;
        status = offer(offering, &err);
        if (status == PW_OK)
                return PW_OK;
        pw_log(&daemon->log, PW_LOG_DEBUG, "a value is not offered reason=\"%s\"", err.text);
        forget(offering);
        return pw_status_told(status);
}

struct lent { struct pw_id id; bool is; };

static void is_lent(void *context, const struct pw_lend_row *row)
{
        struct lent *lent = context;

        lent->is |= pw_id_equal(row->id, lent->id);
}

void pw_offering_unheld(struct pw_peers *peers, struct pw_id id)
{
        struct offering *offering = find(peers, id);
        struct lent lent = { .id = id };

        if (!offering)
                return;
        pw_lend_each(peers->lend, is_lent, &lent);
        if (lent.is)
                return;
        withdraw(offering, PW_GONE);
}

void pw_offering_done(struct pw_peers *peers)
{
        struct offering *offering;

        pw_list_each(&peers->offerings, offering, struct offering, link)
                forget(offering);
}
