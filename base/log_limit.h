/* How many lines of the log others can cause: each of them so many in an interval, which begins with the first line; then the log
 * says how many more there were. So systemd-journald limits what a service says (journald-rate-limit.c).
 *
 * Those that come while all places are taken share the last one. Threads: one at a time.
 */
#ifndef PW_BASE_LOG_LIMIT_H
#define PW_BASE_LOG_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#define PW_LOG_BURST 20u
#define PW_LOG_INTERVAL_US 30000000u
#define PW_LOG_PLACES 16u
#define PW_LOG_OTHERS UINT32_MAX /* who has the last place, or is not known */

struct pw_log_limit {
        uint64_t until_us; /* the end of the interval */
        uint32_t who, passed, held_back;
};
struct pw_log_limits {
        struct pw_log_limit places[PW_LOG_PLACES + 1];
        uint64_t next_us; /* the first end of an interval in which lines were held back; UINT64_MAX: there is none */
};

static inline void pw_log_limits_init(struct pw_log_limits *limits) { *limits = (struct pw_log_limits){ .next_us = UINT64_MAX }; }
/* May a line that `who` causes be written? Else it is counted. */
bool pw_log_limits_pass(struct pw_log_limits *limits, uint32_t who, uint64_t now_us);
/* How many lines of *ret_who were held back in an interval that is over; each is told once, 0: no more. */
uint32_t pw_log_limits_over(struct pw_log_limits *limits, uint64_t now_us, uint32_t *ret_who);

#endif
