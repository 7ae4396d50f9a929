/* Every kind of transport keeps the contract of daemon/transport/transport.h: who meets, and who does not. */
#include "tests/conformance/transport/place.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#define SOON_US 300000u

/* Both know who the other one is, and what the connection is for. */
static void test_meet(void **state)
{
        const struct pw_transport_kind *kind;
        struct place place;

        (void)state;
        each_kind(kind) {
                place_make(&place, &(struct place_params){ .kind = kind->name });
                assert_ptr_equal(pw_transport_kind_of(place.alpha), kind);
                assert_int_equal(place_call(&place, "Beta", PW_USE_BULK), PW_OK);
                assert_string_equal(place.answer.name, "beta");
                assert_string_equal(place.greeting.name, "alpha");
                assert_int_equal(place.greeting.use, PW_USE_BULK);
                assert_int_equal(place.greeting.ticket_bytes, 6);
                assert_memory_equal(place.greeting.ticket, "ticket", 6);
                place_drop_pipes(&place);
                assert_int_equal(place_call(&place, NULL, PW_USE_CONTROL), PW_OK);
                assert_int_equal(place.greeting.use, PW_USE_CONTROL);
                assert_int_equal(place.greeting.ticket_bytes, 0);
                assert_int_equal(place.refused_count, 0);
                place_remove(&place);
        }
}

/* Another host answers at the address. */
static void test_other_host(void **state)
{
        const struct pw_transport_kind *kind;
        struct place place;

        (void)state;
        each_kind(kind) {
                place_make(&place, &(struct place_params){ .kind = kind->name });
                assert_int_equal(place_call(&place, "gamma", PW_USE_CONTROL), PW_DENIED);
                assert_non_null(strstr(place.why.text, "gamma"));
                assert_non_null(strstr(place.why.text, place.address));
                assert_int_equal(place_call(&place, "beta", PW_USE_CONTROL), PW_OK);
                place_remove(&place);
        }
}

/* Who says nothing goes at his deadline, and nobody waits for him. */
static void test_silence(void **state)
{
        const struct pw_transport_kind *kind;
        struct place place;

        (void)state;
        each_kind(kind) {
                int stranger, half;

                place_make(&place, &(struct place_params){ .kind = kind->name, .handshake_us = SOON_US });
                stranger = place_knock(&place);
                half = place_knock(&place);
                assert_int_equal(send(half, "p", 1, MSG_NOSIGNAL), 1);
                assert_int_equal(place_call(&place, "beta", PW_USE_CONTROL), PW_OK);
                place_await(&place, &place.refused[PW_DEADLINE], 1);
                place_await(&place, &place.refused_count, 2);
                assert_int_equal(recv(stranger, &(char){ 0 }, 1, 0), 0);
                close(stranger);
                close(half);
                place_remove(&place);
        }
}

/* Nor is a caller kept by who takes his call and says nothing. */
static void test_silent_answer(void **state)
{
        const struct pw_transport_kind *kind;
        struct place place;

        (void)state;
        each_kind(kind) {
                struct pw_address address = { .bytes = sizeof(struct sockaddr_in) };
                char path[64], text[PW_TRANSPORT_ADDRESS_TEXT];
                int fd;

                place_make(&place, &(struct place_params){ .kind = kind->name, .handshake_us = SOON_US });
                snprintf(path, sizeof path, "%s/mute.sock", place.folder);
                assert_int_equal(kind->resolve(!strcmp(kind->name, "unix") ? path : "127.0.0.1:0", &address, NULL), PW_OK);
                fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
                assert_int_equal(bind(fd, &address.any, address.bytes), 0);
                assert_int_equal(listen(fd, 1), 0);
                assert_int_equal(getsockname(fd, &address.any, &address.bytes), 0);
                strcpy(place.address, pw_address_format(&address, text, sizeof text));
                assert_int_equal(place_call(&place, "beta", PW_USE_CONTROL), PW_DEADLINE);
                close(fd);
                assert_int_equal(place_call(&place, "beta", PW_USE_CONTROL), PW_NOT_FOUND);
                unlink(path);
                place_remove(&place);
        }
}

