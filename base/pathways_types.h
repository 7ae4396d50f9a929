/* The words that every public header of pathways shares: statuses, errors, ids, element types, dims, shardings.
 *
 * Installed beside pathways.h. Everything here is plain data; nothing needs a session. The table of statuses is the only
 * one: enum, text, manual page and number on the wire come from it, so numbers are only ever appended.
 */
#ifndef PATHWAYS_TYPES_H
#define PATHWAYS_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, number, text, what the user can do). Grouped by the largest thing that was lost. */
#define PW_STATUS_MAP(X)                                                                                               \
        /* nothing lost */                                                                                             \
        X(PW_OK, 0, "done", "nothing")                                                                                 \
        X(PW_NOT_READY, 1, "not ready yet", "wait for the future")                                                     \
        X(PW_DEADLINE, 2, "deadline passed", "wait longer, or ask `pathways why`")                                     \
        X(PW_CANCELLED, 3, "cancelled", "nothing: somebody asked for it")                                              \
        /* the call was wrong */                                                                                       \
        X(PW_INVALID, 16, "invalid argument", "correct the call; the text names the argument")                         \
        X(PW_TOO_LARGE, 17, "larger than can ever fit", "ask for less, or raise the capacity that the text names")     \
        X(PW_NOT_FOUND, 18, "not found", "check the name or id")                                                       \
        X(PW_EXISTS, 19, "exists already", "choose another name, or remove the old one")                               \
        X(PW_DENIED, 20, "denied", "ask the owner or an operator")                                                     \
        X(PW_UNSUPPORTED, 21, "not supported", "use what the text names instead")                                      \
        X(PW_SHAPE, 22, "dtype, dims or sharding do not fit", "correct the value that the text names")                 \
        X(PW_DONATED_USE, 23, "used after its donation", "use the result that replaced it")                            \
        X(PW_BAD_PROGRAM, 24, "the program is not well formed", "correct the call that the text names")                \
        X(PW_BAD_MODULE, 25, "the module cannot be used", "rebuild it against this pathways_module.h")                 \
        X(PW_BAD_CONFIG, 26, "the configuration is not valid", "correct the line that the text names")                 \
        X(PW_BUSY, 27, "in use by others", "try again when those that the text names let go")                          \
        /* a resource is short */                                                                                      \
        X(PW_NO_SPACE, 40, "no space", "free what the text names, or raise a capacity or quota")                       \
        X(PW_LIMIT, 41, "a limit is reached", "raise the limit that the text names")                                   \
        X(PW_NO_MEMORY, 42, "this process is out of memory", "free memory of the process")                             \
        X(PW_SYSTEM, 43, "the operating system refused", "see the text for call and reason")                           \
        /* one value lost */                                                                                           \
        X(PW_FAILED, 60, "the function returned an error", "see the text; mend the function or its input")             \
        X(PW_CRASHED, 61, "the function ended its executor", "see the text for function and signal")                   \
        X(PW_TIME_LIMIT, 62, "the function ran over its time limit", "raise the limit or mend the function")           \
        X(PW_GONE, 63, "the object is gone", "hold a reference for as long as it is needed")                           \
        X(PW_PRODUCER_LOST, 64, "its producer ended before it was ready", "run the producer again")                    \
        X(PW_OVERRUN, 65, "the function wrote past an output", "mend the function; see the text for it and its output")   \
        /* a device, host or daemon lost */                                                                            \
        X(PW_DEVICE_LOST, 80, "the device that held it was lost", "compute it again; the executor is restarted")       \
        X(PW_HOST_LOST, 81, "the host that held it was lost", "compute it again")                                      \
        X(PW_DAEMON_GONE, 82, "pathwaysd has gone away", "start it, then connect again")                               \
        X(PW_PROTOCOL, 83, "the other side broke the protocol", "use matching versions; report it if they match")      \
        X(PW_FORKED, 84, "the session belongs to the parent process", "connect again in the child")

enum pw_status {
#define PW_STATUS_ENUM(name, number, text, remedy) name = number,
        PW_STATUS_MAP(PW_STATUS_ENUM)
#undef PW_STATUS_ENUM
};

/* What went wrong, in one status and one sentence that names what, where and what to do. Written only on failure. */
struct pw_error {
        enum pw_status status;
        char text[500];
};

/* The short text of `status` ("no space"); never NULL. */
const char *pw_status_text(enum pw_status status);
/* The name of `status` as in the source ("PW_NO_SPACE"); never NULL. */
const char *pw_status_name(enum pw_status status);

#if defined(__GNUC__)
#define PW_MUST_CHECK __attribute__((warn_unused_result))
#else
#define PW_MUST_CHECK
#endif

/* --- ids ------------------------------------------------------------------------------------------------------- */

/* The name of an object, anywhere, for ever: the place of its entry and the generation of that place. */
struct pw_id {
        uint64_t place; /* host 16 | segment 24 | slot 24, from the highest bit down */
        uint32_t epoch; /* of the host: the second in which its daemon started */
        uint32_t generation;
};

