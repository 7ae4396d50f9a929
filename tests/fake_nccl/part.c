/* How a kernel does what it was asked for. A collective is done in steps: each rank fills its slot, waits until all have filled
 * theirs, and takes from them what it needs. Slots are two, by turns: who fills one again has seen all ranks at the step between.
 */
#include "tests/fake_nccl/fake.h"

#include <inttypes.h>

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

static const uint8_t *slot_of(const struct ncclComm *comm, uint32_t rank)
{
        return comm->meeting->slots[rank][comm->step % 2];
}

/* NCCL would hang, or give any bytes. */
static void asks_compare(const struct ncclComm *comm)
{
        const struct fake_ask *own = &comm->meeting->ranks[comm->rank].asks[comm->step % 2];

        for (uint32_t rank = 0; rank < comm->rank_count; rank++) {
                const struct fake_ask *ask = &comm->meeting->ranks[rank].asks[comm->step % 2];

                if (ask->kind != own->kind || ask->dtype != own->dtype || ask->op != own->op || ask->root != own->root ||
                    ask->count != own->count)
                        fake_abort("rank %u asks for collective %u of %" PRIu64 " elements, rank %u for %u of %" PRIu64
                                   ", or their dtype, op or root differs",
                                   comm->rank, own->kind, own->count, rank, ask->kind, ask->count);
        }
}

/* The next step: `bytes` at `from` are in this rank's slot (0: none are needed), and all slots are filled. */
static enum pw_cuda_result step_make(const struct fake_kernel *kernel, const struct fake_part *part, unsigned long long from,
                                     uint64_t bytes, bool *is_left)
{
        struct ncclComm *comm = kernel->comm;
        struct fake_rank *own = &comm->meeting->ranks[comm->rank];
        uint64_t step = comm->step + 1;

        if (from && !fake_driver()->fake_cuda_read(kernel->stream, comm->meeting->slots[comm->rank][step % 2], from, bytes))
                return PW_CUDA_ILLEGAL_ADDRESS;
        own->asks[step % 2] = (struct fake_ask){ .count = part->count, .kind = part->kind, .dtype = part->dtype, .op = part->op,
                                                 .root = (uint32_t)part->root };
        atomic_store(&own->step, step);
        for (uint32_t rank = 0; rank < comm->rank_count; rank++) {
                while (atomic_load(&comm->meeting->ranks[rank].step) < step) {
                        if (fake_is_left(kernel)) {
                                *is_left = true;
                                return PW_CUDA_SUCCESS;
                        }
                        fake_nap();
                }
        }
        comm->step = step;
        asks_compare(comm);
        return PW_CUDA_SUCCESS;
}

static bool give(const struct fake_kernel *kernel, unsigned long long to, const void *from, uint64_t bytes)
{
        return fake_driver()->fake_cuda_write(kernel->stream, to, from, bytes);
}

/* By each rank for itself, in the order of ranks: the same bits everywhere, whenever. */
static bool reduced_give(const struct fake_kernel *kernel, const struct fake_part *part, unsigned long long to, uint64_t bytes)
{
        const struct ncclComm *comm = kernel->comm;

        memcpy(comm->scratch, slot_of(comm, 0), bytes);
        for (uint32_t rank = 1; rank < comm->rank_count; rank++)
                fake_reduce(part, comm->scratch, slot_of(comm, rank), bytes);
        return give(kernel, to, comm->scratch, bytes);
}

/* What this rank makes of the slots; they are `bytes` at `at` of block `block`. */
static bool step_use(const struct fake_kernel *kernel, const struct fake_part *part, uint32_t block, uint64_t at, uint64_t bytes)
{
        const struct ncclComm *comm = kernel->comm;
        uint64_t total = part->count * fake_dtype_bytes(part->dtype);

        switch (part->kind) {
        case FAKE_ALL_REDUCE:
                return reduced_give(kernel, part, part->to + at, bytes);
        case FAKE_REDUCE_SCATTER:
                return block != comm->rank || reduced_give(kernel, part, part->to + at, bytes);
        case FAKE_ALL_GATHER:
                for (uint32_t rank = 0; rank < comm->rank_count; rank++)
                        if (!give(kernel, part->to + rank * total + at, slot_of(comm, rank), bytes))
                                return false;
                return true;
        case FAKE_BROADCAST:
                return give(kernel, part->to + at, slot_of(comm, (uint32_t)part->root), bytes);
        case FAKE_SEND:
        case FAKE_RECV:
                break;
        }
        return true;
}