/* What is no greeting, a greeting that claims 4 GiB, and one that never ends: each is refused, and the next caller is served. */
static void test_garbage(void **state)
{
        static const struct { const char *bytes; uint32_t count; } says[] = {
                { "GET / HTTP/1.1\r\nHost: beta\r\n\r\n", 30 }, { "\xff\xff\xff\xff\xff\xff\xff\xff", 8 },
                { "pwT\1\1\xff\xff\xff", 8 },                   { "\x16\x03\x01\xff\xff\1\xff\xff\xff", 9 },
                { "pwT\1\1\4\0\0a\0a\0", 12 },                  { "pwT\2\1\4\0\0beta", 12 },
                { "pwT\1\1\1\x40\0", 8 },                  { "xwT\1\1\4\0\0beta", 12 },
        };
        const struct pw_transport_kind *kind;
        struct place place;

        (void)state;
        each_kind(kind) {
                place_make(&place, &(struct place_params){ .kind = kind->name });
                for (uint32_t i = 0; i < pw_array_count(says); i++) {
                        int stranger = place_knock(&place);

                        for (uint32_t j = 0; j < says[i].count; j++) /* a byte at a time */
                                assert_true(send(stranger, says[i].bytes + j, 1, MSG_NOSIGNAL) == 1 || errno == EPIPE);
                        shutdown(stranger, SHUT_WR);
                        place_await(&place, &place.refused_count, i + 1);
                        assert_true(place.refusal.status == PW_PROTOCOL || place.refusal.status == PW_DENIED ||
                                    place.refusal.status == PW_DAEMON_GONE);
                        close(stranger);
                }
                assert_true(place.refused[PW_PROTOCOL] > 0);
                assert_int_equal(place.came_count, 0);
                assert_int_equal(place_call(&place, "beta", PW_USE_CONTROL), PW_OK);
                place_remove(&place);
        }
}

/* More strangers than there is room for: the oldest make way, and who proves himself gets in. */
static void test_crowd(void **state)
{
        const struct pw_transport_kind *kind;
        struct place place;

        (void)state;
        each_kind(kind) {
                int strangers[100];

                place_make(&place, &(struct place_params){ .kind = kind->name });
                for (uint32_t i = 0; i < pw_array_count(strangers); i++)
                        strangers[i] = place_knock(&place);
                assert_int_equal(place_call(&place, "beta", PW_USE_CONTROL), PW_OK);
                assert_true(place.refused[PW_LIMIT] >= 36);
                assert_int_equal(place.refused_count, place.refused[PW_LIMIT]);
                for (uint32_t i = 0; i < pw_array_count(strangers); i++)
                        close(strangers[i]);
                place_remove(&place);
        }
}

/* Who does not want it any more is told nothing. */
static void test_drop(void **state)
{
        const struct pw_transport_kind *kind;
        struct place place;

        (void)state;
        each_kind(kind) {
                int stranger;

                for (uint32_t turns = 0; turns < 8; turns++) {
                        place_make(&place, &(struct place_params){ .kind = kind->name });
                        place_begin_call(&place, "beta", PW_USE_CONTROL);
                        for (uint32_t i = 0; i < turns && !place.called_count; i++)
                                place_turn(&place);
                        if (place.called_count) {
                                place_remove(&place);
                                continue;
                        }
                        pw_dial_free(place.dial);
                        place.dial = NULL;
                        assert_int_equal(place_call(&place, "beta", PW_USE_CONTROL), PW_OK);
                        assert_int_equal(place.called_count, 1);
                        place_remove(&place);
                }
                place_make(&place, &(struct place_params){ .kind = kind->name });
                stranger = place_knock(&place);
                place_begin_call(&place, "beta", PW_USE_CONTROL);
                place_turn(&place);
                pw_listener_free(place.listener);
                place_await(&place, &place.called_count, 1);
                assert_int_equal(place.came_count + place.refused_count, 0);
                assert_int_equal(recv(stranger, &(char){ 0 }, 1, 0) > 0, 0);
                close(stranger);
                assert_int_equal(place_call(&place, "beta", PW_USE_CONTROL), PW_NOT_FOUND);
                place_begin_call(&place, "beta", PW_USE_CONTROL);
                place_remove(&place);
        }
}

