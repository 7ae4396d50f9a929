/* Between the store and metadata. */
#include "daemon/meta/carry.h"

#include "daemon/meta/meta.h"
#include "daemon/meta/own.h"
#include "daemon/notify.h"
#include "store/name.h"

#include <time.h>

#define ASKS_PART 1024u   /* in a turn */
#define STUCK_US 10000u   /* until a question without memory is asked again */

/* Before this host has its place there is no store, and so nobody who asked. */
static void answered(void *context, const struct pw_name_answer *answer)
{
        const struct pw_daemon *daemon = context;

        if (daemon->store)
                pw_store_name_answered(daemon->store, answer, pw_now_us());
}

/* --- what metadata says ------------------------------------------------------------------------------------------------------- */

static void take_place(struct pw_daemon *daemon, const struct pw_meta_host *host)
{
        struct pw_carried *carried = &daemon->carried;
        struct pw_meta_own own = { carried->cluster, carried->host_name, carried->machine, host->host, host->epoch,
                                   host->incarnation, carried->instance };

        daemon->host = host->host;
        daemon->epoch = host->epoch;
        carried->incarnation = host->incarnation;
        carried->why.status = PW_OK;
        if (carried->hosts)
                carried->hosts->joined(carried->context, &own);
}

static void note_why(struct pw_daemon *daemon, const struct pw_meta_event *event)
{
        pw_error_set(&daemon->carried.why, event->status != PW_OK ? event->status : PW_NOT_READY, "%s", event->text);
}

static void on_joined(struct pw_daemon *daemon, const struct pw_meta_event *event)
{
        take_place(daemon, &event->host);
        pw_log(&daemon->log, PW_LOG_INFO, "joined host=h%u epoch=%x cluster=%s incarnation=%016llx", daemon->host, daemon->epoch,
               daemon->carried.cluster, (unsigned long long)event->host.incarnation);
}

static void on_away(struct pw_daemon *daemon, const struct pw_meta_event *event)
{
        note_why(daemon, event);
        if (!daemon->carried.away_us)
                daemon->carried.away_us = pw_now_us();
        pw_log(&daemon->log, PW_LOG_WARNING, "metadata is away kind=%s why=\"%s\"", daemon->meta->kind->name, event->text);
}

static void on_back(struct pw_daemon *daemon, const struct pw_meta_event *event)
{
        (void)event;
        pw_log(&daemon->log, PW_LOG_INFO, "metadata is back kind=%s away_us=%llu", daemon->meta->kind->name,
               (unsigned long long)(daemon->carried.away_us ? pw_now_us() - daemon->carried.away_us : 0));
        daemon->carried.away_us = 0;
        daemon->carried.why.status = PW_OK;
        if (daemon->store)
                pw_store_names_back(daemon->store);
}

/* Another host has it: metadata had lost both bindings, and kept the older one. */
static void on_changed(struct pw_daemon *daemon, const struct pw_meta_event *event)
{
        char id[PW_ID_TEXT_BYTES];

        if (daemon->store)
                pw_store_name_lost(daemon->store, event->tenant, event->name, event->id, pw_now_us());
        pw_log(&daemon->log, PW_LOG_WARNING,
               "a name is another host's, which bound it before this one did; metadata had lost both tenant=%s name=%s id=%s "
               "version=%llu",
               event->tenant, event->name, pw_id_format(event->id, id), (unsigned long long)event->version);
}

static void on_bound(struct pw_daemon *daemon, const struct pw_meta_event *event)
{
        (void)event;
        if (daemon->store)
                pw_store_names_bound(daemon->store);
}

static void on_host(struct pw_daemon *daemon, const struct pw_meta_event *event)
{
        const struct pw_carried *carried = &daemon->carried;

        pw_log(&daemon->log, PW_LOG_INFO, "host known host=h%u epoch=%x name=%s address=%s", event->row->number,
               event->row->epoch, event->row->name, event->row->address);
        if (carried->hosts)
                carried->hosts->host(carried->context, event->row);
}

