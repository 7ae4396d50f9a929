/* From a RUN record to a submitted run.
 *
 * A run that is read waits for the end of the turn: only after the scan is it known whether its donated inputs are its alone.
 */
#ifndef PW_DAEMON_WORK_SUBMIT_H
#define PW_DAEMON_WORK_SUBMIT_H

#include "daemon/session/session.h"

/* Read the record whose header cell is `header`, `left` cells being there. Returns its cells; 0: it cannot be. */
uint32_t pw_submit_record(struct pw_dlane *lane, struct pw_cell header, uint32_t left, uint64_t now_us);
/* Before the scan: of each tenant what was read up to now, or the first of it, is the batch whose donations the scan answers for;
 * but of one whose scan goes on. */
void pw_submit_close_batch(struct pw_daemon *daemon);
/* After the scan: hand the batches to the scheduler. What was read during the scan waits for the next one, and a batch whose
 * tenant's scan goes on for its end, where pw_submit_scanned() is told. */
void pw_submit_batch(struct pw_daemon *daemon, uint64_t now_us);
void pw_submit_scanned(struct pw_daemon *daemon, struct pw_tenant *tenant, uint64_t now_us);
void pw_submit_tenant_init(struct pw_tenant *tenant);

#endif
