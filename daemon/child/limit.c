/* What takes too long: functions, whose process is killed, and joints, which are given up. */
#include "daemon/child/limit.h"

#include "base/memory.h"
#include "base/size.h"
#include "daemon/child/child.h"
#include "daemon/child/stall.h"

#include <stdio.h>

#define LOOKS_PER_LIMIT 16u
#define GIVE_UP_US 2000000u /* an executor aborts a joint within one, or ends */
#define BRIEF_US 100000u /* who is so new may be over soon, and its process has what others keep there */
/* What launches a function's work takes some us, and longer only where the driver lets it wait for what the device does: whose
 * takes so long does not come back. */
#define LAUNCH_US 10000000u

/* The limit of a function: its call's, but no more than what the operator gives each. 0: none. That of its call is not for the
 * module that it is loaded from, the first time. */
static uint64_t limit_of(const struct pw_child *child, uint64_t seq, const struct pw_image_node *node)
{
        uint64_t most_us = child->daemon->settings.function_limit_us;

        if (atomic_load(&child->board->loading) == seq)
                return most_us;
        return !node->time_limit_us ? most_us : most_us ? pw_min_u64(node->time_limit_us, most_us) : node->time_limit_us;
}

static bool is_in(const struct pw_device_board *board, uint64_t seq)
{
        return atomic_load(&board->running) == seq && atomic_load(&board->done.seq) < seq;
}

/* It launches its work behind what the device does, and that is not done. */
static bool is_launching(const struct pw_device_board *board, uint64_t seq)
{
        return atomic_load(&board->launching) == seq && atomic_load(&board->done.seq) < seq;
}

static bool is_at(const struct pw_device_board *board, uint64_t seq) { return is_in(board, seq) || is_launching(board, seq); }

/* Or on the way to it, in a call of its library. */
static bool is_in_joint(const struct pw_device_board *board, uint64_t seq)
{
        return is_launching(board, seq) || (is_in(board, seq) && atomic_load(&board->joint.began) == seq);
}

/* What a device is in that must not take for ever; seq 0: nothing. Among them, what launches behind what the device does. */
struct span { uint64_t seq, since_ns, together; };

static struct span running(const struct pw_device_board *board)
{
        uint64_t since_ns = atomic_load(&board->running_since_ns);
        struct span span = { since_ns ? atomic_load(&board->running) : 0, since_ns, atomic_load(&board->running_together) };

        if (atomic_load(&board->running_since_ns) != since_ns) /* the next one has begun */
                span.seq = 0;
        return span;
}

static struct span launching(const struct pw_device_board *board)
{
        uint64_t seq = atomic_load(&board->launching);

        return (struct span){ seq, atomic_load(&board->launching_since_ns), 1 };
}

/* When that must be over; UINT64_MAX: never. */
static uint64_t span_over_us(const struct pw_daemon *daemon, const struct pw_child *child, const struct span *span)
{
        const struct pw_image_node *node;
        const char *name;
        uint64_t limit, run;

        if (!span->seq || !pw_child_gang(daemon, child->number, span->seq, &node, &name, &run) ||
            !limit_of(child, span->seq, node))
                return UINT64_MAX;
        /* Each of those that end together has its time. */
        limit = pw_min_u64(limit_of(child, span->seq, node), UINT64_MAX / PW_TOGETHER_MOST) *
                pw_min_u64(pw_max_u64(span->together, 1), PW_TOGETHER_MOST);
        return span->since_ns / 1000 + pw_min_u64(limit, UINT64_MAX - span->since_ns / 1000);
}

/* Who launches says nothing meanwhile: whether what the device did is done is not known from then on. So unless that was over its
 * time before, the one that launches is first to be blamed. */
static bool hides(const struct span *ahead, uint64_t ahead_us, const struct span *first, uint64_t first_us)
{
        return ahead->seq != first->seq && ahead_us < UINT64_MAX && ahead->since_ns / 1000 < first_us;
}

/* When what a device is in must be over, and in which gang that is; UINT64_MAX: it is in nothing with a limit. */
static uint64_t limit_us(const struct pw_daemon *daemon, const struct pw_child *child, uint64_t *ret_seq)
{
        struct span first, ahead;
        uint64_t first_us, ahead_us;

        if (child->state != PW_CHILD_READY || child->kill_reason[0])
                return UINT64_MAX;
        *ret_seq = child->give_up_seq;
        if (child->give_up_seq && is_at(child->board, child->give_up_seq))
                return child->give_up_us;
        first = running(child->board);
        ahead = launching(child->board);
        first_us = span_over_us(daemon, child, &first);
        ahead_us = span_over_us(daemon, child, &ahead);
        if (!hides(&ahead, ahead_us, &first, first_us)) {
                *ret_seq = first.seq;
                return first_us;
        }
        *ret_seq = ahead.seq;
        return ahead_us;
}

