/* What the files of the fake daemon share: its thread alone touches it.
 */
#ifndef PW_LIBCLIENT_FAKE_FAKE_DAEMON_PRIVATE_H
#define PW_LIBCLIENT_FAKE_FAKE_DAEMON_PRIVATE_H

#include "libclient/fake/fake_daemon.h"

#include "libclient/socket/connection.h"
#include "plane/control.h"
#include "plane/segment.h"

#include <assert.h>
#include <pthread.h>

#define OWN_SEGMENT 7u
#define FUTURES_SEGMENT 3u
#define SLOTS (1u << 21)
#define EXTENTS 4096u
#define HELD_MAX 4096u
#define FUTURES_CLASS UINT32_MAX
#define PAGE UINT64_C(4096)
#define SHARDS 4u
#define SHARED_OFFSET ((uint64_t)SLOTS * sizeof(struct pw_entry)) /* of the shard list or error text of all results */

struct fake_extent { uint32_t first_slot, slot_count; struct pw_return_writer returns; bool futures; uint32_t lane,
                size_class; uint64_t back; };

struct memory { int fd, client_fd; struct pw_map map; };

struct fake_daemon {
        struct fake_params params;
        struct fake_counts counts;
        int fd, client_fd, ask_fd, done_fd;
        pthread_t thread;
        _Atomic int ask;
        struct memory own, futures, hints;
        struct pw_control *control;
        struct pw_ring_reader readers[PW_LANES_MAX];
        struct fake_extent extents[EXTENTS];
        uint32_t extent_count;
        uint32_t *extent_of[2];  /* by slot: own, futures */
        uint16_t *more_refs[2];
        uint32_t next_slot[2];
        uint64_t next_room, rooms_end, next_ring, futures_left;
        uint64_t waiting_id;     /* of a RoomRequest that has no room yet; 0: none */
        uint64_t waiting_bytes;
        uint32_t waiting_lane, waiting_class; /* FUTURES_CLASS for futures */
        int64_t waiting_until_ns;
        struct { uint32_t slot, generation; } held[HELD_MAX];
        uint32_t held_count;
        struct { char name[64]; Pathways__Wire__ObjectId object; bool bound; } name;
        struct pw_decoder decoder;
        bool unread_rings, stopped;
};

void fake_reply(struct fake_daemon *fake, uint64_t id, Pathways__Wire__Reply *reply, const int *fds, uint32_t fd_count);
void fake_reply_status(struct fake_daemon *fake, uint64_t id, enum pw_status status, const char *text);
struct pw_entry *fake_entry(struct fake_daemon *fake, bool futures, uint32_t slot);

/* --- fake_room.c ------------------------------------------------------------------------------------------------------------ */

void fake_room(struct fake_daemon *fake, uint64_t id, const Pathways__Wire__RoomRequest *ask);
/* The slot is free again, and its client's. */
void fake_room_back(struct fake_daemon *fake, bool futures, uint32_t slot);
/* Who waits for room is told that some came back, or that its time has passed. */
void fake_serve_waiting(struct fake_daemon *fake);

/* --- fake_record.c ---------------------------------------------------------------------------------------------------------- */

void fake_read_rings(struct fake_daemon *fake);
void fake_release_held(struct fake_daemon *fake);

#endif
