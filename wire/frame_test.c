/* Frames through a socket pair, cut at every byte, with descriptors, and bytes that no sender of ours would write. */
#include "wire/frame.h"

#include "base/memory.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cmocka.h>

struct stream { uint8_t bytes[256]; uint32_t count; };

static void stream_add(struct stream *stream, enum pw_frame_kind kind, const char *payload)
{
        uint32_t bytes = (uint32_t)strlen(payload);
        stream->count += pw_frame_header(stream->bytes + stream->count, kind, bytes, 0);
        memcpy(stream->bytes + stream->count, payload, bytes);
        stream->count += bytes;
}

static void expect_frame(struct pw_decoder *decoder, enum pw_frame_kind kind, const char *payload)
{
        struct pw_frame frame;
        assert_int_equal(pw_frame_next(decoder, &frame, NULL), PW_OK);
        assert_int_equal(frame.kind, kind);
        assert_int_equal(frame.bytes, strlen(payload));
        if (frame.bytes)
                assert_memory_equal(frame.payload, payload, frame.bytes);
}

static void test_cut_at_every_byte(void **state)
{
        (void)state;
        struct stream stream = { .count = 0 };
        stream_add(&stream, PW_FRAME_REQUEST, "first");
        stream.bytes[stream.count++] = 0;
        stream.bytes[stream.count++] = 0;
        stream_add(&stream, PW_FRAME_REPLY, "");
        stream_add(&stream, PW_FRAME_REPLY, "third");
        for (uint32_t cut = 0; cut <= stream.count; cut++) {
                struct pw_decoder decoder;
                struct pw_frame frame;
                pw_decoder_init(&decoder);
                assert_int_equal(pw_decoder_feed(&decoder, stream.bytes, cut, NULL), PW_OK);
                uint32_t frames = 0, bells = 0;
                while (pw_frame_next(&decoder, &frame, NULL) == PW_OK)
                        frame.kind == PW_FRAME_DOORBELL ? bells++ : frames++;
                assert_int_equal(pw_decoder_feed(&decoder, stream.bytes + cut, stream.count - cut, NULL), PW_OK);
                enum pw_status status;
                while ((status = pw_frame_next(&decoder, &frame, NULL)) == PW_OK)
                        frame.kind == PW_FRAME_DOORBELL ? bells++ : frames++;
                assert_int_equal(status, PW_NOT_READY);
                assert_int_equal(frames, 3);
                assert_in_range(bells, 1, 2); /* doorbells in a row may be handed out as one */
                pw_decoder_done(&decoder);
        }
}

static void test_order_and_payload(void **state)
{
        (void)state;
        struct stream stream = { .count = 0 };
        stream_add(&stream, PW_FRAME_REQUEST, "first");
        stream.bytes[stream.count++] = 0;
        stream_add(&stream, PW_FRAME_REPLY, "second");
        struct pw_decoder decoder;
        pw_decoder_init(&decoder);
        assert_int_equal(pw_decoder_feed(&decoder, stream.bytes, stream.count, NULL), PW_OK);
        expect_frame(&decoder, PW_FRAME_REQUEST, "first");
        expect_frame(&decoder, PW_FRAME_DOORBELL, "");
        expect_frame(&decoder, PW_FRAME_REPLY, "second");
        pw_decoder_done(&decoder);
}

static void test_hostile_headers(void **state)
{
        (void)state;
        static const uint8_t headers[][PW_FRAME_HEADER] = {
                { 3, 0, 0, 0, 0, 0, 0, 0 },             /* no such kind */
                { 255, 0, 0, 0, 0, 0, 0, 0 },
                { 1, 0, 1, 0, 0, 0, 0, 0 },             /* what must be zero is not */
                { 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff }, /* 4 GiB */
                { 2, 0, 0, 0, 1, 0, 0, 4 },             /* one byte over the limit */
                { 1, 129, 0, 0, 0, 0, 0, 0 },           /* more descriptors than any frame may have */
                { 1, 1, 0, 0, 0, 0, 0, 0 },             /* a descriptor that did not come */
        };
        for (size_t i = 0; i < pw_array_count(headers); i++) {
                struct pw_decoder decoder;
                struct pw_frame frame;
                struct pw_error err;
                pw_decoder_init(&decoder);
                assert_int_equal(pw_decoder_feed(&decoder, headers[i], sizeof headers[i], NULL), PW_OK);
                assert_int_equal(pw_frame_next(&decoder, &frame, &err), PW_PROTOCOL);
                assert_int_equal(err.status, PW_PROTOCOL);
                pw_decoder_done(&decoder);
        }
}

