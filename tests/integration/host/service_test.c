/* pathwaysd as a service: what it tells systemd, and settings that change while it runs. */
#include "tests/integration/folder.h"
#include "tests/integration/raw.h"
#include "tests/integration/trace.h"

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

/* --- what the log says -------------------------------------------------------------------------------------------------- */

/* The whole log, to be freed. */
static char *log_of(const struct it_host *host)
{
        FILE *log = fopen(host->log, "re");
        char *text = calloc(1, 1 << 16);

        assert_non_null(log);
        assert_non_null(text);
        text[fread(text, 1, (1 << 16) - 1, log)] = 0;
        fclose(log);
        return text;
}

static unsigned count_of(const char *text, const char *what)
{
        unsigned count = 0;

        while ((text = strstr(text, what))) {
                count++;
                text += strlen(what);
        }
        return count;
}

/* Waits until `what` stands `count` times in the log. */
static void until_said(const struct it_host *host, const char *what, unsigned count)
{
        for (int64_t end_us = it_now_us() + IT_LONG;;) {
                char *text = log_of(host);
                bool said = count_of(text, what) >= count;

                if (!said && it_now_us() > end_us)
                        fail_msg("\"%s\" is not in\n%s", what, text);
                free(text);
                if (said)
                        return;
                poll(NULL, 0, 1);
        }
}

static bool has_said(const struct it_host *host, const char *what)
{
        char *text = log_of(host);
        bool said = strstr(text, what);

        free(text);
        return said;
}

/* --- SIGHUP ------------------------------------------------------------------------------------------------------------- */

/* Sends SIGHUP and waits until the `count`th reading has ended. */
static void reload(const struct it_host *host, unsigned count)
{
        assert_int_equal(kill(host->pid, SIGHUP), 0);
        until_said(host, "config read again", count);
}

static mode_t mode_of(const char *path)
{
        struct stat info;

        assert_int_equal(stat(path, &info), 0);
        return info.st_mode & 07777;
}

#define FIRST "devices = emulated:2\nhost-memory = 64 MiB\ndevice-memory = 4 MiB\n"

static void a_changed_file_is_applied(void **state)
{
        struct it_host *host = *state;
        struct pw_future *put;
        char path[128];

        snprintf(path, sizeof path, "%s/pathways.conf", host->folder);
        it_write_file(path, FIRST "socket-mode = 600\n");
        it_start(host, IT_ARGS("--config", path, "--shutdown", "7s"));
        host->session = it_connect(host);
        reload(host, 1);
        assert_true(has_said(host, "changed=0 need_restart=0"));
        assert_false(has_said(host, "session ended"));

        it_write_file(path,
                      FIRST "socket-mode = 644\nadmit-deadline = 1min\nshutdown = 3s\nislands = 2\nlog-level = debug\nmodules = "
                            "/no/such/folder\n");
        reload(host, 2);
        assert_int_equal(mode_of(host->socket), 0644);
        assert_true(has_said(host, "setting applied key=socket-mode was=\"0600\" is=\"0644\""));
        assert_true(has_said(host, "setting applied key=admit-deadline was=\"10 min\" is=\"1 min\""));
        assert_true(has_said(host, "setting needs a restart key=islands is=\"1\" file=\"2\""));
        assert_true(has_said(host, "setting applied key=log-level was=\"info\" is=\"debug\""));
        assert_false(has_said(host, "key=shutdown")); /* the command line wins */
        assert_false(has_said(host, "key=modules"));  /* likewise: the harness gives folders */
        assert_true(has_said(host, "changed=4 need_restart=1"));
        assert_int_equal(it_listed(host->session, "status", "islands"), 1);
        pw_close(it_connect(host));
        until_said(host, "debug pathwaysd: session ended", 1);
        assert_false(has_said(host, "state changed"));
        it_ok(pw_put(host->session, "x", 1, NULL, &put, IT_ERR));
        pw_unref(put);
        until_said(host, "from=ready to=closing cause=close", 1);
        assert_true(has_said(host, "debug pathwaysd: state changed object="));
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
}

