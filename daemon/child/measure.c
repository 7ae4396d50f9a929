#include "daemon/child/measure.h"

#include "base/memory.h"
#include "base/size.h"
#include "daemon/child/spawn.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#define LONG_S 120 /* a driver that starts many GPUs takes its time */

/* Who was asked, and what it has said so far. */
struct asked {
        struct pw_spawned spawned;
        struct event *event;
        char text[1000];
        size_t count;
        bool is_over; /* it has said all, or did not in time: then what it said is nothing */
};

static void on_said(evutil_socket_t socket, short what, void *context)
{
        struct asked *asked = context;
        size_t room = sizeof asked->text - 1 - asked->count;
        ssize_t more = what & EV_READ ? TEMP_FAILURE_RETRY(read(socket, asked->text + asked->count, room)) : 0;

        if (!(what & EV_READ))
                asked->count = 0;
        asked->count += more > 0 ? (size_t)more : 0;
        asked->text[asked->count] = 0;
        if (more > 0 && (size_t)more < room)
                return;
        asked->is_over = true;
        event_del(asked->event);
}

/* All have the same time, whoever is heard first. */
static enum pw_status listen_to(struct pw_daemon *daemon, struct asked *asked, struct pw_error *ret_err)
{
        struct timeval most = { .tv_sec = LONG_S };

        asked->event = event_new(daemon->loop.base, asked->spawned.socket, EV_READ | EV_PERSIST, on_said, asked);
        if (!asked->event || event_add(asked->event, &most) < 0)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for what devices have");
        return PW_OK;
}

/* Until it has said all; or a signal has the daemon end: a driver may hold the process. */
static bool hear(struct pw_daemon *daemon, struct asked *asked)
{
        while (asked->event && !asked->is_over && daemon->phase < PW_DRAINING)
                event_base_loop(daemon->loop.base, EVLOOP_ONCE);
        return asked->is_over && asked->count;
}

/* "0 85899345920", or another status and a sentence. */
static enum pw_status found(struct pw_daemon *daemon, struct asked *asked, uint32_t device, uint64_t *ret_bytes,
                            struct pw_error *ret_err)
{
        bool heard = hear(daemon, asked);
        unsigned long said;
        int status = 0;
        char *rest;

        if (!heard)
                kill(asked->spawned.pid, SIGKILL);
        if (asked->event)
                event_free(asked->event);
        close(asked->spawned.socket);
        close(asked->spawned.pidfd);
        while (waitpid(asked->spawned.pid, &status, 0) < 0 && errno == EINTR)
                ;
        if (daemon->phase >= PW_DRAINING)
                return pw_error_set(ret_err, PW_CANCELLED, "stopped before device h%u:%u said what it has", daemon->host, device);
        if (!heard)
                return pw_error_set(ret_err, PW_SYSTEM,
                                    "--device-memory 0: what device h%u:%u has was not said: its executor ended with %d",
                                    daemon->host, device, status);
        said = strtoul(asked->text, &rest, 10);
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

static enum pw_status collect(struct pw_daemon *daemon, struct asked *all, uint32_t count, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;
        uint64_t least = UINT64_MAX;
        struct pw_error err;

        for (uint32_t i = 0; i < count; i++) {
                uint64_t bytes = 0;
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
        struct asked *all = calloc(daemon->settings.kinds.count, sizeof *all);
        uint32_t count = 0;
        enum pw_status status = PW_OK, collected;
        struct pw_error err;

        if (!all)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for what devices have");
        pw_log(&daemon->log, PW_LOG_INFO, "drivers are asked what devices have devices=%s", daemon->settings.devices);
        while (count < daemon->settings.kinds.count && status == PW_OK) {
                status = pw_spawn_measure(daemon, count, &all[count].spawned, ret_err);
                if (status != PW_OK)
                        break;
                status = listen_to(daemon, &all[count++], ret_err);
        }
        collected = collect(daemon, all, count, status == PW_OK ? ret_err : &err);
        free(all);
        return status == PW_OK ? collected : status;
}
