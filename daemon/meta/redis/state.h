/* What a host keeps of its cluster in its state dir, so that it starts without the server.
 *
 * The file `cluster` there is a few lines of text. Who opens it locks the folder until it closes it: two daemons never share one.
 * Blocks: for as long as the file system does.
 */
#ifndef PW_DAEMON_META_REDIS_STATE_H
#define PW_DAEMON_META_REDIS_STATE_H

#include "cluster/link/hosts.h"

struct pw_redis_state {
        char *folder;
        int lock_fd;
        const char *cluster, *host, *machine; /* borrowed: whose it is to be */
        uint64_t incarnation;
        uint32_t number;    /* 0: this host was in no cluster yet */
        uint32_t epoch;     /* the last one that was used; */
        uint32_t confirmed; /* the last one that the server had */
};

/* `row` is called for each host that was known. Own: given back with pw_redis_state_close(), also after an error.
 * Errors: PW_EXISTS (it is another host's, or another daemon's), PW_SYSTEM (it cannot be read, or is spoilt), PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_redis_state_open(struct pw_redis_state *state, const char *folder,
                                                 void (*row)(void *context, const struct pw_host_row *row), void *context,
                                                 struct pw_error *ret_err);
/* What the file is to have. `next` gives one row after the other, then NULL. Own: *ret_text is freed by the caller.
 * Errors: PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_redis_state_text(const struct pw_redis_state *state,
                                                 const struct pw_host_row *(*next)(void *context, uint32_t *cursor), void *context,
                                                 char **ret_text, struct pw_error *ret_err);
/* It has that once this returns, also if the machine goes down. Errors: PW_SYSTEM, PW_DENIED, PW_NO_MEMORY; the file is as before.
 * Threads: any, one at a time. */
PW_MUST_CHECK enum pw_status pw_redis_state_write(const char *folder, const char *text, struct pw_error *ret_err);
/* The number is another host's now: the next start asks for a new one. Threads: likewise. */
void pw_redis_state_remove(const char *folder);
/* The folder is unlocked. */
void pw_redis_state_close(struct pw_redis_state *state);

#endif
