/* A GPU moves a part of one array into another, in its own memory or in that of a GPU beside it, and reduces on the way; parts are
 * as peer_part.h says. One kernel per size of an element copies, one per dtype and op reduces.
 *
 * Where both arrays allow it 16 bytes are moved at a time.
 */
#include "pathways_cuda.h"

#include "executor/collective/elements.cuh"
#include "executor/device/cuda/peer_part.h"

#ifdef __CUDACC__
#define ROLLED _Pragma("unroll 1") /* code for many kernels, bound by memory: short */
#else
#define ROLLED
#endif

/* --- walking through a part ------------------------------------------------------------------------------------------------ */

struct words { uint32_t word[4]; } __attribute__((aligned(16)));

/* Divides by 32 bits where that is enough, which is much faster. */
static __device__ __forceinline__ uint64_t divided(uint64_t a, uint64_t b)
{
        return (a | b) >> 32 ? a / b : (uint32_t)a / (uint32_t)b;
}

/* Where row `row` of a part begins in both arrays. One function for all kernels: there are many. */
struct begin { uint64_t to, from; };
static __device__ __attribute__((noinline)) struct begin row_begin(const struct pw_peer_part &part, uint64_t row)
{
        struct begin begin = { part.to, part.from };

        ROLLED
        for (uint32_t d = part.rank; d-- > 0;) {
                uint64_t rest = divided(row, part.size[d]), at = row - rest * part.size[d];
                begin.to += at * part.to_step[d];
                begin.from += at * part.from_step[d];
                row = rest;
        }
        return begin;
}

static __device__ __forceinline__ bool is_aligned(const void *at) { return !((uintptr_t)at & 15); }

template <typename Op> static __device__ __forceinline__ void one(typename Op::element *to, const typename Op::element *from)
{
        *to = Op::of(*to, *from);
}

/* Op::of(to, from) of as many elements as are 16 bytes. */
template <typename Op> static __device__ __forceinline__ void one_word(typename Op::element *to, const typename Op::element *from)
{
        typename Op::element a[16 / sizeof *to], b[16 / sizeof *to];
        struct words word = *(const struct words *)to;

        memcpy(a, &word, sizeof a);
        word = *(const struct words *)from;
        memcpy(b, &word, sizeof b);
        for (uint32_t i = 0; i < 16 / sizeof *to; i++)
                a[i] = Op::of(a[i], b[i]);
        memcpy(&word, a, sizeof word);
        *(struct words *)to = word;
}

/* A part that is one row may end in the middle of a word, any other one is of whole words or goes element by element. */
template <typename Op>
static __device__ __forceinline__ void move(typename Op::element *to, const typename Op::element *from,
                                            const struct pw_peer_part &part)
{
        const bool is_row = part.rows == 1;
        uint32_t each = 16 / sizeof *to;

        if ((part.grain < each && !is_row) || !is_aligned(to + part.to) || !is_aligned(from + part.from))
                each = 1;
        uint64_t in_row = part.row_elements / each, count = part.rows * in_row;
        ROLLED
        for (uint64_t i = pw_thread(); i < count; i += pw_thread_count()) {
                uint64_t row = is_row ? 0 : divided(i, in_row), at = (i - row * in_row) * each;
                struct begin begin = row_begin(part, row);
                if (each > 1)
                        one_word<Op>(to + begin.to + at, from + begin.from + at);
                else
                        one<Op>(to + begin.to + at, from + begin.from + at);
        }
        ROLLED
        for (uint64_t i = in_row * each + pw_thread(); is_row && i < part.row_elements; i += pw_thread_count())
                one<Op>(to + part.to + i, from + part.from + i);
}

/* --- the kernels ------------------------------------------------------------------------------------------------------------ */

#define SAME(value) (value)
/* Of bools: the larger one is "or", the smaller one "and"; what is written is 0 or 1. */
#define OR(a, b) (((a) | (b)) != 0)
#define AND(a, b) ((a) != 0 && (b) != 0)
#define SECOND(a, b) (b)

#define DEFINE(name, type, read, write, op)                                                                            \
        struct op_##name {                                                                                             \
                typedef type element;                                                                                  \
                static __device__ __forceinline__ type of(type a, type b)                                              \
                {                                                                                                      \
                        (void)a;                                                                                       \
                        return (type)write(op(read(a), read(b)));                                                      \
                }                                                                                                      \
        };                                                                                                             \
        extern "C" __global__ void pw_peer_##name(type *to, const type *from,                                          \
                                                  const __grid_constant__ struct pw_peer_part part)                    \
        {                                                                                                              \
                move<op_##name>(to, from, part);                                                                       \
        }                                                                                                              \
        PW_KERNEL(pw_peer_##name)

/* Sums and products of signed integers wrap around, hence the unsigned types, and are those of the unsigned ones. */
#define DEFINE_SUMS(dtype, type, read, write)                                                                          \
        DEFINE(dtype##_sum, type, read, write, pw_added)                                                               \
        DEFINE(dtype##_prod, type, read, write, pw_multiplied)
#define DEFINE_ORDER(dtype, type, read, write)                                                                         \
        DEFINE(dtype##_max, type, read, write, pw_larger)                                                              \
        DEFINE(dtype##_min, type, read, write, pw_smaller)
#define DEFINE_ALL(dtype, type, read, write) DEFINE_SUMS(dtype, type, read, write) DEFINE_ORDER(dtype, type, read, write)

DEFINE(copy_1, uint8_t, SAME, SAME, SECOND)
DEFINE(copy_2, uint16_t, SAME, SAME, SECOND)
DEFINE(copy_4, uint32_t, SAME, SAME, SECOND)
DEFINE(copy_8, uint64_t, SAME, SAME, SECOND)
DEFINE(bool_max, uint8_t, SAME, SAME, OR)
DEFINE(bool_min, uint8_t, SAME, SAME, AND)
DEFINE_ALL(u8, uint8_t, SAME, SAME)
DEFINE_ALL(u16, uint16_t, SAME, SAME)
DEFINE_ALL(u32, uint32_t, SAME, SAME)
DEFINE_ALL(u64, uint64_t, SAME, SAME)
DEFINE_ORDER(i8, int8_t, SAME, SAME)
DEFINE_ORDER(i32, int32_t, SAME, SAME)
DEFINE_ORDER(i64, int64_t, SAME, SAME)
DEFINE_ALL(f16, uint16_t, pw_f16_to_float, pw_f16_from_float)
DEFINE_ALL(bf16, uint16_t, pw_bf16_to_float, pw_bf16_from_float)
DEFINE_ALL(f32, float, SAME, SAME)
DEFINE_ALL(f64, double, SAME, SAME)
