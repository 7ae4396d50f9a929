/* One turn of the loop: events in, decisions, actions out, until nothing is left; and what to do before sleeping. */
#include "daemon/loop/turn.h"

#include "base/memory.h"
#include "daemon/child/child.h"
#include "daemon/child/child_board.h"
#include "daemon/client/lane.h"
#include "daemon/client/look.h"
#include "daemon/client/name.h"
#include "daemon/client/client.h"
#include "daemon/effect.h"
#include "daemon/inspect/list.h"
#include "daemon/inspect/trace/trace.h"
#include "daemon/memory/audit.h"
#include "daemon/memory/overhead.h"
#include "daemon/memory/recount.h"
#include "daemon/work/shape/describe.h"
#include "daemon/work/submit.h"

#define SLOW_TURN_US 10000u
#define BOARDS_US 1000000u /* how long boards are not looked at while runs are in flight: nobody rings for what is wrong there */
#define TICK_US 1000u /* how late a deadline is looked at where there is always something else to do */

/* Submitting needs a look of its own if nothing was reclaimed: whether a donated value is the run's alone. */
static void look_and_submit(struct pw_daemon *daemon, uint64_t now_us)
{
        bool reclaim = pw_store_reclaim_begin(daemon->store);

        if (!reclaim && pw_list_empty(&daemon->work.submitted))
                return;
        pw_submit_close_batch(daemon);
        pw_look(daemon);
        if (reclaim)
                daemon->loop.more |= pw_store_reclaim_finish(daemon->store, now_us);
        pw_submit_batch(daemon, now_us);
}

static void tick(struct pw_daemon *daemon, uint64_t now_us)
{
        daemon->loop.ticked_us = now_us;
        if (pw_store_next_us(daemon->store) <= now_us)
                pw_store_tick(daemon->store, now_us);
        if (pw_scheduler_next_us(daemon->scheduler) <= now_us)
                pw_scheduler_tick(daemon->scheduler, now_us);
        pw_names_tick(daemon, now_us);
        pw_traces_tick(daemon, now_us);
        pw_audits_tick(daemon, now_us);
        pw_describe_tick(daemon, now_us);
        pw_children_tick(daemon, now_us);
}

/* What sessions have given back may lie in their rings unread: they are not asked to ring for that. From now on they are. */
static bool look_for_runs_aside(struct pw_daemon *daemon)
{
        bool before = daemon->clients.runs_aside;

        daemon->clients.runs_aside = pw_scheduler_waits_for_holders(daemon->scheduler);
        if (before || !daemon->clients.runs_aside)
                return false;
        pw_lanes_hungry(daemon);
        return true;
}

bool pw_turn(struct pw_daemon *daemon)
{
        uint64_t now_us = pw_now_us();
        bool any = daemon->loop.more;

        daemon->loop.more = false;
        daemon->clients.hungry = pw_store_waits_for_room(daemon->store, 0);
        any |= pw_processes_turn(daemon);
        any |= pw_inputs_turn(daemon);
        any |= pw_names_turn(daemon);
        any |= pw_lists_turn(daemon);
        any |= pw_lanes_turn(daemon);
        any |= pw_looks_turn(daemon, now_us);
        any |= pw_boards_poll(daemon->boards, daemon->scheduler, now_us);
        pw_child_boards_look(daemon);
        if (!pw_list_empty(&daemon->inspection.traces))
                pw_traces_collect(daemon, now_us);
        look_and_submit(daemon, now_us);
        pw_scheduler_turn(daemon->scheduler, now_us);
        any |= look_for_runs_aside(daemon);
        any |= pw_effects(daemon, now_us);
        if (pw_scheduler_next_us(daemon->scheduler) == 0) { /* runs were prepared, and can be ordered now */
                pw_scheduler_turn(daemon->scheduler, now_us);
                any |= pw_effects(daemon, now_us);
        }
        any |= !pw_list_empty(&daemon->work.submitted);
        pw_overhead_turn(daemon);
        any |= pw_recounts_turn(daemon, now_us);
        if (!pw_list_empty(&daemon->clients.ended))
                pw_sessions_reap(daemon);
        if (any && now_us - daemon->loop.ticked_us < TICK_US)
                return true;
        tick(daemon, now_us);
        any |= pw_effects(daemon, now_us);
        return any || daemon->loop.more || pw_store_reclaims(daemon->store);
}

bool pw_turn_may_sleep(struct pw_daemon *daemon)
{
        return pw_lanes_sleep(daemon) && !pw_boards_sleep(daemon->boards, daemon->scheduler, pw_now_us());
}

uint64_t pw_turn_next_us(const struct pw_daemon *daemon)
{
        uint64_t next_us = pw_min_u64(pw_store_next_us(daemon->store), pw_scheduler_next_us(daemon->scheduler));

        next_us = pw_min_u64(next_us, daemon->loop.stuck_until_us);
        next_us = pw_min_u64(next_us, pw_names_next_us(daemon));
        next_us = pw_min_u64(next_us, pw_traces_next_us(daemon));
        next_us = pw_min_u64(next_us, pw_audits_next_us(daemon));
        next_us = pw_min_u64(next_us, pw_recounts_next_us(daemon));
        next_us = pw_min_u64(next_us, pw_describe_next_us(daemon));
        if (daemon->work.runs_in_flight)
                next_us = pw_min_u64(next_us, daemon->loop.ticked_us + BOARDS_US);
        return pw_min_u64(next_us, pw_children_next_us(daemon));
}

void pw_turn_took(struct pw_daemon *daemon, uint64_t started_us)
{
        uint64_t took_us = pw_now_us() - started_us;

        pw_count_turn(&daemon->counters, took_us);
        if (took_us > SLOW_TURN_US)
                pw_log(&daemon->log, PW_LOG_DEBUG, "slow turn took_us=%llu doing=\"%s\" sessions=%u runs_in_flight=%llu",
                       (unsigned long long)took_us, daemon->loop.doing ? daemon->loop.doing : "work",
                       daemon->registry.sessions.count, (unsigned long long)daemon->work.runs_in_flight);
        daemon->loop.doing = NULL;
}
