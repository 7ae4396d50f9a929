/* What keeps a gang's member from a value: the faults that begin with it, and those that lie in what it reads. */
#include "executor/gang/gang_private.h"

#include "executor/report.h"
#include "executor/wait.h"

struct pw_room_head pw_gang_cause(const struct pw_exec_gang *gang, enum pw_status status, const char *text)
{
        struct pw_room_head fault = pw_gang_fault(gang, status);

        pw_report_cause(gang->launch, &(struct pw_report_about){ gang->view, gang->index, &fault }, text);
        return fault;
}

uint64_t pw_gang_lost_before(const struct pw_launch *launch, uint32_t device)
{
        uint64_t seq;

        if (device == launch->given.device)
                return pw_wait_load(&launch->board->lost_before[device]);
        seq = pw_wait_load(&launch->given.boards[device]->spoilt_before);
        for (uint32_t i = 0; i < launch->given.island_count; i++)
                seq = pw_max_u64(seq, pw_wait_load(&launch->given.islands[i]->lost_before[device]));
        return seq;
}

/* Of who reads a room whose head says that there is no value. */
static struct pw_room_head fault_of(const struct pw_exec_gang *gang, const struct pw_room_head *head)
{
        struct pw_room_head fault = *head;

        fault.status = pw_gang_status(head->status);
        if (head->run == gang->view->run)
                return fault;
        fault = pw_gang_fault(gang, (enum pw_status)fault.status); /* nodes are known by number within one run only */
        fault.cause_node = PW_NODE_NONE;
        fault.cause_device = head->cause_device;
        return fault;
}

bool pw_gang_is_value(const struct pw_exec_gang *gang, const struct pw_room_head *head, uint32_t device,
                      struct pw_room_head *ret_fault)
{
        if (head->seq < pw_gang_lost_before(gang->launch, device)) {
                *ret_fault = pw_gang_fault(gang, PW_DEVICE_LOST);
                ret_fault->cause_device = pw_gang_device(gang, device);
                return false;
        }
        if (head->seal != pw_room_seal(head)) { /* somebody wrote past another room: that device is about to be lost */
                *ret_fault = pw_gang_fault(gang, PW_DEVICE_LOST);
                ret_fault->cause_device = pw_gang_device(gang, device);
                return false;
        }
        if (head->status == PW_OK)
                return true;
        *ret_fault = fault_of(gang, head);
        return false;
}

void pw_gang_fault_join(struct pw_room_head *fault, const struct pw_room_head *next)
{
        if (fault->status == PW_OK || (fault->status == PW_DEVICE_LOST && next->status != PW_DEVICE_LOST))
                *fault = *next;
}
