/* Clients that are rude on their socket: they send descriptors of every kind, begin frames and do not end them, ask and do not
 * read, shut one side. The daemon goes on answering others within their time, holds a bounded number of descriptors and bytes for
 * them, and burns no processor.
 */
#include "tests/integration/older.h"
#include "tests/integration/process.h"
#include "tests/integration/raw.h"
#include "wire/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)
#define LINGER_S 60 /* longer than anybody waits for an answer */

/* --- a socket without a library ----------------------------------------------------------------------------------------------- */

static uint32_t pack_segment(uint8_t *frame, uint64_t id, uint32_t segment)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__SegmentRequest body = PATHWAYS__WIRE__SEGMENT_REQUEST__INIT;

        body.segment = segment;
        request.id = id;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_SEGMENT;
        request.segment = &body;
        return raw_pack(&request, frame);
}

/* The next reply; its descriptors go. */
static Pathways__Wire__Reply *next_reply(int fd, struct pw_decoder *decoder)
{
        struct pw_frame frame;
        size_t bytes;

        while (pw_frame_next(decoder, &frame, NULL) != PW_OK)
                it_ok(pw_decoder_read(decoder, fd, true, &bytes, IT_ERR));
        return pathways__wire__reply__unpack(NULL, frame.bytes, frame.payload);
}

/* Said hello; returns the number of its tenant's futures segment. */
static uint32_t attach_raw(int fd, struct pw_decoder *decoder)
{
        uint8_t frame[256];
        uint32_t bytes = raw_pack_hello(frame), segment;

        assert_int_equal(send(fd, frame, bytes, MSG_NOSIGNAL), bytes);
        Pathways__Wire__Reply *reply = next_reply(fd, decoder);
        assert_int_equal(reply->body_case, PATHWAYS__WIRE__REPLY__BODY_WELCOME);
        segment = reply->welcome->futures->segment;
        pathways__wire__reply__free_unpacked(reply, NULL);
        return segment;
}

static void others_are_served(const struct it_host *host)
{
        int64_t since_us = it_now_us();

        assert_true(it_listed(host->session, "status", "host") >= 0);
        it_within("an answer to somebody else", since_us, IT_SECOND / 2);
}

static bool has_few_descriptors(const struct pw_listing *listing, void *context)
{
        const uint64_t *most = context;
        const struct it_host *host = (const void *)(uintptr_t)most[1];

        (void)listing;
        return it_has(host->pid).fds <= most[0];
}

/* What came was closed: as many are open as before. */
static void descriptors_are_back(const struct it_host *host, uint64_t before)
{
        uint64_t most[2] = { before, (uintptr_t)host };

        it_until(host->session, "status", has_few_descriptors, most);
}

/* --- descriptors -------------------------------------------------------------------------------------------------------------- */

/* A connection with more to send than its other side takes, which waits with its close for LINGER_S. *ret_peer stays open. */
static int lingering(int *ret_peer)
{
        struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        struct linger linger = { 1, LINGER_S };
        static const char zeros[1 << 16];
        socklen_t bytes = sizeof address;
        int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
        assert_int_equal(listen(listener, 1), 0);
        assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &bytes), 0);
        assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
        *ret_peer = accept(listener, NULL, NULL);
        assert_true(*ret_peer >= 0);
        while (send(fd, zeros, sizeof zeros, MSG_DONTWAIT) > 0)
                ;
        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger), 0);
        close(listener);
        return fd;
}

static void send_with(int socket, const void *bytes, size_t count, const int *fds, uint32_t fd_count, int flags)
{
        union { struct cmsghdr align; char space[CMSG_SPACE(PW_MESSAGE_FDS_MAX * sizeof(int))]; } room = { .space = { 0 } };
        struct iovec part = { (void *)(uintptr_t)bytes, count };
        struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = room.space,
                                  .msg_controllen = CMSG_SPACE(fd_count * sizeof(int)) };

        room.align = (struct cmsghdr){ .cmsg_len = CMSG_LEN(fd_count * sizeof(int)), .cmsg_level = SOL_SOCKET,
                                       .cmsg_type = SCM_RIGHTS };
        memcpy(CMSG_DATA(&room.align), fds, fd_count * sizeof(int));
        assert_int_equal(sendmsg(socket, &message, flags | MSG_NOSIGNAL), count);
}