/* Who they are is looked up beside the loop, and of many the first are named. */
static void quotas_for_many_that_nobody_knows(void **state)
{
        struct it_host *host = *state;
        char path[128], *file = NULL;
        size_t bytes;
        FILE *out;

        snprintf(path, sizeof path, "%s/pathways.conf", host->folder);
        it_write_file(path, FIRST);
        it_start(host, IT_ARGS("--config", path));
        out = open_memstream(&file, &bytes);
        assert_non_null(out);
        fputs(FIRST, out);
        for (uint32_t i = 0; i < 200; i++)
                fprintf(out, "quota = nosuchuser%u:host=1MiB\nquota = nosuchuser%u:sessions=2\n", i, i);
        fputs("quota = uid-4242:host=1MiB\n", out); /* as the tenant of a user without a name is called */
        fclose(out);
        it_write_file(path, file);
        free(file);
        reload(host, 1);
        assert_true(has_said(host, "does not exist yet user=nosuchuser15"));
        assert_false(has_said(host, "does not exist yet user=nosuchuser16"));
        assert_true(has_said(host, "quotas for more users that do not exist yet users=184"));
        for (uint32_t i = 0; i < 20; i++) /* while one is under way the next ones are one */
                assert_int_equal(kill(host->pid, SIGHUP), 0);
        until_said(host, "config read again", 2);
        host->session = it_connect(host);
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
}

static void a_bad_file_changes_nothing(void **state)
{
        struct it_host *host = *state;
        char path[128];

        snprintf(path, sizeof path, "%s/pathways.conf", host->folder);
        it_write_file(path, FIRST "socket-mode = 600\n");
        it_start(host, IT_ARGS("--config", path));
        it_write_file(path, FIRST "socket-mode = 644\nlog-levle = debug\n");
        assert_int_equal(kill(host->pid, SIGHUP), 0);
        until_said(host, "config not read again", 1);
        assert_true(has_said(host, "pathways.conf:5") && has_said(host, "log-levle"));
        it_write_file(path, FIRST "socket-mode = 644\nlog-level = loud\n");
        assert_int_equal(kill(host->pid, SIGHUP), 0);
        until_said(host, "config not read again", 2);
        assert_true(has_said(host, "loud: error, warning, info or debug"));
        assert_int_equal(unlink(path), 0);
        assert_int_equal(kill(host->pid, SIGHUP), 0);
        until_said(host, "config not read again", 3);
        assert_int_equal(mkfifo(path, 0600), 0); /* nobody writes to it: who opened it would wait */
        assert_int_equal(kill(host->pid, SIGHUP), 0);
        until_said(host, "it is no regular file", 1);
        assert_int_equal(mode_of(host->socket), 0600);
        assert_false(has_said(host, "setting applied"));
        host->session = it_connect(host);
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
}

/* What cannot be applied is said at each reading, and the setting stays what it was. */
static void what_cannot_be_applied_stays(void **state)
{
        struct it_host *host = *state;
        char path[128], away[128];

        snprintf(path, sizeof path, "%s/pathways.conf", host->folder);
        snprintf(away, sizeof away, "%s/away", host->folder);
        it_write_file(path, FIRST "socket-mode = 600\n");
        it_start(host, IT_ARGS("--config", path));
        it_write_file(path, FIRST "socket-mode = 644\noperators = no-such-group\nadmit-deadline = 1min\n");
        assert_int_equal(rename(host->socket, away), 0);
        reload(host, 1);
        assert_true(has_said(host,
                             "setting not applied key=operators is=\"\" file=\"no-such-group\" reason=\"--operators "
                             "no-such-group: there is no"));
        assert_true(has_said(host, "setting not applied key=socket-mode is=\"0600\" file=\"0644\" reason=\"chmod "));
        assert_true(has_said(host, "setting applied key=admit-deadline was=\"10 min\" is=\"1 min\""));
        assert_true(has_said(host, "changed=3 need_restart=0"));
        assert_int_equal(rename(away, host->socket), 0);
        assert_int_equal(mode_of(host->socket), 0600);

        reload(host, 2);
        until_said(host, "setting not applied key=operators is=\"\" file=\"no-such-group\"", 2);
        assert_true(has_said(host, "setting applied key=socket-mode was=\"0600\" is=\"0644\""));
        assert_true(has_said(host, "changed=2 need_restart=0"));
        assert_int_equal(mode_of(host->socket), 0644);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
}

