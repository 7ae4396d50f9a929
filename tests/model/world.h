/* A daemon and up to three clients in one address space, for the explorer: the product's store, lanes, turns and library over plain
 * memory; the loop's socket, the scheduler and everything rare are stand-ins.
 *
 * Client 0 is process 0, session 1, segment 10, and so on. Each has one lane.
 */
#ifndef PW_MODEL_WORLD_H
#define PW_MODEL_WORLD_H

#include "daemon/session/lane.h"
#include "libclient/object/unref.h"
#include "libclient/session.h"
#include "libclient/slab.h"
#include "libclient/socket/outgoing.h"
#include "tests/model/explore.h"

#define WORLD_CLIENTS 3u
#define WORLD_FUTURES 40u /* the segment of results */
#define WORLD_SLOTS 2u /* of each segment */
#define WORLD_ROOMS_BYTES 8192u
/* two rooms of a page, their entries, a page that is too little for another lane, and records */
#define WORLD_CAPACITY_BYTES (16384u + 512u)

enum world_item { WORLD_NOTHING = 0, WORLD_BELL = 1, WORLD_FRAME = 2 };

struct world_client {
        struct pw_dsession session;     /* the daemon's */
        struct pw_session library;      /* the client's */
        struct pw_client_lane *lane;
        struct pw_client_segment segment;
        struct pw_control *control;
        struct pw_connection connection;
        _Atomic uint32_t socket;        /* what is on it: enum world_item; it takes one at a time */
        uint32_t came;                  /* the daemon was told of it, and has not read it yet */
        uint32_t decoded;               /* it has read it, and not taken it apart yet */
        _Atomic uint32_t hung_up;       /* it closed the socket */
        _Atomic uint32_t asked, answered; /* fences */
        bool noticed;                   /* the daemon was told of its death */
        struct { uint64_t asked, died, hung_up; } until; /* passes that these wait for; 0: none */
        void (*request)(struct pw_dsession *session); /* what it asks for; NULL: a fence */
        uint32_t reply;                 /* enum pw_status */
};

struct world {
        struct pw_daemon daemon;
        struct pw_tenant tenant;
        struct world_client clients[WORLD_CLIENTS];
        struct pw_client_segment futures;
        _Atomic uint32_t life;
        uint32_t client_count, token, buckets;
        uint32_t punched; /* clients whose rooms were given back to the host */
};
extern const struct pw_client_observer world_observer;
extern struct world world;

/* Build it with `clients` clients; the daemon's thread is 0. Shares what the socket carries, tails, watch words and cells; entries
 * and hints are the model's to share. */
void world_begin(uint32_t clients);
/* Grant client `i` an extent of `count` slots, inline or with rooms of `room_bytes`. */
void world_grant(uint32_t i, uint64_t room_bytes, uint32_t count);
/* The same of `count` slots for results: the first one. Then a handle of client `i` to such a slot. */
uint32_t world_grant_futures(uint32_t i, uint32_t count);
struct pw_future *world_future(uint32_t i, uint32_t slot);
struct pw_client_segment *world_segment(uint32_t number);
/* Client `i` runs `run` as a process that may be killed. Returns its thread. */
int world_client(uint32_t i, const char *name, void (*run)(void *));
/* The entry of a slot of client `i`, shared, with its bucket of hints. */
struct pw_entry *world_entry(uint32_t i, uint32_t slot);
struct pw_entry *world_future_entry(uint32_t slot);
/* A value of client `i`, sealed or not, made before anything runs; its handle. */
struct pw_future *world_put(uint32_t i, uint64_t bytes, bool sealed);
/* A second reference, client `i`'s, to what `future` names; its handle. */
struct pw_future *world_share(uint32_t i, const struct pw_future *future);
/* The client closes its socket; its process lives on. */
void world_hang_up(uint32_t i);
/* The client's call is over: from this place on it needs nothing of what it read but its lane. */
void world_settle(uint32_t i, uint32_t where);
/* The client sends a request and waits for its reply; the daemon reads the client's rings, then does `request`, which replies. */
enum pw_status world_ask(uint32_t i, void (*request)(struct pw_dsession *session));
/* Another thread of client `i`'s process, which uses its socket too: before anything runs. */
int world_thread(uint32_t i, const char *name, void (*run)(void *));
/* It sends a frame that has no answer, and that the daemon does nothing about. */
void world_frame(uint32_t i);
/* Have every record read soon, as who needs a slot does. */
void world_press(uint32_t i);
/* After each step: entries change only as the table of plane/entry.h says. */
void world_step(void);
/* At the end: the store's invariants; nothing of the daemon is left to do. */
void world_end(void);
/* Objects that the store still has. */
uint32_t world_objects(void);

/* Without a point. */
static inline uint32_t world_peek(_Atomic uint32_t *place)
{
        model_see(place);
        return *(volatile uint32_t *)place;
}

#endif
