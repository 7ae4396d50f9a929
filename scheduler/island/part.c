/* A part leaves its island device by device: each when what was ordered of it there is done. */
#include "scheduler/state.h"

void pw_part_left(struct pw_part *part, uint32_t count)
{
        part->devices_left -= count;
        if (part->devices_left)
                return;
        if (part->state == PW_PART_STARTED) {
                part->island->admitted--;
                part->island->policy->leave(part->island->state, part);
        }
        part->run->parts_left--;
        pw_host_run_maybe_end(part->run);
}

void pw_part_leave(struct pw_part *part, uint64_t mask)
{
        struct pw_scheduler *scheduler = part->run->program->scheduler;
        uint32_t left = 0;

        for (; mask; mask &= mask - 1) {
                struct pw_device *device = scheduler->devices[__builtin_ctzll(mask)];
                if (device->done == device->ordered || !pw_device_mark(device, part, PW_MARKER_END))
                        left++;
        }
        if (left)
                pw_part_left(part, left);
}
