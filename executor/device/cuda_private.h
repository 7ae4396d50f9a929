/* What the files of kind cuda share: one GPU, as its executor drives it.
 *
 * One launching thread, two streams of its own: what runs in order is launched on one, values are copied out on the other. Between
 * two functions runs one kernel (guard.cu): it looks at the guards of the one that has ended, writes what became of it where the
 * host sees it, and sets those of the next; behind the last function it is launched when nothing else comes.
 *
 * Measured on an H100: an event that nobody sleeps for costs the device nothing, a number written by the stream, a kernel, and an
 * event that wakes the processor 2 us each, and a launch 3 us of the processor. So it is a third stream that wakes (cuda_watch.c).
 * And of calls that may end together (`kin`) several are kept while the device has something to do, and launched at once, with one
 * such kernel before all of them and one behind.
 *
 * After a result that sticks nothing more can be done with the device: the process ends, and says in its board what it was.
 */
#ifndef PW_EXECUTOR_DEVICE_CUDA_PRIVATE_H
#define PW_EXECUTOR_DEVICE_CUDA_PRIVATE_H

#include "executor/device/cuda/cuda_driver.h"
#include "executor/device/cuda/guard_rooms.h"
#include "executor/device/device.h"

#include <pthread.h>

#define PW_CUDA_FLIGHTS PW_GUARD_RING /* calls under way: as many as are launched ahead */
#define PW_CUDA_PIECE_BYTES (UINT64_C(4) << 20) /* that come from the host at once */
#define PW_CUDA_PIECES 64u

/* Memory of the host that is pinned: of each call a word, pw_guard_end(), when it has ended. */
struct pw_cuda_page { uint64_t ends[PW_CUDA_FLIGHTS]; };

struct pw_cuda_flight {
        const struct pw_device_call *call;
        struct CUevent_st *event;
        struct CUevent_st *end; /* once its end was launched: its event, or that of the last one that ends with it; else NULL */
        enum pw_status status; /* of the function, when it launched */
        struct pw_task task;   /* that it was given */
};

/* Who waits for an event while the launching thread sleeps for other reasons, and rings it then. Events of flights wake nobody:
 * a stream of its own waits for them, and then records one that does. */
struct pw_cuda_watch {
        pthread_t thread;
        pthread_mutex_t lock;
        pthread_cond_t changed;
        struct CUstream_st *stream;
        struct CUevent_st *bell;
        struct CUevent_st *event; /* that it is to wait for; NULL: none */
        bool runs, ends;
};

/* Pinned memory, through which what comes from the host goes: bytes are there when a copy is asked for, and it is the device's
 * until the event has come. Positions count on over the ring's end. */
struct pw_cuda_piece { struct CUevent_st *event; uint64_t end; };
struct pw_cuda_stage {
        uint8_t *memory;
        unsigned long long at; /* for the device */
        uint64_t begin, end;
        uint32_t first, count;
        struct pw_cuda_piece pieces[PW_CUDA_PIECES];
};

/* Memory of the host that is registered with the driver: ascending, apart from each other. */
#define PW_CUDA_PINS 256u
struct pw_cuda_pin { uint8_t *base; uint64_t bytes; };
struct pw_cuda_pins { uint32_t count; struct pw_cuda_pin all[PW_CUDA_PINS]; };

struct pw_cuda_code; /* cuda_code.c */

struct pw_exec_device {
        struct pw_task_services services; /* first */
        struct pw_cuda_driver *driver;
        struct pw_device_params params;
        int device;                /* the driver's */
        struct CUctx_st *context;
        struct CUstream_st *launches, *copies;
        bool writes;               /* streams write numbers; else events alone say what was moved */
        struct pw_cuda_page *page;
        unsigned long long page_at; /* for the device */
        unsigned long long words;   /* memory of the device: of each call what its kernels say, struct pw_guard_words */
        uint64_t first, count;     /* flights: their numbers count from 1 on */
        struct pw_cuda_flight flights[PW_CUDA_FLIGHTS];
        uint64_t unended, kept;    /* the first whose end is not launched yet; the first that itself is not; else the next number */
        uint64_t last;             /* the first of the batch that was launched last, or the move */
        uint32_t kept_rooms;       /* of those that are kept: apart from each other */
        bool asked;                /* whether the first has ended, since it was the first and the last one came */
        const struct pw_device_call *launching; /* whose function is launching now; NULL: none */
        enum pw_status refused;                 /* the first of its services that was, whatever it makes of that */
        struct pw_cuda_watch watch;
        struct pw_cuda_code *code;
        struct pw_cuda_stage stage;
        struct pw_cuda_pins pins;
        size_t granularity;        /* of arenas */
};

/* A result that is no success. One that sticks ends the process. */
PW_MUST_CHECK enum pw_status pw_cuda_failed(struct pw_exec_device *device, enum pw_cuda_result result, const char *what,
                                            struct pw_error *ret_err);
static inline enum pw_status pw_cuda_check(struct pw_exec_device *device, enum pw_cuda_result result, const char *what,
                                           struct pw_error *ret_err)
{
        return result == PW_CUDA_SUCCESS ? PW_OK : pw_cuda_failed(device, result, what, ret_err);
}