enum pw_cuda_result fake_collective_run(const struct fake_kernel *kernel, const struct fake_part *part, bool *is_left)
{
        const struct ncclComm *comm = kernel->comm;
        uint64_t total = part->count * fake_dtype_bytes(part->dtype);
        uint32_t blocks = part->kind == FAKE_REDUCE_SCATTER ? comm->rank_count : 1;
        bool gives = part->kind != FAKE_BROADCAST || comm->rank == (uint32_t)part->root;

        for (uint32_t block = 0; block < blocks; block++) {
                for (uint64_t at = 0; at < total; at += FAKE_CHUNK_BYTES) {
                        uint64_t bytes = least(total - at, FAKE_CHUNK_BYTES);
                        unsigned long long from = gives ? part->from + block * total + at : 0;
                        enum pw_cuda_result result = step_make(kernel, part, from, bytes, is_left);

                        if (result || *is_left)
                                return result;
                        if (!step_use(kernel, part, block, at, bytes))
                                return PW_CUDA_ILLEGAL_ADDRESS;
                }
        }
        return PW_CUDA_SUCCESS;
}

/* A send is over when all of it was taken. */
static enum pw_cuda_result send_go(const struct fake_kernel *kernel, struct fake_part *part)
{
        struct fake_pair *pair = &kernel->comm->meeting->pairs[kernel->comm->rank][part->root];
        uint64_t total = part->count * fake_dtype_bytes(part->dtype), bytes = least(total - part->at, FAKE_PAIR_BYTES);

        if (atomic_load(&pair->taken) != atomic_load(&pair->sent))
                return PW_CUDA_SUCCESS;
        part->is_over = part->at == total;
        if (part->is_over)
                return PW_CUDA_SUCCESS;
        if (!fake_driver()->fake_cuda_read(kernel->stream, pair->data, part->from + part->at, bytes))
                return PW_CUDA_ILLEGAL_ADDRESS;
        pair->bytes = total;
        part->at += bytes;
        atomic_fetch_add(&pair->sent, 1);
        return PW_CUDA_SUCCESS;
}

static enum pw_cuda_result recv_go(const struct fake_kernel *kernel, struct fake_part *part)
{
        struct fake_pair *pair = &kernel->comm->meeting->pairs[part->root][kernel->comm->rank];
        uint64_t total = part->count * fake_dtype_bytes(part->dtype), bytes = least(total - part->at, FAKE_PAIR_BYTES);

        if (atomic_load(&pair->taken) == atomic_load(&pair->sent))
                return PW_CUDA_SUCCESS;
        if (pair->bytes != total)
                fake_abort("rank %u receives %" PRIu64 " bytes, rank %d sends %" PRIu64, kernel->comm->rank, total, part->root,
                           pair->bytes);
        if (!give(kernel, part->to + part->at, pair->data, bytes))
                return PW_CUDA_ILLEGAL_ADDRESS;
        part->at += bytes;
        part->is_over = part->at == total;
        atomic_fetch_add(&pair->taken, 1);
        return PW_CUDA_SUCCESS;
}

/* Does an earlier one of the same pair go first? */
static bool has_earlier(const struct fake_kernel *kernel, const struct fake_part *part)
{
        struct fake_part *one;

        pw_list_each(&kernel->parts, one, struct fake_part, link) {
                if (one == part)
                        return false;
                if (one->kind == part->kind && one->root == part->root && !one->is_over)
                        return true;
        }
        return false;
}

/* One turn of all of them: how many are not over. */
static enum pw_cuda_result pairs_go(const struct fake_kernel *kernel, uint32_t *ret_left)
{
        enum pw_cuda_result result = PW_CUDA_SUCCESS;
        struct fake_part *part;

        *ret_left = 0;
        pw_list_each(&kernel->parts, part, struct fake_part, link) {
                if (result || part->is_over || (part->kind != FAKE_SEND && part->kind != FAKE_RECV))
                        continue;
                if (!has_earlier(kernel, part))
                        result = part->kind == FAKE_SEND ? send_go(kernel, part) : recv_go(kernel, part);
                *ret_left += !part->is_over;
        }
        return result;
}

enum pw_cuda_result fake_pairs_run(const struct fake_kernel *kernel, bool *is_left)
{
        for (;;) {
                uint32_t left;
                enum pw_cuda_result result = pairs_go(kernel, &left);

                if (result || !left)
                        return result;
                if (fake_is_left(kernel)) {
                        *is_left = true;
                        return PW_CUDA_SUCCESS;
                }
                fake_nap();
        }
}
