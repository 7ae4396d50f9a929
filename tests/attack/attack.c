/* Runs one attack, on a daemon of its own or on one that others attack too. */
#include "tests/attack/attack.h"
#include "tests/attack/bystander.h"

#include "base/memory.h"

#include <dirent.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXIT_SKIP 77

/* --- who attacks ------------------------------------------------------------------------------------------------------ */

struct as_user {
        unsigned user;
        int (*work)(void *context, int pipe);
        void *context;
};

/* The kernel forgets at such a change that the child dies with its parent. */
static int become_and_work(void *context, int pipe)
{
        const struct as_user *as = context;

        if (geteuid() == 0) {
                assert_int_equal(setgroups(0, NULL), 0);
                assert_int_equal(setresgid(as->user, as->user, as->user), 0);
                assert_int_equal(setresuid(as->user, as->user, as->user), 0);
                assert_int_equal(prctl(PR_SET_PDEATHSIG, SIGKILL), 0);
                assert_int_equal(prctl(PR_SET_DUMPABLE, 1), 0);
        }
        return as->work(as->context, pipe);
}

struct it_child attack_fork(unsigned user, int (*work)(void *context, int pipe), void *context)
{
        const char *other = user == ATTACK_USER ? getenv("PW_ATTACK_USER") : NULL;
        struct as_user as = { other ? (unsigned)strtoul(other, NULL, 10) : user, work, context };

        return it_fork(become_and_work, &as);
}

/* --- what the system says --------------------------------------------------------------------------------------------- */

/* The sum of the lines of a file that begin with one of the keys, in bytes; they are in kB. */
static uint64_t sum_kb(const char *path, const char *const *keys)
{
        char line[200];
        uint64_t sum = 0;
        FILE *file = fopen(path, "re");

        while (file && fgets(line, sizeof line, file))
                for (const char *const *key = keys; *key; key++)
                        if (!strncmp(line, *key, strlen(*key)))
                                sum += strtoull(line + strlen(*key), NULL, 10) * 1024;
        if (file)
                fclose(file);
        return sum;
}

static uint64_t sum_of_process(pid_t pid, const char *const *keys)
{
        char path[64];

#ifdef __SANITIZE_ADDRESS__
        pid = 0; /* what a sanitizer keeps of what was freed says nothing */
#endif
        snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
        return sum_kb(path, keys);
}

uint64_t attack_private_bytes(pid_t pid)
{
        static const char *const keys[] = { "Private_Clean:", "Private_Dirty:", NULL };

        return sum_of_process(pid, keys);
}

uint64_t attack_anonymous_bytes(pid_t pid)
{
        static const char *const keys[] = { "Anonymous:", NULL };

        return sum_of_process(pid, keys);
}

uint64_t attack_cpu_us(pid_t pid)
{
        char path[64], text[1024];
        unsigned long user = 0, system = 0;
        FILE *file;

        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        file = fopen(path, "re");
        if (file && fgets(text, sizeof text, file) && strrchr(text, ')'))
                (void)sscanf(strrchr(text, ')'), ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
        if (file)
                fclose(file);
        return (user + system) * 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

uint64_t attack_loop_us(pid_t pid)
{
        unsigned long long ran_ns = 0;
        char path[64];

        snprintf(path, sizeof path, "/proc/%d/schedstat", (int)pid);
        FILE *file = fopen(path, "re");
        if (file && fscanf(file, "%llu", &ran_ns) != 1)
                ran_ns = 0;
        if (file)
                fclose(file);
        return ran_ns / 1000;
}

uint64_t attack_shmem_bytes(void)
{
        static const char *const keys[] = { "Shmem:", NULL };

        return sum_kb("/proc/meminfo", keys);
}

uint64_t attack_memfd_bytes(pid_t pid)
{
        char folder[64], path[400], name[64];
        uint64_t bytes = 0, inodes[512];
        uint32_t count = 0, i;
        struct dirent *item;
        struct stat status;

        snprintf(folder, sizeof folder, "/proc/%d/fd", (int)pid);
        DIR *all = opendir(folder);
        while (all && (item = readdir(all))) {
                snprintf(path, sizeof path, "%s/%s", folder, item->d_name);
                ssize_t length = readlink(path, name, sizeof name - 1);
                if (length < 16 || strncmp(name, "/memfd:pathways-", 16) || stat(path, &status) || count == pw_array_count(inodes))
                        continue;
                for (i = 0; i < count && inodes[i] != status.st_ino; i++)
                        ;
                if (i < count)
                        continue;
                inodes[count++] = status.st_ino;
                bytes += (uint64_t)status.st_blocks * 512;
        }
        if (all)
                closedir(all);
        return bytes;
}

uint32_t attack_children(pid_t parent, pid_t *pids, uint32_t most)
{
        char path[64];
        uint32_t count = 0;
        int pid;

        snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent, (int)parent);
        FILE *file = fopen(path, "re");
        while (file && count < most && fscanf(file, "%d", &pid) == 1)
                pids[count++] = (pid_t)pid;
        if (file)
                fclose(file);
        return count;
}

/* --- the whole -------------------------------------------------------------------------------------------------------- */

static const struct attack *attack; /* cmocka hands tests no more than their state */

bool attack_is_shared(void) { return getenv("PW_ATTACK_SOCKET") != NULL; }

static int set_up(void **state)
{
        if (!attack_is_shared()) {
                if (attack->args ? it_setup_with(state, attack->args) : it_setup(state))
                        return -1;
                /* Other users get at its socket. */
                return chmod(((struct it_host *)*state)->folder, 0711);
        }
        struct it_host *host = calloc(1, sizeof *host);

        assert_non_null(host);
        *host = (struct it_host){ .pidfd = -1, .pid = (pid_t)it_environment("PW_ATTACK_PID", 0) };
        snprintf(host->socket, sizeof host->socket, "%s", getenv("PW_ATTACK_SOCKET"));
        host->session = it_connect(host);
        *state = host;
        return 0;
}

static int tear_down(void **state)
{
        struct it_host *host = *state;

        if (!attack_is_shared())
                return it_teardown(state);
        pw_close(host->session);
        free(host);
        return 0;
}

static void test_attack(void **state)
{
        struct it_host *host = *state;
        struct bystander *bystander = attack_is_shared() || attack->unwatched ? NULL : bystander_begin(host);

        attack->run(host);
        if (bystander)
                bystander_end(bystander);
}

int attack_main(const struct attack *what)
{
        const struct CMUnitTest tests[] = { { what->name, test_attack, set_up, tear_down, NULL } };

        attack = what;
        if (what->users && geteuid() != 0) {
                printf("%s: other tenants are other users, whom only root can become\n", what->name);
                return EXIT_SKIP;
        }
        if (what->alone && attack_is_shared()) {
                printf("%s: needs a daemon of its own\n", what->name);
                return EXIT_SKIP;
        }
        alarm((what->seconds ? what->seconds : 120) * (attack_is_shared() ? 3 : 1));
        return cmocka_run_group_tests_name(what->name, tests, NULL, NULL);
}