static void test_params(void **state)
{
        const struct pw_transport_kind *kind;
        struct place place;
        struct pw_transport_params bad = { .host_name = "two words" };
        struct pw_transport *none = NULL;
        struct pw_listener *listener = NULL;
        struct pw_error err;

        (void)state;
        assert_int_equal(pw_transport_open("pigeons", &bad, &none, &err), PW_NOT_FOUND);
        assert_ptr_equal(pw_transport_kind_at(0), pw_transport_kind("unix"));
        assert_null(pw_transport_kind("pigeons"));
        each_kind(kind) {
                struct pw_dial_params dial = { .use = PW_USE_BULK, .ticket_bytes = PW_TICKET_MAX + 1 };

                assert_int_equal(pw_transport_open(kind->name, &bad, &none, &err), PW_BAD_CONFIG);
                place_make(&place, &(struct place_params){ .kind = kind->name });
                dial.address = place.address;
                assert_int_equal(pw_transport_dial(place.alpha, &dial, &place.dial, &err), PW_INVALID);
                dial.ticket_bytes = 0;
                dial.expected = "two words";
                assert_int_equal(pw_transport_dial(place.alpha, &dial, &place.dial, &err), PW_INVALID);
                dial = (struct pw_dial_params){ .address = "nowhere", .use = PW_USE_BULK };
                assert_int_equal(pw_transport_dial(place.alpha, &dial, &place.dial, &err), PW_INVALID);
                assert_int_equal(pw_transport_listen(place.alpha, "127.0.0.1:99999", NULL, NULL, &listener, &err), PW_INVALID);
                if (strcmp(kind->name, "unix"))
                        assert_int_equal(pw_transport_listen(place.alpha, place.address, NULL, NULL, &listener, &err), PW_EXISTS);
                assert_int_equal(place_call(&place, "beta", PW_USE_CONTROL), PW_OK);
                place_remove(&place);
        }
}

/* Who cannot prove what he says, in each way in which a kind may be shown that. Both sides are told. */
static void test_strangers(void **state)
{
        static const struct { struct place_params params; bool beta_knows; const char *expected, *says; } scenes[] = {
                { { .kind = "tcp", .alpha_shows = "other-secret" }, true, "beta", "secret" },
                { { .kind = "tcp", .beta_shows = "other-secret" }, true, "beta", "secret" },
                { { .kind = "tls", .alpha_shows = "other/alpha" }, true, "beta", "authority" },
                { { .kind = "tls", .alpha_name = "old", .alpha_shows = "old" }, true, "beta", "expired" },
                { { .kind = "tls", .beta_shows = "other/beta" }, false, "beta", "authority" },
                { { .kind = "tls", .beta_name = "old", .beta_shows = "old" }, false, "old", "expired" },
                { { .kind = "tls", .beta_name = "gamma", .beta_shows = "gamma" }, false, "beta", "does not name" },
        };
        struct place place;

        (void)state;
        for (uint32_t i = 0; i < pw_array_count(scenes); i++) {
                bool beta_knows = scenes[i].beta_knows, tls = !strcmp(scenes[i].params.kind, "tls");
                enum pw_status status;

                place_make(&place, &scenes[i].params);
                status = place_call(&place, scenes[i].expected, PW_USE_CONTROL);
                /* A caller that is refused last may find the line cut before he reads why. */
                assert_true(status == PW_DENIED || (beta_knows && tls && status == PW_DAEMON_GONE));
                place_await(&place, &place.refused_count, 1);
                assert_int_equal(place.refusal.status, PW_DENIED);
                if (!strstr(beta_knows ? place.refusal.text : place.why.text, scenes[i].says))
                        fail_msg("scene %u: beta: %s; alpha: %s", i, place.refusal.text, place.why.text);
                assert_int_equal(place.came_count, 0);
                place_remove(&place);
        }
}

static void expect_closed(const char *kind, const struct pw_transport_params *params, enum pw_status status, const char *says)
{
        struct pw_transport *none = NULL;
        struct pw_error err = { .text = "" };

        assert_int_equal(pw_transport_open(kind, params, &none, &err), status);
        if (!strstr(err.text, says))
                fail_msg("%s", err.text);
}

