/* A program with large parameters over all islands of a host: its image is in memory once, which executors of every island map and
 * cannot write. */
#include "tests/attack/attack.h"

#include "base/size.h"
#include "libclient/session.h"
#include "tests/integration/trace.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PARAMS (16 * PW_MIB)
#define DEVICES 4u
#define ISLANDS 4u
#define LITTLE (4 * PW_MIB) /* what a session, an input and a module may take besides */

struct seen { uint64_t memfds, overhead, kept, executors; };

static int run_once(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_slice *slice = it_slice(session, DEVICES, ISLANDS);
        struct pw_program *program = pw_program_new(session, "copies");
        struct pw_value *x = pw_input(program, slice, PW_F64, PW_DIMS(8), PW_SPLIT(0), 0);
        const double value = 7, expected[] = { 7, 7, 7, 7, 7, 7, 7, 7 };
        uint8_t *params = calloc(1, PARAMS);
        struct pw_future *result;

        assert_non_null(params);
        memcpy(params, &value, sizeof value);
        memset(params + sizeof value, 1, PARAMS - sizeof value);
        pw_result(program, pw_call_with(program, slice, "pw/fill", PW_ARGS(x), PW_SPLIT(0),
                                        &(struct pw_call_params){ .params = params, .params_bytes = PARAMS }));
        free(params);
        it_ok(pw_compile(program, IT_ERR));
        result = it_run_1(program, it_put_f64(session, PW_DIMS(8), 1));
        it_expect_f64(result, expected, 8);
        assert_int_equal(write(pipe, "r", 1), 1);
        pause();
        return 0;
}

static uint64_t overhead_of(struct it_host *host)
{
        struct pw_listing *memory = it_list(host->session, "memory", NULL);
        uint64_t bytes = 0;

        for (size_t row = 0; row < it_rows(memory); row++) {
                if (!strcmp(it_text(memory, row, "term"), "unaccounted"))
                        assert_int_equal(it_number(memory, row, "bytes"), 0);
                if (!strcmp(it_text(memory, row, "term"), "overhead") && !strchr(it_text(memory, row, "memory"), ':'))
                        bytes += (uint64_t)it_number(memory, row, "bytes");
        }
        pw_listing_free(memory);
        return bytes;
}

static uint64_t kept_by_all(struct it_host *host)
{
        struct pw_listing *owners = it_list(host->session, "owners", NULL);
        uint64_t bytes = 0;

        for (size_t row = 0; row < it_rows(owners); row++)
                bytes += (uint64_t)it_number(owners, row, "kept_bytes");
        pw_listing_free(owners);
        return bytes;
}

static struct seen look(struct it_host *host)
{
        struct seen seen = { .memfds = attack_memfd_bytes(host->pid), .overhead = overhead_of(host), .kept = kept_by_all(host) };
        pid_t executors[16];
        uint32_t count = attack_children(host->pid, executors, 16);

        for (uint32_t i = 0; i < count; i++)
                seen.executors += attack_private_bytes(executors[i]);
        return seen;
}

static bool is_once(uint64_t before, uint64_t now) { return now >= before + PARAMS && now < before + PARAMS + LITTLE; }

/* What a compilation had goes back beside the loop. */
static struct seen wait_for_one_copy(struct it_host *host, const struct seen *before)
{
        int64_t end_us = it_now_us() + IT_LONG;
        struct seen now;

        do
                now = look(host);
        while (!(is_once(before->memfds, now.memfds) && is_once(before->overhead, now.overhead) &&
                 is_once(before->kept, now.kept)) &&
               it_now_us() < end_us);
        return now;
}

/* How many boards of islands a process has mapped, none of which it may write. */
static uint32_t boards_read(pid_t pid)
{
        char path[64], line[512];
        uint32_t count = 0;

        snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
        FILE *maps = fopen(path, "re");
        while (maps && fgets(line, sizeof line, maps))
                if (strstr(line, "/memfd:pathways-island")) {
                        assert_non_null(strstr(line, " r--s "));
                        count++;
                }
        if (maps)
                fclose(maps);
        return count;
}

static void run_and_look(struct it_host *host)
{
        struct seen before = look(host), now;
        struct it_child child = attack_fork(ATTACK_USER, run_once, host);
        pid_t executors[16];
        uint32_t count = attack_children(host->pid, executors, 16), readers = 0;
        char byte;

        it_read(&child, &byte, 1);
        now = wait_for_one_copy(host, &before);
        printf("island_copies: %d MiB of parameters over %u islands: memfds have %d MiB more, overhead %d MiB, tenants %d MiB\n",
               (int)(PARAMS / PW_MIB), ISLANDS, (int)((int64_t)(now.memfds - before.memfds) / (int64_t)PW_MIB),
               (int)((int64_t)(now.overhead - before.overhead) / (int64_t)PW_MIB),
               (int)((int64_t)(now.kept - before.kept) / (int64_t)PW_MIB));
        assert_true(is_once(before.memfds, now.memfds) && is_once(before.overhead, now.overhead) && is_once(before.kept, now.kept));
        assert_true(now.executors < before.executors + DEVICES * LITTLE);
        for (uint32_t i = 0; i < count; i++)
                readers += boards_read(executors[i]) == ISLANDS;
        assert_int_equal(readers, DEVICES);
        it_reap(&child, SIGKILL);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "island_copies",
                                             .rule = "a host has one copy of a program and its parameters, however many islands "
                                                     "run it",
                                             .args = IT_ARGS("--devices", "emulated:4", "--islands", "4",
                                                             "--device-memory", "16MiB", "--host-memory", "512MiB"),
                                             .alone = true,
                                             .unwatched = true,
                                             .run = run_and_look });
}