static void on_waits(struct pw_daemon *daemon, const struct pw_meta_event *event)
{
        note_why(daemon, event);
        pw_log(&daemon->log, PW_LOG_WARNING, "this host waits for its number cluster=%s name=%s why=\"%s\"",
               daemon->carried.cluster, daemon->carried.host_name, event->text);
        pw_daemon_notify(daemon, "STATUS=waits for its number in cluster %s: %s", daemon->carried.cluster, event->text);
}

/* It makes no ids any more: what it drains, ends, and so does it. */
static void on_refused(struct pw_daemon *daemon, const struct pw_meta_event *event)
{
        note_why(daemon, event);
        daemon->carried.refused = true;
        pw_log(&daemon->log, PW_LOG_ERROR, "metadata refuses this host, it stops cluster=%s name=%s why=\"%s\"",
               daemon->carried.cluster, daemon->carried.host_name, event->text);
        if (daemon->phase < PW_DRAINING)
                daemon->phase = PW_DRAINING;
}

static void on_trouble(struct pw_daemon *daemon, const struct pw_meta_event *event)
{
        pw_log(&daemon->log, PW_LOG_WARNING, "metadata kind=%s: %s", daemon->meta->kind->name, event->text);
}

static void event(void *context, const struct pw_meta_event *event)
{
        static void (*const take[])(struct pw_daemon *daemon, const struct pw_meta_event *event) = {
                [PW_META_JOINED] = on_joined, [PW_META_AWAY] = on_away,   [PW_META_BACK] = on_back,
                [PW_META_CHANGED] = on_changed, [PW_META_BOUND] = on_bound, [PW_META_HOST] = on_host, [PW_META_WAITS] = on_waits,
                [PW_META_REFUSED] = on_refused, [PW_META_TROUBLE] = on_trouble,
        };

        take[event->kind](context, event);
}

/* --- life --------------------------------------------------------------------------------------------------------------------- */

enum pw_status pw_meta_carry_open(struct pw_daemon *daemon, const struct pw_meta_carry_params *params, struct pw_error *ret_err)
{
        static const struct pw_meta_listener listener = { answered, event };
        struct pw_meta_params open = { .state_dir = daemon->state_dir, .now_s = (uint32_t)time(NULL),
                                       .secret = daemon->hash_secret, .listener = &listener, .context = daemon };
        struct pw_own_cluster own;
        struct pw_meta_host host;
        enum pw_status status = pw_own_cluster_read(daemon, params->addresses, &own, ret_err);

        if (status != PW_OK)
                return status;
        daemon->carried.hosts = params->hosts;
        daemon->carried.context = params->context;
        open.cluster = daemon->carried.cluster ? &own.cluster : NULL;
        status = pw_meta_kind(daemon->carried.cluster ? "redis" : "embedded")->open(&open, &daemon->meta, &host, ret_err);
        pw_own_cluster_done(&own);
        if (status == PW_OK && host.epoch)
                take_place(daemon, &host);
        return status;
}

/* --- turns -------------------------------------------------------------------------------------------------------------------- */

bool pw_meta_carry(struct pw_daemon *daemon, uint64_t now_us)
{
        struct pw_name_ask ask;
        uint32_t count = 0;

        if (now_us < daemon->carried.stuck_us)
                return pw_meta_turn(daemon->meta);
        daemon->carried.stuck_us = 0;
        for (; count < ASKS_PART && pw_store_name_next(daemon->store, &ask); count++) {
                if (pw_meta_submit(daemon->meta, &ask) != PW_OK) {
                        daemon->carried.stuck_us = now_us + STUCK_US;
                        break;
                }
                pw_store_name_asked(daemon->store, ask.token);
        }
        return pw_meta_turn(daemon->meta) || count;
}

uint64_t pw_meta_carry_next_us(const struct pw_daemon *daemon)
{
        struct pw_name_ask ask;
        uint64_t next_us = pw_meta_next_us(daemon->meta);

        return pw_store_name_next(daemon->store, &ask) ? pw_min_u64(next_us, daemon->carried.stuck_us) : next_us;
}
