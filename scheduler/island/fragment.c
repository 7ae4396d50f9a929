/* A fragment leaves its island device by device: each when what was ordered of it there is done. */
#include "scheduler/step.h"

/* One that never starts, as its run stops, stays PREPARED. */
const uint8_t pw_fragment_rules[PW_FRAGMENT_STATES][PW_FRAGMENT_EVENTS] = {
        [PW_FRAGMENT_RESERVED] = { [PW_FRAGMENT_RECORD] = PW_FRAGMENT_RECORDED },
        [PW_FRAGMENT_RECORDED] = { [PW_FRAGMENT_ANSWER] = PW_FRAGMENT_PREPARED },
        [PW_FRAGMENT_PREPARED] = { [PW_FRAGMENT_START] = PW_FRAGMENT_STARTED },
        [PW_FRAGMENT_STARTED] = { [PW_FRAGMENT_LEAVE] = PW_FRAGMENT_LEFT },
};

void pw_fragment_left(struct pw_fragment *fragment, uint32_t count)
{
        fragment->devices_left -= count;
        if (fragment->devices_left)
                return;
        if (fragment->state == PW_FRAGMENT_STARTED) {
                fragment->island->admitted--;
                fragment->island->policy->leave(fragment->island->state, fragment);
                pw_fragment_step(fragment, PW_FRAGMENT_LEAVE);
        }
        fragment->run->fragments_left--;
        pw_host_run_maybe_end(fragment->run);
}

void pw_fragment_leave(struct pw_fragment *fragment, uint64_t mask)
{
        struct pw_scheduler *scheduler = fragment->run->program->scheduler;
        uint32_t left = 0;

        for (; mask; mask &= mask - 1) {
                struct pw_device *device = scheduler->devices[__builtin_ctzll(mask)];
                struct pw_stand *stand = pw_fragment_stand_at(fragment, device->number);

                stand->leaves_at = device->ordered;
                if (device->done == device->ordered)
                        left++;
                else
                        pw_list_append(&device->leaving, &stand->leaving);
        }
        if (left)
                pw_fragment_left(fragment, left);
}