static void without_a_file_nothing_is_read(void **state)
{
        struct it_host *host = *state;

        it_start(host, IT_ARGS(IT_SMALL));
        assert_int_equal(kill(host->pid, SIGHUP), 0);
        until_said(host, "config not read again reason=\"there is none", 1);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
}

/* --- systemd ------------------------------------------------------------------------------------------------------------ */

/* A socket as systemd's, at a path or in the abstract namespace. */
static int listen_at(const char *name)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        assert_true(strlen(name) < sizeof address.sun_path);
        memcpy(address.sun_path, name, strlen(name));
        if (*name == '@')
                address.sun_path[0] = 0;
        assert_int_equal(bind(fd, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))),
                         0);
        return fd;
}

/* The next message that is not about the watchdog. */
static void hear(int fd, const char *begins, char text[600])
{
        struct pollfd on = { .fd = fd, .events = POLLIN };

        do {
                if (poll(&on, 1, IT_LONG / 1000) != 1)
                        fail_msg("nothing is said of %s", begins);
                ssize_t got = recv(fd, text, 599, 0);
                assert_true(got > 0);
                text[got] = 0;
        } while (!strcmp(text, "WATCHDOG=1") && strcmp(begins, text) != 0);
        if (strncmp(text, begins, strlen(begins)) != 0)
                fail_msg("\"%s\" does not begin with %s", text, begins);
}

static void tells_systemd(struct it_host *host, const char *name)
{
        int fd = listen_at(name);
        char path[128], text[600];

        snprintf(path, sizeof path, "%s/pathways.conf", host->folder);
        it_write_file(path, FIRST);
        setenv("NOTIFY_SOCKET", name, 1);
        setenv("WATCHDOG_USEC", "200000", 1);
        it_start(host, IT_ARGS("--config", path));
        unsetenv("NOTIFY_SOCKET");
        unsetenv("WATCHDOG_USEC");
        hear(fd, "READY=1\nSTATUS=2 devices in 1 islands", text);
        hear(fd, "WATCHDOG=1", text);
        hear(fd, "WATCHDOG=1", text);
        assert_int_equal(kill(host->pid, SIGHUP), 0);
        hear(fd, "RELOADING=1\nMONOTONIC_USEC=", text);
        assert_true(strtoull(strrchr(text, '=') + 1, NULL, 10) > 0);
        hear(fd, "READY=1", text);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
        hear(fd, "STOPPING=1", text);
        close(fd);
}

static void systemd_is_told(void **state)
{
        struct it_host *host = *state;
        char name[100];

        snprintf(name, sizeof name, "%s/notify", host->folder);
        tells_systemd(host, name);
        snprintf(name, sizeof name, "@%s/notify", host->folder);
        tells_systemd(host, name);
}

/* Lines begin with their level where standard error is the journal's stream, and only there. */
static void the_journal_gets_levels(void **state)
{
        struct it_host *host = *state;
        struct stat info;
        char text[64];

        it_write_file(host->log, "");
        assert_int_equal(stat(host->log, &info), 0);
        snprintf(text, sizeof text, "%lu:%lu", (unsigned long)info.st_dev, (unsigned long)info.st_ino);
        setenv("JOURNAL_STREAM", text, 1);
        it_start(host, IT_ARGS(IT_SMALL));
        assert_int_equal(it_host_end(host, SIGTERM), 0);
        char *log = log_of(host);
        assert_true(!strncmp(log, "<6>2", 4) && strstr(log, "\n<6>2"));
        free(log);
        it_write_file(host->log, "");
        setenv("JOURNAL_STREAM", "8:1", 1);
        it_start(host, IT_ARGS(IT_SMALL));
        unsetenv("JOURNAL_STREAM");
        assert_int_equal(it_host_end(host, SIGTERM), 0);
        assert_false(has_said(host, "<6>"));
}

