/* Memfds that processes share: made, sealed, opened read-only, mapped, populated. */
#include "plane/segment.h"

#include "base/memory.h"
#include "plane/board/image.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct pw_segment_layout pw_segment_layout(enum pw_segment_kind kind, uint32_t slot_count, uint64_t room_bytes)
{
        uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
        uint64_t names_offset = pw_round_up((uint64_t)slot_count * sizeof(struct pw_entry), page);
        uint64_t room_offset = names_offset + (kind == PW_SEGMENT_FUTURES ? PW_NAMES_BYTES : 0);

        return (struct pw_segment_layout){ kind, slot_count, names_offset, room_offset,
                                           room_offset + pw_round_up(room_bytes, page) };
}

uint64_t pw_segment_heads(uint64_t bytes) { return pw_round_up(pw_room_head_at(bytes), (uint64_t)sysconf(_SC_PAGESIZE)); }

enum pw_status pw_memfd_create(const char *name, uint64_t bytes, int *ret_fd, struct pw_error *ret_err)
{
        pw_auto_close int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

        if (fd < 0)
                return pw_error_errno(ret_err, errno, "memfd_create %s", name);
        if (bytes > INT64_MAX)
                return pw_error_errno(ret_err, EFBIG, "memfd %s of %" PRIu64 " bytes", name, bytes);
        if (ftruncate(fd, (off_t)bytes))
                return pw_error_errno(ret_err, errno, "memfd %s of %" PRIu64 " bytes", name, bytes);
        if (fchmod(fd, 0400) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
                return pw_error_errno(ret_err, errno, "sealing memfd %s", name);
        *ret_fd = fd;
        fd = -1;
        return PW_OK;
}

enum pw_status pw_memfd_readonly(int fd, int *ret_fd, struct pw_error *ret_err)
{
        char path[40];
        int opened;

        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        opened = open(path, O_RDONLY | O_CLOEXEC);
        if (opened < 0)
                return pw_error_errno(ret_err, errno, "opening %s read-only", path);
        *ret_fd = opened;
        return PW_OK;
}

enum pw_status pw_memfd_allocated(int fd, uint64_t *ret_bytes, struct pw_error *ret_err)
{
        struct stat status;

        if (fstat(fd, &status))
                return pw_error_errno(ret_err, errno, "fstat of a memfd");
        *ret_bytes = (uint64_t)status.st_blocks * 512;
        return PW_OK;
}

uint64_t pw_memfd_file(int fd)
{
        struct stat status;

        return fstat(fd, &status) ? 0 : status.st_ino;
}

enum pw_status pw_window_touched(const struct pw_window *window, uint64_t *ret_bytes, struct pw_error *ret_err)
{
        off_t at = (off_t)window->offset, end = (off_t)(window->offset + window->bytes);
        uint64_t bytes = 0;

        while (at < end) {
                off_t from = lseek(window->fd, at, SEEK_DATA);

                if (from < 0 && errno == ENXIO)
                        break;
                at = from < 0 ? from : lseek(window->fd, from, SEEK_HOLE);
                if (at < 0)
                        return pw_error_errno(ret_err, errno, "looking for the pages of a memfd");
                if (from < end)
                        bytes += (uint64_t)((at < end ? at : end) - from);
        }
        *ret_bytes = bytes;
        return PW_OK;
}

enum pw_status pw_map_fd(int fd, uint64_t bytes, bool writable, struct pw_map *ret_map, struct pw_error *ret_err)
{
        return pw_map_window(&(struct pw_window){ fd, 0, bytes }, writable, ret_map, ret_err);
}

enum pw_status pw_map_window(const struct pw_window *window, bool writable, struct pw_map *ret_map, struct pw_error *ret_err)
{
        uint64_t bytes = window->bytes, end;
        struct stat status;
        void *base;

        if (fstat(window->fd, &status))
                return pw_error_errno(ret_err, errno, "fstat of a segment");
        if (!bytes || !pw_add_ok(window->offset, bytes, &end) || (uint64_t)status.st_size < end)
                return pw_error_set(ret_err, PW_PROTOCOL, "a segment of %" PRIu64 " bytes was announced, the file has %" PRIu64,
                                    bytes, (uint64_t)status.st_size);
        base = mmap(NULL, bytes, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED | MAP_NORESERVE, window->fd,
                    (off_t)window->offset);
        if (base == MAP_FAILED)
                return pw_error_errno(ret_err, errno, "mapping %" PRIu64 " bytes", bytes);
        if (madvise(base, bytes, MADV_DONTFORK)) {
                int number = errno;
                munmap(base, bytes);
                return pw_error_errno(ret_err, number, "madvise of a segment");
        }
        *ret_map = (struct pw_map){ base, bytes, writable };
        return PW_OK;
}

void pw_unmap(struct pw_map *map)
{
        if (map->base)
                munmap(map->base, map->bytes);
        *map = (struct pw_map){ 0 };
}

static enum pw_status allocate(int fd, int mode, uint64_t offset, uint64_t bytes, struct pw_error *ret_err)
{
        while (fallocate(fd, mode, (off_t)offset, (off_t)bytes))
                if (errno != EINTR)
                        return pw_error_errno(ret_err, errno, "fallocate of %" PRIu64 " bytes at %" PRIu64, bytes, offset);
        return PW_OK;
}

enum pw_status pw_memfd_populate(int fd, uint64_t offset, uint64_t bytes, struct pw_error *ret_err)
{
        return bytes ? allocate(fd, 0, offset, bytes, ret_err) : PW_OK;
}

enum pw_status pw_memfd_punch(int fd, uint64_t offset, uint64_t bytes, struct pw_error *ret_err)
{
        uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
        uint64_t from, end;

        if (!pw_add_ok(offset, bytes, &end) || end > INT64_MAX)
                return pw_error_errno(ret_err, EFBIG, "punching %" PRIu64 " bytes at %" PRIu64, bytes, offset);
        from = pw_round_up(offset, page);
        end &= ~(page - 1);
        return from < end ? allocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, end - from, ret_err) : PW_OK;
}

#define COPY_BYTES (UINT64_C(1) << 18) /* at a time: it stays in the processor's cache */

enum pw_status pw_memfd_copy(int to, uint64_t to_offset, int from, uint64_t from_offset, uint64_t bytes, struct pw_error *ret_err)
{
        pw_auto_free void *buffer = malloc(COPY_BYTES);

        if (!buffer)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory to copy %" PRIu64 " bytes", bytes);
        while (bytes) {
                ssize_t got = TEMP_FAILURE_RETRY(pread(from, buffer, pw_min_u64(bytes, COPY_BYTES), (off_t)from_offset));
                ssize_t put = got > 0 ? TEMP_FAILURE_RETRY(pwrite(to, buffer, (size_t)got, (off_t)to_offset)) : 0;

                if (got <= 0 || put <= 0)
                        return pw_error_errno(ret_err, got && errno ? errno : EIO, "copying %" PRIu64 " bytes between memfds",
                                              bytes);
                from_offset += (uint64_t)put;
                to_offset += (uint64_t)put;
                bytes -= (uint64_t)put;
        }
        return PW_OK;
}
