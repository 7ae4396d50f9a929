/* A CUDA driver without hardware, for tests: what its files share. README.md says where it is like a real one.
 *
 * Each function of the driver begins with fake_enter() or fake_enter_context(): they count it, and say how it fails at once.
 * Locks: fake_lock guards all that is here. fake_maps is held for reading while work touches memory, and for writing while a map
 * goes; it is taken before fake_lock. Whoever waits, waits for fake_changed.
 */
#ifndef PW_TESTS_FAKE_CUDA_FAKE_H
#define PW_TESTS_FAKE_CUDA_FAKE_H

#include "base/list.h"
#include "executor/device/cuda/cuda_driver.h"

#include <pthread.h>

#define FAKE_DEVICES_MAX 16u
#define FAKE_FAILS_MAX 16u
#define FAKE_TEXT_BYTES 1024u
#define FAKE_GRANULARITY (UINT64_C(2) << 20)
/* Of each thread, in the room that is there for libraries that come late: what is made on demand crashes the leak sanitizer. */
#define FAKE_OF_THREAD _Thread_local __attribute__((tls_model("initial-exec")))

/* Number of each function, by the names of struct pw_cuda_driver. */
enum fake_call {
#define FAKE_CALL(field, symbol, parameters) FAKE_##field,
        PW_CUDA_FUNCTION_MAP(FAKE_CALL)
#undef FAKE_CALL
        FAKE_CALLS
};
/* The functions themselves, which a driver exports and no header of the product declares. */
#define FAKE_DECLARE(field, symbol, parameters) enum pw_cuda_result symbol parameters;
PW_CUDA_FUNCTION_MAP(FAKE_DECLARE)
#undef FAKE_DECLARE

/* fake_cuda.conf */
struct fake_fail { enum fake_call call; uint64_t at; enum pw_cuda_result result; };
struct fake_conf {
        uint64_t devices, capacity, arch, driver, delay_us, seed, refuse_write_value, refuse_register, refuse_read_only,
                mps, context, account;
        char kernels[FAKE_TEXT_BYTES], counts[FAKE_TEXT_BYTES], hang[FAKE_TEXT_BYTES], trap[FAKE_TEXT_BYTES];
        char folder[FAKE_TEXT_BYTES]; /* where it lies: paths in it begin there */
        struct fake_fail fails[FAKE_FAILS_MAX];
        uint32_t fail_count;
};

/* The primary context of a device. */
struct CUctx_st {
        int device;
        uint32_t holders, flags;      /* holders 0: there is none, or it was destroyed */
        enum pw_cuda_result error;    /* that sticks */
        struct pw_list streams;
        uint64_t used_bytes;          /* of the device, by this process */
};

/* One piece of work of a stream. */
struct fake_work {
        struct pw_list link;
        /* On the stream's thread, without locks; what it gives sticks. Not where an error sticks already. */
        enum pw_cuda_result (*run)(struct fake_work *work, struct CUctx_st *context);
        void (*drop)(struct fake_work *work); /* it is over: frees it. Under fake_lock */
};

/* An entry of a module. */
typedef void fake_kernel(void *const *args, const unsigned grid[3], const unsigned block[3]);
#define FAKE_PARAMS_MAX 64u
struct CUfunc_st {
        struct pw_list link;
        char name[256];
        uint32_t param_count, param_bytes[FAKE_PARAMS_MAX];
        fake_kernel *kernel; /* its host form, once it was asked for; NULL: hangs or traps */
        struct CUctx_st *context;
};

/* What an event stands for, and who waits for one waits for: a place in a stream. Counted, under fake_lock. */
struct fake_point { uint32_t refs; bool is_done; };

extern pthread_mutex_t fake_lock;
extern pthread_cond_t fake_changed;
extern pthread_rwlock_t fake_maps;

