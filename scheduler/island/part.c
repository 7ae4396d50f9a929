/* A part leaves its island device by device: each when what was ordered of it there is done. */
#include "scheduler/step.h"

/* One that never starts, as its run stops, stays PREPARED. */
const uint8_t pw_part_rules[PW_PART_STATES][PW_PART_EVENTS] = {
        [PW_PART_RESERVED] = { [PW_PART_RECORD] = PW_PART_RECORDED },
        [PW_PART_RECORDED] = { [PW_PART_ANSWER] = PW_PART_PREPARED },
        [PW_PART_PREPARED] = { [PW_PART_START] = PW_PART_STARTED },
        [PW_PART_STARTED] = { [PW_PART_LEAVE] = PW_PART_LEFT },
};

void pw_part_left(struct pw_part *part, uint32_t count)
{
        part->devices_left -= count;
        if (part->devices_left)
                return;
        if (part->state == PW_PART_STARTED) {
                part->island->admitted--;
                part->island->policy->leave(part->island->state, part);
                pw_part_step(part, PW_PART_LEAVE);
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
