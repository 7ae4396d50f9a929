/* `pathways trace` of a cluster: one file with what all hosts did, on one axis of time, though the clocks of two of them are hours
 * apart (a namespace of times; without leave for one they are the same). A value begins to be sent while it is pulled; one that
 * did not come has a bar that says why.
 */
#include "tests/integration/cluster/relay.h"
#include "tests/integration/operator/chain.h"
#include "tests/integration/operator/command.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES (5u << 20)
#define CLOSE_US 50000 /* so well two hosts of one machine know each other's clocks at least, after a while */

/* --- clocks that are apart ---------------------------------------------------------------------------------------------------- */

static bool say_to(const char *path, const char *text)
{
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        bool said = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

        close(fd);
        return said;
}

/* Children that are made from now on have clocks that are hours ahead, and not by the same. */
static bool leave_time(void)
{
        char users[64], groups[64];

        if (geteuid() == 0)
                return unshare(CLONE_NEWTIME) == 0 && say_to("/proc/self/timens_offsets", "monotonic 3600 0\nboottime 9000 0\n");
        snprintf(users, sizeof users, "%u %u 1", (unsigned)geteuid(), (unsigned)geteuid());
        snprintf(groups, sizeof groups, "%u %u 1", (unsigned)getegid(), (unsigned)getegid());
        return unshare(CLONE_NEWUSER | CLONE_NEWTIME) == 0 && say_to("/proc/self/setgroups", "deny") &&
               say_to("/proc/self/uid_map", users) && say_to("/proc/self/gid_map", groups) &&
               say_to("/proc/self/timens_offsets", "monotonic 3600 0\nboottime 9000 0\n");
}

/* --- the file ----------------------------------------------------------------------------------------------------------------- */

struct bar { double start_us, end_us, bytes; int64_t process; char object[PW_ID_TEXT_BYTES], status[32], why[200]; };

static const char *text_of(const json_t *object, const char *key)
{
        const char *text = json_string_value(json_object_get(object, key));

        return text ? text : "";
}

/* The one move of that name. */
static struct bar find_bar(const json_t *trace, const char *name)
{
        const json_t *events = json_object_get(trace, "traceEvents");
        struct bar bar = { .start_us = -1, .end_us = -1 };

        for (size_t i = 0; i < json_array_size(events); i++) {
                const json_t *event = json_array_get(events, i), *args = json_object_get(event, "args");
                bool begins = !strcmp(text_of(event, "ph"), "b");

                if (strcmp(text_of(event, "cat"), "move") || strcmp(text_of(event, "name"), name))
                        continue;
                *(begins ? &bar.start_us : &bar.end_us) = json_number_value(json_object_get(event, "ts"));
                bar.process = json_integer_value(json_object_get(event, "pid"));
                bar.bytes = json_number_value(json_object_get(args, "bytes"));
                snprintf(bar.object, sizeof bar.object, "%s", text_of(args, "object"));
                snprintf(bar.status, sizeof bar.status, "%s", text_of(args, "status"));
                snprintf(bar.why, sizeof bar.why, "%s", text_of(args, "why"));
        }
        if (bar.start_us < 0 || bar.end_us < bar.start_us)
                fail_msg("there is no bar of a %s in the trace", name);
        return bar;
}

/* It is that of the runs of that host, whose number is as it joined. */
static void expect_process(struct cluster *cluster, const json_t *trace, int64_t process, int which)
{
        struct pw_listing *hosts = it_list(cluster->hosts[0].session, "hosts", NULL);
        const json_t *events = json_object_get(trace, "traceEvents");
        char name[32];

        snprintf(name, sizeof name, "%s runs", it_text(hosts, it_find(hosts, "name", cluster_name(which)), "host"));
        pw_listing_free(hosts);

        for (size_t i = 0; i < json_array_size(events); i++) {
                const json_t *event = json_array_get(events, i);

                if (!strcmp(text_of(event, "name"), "process_name") &&
                    json_integer_value(json_object_get(event, "pid")) == process) {
                        assert_string_equal(text_of(json_object_get(event, "args"), "name"), name);
                        return;
                }
        }
        fail_msg("process %lld has no name", (long long)process);
}

/* --- recording ---------------------------------------------------------------------------------------------------------------- */

static bool somebody_traces(const struct pw_listing *status, void *context)
{
        (void)context;
        return it_number(status, 0, "traces") == 1;
}

static bool clock_is_known(const struct pw_listing *hosts, void *context)
{
        size_t row = it_find(hosts, "name", context);
        const Pathways__Wire__Row *cells = pw_listing_rows(hosts)->rows[row];
        bool known = false;

        for (size_t i = 0; i < cells->n_cells; i++)
                known |= !strcmp(cells->cells[i]->key, "clock_bound_us") && cells->cells[i]->number < CLOSE_US;
        return known;
}

struct recording { struct it_command command; char path[120]; };

/* All of the hosts know of it. */
static struct recording record(struct cluster *cluster, int hosts)
{
        struct it_host *host = &cluster->hosts[0];
        struct recording recording;

        for (int i = 1; i < hosts; i++)
                it_until(host->session, "hosts", clock_is_known, (void *)(uintptr_t)cluster_name(i));
        snprintf(recording.path, sizeof recording.path, "%s/trace.json", host->folder);
        recording.command = it_command_start(host, IT_ARGS("trace", "--seconds", "1h", "-o", recording.path));
        for (int i = 0; i < hosts; i++)
                it_until(cluster->hosts[i].session, "status", somebody_traces, NULL);
        return recording;
}

