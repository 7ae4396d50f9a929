/* What members of a transfer publish, and what has become by the end of what others read. */
#include "executor/gang/gang_private.h"

#include "executor/wait.h"

void pw_gang_mark(const struct pw_exec_gang *gang, struct pw_mark *mark, const struct pw_room_head *outcome)
{
        struct pw_launch *launch = gang->launch;

        mark->status = outcome->status;
        atomic_store_explicit(&mark->broken, PW_OK, memory_order_relaxed);
        if (outcome->status == PW_OK) {
                mark->at_ns = pw_launch_device_ns(launch);
        } else {
                mark->cause_node = outcome->cause_node;
                mark->cause_device = outcome->cause_device;
        }
        atomic_store(&mark->seq, gang->seq);
        pw_bells_ring(launch->given.bells, &launch->given.bells->sleepers[launch->given.device].bits, gang->members);
}

bool pw_gang_mark_read(struct pw_exec_gang *gang, const struct pw_mark *mark, struct pw_room_head *ret_fault)
{
        uint32_t status = *(const volatile uint32_t *)&mark->status; /* once: it is judged and used */

        if (status == PW_OK) {
                gang->came_ns = pw_max_u64(gang->came_ns, mark->at_ns);
                return true;
        }
        *ret_fault = pw_gang_fault(gang, pw_gang_status(status));
        ret_fault->cause_node = mark->cause_node;
        ret_fault->cause_device = mark->cause_device;
        return false;
}

bool pw_gang_lost_meanwhile(const struct pw_exec_gang *gang, uint32_t device, uint64_t seq, struct pw_room_head *ret_fault)
{
        if (device == gang->launch->given.device || pw_gang_lost_before(gang->launch, device) <= seq)
                return false;
        *ret_fault = pw_gang_fault(gang, PW_DEVICE_LOST);
        ret_fault->cause_device = pw_gang_device(gang, device);
        return true;
}

/* Its mark of this gang is the daemon's word then, or that of a process that came later: `failed` may be of another gang by now. */
bool pw_gang_has_ended(struct pw_exec_gang *gang, uint32_t device, struct pw_room_head *ret_fault)
{
        const struct pw_device_board *board = gang->launch->given.boards[device];
        uint64_t failed = pw_wait_load(&board->failed.seq);

        if (failed < gang->seq)
                return false;
        if (!pw_gang_mark_read(gang, &board->marks[gang->seq % PW_ORDER_LOG], ret_fault))
                return true;
        if (failed > gang->seq) /* it ended behind this one, which it did */
                return false;
        *ret_fault = pw_gang_fault(gang, PW_DEVICE_LOST);
        ret_fault->cause_device = pw_gang_device(gang, device);
        return true;
}

struct pw_room_head pw_gang_look_again(const struct pw_exec_gang *gang, const struct pw_source_head *heads, uint32_t count)
{
        struct pw_room_head fault;

        for (uint32_t i = 0; i < count; i++)
                if (heads[i].head && heads[i].device != gang->launch->given.device &&
                    !pw_gang_is_value(gang, heads[i].head, heads[i].device, &fault))
                        return fault;
        return pw_gang_fault(gang, PW_OK);
}
