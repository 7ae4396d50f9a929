/* Hosts that pull from each other, in virtual time: their real cores over real links, with modelled connections, bulk streams and
 * threads. Each chunk of a room is a number: what was put, or garbage while somebody writes. What must hold is looked at with each
 * thing that a thread does, and after each turn (pulls_check()).
 */
#ifndef PW_TESTS_WORLD_CLUSTER_PULLS_H
#define PW_TESTS_WORLD_CLUSTER_PULLS_H

#include "cluster/link/link.h"
#include "cluster/pull/pull.h"
#include "cluster/pull/source.h"
#include "cluster/pull/spread.h"

#include "base/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOSTS_MAX 65u
#define CHUNKS_MAX 12u
#define SLOTS 2u
#define STREAMS 2u
#define ASKERS 2u
#define SECOND UINT64_C(1000000)
#define TICK_US UINT64_C(20000)
#define STALL_US (10 * SECOND)
#define DEADLINE_US (30 * SECOND)

struct room {
        struct pw_list link;
        uint32_t host, object, chunks;
        bool is_home, is_ready, pull_has, offer_has, offered;
        uint64_t number, since_us;
        struct pw_pull *pull;
        uint64_t content[CHUNKS_MAX];
        uint32_t writers[CHUNKS_MAX], readers;
};
struct object { struct pw_id id; uint32_t home, chunks; uint64_t bytes; bool is_there, is_staged; };

/* What runs beside a host's loop, or is on its way. */
struct job {
        struct pw_list link;
        enum { RECEIVES, STAGES, SENDS, TRAVELS } kind;
        uint32_t host, peer, stream, chunk, slot; /* host: whose thread; of TRAVELS, where it goes */
        uint64_t number, ask, at_us, began_us, pair_life, value; /* number: of a send; at_us: when it is done; 0: not known */
        struct room *room;
        enum pw_status status;
        bool is_writing, is_told, is_staged, is_corrupt;
};
struct way { struct pw_list items; uint64_t last_us, blocked_until_us; };
struct item {
        struct pw_list link;
        uint64_t at_us;
        struct pw_link_head head;
        bool has_frame;
        uint8_t bytes[PW_PULL_MESSAGE_BYTES];
};
struct pair { bool is_up; uint64_t connection[2], life; struct way ways[2]; }; /* 0: to the lower host */

struct host {
        uint32_t epoch;
        struct pw_pulls *pulls;
        struct pw_pull_source *source;
        struct pw_pull_spread *spread;
        struct pw_link *links[HOSTS_MAX];
        struct pw_list rooms;
        uint64_t slot_values[HOSTS_MAX][SLOTS];
        uint64_t stopped_until_us;
};
struct world {
        uint64_t seed, random, now_us;
        uint32_t host_count, object_count;
        struct host hosts[HOSTS_MAX];
        struct object objects[64];
        struct pair pairs[HOSTS_MAX][HOSTS_MAX]; /* [lower][higher] */
        struct pw_list jobs;
        bool calm;               /* nothing breaks, nothing is late */
        char *trace;             /* of messages and what is told; NULL: it is not wanted */
        size_t trace_bytes;
        uint64_t ready, failed[128], sends, reports, sends_of[HOSTS_MAX], staged, corrupt, given_up,
                 renewed, handed_on;
};
extern struct world *world;

uint32_t pulls_below(uint32_t limit); /* by chance */
void pulls_must(bool is_so, const char *what);
void pulls_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
uint64_t pulls_value(uint32_t object, uint32_t chunk);

/* pulls.c */
void pulls_begin(uint64_t seed, uint32_t hosts);
void pulls_done(void);
void pulls_start_host(uint32_t host); /* its process, in a higher epoch than before */
void pulls_kill_host(uint32_t host);
uint32_t pulls_put(uint32_t home, uint64_t bytes, bool is_staged); /* which object it is */
void pulls_lose(uint32_t object); /* its home has it no more */
struct room *pulls_room(uint32_t host, uint32_t object); /* that is not let go of; NULL: none */
void pulls_want_of(uint32_t host, uint32_t object, uint32_t lender); /* of who has a replica, where its home is lost */
void pulls_want(uint32_t host, uint32_t object); /* somebody on that host reads it; nothing where it is being pulled */
void pulls_drop(struct room *room); /* its last holder goes */
void pulls_renew(uint32_t host, uint32_t home);
void pulls_act(uint32_t host); /* do what the cores say */
void pulls_go_on(uint64_t us);
void pulls_check(void);
void pulls_check_known(void); /* once all is quiet: by its home, each replica that is not alone */
bool pulls_is_quiet(void); /* but for homes nothing is left */

/* pulls_links.c */
struct pair *pulls_pair(uint32_t a, uint32_t b);
void pulls_say(uint32_t host, uint32_t to, const struct pw_pull_message *message);
void pulls_link_turn(uint32_t host);
void pulls_break(uint32_t a, uint32_t b);
struct pw_link *pulls_link(uint32_t host, uint32_t to);

/* pulls_threads.c */
void pulls_receive(uint32_t host, const struct pw_pulls_action *action);
void pulls_stop_receiving(uint32_t host, uint64_t ask);
void pulls_send(uint32_t host, const struct pw_pull_source_action *action);
void pulls_stop_sending(uint32_t host, uint64_t send);
void pulls_threads_turn(void);
void pulls_check_told(uint32_t host, uint32_t peer); /* its threads that deal with that peer */
void pulls_shut_streams(uint32_t a, uint32_t b); /* all of a pair */
void pulls_break_stream(uint32_t a, uint32_t b, uint32_t stream);
void pulls_forget_threads(uint32_t host); /* its process is gone */

#endif
