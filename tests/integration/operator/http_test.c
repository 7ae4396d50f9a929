/* /metrics and /health: what they say, and that nobody who asks can do harm. */
#include "tests/integration/harness.h"
#include "tests/integration/operator/exposition.h"
#include "tests/integration/operator/http.h"
#include "tests/integration/trace.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SMALL "--devices", "emulated:2", "--host-memory", "64MiB", "--device-memory", "4MiB"

static int setup_http(void **state) { return it_setup_with(state, IT_ARGS(SMALL, "--http", "127.0.0.1:0", "--shutdown", "20s")); }

/* As a peer of another address. */
static int dial_from(const char *text, const char *own)
{
        struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = inet_addr(own) }, to = in;
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        to.sin_port = htons((in_port_t)strtoul(strrchr(text, ':') + 1, NULL, 10));
        assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof in), 0);
        assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
        return fd;
}

#define GET(what) "GET " what " HTTP/1.1\r\nHost: localhost\r\n\r\n"

/* --- what is said ------------------------------------------------------------------------------------------------------- */

static void check_memory(const char *metrics, const char *memory, const char *const *terms)
{
        double sum = 0, capacity;
        char series[120];

        snprintf(series, sizeof series, "pathways_memory_bytes{memory=\"%s\",term=\"capacity\"}", memory);
        capacity = exposition_value(metrics, series);
        for (; *terms; terms++) {
                snprintf(series, sizeof series, "pathways_memory_bytes{memory=\"%s\",term=\"%s\"}", memory, *terms);
                sum += exposition_value(metrics, series);
        }
        assert_true(capacity > 0 && capacity == sum);
        snprintf(series, sizeof series, "pathways_memory_bytes{memory=\"%s\",term=\"unaccounted\"}", memory);
        assert_true(exposition_value(metrics, series) == 0);
}

static void run_twice(struct it_host *host)
{
        struct pw_slice *slice = it_slice(host->session, 2, 1);
        struct pw_program *program = it_one_node(host->session, slice, "pw/nop", PW_DIMS(2), NULL);
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(2), 5);

        for (int i = 0; i < 2; i++) {
                struct pw_future *result = it_run_1(program, input);

                it_ok(pw_wait(&result, 1, 1, IT_LONG, NULL, IT_ERR));
                pw_unref(result);
        }
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
}

static void metrics_tell_what_happened(void **state)
{
        struct it_host *host = *state;
        char *text = malloc(HTTP_ANSWER_BYTES), address[120];
        struct pw_future *future;
        const char *bad;

        assert_non_null(text);
        http_address(host, address);
        it_ok(pw_put(host->session, "hello", 5, NULL, &future, IT_ERR));
        it_ok(pw_name(future, "greeting", IT_ERR));
        run_twice(host);
        do { /* the answer may be a second old */
                assert_int_equal(http_ask(address, GET("/metrics"), text), 200);
                if ((bad = exposition_check(text)))
                        fail_msg("%s", bad);
        } while (exposition_value(text, "pathways_runs_ended_total{outcome=\"done\"}") != 2);
        assert_true(exposition_value(text, "pathways_runs_submitted_total") == 2);
        assert_true(exposition_value(text, "pathways_runs_ended_total{outcome=\"failed\"}") == 0);
        assert_true(exposition_value(text, "pathways_names") == 1);
        assert_true(exposition_value(text, "pathways_objects{state=\"ready\"}") >= 1);
        assert_true(exposition_value(text, "pathways_references") >= 2);
        assert_true(exposition_value(text, "pathways_sessions") == 1);
        assert_true(exposition_value(text, "pathways_ready") == 1);
        assert_true(exposition_value(text, "pathways_device_up{device=\"h0:1\",kind=\"emulated\"}") == 1);
        assert_true(exposition_value(text, "pathways_gangs_done_total{device=\"h0:0\"}") >= 2);
        assert_true(exposition_value(text, "pathways_turn_seconds_count") > 0);
        check_memory(text, "h0", IT_ARGS("free", "used", "idle", "letting go", "quarantined", "reserved", "overhead"));
        check_memory(text, "h0:0", IT_ARGS("free", "used", "reserved", "letting go", "overhead"));
        it_ok(pw_unname(host->session, "greeting", IT_ERR));
        pw_unref(future);
        free(text);
}

