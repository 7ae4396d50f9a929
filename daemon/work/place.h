/* The place that a compiled program has in a board, for its image: taken and charged when it is installed; given back when the
 * program has ended and the system has its pages, which a thread sees to, as that may take longer than a turn may.
 */
#ifndef PW_DAEMON_WORK_PLACE_H
#define PW_DAEMON_WORK_PLACE_H

#include "daemon/session/tenant.h"

/* A place for its image. What it takes for good is its tenant's. */
enum pw_status pw_program_place(struct pw_daemon *daemon, struct pw_tenant *tenant, struct pw_program_row *row,
                                struct pw_error *ret_err);
/* It has none any more, and its tenant's charge goes, when the system has its pages. */
void pw_program_unplace(struct pw_daemon *daemon, struct pw_program_row *row);
/* A program has ended: its places in boards go back, and its charge, when their pages have. */
void pw_program_ended(struct pw_daemon *daemon, struct pw_program_row *row);
/* What was written there stays; this process does without pages of it until it looks again.
 * Threads: any. */
void pw_program_detach(const struct pw_daemon *daemon, const struct pw_program_row *row);
/* No thread works any more: what was to go back goes. */
void pw_program_places_done(struct pw_daemon *daemon);

#endif
