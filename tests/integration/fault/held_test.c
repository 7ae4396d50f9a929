/* A living client that writes to its own memfd from a page that never comes: the kernel holds the memfd for it, without an end.
 * Others get room and answers meanwhile; once it is dead, nothing is left of it. */
#include "libclient/socket/connection.h"
#include "tests/integration/harness.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)

struct page { int fd; void *base; };

/* A page whose first reader waits for ever; its descriptor is readable when one does. False: this system does not let us. */
static bool page_that_never_comes(struct page *ret_page)
{
        struct uffdio_api api = { .api = UFFD_API };
        struct uffdio_register range = { .range.len = 4096, .mode = UFFDIO_REGISTER_MODE_MISSING };
        int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
        void *base = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        range.range.start = (uintptr_t)base;
        if (fd < 0 || base == MAP_FAILED || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
                return false;
        *ret_page = (struct page){ fd, base };
        return true;
}

struct writer { int fd; const void *bytes; };

static void *write_it(void *context)
{
        const struct writer *writer = context;

        (void)!pwrite(writer->fd, writer->bytes, 4096, 0);
        return NULL;
}

/* Says 'h' once it holds its memfd, then lives on. */
static int hold(void *context, int pipe)
{
        const struct it_host *host = context;
        struct pw_connection *connection;
        struct pw_answer welcome;
        struct page page;
        pthread_t thread;

        if (pw_connection_open(&(struct pw_connection_params){ .path = host->socket, .fd = -1, .role = "client" }, &connection,
                               &welcome, NULL) != PW_OK ||
            !page_that_never_comes(&page))
                return 2;
        struct writer writer = { welcome.fds[0], page.base };
        struct pollfd fault = { .fd = page.fd, .events = POLLIN };
        if (pthread_create(&thread, NULL, write_it, &writer) || poll(&fault, 1, -1) != 1 || write(pipe, "h", 1) != 1)
                return 3;
        pause();
        return 0;
}

static bool says_held(const struct pw_listing *problems)
{
        for (size_t i = 0; i < it_rows(problems); i++)
                if (strstr(it_text(problems, i, "problem"), "could not be looked at within 1 s: it is held"))
                        return true;
        return false;
}

/* The first lasts 1 s, as the memfd is held; a second of the same session is refused meanwhile. */
static void one_check_at_a_time(const struct it_host *host)
{
        Pathways__Wire__ListRequest list = PATHWAYS__WIRE__LIST_REQUEST__INIT;
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        struct pw_connection *connection;
        struct pw_answer welcome, answer;

        list.what = (char *)(uintptr_t)"check";
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_LIST;
        request.list = &list;
        it_ok(pw_connection_open(&(struct pw_connection_params){ .path = host->socket, .fd = -1, .role = "client" }, &connection,
                                 &welcome, IT_ERR));
        it_ok(pw_connection_post(connection, &request, IT_ERR));
        it_fails(pw_connection_call(connection, &request, &answer, IT_ERR), PW_LIMIT, "an audit of this session is under way");
        pw_answer_done(&welcome);
        pw_connection_close(connection);
}

static void others_go_on(void **state)
{
        struct it_host *host = *state;
        struct pw_future *future;
        struct pw_listing *problems;
        struct page page;
        char byte;

        if (!page_that_never_comes(&page)) {
                it_skip("this user may not hold page faults of the kernel (userfaultfd)");
        }
        struct it_child child = it_fork(hold, host);
        it_read(&child, &byte, 1);
        one_check_at_a_time(host);
        int64_t since_us = it_now_us();
        problems = it_list(host->session, "check", "");
        it_within("check", since_us, 3 * IT_SECOND / 2);
        assert_true(says_held(problems));
        pw_listing_free(problems);
        void *data = calloc(1, 8 * MIB);
        for (int i = 0; i < 4; i++) { /* new extents: the worker makes their pages */
                since_us = it_now_us();
                it_ok(pw_put(host->session, data, (uint64_t)(i + 1) * 2 * MIB, NULL, &future, IT_ERR));
                it_within("a put into new pages", since_us, IT_SECOND / 2);
                pw_unref(future);
        }
        free(data);
        close(page.fd);
        munmap(page.base, 4096);
        assert_int_equal(it_reap(&child, SIGKILL), 128 + SIGKILL);
}

/* The memfd that `data` lies in, opened once more. */
static int memfd_of(const void *data)
{
        FILE *maps = fopen("/proc/self/maps", "r");
        unsigned long start, end;
        char line[400], path[80];
        int fd = -1;

        while (maps && fd < 0 && fgets(line, sizeof line, maps))
                if (sscanf(line, "%lx-%lx", &start, &end) == 2 && (uintptr_t)data >= start && (uintptr_t)data < end) {
                        snprintf(path, sizeof path, "/proc/self/map_files/%lx-%lx", start, end);
                        fd = open(path, O_RDWR | O_CLOEXEC);
                }
        if (maps)
                fclose(maps);
        return fd;
}

/* Says 'h' once it holds the memfd of values that it let go meanwhile; 's' if this user may not. */
static int fill_and_hold(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_future *futures[5];
        struct pw_view view;
        struct page page;
        pthread_t thread;
        void *data = calloc(1, 8 * MIB);

        for (int i = 0; i < 5; i++)
                it_ok(pw_put(session, data, 8 * MIB, NULL, &futures[i], IT_ERR));
        it_ok(pw_get(futures[0], 0, &view, IT_ERR));
        struct writer writer = { memfd_of(view.data), NULL };
        pw_view_done(&view);
        if (writer.fd < 0 || !page_that_never_comes(&page))
                return write(pipe, "s", 1) != 1;
        struct pollfd fault = { .fd = page.fd, .events = POLLIN };
        writer.bytes = page.base;
        if (pthread_create(&thread, NULL, write_it, &writer) || poll(&fault, 1, -1) != 1)
                return 3;
        for (int i = 0; i < 5; i++)
                pw_unref(futures[i]);
        if (write(pipe, "h", 1) != 1)
                return 4;
        pause();
        return 0;
}

static void what_it_kept_comes_back(void **state)
{
        struct it_host *host = *state;
        struct it_child child = it_fork(fill_and_hold, host);
        struct pw_future *future;
        void *data;
        char byte;

        it_read(&child, &byte, 1);
        if (byte == 's') {
                it_reap(&child, 0);
                it_skip("this user may not hold page faults of the kernel (userfaultfd), or not open its own memfd again");
        }
        /* What it let go is still there, as nobody can give its pages back: it is nobody's yet. */
        it_fails(pw_create(host->session, 40 * MIB, &(struct pw_put_params){ .timeout_us = IT_SECOND / 4 }, &future, &data,
                           IT_ERR), PW_NO_SPACE,
                 "40 MiB of host memory");
        struct pw_listing *memory = it_list(host->session, "memory", NULL);
        assert_true(it_number(memory, it_find(memory, "term", "letting go"), "bytes") >= (int64_t)(16 * MIB));
        assert_int_equal(it_number(memory, it_find(memory, "term", "unaccounted"), "bytes"), 0);
        pw_listing_free(memory);
        assert_int_equal(it_reap(&child, SIGKILL), 128 + SIGKILL);
        int64_t since_us = it_now_us();
        it_ok(pw_create(host->session, 40 * MIB, &(struct pw_put_params){ .timeout_us = IT_LONG }, &future, &data, IT_ERR));
        it_within("room that a dead holder had", since_us, IT_SECOND);
        pw_unref(future);
}

static int setup_small(void **state)
{
        return it_setup_with(state, IT_ARGS("--devices", "emulated:1", "--device-memory", "1MiB", "--host-memory", "64MiB"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_TEST(others_go_on),
                cmocka_unit_test_setup_teardown(what_it_kept_comes_back, setup_small, it_teardown),
        };

        return cmocka_run_group_tests_name("held", tests, NULL, NULL);
}
