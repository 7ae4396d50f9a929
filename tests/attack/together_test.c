/* All attacks at once, on one daemon: a bystander's calls stay short, and nothing is left behind. */
#include "tests/attack/attack.h"
#include "tests/attack/bystander.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define ATTACKS_MAX 64
#define EXIT_SKIP 77
#define FIRST_USER 65400u /* of the attackers: tenants, each with a quota of its own */

/* A build tree's path of a program, "tests/attack/FOLDER/NAME_test". */
static struct it_child begin(const struct it_host *host, const char *program, unsigned user)
{
        char path[600], pid[16], uid[16];

        it_built(program, path);
        snprintf(pid, sizeof pid, "%d", (int)host->pid);
        snprintf(uid, sizeof uid, "%u", user);
        fflush(NULL);
        struct it_child child = { .pid = fork(), .pipe = -1 };
        if (child.pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                setenv("PW_ATTACK_SOCKET", host->socket, 1);
                setenv("PW_ATTACK_PID", pid, 1);
                setenv("PW_ATTACK_USER", uid, 1);
                execl(path, path, (char *)NULL);
                _exit(127);
        }
        assert_true(child.pid > 0);
        it_adopt(&child);
        return child;
}

static int set_up(void **state)
{
        if (it_setup_with(state,
                          IT_ARGS("--devices", "emulated:8", "--islands", "2", "--host-memory", "3GiB", "--device-memory", "64MiB",
                                         "--quota", "*:host=900MiB,sessions=1000")))
                return -1;
        return chmod(((struct it_host *)*state)->folder, 0711);
}

static void test_together(void **state)
{
        struct it_host *host = *state;
        struct bystander *bystander = bystander_begin(host);
        char list[] = ATTACKS, *rest = NULL, *names[ATTACKS_MAX];
        struct it_child children[ATTACKS_MAX];
        int count = 0, failed = 0;

        for (char *name = strtok_r(list, " ", &rest); name && count < ATTACKS_MAX; name = strtok_r(NULL, " ", &rest)) {
                names[count] = name;
                children[count] = begin(host, name, FIRST_USER + (unsigned)count);
                count++;
        }
        for (int i = 0; i < count; i++) {
                int status = it_reap_within(&children[i], IT_TOGETHER);

                if (status == 0 || status == EXIT_SKIP)
                        continue;
                print_error("%s ended with %d\n", names[i], status);
                failed++;
        }
        bystander_end(bystander);
        assert_int_equal(failed, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test_setup_teardown(test_together, set_up, it_teardown) };

        if (geteuid() != 0) {
                printf("other tenants are other users, whom only root can become\n");
                return EXIT_SKIP;
        }
        return cmocka_run_group_tests_name("together", tests, NULL, NULL);
}
