/* What a server's answer means, and what is to be done about it. Pure.
 */
#ifndef PW_DAEMON_META_REDIS_ANSWER_H
#define PW_DAEMON_META_REDIS_ANSWER_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* An answer, as texts: numbers are written out. */
struct pw_redis_said {
        const char *error;  /* what the server says instead of an answer; NULL: it answered */
        bool cut;           /* there is no answer: the connection ended */
        uint32_t count;
        const char *const *words; /* borrowed for the call */
};

enum pw_redis_act {
        PW_REDIS_GO_ON = 1,
        PW_REDIS_TELL,     /* go on: who asked is told what the answer is */
        PW_REDIS_JOIN_ANEW, /* what was known of this host is gone there: join again, by the same connection */
        PW_REDIS_CALL_ANEW, /* it may be another server by now: end the connection, and call again */
        PW_REDIS_HOLD,     /* it takes nothing now: try again in a while */
        PW_REDIS_GIVE_UP,  /* nothing but a new start of the daemon helps */
};

enum pw_redis_word {
        PW_REDIS_OK = 0,
        PW_REDIS_TAKEN,
        PW_REDIS_NOT_FOUND,
        PW_REDIS_EMPTY,
        PW_REDIS_RUN,
        PW_REDIS_FENCED,
        PW_REDIS_UNCONFIRMED,
        PW_REDIS_SETTLING,
        PW_REDIS_IN_USE,
        PW_REDIS_FULL,
        PW_REDIS_EXISTS,
        PW_REDIS_OTHER,
        PW_REDIS_LOST,
        PW_REDIS_EPOCH,
        PW_REDIS_CLONE,
        PW_REDIS_NO_SCRIPT,  /* these are errors of the server: */
        PW_REDIS_PASSWORD,
        PW_REDIS_PERMISSION,
        PW_REDIS_READ_ONLY,
        PW_REDIS_OUT_OF_MEMORY,
        PW_REDIS_NOT_NOW,
        PW_REDIS_DISK,
        PW_REDIS_SPOILT,
        PW_REDIS_CLUSTERED,
        PW_REDIS_CUT,
        PW_REDIS_STRANGE,    /* anything else */
        PW_REDIS_WORDS
};

enum pw_redis_word pw_redis_word(const struct pw_redis_said *said);
/* The same of `member`, a host that was in the cluster before, or one that was not. */
enum pw_redis_act pw_redis_act(enum pw_redis_word word, bool member);
/* The sentence about it, for a host that has joined or one that has not: what it is, where (`address`) and what to do; `said` may
 * be NULL. Returns the status. */
enum pw_status pw_redis_explain(enum pw_redis_word word, bool joined, const struct pw_redis_said *said, const char *address,
                                struct pw_error *ret_err);

/* What INFO says of a server. */
struct pw_redis_server {
        char run[36];   /* run id and replication id, the first 16 digits of each, with a - between; "": it said neither */
        bool read_only; /* a replica */
        bool evicts;    /* it throws keys away when its memory is full */
        uint32_t major;
};
void pw_redis_server_read(const char *info, struct pw_redis_server *ret_server);

#endif
