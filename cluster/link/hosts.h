/* The hosts of a cluster, as this one knows them: by number, with the name, the last epoch and the address that metadata has told,
 * and the peer through which this host deals with it, from the first time on that somebody does.
 *
 * What a number means is metadata's to decide; here a number keeps its name until it is told otherwise by a later epoch. Threads:
 * one at a time.   Blocks: never.
 */
#ifndef PW_CLUSTER_LINK_HOSTS_H
#define PW_CLUSTER_LINK_HOSTS_H

#include "base/host_name.h"
#include "base/table.h"
#include "cluster/link/peer.h"

#define PW_HOST_ADDRESS_MAX 255u

struct pw_host_row {
        uint32_t number, epoch; /* epoch: the last one that is known of */
        char name[PW_HOST_NAME_MAX + 1];
        char address[PW_HOST_ADDRESS_MAX + 1];
        uint32_t successor; /* it drains, in that epoch, and this host takes over; 0: it does not */
};

struct pw_host {
        struct pw_host_row row;
        struct pw_peer *peer;   /* NULL: nobody has dealt with it */
};

struct pw_hosts_params {
        struct pw_link_params link; /* of each; `host` is filled in */
        const struct pw_hello *own; /* borrowed, as in peer.h */
        const struct pw_peer_port *port;
        void *context;          /* of the port */
};

struct pw_hosts {
        struct pw_hosts_params params;
        struct pw_table by_number;
};

void pw_hosts_init(struct pw_hosts *hosts, const struct pw_hosts_params *params);
void pw_hosts_done(struct pw_hosts *hosts);

/* What metadata says of a host. An epoch before the one that is known changes nothing. *ret_host: may be NULL.
 * Errors: PW_INVALID (number 0, which is nobody's, or this host's own; no name), PW_EXISTS (another host has that number, in this
 * epoch or a later one), PW_NO_MEMORY; nothing has changed then. */
PW_MUST_CHECK enum pw_status pw_hosts_put(struct pw_hosts *hosts, const struct pw_host_row *row, struct pw_host **ret_host,
                                          struct pw_error *ret_err);
/* What a host says of itself in a hello that was good: where it is called, in its epoch. It may have been started again since
 * metadata was asked, or while that is away. An epoch before the one that is known changes nothing. */
void pw_hosts_heard(struct pw_hosts *hosts, const struct pw_hello *hello);
struct pw_host *pw_hosts_get(const struct pw_hosts *hosts, uint32_t number); /* NULL: not known */
/* for (uint32_t i = 0; (host = pw_hosts_next(hosts, &i));) : each once, in no order */
struct pw_host *pw_hosts_next(const struct pw_hosts *hosts, uint32_t *cursor);

/* The peer of a host, made when it is asked for first. Borrowed. Errors: PW_NOT_FOUND (no such host is known), PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_hosts_peer(struct pw_hosts *hosts, uint32_t number, struct pw_peer **ret_peer,
                                           struct pw_error *ret_err);
/* The first hello of a connection that came: whose is it? It is given to the peer, pw_peer_hello().
 * Errors: those of pw_peer_hello(); PW_NOT_FOUND: the host is not known here yet: metadata is to be asked, and it calls again. The
 * connection is shut then. */
PW_MUST_CHECK enum pw_status pw_hosts_hello(struct pw_hosts *hosts, uint64_t connection, const struct pw_hello *hello,
                                            const char *proven, uint64_t now_us, struct pw_peer **ret_peer,
                                            struct pw_error *ret_err);

#endif
