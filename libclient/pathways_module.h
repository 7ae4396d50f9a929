/* Modules: shared libraries of compiled functions that executors run, one shard at a time.
 *
 * A module needs nothing but this header: it is not linked against libpathways.
 *
 *         static enum pw_status twice(struct pw_task *task) { ... return PW_OK; }
 *         PW_MODULE("mine", PW_FUNCTION(twice, .shape = pw_shape_as_input_0));
 *
 * Threads: a function is called by one thread, one call at a time per device; it may keep no state between calls.
 * Own:     everything reachable from a task belongs to the executor and is good for the call. Inputs are read-only.
 * Bits:    same inputs must give the same outputs; a function reads nothing but its inputs, params and place in the mesh.
 */
#ifndef PATHWAYS_MODULE_H
#define PATHWAYS_MODULE_H

#include "pathways_types.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PW_MODULE_ABI 5u
#define PW_TASK_ARGS_MAX 256 /* inputs of a call; as many outputs */

/* One shard of an input or output, as a function sees it. */
struct pw_task_value {
        void *data; /* aligned to 256 bytes; of inputs, read-only */
        uint64_t bytes;
        uint32_t dtype; /* enum pw_dtype */
        uint32_t zero;
        struct pw_dims dims; /* of the shard */
};

/* What one call of a function gets. */
struct pw_task {
        uint32_t input_count, output_count;
        const struct pw_task_value *inputs;
        const struct pw_task_value *outputs;
        const void *params;
        uint64_t params_bytes;
        uint32_t shard, shard_count;       /* place in the slice, row-major over the mesh */
        uint32_t mesh[PW_MESH_AXES_MAX];   /* sizes of the axes; 1 where there is none */
        uint32_t coords[PW_MESH_AXES_MAX]; /* of this shard */
        uint32_t device;                   /* number of the device on its host */
        void *stream;                      /* of a GPU, a CUstream; NULL on cpu and emulated devices */
        uint32_t *fault;                   /* of a GPU: the address there of a word that is 0 when the function's kernels begin;
                                              the call fails with what they leave in it (pw_function.faults) */
        char *error_text;                  /* room for a sentence, used when the function returns an error */
        uint64_t error_text_bytes;
        const struct pw_task_services *services; /* what the executor does for the function */
        void *scratch;                     /* of this call alone, aligned to 256 bytes: what lies there is undefined; NULL: none */
        uint64_t scratch_bytes;            /* at least as many as the shape function said by pw_shape_scratch() */
};

/* A kernel of the module's own code. */
struct pw_kernel {
        const char *code, *name;        /* of the module's table; of the kernel in it, `extern "C"` */
        uint32_t grid[3], block[3];     /* 0 is 1 */
        uint32_t shared_bytes;
        uint32_t arg_count;
        const void *const *args;        /* where its arguments are, as many as it takes */
};

/* What has a status returns PW_OK, or what the function is to return then: the sentence is there. */
struct pw_task_services {
        /* Occupy the device for `us` microseconds, as its kind does (an emulated device plans, it does not burn a core). */
        void (*sleep_us)(struct pw_task *task, uint64_t us);
        /* Of a GPU alone, elsewhere PW_UNSUPPORTED; each is done there behind what was asked for before.   Blocks: never, but for
         * the first kernel of a code. */
        enum pw_status (*launch)(struct pw_task *task, const struct pw_kernel *kernel);
        enum pw_status (*copy)(struct pw_task *task, void *to, const void *from, uint64_t bytes); /* both are there */
};

static inline const void *pw_task_in(const struct pw_task *task, uint32_t i) { return task->inputs[i].data; }
static inline void *pw_task_out(const struct pw_task *task, uint32_t i) { return task->outputs[i].data; }
static inline void *pw_task_scratch(const struct pw_task *task) { return task->scratch; }
/* Size of `axis` of input `i`, of the shard. */
static inline uint64_t pw_task_dim(const struct pw_task *task, uint32_t i, uint32_t axis) { return task->inputs[i].dims.dim[axis]; }
static inline uint64_t pw_task_out_dim(const struct pw_task *task, uint32_t i, uint32_t axis)
{
        return task->outputs[i].dims.dim[axis];
}

/* Return this with a sentence that says what is wrong: `return pw_task_fail(task, "row %d has no label", row);` */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static inline enum pw_status pw_task_fail(struct pw_task *task, const char *format, ...)
{
        va_list args;
        va_start(args, format);
        vsnprintf(task->error_text, task->error_text_bytes, format, args);
        va_end(args);
        return PW_FAILED;
}