uint64_t pw_child_over_us(const struct pw_daemon *daemon, uint32_t device, uint64_t *ret_limit_us)
{
        const struct pw_child *child = &daemon->children.all[device];
        uint64_t seq, over_us = limit_us(daemon, child, &seq), run;
        const struct pw_image_node *node;
        const char *name;

        if (over_us < UINT64_MAX && !pw_child_gang(daemon, device, seq, &node, &name, &run))
                return UINT64_MAX;
        if (over_us < UINT64_MAX)
                *ret_limit_us = limit_of(child, seq, node);
        return over_us;
}

/* All that take part are told: one whose thread does not come back from the library could not see that another gave up. */
static void give_up(struct pw_daemon *daemon, uint32_t device, uint64_t seq, enum pw_status status)
{
        struct pw_island_board *board = daemon->children.islands[daemon->children.all[device].island].board;
        uint64_t until_us = pw_now_us() + GIVE_UP_US;

        if (!daemon->children.gave_up_us)
                daemon->children.gave_up_us = until_us;
        for (uint64_t rest = board->log[seq % PW_ORDER_LOG].members; rest; rest &= rest - 1) {
                struct pw_child *child = &daemon->children.all[__builtin_ctzll(rest)];

                if (child->state != PW_CHILD_READY || !is_at(child->board, seq) || child->give_up_seq == seq)
                        continue;
                child->give_up_seq = seq;
                child->give_up_us = until_us;
                child->give_up_status = status;
                atomic_store(&board->give_up[child->number].status, status);
                atomic_store(&board->give_up[child->number].seq, seq);
                pw_bells_ring_one(daemon->children.bells, child->number);
        }
}

static void kill_in(struct pw_daemon *daemon, uint32_t device, uint64_t seq, enum pw_status status, const char *why)
{
        if (!daemon->children.all[device].kill_reason[0])
                daemon->children.all[device].kill_seq = seq;
        pw_child_kill(daemon, device, status, why);
}

/* Where it launches behind another gang that the device does: who that is. */
static bool launches_behind(const struct pw_device_board *board, struct span *ret_ahead)
{
        uint64_t running = atomic_load(&board->running);

        *ret_ahead = launching(board);
        return running && running < ret_ahead->seq && is_launching(board, ret_ahead->seq);
}

/* For so long it is at it; one that says that it has yet to begin has been for ever, as a function writes there what it likes. */
static bool is_past(const struct span *span, uint64_t us) { return pw_now_us() - span->since_ns / 1000 >= us; }

/* The gang of the run of `order`, `seq`, that is to be ended: that one; or what the device launches behind what it does, which may
 * be another run's, if that does not come back. 0: none. */
static uint64_t to_be_ended(const struct pw_daemon *daemon, uint32_t device, uint64_t seq, const struct pw_child_order *order)
{
        const struct pw_device_board *board = daemon->children.all[device].board;
        struct pw_child_order launched;
        struct span ahead;

        if (!launches_behind(board, &ahead))
                return seq;
        if (is_past(&ahead, LAUNCH_US) && pw_child_order(daemon, device, ahead.seq, &launched) &&
            launched.record->run == order->record->run)
                return ahead.seq;
        return atomic_load(&board->running) == seq ? seq : 0;
}

/* It is in the function, or in its module, which is loaded for it, and is so for a while. What waits for another device, or has
 * just done so, has not begun, and will not: its run is over. */
static bool is_long_in(const struct pw_device_board *board, uint64_t seq)
{
        struct span first = running(board), ahead = launching(board);

        if (atomic_load(&board->done.seq) >= seq)
                return false;
        if (ahead.seq == seq)
                return is_past(&ahead, BRIEF_US);
        return first.seq == seq && is_past(&first, BRIEF_US);
}

void pw_child_end_gang(struct pw_daemon *daemon, uint32_t device, uint64_t seq, enum pw_status status, const char *why)
{
        const struct pw_child *child = &daemon->children.all[device];
        struct pw_child_order order;

        if (child->state != PW_CHILD_READY || !pw_child_order(daemon, device, seq, &order) ||
            atomic_load(&child->board->failed.seq) == seq) /* it writes down that a process before it ended there */
                return;
        seq = to_be_ended(daemon, device, seq, &order);
        if (!seq || !pw_child_order(daemon, device, seq, &order))
                return;
        if (order.node->kind == PW_NODE_TRANSFER) {
                if (is_in_joint(child->board, seq) && child->give_up_seq != seq)
                        give_up(daemon, device, seq, status);
        } else if (is_long_in(child->board, seq)) {
                kill_in(daemon, device, seq, status, why);
        }
}