/* The one session of a quota of one is the test's own. */
static int setup_one(void **state)
{
        return it_setup_with(state, IT_ARGS(SMALL, "--http", "127.0.0.1:0", "--quota", "*:sessions=1"));
}

static void sessions_over_a_quota_are_counted(void **state)
{
        struct it_host *host = *state;
        char address[120], text[HTTP_ANSWER_BYTES];
        struct pw_session *second;
        int64_t end_us = it_now_us() + IT_LONG;

        http_address(host, address);
        it_fails(pw_connect(host->socket, &second, IT_ERR), PW_LIMIT, "its quota");
        it_fails(pw_connect(host->socket, &second, IT_ERR), PW_LIMIT, "its quota");
        do /* the answer may be a second old */
                assert_int_equal(http_ask(address, GET("/metrics"), text), 200);
        while (exposition_value(text, "pathways_connections_refused_total") != 2 && it_now_us() < end_us);
        assert_true(exposition_value(text, "pathways_connections_refused_total") == 2);
}

static void requests_of_all_kinds(void **state)
{
        struct it_host *host = *state;
        char *text = malloc(HTTP_ANSWER_BYTES), address[120];

        assert_non_null(text);
        http_address(host, address);
        assert_int_equal(http_ask(address, GET("/health"), text), 200);
        assert_string_equal(text, "ok\n");
        assert_int_equal(http_ask(address, "HEAD /metrics HTTP/1.0\r\n\r\n", text), 200);
        assert_string_equal(text, "");
        assert_int_equal(http_ask(address, GET("/metrics?name=x"), text), 200);
        assert_int_equal(http_ask(address, GET("/"), text), 404);
        assert_int_equal(http_ask(address, GET("/metrics/../health"), text), 404);
        assert_int_not_equal(http_ask(address, "POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", text), 200);
        assert_int_not_equal(http_ask(address, "DELETE /health HTTP/1.1\r\n\r\n", text), 200);
        free(text);
}

static void health_ends_with_the_work(void **state)
{
        struct it_host *host = *state;
        uint64_t us = 600 * 1000000;
        char *text = malloc(HTTP_ANSWER_BYTES), address[120], said[600];
        int code;
        struct pw_slice *slice = it_slice(host->session, 2, 1);
        struct pw_program *program = it_one_node(host->session, slice, "pw/sleep_us", PW_DIMS(2),
                                                 &(struct pw_call_params){ .params = &us, .params_bytes = sizeof us });
        struct pw_future *input = it_put_f64(host->session, PW_DIMS(2), 5), *result = it_run_1(program, input);

        assert_non_null(text);
        http_address(host, address);
        while (it_listed(host->session, "status", "runs_in_flight") != 1)
                ;
        assert_int_equal(kill(host->pid, SIGTERM), 0);
        while (http_ask(address, GET("/health"), text) == 200)
                ;
        assert_non_null(strstr(text, "stopping"));
        assert_int_equal(it_host_end(host, SIGTERM), 0); /* the second ends the wait */
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
        pw_close(host->session);
        host->session = NULL;
        if (!it_host_start(host, IT_ARGS(SMALL), &code, said))
                fail_msg("pathwaysd does not start again: %s", said);
        free(text);
}

/* --- strangers ---------------------------------------------------------------------------------------------------------- */

/* More connections than are taken at a time say nothing, or a byte now and then. They hold up no client, are cut off, and who asks
 * after them is served. */
