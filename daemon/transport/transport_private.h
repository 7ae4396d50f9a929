/* What a transport has, for the files that share it: transport.c, listener.c, dial.c, handshake.c, stream/bulk.c.
 */
#ifndef PW_DAEMON_TRANSPORT_TRANSPORT_PRIVATE_H
#define PW_DAEMON_TRANSPORT_TRANSPORT_PRIVATE_H

#include "daemon/transport/crew.h"
#include "daemon/transport/pipe.h"

struct pw_transport {
        const struct pw_transport_kind *kind;
        void *own;                  /* the kind's */
        struct pw_loop *loop;
        const struct pw_observer *observer;
        uint64_t handshake_us;
        char host_name[PW_HOST_NAME_MAX + 1];
        struct pw_crew *crew;
        struct pw_list handshakes;  /* struct pw_handshake.link, the oldest first, so the first is late first */
        uint64_t handshake_count;   /* so far */
        uint32_t incoming_count;    /* of those that are there, of listeners */
        struct pw_list listeners;   /* struct pw_listener.link */
        struct pw_list dials;       /* struct pw_dial.link */
};

void pw_listener_turn(struct pw_listener *listener, uint64_t now_us);
uint64_t pw_listener_next_us(const struct pw_listener *listener);
struct pw_listener *pw_listener_first(const struct pw_transport *transport);  /* NULL: none */
struct pw_listener *pw_listener_after(const struct pw_listener *listener);
struct pw_dial *pw_dial_first(const struct pw_transport *transport);

#endif