static void test_random_bytes(void **state)
{
        (void)state;
        uint64_t seed = 88172645463325252u;
        for (int round = 0; round < 2000; round++) {
                struct pw_decoder decoder;
                struct pw_frame frame;
                uint8_t bytes[64];
                pw_decoder_init(&decoder);
                for (int chunk = 0; chunk < 4; chunk++) {
                        for (size_t i = 0; i < sizeof bytes; i++) {
                                seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
                                bytes[i] = seed % 3 ? (uint8_t)(seed % 4) : (uint8_t)(seed >> 24);
                        }
                        assert_int_equal(pw_decoder_feed(&decoder, bytes, sizeof bytes, NULL), PW_OK);
                        while (pw_frame_next(&decoder, &frame, NULL) == PW_OK)
                                assert_true(frame.bytes <= sizeof bytes * 4);
                }
                pw_decoder_done(&decoder);
        }
}

static bool fd_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }

static void test_descriptors(void **state)
{
        (void)state;
        int sockets[2], pipes[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
        assert_int_equal(pipe(pipes), 0);
        assert_int_equal(pw_frame_send(sockets[0], PW_FRAME_REPLY, (const uint8_t *)"ab", 2, pipes, 2, NULL), PW_OK);
        assert_int_equal(pw_frame_send(sockets[0], PW_FRAME_REPLY, (const uint8_t *)"c", 1, NULL, 0, NULL), PW_OK);
        struct pw_decoder decoder;
        struct pw_frame frame;
        size_t bytes, total = 0;
        pw_decoder_init(&decoder);
        while (total < 2 * PW_FRAME_HEADER + 3) {
                assert_int_equal(pw_decoder_read(&decoder, sockets[1], true, &bytes, NULL), PW_OK);
                total += bytes;
        }
        assert_int_equal(pw_decoder_read(&decoder, sockets[1], false, &bytes, NULL), PW_OK);
        assert_int_equal(bytes, 0);
        assert_int_equal(pw_frame_next(&decoder, &frame, NULL), PW_OK);
        assert_int_equal(frame.fd_count, 2);
        int taken = frame.fds[0], left = frame.fds[1];
        frame.fds[0] = -1;
        assert_int_equal(pw_frame_next(&decoder, &frame, NULL), PW_OK);
        assert_int_equal(frame.fd_count, 0);
        assert_true(fd_open(taken));
        assert_false(fd_open(left));
        close(taken);
        close(sockets[0]);
        assert_int_equal(pw_decoder_read(&decoder, sockets[1], true, &bytes, NULL), PW_DAEMON_GONE);
        pw_decoder_done(&decoder);
        close(sockets[1]), close(pipes[0]), close(pipes[1]);
}

/* Descriptors that no frame claims are bounded, and closed. */
static void test_descriptors_without_frames(void **state)
{
        (void)state;
        int sockets[2], pipes[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
        assert_int_equal(pipe(pipes), 0);
        struct pw_decoder decoder;
        struct pw_frame frame;
        pw_decoder_init(&decoder);
        int many[100];
        for (size_t i = 0; i < pw_array_count(many); i++)
                many[i] = pipes[0];
        size_t bytes;
        enum pw_status status = PW_OK;
        for (int round = 0; round < 3; round++) {
                char zero = 0;
                struct iovec part = { &zero, 1 };
                union { struct cmsghdr align; char bytes[CMSG_SPACE(sizeof many)]; } room = { .bytes = { 0 } };
                struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = room.bytes,
                                          .msg_controllen = sizeof room.bytes };
                struct cmsghdr *cmsg = CMSG_FIRSTHDR(&message);
                *cmsg = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof many) };
                memcpy(CMSG_DATA(cmsg), many, sizeof many);
                assert_int_equal(sendmsg(sockets[0], &message, 0), 1);
                status = pw_decoder_read(&decoder, sockets[1], true, &bytes, NULL);
                if (status == PW_OK)
                        assert_int_equal(pw_frame_next(&decoder, &frame, NULL), PW_OK);
        }
        assert_int_equal(status, PW_PROTOCOL);
        pw_decoder_done(&decoder);
        int next = dup(pipes[0]);
        assert_true(next < 64); /* nothing of the 300 is left */
        close(next), close(sockets[0]), close(sockets[1]), close(pipes[0]), close(pipes[1]);
}

