/* Boxes: parts of row-major arrays, what they have in common, copies between them. */
#include "base/box_rows.h"

#include "base/memory.h"

struct pw_dims pw_box_dims(const struct pw_box *box)
{
        struct pw_dims dims = { .rank = box->rank };

        memcpy(dims.dim, box->size, box->rank * sizeof box->size[0]);
        return dims;
}

uint64_t pw_box_elements(const struct pw_box *box)
{
        uint64_t elements = 1;

        for (uint32_t i = 0; i < box->rank; i++)
                elements *= box->size[i];
        return elements;
}

bool pw_box_meet(const struct pw_box *a, const struct pw_box *b, struct pw_box *ret_common)
{
        uint32_t rank = a->rank;

        ret_common->rank = rank; /* dims behind are nobody's, and need not be cleared */
        for (uint32_t i = 0; i < rank; i++) {
                uint64_t start = pw_max_u64(a->start[i], b->start[i]);
                uint64_t end = pw_min_u64(a->start[i] + a->size[i], b->start[i] + b->size[i]);
                if (start >= end)
                        return false;
                ret_common->start[i] = start;
                ret_common->size[i] = end - start;
        }
        return true;
}

bool pw_box_equal(const struct pw_box *a, const struct pw_box *b)
{
        return a->rank == b->rank && !memcmp(a->start, b->start, a->rank * sizeof a->start[0]) &&
               !memcmp(a->size, b->size, a->rank * sizeof a->size[0]);
}

/* How many of the outer dims are counted over: the others lie side by side in both arrays. */
static uint32_t counted_dims(const struct pw_box *to_box, const struct pw_box *from_box, const struct pw_box *part)
{
        uint32_t inner = part->rank;

        while (inner > 0) {
                inner--;
                if (part->size[inner] != to_box->size[inner] || part->size[inner] != from_box->size[inner])
                        break;
        }
        return inner;
}

void pw_box_rows_init(struct pw_box_rows *rows, const struct pw_box *to_box, const struct pw_box *from_box,
                      const struct pw_box *part)
{
        uint64_t to_step = 1, from_step = 1;

        rows->to = rows->from = 0;
        rows->elements = rows->left = 1;
        rows->rank = counted_dims(to_box, from_box, part);
        for (uint32_t i = part->rank; i-- > 0;) {
                rows->at[i] = 0;
                rows->to += (part->start[i] - to_box->start[i]) * to_step;
                rows->from += (part->start[i] - from_box->start[i]) * from_step;
                rows->size[i] = part->size[i];
                rows->to_step[i] = to_step;
                rows->from_step[i] = from_step;
                to_step *= to_box->size[i];
                from_step *= from_box->size[i];
                if (i < rows->rank)
                        rows->left *= part->size[i];
                else
                        rows->elements *= part->size[i];
        }
        if (!rows->elements)
                rows->left = 0;
}

void pw_box_rows_step(struct pw_box_rows *rows)
{
        rows->left--;
        for (uint32_t i = rows->rank; i-- > 0;) {
                rows->to += rows->to_step[i];
                rows->from += rows->from_step[i];
                if (++rows->at[i] < rows->size[i])
                        return;
                rows->to -= rows->size[i] * rows->to_step[i];
                rows->from -= rows->size[i] * rows->from_step[i];
                rows->at[i] = 0;
        }
}

void pw_box_copy(void *to, const struct pw_box *to_box, const void *from, const struct pw_box *from_box,
                 const struct pw_box *part, size_t element_bytes)
{
        struct pw_box_rows rows;

        for (pw_box_rows_init(&rows, to_box, from_box, part); rows.left; pw_box_rows_step(&rows))
                memcpy((char *)to + rows.to * element_bytes, (const char *)from + rows.from * element_bytes,
                       rows.elements * element_bytes);
}
