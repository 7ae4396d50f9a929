/* Reading the rings of a session's lanes.
 *
 * Lanes that had records lately are *hot*: read every turn, no doorbell wanted. A hot lane that stays quiet is told to ring again.
 *
 * Reading goes in rounds, and of the lanes of a tenant a part is read in each: PW_LANE_QUANTUM cells, or looks at a lane. Who fills
 * its rings delays itself alone. (Operators are trusted, and read to the end: objects of all tenants wait for them.) Who needs all
 * that a session published up to now waits for a *pass*: what its lanes have at the beginning of one is read by its end, whatever
 * they get meanwhile, so each has an end; a session has one at a time, and they are numbered.
 */
#ifndef PW_DAEMON_CLIENT_LANE_H
#define PW_DAEMON_CLIENT_LANE_H

#include "daemon/session/lane.h"

/* Let go of lanes of an ended session, `part` at most, which is less by those. False: there are more. */
bool pw_lanes_end(struct pw_dsession *session, uint32_t *part);
/* A doorbell: find which lanes have records, they are hot now; watched entries may be ready. */
void pw_lanes_rung(struct pw_dsession *session);
/* Read a part of what is there in the session's rings, which is mostly all. Returns records read. */
uint32_t pw_lanes_drain(struct pw_dsession *session);
/* The pass by whose end all is read that the session published up to now. */
static inline uint64_t pw_lanes_pass(const struct pw_dsession *session) { return session->pass + 1; }
/* Go on until that pass is over, for the tenant's part of a round of its own. True: it is, or the session ended. */
bool pw_lanes_read(struct pw_dsession *session, uint64_t pass);
/* The same in the round that there is: for several sessions together. */
bool pw_lanes_read_quantum(struct pw_dsession *session, uint64_t pass);
/* One read of every hot lane. True: something came, or there is more. */
bool pw_lanes_turn(struct pw_daemon *daemon);
/* Somebody queues for room, and nobody did: each lane that rests asks for the doorbell at each DROP; those with unread records are
 * hot. */
void pw_lanes_hungry(struct pw_daemon *daemon);
/* What was given back and lies in rings, as nobody had to ring for it, is read: others may wait for it who cannot see that. */
void pw_lanes_look(struct pw_daemon *daemon);
/* All hot lanes ask for a doorbell. False: records came meanwhile, do not sleep. */
bool pw_lanes_sleep(struct pw_daemon *daemon);

#endif
