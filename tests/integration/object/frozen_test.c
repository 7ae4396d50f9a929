/* Frozen puts: from the moment that they are ready nobody can change the bytes, neither who put them. */
#include "tests/integration/other.h"
#include "tests/integration/trace.h"

#include "libclient/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)

static struct pw_future *freeze(struct pw_session *session, const void *data, uint64_t bytes)
{
        struct pw_future *future;

        it_ok(pw_put(session, data, bytes, &(struct pw_put_params){ .flags = PW_PUT_FROZEN }, &future, IT_ERR));
        return future;
}

/* --- who puts it tries all that the kernel lets him try ---------------------------------------------------------------------- */

/* Every descriptor of the process that leads to memory of frozen values. */
static uint32_t frozen_descriptors(void)
{
        DIR *folder = opendir("/proc/self/fd");
        struct dirent *entry;
        char path[300], link[300];
        uint32_t count = 0;

        assert_non_null(folder);
        while ((entry = readdir(folder))) {
                snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
                ssize_t bytes = readlink(path, link, sizeof link - 1);
                link[bytes > 0 ? bytes : 0] = 0;
                count += strstr(link, "pathways-frozen") != NULL;
        }
        closedir(folder);
        return count;
}

/* No line of /proc/self/maps that names that memory may be written. */
static void expect_maps_readonly(void)
{
        FILE *maps = fopen("/proc/self/maps", "re");
        char line[600];
        uint32_t seen = 0;

        assert_non_null(maps);
        while (fgets(line, sizeof line, maps)) {
                if (!strstr(line, "pathways-frozen"))
                        continue;
                assert_non_null(strstr(line, " r--s "));
                seen++;
        }
        fclose(maps);
        assert_int_not_equal(seen, 0);
}

/* The descriptor that any session of the tenant may have. */
static int descriptor_of(struct pw_session *session, uint32_t segment)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__SegmentRequest body = PATHWAYS__WIRE__SEGMENT_REQUEST__INIT;
        struct pw_answer answer;

        body.segment = segment;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_SEGMENT;
        request.segment = &body;
        it_ok(pw_session_call(session, &request, PATHWAYS__WIRE__REPLY__BODY_SEGMENT, &answer, IT_ERR));
        int fd = dup(answer.fds[0]);
        pw_answer_done(&answer);
        return fd;
}

static void try_descriptor(int fd)
{
        char path[40];

        assert_true(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
        assert_int_equal(errno, EACCES);
        assert_int_equal(pwrite(fd, "x", 1, 0), -1);
        assert_int_equal(errno, EBADF);
        assert_int_equal(ftruncate(fd, 0), -1);
        assert_int_equal(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), -1);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        assert_int_equal(fchmod(fd, 0600), -1); /* of another user */
        assert_int_equal(open(path, O_RDWR | O_CLOEXEC), -1);
        assert_int_equal(errno, EACCES);
        close(fd);
}

/* As a user that is not the daemon's. */
static int try_to_change(void *context, int pipe)
{
        struct pw_session *session = it_connect_as_other(context, 0);
        char *data = malloc(MIB);
        struct pw_view view;

        (void)pipe;
        memset(data, 'f', MIB);
        struct pw_future *future = freeze(session, data, MIB);
        memset(data, 'x', MIB);
        it_ok(pw_get(future, 0, &view, IT_ERR));
        assert_int_equal(frozen_descriptors(), 0);
        expect_maps_readonly();
        void *page = (void *)((uintptr_t)view.data & ~(uintptr_t)4095);
        assert_int_equal(mprotect(page, 4096, PROT_READ | PROT_WRITE), -1);
        assert_int_equal(errno, EACCES);
        try_descriptor(descriptor_of(session, future->segment));
        memset(session->own->map.base + session->own->room_offset, 'x', 4 * MIB); /* where it was copied from, and all around */
        for (size_t i = 0; i < view.bytes; i++)
                assert_int_equal(((const char *)view.data)[i], 'f');
        assert_int_equal(view.bytes, MIB);
        pw_view_done(&view);
        pw_unref(future);
        free(data);
        _exit(0); /* its own segment is spoilt: nothing else is said of it */
}

static void its_producer_cannot_change_it(void **state)
{
        struct it_host *host = *state;

        if (it_alone(host))
                skip();
        struct it_child child = it_fork(try_to_change, host);
        assert_int_equal(it_reap(&child, 0), 0);
}

/* --- a value like any other -------------------------------------------------------------------------------------------------- */

