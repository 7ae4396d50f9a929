/* A kind of device, as its executor drives it. The plain kind is cpu.c; kinds are listed in kinds.c.
 *
 * Threads: all calls come from the executor's launching thread.   Order: what is launched on a device runs in order.
 */
#ifndef PW_EXECUTOR_DEVICE_H
#define PW_EXECUTOR_DEVICE_H

#include "base/error.h"
#include "pathways_module.h"

enum pw_device_caps {
        PW_DEVICE_SYNCHRONOUS = 1u << 0, /* launch() returns when the function has run */
};

struct pw_device_params {
        uint32_t number;           /* on its host */
        uint64_t capacity_bytes;
        uint64_t launch_delay_us;  /* emulated: of each function */
        uint64_t copy_bandwidth;   /* emulated: bytes per second of transfers; 0: no limit */
};

struct pw_exec_device; /* of the kind */

struct pw_device_kind {
        const char *name; /* "cpu" */
        const char *about;
        uint32_t caps;
        /* Options of the kind are read from `params`. Own: *ret_device is given back with close().
         * Errors: PW_NOT_FOUND (no such device on this host), PW_NO_MEMORY, PW_SYSTEM. */
        enum pw_status (*open)(const struct pw_device_params *params, struct pw_exec_device **ret_device, struct pw_error *ret_err);
        void (*close)(struct pw_exec_device *device);
        /* Run `function` over `task`. Its status is the member's. Blocks: until done where PW_DEVICE_SYNCHRONOUS. */
        enum pw_status (*launch)(struct pw_exec_device *device, const struct pw_function *function, struct pw_task *task);
        /* `bytes` were moved by a transfer onto the device: account the time that it takes. Blocks: perhaps. */
        void (*moved)(struct pw_exec_device *device, uint64_t bytes);
        /* By the device's own clock: when it ended what was launched so far, `now_ns` or before; and what is launched next reads
         * what was not there before `ns`. Both CLOCK_MONOTONIC.   Blocks: never. */
        uint64_t (*ended_ns)(struct pw_exec_device *device, uint64_t now_ns);
        void (*not_before)(struct pw_exec_device *device, uint64_t ns);
        /* Wait until all that was launched is done; the status of the first that failed since the last call. */
        enum pw_status (*finish)(struct pw_exec_device *device, struct pw_error *ret_err);
};

/* The kind called `name`, or NULL. */
const struct pw_device_kind *pw_device_kind(const char *name);
/* Kind i, for loops over all; NULL behind the last. */
const struct pw_device_kind *pw_device_kind_at(uint32_t i);

#endif
