/* Which kernel of peer.cu moves a part, what it takes, and the code that it is in. */
#include "executor/device/cuda/peer.h"

#include "base/box_rows.h"
#include "base/memory.h"

#define MOST_BLOCKS 2048u /* as many as the largest GPUs have under way */

static const char code[] =
#include "executor/device/cuda/peer.ptx.inc"
        ;
const struct pw_code pw_peer_code = { .name = "peer", .image = code, .bytes = sizeof code };

_Static_assert(PW_PEER_RANK == PW_RANK_MAX, "a part has as many dims as a box");

void pw_peer_part_init(struct pw_peer_part *part, const struct pw_box *to_box, const struct pw_box *from_box,
                       const struct pw_box *box)
{
        struct pw_box_rows rows;
        uint64_t together;

        pw_box_rows_init(&rows, to_box, from_box, box);
        *part = (struct pw_peer_part){ .to = rows.to, .from = rows.from, .rows = rows.left, .row_elements = rows.elements,
                                       .rank = rows.rank };
        together = rows.elements | 16;
        for (uint32_t d = 0; d < rows.rank; d++) {
                part->size[d] = rows.size[d];
                part->to_step[d] = rows.to_step[d];
                part->from_step[d] = rows.from_step[d];
                together |= rows.to_step[d] | rows.from_step[d];
        }
        part->grain = (uint32_t)(together & -together); /* the lowest bit that is set in any of them */
}

uint32_t pw_peer_blocks(const struct pw_peer_part *part, size_t element_bytes)
{
        uint64_t words = part->rows * part->row_elements * element_bytes / 16;

        return (uint32_t)pw_min_u64(words / PW_PEER_BLOCK + 1, MOST_BLOCKS);
}

const char *pw_peer_copy(size_t element_bytes)
{
        switch (element_bytes) {
        case 1: return "pw_peer_copy_1";
        case 2: return "pw_peer_copy_2";
        case 4: return "pw_peer_copy_4";
        case 8: return "pw_peer_copy_8";
        default: return NULL;
        }
}

#define SUM(dtype) "pw_peer_" #dtype "_sum"
#define MAX(dtype) "pw_peer_" #dtype "_max"
#define MIN(dtype) "pw_peer_" #dtype "_min"
#define PROD(dtype) "pw_peer_" #dtype "_prod"
#define ROW(dtype) { SUM(dtype), MAX(dtype), MIN(dtype), PROD(dtype) }
/* Sums and products of signed numbers wrap around: they are those of the unsigned ones. */
#define ROW_OF(dtype, unsigned_dtype) { SUM(unsigned_dtype), MAX(dtype), MIN(dtype), PROD(unsigned_dtype) }
static const char *const reductions[][4] = {
        [PW_U8] = ROW(u8),         [PW_I8] = ROW_OF(i8, u8), [PW_I32] = ROW_OF(i32, u32), [PW_I64] = ROW_OF(i64, u64),
        [PW_F16] = ROW(f16),       [PW_BF16] = ROW(bf16),    [PW_F32] = ROW(f32),         [PW_F64] = ROW(f64),
        [PW_U16] = ROW(u16),       [PW_U32] = ROW(u32),      [PW_U64] = ROW(u64),
        [PW_BOOL] = { NULL, MAX(bool), MIN(bool), NULL },
};

const char *pw_peer_reduce(enum pw_dtype dtype, enum pw_op op)
{
        return pw_dtype_reduces(dtype, op) && (unsigned)dtype < pw_array_count(reductions) ? reductions[dtype][op] : NULL;
}
