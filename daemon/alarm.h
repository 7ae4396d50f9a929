/* The alarm that ends the daemon's sleep at the nearest deadline, to the microsecond. Setting it to what it is set to, or to later,
 * costs no system call (it wakes the loop early then, which sets it anew), and looking at sockets while there is work costs none:
 * libevent's own precise timer is set anew at every look.
 *
 * Threads: loop thread only.   Blocks: never.
 */
#ifndef PW_DAEMON_ALARM_H
#define PW_DAEMON_ALARM_H

#include "base/error.h"

struct event;
struct event_base;

struct pw_alarm {
        int fd;          /* a timerfd; -1: none */
        struct event *event;
        uint64_t set_us; /* UINT64_MAX: not set */
};

/* Errors: PW_SYSTEM, PW_NO_MEMORY; pw_alarm_done() is due all the same. */
PW_MUST_CHECK enum pw_status pw_alarm_init(struct pw_alarm *alarm, struct event_base *base, struct pw_error *ret_err);
void pw_alarm_done(struct pw_alarm *alarm); /* accepts one that is all zero */
/* Wake the loop at `at_us` of CLOCK_MONOTONIC, at once if that has passed; UINT64_MAX: never. */
void pw_alarm_set(struct pw_alarm *alarm, uint64_t at_us);

#endif
