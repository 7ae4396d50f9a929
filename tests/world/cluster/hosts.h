/* Hosts in virtual time: each with real cores (links, a borrower, a lender) and a simple store of its own; connections between them
 * that are late, stall, break and are refused. What is said between them is what is written on the wire. */
#ifndef PW_WORLD_CLUSTER_HOSTS_H
#define PW_WORLD_CLUSTER_HOSTS_H

#include "cluster/borrow/borrow.h"
#include "cluster/borrow/lend.h"
#include "cluster/drain/drain.h"
#include "cluster/link/link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOSTS_MAX 65u /* numbers 1 to 64 */
#define LEASE_US UINT64_C(3000000)
#define SECOND UINT64_C(1000000)
#define TENANT "ann"
#define HOSTS_OTHER_FRAMES 0xff
#define LARGE_BYTES 100000u

/* An object, as the world knows it. */
struct thing { struct pw_list link; struct pw_id id; uint64_t value, bytes; bool is_there; /* at its home */ };

/* What a host has of one: its own, or a slot of a proxy. */
enum object_state { OBJECT_PENDING, OBJECT_ELSEWHERE, OBJECT_READY, OBJECT_FAILED, OBJECT_LOST };
struct object {
        struct pw_list link;
        struct thing *thing;
        struct pw_proxy *proxy;       /* NULL: it is this host's */
        enum object_state state;
        enum pw_status status;        /* of FAILED, LOST */
        uint64_t value, since_us;     /* of READY */
        struct { uint32_t host, epoch; bool well; } left; /* in a term that ended: who held it; well: that had drained, and ended */
        uint32_t refs, loans;
        uint64_t free_at_us, pull_at_us; /* 0: not */
};
/* What the store holds for a session of the lender's. object NULL: it has not answered yet. */
struct held {
        struct pw_list link;
        uint64_t session, number, at_us, opener; /* opener: not 0: this host opens it itself, to lend it */
        struct pw_id id;
        struct object *object, *taken; /* taken: what it has opened for that */
};
#define TAKERS (UINT64_C(1) << 60) /* their openers are above */

struct item {
        struct pw_list link;
        enum { HELLO, PROCEED, HEAD } kind;
        uint64_t at_us;
        struct pw_link_peer peer;
        struct pw_link_head head;
        uint32_t bytes;
        uint8_t data[];
};
struct connection {
        struct pw_list link;
        uint32_t hosts[2];             /* the one that decides first */
        bool open[2], called_by[2];
        struct pw_list ways[2];        /* to either */
        uint64_t number[2];
        struct pw_link_peer hello;     /* of hosts[0], as hosts[1] read it */
};
struct host {
        uint32_t number, epoch, slots;
        struct pw_link *links[HOSTS_MAX];
        struct pw_borrow *borrow;
        struct pw_lend *lend;
        struct pw_drain *drain;
        uint64_t drained;              /* so often who asked was told so */
        uint32_t ended_well[HOSTS_MAX]; /* the last epoch in which it ended, after it had drained, in one term with another one */
        struct pw_list objects, held;
        struct pw_proxy *unmade;       /* its slot could not be made */
        uint64_t stopped_until_us;
        uint64_t ended[HOSTS_MAX];     /* so many terms with others, since it was started */
        uint64_t since_us[HOSTS_MAX];  /* that it is in this term with another one */
};
struct hosts {
        uint64_t seed, random, now_us;
        uint32_t count;
        struct host hosts[HOSTS_MAX];
        uint64_t blocked_until_us[HOSTS_MAX][HOSTS_MAX]; /* from, to */
        struct pw_list connections[HOSTS_MAX][HOSTS_MAX]; /* of two: the lower number first */
        struct pw_list things;
        bool calm;
        uint64_t takers;
        uint64_t renewed; /* replicas that their homes hold again */
        char trace[8192];
        /* Who opened has an answer: the object, or why not. */
        void (*answered)(uint32_t host, uint64_t opener, struct object *object, const struct pw_error *err);
        /* Of frames that begin so: a test's own. NULL: there are none. */
        void (*heard)(uint32_t host, const uint8_t *data, uint32_t bytes);
};
extern struct hosts *world;

uint32_t hosts_below(uint32_t limit); /* by chance */
void hosts_must(bool is_so, const char *what);
void hosts_begin(uint64_t seed, uint32_t count);
void hosts_done(void);
void hosts_start(uint32_t host); /* in a higher epoch than before */
void hosts_kill(uint32_t host);  /* its process; what it had is gone */
void hosts_drain(uint32_t host, uint32_t to); /* as an operator asks; `to` 0: to whomever */
void hosts_break(uint32_t a, uint32_t b); /* each connection of the two */
void hosts_expect(const char *trace); /* so proxies and loans have changed since it was asked last */
/* Until then, or until something is due before; what happened then is done. */
void hosts_step(uint64_t until_us);
void hosts_go_on(uint64_t us);
bool hosts_in_one_term(uint32_t a, uint32_t b);

/* store.c */
struct object *store_put(uint32_t host, uint64_t bytes, bool ready);
void store_decide(uint32_t host, struct object *object, enum object_state state); /* READY, FAILED; LOST, of what was READY */
/* PW_NOT_READY: world->answered() says. */
enum pw_status store_open(uint32_t host, const struct thing *thing, uint64_t opener, uint64_t until_us,
                          struct object **ret_object);
void store_drop(uint32_t host, struct object *object);
void store_read(uint32_t host, struct object *object); /* pull it, if it is elsewhere */
struct object *store_find(uint32_t host, struct pw_id id);
uint64_t store_value(const struct pw_talk_known *known);
void store_make(uint32_t host, const struct pw_borrow_action *action);
void store_tell(uint32_t host, const struct pw_borrow_action *action);
void store_fetch(uint32_t host, const struct pw_borrow_action *action);
bool store_taken(uint32_t host, uint64_t opener, struct object *object, const struct pw_error *err); /* false: not a taker's */
void store_lose(uint32_t host, const struct pw_borrow_action *action);
/* The term is about to end in which `other`, in that epoch, holds something for this host. */
void store_term_ended(uint32_t host, uint32_t other, uint32_t epoch);
void store_hold(uint32_t host, const struct pw_lend_action *action);
void store_unhold(uint32_t host, const struct pw_lend_action *action);
void store_turn(uint32_t host);
uint64_t store_next_us(uint32_t host);
void store_done(uint32_t host);
const struct held *store_held_for(uint32_t host, uint32_t borrower, uint64_t number);

/* acts.c: do what the cores want. */
void hosts_act(uint32_t host);

#endif