/* What a shape function gets and fills: dtype and dims of each output from those of the inputs, all of one shard. It is run
 * apart from any device, its answers are kept: it must be a function of its inputs and params alone. */
struct pw_shape_value {
        uint32_t dtype; /* enum pw_dtype */
        uint32_t zero;
        struct pw_dims dims;
};
struct pw_shape_task {
        uint32_t input_count, output_count;
        const struct pw_shape_value *inputs;
        struct pw_shape_value *outputs; /* to be filled */
        const void *params;
        uint64_t params_bytes;
        char *error_text;
        uint64_t error_text_bytes;
        uint64_t scratch_bytes; /* to be filled, 0 before: memory that the call needs besides; see pw_shape_scratch() */
};

/* The call needs `bytes` of memory of its own while it runs: pw_task_scratch(). They are part of what is known of a program before
 * it runs; on devices whose shards differ, each has as many as the largest call needs. */
static inline void pw_shape_scratch(struct pw_shape_task *task, uint64_t bytes) { task->scratch_bytes = bytes; }

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static inline enum pw_status pw_shape_fail(struct pw_shape_task *task, const char *format, ...)
{
        va_list args;
        va_start(args, format);
        vsnprintf(task->error_text, task->error_text_bytes, format, args);
        va_end(args);
        return PW_SHAPE;
}

/* Every output has dtype and dims of input 0. */
static inline enum pw_status pw_shape_as_input_0(struct pw_shape_task *task)
{
        if (task->input_count < 1)
                return pw_shape_fail(task, "takes at least one input, got none");
        for (uint32_t i = 0; i < task->output_count; i++) {
                task->outputs[i].dtype = task->inputs[0].dtype;
                task->outputs[i].dims = task->inputs[0].dims;
        }
        return PW_OK;
}

struct pw_function {
        const char *name;
        enum pw_status (*run)(struct pw_task *task); /* on cpu and emulated devices; NULL: it does not run there */
        enum pw_status (*shape)(struct pw_shape_task *task);
        uint64_t time_limit_us; /* 0: none */
        uint32_t in_place;      /* 1 + the input whose room output 0 may take, for donated inputs: same dtype and dims, and the
                                   function reads element i of it before it writes element i; 0: none */
        /* The same on a GPU, by kernels that it launches: the data of the task are addresses there, it waits for nothing and reads
         * nothing. What it launches may run where an input turns out to be in error: nobody sees its outputs then, and kernels
         * must bear any bytes. NULL: it does not run on GPUs. */
        enum pw_status (*cuda)(struct pw_task *task);
        const char *const *faults; /* what is wrong where the fault word is 1, 2, ..., `fault_count` */
        uint32_t fault_count;
};

/* Code of a GPU: PTX (text that ends in a 0, which counts), a cubin or a fatbin. */
struct pw_code {
        const char *name;
        const void *image;
        uint64_t bytes;
};

struct pw_module {
        uint32_t abi; /* PW_MODULE_ABI */
        uint32_t function_count;
        const char *name;
        const struct pw_function *functions;
        const struct pw_code *codes;
        uint32_t code_count;
};

#define PW_MODULE_SYMBOL "pw_module_table"

#ifdef __cplusplus
#define PW_MODULE_LINKAGE extern "C"
#else
#define PW_MODULE_LINKAGE
#endif

#define PW_FUNCTION(function, ...) { .name = #function, .run = (function), __VA_ARGS__ }
#define PW_MODULE(module_name, ...) PW_MODULE_TABLE(module_name, NULL, 0, __VA_ARGS__)
/* The same with code of GPUs: `code`, an array of struct pw_code. */
#define PW_MODULE_WITH(module_name, code, ...) PW_MODULE_TABLE(module_name, code, sizeof(code) / sizeof(code)[0], __VA_ARGS__)
#define PW_MODULE_TABLE(module_name, code, count, ...)                                                                 \
        static const struct pw_function pw_module_functions[] = { __VA_ARGS__ };                                       \
        PW_MODULE_LINKAGE __attribute__((visibility("default"))) const struct pw_module pw_module_table = {            \
                PW_MODULE_ABI, sizeof pw_module_functions / sizeof pw_module_functions[0], module_name,                \
                pw_module_functions, code, count }

#ifdef __cplusplus
}
#endif
#endif
