/* What client/ has of all clients: where they come in, who waits for what, and the reading of their rings.
 */
#ifndef PW_DAEMON_CLIENT_CLIENTS_H
#define PW_DAEMON_CLIENT_CLIENTS_H

#include "base/heap.h"
#include "base/list.h"
#include "base/table.h"
#include "daemon/session/speakers.h"

struct event;
struct pw_client_observer;

struct pw_clients {
        struct event *listener;
        uint64_t listen_again_us;   /* UINT64_MAX: it listens */
        int listen_fd;
        int reserve_fd;             /* given up for a moment to refuse a client when no descriptor is left */
        uint32_t fd_limit;          /* of descriptors */
        bool refusing;              /* the last connection was refused */
        struct pw_list strangers;   /* connections that did not say Hello, the oldest first */
        const struct pw_client_observer *observer;
        struct pw_list speaking;    /* struct pw_speakers.turn */
        struct pw_speakers child_speakers;
        struct pw_list ended;       /* sessions that ended in this turn */
        struct pw_list dying;       /* processes that are dead, and hold something yet */
        struct pw_list hot;         /* lanes that are read every turn */
        uint64_t round;             /* of reading lanes, counts up: each lane is read once in it, but to catch up */
        bool catching_up;           /* other lanes are being read before a record goes on: lane.c */
        bool hungry;                /* somebody queues for room of the host's memory */
        bool runs_deferred;         /* a run waits for room of devices that sessions hold */
        uint64_t scan;              /* of lanes: scan.h; counts up */
        struct pw_list scanning;     /* tenants whose scan goes on */
        struct pw_list scan_next;   /* sessions that are to be in the next scan */
};

static inline void pw_clients_init(struct pw_clients *clients)
{
        clients->listen_fd = clients->reserve_fd = -1;
        clients->listen_again_us = UINT64_MAX;
        pw_list_init(&clients->strangers);
        pw_list_init(&clients->speaking);
        pw_speakers_init(&clients->child_speakers);
        pw_list_init(&clients->ended);
        pw_list_init(&clients->dying);
        pw_list_init(&clients->hot);
        pw_list_init(&clients->scanning);
        pw_list_init(&clients->scan_next);
}

#endif
