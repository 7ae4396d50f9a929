/* Segments: who holds only a read-only descriptor cannot change anything, in no way. */
#include "plane/segment.h"

#include "plane/maps_test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define BYTES (UINT64_C(1) << 20)

static void test_layout(void **state)
{
        struct pw_segment_layout layout = pw_segment_layout(PW_SEGMENT_CLIENT, 65, 5000);

        (void)state;
        assert_int_equal(layout.kind, PW_SEGMENT_CLIENT);
        assert_int_equal(layout.slot_count, 65);
        assert_int_equal(layout.room_offset, 8192);
        assert_int_equal(layout.bytes, 16384);
        layout = pw_segment_layout(PW_SEGMENT_DEVICE, 0, UINT64_C(1) << 40);
        assert_int_equal(layout.room_offset, 0);
        assert_true(layout.bytes == UINT64_C(1) << 40 && pw_segment_heads(layout.bytes) == UINT64_C(1) << 38);
        assert_int_equal(pw_segment_layout(PW_SEGMENT_DEVICE, 0, 5000).bytes, 8192);
        assert_int_equal(pw_segment_heads(8192), 4096);
}

static void test_sealed(void **state)
{
        pw_auto_close int fd = -1;
        struct stat status;

        (void)state;
        assert_int_equal(pw_memfd_create("segment", BYTES, &fd, NULL), PW_OK);
        assert_int_equal(fstat(fd, &status), 0);
        assert_int_equal(status.st_mode & 07777, 0400);
        assert_int_equal(status.st_size, BYTES);
        assert_int_equal(fcntl(fd, F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
        assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
        assert_int_equal(ftruncate(fd, 0), -1);
        assert_int_equal(ftruncate(fd, 2 * BYTES), -1);
        assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
}

static void test_read_only_descriptor(void **state)
{
        pw_auto_close int fd = -1, reader = -1;
        struct pw_map ours, theirs;
        struct pw_error err;

        (void)state;
        assert_int_equal(pw_memfd_create("segment", BYTES, &fd, NULL), PW_OK);
        assert_int_equal(pw_memfd_readonly(fd, &reader, NULL), PW_OK);
        assert_int_equal(fcntl(reader, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
        assert_int_equal(pw_map_fd(reader, BYTES, true, &theirs, &err), PW_SYSTEM);
        assert_non_null(strstr(err.text, strerror(EACCES)));
        assert_int_equal(pw_map_fd(reader, BYTES, false, &theirs, NULL), PW_OK);
        assert_int_equal(mprotect(theirs.base, BYTES, PROT_READ | PROT_WRITE), -1);
        assert_int_equal(errno, EACCES);
        assert_int_equal(ftruncate(reader, 0), -1);
        assert_int_equal(write(reader, "x", 1), -1);
        assert_int_equal(fcntl(reader, F_ADD_SEALS, F_SEAL_WRITE), -1);
        assert_int_equal(pw_memfd_populate(reader, 0, 4096, NULL), PW_SYSTEM);
        assert_int_equal(pw_memfd_punch(reader, 0, 4096, NULL), PW_SYSTEM);
        assert_int_equal(pw_map_fd(fd, BYTES, true, &ours, NULL), PW_OK);
        ours.base[12345] = 42;
        assert_int_equal(theirs.base[12345], 42);
        pw_unmap(&ours);
        pw_unmap(&theirs);
        assert_null(theirs.base);
        pw_unmap(&theirs);
}

/* Another user who was handed the read-only descriptor cannot open the memfd for writing. */
static void test_reopened_by_another_user(void **state)
{
        pw_auto_close int fd = -1, reader = -1;
        char path[40];
        int status;
        pid_t child;

        (void)state;
        if (geteuid() != 0) {
                print_message("[ BECAUSE  ] another user is whom only root can become\n");
                skip();
        }
        assert_int_equal(pw_memfd_create("segment", BYTES, &fd, NULL), PW_OK);
        assert_int_equal(pw_memfd_readonly(fd, &reader, NULL), PW_OK);
        snprintf(path, sizeof path, "/proc/self/fd/%d", reader);
        child = fork();
        assert_true(child >= 0);
        if (!child) {
                if (setuid(65534))
                        _exit(2);
                _exit(open(path, O_RDWR) < 0 && errno == EACCES ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
}

static void test_map_beyond_the_end(void **state)
{
        pw_auto_close int fd = -1;
        struct pw_map map;
        struct pw_error err;

        (void)state;
        assert_int_equal(pw_memfd_create("segment", BYTES, &fd, NULL), PW_OK);
        assert_int_equal(pw_map_fd(fd, BYTES + 1, false, &map, &err), PW_PROTOCOL);
        assert_string_equal(err.text, "a segment of 1048577 bytes was announced, the file has 1048576");
        assert_int_equal(pw_map_fd(fd, 0, false, &map, &err), PW_PROTOCOL);
        assert_int_equal(pw_map_fd(-1, BYTES, false, &map, &err), PW_SYSTEM);
        assert_int_equal(pw_memfd_create("segment", UINT64_MAX, &fd, &err), PW_SYSTEM);
}

static uint64_t allocated(int fd)
{
        uint64_t bytes;

        assert_int_equal(pw_memfd_allocated(fd, &bytes, NULL), PW_OK);
        return bytes;
}

static void test_populate_and_punch(void **state)
{
        uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
        pw_auto_close int fd = -1;
        struct pw_map map;

        (void)state;
        assert_int_equal(pw_memfd_create("segment", BYTES, &fd, NULL), PW_OK);
        assert_int_equal(allocated(fd), 0);
        assert_int_equal(pw_memfd_populate(fd, 0, 8 * page, NULL), PW_OK);
        assert_int_equal(pw_memfd_populate(fd, 0, 0, NULL), PW_OK);
        assert_int_equal(allocated(fd), 8 * page);
        assert_int_equal(pw_map_fd(fd, BYTES, true, &map, NULL), PW_OK);
        memset(map.base, 1, 8 * page);
        assert_int_equal(pw_memfd_punch(fd, 1, 3 * page, NULL), PW_OK); /* only two of them are whole */
        assert_int_equal(allocated(fd), 6 * page);
        assert_int_equal(map.base[page - 1], 1);
        assert_int_equal(map.base[page], 0);
        assert_int_equal(allocated(fd), 7 * page); /* who reads a hole allocates it */
        assert_int_equal(map.base[3 * page], 1);
        assert_int_equal(pw_memfd_punch(fd, 1, page, NULL), PW_OK);
        assert_int_equal(pw_memfd_punch(fd, UINT64_MAX, page, NULL), PW_SYSTEM);
        assert_int_equal(pw_memfd_populate(fd, BYTES, page, NULL), PW_SYSTEM); /* it cannot grow */
        assert_int_equal(allocated(fd), 7 * page);
        pw_unmap(&map);
}

/* Parts of a memfd are mapped, and looked at, one by one. */
static void test_windows(void **state)
{
        uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), bytes;
        pw_auto_close int fd = -1;
        struct pw_window window;
        struct pw_map map, next;
        struct pw_error err;

        (void)state;
        assert_int_equal(pw_memfd_create("segment", BYTES, &fd, NULL), PW_OK);
        window = (struct pw_window){ fd, 4 * page, 8 * page };
        assert_int_equal(pw_map_window(&window, true, &map, NULL), PW_OK);
        window.offset += window.bytes;
        assert_int_equal(pw_map_window(&window, true, &next, NULL), PW_OK);
        memset(map.base + 3 * page, 1, 2 * page);
        map.base[6 * page] = 2;
        memset(next.base, 3, 2 * page);
        assert_int_equal(pw_window_touched(&window, &bytes, NULL), PW_OK);
        assert_int_equal(bytes, 2 * page);
        window.offset = 4 * page;
        assert_int_equal(pw_window_touched(&window, &bytes, NULL), PW_OK);
        assert_int_equal(bytes, 3 * page);
        pw_unmap(&map);
        pw_unmap(&next);
        window.offset = BYTES - page;
        assert_int_equal(pw_map_window(&window, true, &map, &err), PW_PROTOCOL);
        window.offset = UINT64_MAX - page + 1;
        assert_int_equal(pw_map_window(&window, true, &map, &err), PW_PROTOCOL);
}

/* A child of fork does not inherit the map. */
static void test_not_inherited(void **state)
{
        struct maps maps = maps_new(BYTES);
        unsigned char resident;
        int status;
        pid_t child;

        (void)state;
        child = fork();
        assert_true(child >= 0);
        if (!child)
                _exit(mincore(maps.ours, 1, &resident) && errno == ENOMEM ? 0 : 1);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        maps_done(&maps);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_layout),
                cmocka_unit_test(test_sealed),
                cmocka_unit_test(test_read_only_descriptor),
                cmocka_unit_test(test_reopened_by_another_user),
                cmocka_unit_test(test_map_beyond_the_end),
                cmocka_unit_test(test_windows),
                cmocka_unit_test(test_populate_and_punch),
                cmocka_unit_test(test_not_inherited),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
