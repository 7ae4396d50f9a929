/* A connection to Redis: what is asked goes out together, pipelined, and is answered in order. Nothing here knows what is asked.
 *
 * A wire makes one connection after the other. What was asked and not answered when one ends is answered `cut`, before `down` is
 * told. Scripts are called by their digest, and by their text where the server does not have them.
 *
 * Threads: loop thread only.   Blocks: never: addresses are numeric, sockets do not block.
 */
#ifndef PW_DAEMON_META_REDIS_WIRE_H
#define PW_DAEMON_META_REDIS_WIRE_H

#include "daemon/meta/redis/answer.h"
#include "daemon/meta/redis/script.h"

struct event_base;
struct pw_redis_wire;

#define PW_REDIS_ARGS_MAX 512u
struct pw_redis_args {
        uint32_t count;
        bool over; /* there were more than PW_REDIS_ARGS_MAX */
        const char *items[PW_REDIS_ARGS_MAX];
};
static inline void pw_redis_arg(struct pw_redis_args *args, const char *text)
{
        if (args->count < PW_REDIS_ARGS_MAX)
                args->items[args->count++] = text;
        else
                args->over = true;
}

typedef void pw_redis_done(void *context, const struct pw_redis_said *said);

struct pw_redis_wire_params {
        struct event_base *loop;
        const char *address; /* borrowed for the call, as in meta.h */
        bool plaintext;
        void (*up)(void *context);                     /* inside the loop; */
        void (*down)(void *context, const char *why);  /* so is this, or inside ask or write; not of pw_redis_wire_cut() */
        void *context;
};

/* Errors: PW_INVALID (the address), PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_redis_wire_new(const struct pw_redis_wire_params *params, struct pw_redis_wire **ret_wire,
                                               struct pw_error *ret_err);
void pw_redis_wire_free(struct pw_redis_wire *wire);
/* Begin a connection; `up` or `down` follows. Errors: PW_SYSTEM (it cannot be begun), PW_NO_MEMORY: neither follows. */
PW_MUST_CHECK enum pw_status pw_redis_wire_call(struct pw_redis_wire *wire, struct pw_error *ret_err);
/* End it now. */
void pw_redis_wire_cut(struct pw_redis_wire *wire);

/* Ask, by a command or a script with its two keys and arguments. The answer comes inside the loop, or inside cut(). `down`, if it
 * comes, comes later. Errors: PW_NO_MEMORY; PW_NOT_READY (no connection): no answer will come. */
PW_MUST_CHECK enum pw_status pw_redis_wire_ask(struct pw_redis_wire *wire, const struct pw_redis_args *args, pw_redis_done *done,
                                               void *context);
PW_MUST_CHECK enum pw_status pw_redis_wire_run(struct pw_redis_wire *wire, enum pw_redis_script script,
                                               const struct pw_redis_args *args, pw_redis_done *done, void *context);
/* What was asked goes out now, as far as the socket takes it; the rest goes when it can. */
void pw_redis_wire_write(struct pw_redis_wire *wire);
/* Since when the oldest question waits for its answer, CLOCK_MONOTONIC; UINT64_MAX: none does. */
uint64_t pw_redis_wire_since_us(const struct pw_redis_wire *wire);

#endif
