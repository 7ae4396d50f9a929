/* Fuzz targets: each is one function that takes any bytes and must come back. Built by `configure --enable-fuzz` (clang) they are
 * driven by libFuzzer; else main() in replay.c runs them over the files of tests/fuzz/corpus, as a test.
 */
#ifndef PW_FUZZ_H
#define PW_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

/* Bytes, taken from the front; zeros when there are none left. */
struct fuzz_bytes { const uint8_t *at; size_t left; };
static inline uint64_t fuzz_take(struct fuzz_bytes *bytes, unsigned count)
{
        uint64_t value = 0;

        for (; count && bytes->left; count--, bytes->left--)
                value = value << 8 | *bytes->at++;
        return value;
}

#endif
