/* Where each byte of each memory is: the terms that `pathways memory` prints and /metrics exports.
 */
#ifndef PW_DAEMON_INSPECT_TERM_H
#define PW_DAEMON_INSPECT_TERM_H

#include "daemon/daemon.h"

struct pw_term {
        const char *memory; /* "h0", "h0:2" */
        const char *name;   /* "letting go" */
        int64_t bytes;      /* negative: what is unaccounted can be too much */
        const char *about;
};
/* What the executor of a GPU takes of it beside what there is for rooms: beside.h. False: it is not known, as *ret_why says; NULL:
 * it is no GPU. */
bool pw_term_beside(const struct pw_daemon *daemon, uint32_t device, uint64_t *ret_bytes, const char **ret_why);
/* Every term of host memory, then of each device. Reads every granted entry. */
void pw_terms_each(struct pw_daemon *daemon, void (*row)(void *context, const struct pw_term *term), void *context);

#endif
