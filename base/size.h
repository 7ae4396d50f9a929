/* Sizes and durations as people write them, and the size classes of rooms.
 */
#ifndef PW_BASE_SIZE_H
#define PW_BASE_SIZE_H

#include "base/error.h"

#define PW_KIB (UINT64_C(1) << 10)
#define PW_MIB (UINT64_C(1) << 20)
#define PW_GIB (UINT64_C(1) << 30)

/* "512", "64 KiB", "1.5GiB", "256M" (powers of 1024). Errors: PW_INVALID, overflow included. */
PW_MUST_CHECK enum pw_status pw_size_parse(const char *text, uint64_t *ret_bytes, struct pw_error *ret_err);
/* "1.5 GiB", at most 10 characters; returns `text`. */
char *pw_size_format(uint64_t bytes, char text[16]);
/* Two sizes of one sentence, which look alike only where they are: "15 MiB" and "1.2 GiB", but "15728704 B" and "15728640 B". */
void pw_size_format_two(uint64_t a, uint64_t b, char a_text[24], char b_text[24]);
/* "250ms", "3s", "2min", "10us", "1.5h", "2d"; a bare number is seconds. Errors: PW_INVALID. */
PW_MUST_CHECK enum pw_status pw_duration_parse(const char *text, uint64_t *ret_us, struct pw_error *ret_err);
/* "3.2 s", "12 ms", "4 min", "forever" from about 270 years; at most 10 characters; returns `text`. */
char *pw_duration_format(uint64_t us, char text[16]);

/* Size classes: 8 per doubling, from 512 bytes up; below in steps of 64. The room of class c holds
 * pw_class_bytes(c) bytes, a multiple of 64, and of 4 KiB from 32 KiB up (so rooms start on lines, large ones on pages).
 * pw_size_class(b) is the smallest class that holds b bytes, b >= 1; monotone. The last class holds about 2^60 bytes; for
 * more, pw_size_class() is PW_CLASS_COUNT. */
#define PW_CLASS_COUNT 416u
uint32_t pw_size_class(uint64_t bytes);
uint64_t pw_class_bytes(uint32_t size_class);

/* Bytes of a value of `dtype` and `dims`. Errors: PW_TOO_LARGE (overflow), PW_SHAPE (rank above PW_RANK_MAX, no such dtype). */
PW_MUST_CHECK enum pw_status pw_dims_bytes(enum pw_dtype dtype, const struct pw_dims *dims, uint64_t *ret_bytes,
                                           struct pw_error *ret_err);
bool pw_dims_equal(const struct pw_dims *a, const struct pw_dims *b);
/* "[96, 65]"; returns `text`, cut to fit. */
char *pw_dims_format(const struct pw_dims *dims, char *text, size_t text_bytes);

#endif
