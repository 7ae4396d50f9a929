/* The list of timers. */
#include "daemon/loop/timer.h"

#include "base/memory.h"
#include "daemon/child/child.h"
#include "daemon/client/client.h"
#include "daemon/http/http.h"
#include "daemon/inspect/trace/trace.h"
#include "daemon/loop/heap.h"
#include "daemon/memory/audit.h"
#include "daemon/memory/fetch/fetch.h"
#include "daemon/memory/recount.h"
#include "daemon/meta/carry.h"
#include "daemon/notify.h"
#include "daemon/peer/peers.h"
#include "daemon/session/complaint.h"
#include "daemon/session/output.h"
#include "daemon/work/shape/describe.h"

#define BOARDS_US 1000000u /* how long boards are not looked at while runs are in flight: nobody rings for what is wrong there */

static uint64_t store_next_us(const struct pw_daemon *daemon) { return pw_store_next_us(daemon->store); }
static void store_due(struct pw_daemon *daemon, uint64_t now_us) { pw_store_tick(daemon->store, now_us); }
static uint64_t scheduler_next_us(const struct pw_daemon *daemon) { return pw_scheduler_next_us(daemon->scheduler); }
static void scheduler_due(struct pw_daemon *daemon, uint64_t now_us) { pw_scheduler_tick(daemon->scheduler, now_us); }
static uint64_t stuck_next_us(const struct pw_daemon *daemon) { return daemon->loop.stuck_until_us; }
static uint64_t stop_next_us(const struct pw_daemon *daemon) { return daemon->loop.stop_at_us; }
static uint64_t boards_next_us(const struct pw_daemon *daemon)
{
        return daemon->counters.runs_in_flight ? daemon->loop.ticked_us + BOARDS_US : UINT64_MAX;
}

/* Each turn looks at it: that there is one is all. */
static void wake(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; }

static const struct timer {
        const char *name;
        uint64_t (*next_us)(const struct pw_daemon *daemon); /* UINT64_MAX: never */
        void (*due)(struct pw_daemon *daemon, uint64_t now_us);
} timers[] = {
        { "deadlines of the store", store_next_us, store_due },
        { "deadlines of runs", scheduler_next_us, scheduler_due },
        { "actions that found no memory", stuck_next_us, wake },
        { "the end of draining", stop_next_us, wake },
        { "boards", boards_next_us, wake },
        { "metadata", pw_meta_carry_next_us, wake },
        { "other hosts", pw_peers_next_us, pw_peers_tick },
        { "traces", pw_traces_next_us, pw_traces_tick },
        { "audits", pw_audits_next_us, pw_audits_tick },
        { "values of devices", pw_fetches_next_us, pw_fetches_tick },
        { "recounts", pw_recounts_next_us, wake },
        { "shape functions", pw_describe_next_us, pw_describe_tick },
        { "children", pw_children_next_us, pw_children_tick },
        { "lines that the log left out", pw_complaints_next_us, pw_complaints_tick },
        { "connections without a Hello", pw_strangers_next_us, pw_strangers_tick },
        { "listening again", pw_listening_next_us, pw_listening_tick },
        { "replies that wait to be sent", pw_outputs_next_us, pw_outputs_tick },
        { "connections of --http", pw_http_next_us, pw_http_tick },
        { "the heap", pw_heap_next_us, pw_heap_tick },
        { "the watchdog", pw_watchdog_next_us, pw_watchdog_tick },
};

uint64_t pw_timers_next_us(const struct pw_daemon *daemon)
{
        uint64_t next_us = UINT64_MAX;

        for (uint32_t i = 0; i < pw_array_count(timers); i++)
                next_us = pw_min_u64(next_us, timers[i].next_us(daemon));
        return next_us;
}

void pw_timers_turn(struct pw_daemon *daemon, uint64_t now_us)
{
        for (uint32_t i = 0; i < pw_array_count(timers); i++) {
                if (timers[i].next_us(daemon) > now_us)
                        continue;
                if (!daemon->loop.doing && timers[i].due != wake)
                        daemon->loop.doing = timers[i].name;
                timers[i].due(daemon, now_us);
        }
        daemon->loop.ticked_us = now_us;
}
