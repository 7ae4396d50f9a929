#include "daemon/child/measure.h"

#include "base/memory.h"
#include "base/size.h"
#include "daemon/child/spawn.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#define LONG_MS 120000 /* a driver that starts many GPUs takes its time */

/* All that it says, until it ends. False: nothing, or it does not end. */
static bool hear(int socket, char *text, size_t text_bytes)
{
        struct pollfd on = { .fd = socket, .events = POLLIN };
        size_t count = 0;
        ssize_t more = 1;

        while (more > 0 && count < text_bytes - 1) {
                do
                        more = poll(&on, 1, LONG_MS);
                while (more < 0 && errno == EINTR);
                if (more > 0)
                        more = read(socket, text + count, text_bytes - 1 - count);
                count += more > 0 ? (size_t)more : 0;
        }
        text[count] = 0;
        return count;
}

/* "0 85899345920", or another status and a sentence. */
static enum pw_status found(const struct pw_daemon *daemon, const struct pw_spawned *spawned, uint32_t device, uint64_t *ret_bytes,
                            struct pw_error *ret_err)
{
        char text[1000] = "", *rest;
        unsigned long said;
        bool heard = hear(spawned->socket, text, sizeof text);
        int status = 0;

        if (!heard)
                kill(spawned->pid, SIGKILL);
        close(spawned->socket);
        close(spawned->pidfd);
        while (waitpid(spawned->pid, &status, 0) < 0 && errno == EINTR)
                ;
        if (!heard)
                return pw_error_set(ret_err, PW_SYSTEM,
                                    "--device-memory 0: what device h%u:%u has was not said: its executor ended with %d",
                                    daemon->host, device, status);
        said = strtoul(text, &rest, 10);
        if (said)
                return pw_error_set(ret_err, pw_status_told((uint32_t)said), "--device-memory 0: device h%u:%u:%s", daemon->host,
                                    device, rest);
        *ret_bytes = strtoull(rest, NULL, 10);
        return PW_OK;
}

/* Of what is free, where other devices are the same GPU. */
static uint64_t share(const struct pw_settings *settings, uint32_t device, uint64_t bytes)
{
        uint64_t reserve = settings->no_nccl ? 0 : PW_NCCL_RESERVE;
        uint32_t count = 0;

        for (uint32_t i = 0; i < settings->kinds.count; i++)
                count += settings->kinds.of[i].ordinal == settings->kinds.of[device].ordinal;
        bytes = bytes / 10 * 9;
        return bytes > reserve ? (bytes - reserve) / count & ~UINT64_C(4095) : 0;
}

static enum pw_status collect(struct pw_daemon *daemon, const struct pw_spawned *all, uint32_t count, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;
        uint64_t bytes, least = UINT64_MAX;
        struct pw_error err;

        for (uint32_t i = 0; i < count; i++) {
                enum pw_status next = found(daemon, &all[i], i, &bytes, status == PW_OK ? ret_err : &err);

                status = status == PW_OK ? next : status;
                least = next == PW_OK ? pw_min_u64(least, share(&daemon->settings, i, bytes)) : least;
        }
        if (status == PW_OK && least < PW_MIB)
                return pw_error_set(ret_err, PW_INVALID, "--device-memory 0: so little is free on a device that nothing is left");
        if (status == PW_OK)
                daemon->settings.device_memory = least;
        return status;
}

enum pw_status pw_children_measure(struct pw_daemon *daemon, struct pw_error *ret_err)
{
        struct pw_spawned all[PW_DEVICES_MAX];
        uint32_t count = 0;
        enum pw_status status = PW_OK, collected;
        struct pw_error err;

        for (; count < daemon->settings.kinds.count && status == PW_OK; count += status == PW_OK)
                status = pw_spawn_measure(daemon, count, &all[count], ret_err);
        collected = collect(daemon, all, count, status == PW_OK ? ret_err : &err);
        return status == PW_OK ? collected : status;
}