static json_t *recorded(struct recording *recording)
{
        json_error_t error;
        json_t *trace;

        assert_int_equal(it_command_end(&recording->command, SIGINT), 0);
        trace = json_load_file(recording->path, 0, &error);
        if (!trace)
                fail_msg("%s: line %d: %s", recording->path, error.line, error.text);
        return trace;
}

static struct pw_future *put(struct cluster *cluster, int i, char id[PW_ID_TEXT_BYTES])
{
        void *bytes = calloc(1, BYTES);
        struct pw_future *future;

        assert_non_null(bytes);
        it_ok(pw_put(cluster->hosts[i].session, bytes, BYTES, NULL, &future, IT_ERR));
        pw_id_format(pw_future_id(future), id);
        free(bytes);
        return future;
}

/* How far host bert's clock is ahead, as host anna says. */
static double clock_of_bert(struct cluster *cluster)
{
        struct pw_listing *hosts = it_list(cluster->hosts[0].session, "hosts", NULL);
        const Pathways__Wire__Row *cells = pw_listing_rows(hosts)->rows[it_find(hosts, "name", cluster_name(1))];
        double clock_us = 0;

        for (size_t i = 0; i < cells->n_cells; i++)
                if (!strcmp(cells->cells[i]->key, "clock_us"))
                        clock_us = cells->cells[i]->real;
        pw_listing_free(hosts);
        return clock_us;
}

/* --- cases -------------------------------------------------------------------------------------------------------------------- */

static void what_is_sent_lies_in_what_is_pulled(void **state)
{
        struct cluster *cluster = *state;
        struct recording recording;
        struct bar pull, sent;
        struct pw_future *future;
        char id[PW_ID_TEXT_BYTES], value[120];
        double bound_us;
        bool apart;
        json_t *trace;

        cluster->linked = true;
        cluster->lease = "10s";
        cluster_start(cluster, 0, true);
        apart = leave_time();
        if (!apart)
                print_message("no leave for clocks of its own (%s): both hosts have one\n", strerror(errno));
        cluster_start(cluster, 1, false);
        cluster_meet(cluster);
        future = put(cluster, 0, id);
        recording = record(cluster, 2);
        if (apart) {
                assert_true(clock_of_bert(cluster) > 8999e6);
                assert_true(clock_of_bert(cluster) < 9001e6);
        }
        snprintf(value, sizeof value, "%s/value", cluster->hosts[1].folder);
        it_command_expect(&cluster->hosts[1], 0, "", IT_ARGS("get", id, "-o", value)); /* by the clock of that host */
        trace = recorded(&recording);
        pull = find_bar(trace, "pull");
        sent = find_bar(trace, "send");
        bound_us = json_number_value(json_object_get(json_object_get(trace, "otherData"), "clock_bound_us"));
        assert_true(bound_us > 0 && bound_us < CLOSE_US);
        assert_string_equal(pull.object, id);
        assert_string_equal(sent.object, id);
        assert_true(pull.bytes == BYTES && sent.bytes == BYTES);
        assert_true(pull.start_us <= sent.start_us + bound_us);
        /* Who sends may be held up between its last byte and its clock: only that it began before all was there is sure. */
        assert_true(sent.start_us <= pull.end_us + bound_us);
        expect_process(cluster, trace, sent.process, 0);
        expect_process(cluster, trace, pull.process, 1);
        json_decref(trace);
        pw_unref(future);
}

/* The host that has it ends while the bytes are on their way. */
static void what_does_not_come_says_why(void **state)
{
        struct cluster *cluster = *state;
        struct recording recording;
        struct it_command get;
        struct pw_future *future;
        struct relay relay;
        struct bar pull;
        char id[PW_ID_TEXT_BYTES], value[120];
        json_t *trace;

        relay_begin(&relay, cluster);
        future = put(cluster, 2, id);
        recording = record(cluster, CLUSTER_HOSTS);
        relay_set(&relay, 2, 1, RELAY_BULK, RELAY_HELD);
        snprintf(value, sizeof value, "%s/value", cluster->hosts[1].folder);
        get = it_command_start(&cluster->hosts[1], IT_ARGS("get", id, "-o", value));
        it_chain_expect(&cluster->hosts[1], id, "host cleo (h|), which sends them");
        relay_set(&relay, 2, -1, RELAY_CONTROL, RELAY_BROKEN);
        relay_set(&relay, -1, 2, RELAY_CONTROL, RELAY_BROKEN);
        assert_int_equal(it_command_end(&get, 0), 1);
        trace = recorded(&recording);
        pull = find_bar(trace, "pull");
        assert_string_equal(pull.object, id);
        assert_string_equal(pull.status, "PW_HOST_LOST");
        assert_non_null(strstr(pull.why, "cleo"));
        expect_process(cluster, trace, pull.process, 1);
        json_decref(trace);
        pw_unref(future);
        relay_end(&relay);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                CLUSTER_TEST(what_does_not_come_says_why),
                CLUSTER_TEST(what_is_sent_lies_in_what_is_pulled), /* leaves the time of the others for good */
        };

        return cmocka_run_group_tests_name("clocks", tests, NULL, NULL);
}