static void the_slow_are_cut_off(void **state)
{
        enum { SLOW = 40 };
        struct it_host *host = *state;
        char *text = malloc(HTTP_ANSWER_BYTES), address[120], byte;
        int fds[SLOW];
        int64_t since_us;

        assert_non_null(text);
        http_address(host, address);
        for (int i = 0; i < SLOW; i++)
                http_send(fds[i] = http_dial(address), "GET /metrics HTT");
        since_us = it_now_us();
        it_put_and_get(host, 1000);
        it_within("a thousand puts beside slow connections", since_us, IT_SECOND);
        /* The first ones end by their deadline although bytes still come. */
        for (struct pollfd on = { .fd = fds[0], .events = POLLIN }; poll(&on, 1, 200) == 0;)
                http_send(fds[0], "x");
        it_within("a slow connection is cut off", since_us, 6 * IT_SECOND);
        while (recv(fds[0], &byte, 1, 0) > 0)
                ;
        assert_int_equal(http_ask(address, GET("/health"), text), 200);
        for (int i = 0; i < SLOW; i++)
                close(fds[i]);
        for (int i = 0; i < 200; i++) /* connections that are done with make room at once */
                assert_int_equal(http_ask(address, GET("/metrics"), text), 200);
        free(text);
}

static void garbage_is_refused(void **state)
{
        struct it_host *host = *state;
        char *text = malloc(HTTP_ANSWER_BYTES), *huge = malloc(HTTP_ANSWER_BYTES), address[120];
        uint64_t seed = it_environment("PW_TEST_SEED", 7);

        assert_non_null(text);
        assert_non_null(huge);
        http_address(host, address);
        snprintf(huge, HTTP_ANSWER_BYTES, "GET /metrics HTTP/1.1\r\nX: ");
        memset(huge + strlen(huge), 'x', HTTP_ANSWER_BYTES - 1 - strlen(huge));
        huge[HTTP_ANSWER_BYTES - 1] = 0;
        int fd = http_dial(address);
        http_send(fd, huge);
        shutdown(fd, SHUT_WR);
        http_read(fd, text);
        assert_null(strstr(text, "200 OK"));
        for (int i = 0; i < 50; i++) {
                size_t length = 1 + it_random(&seed) % 300;

                fd = http_dial(address);
                for (size_t j = 0; j < length; j++)
                        huge[j] = (char)it_random(&seed);
                (void)!send(fd, huge, length, MSG_NOSIGNAL);
                shutdown(fd, SHUT_WR);
                http_read(fd, text);
                if (strstr(text, "200 OK"))
                        fail_msg("seed %llu: garbage was answered with %s", (unsigned long long)seed, text);
        }
        assert_int_equal(http_ask(address, GET("/health"), text), 200);
        it_put_and_get(host, 10);
        free(huge);
        free(text);
}

/* --- where it listens --------------------------------------------------------------------------------------------------- */

static void refuses(struct it_host *host, const char *address, const char *says)
{
        struct it_host other = *host;
        char folder[100], said[600];
        int code;

        snprintf(folder, sizeof folder, "%s/other", host->folder);
        if (it_host_start(&other, IT_ARGS(SMALL, "--run-dir", folder, "--http", address), &code, said))
                fail_msg("pathwaysd has started with --http %s", address);
        assert_true(code == 1 || code == 2);
        if (!strstr(said, says) || !strstr(said, "--http"))
                fail_msg("\"%s\" does not say \"%s\"", said, says);
}

static void only_this_host_is_served(void **state)
{
        struct it_host *host = *state;
        char address[120];

        http_address(host, address);
        refuses(host, "0.0.0.0:0", "TLS");
        refuses(host, "[::]:9464", "TLS");
        refuses(host, "nonsense", "127.0.0.1:9464");
        refuses(host, address, "in use");
        refuses(host, "unix:/no/such/folder/http.sock", "/no/such/folder");
}

