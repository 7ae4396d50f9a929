/* Pages of the host that stay as they were pinned, whatever becomes of the memory that they were of: a pipe holds some of each
 * registration, and what the device reads there comes from them. */
#include "tests/fake_cuda/fake.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE_BYTES UINT64_C(4096)
#define HELD_MAX 16u /* a pipe has room for as many */

struct fake_held { int fds[2]; uint32_t count; uint64_t at[HELD_MAX]; /* ascending */ };

struct fake_held *fake_held_begin(uint64_t begin, uint64_t end)
{
        struct fake_held *held = calloc(1, sizeof *held);
        uint64_t pages = (end - begin) / PAGE_BYTES, count = pw_min_u64(pages, HELD_MAX);

        if (!held || pipe2(held->fds, O_CLOEXEC | O_NONBLOCK) < 0) {
                free(held);
                return NULL;
        }
        for (; held->count < count; held->count++) {
                uint64_t at = begin + (pages - 1) * held->count / pw_max_u64(count - 1, 1) * PAGE_BYTES;
                struct iovec page = { (void *)(uintptr_t)at, PAGE_BYTES };
                if (vmsplice(held->fds[1], &page, 1, SPLICE_F_NONBLOCK) != (ssize_t)PAGE_BYTES)
                        break;
                held->at[held->count] = at;
        }
        return held;
}

void fake_held_end(struct fake_held *held)
{
        if (!held)
                return;
        close(held->fds[0]);
        close(held->fds[1]);
        free(held);
}

/* One page after the other, out of a copy of the pipe. */
static void take(const struct fake_held *held, int fd, uint64_t from, uint8_t *to, uint64_t bytes)
{
        uint8_t page[PAGE_BYTES];

        for (uint32_t i = 0; i < held->count && read(fd, page, sizeof page) == (ssize_t)sizeof page; i++) {
                uint64_t first = pw_max_u64(from, held->at[i]), last = pw_min_u64(from + bytes, held->at[i] + PAGE_BYTES);
                if (first < last)
                        memcpy(to + (first - from), page + (first - held->at[i]), last - first);
        }
}

void fake_held_read(const struct fake_held *held, uint64_t from, void *to, uint64_t bytes)
{
        int fds[2];

        if (!held || pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
                return;
        if (tee(held->fds[0], fds[1], held->count * PAGE_BYTES, SPLICE_F_NONBLOCK) > 0)
                take(held, fds[0], from, to, bytes);
        close(fds[0]);
        close(fds[1]);
}
