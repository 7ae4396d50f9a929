/* Scenes of the table of hosts: what is told of them, and who calls. */
#include "cluster/link/hosts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct pw_hello own = { .version = PW_PEER_VERSION, .incarnation = 9, .cluster = "c", .name = "h1", .host = 1,
                                     .peer = { .epoch = 3, .instance = 33 } };
static char said[512]; /* what the port was asked, a line each */

static void note(const char *what, uint64_t connection)
{
        size_t length = strlen(said);

        snprintf(said + length, sizeof said - length, "%s %lu\n", what, (unsigned long)connection);
}

static void asked(const char *text)
{
        assert_string_equal(said, text);
        said[0] = 0;
}

static uint64_t begin(void *context, struct pw_peer *peer)
{
        (void)context, (void)peer;
        note("connect", 100);
        return 100;
}
static void say(void *context, uint64_t connection, const struct pw_hello *hello)
{
        (void)context;
        note(hello->met ? "met" : "hello", connection);
}
static void shut(void *context, uint64_t connection)
{
        (void)context;
        note("shut", connection);
}
static void met(void *context, struct pw_peer *peer, const struct pw_link_met *met)
{
        (void)context, (void)met;
        note("up", peer->params.link.host);
}
static void gave_up(void *context, struct pw_peer *peer, const struct pw_error *why)
{
        (void)context, (void)why;
        note("gave up", peer->params.link.host);
}
static const struct pw_peer_port port = { begin, say, shut, met, gave_up };

static void start(struct pw_hosts *hosts)
{
        said[0] = 0;
        pw_hosts_init(hosts, &(struct pw_hosts_params){ .link = { .own = 1, .own_epoch = 3, .lease_us = 3000000,
                                                                  .beat_us = 500000, .window = 8, .kept_bytes_max = 1000 },
                                                        .own = &own, .port = &port });
}

static void test_told(void **state)
{
        struct pw_host_row two = { 2, 5, "h2", "tcp://10.0.0.2:1", 0 }, wrong;
        struct pw_hosts hosts;
        struct pw_host *host;
        struct pw_error err;
        uint32_t count = 0;

        (void)state;
        start(&hosts);
        assert_int_equal(pw_hosts_put(&hosts, &two, &host, NULL), PW_OK);
        assert_ptr_equal(pw_hosts_get(&hosts, 2), host);
        wrong = two, wrong.epoch = 4, strcpy(wrong.address, "tcp://10.0.0.9:1"); /* an old word */
        assert_int_equal(pw_hosts_put(&hosts, &wrong, NULL, NULL), PW_OK);
        assert_string_equal(host->row.address, "tcp://10.0.0.2:1");
        assert_int_equal(host->row.epoch, 5);
        wrong = two, strcpy(wrong.name, "h3");
        assert_int_equal(pw_hosts_put(&hosts, &wrong, NULL, &err), PW_EXISTS);
        assert_string_equal(err.text, "host h3 in epoch 5 has number 2 of host h2, whose epoch is 5");
        wrong = two, wrong.number = 1;
        assert_int_equal(pw_hosts_put(&hosts, &wrong, NULL, &err), PW_INVALID);
        assert_string_equal(err.text, "number 1 of host h2 is this host's");
        wrong = two, wrong.number = 0;
        assert_int_equal(pw_hosts_put(&hosts, &wrong, NULL, NULL), PW_INVALID);
        wrong = two, wrong.name[0] = 0;
        assert_int_equal(pw_hosts_put(&hosts, &wrong, NULL, NULL), PW_INVALID);
        for (uint32_t i = 0; (host = pw_hosts_next(&hosts, &i)); count++)
                assert_int_equal(host->row.number, 2);
        assert_int_equal(count, 1);
        pw_hosts_done(&hosts);
}

/* A host that was started again says where it is called, before metadata does, and what metadata said before does not undo it. */
static void test_heard(void **state)
{
        struct pw_hello hello = { .host = 2, .name = "h2", .address = "tcp://10.0.0.2:7", .peer = { 6, 55, { 1, 0, 0 } } };
        struct pw_host_row two = { 2, 5, "h2", "tcp://10.0.0.2:1", 0 };
        struct pw_hosts hosts;
        struct pw_host *host;

        (void)state;
        start(&hosts);
        pw_hosts_heard(&hosts, &hello);
        assert_null(pw_hosts_get(&hosts, 2));
        assert_int_equal(pw_hosts_put(&hosts, &two, &host, NULL), PW_OK);
        pw_hosts_heard(&hosts, &hello);
        assert_string_equal(host->row.address, "tcp://10.0.0.2:7");
        assert_int_equal(pw_hosts_put(&hosts, &two, NULL, NULL), PW_OK);
        assert_string_equal(host->row.address, "tcp://10.0.0.2:7");
        hello.peer.epoch = 5, hello.address = "tcp://10.0.0.2:8"; /* an old word */
        pw_hosts_heard(&hosts, &hello);
        hello.peer.epoch = 6, hello.address = NULL;
        pw_hosts_heard(&hosts, &hello);
        assert_string_equal(host->row.address, "tcp://10.0.0.2:7");
        pw_hosts_done(&hosts);
}

static void test_who_calls(void **state)
{
        struct pw_hello hello = { .version = PW_PEER_VERSION, .incarnation = 9, .cluster = "c", .name = "h2", .host = 2,
                                  .peer = { 5, 55, { 1, 0, 0 } } };
        struct pw_host_row two = { 2, 5, "h2", "", 0 };
        struct pw_hosts hosts;
        struct pw_peer *peer;
        struct pw_error err;

        (void)state;
        start(&hosts);
        assert_int_equal(pw_hosts_hello(&hosts, 7, &hello, NULL, 1, &peer, &err), PW_NOT_FOUND);
        assert_string_equal(err.text, "host h2, number 2, is not known here yet");
        asked("shut 7\n");
        assert_int_equal(pw_hosts_peer(&hosts, 2, &peer, &err), PW_NOT_FOUND);
        assert_string_equal(err.text, "host 2 is not known here; see pathways hosts");
        assert_int_equal(pw_hosts_put(&hosts, &two, NULL, NULL), PW_OK);
        hello.cluster = "d";
        assert_int_equal(pw_hosts_hello(&hosts, 8, &hello, NULL, 1, &peer, NULL), PW_DENIED);
        asked("shut 8\n");
        hello.cluster = "c";
        assert_int_equal(pw_hosts_hello(&hosts, 9, &hello, NULL, 1, &peer, NULL), PW_OK);
        asked("up 2\nmet 9\n");
        assert_ptr_equal(pw_hosts_get(&hosts, 2)->peer, peer);
        /* the number is another host's now: what was had with the one before is over */
        two = (struct pw_host_row){ 2, 6, "h3", "", 0 };
        assert_int_equal(pw_hosts_put(&hosts, &two, NULL, NULL), PW_OK);
        asked("shut 9\n");
        assert_null(pw_hosts_get(&hosts, 2)->peer);
        assert_int_equal(pw_hosts_hello(&hosts, 10, &hello, NULL, 1, &peer, &err), PW_EXISTS);
        assert_string_equal(err.text, "host 2 is h3 here, and says that it is h2: a state dir that was copied; give each host one "
                                      "of its own");
        asked("shut 10\n");
        pw_hosts_done(&hosts);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_told), cmocka_unit_test(test_heard),
                                            cmocka_unit_test(test_who_calls) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