/* conf.c */
const struct fake_conf *fake_conf(void);
/* `path` as the configuration means it; returns `text`. */
char *fake_conf_path(const char *path, char text[2 * FAKE_TEXT_BYTES]);
/* The test is wrong, or what it tries: a sentence, and the end. */
void fake_abort(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* calls.c */
enum pw_cuda_result fake_enter(enum fake_call call);
/* Also where there is no current context, and what sticks to it. */
enum pw_cuda_result fake_enter_context(enum fake_call call, struct CUctx_st **ret_context);
/* How often a function was called, by the name of its field or its symbol; for tests. */
uint64_t fake_cuda_calls(const char *name);
/* Append "PID NAME COUNT" lines to the file `counts`, as happens at exit too; for tests. */
void fake_cuda_counts(void);

/* device.c */
struct CUctx_st *fake_context(int device); /* NULL: no such device */
struct CUctx_st *fake_current(void);       /* of this thread */
bool fake_is_started(void);                /* cuInit, in this process */
/* Under fake_lock. False: the device has no room for that. */
bool fake_charge(int device, uint64_t bytes);
void fake_uncharge(int device, uint64_t bytes);

/* window.c: device addresses are in a window where nothing can be read, and what they stand for lies as far into another one. */
void fake_window_start(void);
/* Under fake_lock: `bytes` addresses, a multiple of the granularity, at `wish` where they are free; 0: none left. */
uint64_t fake_window_reserve(uint64_t bytes, uint64_t align, uint64_t wish);
bool fake_window_free(uint64_t address, uint64_t bytes);
bool fake_window_has(uint64_t address, uint64_t bytes); /* were reserved, in one piece */
void *fake_window_at(uint64_t address);

/* memory.c, host/host.c: the bytes that stand for those at a device address, or NULL where `context` may not touch them all. */
void *fake_memory_at(const struct CUctx_st *context, uint64_t address, uint64_t bytes, bool writes);
void *fake_host_at(uint64_t address, uint64_t bytes, bool writes);
void *fake_at(const struct CUctx_st *context, uint64_t address, uint64_t bytes, bool writes); /* either; takes fake_lock */
/* Under fake_lock: is it pinned from end to end (1), not at all (0), or in part (-1)? */
int fake_host_pinned(const void *memory, uint64_t bytes);
/* Bytes that the device has read at `address`, which is pinned: those of pages that are there no more are as they were. */
void fake_host_read(uint64_t address, void *to, uint64_t bytes);
void fake_memory_drop(struct CUctx_st *context); /* what cuMemAlloc took */

/* host/held.c: some of the pages in [begin, end), which can be read. NULL: none; the others accept it. */
struct fake_held;
struct fake_held *fake_held_begin(uint64_t begin, uint64_t end);
void fake_held_end(struct fake_held *held);
/* The bytes at `to` were copied from `from`: those of held pages are taken from these. */
void fake_held_read(const struct fake_held *held, uint64_t from, void *to, uint64_t bytes);

/* stream.c */
/* `work` is done, or dropped, after all that was given before. Under fake_lock. */
void fake_submit(struct CUstream_st *stream, struct fake_work *work);
/* Work that marks a place. Under fake_lock.   Own: the caller holds *ret_point. */
enum pw_cuda_result fake_point_submit(struct CUstream_st *stream, struct fake_point **ret_point);
void fake_point_unref(struct fake_point *point); /* accepts NULL */
/* Until it was passed; what sticks to the context meanwhile is returned.   Blocks. Under fake_lock. */
enum pw_cuda_result fake_point_wait(const struct fake_point *point, const struct CUctx_st *context);
/* PW_CUDA_INVALID_HANDLE: no such stream. Stream 0 is the end of the process. */
enum pw_cuda_result fake_stream_check(const struct CUstream_st *stream, const char *call);
struct CUctx_st *fake_stream_context(struct CUstream_st *stream);
/* Until no stream of it has work; what sticks to it meanwhile is returned.   Blocks. Under fake_lock. */
enum pw_cuda_result fake_context_wait(const struct CUctx_st *context);
/* Its streams end, after what they are at. Under fake_lock. */
void fake_streams_end(struct CUctx_st *context);

/* ptx.c: the entries of a text are appended to `functions`, of struct CUfunc_st; `why` says what is wrong. */
enum pw_cuda_result fake_ptx_read(const char *text, struct pw_list *functions, char why[FAKE_TEXT_BYTES]);

/* module.c */
void fake_kernels_open(void); /* the libraries that have the host forms */

/* kernel.c: what kernels call, on a stream's thread. Where the device may not reach `address` the kernel ends there. */
void *fake_cuda_at(unsigned long long address);
/* The same of an argument of a kernel, which may be 0. */
void *fake_argument_at(unsigned long long address);

#endif
