/* The clock of another host, from stamps that went there and came back. */
#include "cluster/link/link_clock.h"

#include "base/memory.h"

#define TIME_MAX_US (UINT64_C(1) << 60) /* of any clock: differences and sums fit */

struct pw_link_stamps pw_link_clock_stamps(const struct pw_link_clock *clock, uint64_t now_us)
{
        if (clock->said_us && now_us >= clock->said_us && now_us < clock->said_us + PW_LINK_CLOCK_PAUSE_US)
                return (struct pw_link_stamps){ 0 };
        return (struct pw_link_stamps){ now_us, clock->heard_us, clock->heard_us ? clock->came_us : 0 };
}

void pw_link_clock_wrote(struct pw_link_clock *clock, const struct pw_link_stamps *stamps)
{
        if (stamps->said_us)
                clock->said_us = stamps->said_us;
}

static uint64_t drift_us(uint64_t us) { return us / PW_LINK_CLOCK_DRIFT + 1; }

static uint64_t bound_us(const struct pw_link_sample *sample, uint64_t now_us)
{
        return sample->bound_us + drift_us(now_us > sample->at_us ? now_us - sample->at_us : 0);
}

bool pw_link_clock_see(const struct pw_link_clock *clock, uint64_t now_us, struct pw_link_sample *ret_sample)
{
        const struct pw_link_sample *best = NULL;

        for (uint32_t i = 0; i < clock->count; i++)
                if (!best || bound_us(&clock->samples[i], now_us) < bound_us(best, now_us))
                        best = &clock->samples[i];
        if (!best)
                return false;
        *ret_sample = (struct pw_link_sample){ best->ahead_us, bound_us(best, now_us), best->at_us };
        return true;
}

/* Both cannot be. */
static bool contradict(const struct pw_link_sample *a, const struct pw_link_sample *b)
{
        int64_t apart_us = a->ahead_us - b->ahead_us;

        return (uint64_t)(apart_us < 0 ? -apart_us : apart_us) > a->bound_us + b->bound_us;
}

static void add(struct pw_link_clock *clock, const struct pw_link_sample *sample)
{
        struct pw_link_sample best;

        if (pw_link_clock_see(clock, sample->at_us, &best) && contradict(&best, sample))
                clock->count = clock->next = 0;
        clock->samples[clock->next] = *sample;
        clock->next = (clock->next + 1) % PW_LINK_CLOCK_SAMPLES;
        clock->count = clock->count < PW_LINK_CLOCK_SAMPLES ? clock->count + 1 : PW_LINK_CLOCK_SAMPLES;
}

/* A stamp of ours left at heard_us, was there at came_us of theirs, was said again at said_us of theirs, and is back now. */
static void measure(struct pw_link_clock *clock, const struct pw_link_stamps *stamps, uint64_t now_us)
{
        uint64_t there_us = stamps->said_us - stamps->came_us, away_us = now_us - stamps->heard_us, round_us;

        if (there_us > away_us + drift_us(away_us)) { /* a clock has jumped meanwhile: what is known was before */
                clock->count = clock->next = 0;
                return;
        }
        round_us = away_us > there_us ? away_us - there_us : 0;
        add(clock, &(struct pw_link_sample){ (int64_t)(stamps->came_us + there_us / 2) - (int64_t)(stamps->heard_us + away_us / 2),
                                             (round_us + 1) / 2 + drift_us(there_us) + 1, now_us });
}

void pw_link_clock_hear(struct pw_link_clock *clock, const struct pw_link_stamps *stamps, uint64_t now_us)
{
        if (!stamps->said_us || stamps->said_us > TIME_MAX_US || now_us > TIME_MAX_US)
                return;
        if (stamps->heard_us && stamps->heard_us <= clock->said_us && stamps->heard_us <= now_us &&
            stamps->came_us <= stamps->said_us)
                measure(clock, stamps, now_us);
        clock->heard_us = stamps->said_us;
        clock->came_us = now_us;
}