enum how { WITH_HELLO, WITH_BELL, WITH_HALF, BEHIND_GARBAGE, URGENT, NESTED, HOWS };

static void stop(pid_t pid)
{
        siginfo_t info;

        assert_int_equal(kill(pid, SIGSTOP), 0);
        assert_int_equal(waitid(P_PID, (id_t)pid, &info, WSTOPPED), 0);
}

/* The last reference to `fd_take` is on its way to the daemon, which is stopped until that is so. */
static void send_last(const struct it_host *host, enum how how, int fd_take)
{
        int socket = raw_connect(host), pair[2] = { -1, -1 };
        uint8_t frame[256] = { 0 };
        uint32_t bytes = raw_pack_hello(frame);

        stop(host->pid);
        if (how == NESTED) {
                assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
                send_with(pair[0], "x", 1, &fd_take, 1, 0);
        }
        if (how == BEHIND_GARBAGE)
                send(socket, "garbage garbage", 15, MSG_NOSIGNAL);
        if (how == WITH_BELL)
                send_with(socket, "", 1, &fd_take, 1, 0);
        else if (how == URGENT)
                send_with(socket, "", 1, &fd_take, 1, MSG_OOB);
        else if (how == NESTED)
                send_with(socket, "", 1, pair, 2, 0);
        else
                send_with(socket, frame, how == WITH_HALF ? 3 : bytes, &fd_take, 1, 0);
        close(fd_take);
        if (pair[0] >= 0)
                close(pair[0]), close(pair[1]);
        shutdown(socket, SHUT_WR);
        kill(host->pid, SIGCONT);
        raw_is_hung_up(socket);
}

/* Who closes the last reference to such a socket waits: not who answers others. */
static void who_lingers(void **state)
{
        struct it_host *host = *state;
        uint64_t before = it_has(host->pid).fds;
        int peers[HOWS];

        for (enum how how = 0; how < HOWS; how++) {
                int fd = lingering(&peers[how]);

                send_last(host, how, fd);
                others_are_served(host);
        }
        descriptors_are_back(host, before);
        for (enum how how = 0; how < HOWS; how++)
                close(peers[how]);
}

static int userfault(void)
{
        struct uffdio_api api = { .api = UFFD_API };
        int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

        if (fd >= 0)
                (void)!ioctl(fd, UFFDIO_API, &api);
        return fd;
}

static int huge_file(void)
{
        int fd = memfd_create("huge", MFD_CLOEXEC);

        assert_int_equal(ftruncate(fd, (off_t)1 << 50), 0);
        return fd;
}

static void odd_kinds(void **state)
{
        struct it_host *host = *state;
        uint64_t before = it_has(host->pid).fds;
        int pipes[2];

        assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
        const int kinds[] = { pipes[0], pipes[1], open("/dev/zero", O_RDWR | O_CLOEXEC), open("/", O_PATH | O_CLOEXEC),
                              memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING),
                              memfd_create("pages", MFD_CLOEXEC | MFD_HUGETLB), huge_file(), userfault(), raw_connect(host) };
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
                if (kinds[i] >= 0) /* some systems have not all of them */
                        send_last(host, (enum how)(i % BEHIND_GARBAGE), kinds[i]);
        others_are_served(host);
        descriptors_are_back(host, before);
}

static void floods_of_them(void **state)
{
        struct it_host *host = *state;
        uint64_t before = it_has(host->pid).fds;
        int fds[PW_MESSAGE_FDS_MAX], zero = open("/dev/zero", O_RDWR | O_CLOEXEC);

        for (uint32_t i = 0; i < PW_MESSAGE_FDS_MAX; i++)
                fds[i] = zero;
        for (int i = 0; i < 20; i++) {
                int socket = raw_connect(host);

                send_with(socket, "", 1, fds, PW_MESSAGE_FDS_MAX, 0);
                raw_is_hung_up(socket);
        }
        others_are_served(host);
        descriptors_are_back(host, before);
        close(zero);
}

/* --- frames that do not end --------------------------------------------------------------------------------------------------- */

static void strangers_say_little(void **state)
{
        struct it_host *host = *state;
        int fd = raw_connect(host);
        uint8_t header[PW_FRAME_HEADER];

        pw_frame_header(header, PW_FRAME_REQUEST, (uint32_t)MIB, 0);
        send(fd, header, sizeof header, MSG_NOSIGNAL);
        raw_is_hung_up(fd);
        others_are_served(host);
}

