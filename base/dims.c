/* Dims: their bytes, their text. */
#include "base/size.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>

enum pw_status pw_dims_bytes(enum pw_dtype dtype, const struct pw_dims *dims, uint64_t *ret_bytes, struct pw_error *ret_err)
{
        uint64_t bytes = pw_dtype_bytes(dtype);
        bool fits = true;
        char text[128];

        if (!bytes)
                return pw_error_set(ret_err, PW_SHAPE, "there is no dtype with the number %u", (unsigned)dtype);
        if (dims->rank > PW_RANK_MAX)
                return pw_error_set(ret_err, PW_SHAPE, "rank %" PRIu32 " is above %u", dims->rank, PW_RANK_MAX);
        for (uint32_t i = 0; i < dims->rank; i++)
                if (!dims->dim[i]) {
                        *ret_bytes = 0;
                        return PW_OK;
                }
        for (uint32_t i = 0; i < dims->rank && fits; i++)
                fits = pw_mul_ok(bytes, dims->dim[i], &bytes);
        if (!fits)
                return pw_error_set(ret_err, PW_TOO_LARGE, "a value of %s %s has more bytes than 64 bits can count",
                                    pw_dtype_text(dtype), pw_dims_format(dims, text, sizeof text));
        *ret_bytes = bytes;
        return PW_OK;
}

bool pw_dims_equal(const struct pw_dims *a, const struct pw_dims *b)
{
        return a->rank == b->rank && a->rank <= PW_RANK_MAX && !memcmp(a->dim, b->dim, a->rank * sizeof a->dim[0]);
}

char *pw_dims_format(const struct pw_dims *dims, char *text, size_t text_bytes)
{
        char whole[PW_RANK_MAX * 22 + 3] = "[";
        size_t used = 1;
        uint32_t rank = dims->rank <= PW_RANK_MAX ? dims->rank : PW_RANK_MAX;

        for (uint32_t i = 0; i < rank; i++)
                used += (size_t)snprintf(whole + used, sizeof whole - used, "%s%" PRIu64, i ? ", " : "", dims->dim[i]);
        snprintf(whole + used, sizeof whole - used, "]");
        snprintf(text, text_bytes, "%s", whole);
        return text;
}
