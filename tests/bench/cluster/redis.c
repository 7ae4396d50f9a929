/* Redis, asked over its socket in its own words: RESP, of which a status and one long string are all that is read. */
#include "tests/bench/cluster/hosts.h"

#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_MAX 65536u

enum pw_status pw_bench_redis_open(const struct pw_bench_cluster *cluster, int *ret_fd, struct pw_error *ret_err)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        pw_auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        snprintf(address.sun_path, sizeof address.sun_path, "%s/redis.sock", cluster->folder);
        if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) < 0)
                return pw_error_errno(ret_err, errno, "connect to %s", address.sun_path);
        *ret_fd = fd;
        fd = -1;
        return PW_OK;
}

/* "+PONG\r\n", or "$5\r\n" and five bytes and "\r\n". */
static bool is_whole(const char *answer, size_t bytes)
{
        const char *line = memchr(answer, '\n', bytes);

        if (!line || answer[0] != '$')
                return line != NULL;
        return bytes >= (size_t)(line + 1 - answer) + strtoul(answer + 1, NULL, 10) + 2;
}

static enum pw_status ask(int fd, const char *command, char answer[ANSWER_MAX], struct pw_error *ret_err)
{
        size_t bytes = 0;
        ssize_t came;

        if (send(fd, command, strlen(command), MSG_NOSIGNAL) != (ssize_t)strlen(command))
                return pw_error_errno(ret_err, errno, "send to Redis");
        do {
                came = recv(fd, answer + bytes, ANSWER_MAX - 1 - bytes, 0);
                if (came <= 0)
                        return pw_error_set(ret_err, PW_PROTOCOL, "Redis did not answer %s", command);
                bytes += (size_t)came;
                answer[bytes] = 0;
        } while (!is_whole(answer, bytes));
        return answer[0] == '-' ? pw_error_set(ret_err, PW_PROTOCOL, "Redis: %.200s", answer) : PW_OK;
}

enum pw_status pw_bench_redis_trip(const struct pw_bench_cluster *cluster, uint32_t count, double *ret_us, struct pw_error *ret_err)
{
        static char answer[ANSWER_MAX];
        pw_auto_close int fd = -1;
        enum pw_status status = pw_bench_redis_open(cluster, &fd, ret_err);
        double start = pw_bench_seconds();

        for (uint32_t i = 0; i < count && status == PW_OK; i++)
                status = ask(fd, "PING\r\n", answer, ret_err);
        *ret_us = (pw_bench_seconds() - start) * 1e6 / count;
        return status;
}

enum pw_status pw_bench_redis_commands(const struct pw_bench_cluster *cluster, uint64_t *ret_count, struct pw_error *ret_err)
{
        static char answer[ANSWER_MAX];
        pw_auto_close int fd = -1;
        enum pw_status status = pw_bench_redis_open(cluster, &fd, ret_err);
        char *rest = answer, *line;

        if (status == PW_OK)
                status = ask(fd, "INFO commandstats\r\n", answer, ret_err);
        if (status != PW_OK)
                return status;
        *ret_count = 0;
        while ((line = strsep(&rest, "\n"))) /* cmdstat_evalsha:calls=12,usec=... */
                if (!strncmp(line, "cmdstat_", 8) && strncmp(line, "cmdstat_info", 12) && strstr(line, ":calls="))
                        *ret_count += strtoull(strstr(line, ":calls=") + 7, NULL, 10);
        return PW_OK;
}
