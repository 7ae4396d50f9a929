/* A GPU as an executor opens it, with an arena, and beside it the same GPU by the driver alone: figures and their floors.
 */
#ifndef PW_TESTS_GPU_SITE_H
#define PW_TESTS_GPU_SITE_H

#include "executor/device/device.h"
#include "tests/gpu/raw.h"
#include "tests/gpu/report.h"

#define GPU_TIMES 5u /* the best of so many counts: floors and figures take turns */

struct gpu_site {
        const struct gpu_options *options;
        struct gpu_raw raw;
        const struct pw_device_kind *kind;
        struct pw_exec_device *device;
        const struct pw_device_memory *memory;
        uint8_t *base;     /* of the arena, for the device: 4096 bytes and `bytes` */
        uint64_t bytes;    /* of one copy */
        bool misses;       /* a figure missed its bar */
};

/* GPU `ordinal`. */
void gpu_site_open(struct gpu_site *site, const struct gpu_options *options, uint32_t ordinal, uint64_t bytes);
void gpu_site_close(struct gpu_site *site);

/* Whatever is no PW_OK ends the process. */
void gpu_ok(enum pw_status status, const struct pw_error *err);
/* Wait until the oldest call has ended, which has to be well. */
void gpu_await(const struct gpu_site *site);
/* All that was asked for is done. */
void gpu_settle(const struct gpu_site *site);
void gpu_say(struct gpu_site *site, const struct gpu_figure *figure);

/* launches.c: launch_nop, launch_10us */
void gpu_launches(struct gpu_site *site);

#endif
