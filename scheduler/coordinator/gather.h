/* Rooms of a run on all of its hosts, or on none: asked for from its arrival until it is admitted, or over.
 */
#ifndef PW_SCHEDULER_COORDINATOR_GATHER_H
#define PW_SCHEDULER_COORDINATOR_GATHER_H

#include "scheduler/coordinator/live.h"

/* Next states; 0: that cannot be. */
extern const uint8_t pw_live_host_rules[PW_LIVE_HOST_STATES][PW_LIVE_HOST_EVENTS];
/* Ask whom it is the turn of; with all rooms there it is admitted. From its arrival until it is admitted, or over. */
void pw_live_begin_gathering(struct pw_live *live);
void pw_live_gather(struct pw_live *live);
void pw_live_end_gathering(struct pw_live *live);
/* Those that waited for another run of their program to be asked for, or admitted: in their turn. */
void pw_gathering_go_on(struct pw_scheduler *scheduler);
/* Nothing of it stays anywhere; not one that was admitted. */
void pw_live_give_back(struct pw_live *live);
/* Whom a run that has rooms everywhere waits for, to be admitted before it; or to be asked for on a host. NULL: nobody. */
const struct pw_live *pw_live_ahead(const struct pw_live *live);
/* A host has it, or its results, or will. */
static inline bool pw_live_is_asked(const struct pw_live *live, uint32_t host)
{
        return live->hosts[host].state != PW_LIVE_HOST_IDLE;
}
bool pw_live_asked(const struct pw_live *live); /* any host */
static inline bool pw_live_unprepared(const struct pw_live *live) { return live->hosts_in[PW_LIVE_HOST_PREPARING]; }

#endif
