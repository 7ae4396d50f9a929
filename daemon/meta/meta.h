/* Metadata: what outlives a daemon and what hosts tell each other. The plain kind is embedded.c; redis/ has that of clusters.
 *
 * To add a kind: NAME.c here, a line each in kinds.c and kinds.h, and in daemon/local.mk two, for the daemon and for
 * tests/conformance/meta_test, which tries it. Which one a daemon has, its option --metadata says.
 *
 * What is asked of it are requests with tokens, answered later by a call of the listener: once each, never inside submit(), in any
 * order. What nobody asked for comes as an event. Nothing on the way of a put, a get or a run waits for either: a kind that has a
 * server speaks to it on the loop.
 *
 * A kind that loses its server says AWAY, answers what is outstanding with UNKNOWN or AWAY, and later requests with AWAY at once;
 * BACK comes behind all of these, and when it has come, asking again makes sense.
 *
 * A kind with a server does not wait for it in open(). A host that was of the cluster before has its number and a new epoch at
 * once, from its state dir, and the hosts that it knew come as events; names are answered when the server has been reached, or AWAY
 * when it turns out not to be there.
 *
 * Threads: loop thread only.   Blocks: open() may (it reads a file); nothing else.
 */
#ifndef PW_DAEMON_META_META_H
#define PW_DAEMON_META_META_H

#include "base/hash.h"
#include "cluster/link/hosts.h"
#include "store/naming.h"

struct event_base;
struct pw_meta;

/* `incarnation`: of the cluster, random from when it was founded; 0: of a kind with one host, or not known yet. */
struct pw_meta_host { uint32_t host, epoch; uint64_t incarnation; };

enum pw_meta_event_kind {
        PW_META_JOINED = 1, /* this host is `host`: of a kind whose open() could not say so yet */
        PW_META_AWAY,       /* nothing can be asked, what is known stays good; said again where another status is the reason */
        PW_META_BACK,
        PW_META_CHANGED,    /* another host bound the name, or ended its binding: version 0. Where this host had bound it to another
                             * object, that binding is over: metadata had lost both, and kept the older one */
        PW_META_BOUND,      /* names may have been bound since this was said last: which, is not known */
        PW_META_HOST,       /* another host of the cluster, new or with another epoch or address: `row` */
        PW_META_WAITS,      /* this host has not joined yet, as `text` says: said again only when the reason is another */
        PW_META_REFUSED,    /* this host cannot be of the cluster, as `text` says, and nothing but a new start can change that: it
                             * is not to make ids any more */
        PW_META_TROUBLE,    /* `text` is for the operator; all goes on */
};

struct pw_meta_event {
        enum pw_meta_event_kind kind;
        struct pw_meta_host host;
        const char *tenant, *name; /* CHANGED; these and the following are borrowed for the call */
        struct pw_id id;
        uint64_t version;
        const struct pw_host_row *row;
        enum pw_status status;     /* AWAY, WAITS, REFUSED, TROUBLE: why, and in a sentence what to do */
        const char *text;
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
        const struct pw_meta_cluster *cluster; /* NULL: a kind with one host does without */
};

/* Where the cluster is, and who this host is there. All texts are borrowed for open(). */
struct pw_meta_cluster {
        struct event_base *loop;
        const char *address;   /* redis://ADDR:PORT with a numeric address, or redis+unix:/PATH */
        const char *user, *password; /* NULL: none */
        bool plaintext;        /* an address of another host is allowed, though passwords and names go there in plain text */
        const char *name, *host_name; /* of the cluster and of this host: letters, digits and "-._", PW_HOST_NAME_MAX */
        const char *machine;   /* what tells machines apart, so that a copied state dir is noticed; letters and digits */
        const char *own_address; /* where peers find this host; no blanks */
        uint64_t instance;     /* random: another one for each start of a daemon */
        uint64_t lease_us;     /* who is not heard of for so long is not there; a server that is silent for so long is away */
        bool new_cluster;      /* found it where this host is of none yet */
        const struct pw_observer *observer; /* of the states of membership; NULL: nobody; outlives the metadata */
};

struct pw_meta_kind {
        const char *name;
        /* Join: this host's number, and an epoch higher than any it ever had; epoch 0: not joined yet, an event will bring both.
         * Own: given back with close(). Errors: PW_SYSTEM, PW_NO_MEMORY, PW_LIMIT; with a cluster besides: PW_INVALID (an address
         * or a name), PW_EXISTS (the state dir is another host's, or another daemon's that lives). */
        enum pw_status (*open)(const struct pw_meta_params *params, struct pw_meta **ret_meta, struct pw_meta_host *ret_host,
                               struct pw_error *ret_err);
        /* What is outstanding is answered first: AWAY. */
        void (*close)(struct pw_meta *meta);
        /* Ask. Errors: PW_NO_MEMORY: nothing was asked, no answer will come. */
        enum pw_status (*submit)(struct pw_meta *meta, const struct pw_name_ask *ask);
        /* Tell the listener what has come since. True: there was something. */
        bool (*turn)(struct pw_meta *meta);
        /* Others have changed something: see what, soon, and not when it would be looked at anyway. As often as anybody likes: it
         * does so 20 times a second at most. */
        void (*look)(struct pw_meta *meta);
        /* This host drains, and `successor` takes over: it is in the host table from now on, as soon as that is there. */
        void (*drains)(struct pw_meta *meta, uint32_t successor);
        /* When the next turn is due, by CLOCK_MONOTONIC; 0: now, UINT64_MAX: not before the loop hears of something. */
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
static inline void pw_meta_look(struct pw_meta *meta) { meta->kind->look(meta); }
static inline void pw_meta_drains(struct pw_meta *meta, uint32_t successor) { meta->kind->drains(meta, successor); }
static inline uint64_t pw_meta_next_us(const struct pw_meta *meta) { return meta->kind->next_us(meta); }

#endif
