/* redis-server, started and ended. */
#include "tests/conformance/server.h"

#include <dirent.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define ARGS_MAX 24

bool server_is_there(void)
{
        return access("/usr/bin/redis-server", X_OK) == 0;
}

static void become(const struct server *server, const char *const *args, int out)
{
        char socket[96];
        const char *argv[ARGS_MAX] = { "redis-server", "--port", "0", "--save", "", "--dir", server->folder, "--unixsocket",
                                       socket };
        int argc = 9;

        snprintf(socket, sizeof socket, "%s/redis.sock", server->folder);
        while (args && *args && argc < ARGS_MAX - 1)
                argv[argc++] = *args++;
        argv[argc] = NULL;
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* it does not outlive a test that is ended */
        dup2(out, STDOUT_FILENO);
        execv("/usr/bin/redis-server", (char *const *)(uintptr_t)argv);
        _exit(127);
}

/* Until it says that it listens. */
static void await_listening(int in)
{
        FILE *file = fdopen(in, "r");
        char line[512];
        bool listens = false;

        assert_non_null(file);
        while (!listens && fgets(line, sizeof line, file))
                listens = strstr(line, "connections at") != NULL;
        if (!listens)
                fail_msg("redis-server did not start");
        fclose(file);
}

void server_start(struct server *server, const char *const *args)
{
        int ends[2];

        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        server->pid = fork();
        assert_true(server->pid >= 0);
        if (!server->pid)
                become(server, args, ends[1]);
        close(ends[1]);
        await_listening(ends[0]);
}

void server_begin(struct server *server, const char *const *args)
{
        snprintf(server->folder, sizeof server->folder, "/tmp/pw-redis-XXXXXX");
        assert_non_null(mkdtemp(server->folder));
        snprintf(server->address, sizeof server->address, "redis+unix:%s/redis.sock", server->folder);
        server_start(server, args);
}

void server_kill(struct server *server)
{
        if (!server->pid)
                return;
        kill(server->pid, SIGKILL);
        waitpid(server->pid, NULL, 0);
        server->pid = 0;
}

/* With the sockets that hosts left there which were killed. */
void server_end(struct server *server)
{
        struct dirent *entry;
        char path[400];
        DIR *folder;

        server_kill(server);
        folder = opendir(server->folder);
        while (folder && (entry = readdir(folder))) {
                snprintf(path, sizeof path, "%s/%s", server->folder, entry->d_name);
                unlink(path);
        }
        if (folder)
                closedir(folder);
        rmdir(server->folder);
}

static void append(char *answer, size_t answer_bytes, const redisReply *reply)
{
        size_t at = strlen(answer);

        if (reply->type == REDIS_REPLY_INTEGER)
                snprintf(answer + at, answer_bytes - at, "%lld", reply->integer);
        else if (reply->type == REDIS_REPLY_ARRAY)
                for (size_t i = 0; i < reply->elements; i++) {
                        append(answer, answer_bytes, reply->element[i]);
                        strncat(answer, "\n", answer_bytes - strlen(answer) - 1);
                }
        else if (reply->type != REDIS_REPLY_NIL)
                snprintf(answer + at, answer_bytes - at, "%s", reply->str);
}

void server_ask(const struct server *server, char *ret_answer, size_t answer_bytes, const char *format, ...)
{
        redisContext *connection = redisConnectUnix(strchr(server->address, ':') + 1);
        redisReply *reply;
        char line[512];
        va_list args;

        assert_non_null(connection);
        assert_int_equal(connection->err, 0);
        va_start(args, format);
        vsnprintf(line, sizeof line, format, args);
        va_end(args);
        reply = redisCommand(connection, line);
        assert_non_null(reply);
        *ret_answer = 0;
        append(ret_answer, answer_bytes, reply);
        freeReplyObject(reply);
        redisFree(connection);
}
