/* GPUs that are none: the fake driver of tests/fake_cuda, with the kernels of the product, for a daemon of a test.
 */
#ifndef PW_TESTS_INTEGRATION_GPUS_H
#define PW_TESTS_INTEGRATION_GPUS_H

#include "tests/integration/harness.h"

struct it_gpus { char folder[64], driver[96], nccl[96]; };

/* A driver with its own configuration: `conf` are lines "key = value" besides those that name kernels, or NULL. Skips the test
 * where the build has no kernels for it (no C++ compiler). it_gpus_done() gives it back. */
void it_gpus_init(struct it_gpus *gpus, const char *conf);
/* And the fake NCCL, with lines of its own. Executors of another user meet in the folder. */
void it_gpus_nccl(struct it_gpus *gpus, const char *conf);
void it_gpus_done(struct it_gpus *gpus);

/* Of `count` arguments of a daemon, with room for `most`: devices that were to be emulated are GPUs, and their driver is told.
 * Returns how many there are then. */
size_t it_gpus_arguments(const struct it_gpus *gpus, const char **all, size_t count, size_t most);

#endif