uint64_t pw_child_ends_us(const struct pw_daemon *daemon, uint32_t device, uint64_t seq, uint64_t deadline_us)
{
        const struct pw_device_board *board = daemon->children.all[device].board;
        struct span ahead;

        if (launches_behind(board, &ahead) && ahead.seq == seq)
                return pw_max_u64(deadline_us, ahead.since_ns / 1000 + LAUNCH_US);
        return deadline_us;
}

/* The limit that all functions have is looked at some times in its length: that costs nothing, and it is known about. */
static uint64_t look_us(const struct pw_daemon *daemon)
{
        uint64_t most_us = daemon->settings.function_limit_us;

        return most_us ? daemon->children.looked_us + most_us / LOOKS_PER_LIMIT + 1 : UINT64_MAX;
}

/* A function may have started since the last look, so while runs with limits are in flight the look comes once per limit. */
uint64_t pw_limits_next_us(const struct pw_daemon *daemon)
{
        uint64_t next_us = look_us(daemon), shortest_us = daemon->children.shortest_limit_us, seq;

        if (!daemon->counters.runs_in_flight)
                next_us = UINT64_MAX;
        if (daemon->children.gave_up_us)
                next_us = pw_min_u64(next_us, daemon->children.gave_up_us);
        if (!daemon->counters.runs_in_flight)
                return next_us;
        if (!shortest_us)
                return next_us;
        for (uint32_t i = 0; i < daemon->device_count; i++)
                next_us = pw_min_u64(next_us, limit_us(daemon, &daemon->children.all[i], &seq));
        return pw_min_u64(next_us, pw_now_us() + shortest_us);
}

/* One call that launches its work has taken all the time. */
static bool is_hung(const struct pw_daemon *daemon, const struct pw_child *child, uint64_t seq, uint64_t now_us)
{
        struct span ahead = launching(child->board);

        return ahead.seq == seq && span_over_us(daemon, child, &ahead) <= now_us;
}

static void end_over(struct pw_daemon *daemon, struct pw_child *child, uint64_t seq, uint64_t now_us)
{
        char why[100], limit[16];
        struct pw_child_order order;

        if (!pw_child_order(daemon, child->number, seq, &order))
                return;
        if (child->give_up_seq == seq) {
                kill_in(daemon, child->number, seq, child->give_up_status, "it did not give up what devices do together");
        } else if (order.node->kind == PW_NODE_TRANSFER && !is_hung(daemon, child, seq, now_us)) {
                give_up(daemon, child->number, seq, PW_TIME_LIMIT);
        } else {
                snprintf(why, sizeof why, "over its time limit of %s", pw_duration_format(limit_of(child, seq, order.node), limit));
                kill_in(daemon, child->number, seq, PW_TIME_LIMIT, why);
        }
}

/* When the next one must have given up; 0: all have. */
static uint64_t given_up_us(const struct pw_daemon *daemon)
{
        uint64_t until_us = UINT64_MAX;

        for (uint32_t i = 0; i < daemon->device_count; i++) {
                const struct pw_child *child = &daemon->children.all[i];
                if (child->state == PW_CHILD_READY && !child->kill_reason[0] && child->give_up_seq &&
                    is_at(child->board, child->give_up_seq))
                        until_us = pw_min_u64(until_us, child->give_up_us);
        }
        return until_us < UINT64_MAX ? until_us : 0;
}

void pw_limits_tick(struct pw_daemon *daemon, uint64_t now_us)
{
        bool gave_up = daemon->children.gave_up_us && daemon->children.gave_up_us <= now_us;
        bool works = daemon->counters.runs_in_flight && (daemon->children.shortest_limit_us || look_us(daemon) <= now_us);

        if (!gave_up && !works)
                return;
        daemon->children.looked_us = now_us;
        pw_stalls_tick(daemon, now_us);
        for (uint32_t i = 0; i < daemon->device_count; i++) {
                struct pw_child *child = &daemon->children.all[i];
                uint64_t seq;

                if (limit_us(daemon, child, &seq) <= now_us)
                        end_over(daemon, child, seq, now_us);
        }
        daemon->children.gave_up_us = given_up_us(daemon);
}