/* What proves a host is looked at before anybody is called. */
static void test_proofs(void **state)
{
        struct place place;
        struct pw_transport_params params = { .loop = &place.loop, .host_name = "alpha" };
        char path[96];

        (void)state;
        place_make(&place, &(struct place_params){ .kind = "unix" });
        expect_closed("tcp", &params, PW_BAD_CONFIG, "--secret-file");
        params.secret_file = "/nowhere/secret";
        expect_closed("tcp", &params, PW_BAD_CONFIG, "no such file");
        params.secret_file = "/dev/null";
        expect_closed("tcp", &params, PW_BAD_CONFIG, "regular");
        place_credentials("tcp", "alpha", &params);
        assert_int_equal(chmod(params.secret_file, 0640), 0);
        expect_closed("tcp", &params, PW_DENIED, "0640");
        assert_int_equal(chmod(params.secret_file, 0600), 0);
        expect_closed("tls", &params, PW_BAD_CONFIG, "--tls-cert is not given");
        place_credentials("tls", "beta", &params);
        expect_closed("tls", &params, PW_BAD_CONFIG, "does not name host alpha");
        strcpy(path, params.tls_key);
        place_credentials("tls", "alpha", &params);
        params.tls_key = path;
        expect_closed("tls", &params, PW_BAD_CONFIG, "not the key of");
        params.tls_key = params.tls_cert;
        assert_int_equal(chmod(params.tls_cert, 0600), 0);
        expect_closed("tls", &params, PW_BAD_CONFIG, "--tls-key");
        params.tls_ca = "/nowhere/ca.pem";
        expect_closed("tls", &params, PW_BAD_CONFIG, "--tls-ca");
        place_credentials("tls", "alpha", &params);
        assert_int_equal(chmod(params.tls_key, 0644), 0);
        expect_closed("tls", &params, PW_DENIED, "chmod 600");
        assert_int_equal(chmod(params.tls_key, 0600), 0);
        place_remove(&place);
}

/* Beyond the machine it is TLS or nothing. */
static void test_beyond(void **state)
{
        static const char *const beyond[] = { "10.0.0.7:7400", "0.0.0.0:0", "[::]:0", "[2001:db8::7]:7400" };
        struct pw_listener *listener = NULL;
        struct pw_error err;
        struct place place;

        (void)state;
        place_make(&place, &(struct place_params){ .kind = "tcp" });
        for (uint32_t i = 0; i < pw_array_count(beyond); i++) {
                struct pw_dial_params dial = { .address = beyond[i], .use = PW_USE_CONTROL };

                assert_int_equal(pw_transport_listen(place.alpha, beyond[i], NULL, NULL, &listener, &err), PW_UNSUPPORTED);
                assert_non_null(strstr(err.text, "--tls-cert"));
                assert_int_equal(pw_transport_dial(place.alpha, &dial, &place.dial, &err), PW_UNSUPPORTED);
        }
        place_remove(&place);
        place_make(&place, &(struct place_params){ .kind = "tls" });
        assert_int_equal(pw_transport_listen(place.alpha, "0.0.0.0:0", NULL, NULL, &listener, &err), PW_OK);
        place_remove(&place);
}

/* A process of another user at the Unix socket, though its file lets it. */
static void test_other_user(void **state)
{
        struct place place;
        pid_t child;
        int ended;

        (void)state;
        if (geteuid() != 0)
                skip();
        place_make(&place, &(struct place_params){ .kind = "unix" });
        assert_int_equal(chmod(place.folder, 0755) | chmod(place.address, 0666), 0);
        child = fork();
        if (!child) {
                char byte;

                if (setgid(65534) < 0 || setuid(65534) < 0)
                        _exit(2);
                int fd = place_knock(&place);

                (void)!send(fd, "pwT\1\1\5\0\0alpha", 13, MSG_NOSIGNAL);
                _exit(recv(fd, &byte, 1, 0) > 0);
        }
        place_await(&place, &place.refused[PW_DENIED], 1);
        assert_non_null(strstr(place.refusal.text, "user 65534"));
        assert_int_equal(waitpid(child, &ended, 0), child);
        assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
        assert_int_equal(place.came_count, 0);
        place_remove(&place);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_meet),    cmocka_unit_test(test_other_host),    cmocka_unit_test(test_silence),
                cmocka_unit_test(test_garbage), cmocka_unit_test(test_silent_answer), cmocka_unit_test(test_crowd),
                cmocka_unit_test(test_drop),    cmocka_unit_test(test_params),        cmocka_unit_test(test_other_user),
                cmocka_unit_test(test_strangers), cmocka_unit_test(test_proofs),      cmocka_unit_test(test_beyond),
        };

        return cmocka_run_group_tests(tests, place_group_begin, place_group_end);
}