/* Whatever the environment holds: what makes no sense is named, and the daemon works. */
static void a_senseless_environment(void **state)
{
        static const char *const names[] = { "NOTIFY_SOCKET", "WATCHDOG_USEC", "JOURNAL_STREAM", "XDG_RUNTIME_DIR",
                                             "XDG_STATE_HOME" };
        static const char *const values[] = { "relative/path", "-1", "\x01\xff", "", "%s%n%s", "99999999999999999999999999" };
        struct it_host *host = *state;
        char *before[5], huge[6000];

        memset(huge, 'x', sizeof huge - 1);
        huge[sizeof huge - 1] = 0;
        for (int i = 0; i < 5; i++)
                before[i] = getenv(names[i]) ? strdup(getenv(names[i])) : NULL;
        for (int v = 0; v < 7; v++) {
                for (int i = 0; i < 5; i++)
                        setenv(names[i], v < 6 ? values[v] : huge, 1);
                it_start(host, IT_ARGS(IT_SMALL));
                assert_int_equal(it_host_end(host, SIGTERM), 0);
        }
        for (int i = 0; i < 5; i++) {
                char line[100];

                snprintf(line, sizeof line, "see ENVIRONMENT in pathwaysd(8) name=%s", names[i]);
                assert_true(has_said(host, line));
                if (before[i])
                        setenv(names[i], before[i], 1);
                else
                        unsetenv(names[i]);
                free(before[i]);
        }
}

/* Each session that breaks the protocol could be a line. */
static void who_breaks_the_protocol_fills_no_log(void **state)
{
        static const char nonsense[64] = "GET / HTTP/1.1\r\nHost: what is no frame of the protocol\r\n\r\n";
        struct it_host *host = *state;
        char *text, more[64];

        it_start(host, IT_ARGS(IT_SMALL));
        for (int i = 0; i < 100; i++) {
                struct pollfd ended = { .fd = raw_connect(host), .events = POLLRDHUP };

                assert_int_equal(write(ended.fd, nonsense, sizeof nonsense), sizeof nonsense);
                assert_int_equal(poll(&ended, 1, IT_LONG / 1000), 1);
                close(ended.fd);
        }
        assert_int_equal(it_host_end(host, SIGTERM), 0);
        text = log_of(host);
        assert_int_equal(count_of(text, "session ended"), 20);
        snprintf(more, sizeof more, "warning pathwaysd: 80 more like this uid=%u", (unsigned)getuid());
        assert_int_equal(count_of(text, more), 1);
        free(text);
}

/* So could each end of an executor, which a client has its functions bring about as often as it likes. */
static void who_ends_executors_fills_no_log(void **state)
{
        struct it_host *host = *state;
        struct pw_program *crash, *good;
        struct pw_slice *slice;
        struct pw_future *input;
        struct pw_view view;
        char *text;

        it_start(host, IT_ARGS(IT_SMALL));
        host->session = it_connect(host);
        slice = it_slice(host->session, 1, 1);
        crash = it_one_node(host->session, slice, "broken/crash", PW_SCALAR, NULL);
        good = it_one_node(host->session, slice, "pw/nop", PW_SCALAR, NULL);
        input = it_put_scalar(host->session, 1);
        for (int i = 0; i < 25; i++) {
                struct pw_future *result = it_run_1(good, input);

                it_ok(pw_get(result, IT_LONG, &view, IT_ERR)); /* it was of use: it is started again at once */
                pw_view_done(&view);
                pw_unref(result);
                result = it_run_1(crash, input);
                assert_int_equal(pw_get(result, IT_LONG, &view, NULL), PW_CRASHED);
                pw_unref(result);
        }
        pw_unref(input);
        pw_program_free(crash);
        pw_program_free(good);
        pw_slice_close(slice);
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
        text = log_of(host);
        assert_int_equal(count_of(text, "executor ended"), 20);
        assert_int_equal(count_of(text, "warning pathwaysd: 5 more like this uid=others"), 1);
        free(text);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_FOLDER_TEST(a_changed_file_is_applied), IT_FOLDER_TEST(quotas_for_many_that_nobody_knows),
                        IT_FOLDER_TEST(a_bad_file_changes_nothing), IT_FOLDER_TEST(without_a_file_nothing_is_read),
                        IT_FOLDER_TEST(what_cannot_be_applied_stays),
                IT_FOLDER_TEST(systemd_is_told),           IT_FOLDER_TEST(the_journal_gets_levels),
                IT_FOLDER_TEST(a_senseless_environment), IT_FOLDER_TEST(who_breaks_the_protocol_fills_no_log),
                IT_FOLDER_TEST(who_ends_executors_fills_no_log),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
