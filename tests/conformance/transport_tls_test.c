/* What TLS is for: a stranger with a believed certificate cannot say another name, one without gets nothing, and who listens on the
 * way learns nothing and changes nothing. */
#include "daemon/transport/proof/certificate.h"
#include "daemon/transport/stream/control.h"
#include "tests/conformance/transport/place.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>

#include <cmocka.h>

/* Each thing that a stranger does may fail at any time: he writes what he has, and ends. */
static void say(const struct place *place, SSL_CTX *context, const char *greeting, uint32_t count)
{
        int fd = place_knock(place);
        SSL *ssl = SSL_new(context);

        assert_non_null(ssl);
        SSL_set_fd(ssl, fd);
        if (SSL_connect(ssl) == 1) {
                SSL_write(ssl, greeting, (int)count);
                SSL_read(ssl, &(char){ 0 }, 1);
        }
        SSL_free(ssl);
        close(fd);
}

/* In a process of its own, as this one's loop is to turn meanwhile. */
static void be_stranger(struct place *place, SSL_CTX *context, const char *greeting, uint32_t count)
{
        uint32_t before = place->refused_count;
        pid_t child = fork();

        assert_true(child >= 0);
        if (!child) {
                say(place, context, greeting, count);
                _exit(0);
        }
        place_await(place, &place->refused_count, before + 1);
}

static void test_names(void **state)
{
        struct pw_transport_params params = { .host_name = "alpha" };
        SSL_CTX *context, *nobody = SSL_CTX_new(TLS_client_method());
        struct place place;

        (void)state;
        place_make(&place, &(struct place_params){ .kind = "tls" });
        place_credentials("tls", "alpha", &params);
        assert_int_equal(pw_certificate_context(&params, &context, NULL), PW_OK);
        be_stranger(&place, context, "pwT\1\1\5\0\0gamma", 13);
        assert_int_equal(place.refusal.status, PW_DENIED);
        assert_non_null(strstr(place.refusal.text, "gamma"));
        be_stranger(&place, nobody, "pwT\1\1\5\0\0alpha", 13);
        assert_int_equal(place.refusal.status, PW_DENIED);
        assert_non_null(strstr(place.refusal.text, "no certificate"));
        SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
        SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
        be_stranger(&place, context, "pwT\1\1\5\0\0alpha", 13);
        assert_int_equal(place.refusal.status, PW_PROTOCOL);
        assert_int_equal(place.came_count, 0);
        SSL_CTX_free(context);
        SSL_CTX_free(nobody);
        place_remove(&place);
}

static void write_all(struct pw_pipe *pipe, const char *text)
{
        struct iovec part = { (char *)(uintptr_t)text, strlen(text) };
        size_t bytes = 0;

        assert_int_equal(pipe->kind->write(pipe, &part, 1, &bytes, NULL), PW_OK);
        assert_int_equal(bytes, strlen(text));
}

/* The bytes are there by the time that a read of the loopback's other end finds them: it waits for the first. */
static void test_nothing_plain(void **state)
{
        static const char plain[] = "a value that is nobody's business";
        char seen[512], read[64];
        struct iovec part = { read, sizeof read };
        struct place place;
        size_t bytes = 0;
        ssize_t count;

        (void)state;
        place_make(&place, &(struct place_params){ .kind = "tls" });
        assert_int_equal(place_call(&place, "beta", PW_USE_CONTROL), PW_OK);
        write_all(place.called, plain);
        while ((count = recv(place.came->fd, seen, sizeof seen, MSG_PEEK)) < 0)
                assert_int_equal(errno, EAGAIN);
        assert_true(count >= (ssize_t)sizeof plain);
        assert_null(memmem(seen, (size_t)count, plain, 8));
        assert_int_equal(place.came->kind->read(place.came, &part, 1, &bytes, NULL), PW_OK);
        assert_memory_equal(read, plain, bytes);
        place_remove(&place);
}

static void on_frame(void *context, const uint8_t *frame, uint32_t bytes)
{
        (void)frame, (void)bytes;
        ++*(uint32_t *)context;
}

static void on_room(void *context) { (void)context; }

static struct pw_error broken_why;
static uint32_t broken;

static void on_broken(void *context, const struct pw_error *why)
{
        (void)context;
        broken_why = *why;
        broken++;
}

/* Bytes that somebody put in between end the stream, and none of them is handed out. */
static void test_spoilt(void **state)
{
        static const struct pw_control_stream_events events = { on_frame, on_room, on_broken };
        static const uint8_t record[] = { 0x17, 3, 3, 0, 20, [24] = 20 };
        uint32_t frames = 0;
        struct pw_control_stream_params params = { &events, &frames, 0 };
        struct pw_control_stream *stream;
        struct place place;

        (void)state;
        place_make(&place, &(struct place_params){ .kind = "tls" });
        assert_int_equal(place_call(&place, "beta", PW_USE_CONTROL), PW_OK);
        assert_int_equal(pw_control_stream_new(place.came, &params, &stream, NULL), PW_OK);
        place.came = NULL;
        assert_int_equal(send(place.called->fd, record, sizeof record, MSG_NOSIGNAL), sizeof record);
        place_await(&place, &broken, 1);
        assert_int_equal(broken_why.status, PW_PROTOCOL);
        assert_int_equal(frames, 0);
        pw_control_stream_free(stream);
        place_remove(&place);
}

static int begin(void **state)
{
        place_group_begin(state); /* it waits for who makes certificates */
        signal(SIGCHLD, SIG_IGN); /* strangers are not waited for */
        return 0;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_nothing_plain),
                cmocka_unit_test(test_spoilt),
        };

        return cmocka_run_group_tests(tests, begin, place_group_end);
}
