/* What the store asks of metadata, carried there, and what metadata says, carried back.
 */
#ifndef PW_DAEMON_META_CARRY_H
#define PW_DAEMON_META_CARRY_H

#include "daemon/daemon.h"

/* Join: daemon->meta, host and epoch. */
PW_MUST_CHECK enum pw_status pw_meta_carry_open(struct pw_daemon *daemon, struct pw_error *ret_err);
/* True: there was something. */
bool pw_meta_carry(struct pw_daemon *daemon, uint64_t now_us);
/* When there is something next; 0: now, UINT64_MAX: not before the loop hears of it. */
uint64_t pw_meta_carry_next_us(const struct pw_daemon *daemon);

#endif
