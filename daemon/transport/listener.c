/* Listeners: sockets that are called. */
#include "daemon/loop.h"
#include "daemon/transport/handshake.h"
#include "daemon/transport/socket.h"

#include <errno.h>
#include <event2/event.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define ACCEPTS_MAX 16u        /* in one turn of the loop */
#define INCOMING_MAX 64u       /* at a handshake; beyond these the oldest makes way */
#define PAUSE_US 100000u       /* after a call that could not be taken, as without descriptors */

struct pw_listener {
        struct pw_list link;
        struct pw_transport *transport;
        const struct pw_listener_events *events;
        void *context;
        struct event *event;
        int fd;
        uint64_t again_us;      /* it listens again then; UINT64_MAX: it does */
        dev_t path_device;      /* the file of a Unix socket; */
        ino_t path_inode;       /* 0: none */
        char address[PW_TRANSPORT_ADDRESS_TEXT];
};

static void ended(void *context, struct pw_pipe *pipe_take, const struct pw_greeting *greeting, const struct pw_error *why)
{
        struct pw_listener *listener = context;

        if (pipe_take)
                listener->events->came(listener->context, pipe_take, greeting);
        else
                listener->events->refused(listener->context, why);
}

/* False: nobody calls, or cannot be heard. */
static bool take_call(struct pw_listener *listener)
{
        struct pw_address peer = { .bytes = sizeof(struct sockaddr_un) };
        struct pw_handshake_params params = { .peer = &peer, .ended = ended, .context = listener };
        struct pw_handshake *handshake;
        int fd = accept4(listener->fd, &peer.any, &peer.bytes, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED))
                return errno != EAGAIN;
        params.fd_take = fd;
        if (fd >= 0) {
                pw_socket_hurry(fd, &peer);
                if (pw_handshake_begin(listener->transport, &params, &handshake, NULL) == PW_OK)
                        return true;
                close(fd);
        }
        event_del(listener->event); /* short of descriptors or memory: else the loop would be woken for this call again and again */
        listener->again_us = pw_now_us() + PAUSE_US;
        return false;
}

static void on_call(evutil_socket_t fd, short what, void *context)
{
        struct pw_listener *listener = context;

        (void)fd, (void)what;
        pw_woken(listener->transport->loop);
        for (uint32_t i = 0; i < ACCEPTS_MAX && take_call(listener); i++) {
        }
        while (listener->transport->incoming_count > INCOMING_MAX) {
                uint32_t before = listener->transport->incoming_count;

                pw_handshakes_refuse_oldest(listener->transport);
                if (listener->transport->incoming_count == before)
                        break;
        }
}

/* Where it listens, and which file it made. */
static void note_address(struct pw_listener *listener, const struct pw_address *asked)
{
        struct pw_address address = { .bytes = sizeof(struct sockaddr_un) };
        struct stat stat;

        if (asked->any.sa_family == AF_UNIX) {
                pw_address_format(asked, listener->address, sizeof listener->address);
                if (lstat(asked->un.sun_path, &stat) == 0) {
                        listener->path_device = stat.st_dev;
                        listener->path_inode = stat.st_ino;
                }
        } else if (getsockname(listener->fd, &address.any, &address.bytes) == 0) {
                pw_address_format(&address, listener->address, sizeof listener->address);
        }
}

enum pw_status pw_transport_listen(struct pw_transport *transport, const char *address, const struct pw_listener_events *listening,
                                   void *context, struct pw_listener **ret_listener, struct pw_error *ret_err)
{
        struct pw_listener *listener;
        struct pw_address parsed;
        enum pw_status status = transport->kind->resolve(address, &parsed, ret_err);

        if (status != PW_OK)
                return status;
        listener = calloc(1, sizeof *listener);
        if (!listener)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory for a socket");
        listener->transport = transport;
        listener->events = listening;
        listener->context = context;
        listener->again_us = UINT64_MAX;
        listener->fd = -1;
        pw_list_append(&transport->listeners, &listener->link);
        status = pw_socket_listen(&parsed, &listener->fd, ret_err);
        if (status == PW_OK) {
                note_address(listener, &parsed);
                listener->event = event_new(transport->loop->base, listener->fd, EV_READ | EV_PERSIST, on_call, listener);
                if (!listener->event || event_add(listener->event, NULL) < 0)
                        status = pw_error_set(ret_err, PW_NO_MEMORY, "out of memory for a socket");
        }
        if (status != PW_OK)
                pw_listener_free(listener);
        else
                *ret_listener = listener;
        return status;
}

const char *pw_listener_address(const struct pw_listener *listener) { return listener->address; }

void pw_listener_free(struct pw_listener *listener)
{
        struct stat stat;

        if (!listener)
                return;
        pw_handshakes_drop(listener->transport, listener);
        pw_list_remove(&listener->link);
        if (listener->event)
                event_free(listener->event);
        pw_close_fd(&listener->fd);
        if (listener->path_inode && lstat(listener->address, &stat) == 0 && stat.st_dev == listener->path_device &&
            stat.st_ino == listener->path_inode)
                unlink(listener->address);
        free(listener);
}

void pw_listener_turn(struct pw_listener *listener, uint64_t now_us)
{
        if (now_us < listener->again_us)
                return;
        listener->again_us = event_add(listener->event, NULL) < 0 ? now_us + PAUSE_US : UINT64_MAX;
}

uint64_t pw_listener_next_us(const struct pw_listener *listener) { return listener->again_us; }

static struct pw_listener *listener_at(const struct pw_transport *transport, struct pw_list *node)
{
        return node == &transport->listeners ? NULL : pw_list_item(node, struct pw_listener, link);
}

struct pw_listener *pw_listener_first(const struct pw_transport *transport)
{
        return listener_at(transport, transport->listeners.next);
}

struct pw_listener *pw_listener_after(const struct pw_listener *listener)
{
        return listener_at(listener->transport, listener->link.next);
}
