/* Pages that are to be given back: nobody's run has them, so nothing moves there. */
#include "executor/gang/unpin.h"

#include "executor/gang/flight.h"

#include <time.h>

#define AGAIN_NS 1000000 /* when the daemon could not be asked */

static void leave(struct pw_launch *launch, const struct pw_leaving *leaving)
{
        if (launch->flights && pw_segments_leaving_used(&launch->segments, leaving, pw_flights_first(launch->flights)))
                pw_flights_drain(launch);
        pw_segments_leave(&launch->segments, leaving);
        launch->left = leaving->upto;
}

/* False: it could not be asked. */
static bool leave_all(struct pw_launch *launch)
{
        const struct pw_surroundings *around = launch->given.around;
        struct pw_leaving leaving;

        while (around->leaving(around->context, launch->left, &leaving)) {
                if (leaving.upto <= launch->left)
                        return true;
                leave(launch, &leaving);
        }
        return false;
}

void pw_pins_leave(struct pw_launch *launch)
{
        uint64_t wanted = atomic_load(&launch->board->leaving[launch->given.device]); /* what comes later counts up again */

        if (!launch->given.around->leaving || leave_all(launch))
                launch->leaving = wanted;
        else
                nanosleep(&(struct timespec){ .tv_nsec = AGAIN_NS }, NULL);
        launch->now_ns = 0; /* the next gang has not begun yet */
}
