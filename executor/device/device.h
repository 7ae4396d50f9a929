/* A kind of device, as its executor drives it. The plain kind is cpu.c; emulated.c takes time of its own.
 *
 * To add a kind: NAME.c here, a line each in kinds.c, kinds.h and executor/local.mk; its name where --devices is read and told of
 * (daemon/settings/settings.c), and in pathwaysd(8) and pathways.conf(5). tests/conformance/device_test.c tries it then. An
 * option of its own goes through daemon/client/attach.c and executor/options.c. None of its functions may be NULL: one with
 * nothing to do does nothing, as in cpu.c.
 *
 * Threads: all calls come from the executor's launching thread.   Order: what is launched on a device runs in order.
 */
#ifndef PW_EXECUTOR_DEVICE_H
#define PW_EXECUTOR_DEVICE_H

#include "base/error.h"
#include "executor/device/guard.h"
#include "executor/device/memory.h"
#include "pathways_module.h"

#include <stdbool.h>

enum pw_device_caps {
        PW_DEVICE_SYNCHRONOUS = 1u << 0, /* launch() returns when the function has run; nothing is ever under way */
        PW_DEVICE_KERNELS = 1u << 2,     /* it runs the form of a function for GPUs, pw_function.cuda */
        PW_DEVICE_APART = 1u << 1,       /* the processor does not read its memory; all of it is one arena, for all tenants */
        PW_DEVICE_NCCL = 1u << 3,        /* NCCL drives it: collective kind nccl is for it */
};

struct pw_device_params {
        uint32_t number;           /* on its host */
        uint64_t capacity_bytes;
        uint64_t launch_delay_us;  /* emulated: of each function */
        uint64_t copy_bandwidth;   /* emulated: bytes per second of transfers; 0: no limit */
        uint64_t apart;            /* emulated: not 0: its memory is not the processor's */
        uint64_t ordinal;          /* cuda: which GPU of the host */
        char library[256];         /* cuda: the driver's, a path or a name; "": the usual one */
        const struct pw_log *log;  /* NULL: none */
        /* cuda: wake the launching thread, where it sleeps (any thread calls it); end the process, as the device says `how`. */
        void (*ring)(void *context);
        void (*lost)(void *context, const char *how) __attribute__((noreturn));
        void *context;
};

/* A function to be run, or bytes to be moved. All that it points to is the device's until the call has ended. */
struct pw_device_call {
        /* Not NULL: no function runs, and nothing else here counts but the task's error_text, where there is a task. It asks the
         * memory of the device for what is to be moved, once: as the call is launched where the device does that in order, behind
         * what was launched before, or when its turn comes. The call ends with what it returns. */
        enum pw_status (*move)(const struct pw_device_call *call);
        const struct pw_function *function;
        const struct pw_task *task;   /* all but the services, which are the kind's; the function gets a copy that it may spoil */
        const uint32_t *rests;        /* of each output, and of scratch memory: the bytes of its room behind it */
        const struct pw_code *codes;  /* of the module that it is of, */
        uint32_t code_count;
        uint64_t serial;              /* which no other load of a module in this process has; not 0 */
        /* Of each room that it writes a bit, pw_device_call_zeroes(): unless an input has it too, it is set to 0 before the
         * function begins, as another tenant's bytes may lie there. Once launch() returned PW_OK that is done whatever becomes of
         * the call. */
        uint64_t zeroes;
        /* Calls one behind another with the same function, and the same number here, may be launched together, and end together:
         * what became of guards is said of all of them then. 0: this one is alone. */
        uint64_t kin;
        struct pw_guard guard;        /* is set behind its rooms as the function begins, and looked at when it has ended */
        /* Asked as the function begins, by a device that can ask then: false, it is not run, and ends with PW_OK. NULL: it is. */
        bool (*may_run)(const struct pw_device_call *call);
        /* Told where a function begins and ends to launch, behind what the device has yet to do: it may take long, or for ever, or
         * end the process. NULL: nobody is. */
        void (*launches)(const struct pw_device_call *call, bool begins);
};

