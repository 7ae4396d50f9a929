/* Yielding, for as long as the others give the processor back soon.
 *
 * Among processes that wait like this one a yield takes microseconds, and the awaited one runs next. Beside processes that compute
 * it takes as long as their slices do, and ends one's own: a process that yields again and again hardly runs at all, while one that
 * sleeps is woken and has its share. So after a yield that took long its caller sleeps in place of yielding, many times as long.
 */
#ifndef PW_BASE_YIELD_H
#define PW_BASE_YIELD_H

#include "base/memory.h"

#include <stdbool.h>
#include <stdint.h>

#define PW_YIELD_LONG_NS 1000000u    /* somebody computes: no member of a gang that is worth yielding for takes so long */
#define PW_YIELD_SHARE 16u           /* one part in so many of the time may go by in such yields */
#define PW_YIELD_BURST_NS 200000000u /* of that time, beforehand: now and then one takes long anywhere */

struct pw_yield {
        uint64_t paid_ns; /* what went by is paid for by the time until then */
};

static inline bool pw_yield_may(const struct pw_yield *yield, uint64_t now_ns)
{
        return yield->paid_ns < now_ns + PW_YIELD_BURST_NS;
}

/* One was begun and ended at these times. */
static inline void pw_yield_took(struct pw_yield *yield, uint64_t begun_ns, uint64_t ended_ns)
{
        if (ended_ns - begun_ns > PW_YIELD_LONG_NS)
                yield->paid_ns = pw_max_u64(yield->paid_ns, ended_ns) + (ended_ns - begun_ns) * PW_YIELD_SHARE;
}

#endif
