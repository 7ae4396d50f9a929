/* One turn of the loop: events in, decisions, actions out, until nothing is left; and what to do before sleeping. */
#include "daemon/loop/turn.h"

#include "base/memory.h"
#include "daemon/child/child_board.h"
#include "daemon/client/client.h"
#include "daemon/client/lane.h"
#include "daemon/client/scan.h"
#include "daemon/client/object/name.h"
#include "daemon/effect.h"
#include "daemon/inspect/list.h"
#include "daemon/inspect/trace/states.h"
#include "daemon/inspect/trace/trace.h"
#include "daemon/loop/timer.h"
#include "daemon/memory/overhead.h"
#include "daemon/memory/recount.h"
#include "daemon/memory/worker.h"
#include "daemon/meta/carry.h"
#include "daemon/peer/peers.h"
#include "daemon/work/submit.h"
#include "store/name.h"

#define SLOW_TURN_US 10000u
#define TICK_US 1000u /* how late a deadline is looked at where there is always something else to do */

/* Submitting needs a scan of its own if nothing was reclaimed: whether a donated value is the run's alone. */
static void look_and_submit(struct pw_daemon *daemon, uint64_t now_us)
{
        bool reclaim = pw_store_reclaim_begin(daemon->store);

        if (!reclaim && pw_list_empty(&daemon->work.submitted))
                return;
        pw_submit_close_batch(daemon);
        pw_scan(daemon);
        if (reclaim)
                daemon->loop.more |= pw_store_reclaim_finish(daemon->store, now_us);
        pw_submit_batch(daemon, now_us);
}

/* What sessions have given back may lie in their rings unread: they are not asked to ring for that. From now on they are. */
static bool look_for_deferred_runs(struct pw_daemon *daemon)
{
        bool before = daemon->clients.runs_deferred;

        daemon->clients.runs_deferred = pw_scheduler_waits_for_holders(daemon->scheduler);
        if (before || !daemon->clients.runs_deferred)
                return false;
        pw_lanes_hungry(daemon);
        return true;
}

bool pw_turn(struct pw_daemon *daemon)
{
        uint64_t now_us = pw_now_us();
        bool any = daemon->loop.more;

        daemon->loop.more = false;
        pw_states_follow(daemon);
        daemon->clients.hungry = pw_store_waits_for_room(daemon->store, 0);
        any |= pw_processes_turn(daemon);
        any |= pw_inputs_turn(daemon);
        any |= pw_meta_carry(daemon, now_us);
        any |= pw_peers_turn(daemon);
        if (pw_peers_want_drops(daemon, now_us))
                pw_lanes_look(daemon);
        any |= pw_names_turn(daemon);
        any |= pw_lists_turn(daemon);
        any |= pw_lanes_turn(daemon);
        any |= pw_scans_turn(daemon, now_us);
        any |= pw_boards_poll(daemon->boards, daemon->scheduler, now_us);
        pw_child_boards_scan(daemon);
        if (!pw_list_empty(&daemon->inspection.traces))
                pw_traces_collect(daemon, now_us);
        look_and_submit(daemon, now_us);
        pw_scheduler_turn(daemon->scheduler, now_us);
        any |= look_for_deferred_runs(daemon);
        any |= pw_effects(daemon, now_us);
        if (pw_scheduler_next_us(daemon->scheduler) == 0) { /* runs were prepared, and can be ordered now */
                pw_scheduler_turn(daemon->scheduler, now_us);
                any |= pw_effects(daemon, now_us);
        }
        any |= !pw_list_empty(&daemon->work.submitted);
        pw_pinned_turn(daemon);
        pw_overhead_turn(daemon);
        any |= pw_recounts_turn(daemon, now_us);
        if (!pw_list_empty(&daemon->clients.ended))
                pw_sessions_reap(daemon);
        if (any && now_us - daemon->loop.ticked_us < TICK_US)
                return true;
        pw_timers_turn(daemon, now_us);
        any |= pw_effects(daemon, now_us);
        return any || daemon->loop.more || pw_store_reclaims(daemon->store) || pw_store_names_tell(daemon->store) ||
               pw_meta_carry_next_us(daemon) <= now_us;
}

bool pw_turn_may_sleep(struct pw_daemon *daemon)
{
        return pw_lanes_sleep(daemon) && !pw_boards_sleep(daemon->boards, daemon->scheduler, pw_now_us());
}

void pw_turn_took(struct pw_daemon *daemon, uint64_t started_us)
{
        uint64_t took_us = pw_now_us() - started_us;

        pw_count_turn(&daemon->counters, took_us);
        if (took_us > SLOW_TURN_US)
                pw_log(&daemon->log, PW_LOG_DEBUG, "slow turn took_us=%llu doing=\"%s\" sessions=%u runs_in_flight=%llu",
                       (unsigned long long)took_us, daemon->loop.doing ? daemon->loop.doing : "work",
                       daemon->registry.sessions.count, (unsigned long long)daemon->counters.runs_in_flight);
        daemon->loop.doing = NULL;
}