/* Rooms that the call writes: those of its outputs and, behind them in the task's outputs and in `rests`, its scratch memory. */
static inline uint32_t pw_device_call_rooms(const struct pw_device_call *call)
{
        return call->task->output_count + (call->task->scratch_bytes != 0);
}

/* The bit of room i of a call. Those behind the last bit share it. */
static inline uint64_t pw_device_call_bit(uint32_t i) { return UINT64_C(1) << (i < 63 ? i : 63); }
static inline bool pw_device_call_zeroes(const struct pw_device_call *call, uint32_t i)
{
        return call->zeroes & pw_device_call_bit(i);
}

/* How a call ended: as its function says, and what became of the guards: the worst of them, and which output it is of. And how many
 * ended together, of this one and those behind it; 0: it alone. */
struct pw_device_end {
        enum pw_status status;
        enum pw_guard_state guard;
        uint32_t output, together;
};

struct pw_exec_device; /* of the kind */

#define PW_DEVICE_RINGS (UINT64_MAX - 1)

struct pw_device_kind {
        const char *name; /* "cpu" */
        const char *about;
        /* Options of the kind are read from `params`. Own: *ret_device is given back with close().
         * Errors: PW_NOT_FOUND (no such device on this host), PW_NO_MEMORY, PW_SYSTEM. */
        enum pw_status (*open)(const struct pw_device_params *params, struct pw_exec_device **ret_device, struct pw_error *ret_err);
        void (*close)(struct pw_exec_device *device); /* what is under way is dropped */
        /* As its driver calls it; "": nobody does. */
        void (*name_of)(const struct pw_exec_device *device, char *text, size_t text_bytes);
        /* Bytes of its memory that nobody has; NULL: the kind does not say. */
        uint64_t (*free_bytes)(const struct pw_exec_device *device);
        uint32_t (*caps)(const struct pw_exec_device *device); /* enum pw_device_caps, of this one, as it was opened */
        const struct pw_device_memory *(*memory)(const struct pw_exec_device *device); /* likewise */
        /* Run a function: this device's work in a gang, behind all that was launched before. SYNCHRONOUS: PW_OK, it has run, and
         * *ret_end says how it ended.   Blocks: until then. Else PW_OK: it is under way, and done() will say that. Another status:
         * it could not be launched; the task's text may say why.   Blocks: never. */
        enum pw_status (*launch)(struct pw_exec_device *device, const struct pw_device_call *call, struct pw_device_end *ret_end);
        /* Has the oldest that is under way ended? Then it is not under way any more, and *ret_end says how. False too where nothing
         * is.   Blocks: for what the function itself takes of this processor. */
        bool (*done)(struct pw_exec_device *device, struct pw_device_end *ret_end);
        /* When it is worth asking that again, CLOCK_MONOTONIC; UINT64_MAX: nothing is under way; PW_DEVICE_RINGS: params.ring()
         * says so, once. */
        uint64_t (*next_ns)(struct pw_exec_device *device);
        /* `bytes` were moved by a transfer onto the device: account the time that it takes. Blocks: perhaps. */
        void (*moved)(struct pw_exec_device *device, uint64_t bytes);
        /* When all that was launched had ended, by the device's own clock (emulated.c), CLOCK_MONOTONIC: `now_ns` at the latest,
         * which is what a kind without a clock of its own returns.   Blocks: never. */
        uint64_t (*ended_ns)(struct pw_exec_device *device, uint64_t now_ns);
        /* What is launched next, or moved now, reads what came at `ns`: by its own clock the device does not begin it earlier.
         * Blocks: never. */
        void (*not_before)(struct pw_exec_device *device, uint64_t ns);
        /* Nothing is under way, and it is not known what comes next: the queue has run empty. Blocks: never. */
        void (*idle)(struct pw_exec_device *device);
};

/* The kind called `name`, or NULL. */
const struct pw_device_kind *pw_device_kind(const char *name);
/* Kind i, for loops over all; NULL behind the last. */
const struct pw_device_kind *pw_device_kind_at(uint32_t i);

#endif