static void expect_bytes(struct pw_future *future, const void *bytes, size_t count)
{
        struct pw_view view;

        it_ok(pw_get(future, 0, &view, IT_ERR));
        assert_int_equal(view.bytes, count);
        if (count)
                assert_memory_equal(view.data, bytes, count);
        pw_view_done(&view);
}

static void sizes_and_types(void **state)
{
        struct it_host *host = *state;
        static char bytes[5 * MIB];
        const size_t sizes[] = { 0, 1, 24, 25, 4096, 5 * MIB };
        double cube[16];
        struct pw_put_params params = { .dtype = PW_F64, .dims = PW_DIMS(2, 2, 2, 2), .flags = PW_PUT_FROZEN };
        struct pw_future *future;
        struct pw_info info;

        for (size_t i = 0; i < sizeof bytes; i++)
                bytes[i] = (char)(i * 7 + i / 4096);
        for (size_t i = 0; i < 6; i++) {
                future = freeze(host->session, bytes, sizes[i]);
                expect_bytes(future, bytes, sizes[i]);
                pw_unref(future);
        }
        for (int i = 0; i < 16; i++)
                cube[i] = i;
        it_ok(pw_put(host->session, cube, sizeof cube, &params, &future, IT_ERR));
        expect_bytes(future, cube, sizeof cube);
        it_ok(pw_future_info(future, &info, IT_ERR));
        assert_int_equal(info.dtype, PW_F64);
        assert_int_equal(info.dims.rank, 4);
        assert_int_equal(info.dims.dim[3], 2);
        pw_unref(future);
}

