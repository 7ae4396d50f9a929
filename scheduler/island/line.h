/* Lines: fragments whose next gang waits for nothing but the windows of its devices. A tenant's come in their order, tenants in
 * turn.
 *
 * Such a fragment stands at each device of that gang, in the line of its tenant there, by its key, the island's policy's. Who is
 * first in all of these lines takes its tenant's turn, at all of its devices at once: turns there are by the key that the policy
 * gives them (policy.h), of equal ones in the order in which they were taken. Who is first of those at each of its devices is at
 * the front, and only a window keeps it: it is in the island's `fronts`, to be tried, or at the one device whose window it found
 * closed. After a gang its fragment takes a turn anew, behind the others.
 *
 * So, where all keys are equal, a fragment that has its tenant's turn is passed on none of its devices, but by who had taken a
 * turn before: one fragment of each other tenant and device. Turns are in one order, by key and time, for all devices of a
 * fragment: nobody waits in a circle.
 */
#ifndef PW_SCHEDULER_ISLAND_LINE_H
#define PW_SCHEDULER_ISLAND_LINE_H

#include "base/heap.h"
#include "base/list.h"

struct pw_device;
struct pw_fragment;

struct pw_line {               /* of one tenant at one device */
        struct pw_list fragments;  /* struct pw_stand: who came behind all others, in order */
        struct pw_heap late;   /* who came when others of greater keys stood there */
};
struct pw_stand {              /* of a fragment at one device */
        struct pw_list link;   /* in the line's `fragments` */
        struct pw_heap_item item; /* in the line's `late` */
        struct pw_list turn;   /* in the device's `turns` */
        struct pw_list leaving;/* in the device's, until it has done `leaves_at` */
        uint64_t leaves_at;
        struct pw_fragment *fragment;
        struct pw_device *device;
        struct pw_line *line;
};

void pw_line_init(struct pw_line *line);
void pw_line_done(struct pw_line *line); /* nobody stands there */

/* A fragment that was made anew. */
void pw_stands_init(struct pw_fragment *fragment);
/* Its stand at this device, one of its plan's. */
struct pw_stand *pw_fragment_stand_at(const struct pw_fragment *fragment, uint32_t device);
/* Its next gang has these devices. Afterwards it may be at the front, and others are no longer. */
void pw_fragment_stand(struct pw_fragment *fragment, uint64_t members);
/* Whoever it kept back may be at the front afterwards. It may have stood nowhere. */
void pw_fragment_step_out(struct pw_fragment *fragment);
/* A gang of it was ordered, and the next has the same devices: its next turn. False: others have theirs before, which is so only
 * where island->kept_back is not 0. */
bool pw_fragment_next_turn(struct pw_fragment *fragment);
/* It is at the front, and the window of this device is closed. */
void pw_fragment_park(struct pw_fragment *fragment, struct pw_device *device);
/* The window of the device is open again: who waited for it is to be tried. */
void pw_device_unpark(struct pw_device *device);

#endif