#define PATIENCE (10 * IT_SECOND)

/* Who says nothing has 10 s for its Hello, also who came when others had been waited for already. */
static void who_never_says_hello(void **state)
{
        struct it_host *host = *state;
        int64_t since_us[2];
        int fds[2];

        for (int i = 0; i < 2; i++) {
                fds[i] = raw_connect(host);
                since_us[i] = it_now_us();
                assert_true(fds[i] >= 0);
                assert_int_equal(poll(&(struct pollfd){ .fd = fds[i], .events = POLLIN }, 1, 1500), 0); /* nothing comes yet */
        }
        for (int i = 0; i < 2; i++) {
                raw_is_hung_up(fds[i]);
                assert_true(it_now_us() - since_us[i] >= PATIENCE - IT_SECOND / 2);
                it_within("the end of who says nothing", since_us[i], PATIENCE + IT_SECOND);
        }
        others_are_served(host);
}

/* As much of a frame as the daemon takes. */
static bool begin_frame(int fd, uint64_t bytes)
{
        static const char zeros[1 << 16];
        uint8_t header[PW_FRAME_HEADER];

        pw_frame_header(header, PW_FRAME_REQUEST, PW_FRAME_MAX, 0);
        if (send(fd, header, sizeof header, MSG_NOSIGNAL) != sizeof header)
                return false;
        for (uint64_t sent = 0; sent < bytes;) {
                ssize_t more = send(fd, zeros, sizeof zeros, MSG_NOSIGNAL);
                if (more <= 0)
                        return false;
                sent += (uint64_t)more;
        }
        return true;
}

#define BEGINNERS 5

static void frames_without_end(void **state)
{
        struct it_host *host = *state;
        struct pw_decoder decoders[BEGINNERS];
        int fds[BEGINNERS], refused = 0;

        for (int i = 0; i < BEGINNERS; i++) {
                pw_decoder_init(&decoders[i]);
                fds[i] = raw_connect(host);
                attach_raw(fds[i], &decoders[i]);
                refused += !begin_frame(fds[i], 40 * MIB);
                others_are_served(host);
        }
        assert_true(refused >= BEGINNERS - 3);
        for (int i = 0; i < BEGINNERS; i++) {
                close(fds[i]);
                pw_decoder_done(&decoders[i]);
        }
}

/* What was whole is not counted any more: any number of sessions may each have sent one. */
static void large_frames_that_end(void **state)
{
        struct it_host *host = *state;
        struct pw_decoder decoders[BEGINNERS];
        int fds[BEGINNERS];
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__NameRemove body = PATHWAYS__WIRE__NAME_REMOVE__INIT;
        uint8_t *frame = malloc(31 * MIB);

        body.name = malloc(30 * MIB);
        memset(body.name, 'x', 30 * MIB);
        body.name[30 * MIB - 1] = '\0';
        request.id = 2;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_NAME_REMOVE;
        request.name_remove = &body;
        uint32_t bytes = raw_pack(&request, frame);
        for (int i = 0; i < BEGINNERS; i++) {
                pw_decoder_init(&decoders[i]);
                fds[i] = raw_connect(host);
                attach_raw(fds[i], &decoders[i]);
                assert_int_equal(send(fds[i], frame, bytes, MSG_NOSIGNAL), bytes);
                Pathways__Wire__Reply *reply = next_reply(fds[i], &decoders[i]);
                assert_int_equal(reply->id, 2);
                pathways__wire__reply__free_unpacked(reply, NULL);
        }
        for (int i = 0; i < BEGINNERS; i++) {
                close(fds[i]);
                pw_decoder_done(&decoders[i]);
        }
        free(body.name);
        free(frame);
}

/* --- replies that nobody reads ------------------------------------------------------------------------------------------------ */

#define QUESTIONS 4000u