static void runs_read_it(void **state)
{
        struct it_host *host = *state;
        const double values[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
        struct pw_put_params params = { .dtype = PW_F64, .dims = PW_DIMS(8), .flags = PW_PUT_FROZEN };
        struct pw_slice *slice = it_slice(host->session, 4, 1);
        struct pw_program *program = it_one_node(host->session, slice, "pw/nop", PW_DIMS(8), NULL);
        struct pw_future *input, *result;

        it_ok(pw_put(host->session, values, sizeof values, &params, &input, IT_ERR));
        result = it_run_1(program, input);
        it_expect_f64(result, values, 8);
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

static int name_and_stay(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_future *future = freeze(session, "kept", 4);

        it_ok(pw_name(future, "kept", IT_ERR));
        assert_int_equal(write(pipe, "n", 1), 1);
        return pause();
}

/* It is charged to who put it, outlives it by a name, and is read by others. */
static void it_outlives_its_producer(void **state)
{
        struct it_host *host = *state;
        struct it_child child = it_fork(name_and_stay, host);
        struct pw_listing *owners;
        struct pw_future *future;
        char owner[80], byte;

        it_read(&child, &byte, 1);
        snprintf(owner, sizeof owner, "%.15s[%d]", program_invocation_short_name, (int)child.pid);
        owners = it_list(host->session, "owners", NULL);
        assert_int_equal(it_number(owners, it_find(owners, "client", owner), "objects"), 1);
        pw_listing_free(owners);
        it_reap(&child, SIGKILL);
        it_ok(pw_lookup(host->session, "kept", 0, &future, IT_ERR));
        expect_bytes(future, "kept", 4);
        pw_unref(future);
        it_ok(pw_unname(host->session, "kept", IT_ERR));
}

/* --- room --------------------------------------------------------------------------------------------------------------------- */

static bool one_of_two_waits(const struct pw_listing *why, void *context)
{
        (void)context;
        for (size_t i = 0; i < it_rows(why); i++)
                if (strstr(it_text(why, i, "waits_for"), "room of"))
                        return true;
        return false;
}

static int freeze_late(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        char *data = calloc(1, 40 * MIB);
        struct pw_put_params params = { .flags = PW_PUT_FROZEN, .timeout_us = 1000 };
        struct pw_future *future;
        struct pw_error err = { PW_OK, "" };

        assert_int_not_equal(pw_put(session, data, 40 * MIB, &params, &future, &err), PW_OK);
        if (write(pipe, &err, sizeof err) != sizeof err)
                return 2;
        future = freeze(session, data, 40 * MIB);
        pw_unref(future);
        pw_close(session);
        free(data);
        return 0;
}

/* Its second room is not there: who asks is told who holds it, and waits. */
static void it_waits_for_room(void **state)
{
        struct it_host *host = *state;
        struct pw_future *held[16];
        struct pw_put_params at_once = { .timeout_us = 1000 };
        struct pw_error err;
        size_t count = 0;
        void *data;

        while (count < 16 && pw_create(host->session, 32 * MIB, &at_once, &held[count], &data, NULL) == PW_OK)
                count++;
        pw_unref(held[--count]); /* room of 32 MiB and some: the value fits once */
        struct it_child child = it_fork(freeze_late, host);
        it_read(&child, &err, sizeof err);
        it_judge(err.status, &err,
                 &(struct it_expected){ PW_NO_SPACE, "40 MiB|held by|frozen_test", "pw_put()", __FILE__, __LINE__ });
        char pid[32];
        snprintf(pid, sizeof pid, "pid %d", (int)child.pid);
        for (int64_t end_us = it_now_us() + IT_LONG;;) {
                struct pw_listing *why = it_list(host->session, "why", pid);
                bool waits = one_of_two_waits(why, NULL);

                pw_listing_free(why);
                if (waits)
                        break;
                assert_true(it_now_us() < end_us);
        }
        pw_unref(held[--count]);
        pw_unref(held[--count]);
        assert_int_equal(it_reap(&child, 0), 0);
        while (count)
                pw_unref(held[--count]);
}

/* Killed at some moment of a put: nothing is left of it, which the end of the test proves. */
static int freeze_for_ever(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        static char data[MIB];

        for (bool told = false;; told = true) {
                pw_unref(freeze(session, data, sizeof data));
                if (!told && write(pipe, "f", 1) != 1)
                        return 2;
        }
}

static void its_producer_is_killed(void **state)
{
        struct it_host *host = *state;
        char byte;

        for (int i = 0; i < 10; i++) {
                struct it_child child = it_fork(freeze_for_ever, host);

                it_read(&child, &byte, 1);
                for (int j = 0; j < i; j++)
                        it_listed(host->session, "status", "objects");
                it_reap(&child, SIGKILL);
        }
}

static void what_cannot_be(void **state)
{
        struct it_host *host = *state;
        struct pw_put_params frozen = { .flags = PW_PUT_FROZEN }, unknown = { .flags = 6 };
        struct pw_future *future;
        void *data;

        it_fails(pw_create(host->session, 8, &frozen, &future, &data, IT_ERR), PW_UNSUPPORTED, "in place");
        it_fails(pw_put(host->session, "x", 1, &unknown, &future, IT_ERR), PW_INVALID, "flags");
        it_fails(pw_put(host->session, NULL, 1, &frozen, &future, IT_ERR), PW_INVALID, "NULL");
        frozen.dtype = PW_F64;
        frozen.dims = PW_DIMS(3);
        it_fails(pw_put(host->session, "x", 1, &frozen, &future, IT_ERR), PW_SHAPE, NULL);
}

/* A client that is not ours says what it likes about where its value lies. */
static void lies(void **state)
{
        struct it_host *host = *state;
        struct pw_client_segment *own = host->session->own;
        uint64_t dims[] = { 3 };
        const struct { uint64_t offset, bytes; uint32_t lane, dtype; enum pw_status status; } asks[] = {
                { 0, 64, 0, PW_OPAQUE, PW_INVALID },
                { own->room_offset - 1, 64, 0, PW_OPAQUE, PW_INVALID },
                { UINT64_MAX, 64, 0, PW_OPAQUE, PW_INVALID },
                { own->map.bytes - 8, 64, 0, PW_OPAQUE, PW_INVALID },
                { own->room_offset, UINT64_MAX, 0, PW_OPAQUE, PW_INVALID },
                { own->room_offset, 64, UINT32_MAX, PW_OPAQUE, PW_INVALID },
                { own->room_offset, 64, 0, 77, PW_INVALID },
                { own->room_offset, 64, 0, PW_F64, PW_SHAPE },
        };

        for (size_t i = 0; i < sizeof asks / sizeof *asks; i++) {
                Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
                Pathways__Wire__Freeze freeze = PATHWAYS__WIRE__FREEZE__INIT;

                freeze.offset = asks[i].offset;
                freeze.bytes = asks[i].bytes;
                freeze.lane = asks[i].lane;
                freeze.dtype = asks[i].dtype;
                freeze.dims = dims;
                freeze.n_dims = asks[i].dtype == PW_OPAQUE ? 0 : 1;
                request.body_case = PATHWAYS__WIRE__REQUEST__BODY_FREEZE;
                request.freeze = &freeze;
                it_fails(pw_session_tell(host->session, &request, IT_ERR), asks[i].status, NULL);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_TEST(its_producer_cannot_change_it), IT_TEST(sizes_and_types), IT_TEST(runs_read_it),
                IT_TEST(it_outlives_its_producer),
                IT_TEST(it_waits_for_room),             IT_TEST(its_producer_is_killed), IT_TEST(what_cannot_be), IT_TEST(lies),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
