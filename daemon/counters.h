/* What the daemon counts since its start, for /metrics. Its thread alone writes them, but for lost lines of the log.
 */
#ifndef PW_DAEMON_COUNTERS_H
#define PW_DAEMON_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

/* Turns by how long they took: up to 10 us, 100 us, ... 1 s, longer. */
#define PW_TURN_BUCKETS 7u
#define PW_TURN_FIRST_US 10u

struct pw_counters {
        uint64_t turns[PW_TURN_BUCKETS]; /* in which something was done */
        uint64_t turns_us;
        uint64_t longest_turn_us;
        uint64_t runs_done, runs_in_flight;
        uint64_t sessions;               /* of clients, ever attached */
        uint64_t refused;                /* connections, for lack of descriptors or memory */
        _Atomic uint64_t lines_lost;     /* of the log */
};

static inline void pw_count_turn(struct pw_counters *counters, uint64_t took_us)
{
        uint32_t bucket = 0;

        for (uint64_t bound_us = PW_TURN_FIRST_US; bucket < PW_TURN_BUCKETS - 1 && took_us > bound_us; bound_us *= 10)
                bucket++;
        counters->turns[bucket]++;
        counters->turns_us += took_us;
        if (took_us > counters->longest_turn_us)
                counters->longest_turn_us = took_us;
}

#endif