static void send_file(int socket, int file, const char *bytes)
{
        struct iovec part = { (void *)(uintptr_t)bytes, strlen(bytes) };
        union { struct cmsghdr align; char bytes[CMSG_SPACE(sizeof file)]; } room = { .bytes = { 0 } };
        struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = room.bytes,
                                  .msg_controllen = sizeof room.bytes };
        struct cmsghdr *cmsg = CMSG_FIRSTHDR(&message);
        *cmsg = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof file) };
        memcpy(CMSG_DATA(cmsg), &file, sizeof file);
        assert_int_equal(sendmsg(socket, &message, 0), part.iov_len);
}

static bool is_closed(int pipe)
{
        char byte;
        return read(pipe, &byte, 1) == 0; /* nobody has the other end */
}

/* What comes before descriptors is read; they stay in the socket, and go with it. */
static void test_bytes_alone(void **state)
{
        (void)state;
        for (int looks = 0; looks < 2; looks++) {
                struct pw_decoder decoder;
                int sockets[2], pipes[2];
                size_t bytes = 1;
                assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
                assert_int_equal(pipe2(pipes, O_CLOEXEC | O_NONBLOCK), 0);
                pw_decoder_init(&decoder);
                assert_int_equal(pw_decoder_read_bytes(&decoder, sockets[1], looks, &bytes, NULL), PW_OK);
                assert_int_equal(bytes, 0);
                assert_int_equal(write(sockets[0], "before", 6), 6);
                assert_int_equal(pw_decoder_read_bytes(&decoder, sockets[1], looks, &bytes, NULL), PW_OK);
                assert_int_equal(bytes, 6);
                assert_memory_equal(decoder.buffer + decoder.end - 6, "before", 6);
                if (looks) {
                        int next = dup(pipes[0]);
                        close(next);
                        send_file(sockets[0], pipes[1], "with");
                        close(pipes[1]);
                        for (int i = 0; i < 2; i++)
                                assert_int_equal(pw_decoder_read_bytes(&decoder, sockets[1], true, &bytes, NULL), PW_PROTOCOL);
                        assert_int_equal(decoder.fd_count, 0);
                        assert_false(is_closed(pipes[0]));
                        assert_int_equal(fcntl(next, F_GETFD), -1); /* none was received */
                } else {
                        close(pipes[1]);
                        close(sockets[0]);
                        assert_int_equal(pw_decoder_read_bytes(&decoder, sockets[1], false, &bytes, NULL), PW_DAEMON_GONE);
                }
                close(sockets[1]);
                assert_true(is_closed(pipes[0]));
                close(sockets[0]), close(pipes[0]);
                pw_decoder_done(&decoder);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_cut_at_every_byte), cmocka_unit_test(test_order_and_payload),
                cmocka_unit_test(test_hostile_headers), cmocka_unit_test(test_random_bytes),
                cmocka_unit_test(test_descriptors), cmocka_unit_test(test_descriptors_without_frames),
                cmocka_unit_test(test_bytes_alone),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
