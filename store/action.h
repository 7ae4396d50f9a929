/* What the store wants done: the daemon does it after each batch of events, in order.
 */
#ifndef PW_STORE_ACTION_H
#define PW_STORE_ACTION_H

#include "base/error.h"
#include "base/id.h"

struct pw_object;
struct pw_store;
struct pw_store_owner; /* whom pages on their way out are charged to */

enum pw_store_action_kind {
        PW_STORE_WAKE = 1,     /* wake who sleeps on {segment, slot} (pw_hint_wake) */
        PW_STORE_GRANT,        /* answer room request `token` with `grant` */
        PW_STORE_LOOK_AGAIN,   /* answer it: rooms came back */
        PW_STORE_REFUSE,       /* answer it with status and text */
        PW_STORE_POPULATE,     /* allocate [offset, offset + bytes) of the segment's memfd, then pw_store_populated(token) */
        PW_STORE_PUNCH,        /* give [offset, offset + bytes) of the segment's memfd back, then
                                * pw_store_pages_gone(owner, bytes), in parts if it takes long */
        PW_STORE_FREE_RESULT,  /* the object of `payload` is gone: its rooms are free */
        PW_STORE_CANCEL_RUN,   /* nobody holds any result of run `number` */
        PW_STORE_FREE_PROXY,   /* nobody here holds the proxy `number` (proxy.h) */
        PW_STORE_FETCH_PROXY,  /* its bytes are elsewhere, and it is watched: they are wanted here */
        PW_STORE_READY,        /* a watched object was decided */
        PW_STORE_DRAIN,        /* somebody queues for room, and nobody did: read every ring now, and each DROP as it comes */
        PW_STORE_SEGMENT_IDLE, /* nobody holds an object in `segment` of an ended session: unmap, close, and
                                * pw_store_segment_remove() */
        /* nobody ever asks for an object in `segment` again: its session has ended, its process may write there yet. Its map may
         * go, the store has forgotten it */
        PW_STORE_SEGMENT_QUIET,
        PW_STORE_END_SESSION,  /* session `number` broke the protocol: end it, for the reason in `text` */
};

struct pw_store_grant {
        uint32_t session, lane, extent, segment, first_slot, slot_count;
        uint64_t room_offset, room_bytes, return_ring;
        uint64_t serial; /* no other grant has it: the extent may be another one's when the action is done */
};

struct pw_store_action {
        enum pw_store_action_kind kind;
        enum pw_status status;
        uint32_t segment, slot;
        uint64_t token, number;
        uint64_t offset, bytes;
        void *payload;
        struct pw_store_owner *owner;
        struct pw_object *object;
        char *text; /* owned by the queue until pw_store_actions_clear() */
        struct pw_store_grant grant; /* of GRANT; of the other answers zero, else not set */
};

struct pw_store_actions {
        struct pw_store_action *items;
        uint32_t count, capacity;
};
void pw_store_actions_clear(struct pw_store_actions *actions);

#endif
