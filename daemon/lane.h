/* Reading the rings of a session's lanes.
 *
 * Lanes that had records lately are *hot*: read every turn, no doorbell wanted. A hot lane that stays quiet is told to ring again.
 */
#ifndef PW_DAEMON_LANE_H
#define PW_DAEMON_LANE_H

#include "daemon/session.h"

void pw_lanes_end(struct pw_dsession *session);
/* A doorbell: find which lanes have records, they are hot now; watched entries may be ready. */
void pw_lanes_rung(struct pw_dsession *session);
/* Read everything that is there in the session's rings. Returns records read. */
uint32_t pw_lanes_drain(struct pw_dsession *session);
/* One read of every hot lane. True: something came. */
bool pw_lanes_turn(struct pw_daemon *daemon);
/* One read of the lanes that pw_store_look() names, up to the tails seen now: the look before a reclaim. */
void pw_lanes_look(struct pw_daemon *daemon);
/* One read of every lane of every session. */
void pw_lanes_read_all(struct pw_daemon *daemon);
/* Somebody queues for room, and nobody did: each lane that rests asks for the doorbell at each DROP; those with unread records are
 * hot. */
void pw_lanes_hungry(struct pw_daemon *daemon);
/* All hot lanes ask for a doorbell. False: records came meanwhile, do not sleep. */
bool pw_lanes_sleep(struct pw_daemon *daemon);

#endif
