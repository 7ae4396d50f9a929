/* What the log says of what clients do wrong: of each user some lines, then how many more there were (base/log_limit.h).
 */
#ifndef PW_DAEMON_SESSION_COMPLAINT_H
#define PW_DAEMON_SESSION_COMPLAINT_H

#include "daemon/daemon.h"

#include <sys/types.h>

/* A warning, formatted as by pw_log(). `uid`: of whom; PW_LOG_OTHERS: that is not known. */
void pw_complain(struct pw_daemon *daemon, uid_t uid, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* When it is said how many were left out, and the saying. */
uint64_t pw_complaints_next_us(const struct pw_daemon *daemon);
void pw_complaints_tick(struct pw_daemon *daemon, uint64_t now_us);

#endif
