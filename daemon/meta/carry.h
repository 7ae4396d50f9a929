/* What the store asks of metadata, carried there, and what metadata says, carried back: answers to the store, hosts to who deals
 * with them.
 *
 * Threads: loop thread only.
 */
#ifndef PW_DAEMON_META_CARRY_H
#define PW_DAEMON_META_CARRY_H

#include "daemon/daemon.h"

/* Who this host is in its cluster: what a hello of it says. Texts live as long as the daemon. */
struct pw_meta_own {
        const char *cluster, *name, *machine;
        uint32_t host, epoch;
        uint64_t incarnation, instance;
};

/* Who deals with other hosts. Called inside pw_meta_carry_open() and pw_meta_carry(), on the loop; nothing of meta/ is to be called
 * from there. */
struct pw_meta_hosts {
        /* This host has its place, once, before any other host is told. Epoch and number never change after that. */
        void (*joined)(void *context, const struct pw_meta_own *own);
        /* Another host is known: new, or with another epoch, name or address; its number may have been another host's before, then
         * with a lower epoch. `row->address` is where it listens, several divided by commas; "-": it does not. All that the state
         * dir has come first. Whether a host is there is not said: who has a link to it finds out. */
        void (*host)(void *context, const struct pw_host_row *row);
};

struct pw_meta_carry_params {
        const struct pw_meta_hosts *hosts; /* NULL: nobody */
        void *context;
        const struct pw_text_list *addresses; /* where peers of this host connect to: ADDR:PORT; borrowed for the call */
};

/* Open the kind that the settings name: daemon->meta, and daemon->host and epoch; epoch 0: this host is new in its cluster, and has
 * to wait for its place (pw_place_await()).
 * Errors: those of open() in meta.h; PW_DENIED, PW_NOT_FOUND (the password's file).   Blocks: on the state dir. */
PW_MUST_CHECK enum pw_status pw_meta_carry_open(struct pw_daemon *daemon, const struct pw_meta_carry_params *params,
                                                struct pw_error *ret_err);
/* True: there was something.   Blocks: never. */
bool pw_meta_carry(struct pw_daemon *daemon, uint64_t now_us);
/* When there is something next; 0: now, UINT64_MAX: not before the loop hears of it. */
uint64_t pw_meta_carry_next_us(const struct pw_daemon *daemon);

#endif