#define PW_ID_TEXT_BYTES 64 /* room that pw_id_format() needs, with its 0 */

/* --- elements and dims -------------------------------------------------------------------------------------------- */

#define PW_RANK_MAX 8

/* X(name, number, bytes of an element, text) */
#define PW_DTYPE_MAP(X)                                                                                                \
        X(PW_OPAQUE, 0, 1, "opaque")                                                                                   \
        X(PW_U8, 1, 1, "u8")                                                                                           \
        X(PW_I8, 2, 1, "i8")                                                                                           \
        X(PW_I32, 3, 4, "i32")                                                                                         \
        X(PW_I64, 4, 8, "i64")                                                                                         \
        X(PW_F16, 5, 2, "f16")                                                                                         \
        X(PW_BF16, 6, 2, "bf16")                                                                                       \
        X(PW_F32, 7, 4, "f32")                                                                                         \
        X(PW_F64, 8, 8, "f64")                                                                                         \
        X(PW_BOOL, 9, 1, "bool") /* 0 or 1; any other byte reads as 1 */                                               \
        X(PW_U16, 10, 2, "u16")                                                                                        \
        X(PW_U32, 11, 4, "u32")                                                                                        \
        X(PW_U64, 12, 8, "u64")

enum pw_dtype {
#define PW_DTYPE_ENUM(name, number, bytes, text) name = number,
        PW_DTYPE_MAP(PW_DTYPE_ENUM)
#undef PW_DTYPE_ENUM
};

/* Bytes of one element of `dtype`; 0 for a number that is no dtype. */
size_t pw_dtype_bytes(enum pw_dtype dtype);
const char *pw_dtype_text(enum pw_dtype dtype);

/* Row-major dims. rank 0 is a scalar: one element. A dim of 0 is allowed: an empty value. */
struct pw_dims {
        uint32_t rank;
        uint64_t dim[PW_RANK_MAX];
};

#ifndef __cplusplus
#define PW_DIMS(...)                                                                                                   \
        ((struct pw_dims){ .rank = sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t), .dim = { __VA_ARGS__ } })
#define PW_SCALAR ((struct pw_dims){ .rank = 0 })
#else
extern "C++" template <typename... Sizes> constexpr pw_dims PW_DIMS(Sizes... sizes)
{
        return pw_dims{ sizeof...(sizes), { static_cast<uint64_t>(sizes)... } };
}
#define PW_SCALAR (pw_dims{ 0, { 0 } })
#endif

/* --- shardings ---------------------------------------------------------------------------------------------------- */

#define PW_MESH_AXES_MAX 4

enum pw_op { PW_SUM = 0, PW_MAX = 1, PW_MIN = 2, PW_PROD = 3 };

/* How a value is laid over one axis of a slice's mesh. */
enum pw_layout {
        PW_LAYOUT_BROADCAST = 0, /* every device along the axis holds the whole */
        PW_LAYOUT_SPLIT = 1,     /* the devices along the axis hold consecutive parts of dim `dim`, sizes differ by one at most */
        PW_LAYOUT_PARTIAL = 2,   /* the value is the reduction by `op` of what the devices along the axis hold */
};

struct pw_axis_sharding {
        uint8_t layout; /* enum pw_layout */
        uint8_t dim; /* of a split */
        uint8_t op;  /* enum pw_op, of a partial */
        uint8_t zero;
};

/* One word per axis of the mesh; axes that the mesh does not have stay broadcast. */
struct pw_sharding {
        struct pw_axis_sharding axis[PW_MESH_AXES_MAX];
};

#ifndef __cplusplus
#define PW_AXIS_BROADCAST { PW_LAYOUT_BROADCAST, 0, 0, 0 }
#define PW_AXIS_SPLIT(dim) { PW_LAYOUT_SPLIT, (dim), 0, 0 }
#define PW_AXIS_PARTIAL(op) { PW_LAYOUT_PARTIAL, 0, (op), 0 }
/* Over a mesh of several axes: one of PW_AXIS_* for each; those that are left out are broadcast. */
#define PW_SHARDING(...) ((struct pw_sharding){ { __VA_ARGS__ } })
#else
#define PW_AXIS_BROADCAST (pw_axis_sharding{ PW_LAYOUT_BROADCAST, 0, 0, 0 })
#define PW_AXIS_SPLIT(dim) (pw_axis_sharding{ PW_LAYOUT_SPLIT, static_cast<uint8_t>(dim), 0, 0 })
#define PW_AXIS_PARTIAL(op) (pw_axis_sharding{ PW_LAYOUT_PARTIAL, 0, static_cast<uint8_t>(op), 0 })
#define PW_SHARDING(...) (pw_sharding{ { __VA_ARGS__ } })
#endif
/* Over a mesh of one axis. */
#define PW_BROADCAST PW_SHARDING(PW_AXIS_BROADCAST)
#define PW_SPLIT(dim) PW_SHARDING(PW_AXIS_SPLIT(dim))
#define PW_PARTIAL(op) PW_SHARDING(PW_AXIS_PARTIAL(op))

#ifdef __cplusplus
}
#endif
#endif
