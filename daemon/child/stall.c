/* Devices that stand still. */
#include "daemon/child/stall.h"

#include "base/memory.h"
#include "base/size.h"
#include "daemon/child/blocked.h"

#include <stdio.h>

#define SLACK_US UINT64_C(30000000)
#define LOOKS 32u /* in that time: each goes through all that is ordered */

/* 0: each may take as long as it likes. */
static uint64_t most_us(const struct pw_daemon *daemon)
{
        uint64_t limit_us = daemon->settings.function_limit_us;

        return limit_us ? 2 * pw_min_u64(limit_us, UINT64_MAX / 4) + SLACK_US : 0;
}

/* Will another device come to it, or to what it waits for in another island? One that is being started again will, too. */
static bool is_on_its_way(const struct pw_daemon *daemon, uint32_t device, const struct pw_gang_row *gang)
{
        struct pw_gang_row other;

        if (daemon->children.all[device].state != PW_CHILD_READY)
                return true;
        if (!pw_boards_next_gang(daemon->boards, device, &other))
                return false;
        if (gang->members >> device & 1)
                return other.seq < gang->seq;
        return other.run != gang->run || other.node < gang->node;
}

static bool awaits_others(const struct pw_daemon *daemon, uint32_t device, const struct pw_gang_row *gang)
{
        struct pw_child_order order;
        struct pw_blocked blocked;
        struct pw_run_row run;
        uint64_t last, others;

        if (!pw_child_order(daemon, device, gang->seq, &order) || pw_blocked_find(daemon, device, &order, &blocked))
                return true;
        if (order.node->kind != PW_NODE_TRANSFER)
                return false;
        others = gang->members;
        if (order.node->phase != PW_PHASE_WHOLE && pw_scheduler_run_row(daemon->scheduler, gang->run, &run, &last))
                others |= run.devices;
        for (others &= ~(UINT64_C(1) << device); others; others &= others - 1)
                if (is_on_its_way(daemon, (uint32_t)__builtin_ctzll(others), gang))
                        return true;
        return false;
}

static void end(struct pw_child *child, uint64_t now_us)
{
        char why[100], stood[16];

        snprintf(why, sizeof why, "it was not done %s after it could begin",
                 pw_duration_format(now_us - child->stands_us, stood));
        child->kill_seq = child->stands_at;
        pw_child_kill(child->daemon, child->number, PW_TIME_LIMIT, why);
}

void pw_stalls_tick(struct pw_daemon *daemon, uint64_t now_us)
{
        uint64_t most = most_us(daemon);

        if (!most || now_us - daemon->children.stalls_us < most / LOOKS)
                return;
        daemon->children.stalls_us = now_us;
        for (uint32_t i = 0; i < daemon->device_count; i++) {
                struct pw_child *child = &daemon->children.all[i];
                struct pw_gang_row oldest;

                if (child->state != PW_CHILD_READY || child->kill_reason[0] ||
                    !pw_boards_next_gang(daemon->boards, i, &oldest)) {
                        child->stands_at = 0;
                } else if (oldest.seq != child->stands_at || awaits_others(daemon, i, &oldest)) {
                        child->stands_at = oldest.seq;
                        child->stands_us = now_us;
                } else if (now_us - child->stands_us > most) {
                        end(child, now_us);
                }
        }
}

uint64_t pw_stall_ends_us(const struct pw_daemon *daemon, uint32_t device, uint64_t seq)
{
        const struct pw_child *child = &daemon->children.all[device];

        return most_us(daemon) && child->stands_at == seq ? child->stands_us + most_us(daemon) : UINT64_MAX;
}
