/* How far the clock of another host is ahead of this one's, as the heads of frames tell.
 *
 * Some heads say when they were written, and which stamp of the other side came last, and when. From the four times of a stamp that
 * went there and was said again follows in between which bounds the other clock is: the true difference lies within them however
 * unequal the two ways were. (Cristian, Probabilistic clock synchronization, 1989; the four times are those of NTP, RFC 5905, 8,
 * and that the sample of the smallest round trip is believed is its clock filter, 10.) Bounds widen by what two clocks may drift
 * apart since. A sample that contradicts the one that is believed says that a clock has jumped: those before it are forgotten.
 *
 * Clocks are those by which both sides say times, CLOCK_BOOTTIME; they may differ by anything. What the other side says is not
 * trusted to be possible. Holds no clock: times are arguments. Threads: one at a time.   Blocks: never.
 */
#ifndef PW_CLUSTER_LINK_LINK_CLOCK_H
#define PW_CLUSTER_LINK_LINK_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define PW_LINK_CLOCK_DRIFT 5000u     /* two clocks drift apart by one in so many: 200 millionths */
#define PW_LINK_CLOCK_SAMPLES 8u
#define PW_LINK_CLOCK_PAUSE_US 10000u /* heads say times no more often than that */

/* In a head. All by the clock of who writes it but heard_us. said_us 0: it says none; heard_us 0: none came yet. */
struct pw_link_stamps {
        uint64_t said_us;  /* when it is written */
        uint64_t heard_us; /* the last said_us of the other side, */
        uint64_t came_us;  /* and when it came */
};

struct pw_link_sample {
        int64_t ahead_us;  /* of the other clock; negative: behind */
        uint64_t bound_us; /* it is so much more or less, at most */
        uint64_t at_us;
};

/* Zeroed: nothing is known. */
struct pw_link_clock {
        struct pw_link_sample samples[PW_LINK_CLOCK_SAMPLES];
        uint32_t count, next;
        uint64_t heard_us, came_us, said_us;
};

/* What a head that is written now says. */
struct pw_link_stamps pw_link_clock_stamps(const struct pw_link_clock *clock, uint64_t now_us);
void pw_link_clock_wrote(struct pw_link_clock *clock, const struct pw_link_stamps *stamps);
void pw_link_clock_hear(struct pw_link_clock *clock, const struct pw_link_stamps *stamps, uint64_t now_us);
/* The best that is known. False: nothing is yet. */
bool pw_link_clock_see(const struct pw_link_clock *clock, uint64_t now_us, struct pw_link_sample *ret_sample);

#endif
