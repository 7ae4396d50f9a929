/* Segments: the memfds that processes of one host share, how they are made, sealed, handed out and mapped.
 *
 * A segment is a sparse memfd of mode 0400, sealed SHRINK, GROW and SEAL at birth. Only its producer gets a writable
 * descriptor; everyone else gets one that was opened read-only through /proc/self/fd. Kinds:
 *
 *   CLIENT   one per session: entries, then rooms; the client writes
 *   FUTURES  one per tenant: entries, names (plane/name.h), then shard lists and error texts; the daemon writes, clients are
 *            granted slots
 *   DEVICE   one per device and tenant: rooms; the executor writes. Their heads (board/image.h) lie in a memfd of their own, which
 *            executors alone have.
 */
#ifndef PW_PLANE_SEGMENT_H
#define PW_PLANE_SEGMENT_H

#include "plane/entry.h"
#include "plane/name.h"

enum pw_segment_kind { PW_SEGMENT_CLIENT = 1, PW_SEGMENT_FUTURES = 2, PW_SEGMENT_DEVICE = 3 };

struct pw_segment_layout {
        enum pw_segment_kind kind;
        uint32_t slot_count;  /* entries at offset 0 */
        uint64_t names_offset; /* behind the entries, page-aligned; room_offset: there are none */
        uint64_t room_offset; /* page-aligned; 0 entries: 0 */
        uint64_t bytes;       /* virtual size of the memfd */
};
/* The layout for `slot_count` entries and `room_bytes` of rooms. */
struct pw_segment_layout pw_segment_layout(enum pw_segment_kind kind, uint32_t slot_count, uint64_t room_bytes);
/* What the heads of rooms in a device's segment of `bytes` take, in whole pages. */
uint64_t pw_segment_heads(uint64_t bytes);

/* Make a memfd of `bytes`, close-on-exec, mode 0400, sealed. *ret_fd is writable. Errors: PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_memfd_create(const char *name, uint64_t bytes, int *ret_fd, struct pw_error *ret_err);
/* A descriptor of the same memfd that cannot write, map writable, nor be made to. Errors: PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_memfd_readonly(int fd, int *ret_fd, struct pw_error *ret_err);
/* Bytes of memory that the memfd really takes (its allocated blocks). Who reads a page that is not there allocates it, also
 * through a read-only map. */
PW_MUST_CHECK enum pw_status pw_memfd_allocated(int fd, uint64_t *ret_bytes, struct pw_error *ret_err);

/* A part of a memfd, from a page on. */
struct pw_window { int fd; uint64_t offset, bytes; };
/* Bytes of it that were ever written or read. `fd` must have a description of its own: who shares one can hold up its position.
 * Errors: PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_window_touched(const struct pw_window *window, uint64_t *ret_bytes, struct pw_error *ret_err);

/* The same for all descriptors of one memfd, and of no other that is there; 0: it cannot be told. */
uint64_t pw_memfd_file(int fd);

struct pw_map {
        uint8_t *base; /* NULL: none */
        uint64_t bytes;
        bool writable;
};
/* Map it shared, without reserving, MADV_DONTFORK. Checks that the file is large enough (a map beyond the end is SIGBUS).
 * Own: *ret_map is given back with pw_unmap(). Errors: PW_SYSTEM, PW_PROTOCOL (too small). */
PW_MUST_CHECK enum pw_status pw_map_window(const struct pw_window *window, bool writable, struct pw_map *ret_map,
                                           struct pw_error *ret_err);
/* The same of [0, bytes). */
PW_MUST_CHECK enum pw_status pw_map_fd(int fd, uint64_t bytes, bool writable, struct pw_map *ret_map, struct pw_error *ret_err);
void pw_unmap(struct pw_map *map);
static inline struct pw_entry *pw_map_entry(const struct pw_map *map, uint32_t slot)
{
        return (struct pw_entry *)(map->base + (uint64_t)slot * sizeof(struct pw_entry));
}

/* Allocate the pages of a range (fallocate), resp. give whole pages back (punch). Worker thread only: slow.
 * The caller knows that the memory is there: beyond the cgroup's limit the answer is the OOM killer. Errors: PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_memfd_populate(int fd, uint64_t offset, uint64_t bytes, struct pw_error *ret_err);
/* Copy bytes from one to another, through the process's own memory: neither needs a map. Worker thread only. Errors: PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_memfd_copy(int to, uint64_t to_offset, int from, uint64_t from_offset, uint64_t bytes,
                                           struct pw_error *ret_err);
PW_MUST_CHECK enum pw_status pw_memfd_punch(int fd, uint64_t offset, uint64_t bytes, struct pw_error *ret_err);

#endif
