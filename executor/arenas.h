/* Arenas, as an executor has them: all memory of a device that the processor does not read, the own one and those of the other
 * devices of the host that it maps. The first executor of a device makes its arena and sends it to the daemon, which keeps it for
 * those that follow, and hands it to those of other devices.
 * Threads: the executor's launching thread.
 */
#ifndef PW_EXECUTOR_ARENAS_H
#define PW_EXECUTOR_ARENAS_H

#include "executor/device/memory.h"
#include "plane/board/board.h"

#include <stdbool.h>

struct pw_connection;

struct pw_exec_arenas_params {
        struct pw_connection *connection; /* to the daemon */
        const struct pw_device_memory *memory;
        struct pw_exec_device *handle;    /* of the own device, */
        uint32_t device;                  /* which is that one */
        uint64_t bytes;                   /* of each arena */
};

/* Before open() only `mailbox` and `own` are set. */
struct pw_exec_arenas {
        int mailbox, own; /* where the own arena is sent, and that if it was there; -1: none */
        struct pw_connection *connection;
        const struct pw_device_memory *memory;
        struct pw_exec_device *handle;
        uint32_t device;
        uint64_t bytes;   /* 0: there are none */
        uint8_t *bases[PW_DEVICES_MAX]; /* that are mapped, by the memory of the own device; NULL: not yet */
};

#define PW_EXEC_ARENAS_NONE (struct pw_exec_arenas){ .mailbox = -1, .own = -1 }

/* A descriptor that came with the Welcome behind all others: the mailbox, then the own arena, if it was made before. */
void pw_exec_arenas_take(struct pw_exec_arenas *arenas, int fd_take);
/* Have the own arena mapped; it is made, where it was not. *ret_is_used: there were rooms in it before. What `params` name is
 * borrowed until done(). Errors: PW_PROTOCOL, PW_DAEMON_GONE, those of the memory.   Blocks: for the daemon's answer. */
PW_MUST_CHECK enum pw_status pw_exec_arenas_open(struct pw_exec_arenas *arenas, const struct pw_exec_arenas_params *params,
                                                 bool *ret_is_used, struct pw_error *ret_err);
/* Where the arena of a device is; asked for and mapped, where it was not. Errors, Blocks: as those of open(). */
PW_MUST_CHECK enum pw_status pw_exec_arenas_of(struct pw_exec_arenas *arenas, uint32_t device, uint8_t **ret_base,
                                               struct pw_error *ret_err);
void pw_exec_arenas_done(struct pw_exec_arenas *arenas); /* the own device is open still */

#endif
