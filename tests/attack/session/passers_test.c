/* Users that come and go, one after the other: each attaches, opens a slice, has one function run on it, puts a value frozen, and
 * leaves with all that it had. The daemon keeps a descriptor of nobody, and no executor a map. */
#include "tests/attack/attack.h"
#include "tests/integration/process.h"
#include "tests/integration/trace.h"

#include "base/memory.h"

#include <stdio.h>
#include <string.h>

#define USERS_FROM 70000u
#define FIRST 10u /* users, before anything is counted */
#define SLACK 60u /* descriptors: of who left last, and is ended when the next one begins */
#define THREE 3
#define MAPS_SLACK 8u /* of tenants that have left: who is told is told with the next one's */

/* Of memory of devices, in the executor that has most. */
static uint32_t device_maps(const struct it_host *host)
{
        pid_t executors[64];
        uint32_t most = 0, count = attack_children(host->pid, executors, pw_array_count(executors));
        char line[400];

        for (uint32_t i = 0; i < count; i++) {
                uint32_t maps = 0;
                snprintf(line, sizeof line, "/proc/%d/maps", (int)executors[i]);
                FILE *file = fopen(line, "re");
                while (file && fgets(line, sizeof line, file))
                        maps += strstr(line, "memfd:pathways-device") != NULL;
                if (file)
                        fclose(file);
                most = maps > most ? maps : most;
        }
        return most;
}

static int pass(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_slice *slice = it_slice(session, 1, 0);
        struct pw_program *program = it_one_node(session, slice, "pw/nop", PW_DIMS(THREE), NULL);
        double numbers[THREE] = { 1, 2, 3 };
        struct pw_future *input, *result;
        struct pw_view view;

        (void)pipe;
        it_ok(pw_put(session, numbers, sizeof numbers,
                     &(struct pw_put_params){ .dtype = PW_F64, .dims = PW_DIMS(THREE), .flags = PW_PUT_FROZEN }, &input, IT_ERR));
        result = it_run_1(program, input);
        it_ok(pw_get(result, IT_LONG, &view, IT_ERR));
        assert_int_equal(view.bytes, sizeof numbers);
        pw_view_done(&view);
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
        pw_close(session);
        return 0;
}

static void run(struct it_host *host)
{
        uint32_t users = (uint32_t)it_environment("PW_USERS", 120);
        struct it_has before = { 0 }, after;
        uint32_t maps = 0;

        for (uint32_t i = 0; i < FIRST + users; i++) {
                struct it_child user = attack_fork(USERS_FROM + i, pass, host);

                if (i == FIRST) {
                        before = it_has(host->pid);
                        maps = device_maps(host);
                        assert_true(maps > 0);
                }
                assert_int_equal(it_reap(&user, 0), 0);
        }
        after = it_has(host->pid);
        if (after.fds > before.fds + SLACK)
                fail_msg("%u users came and went: %u descriptors before, %u after", users, (unsigned)before.fds,
                         (unsigned)after.fds);
        if (device_maps(host) > maps + MAPS_SLACK)
                fail_msg("%u users came and went: an executor mapped %u memories of devices before, %u after", users, maps,
                         device_maps(host));
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "passers",
                                             .rule = "who has left with all that he had ends, with his memory on devices",
                                             .users = true, .alone = true, .run = run });
}
