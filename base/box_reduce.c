/* Reductions between boxes, element by element: the same bits on every machine and in every run. */
#include "base/box_rows.h"

#include "base/box_reduce_half.h"
#include "base/half.h"
#include "base/memory.h"

typedef void reduce_row(void *restrict to, const void *restrict from, uint64_t count);

#define SUM(a, b) ((a) + (b))
#define PROD(a, b) ((a) * (b))
/* A NaN on either side stays. */
#define MAX(a, b) ((a) != (a) || (a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) != (a) || (a) < (b) ? (a) : (b))
#define SAME(value) (value)
/* A product of two u16 is an int, and may be beyond it. */
#define WIDE(value) ((uint32_t)(value))
/* Of bools: the larger one is "or", the smaller one "and"; what is written is 0 or 1. */
#define OR(a, b) (((a) | (b)) != 0)
#define AND(a, b) ((a) != 0 && (b) != 0)

/* One row. Blocks of a fixed length are what compilers turn into vector code without further ado. */
#define BLOCK 16
#define DEFINE_REDUCE(name, type, read, write, op)                                                                     \
        static void name(void *restrict to_row, const void *restrict from_row, uint64_t count)                         \
        {                                                                                                              \
                type *to = to_row;                                                                                     \
                const type *from = from_row;                                                                           \
                for (; count >= BLOCK; count -= BLOCK, to += BLOCK, from += BLOCK)                                     \
                        for (int i = 0; i < BLOCK; i++)                                                                \
                                to[i] = (type)write(op(read(to[i]), read(from[i])));                                   \
                for (uint64_t i = 0; i < count; i++)                                                                   \
                        to[i] = (type)write(op(read(to[i]), read(from[i])));                                           \
        }

/* Sums and products of signed integers wrap around, hence the unsigned types; order needs the signed ones. */
#define DEFINE_ALL(dtype, wrapping, ordered, read, write)                                                              \
        DEFINE_REDUCE(dtype##_sum, wrapping, read, write, SUM)                                                         \
        DEFINE_REDUCE(dtype##_max, ordered, read, write, MAX)                                                          \
        DEFINE_REDUCE(dtype##_min, ordered, read, write, MIN)                                                          \
        DEFINE_REDUCE(dtype##_prod, wrapping, read, write, PROD)

DEFINE_REDUCE(bool_max, uint8_t, SAME, SAME, OR)
DEFINE_REDUCE(bool_min, uint8_t, SAME, SAME, AND)
DEFINE_ALL(u8, uint8_t, uint8_t, SAME, SAME)
DEFINE_ALL(u16, uint16_t, uint16_t, WIDE, SAME)
DEFINE_ALL(u32, uint32_t, uint32_t, SAME, SAME)
DEFINE_ALL(u64, uint64_t, uint64_t, SAME, SAME)
DEFINE_ALL(i8, uint8_t, int8_t, SAME, SAME)
DEFINE_ALL(i32, uint32_t, int32_t, SAME, SAME)
DEFINE_ALL(i64, uint64_t, int64_t, SAME, SAME)
DEFINE_ALL(f16_plain, uint16_t, uint16_t, pw_f16_to_float, pw_f16_from_float)
DEFINE_ALL(bf16_plain, uint16_t, uint16_t, pw_bf16_to_float, pw_bf16_from_float)
DEFINE_ALL(f32, float, float, SAME, SAME)
DEFINE_ALL(f64, double, double, SAME, SAME)

/* As many as the processor does by itself, then the rest. */
#define DEFINE_HALF(dtype, name, op)                                                                                   \
        static void dtype##_##name(void *restrict to, const void *restrict from, uint64_t count)                       \
        {                                                                                                              \
                uint64_t done = pw_##dtype##_reduce(op, to, from, count);                                              \
                dtype##_plain_##name((uint16_t *)to + done, (const uint16_t *)from + done, count - done);              \
        }
#define DEFINE_HALVES(dtype)                                                                                           \
        DEFINE_HALF(dtype, sum, PW_SUM)                                                                                \
        DEFINE_HALF(dtype, max, PW_MAX)                                                                                \
        DEFINE_HALF(dtype, min, PW_MIN)                                                                                \
        DEFINE_HALF(dtype, prod, PW_PROD)

DEFINE_HALVES(f16)
DEFINE_HALVES(bf16)

#define ROW(dtype) { dtype##_sum, dtype##_max, dtype##_min, dtype##_prod }
static reduce_row *const reductions[][4] = {
        [PW_U8] = ROW(u8),   [PW_I8] = ROW(i8),     [PW_I32] = ROW(i32), [PW_I64] = ROW(i64),
        [PW_F16] = ROW(f16), [PW_BF16] = ROW(bf16), [PW_F32] = ROW(f32), [PW_F64] = ROW(f64),
        [PW_U16] = ROW(u16), [PW_U32] = ROW(u32),   [PW_U64] = ROW(u64), [PW_BOOL] = { NULL, bool_max, bool_min, NULL },
};

bool pw_dtype_reduces(enum pw_dtype dtype, enum pw_op op)
{
        return (unsigned)dtype < pw_array_count(reductions) && (unsigned)op <= PW_PROD && reductions[dtype][op];
}

enum pw_status pw_box_reduce(void *to, const struct pw_box *to_box, const void *from, const struct pw_box *from_box,
                             const struct pw_box *part, enum pw_dtype dtype, enum pw_op op)
{
        size_t bytes = pw_dtype_bytes(dtype);
        struct pw_box_rows rows;

        if (!pw_dtype_reduces(dtype, op))
                return PW_UNSUPPORTED;
        for (pw_box_rows_init(&rows, to_box, from_box, part); rows.left; pw_box_rows_step(&rows))
                reductions[dtype][op]((char *)to + rows.to * bytes, (const char *)from + rows.from * bytes, rows.elements);
        return PW_OK;
}
