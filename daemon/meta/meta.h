/* Metadata: what outlives a daemon and what hosts tell each other. The plain kind is embedded.c.
 *
 * To add a kind: NAME.c here, a line each in kinds.c and kinds.h, and in daemon/local.mk two, for the daemon and for
 * tests/conformance/meta_test, which tries it. The daemon has no option for it yet: it takes the name that carry.c
 * opens, `embedded`.
 *
 * What is asked of it are requests with tokens, answered later by a call of the listener: once each, never inside submit(), in any
 * order. What nobody asked for comes as an event. Nothing on the way of a put, a get or a run waits for either: a kind that has a
 * server speaks to it on the loop.
 *
 * A kind that loses its server says AWAY, answers what is outstanding with UNKNOWN or AWAY, and later requests with AWAY at once;
 * BACK comes behind all of these, and when it has come, asking again makes sense.
 *
 * Threads: loop thread only.   Blocks: open() may (it reads a file); nothing else.
 */
#ifndef PW_DAEMON_META_META_H
#define PW_DAEMON_META_META_H

#include "base/hash.h"
#include "store/naming.h"

struct pw_meta;

struct pw_meta_host { uint32_t host, epoch; };

enum pw_meta_event_kind {
        PW_META_JOINED = 1, /* this host is `host`: of a kind whose open() could not say so yet */
        PW_META_AWAY,       /* nothing can be asked, what is known stays good */
        PW_META_BACK,
        PW_META_CHANGED,    /* another host bound the name, or ended its binding: version 0 */
};

struct pw_meta_event {
        enum pw_meta_event_kind kind;
        struct pw_meta_host host;
        const char *tenant, *name; /* CHANGED; borrowed for the call */
        struct pw_id id;
        uint64_t version;
};

/* Called inside turn() and close() alone. It may submit(), and calls nothing else of the metadata. */
struct pw_meta_listener {
        void (*answered)(void *context, const struct pw_name_answer *answer);
        void (*event)(void *context, const struct pw_meta_event *event);
};

struct pw_meta_params {
        const char *state_dir; /* made where it is missing */
        uint32_t now_s;        /* seconds since 1970 */
        struct pw_hash_secret secret;
        const struct pw_meta_listener *listener;
        void *context;         /* of the listener */
};

struct pw_meta_kind {
        const char *name;
        /* Join: this host's number, and an epoch higher than any it ever had; epoch 0: not joined yet, an event will bring both.
         * Own: given back with close(). Errors: PW_SYSTEM, PW_NO_MEMORY, PW_LIMIT. */
        enum pw_status (*open)(const struct pw_meta_params *params, struct pw_meta **ret_meta, struct pw_meta_host *ret_host,
                               struct pw_error *ret_err);
        /* What is outstanding is answered first: AWAY. */
        void (*close)(struct pw_meta *meta);
        /* Ask. Errors: PW_NO_MEMORY: nothing was asked, no answer will come. */
        enum pw_status (*submit)(struct pw_meta *meta, const struct pw_name_ask *ask);
        /* Tell the listener what has come since. True: there was something. */
        bool (*turn)(struct pw_meta *meta);
        /* When the next turn is due; 0: now, UINT64_MAX: not before the loop hears of something. */
        uint64_t (*next_us)(const struct pw_meta *meta);
};

struct pw_meta {
        const struct pw_meta_kind *kind;
        const struct pw_meta_listener *listener;
        void *context;
};

const struct pw_meta_kind *pw_meta_kind(const char *name); /* NULL: none */
const struct pw_meta_kind *pw_meta_kind_at(uint32_t i);    /* NULL behind the last */

static inline void pw_meta_close(struct pw_meta *meta)
{
        if (meta)
                meta->kind->close(meta);
}
PW_MUST_CHECK static inline enum pw_status pw_meta_submit(struct pw_meta *meta, const struct pw_name_ask *ask)
{
        return meta->kind->submit(meta, ask);
}
static inline bool pw_meta_turn(struct pw_meta *meta) { return meta->kind->turn(meta); }
static inline uint64_t pw_meta_next_us(const struct pw_meta *meta) { return meta->kind->next_us(meta); }

#endif
