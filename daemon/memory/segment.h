/* The daemon's own record of a segment: its memory and the map of its entries, by number.
 */
#ifndef PW_DAEMON_MEMORY_SEGMENT_H
#define PW_DAEMON_MEMORY_SEGMENT_H

#include "daemon/daemon.h"
#include "daemon/memory/backing.h"

struct pw_segment {
        uint32_t number;       /* 0: a session's that was not granted anything yet: no map, and the store does not know of it */
        struct pw_segment_layout layout;
        struct pw_backed backed; /* its memory; a CLIENT's is made by its session */
        struct pw_list of_backing; /* a session's; else alone */
        struct pw_map map;     /* CLIENT: entries; FUTURES, and what only the daemon writes: all; DEVICE: none */
        struct pw_list lent;   /* maps of values that are sent from there: lent_map.h */
        struct pw_tenant *tenant;
        uint32_t session;      /* CLIENT */
        uint32_t device;       /* DEVICE */
        bool fetched;          /* CLIENT: executors write it, what they fetch */
        bool apart;            /* DEVICE: its rooms lie in the device's arena, and it has no memory but that of their heads */
        struct pw_backed heads; /* DEVICE: the memory of its rooms' heads; else none */
};

/* Make the memfd, map what the daemon needs, tell the store (CLIENT and FUTURES). Own: the daemon's table; pw_segment_remove().
 * `like->backed` is taken if and only if it returns PW_OK. */
PW_MUST_CHECK enum pw_status pw_segment_new(struct pw_daemon *daemon, const struct pw_segment *like,
                                            struct pw_segment **ret_segment, struct pw_error *ret_err);
/* A session's, whose memory is there: without a number until something in it is granted. `like->backed` as above. */
PW_MUST_CHECK enum pw_status pw_segment_reserve(struct pw_daemon *daemon, const struct pw_segment *like,
                                                struct pw_segment **ret_segment, struct pw_error *ret_err);
/* From now on it has a number, a map, and a place in the store. PW_OK if that is so already. Errors: PW_LIMIT: numbers are used
 * up. */
PW_MUST_CHECK enum pw_status pw_segment_begin(struct pw_daemon *daemon, struct pw_segment *segment, struct pw_error *ret_err);
void pw_segment_quiet(struct pw_segment *segment); /* nobody reads its entries any more: its map goes */
struct pw_segment *pw_segment_get(const struct pw_memory *memory, uint32_t number); /* NULL: none */
void pw_segment_remove(struct pw_daemon *daemon, struct pw_segment *segment);
void pw_segment_unlend(struct pw_segment *segment); /* lent_map.c: nobody sends anything from there any more */

#endif
