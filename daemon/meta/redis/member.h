/* Whether this host is in its cluster, as metadata sees it: when to call the server, to beat, and to give it up. Pure: times
 * are given.
 */
#ifndef PW_DAEMON_META_REDIS_MEMBER_H
#define PW_DAEMON_META_REDIS_MEMBER_H

#include "base/transition.h"

enum pw_redis_membership {
        PW_REDIS_APART = 0, /* no connection; one is begun at call_us */
        PW_REDIS_CALLING,   /* a connection is on its way, or is being asked whose it is */
        PW_REDIS_JOINING,   /* asked for this host's place */
        PW_REDIS_RETURNING, /* has it: what the server may have lost is put back, and until settled_us others do so */
        PW_REDIS_IN,        /* all may be asked */
        PW_REDIS_OUT,       /* refused for good */
        PW_REDIS_STATES
};

enum pw_redis_event {
        PW_REDIS_CALL = 0,
        PW_REDIS_GREET,  /* it is known who answers */
        PW_REDIS_ENTER,  /* the place is this host's */
        PW_REDIS_SETTLE, /* all is put back */
        PW_REDIS_AGAIN,  /* the server forgot this host */
        PW_REDIS_BREAK,  /* the connection is no good */
        PW_REDIS_REFUSE,
        PW_REDIS_EVENTS
};

struct pw_redis_member {
        enum pw_redis_membership state;
        uint64_t lease_us;
        uint64_t call_us;    /* APART: when to call; CALLING: since when */
        uint64_t pause_us;   /* the one before the next call */
        uint64_t beat_us;    /* RETURNING, IN: when to beat */
        uint64_t settled_us; /* RETURNING: not before then */
        uint32_t owed;       /* RETURNING: what was put back, and not answered */
        const struct pw_observer *observer;
};

enum pw_redis_due { PW_REDIS_DUE_NOTHING = 0, PW_REDIS_DUE_CALL, PW_REDIS_DUE_CUT, PW_REDIS_DUE_BEAT, PW_REDIS_DUE_SETTLE };

void pw_redis_member_init(struct pw_redis_member *member, uint64_t lease_us, const struct pw_observer *observer);
/* The one setter. False: the event has no meaning in its state, and nothing changed. */
bool pw_redis_member_step(struct pw_redis_member *member, enum pw_redis_event event, uint64_t now_us);
/* A connection ended: call again at once the first time, later and later the more often; `held`: half a lease later at the
 * soonest. */
void pw_redis_member_broke(struct pw_redis_member *member, bool held, uint64_t now_us);
/* What is due. `asked_us`: since when the oldest question waits; UINT64_MAX: none does. */
enum pw_redis_due pw_redis_member_due(const struct pw_redis_member *member, uint64_t asked_us, uint64_t now_us);
uint64_t pw_redis_member_next_us(const struct pw_redis_member *member, uint64_t asked_us);
/* A beat went out. */
void pw_redis_member_beat(struct pw_redis_member *member, uint64_t now_us);
/* The next beat comes now, or 50 ms after the last one. */
void pw_redis_member_hurry(struct pw_redis_member *member, uint64_t now_us);

#endif
