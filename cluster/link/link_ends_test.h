/* Two peers in virtual time: connections between them, what they send, and what must hold of what arrives. Within one life
 * of a link's end (until its term ends) what arrives is of one life of the other end, each frame once and in order; nobody is given
 * up before a lease of silence, unless his machine said that he has ended; works under way stay within the window. */
#ifndef PW_CLUSTER_LINK_LINK_ENDS_TEST_H
#define PW_CLUSTER_LINK_LINK_ENDS_TEST_H

#include "cluster/link/peer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LEASE_US 3000000u
#define BEAT_US 500000u
#define WINDOW 8u
#define CONNECTIONS 64u
#define ITEMS 4096u
#define SECOND UINT64_C(1000000)

/* What is on its way; CONNECTED, REFUSED and NOBODY (listens there) to who calls. */
struct item {
        enum { CONNECTED, REFUSED, NOBODY, HELLO, HEAD } kind;
        uint64_t at_us;
        struct pw_hello hello;
        struct pw_link_head head;
        uint64_t life, serial; /* what the frame says: serials of works are their own, as they may wait for credits */
};
struct way { struct item items[ITEMS]; uint32_t first, count; };
struct connection {
        uint64_t number;
        bool open[2];        /* as either end sees it; an end that does not is told when it reads */
        struct way ways[2];  /* to end 0, to end 1 */
};
struct end {
        struct pw_peer *peer;
        struct pw_link *link;                 /* the peer's */
        struct pw_hello own;
        uint32_t epoch;
        uint64_t life, serials[2];            /* of what it sends: others, works */
        uint64_t seen_life, seen_serials[2];  /* of what came last */
        uint64_t seen_in;                     /* the life of its own in which that came */
        int64_t ahead_us;                     /* its clock, of the scene's, */
        int32_t drift;                        /* and by how many millionths it is faster */
        uint64_t stopped_until_us, works_open, heard_us;
        uint64_t gone_until_us;               /* its process has ended, and its next one does not listen yet */
        bool heard_of_end;                    /* of the other one's, since they met */
        uint64_t given_up, ended, arrived, sent; /* ended: of those given up, as they had ended */
};
struct scene {
        uint64_t seed, random, now_us;
        struct end ends[2];
        struct connection connections[CONNECTIONS]; /* number n is at n % CONNECTIONS */
        uint64_t numbers;
        uint64_t stalled_until_us[2]; /* nothing arrives at that end */
        bool calm;
        char trace[4096];
};
extern struct scene *scene;

uint32_t ends_below(uint32_t limit); /* by chance */
uint64_t ends_clock(uint32_t at);    /* its time, by which everything is said to its peer */
void ends_must(bool is_so, const char *what);
void ends_begin(uint64_t seed);
void ends_begin_one(uint32_t at); /* its process is started, in a higher epoch than before */
void ends_done(void);
void ends_expect(const char *trace); /* so the links' states have changed since it was asked last */
void ends_shut(struct connection *connection, uint32_t at);
struct pw_link_peer ends_hello(uint32_t at);
void ends_say(uint32_t at, bool work);
void ends_go_on(uint64_t us);

#endif