static void a_unix_socket(void **state)
{
        struct it_host *host = *state;
        char *text = malloc(HTTP_ANSWER_BYTES), address[120], now[120], said[600];
        struct stat stat_;
        int code;

        assert_non_null(text);
        snprintf(address, sizeof address, "unix:%s/http.sock", host->folder);
        for (int i = 0; i < 2; i++) { /* the second time what a killed daemon left is in the way */
                pw_close(host->session);
                host->session = NULL;
                assert_int_equal(it_host_end(host, i ? SIGKILL : SIGTERM), i ? 128 + SIGKILL : 0);
                if (!it_host_start(host, IT_ARGS(SMALL, "--http", address, "--socket-mode", "0640"), &code, said))
                        fail_msg("pathwaysd ended with %d: %s", code, said);
                host->session = it_connect(host);
                http_address(host, now);
                assert_string_equal(now, address);
                assert_int_equal(stat(address + 5, &stat_), 0);
                assert_int_equal(stat_.st_mode & 0777, 0640);
                assert_int_equal(http_ask(address, GET("/health"), text), 200);
                assert_string_equal(text, "ok\n");
        }
        refuses(host, address, "in use"); /* of a daemon that lives */
        assert_int_equal(http_ask(address, GET("/metrics"), text), 200);
        assert_null(exposition_check(text));
        free(text);
}

#define CROWD 60u  /* more connections than there are */
#define ENDED 20u  /* of them, to make room for others of the crowd */

/* One peer takes all connections there are and wants more: those make room that are its own, not an older one of somebody else who
 * is slow. */
static void who_has_more_than_his_share_makes_room(void **state)
{
        struct it_host *host = *state;
        static char body[HTTP_ANSWER_BYTES];
        struct pollfd crowd[CROWD];
        char address[120], byte;
        uint32_t ended = 0;
        int slow;

        http_address(host, address);
        slow = http_dial(address);
        http_send(slow, "GET /health HTTP/1.1\r\n");
        for (uint32_t i = 0; i < CROWD; i++) {
                crowd[i] = (struct pollfd){ .fd = dial_from(address, "127.0.0.2"), .events = POLLIN };
                http_send(crowd[i].fd, "GET /health HTTP/1.1\r\n");
        }
        while (ended < ENDED) {
                assert_true(poll(crowd, CROWD, IT_LONG / 1000) > 0);
                for (uint32_t i = 0; i < CROWD; i++) {
                        if (crowd[i].fd < 0 || !crowd[i].revents || recv(crowd[i].fd, &byte, 1, 0) > 0)
                                continue;
                        close(crowd[i].fd);
                        crowd[i].fd = -1;
                        ended++;
                }
        }
        http_send(slow, "Host: localhost\r\n\r\n");
        http_read(slow, body);
        if (strncmp(body, "HTTP/1.1 200", 12))
                fail_msg("who is slow is answered \"%s\"", body);
        for (uint32_t i = 0; i < CROWD; i++)
                if (crowd[i].fd >= 0)
                        close(crowd[i].fd);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(sessions_over_a_quota_are_counted, setup_one, it_teardown),
                cmocka_unit_test_setup_teardown(metrics_tell_what_happened, setup_http, it_teardown),
                cmocka_unit_test_setup_teardown(requests_of_all_kinds, setup_http, it_teardown),
                cmocka_unit_test_setup_teardown(health_ends_with_the_work, setup_http, it_teardown),
                cmocka_unit_test_setup_teardown(the_slow_are_cut_off, setup_http, it_teardown),
                cmocka_unit_test_setup_teardown(who_has_more_than_his_share_makes_room, setup_http, it_teardown),
                cmocka_unit_test_setup_teardown(garbage_is_refused, setup_http, it_teardown),
                cmocka_unit_test_setup_teardown(only_this_host_is_served, setup_http, it_teardown),
                cmocka_unit_test_setup_teardown(a_unix_socket, setup_http, it_teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
