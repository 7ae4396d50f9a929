/* The daemon's own record of a segment: descriptors and its map of the entries, by number.
 */
#ifndef PW_DAEMON_SEGMENT_H
#define PW_DAEMON_SEGMENT_H

#include "daemon/daemon.h"
#include "plane/segment.h"

struct pw_segment {
        uint32_t number;
        struct pw_segment_layout layout;
        int fd, ro_fd;         /* ro_fd: -1 until somebody asked for it */
        struct pw_map map;     /* CLIENT: entries; FUTURES: all; DEVICE: none */
        struct pw_tenant *tenant;
        uint32_t session;      /* CLIENT */
        uint32_t device;       /* DEVICE */
};

/* Make the memfd, map what the daemon needs, tell the store (CLIENT and FUTURES). Own: the daemon's table; pw_segment_remove(). */
PW_MUST_CHECK enum pw_status pw_segment_new(struct pw_daemon *daemon, const struct pw_segment *like, struct pw_segment **ret_segment,
                                            struct pw_error *ret_err);
/* *ret_fd: a descriptor that cannot write, the segment's own. Errors: PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_segment_readonly(struct pw_segment *segment, int *ret_fd, struct pw_error *ret_err);
struct pw_segment *pw_segment_get(struct pw_daemon *daemon, uint32_t number); /* NULL: none */
void pw_segment_remove(struct pw_daemon *daemon, struct pw_segment *segment);

#endif
