/* GPUs that are none: the fake driver of tests/fake_cuda, with the kernels of the product, for a daemon of a test. Or those of a
 * driver that is there: $PW_CUDA_DRIVER names it, $PW_CUDA_COUNT says how many it has, $PW_NCCL_LIBRARY names an NCCL (tests/gpu/).
 */
#ifndef PW_TESTS_INTEGRATION_GPUS_H
#define PW_TESTS_INTEGRATION_GPUS_H

#include "tests/integration/harness.h"

#define IT_GPUS_PATH 256
struct it_gpus { char folder[64], driver[IT_GPUS_PATH], nccl[IT_GPUS_PATH]; }; /* folder "": the driver is given */

/* A driver with its own configuration: `conf` are lines "key = value" besides those that name kernels, or NULL. Skips the test
 * where the build has no kernels for it (no C++ compiler), or a driver that is given cannot be told `conf`. it_gpus_done() gives it
 * back. */
void it_gpus_init(struct it_gpus *gpus, const char *conf);
/* And the fake NCCL, with lines of its own. Executors of another user meet in the folder. */
void it_gpus_nccl(struct it_gpus *gpus, const char *conf);
void it_gpus_done(struct it_gpus *gpus);
bool it_gpus_given(void);

/* Of `count` arguments of a daemon: where they ask for more GPUs than $PW_CUDA_COUNT, several of its devices are one GPU. */
void it_gpus_spread(const char **all, size_t count);
/* Of `count` arguments of a daemon, with room for `most`: devices that were to be emulated are GPUs, and their driver is told.
 * Returns how many there are then. */
size_t it_gpus_arguments(const struct it_gpus *gpus, const char **all, size_t count, size_t most);

#endif
