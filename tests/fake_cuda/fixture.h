/* A test of the fake: in a process of its own, with a folder that has a link to the driver and a configuration.
 */
#ifndef PW_TESTS_FAKE_CUDA_FIXTURE_H
#define PW_TESTS_FAKE_CUDA_FIXTURE_H

#include "executor/device/cuda/cuda_driver.h"

#define MIB (UINT64_C(1) << 20)
#define GOOD(call) assert_int_equal((call), PW_CUDA_SUCCESS)
#define GIVES(result, call) assert_int_equal((call), PW_CUDA_##result)

struct fake {
        char folder[64], library[96];
        struct pw_cuda_driver *driver;
        struct CUctx_st *context;   /* of device 0, current */
        struct CUstream_st *stream;
        struct CUmod_st *module;    /* KERNELS_PTX */
        uint32_t *word;             /* pinned: a stream whose gate was closed goes on when it is not 0 */
};

/* Try `body` with the lines `conf`: the driver is open, nothing else was called. */
void fake_try_bare(const char *conf, void (*body)(struct fake *fake));
/* The same, and device 0 is ready. */
void fake_try(const char *conf, void (*body)(struct fake *fake));
/* The same; the process ends by `number`, and says `text` (NULL: anything). */
void fake_dies(const char *conf, void (*body)(struct fake *fake), int number, const char *text);

struct CUfunc_st *fake_function(const struct fake *fake, const char *name);
void fake_launch(const struct fake *fake, const char *name, struct CUstream_st *stream, void **args);
void gate_close(const struct fake *fake, struct CUstream_st *stream);
void gate_open(const struct fake *fake);
/* Memory of device 0 that it may use, by cuMemCreate. */
unsigned long long fake_map(const struct fake *fake, uint64_t bytes, unsigned long long *ret_handle);
struct pw_cuda_allocation fake_allocation(int device);
/* An exported function that is no driver's. */
void *fake_symbol(const struct fake *fake, const char *name);

#endif
