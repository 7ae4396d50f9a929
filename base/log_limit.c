/* Limits of lines, by who causes them. */
#include "base/log_limit.h"

/* Its interval is over, and what it held back was told. */
static bool is_idle(const struct pw_log_limit *place, uint64_t now_us) { return !place->held_back && place->until_us <= now_us; }

static struct pw_log_limit *place_of(struct pw_log_limits *limits, uint32_t who, uint64_t now_us)
{
        struct pw_log_limit *idle = &limits->places[PW_LOG_PLACES];

        for (uint32_t i = 0; i < PW_LOG_PLACES; i++) {
                struct pw_log_limit *place = &limits->places[i];

                if (is_idle(place, now_us))
                        idle = place;
                else if (place->who == who)
                        return place;
        }
        return idle;
}

bool pw_log_limits_pass(struct pw_log_limits *limits, uint32_t who, uint64_t now_us)
{
        struct pw_log_limit *place = place_of(limits, who, now_us);

        if (is_idle(place, now_us))
                *place = (struct pw_log_limit){ .until_us = now_us + PW_LOG_INTERVAL_US,
                                                .who = place == &limits->places[PW_LOG_PLACES] ? PW_LOG_OTHERS : who };
        if (place->passed < PW_LOG_BURST) {
                place->passed++;
                return true;
        }
        place->held_back++;
        if (place->until_us < limits->next_us)
                limits->next_us = place->until_us;
        return false;
}

uint32_t pw_log_limits_over(struct pw_log_limits *limits, uint64_t now_us, uint32_t *ret_who)
{
        uint64_t next_us = UINT64_MAX;

        if (limits->next_us > now_us)
                return 0;
        for (uint32_t i = 0; i <= PW_LOG_PLACES; i++) {
                struct pw_log_limit *place = &limits->places[i];
                uint32_t held_back = place->held_back;

                if (held_back && place->until_us <= now_us) {
                        *ret_who = place->who;
                        *place = (struct pw_log_limit){ .until_us = 0 };
                        return held_back;
                }
                if (held_back && place->until_us < next_us)
                        next_us = place->until_us;
        }
        limits->next_us = next_us;
        return 0;
}
