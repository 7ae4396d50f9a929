/* Sessions one after the other, each puts something, runs a program with it and ends, until an executor has no addresses left for
 * the segments that it read: then nobody's values can be read there. */
#include "tests/attack/attack.h"

#include "libclient/listing.h"
#include "tests/integration/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define SESSIONS 600u /* of 5 GiB of addresses each, as of 1 GiB of host memory; and more of them than the executor is left with: */
#define ADDRESSES (UINT64_C(2) << 40)
#define MAPS_MOST 300u
#define ELEMENTS 1024u

/* With an input that is read where its client wrote it: too large for the record of the run. */
static void put_and_run(const struct it_host *host)
{
        static const float data[ELEMENTS];
        struct pw_session *session = it_connect(host);
        struct pw_slice *slice = it_slice(session, 1, 0);
        struct pw_program *program = pw_program_new(session, "nop");
        struct pw_value *x = pw_input(program, slice, PW_F32, PW_DIMS(ELEMENTS), PW_SPLIT(0), 0);
        struct pw_future *input, *output;
        struct pw_view view;

        pw_result(program, pw_call(program, slice, "pw/nop", PW_ARGS(x), PW_SPLIT(0)));
        it_ok(pw_compile(program, IT_ERR));
        it_ok(pw_put(session, data, sizeof data, &(struct pw_put_params){ .dtype = PW_F32, .dims = PW_DIMS(ELEMENTS) },
                     &input, IT_ERR));
        it_ok(pw_run(program, PW_FUTURES(input), &output, IT_ERR));
        it_ok(pw_get(output, IT_LONG, &view, IT_ERR));
        pw_view_done(&view);
        pw_unref(output);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
        pw_close(session);
}

static int run_many(void *context, int pipe)
{
        uint64_t count = it_environment("PW_SEGMENTS_SESSIONS", SESSIONS);
        (void)pipe;

        for (uint64_t i = 0; i < count; i++) {
                if (i % 50 == 0)
                        fprintf(stderr, "session %d of %d\n", (int)i, (int)count);
                put_and_run(context);
        }
        return 0;
}

static int run_once(void *context, int pipe)
{
        (void)pipe;
        put_and_run(context);
        return 0;
}

static pid_t executor_of(struct it_host *host)
{
        struct pw_listing *devices = it_list(host->session, "devices", NULL);
        pid_t pid = (pid_t)it_number(devices, it_find(devices, "device", "h0:0"), "pid");

        pw_listing_free(devices);
        assert_true(pid > 0);
        return pid;
}

/* Of this process and those that it starts: as a host with more memory would bring about after fewer sessions, whose segments take
 * five times host memory each. */
static void leave_addresses(uint64_t bytes)
{
        FILE *file = fopen("/proc/self/statm", "re");
        struct rlimit limit;
        unsigned long pages;

        if (!file || fscanf(file, "%lu", &pages) != 1 || getrlimit(RLIMIT_AS, &limit))
                exit(1);
        fclose(file);
        limit.rlim_cur = bytes + pages * (uint64_t)sysconf(_SC_PAGESIZE); /* instrumentation takes many */
        if (setrlimit(RLIMIT_AS, &limit))
                exit(1);
}

static uint32_t maps_of_clients(pid_t pid)
{
        char path[64], line[600];
        uint32_t count = 0;
        FILE *maps;

        snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
        maps = fopen(path, "re");
        assert_non_null(maps);
        while (fgets(line, sizeof line, maps))
                count += strstr(line, "pathways-client") != NULL;
        fclose(maps);
        return count;
}

static void attack(struct it_host *host)
{
        pid_t executor = executor_of(host);
        struct it_child attacker, victim;
        uint32_t maps;
        int ended;

        attacker = attack_fork(ATTACK_USER, run_many, host);
        ended = it_reap_within(&attacker, 4 * IT_LONG);
        maps = maps_of_clients(executor);
        fprintf(stderr, "the executor has %u segments of clients mapped\n", maps);
        victim = attack_fork(ATTACK_VICTIM, run_once, host);
        assert_int_equal(it_reap_within(&victim, IT_LONG), 0);
        assert_int_equal(ended, 0);
        assert_in_range(maps, 1, MAPS_MOST);
}

int main(void)
{
        leave_addresses(ADDRESSES);
        return attack_main(&(struct attack){ .name = "segments",
                                             .rule = "an executor keeps a bounded number of clients' segments, and addresses, "
                                                     "mapped",
                                             .args = IT_ARGS("--devices", "emulated:1", "--device-memory", "64MiB",
                                                             "--host-memory", "1GiB"),
                                             .alone = true,
                                             .run = attack,
                                             .users = true });
}
