/* What the driver says of this host's GPUs, by NVML: memory, power, temperature, errors.
 *
 * A thread beside the loop asks it: once as the daemon starts, then when somebody wants to know and what is known is a second old.
 * Who wants to know is told what the driver said last, and waits for nothing: a driver that hangs holds the thread, and nobody
 * else.
 */
#ifndef PW_DAEMON_DEVICE_GPUS_H
#define PW_DAEMON_DEVICE_GPUS_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PW_GPUS_FRESH_US 1000000u

struct pw_daemon;
struct pw_gpus;

/* Which of the facts are known: not those that the driver does not support for this GPU. */
enum pw_gpu_known { PW_GPU_MEMORY = 1, PW_GPU_POWER = 2, PW_GPU_TEMPERATURE = 4, PW_GPU_ECC = 8, PW_GPU_EXECUTOR = 16 };

struct pw_gpu_facts {
        unsigned known; /* of enum pw_gpu_known */
        uint64_t total_bytes, used_bytes; /* of all processes, the driver's own included */
        uint64_t power_mw, celsius;
        uint64_t ecc_errors; /* uncorrected, since the driver was loaded or the GPU reset */
        pid_t executor;      /* that the device had then, 0: none; */
        uint64_t executor_bytes; /* what it has of the GPU; where that is not known, */
        const char *hides;   /* why */
        uint64_t read_us;    /* when they were, by the monotonic clock */
        char error[128];     /* the first call that failed, and why; "": none */
};

/* Where the host has GPUs (kind cuda). *ret_gpus is NULL where it has none.
 * Errors: PW_NO_MEMORY, PW_SYSTEM (no thread). That there is no NVML is none: the log says so.
 * Threads: of these functions the loop's only. */
PW_MUST_CHECK enum pw_status pw_gpus_new(struct pw_daemon *daemon, struct pw_gpus **ret_gpus, struct pw_error *ret_err);
/* The process of device `device` is this one from now on, 0: it has none. Accepts NULL, and a device that is no GPU. */
void pw_gpus_executor(struct pw_gpus *gpus, uint32_t device, pid_t executor);
/* Somebody wants to know: let the thread ask, unless it does already or what is known is fresh. Accepts NULL. */
void pw_gpus_ask(struct pw_gpus *gpus, uint64_t now_us);
/* What was last known of device `device`, until the next turn of the loop; NULL: nothing, or it is no GPU. Accepts NULL. */
const struct pw_gpu_facts *pw_gpus_peek(const struct pw_gpus *gpus, uint32_t device);
/* Why nothing is known, where nothing is; until the next turn of the loop. */
const char *pw_gpus_silence(const struct pw_gpus *gpus);
/* A thread that the driver holds is left behind.   Blocks: 200 ms at most. Accepts NULL. */
void pw_gpus_free(struct pw_gpus *gpus);

#endif
