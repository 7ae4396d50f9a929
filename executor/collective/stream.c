/* A line is written whole, by stores that go around the cache: it is not read first. */
#include "executor/collective/stream.h"

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>

#define LINE_BYTES 64u

static void stream_line(uint8_t *to, const uint8_t *from)
{
        const __m128i *words = (const void *)from;
        __m128i a = _mm_loadu_si128(words), b = _mm_loadu_si128(words + 1);
        __m128i c = _mm_loadu_si128(words + 2), d = _mm_loadu_si128(words + 3);

        _mm_stream_si128((void *)to, a);
        _mm_stream_si128((void *)(to + 16), b);
        _mm_stream_si128((void *)(to + 32), c);
        _mm_stream_si128((void *)(to + 48), d);
}

void *pw_stream_copy(void *to, const void *from, size_t bytes)
{
        size_t before = -(uintptr_t)to % LINE_BYTES, at = before < bytes ? before : bytes;

        memcpy(to, from, at);
        for (; bytes - at >= LINE_BYTES; at += LINE_BYTES)
                stream_line((uint8_t *)to + at, (const uint8_t *)from + at);
        memcpy((uint8_t *)to + at, (const uint8_t *)from + at, bytes - at);
        _mm_sfence();
        return to;
}

#else

void *pw_stream_copy(void *to, const void *from, size_t bytes) { return memcpy(to, from, bytes); }

#endif