/* Ask until the daemon does not listen any more, or all is asked. Returns how much was. */
static uint32_t ask_on(int fd, uint32_t segment, uint32_t first)
{
        uint8_t frame[64];

        for (uint32_t i = first; i < QUESTIONS; i++) {
                uint32_t bytes = pack_segment(frame, 2 + i, segment);
                struct pollfd on = { .fd = fd, .events = POLLOUT };

                if (poll(&on, 1, 0) != 1 || send(fd, frame, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
                        return i;
        }
        return QUESTIONS;
}

/* Each reply brings a descriptor: the daemon keeps few of them for who does not read, and answers all once it reads. */
static void who_does_not_read_is_not_read(void **state)
{
        struct it_host *host = *state;
        struct pw_decoder decoder;
        int fd = raw_connect(host);

        pw_decoder_init(&decoder);
        uint32_t segment = attach_raw(fd, &decoder), asked = 0, got = 0;
        uint64_t before = it_has(host->pid).fds;
        for (uint32_t now = UINT32_MAX; now != asked;) {
                now = asked;
                asked = ask_on(fd, segment, asked);
                others_are_served(host); /* and the daemon has read what it wants to */
        }
        assert_true(asked < QUESTIONS);
        assert_true(it_has(host->pid).fds < before + 64);
        for (; got < QUESTIONS; got++) {
                asked = ask_on(fd, segment, asked);
                Pathways__Wire__Reply *reply = next_reply(fd, &decoder);
                assert_int_equal(reply->id, 2 + got);
                assert_int_equal(reply->body_case, PATHWAYS__WIRE__REPLY__BODY_SEGMENT);
                pathways__wire__reply__free_unpacked(reply, NULL);
        }
        pw_decoder_done(&decoder);
        close(fd);
}

/* Of descriptors that nobody took yet the kernel lets a user have only so many, and the daemon is one user for all its tenants. */
static void few_descriptors_are_on_their_way(void **state)
{
        struct it_host *host = *state;
        struct pw_decoder decoder;
        int fd = raw_connect(host);
        enum pw_status status;
        size_t bytes;

        pw_decoder_init(&decoder);
        uint32_t segment = attach_raw(fd, &decoder);
        for (uint32_t asked = 0, now = UINT32_MAX; now != asked;) {
                now = asked;
                asked = ask_on(fd, segment, asked);
                others_are_served(host);
        }
        stop(host->pid);
        do {
                status = pw_decoder_read(&decoder, fd, false, &bytes, NULL);
        } while (status == PW_OK && bytes);
        kill(host->pid, SIGCONT);
        assert_int_equal(status, PW_OK);
        assert_int_equal(decoder.fd_count - decoder.handed_count, 1);
        pw_decoder_done(&decoder);
        close(fd);
}

static int64_t burnt_us(pid_t pid)
{
        struct timespec burnt;
        clockid_t clock;

        assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
        assert_int_equal(clock_gettime(clock, &burnt), 0);
        return burnt.tv_sec * IT_SECOND + burnt.tv_nsec / 1000;
}

/* Its replies go nowhere, and nobody tries again and again. */
static void who_shut_its_side(void **state)
{
        struct it_host *host = *state;
        struct pw_decoder decoder;
        struct pw_future *none;
        uint8_t frame[64];
        int fd = raw_connect(host);

        pw_decoder_init(&decoder);
        uint32_t bytes = pack_segment(frame, 2, attach_raw(fd, &decoder));
        assert_int_equal(shutdown(fd, SHUT_RD), 0);
        assert_int_equal(send(fd, frame, bytes, MSG_NOSIGNAL), bytes);
        others_are_served(host);
        int64_t before_us = burnt_us(host->pid);
        it_fails(pw_lookup(host->session, "nobody", IT_SECOND / 2, &none, IT_ERR), PW_DEADLINE, "nobody");
        assert_true(burnt_us(host->pid) - before_us < IT_SECOND / 10);
        close(fd);
        pw_decoder_done(&decoder);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_TEST(who_lingers), IT_TEST(odd_kinds), IT_TEST(floods_of_them), IT_TEST(strangers_say_little),
                        IT_TEST(who_never_says_hello), IT_TEST(frames_without_end),
                IT_TEST(large_frames_that_end), IT_TEST(who_does_not_read_is_not_read), IT_TEST(few_descriptors_are_on_their_way),
                IT_TEST(who_shut_its_side),
        };

        if (!older_begin()) { /* else no descriptor gets to the daemon */
                printf("this system cannot be made to take descriptors at every socket\n");
                return 77;
        }
        return cmocka_run_group_tests(tests, NULL, NULL);
}