/* cuda_code.c */
enum pw_status pw_cuda_code_open(struct pw_exec_device *device, struct pw_error *ret_err); /* with the kernels of the executor */
void pw_cuda_code_close(struct pw_exec_device *device);
/* A kernel of `code`, of the module that was loaded as `serial` (0: the executor). Errors: PW_BAD_MODULE (it does not load, or
 * has no such kernel), PW_NO_MEMORY. */
struct pw_cuda_kernel_of { uint64_t serial; const struct pw_code *code; const char *name; };
struct pw_cuda_kernel { struct CUfunc_st *function; uint32_t param_count; /* PW_CUDA_NOT_SAID: the driver does not say */ };
#define PW_CUDA_NOT_SAID UINT32_MAX
PW_MUST_CHECK enum pw_status pw_cuda_kernel(struct pw_exec_device *device, const struct pw_cuda_kernel_of *of,
                                            struct pw_cuda_kernel *ret_kernel, struct pw_error *ret_err);
/* Launch one of the executor's own. */
struct pw_cuda_grid { uint32_t blocks, threads; };
PW_MUST_CHECK enum pw_status pw_cuda_launch_own(struct pw_exec_device *device, const struct pw_cuda_kernel_of *of,
                                                struct pw_cuda_grid grid, void **args, struct pw_error *ret_err);
/* The services of a function. sleep_us does nothing: kernels take time. */
void pw_cuda_service_sleep(struct pw_task *task, uint64_t us);
enum pw_status pw_cuda_service_launch(struct pw_task *task, const struct pw_kernel *kernel);
enum pw_status pw_cuda_service_copy(struct pw_task *task, void *to, const void *from, uint64_t bytes);

/* cuda_calls.c: of the table of the kind */
enum pw_status pw_cuda_launch(struct pw_exec_device *device, const struct pw_device_call *call, struct pw_device_end *ret_end);
bool pw_cuda_done(struct pw_exec_device *device, struct pw_device_end *ret_end);
uint64_t pw_cuda_next_ns(struct pw_exec_device *device);
void pw_cuda_flush(struct pw_exec_device *device); /* launch those that are kept: for who sleeps */
void pw_cuda_finish(struct pw_exec_device *device); /* and their end: for who launches something else on the stream */
static inline struct pw_cuda_flight *pw_cuda_flight(struct pw_exec_device *device, uint64_t number)
{
        return &device->flights[number % PW_CUDA_FLIGHTS];
}

/* cuda_guard.c */
/* Where the device says how flight `number` ended, and where its kernels say what they do: for the device. */
static inline unsigned long long pw_cuda_end_at(const struct pw_exec_device *device, uint64_t number)
{
        return device->page_at + offsetof(struct pw_cuda_page, ends[number % PW_CUDA_FLIGHTS]);
}
static inline unsigned long long pw_cuda_words_at(const struct pw_exec_device *device, uint64_t number)
{
        return device->words + number % PW_CUDA_FLIGHTS * sizeof(struct pw_guard_words);
}
/* Flights of functions, without the last number. */
struct pw_cuda_batch { uint64_t from, to; };
/* Launch what comes between two batches: the calls that have ended are over then, and those that begin have their guards. */
struct pw_cuda_turn { struct pw_cuda_batch ended, begins; };
PW_MUST_CHECK enum pw_status pw_cuda_guards(struct pw_exec_device *device, const struct pw_cuda_turn *turn,
                                            struct pw_error *ret_err);
/* May the guards of `call` be set before the calls of the batch run, and theirs be looked at when it has run? *ret_rooms: how many
 * of its rooms are none of theirs. */
bool pw_cuda_guards_fit(struct pw_exec_device *device, const struct pw_cuda_batch *batch, const struct pw_device_call *call,
                        uint32_t *ret_rooms);

/* cuda_watch.c */
enum pw_status pw_cuda_watch_open(struct pw_exec_device *device, struct pw_error *ret_err);
void pw_cuda_watch_close(struct pw_exec_device *device);
void pw_cuda_watch(struct pw_exec_device *device, struct CUevent_st *event); /* rings when it has come, once */

/* cuda_stage.c */
enum pw_status pw_cuda_stage_open(struct pw_exec_device *device, struct pw_error *ret_err);
void pw_cuda_stage_close(struct pw_exec_device *device); /* the device has taken all of it */
/* Room for `bytes`, at most PW_CUDA_PIECE_BYTES, as the host writes and as the device reads it: until used() was called behind what
 * reads it.   Blocks: for the device, where that has not taken as much as there is. */
struct pw_cuda_staged { uint8_t *host; unsigned long long at; };
PW_MUST_CHECK enum pw_status pw_cuda_stage_take(struct pw_exec_device *device, uint64_t bytes, struct pw_cuda_staged *ret_staged,
                                                struct pw_error *ret_err);
PW_MUST_CHECK enum pw_status pw_cuda_stage_used(struct pw_exec_device *device, struct pw_error *ret_err);

/* cuda_pin.c: of the table of memory; an error that sticks ends the process. */
bool pw_cuda_pin(struct pw_exec_device *device, uint8_t *base, uint64_t bytes, bool writable);
void pw_cuda_unpin(struct pw_exec_device *device, uint8_t *base, uint64_t bytes);
/* How many of the `bytes` at `at` are alike: all in one registration, or in none. One copy is of no more than these. */
uint64_t pw_cuda_alike(const struct pw_exec_device *device, const void *at, uint64_t bytes, bool *ret_pinned);

/* cuda_memory.c */
extern const struct pw_device_memory pw_memory_cuda;

#endif
