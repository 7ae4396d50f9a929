/* The `pathways` command as a child. */
#include "tests/integration/operator/command.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define ARGS_MAX 32

static unsigned as_user;

void it_command_as(unsigned user) { as_user = user; }

/* Another user that may still read everything, for the tree may lie where only root comes (/root); a socket needs the right to
 * write. */
static bool drop_to(unsigned user)
{
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        const uint32_t may = 1u << CAP_DAC_READ_SEARCH;
        struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { .effective = may, .permitted = may,
                                                                           .inheritable = may } };

        return !prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) && !setgid(user) && !setuid(user) && !syscall(SYS_capset, &header, data) &&
               !prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_READ_SEARCH, 0, 0);
}

static void become(const struct it_host *host, const struct it_command *command, const char *const *args)
{
        char program[600];
        const char *all[ARGS_MAX] = { "pathways" };
        size_t count = 1;
        int out = open(command->out, O_WRONLY | O_CREAT | O_TRUNC, 0600),
                err = open(command->err, O_WRONLY | O_CREAT | O_TRUNC, 0600);

        while (*args && count < ARGS_MAX - 3)
                all[count++] = *args++;
        if (host->socket[0]) {
                all[count++] = "--socket";
                all[count++] = host->socket;
        }
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        it_hear_signals();
        it_built("cli/pathways", program);
        if (as_user && !drop_to(as_user))
                _exit(127);
        if (dup2(out, STDOUT_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0)
                execv(program, (char *const *)all);
        _exit(127);
}

struct it_command it_command_start(const struct it_host *host, const char *const *args)
{
        struct it_command command = { .pidfd = -1 };
        static int number; /* tells files of one folder apart */

        number++;
        snprintf(command.out, sizeof command.out, "%s/out%d", host->folder, number);
        snprintf(command.err, sizeof command.err, "%s/err%d", host->folder, number);
        command.pid = fork();
        if (command.pid == 0)
                become(host, &command, args);
        assert_true(command.pid > 0);
        command.pidfd = (int)syscall(SYS_pidfd_open, command.pid, 0);
        return command;
}

int it_command_end(struct it_command *command, int signal)
{
        struct pollfd ended = { .fd = command->pidfd, .events = POLLIN };
        int status;

        if (signal)
                kill(command->pid, signal);
        if (poll(&ended, 1, (int)(it_long_us() / 1000)) != 1) {
                kill(command->pid, SIGKILL);
                fail_msg("pathways did not end in %d s", (int)(it_long_us() / IT_SECOND));
        }
        close(command->pidfd);
        while (waitpid(command->pid, &status, 0) < 0)
                assert_int_equal(errno, EINTR);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static char *read_text(const char *path)
{
        FILE *file = fopen(path, "re");
        char *text = NULL;
        size_t bytes = 0;

        assert_non_null(file);
        if (getdelim(&text, &bytes, 0, file) < 0) {
                free(text);
                text = strdup("");
        }
        fclose(file);
        return text;
}

int it_command_run(const struct it_host *host, const char *const *args, char **ret_out, char **ret_err)
{
        struct it_command command = it_command_start(host, args);
        int code = it_command_end(&command, 0);

        if (ret_out)
                *ret_out = read_text(command.out);
        if (ret_err)
                *ret_err = read_text(command.err);
        unlink(command.out);
        unlink(command.err);
        return code;
}

void it_command_expect(const struct it_host *host, int code, const char *texts, const char *const *args)
{
        char *out, *err, *list = strdup(texts), *rest = list, *text;
        int got = it_command_run(host, args, &out, &err);

        if (got != code)
                fail_msg("exit code %d, not %d\n%s%s", got, code, out, err);
        while ((text = strsep(&rest, "|")))
                if (!strstr(out, text) && !strstr(err, text))
                        fail_msg("no \"%s\" in\n%s%s", text, out, err);
        free(list);
        free(out);
        free(err);
}
