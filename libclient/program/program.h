/* A traced program as the client keeps it: the values and calls in the order in which they came, until it is compiled; then
 * what pw_run() checks its inputs against.
 */
#ifndef PW_LIBCLIENT_PROGRAM_PROGRAM_H
#define PW_LIBCLIENT_PROGRAM_PROGRAM_H

#include "libclient/session.h"
#include "pathways.h"

struct pw_slice {
        struct pw_session *session;
        uint32_t number; /* the daemon's handle */
        uint32_t device_count;
        uint32_t mesh[PW_MESH_AXES_MAX];
};

enum pw_traced_kind { PW_TRACED_INPUT = 1, PW_TRACED_CALL = 2, PW_TRACED_CONVERSION = 3 }; /* as in Value.producer_kind */

#define PW_VALUE_BAD UINT32_MAX /* index of the value that stands for a failed tracing call */

struct pw_value {
        struct pw_program *program;
        uint32_t index;
        enum pw_traced_kind kind;
        uint32_t slice; /* the daemon's handle */
        uint32_t mesh[PW_MESH_AXES_MAX];
        struct pw_sharding sharding;
        enum pw_dtype dtype;  /* inputs */
        struct pw_dims dims;  /* inputs */
        unsigned flags;       /* inputs */
        uint32_t input;       /* inputs: which */
        uint32_t call, output; /* calls */
        uint32_t source;      /* conversions: index of the value */
};

struct pw_stage {
        struct pw_program *program;
        char *name;
        uint32_t index, quota;
};

struct pw_traced_call {
        char *function;
        uint32_t slice;
        uint32_t *args; /* indexes of values */
        uint32_t arg_count, output_count;
        uint8_t *params;
        uint64_t params_bytes, time_limit_us;
        uint32_t stage; /* 1 + index, 0: none */
};

struct pw_program {
        struct pw_session *session; /* NULL: the program that stands for one there was no memory for */
        char *name;
        struct pw_value bad;
        struct pw_stage bad_stage; /* likewise */
        struct pw_value **values;
        uint32_t value_count, value_capacity;
        struct pw_traced_call *calls;
        uint32_t call_count, call_capacity;
        struct pw_value **inputs; /* of values */
        uint32_t input_count, input_capacity;
        struct pw_stage **stages;
        uint32_t stage_count, stage_capacity;
        uint32_t *results;
        uint32_t result_count, result_capacity;
        struct pw_error err; /* the first one; status PW_OK: none */
        bool compiled;
        uint32_t number; /* the daemon's handle, once compiled */
        uint64_t peak_bytes;
};

/* Send the trace; fills number and peak_bytes. compile.c */
PW_MUST_CHECK enum pw_status pw_program_send(struct pw_program *program, struct pw_error *ret_err);

#endif
