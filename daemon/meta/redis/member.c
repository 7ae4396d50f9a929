/* States of a host's membership. */
#include "daemon/meta/redis/member.h"

#include "base/memory.h"

#define HURRY_US 50000u /* between beats, however many want one */
#define FIRST_PAUSE_US 20000u

#define TO(state) (1 + PW_REDIS_##state)

static const uint8_t rules[PW_REDIS_STATES][PW_REDIS_EVENTS] = {
        [PW_REDIS_APART] = { [PW_REDIS_CALL] = TO(CALLING), [PW_REDIS_REFUSE] = TO(OUT) },
        [PW_REDIS_CALLING] = { [PW_REDIS_GREET] = TO(JOINING), [PW_REDIS_BREAK] = TO(APART), [PW_REDIS_REFUSE] = TO(OUT) },
        [PW_REDIS_JOINING] = { [PW_REDIS_ENTER] = TO(RETURNING), [PW_REDIS_BREAK] = TO(APART), [PW_REDIS_REFUSE] = TO(OUT) },
        [PW_REDIS_RETURNING] = { [PW_REDIS_SETTLE] = TO(IN), [PW_REDIS_AGAIN] = TO(JOINING), [PW_REDIS_BREAK] = TO(APART),
                                 [PW_REDIS_REFUSE] = TO(OUT) },
        [PW_REDIS_IN] = { [PW_REDIS_AGAIN] = TO(JOINING), [PW_REDIS_BREAK] = TO(APART), [PW_REDIS_REFUSE] = TO(OUT) },
};

static const char *const states[] = { "apart", "calling", "joining", "returning", "in", "out" };
static const char *const events[] = { "call", "greet", "enter", "settle", "again", "break", "refuse" };
static const struct pw_transition_kind memberships = { "membership", 0, false, states, events };

_Static_assert(sizeof states / sizeof *states == PW_REDIS_STATES, "each state has a word");
_Static_assert(sizeof events / sizeof *events == PW_REDIS_EVENTS, "each event has a word");

void pw_redis_member_init(struct pw_redis_member *member, uint64_t lease_us, const struct pw_observer *observer)
{
        *member = (struct pw_redis_member){ .lease_us = lease_us, .observer = observer };
}

bool pw_redis_member_step(struct pw_redis_member *member, enum pw_redis_event event, uint64_t now_us)
{
        const struct pw_observer *observer = member->observer;
        uint8_t rule = rules[member->state][event];
        enum pw_redis_membership from = member->state;

        if (!rule)
                return false;
        member->state = (enum pw_redis_membership)(rule - 1);
        if (event == PW_REDIS_CALL)
                member->call_us = now_us;
        if (event == PW_REDIS_ENTER) {
                member->owed = 0;
                pw_redis_member_beat(member, now_us);
        }
        if (event == PW_REDIS_SETTLE)
                member->pause_us = 0;
        if (observer)
                observer->tell(observer->context, &(struct pw_transition){ .kind = &memberships, .from = (uint8_t)from,
                                                                           .to = (uint8_t)member->state, .cause = (uint8_t)event });
        return true;
}

void pw_redis_member_broke(struct pw_redis_member *member, bool held, uint64_t now_us)
{
        uint64_t longest_us = member->lease_us / 2;

        if (!pw_redis_member_step(member, PW_REDIS_BREAK, now_us))
                return;
        member->call_us = now_us + (held ? longest_us : member->pause_us);
        member->pause_us = pw_min_u64(longest_us, member->pause_us ? 2 * member->pause_us : FIRST_PAUSE_US);
}

static bool is_member(const struct pw_redis_member *member)
{
        return member->state == PW_REDIS_RETURNING || member->state == PW_REDIS_IN;
}

/* When the server has been silent for too long. */
static uint64_t cut_us(const struct pw_redis_member *member, uint64_t asked_us)
{
        uint64_t since_us = member->state == PW_REDIS_CALLING ? pw_min_u64(member->call_us, asked_us) : asked_us;

        return since_us == UINT64_MAX ? UINT64_MAX : since_us + member->lease_us;
}

enum pw_redis_due pw_redis_member_due(const struct pw_redis_member *member, uint64_t asked_us, uint64_t now_us)
{
        if (member->state == PW_REDIS_OUT)
                return PW_REDIS_DUE_NOTHING;
        if (member->state == PW_REDIS_APART)
                return now_us >= member->call_us ? PW_REDIS_DUE_CALL : PW_REDIS_DUE_NOTHING;
        if (now_us >= cut_us(member, asked_us))
                return PW_REDIS_DUE_CUT;
        if (is_member(member) && now_us >= member->beat_us)
                return PW_REDIS_DUE_BEAT;
        if (member->state == PW_REDIS_RETURNING && !member->owed && now_us >= member->settled_us)
                return PW_REDIS_DUE_SETTLE;
        return PW_REDIS_DUE_NOTHING;
}

uint64_t pw_redis_member_next_us(const struct pw_redis_member *member, uint64_t asked_us)
{
        uint64_t next_us;

        if (member->state == PW_REDIS_OUT)
                return UINT64_MAX;
        if (member->state == PW_REDIS_APART)
                return member->call_us;
        next_us = cut_us(member, asked_us);
        if (is_member(member))
                next_us = pw_min_u64(next_us, member->beat_us);
        if (member->state == PW_REDIS_RETURNING && !member->owed)
                next_us = pw_min_u64(next_us, member->settled_us);
        return next_us;
}

/* One that is late by a third of a lease still counts. */
static uint64_t rest_us(const struct pw_redis_member *member) { return member->lease_us * 3 / 5; }

void pw_redis_member_beat(struct pw_redis_member *member, uint64_t now_us) { member->beat_us = now_us + rest_us(member); }

void pw_redis_member_hurry(struct pw_redis_member *member, uint64_t now_us)
{
        uint64_t last_us = member->beat_us - pw_min_u64(member->beat_us, rest_us(member));

        member->beat_us = pw_min_u64(member->beat_us, pw_max_u64(now_us, last_us + HURRY_US));
}
