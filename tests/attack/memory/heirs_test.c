/* A process has executors read what it put, forks a child that keeps its memory, and dies; the child writes there and dies too.
 * Whoever has that memory mapped still keeps what was written: more with each round, counted by nobody. */
#include "tests/attack/attack.h"

#include "libclient/listing.h"
#include "libclient/session.h"
#include "tests/integration/trace.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROUNDS 4u
#define WRITTEN (UINT64_C(32) << 20) /* in a round */
#define PAGE 4096u
#define DEVICES 8u
#define ELEMENTS 1024u

static void have_it_read(struct pw_session *session)
{
        static const float data[ELEMENTS];
        struct pw_slice *slice = it_slice(session, DEVICES, 0);
        struct pw_program *program = pw_program_new(session, "heirs");
        struct pw_value *x = pw_input(program, slice, PW_F32, PW_DIMS(ELEMENTS), PW_BROADCAST, 0);
        struct pw_future *input, *output;
        struct pw_view view;

        pw_result(program, pw_call(program, slice, "pw/nop", PW_ARGS(x), PW_BROADCAST));
        it_ok(pw_compile(program, IT_ERR));
        it_ok(pw_put(session, data, sizeof data, &(struct pw_put_params){ .dtype = PW_F32, .dims = PW_DIMS(ELEMENTS) },
                     &input, IT_ERR));
        it_ok(pw_run(program, PW_FUTURES(input), &output, IT_ERR));
        it_ok(pw_get(output, IT_LONG, &view, IT_ERR));
        pw_view_done(&view);
}

/* Told by the end of the pipe: no session of its parent is left. */
static void inherit(struct pw_map *own, int parent_gone, int pipe)
{
        char byte;

        if (read(parent_gone, &byte, 1) != 1)
                _exit(1);
        for (uint64_t at = own->bytes / 2; at < own->bytes / 2 + WRITTEN; at += PAGE)
                own->base[at] = 1;
        if (write(pipe, "w", 1) != 1)
                _exit(1);
        raise(SIGKILL);
}

struct round { struct it_host *host; int parent_gone[2], written[2]; };

static int leave_an_heir(void *context, int pipe)
{
        struct round *round = context;
        struct pw_session *session = it_connect(round->host);
        struct pw_map *own = &session->own->map;

        (void)pipe;
        have_it_read(session);
        assert_int_equal(madvise(own->base, own->bytes, MADV_DOFORK), 0);
        if (fork() == 0)
                inherit(own, round->parent_gone[0], round->written[1]);
        raise(SIGKILL);
        return 1;
}

static bool is_alone(const struct pw_listing *status, void *context)
{
        (void)context;
        return it_number(status, 0, "sessions") == 1;
}

/* Bytes of clients' memory that an executor has mapped: pages of all, not only those that it has read. */
static uint64_t kept_bytes(pid_t executor)
{
        char path[64], line[600], file[100];
        struct stat about;
        uint64_t bytes = 0;
        char range[40];
        FILE *maps;

        snprintf(path, sizeof path, "/proc/%d/maps", (int)executor);
        maps = fopen(path, "re");
        assert_non_null(maps);
        while (fgets(line, sizeof line, maps)) {
                if (!strstr(line, "pathways-client") || sscanf(line, "%39s", range) != 1)
                        continue;
                snprintf(file, sizeof file, "/proc/%d/map_files/%s", (int)executor, range);
                if (!stat(file, &about))
                        bytes += (uint64_t)about.st_blocks * 512;
        }
        fclose(maps);
        return bytes;
}

static bool is_let_go(const struct pw_listing *devices, void *context)
{
        uint64_t *kept = context;

        *kept = 0;
        for (size_t i = 0; i < it_rows(devices); i++)
                *kept += kept_bytes((pid_t)it_number(devices, i, "pid"));
        return !*kept;
}

static void one_round(struct it_host *host)
{
        struct round round = { .host = host };
        struct it_child parent;
        char byte;

        assert_int_equal(pipe(round.parent_gone), 0);
        assert_int_equal(pipe(round.written), 0);
        parent = attack_fork(ATTACK_USER, leave_an_heir, &round);
        assert_int_equal(it_reap(&parent, 0), 128 + SIGKILL);
        it_until(host->session, "status", is_alone, NULL);
        assert_int_equal(write(round.parent_gone[1], "g", 1), 1);
        close(round.written[1]);
        assert_int_equal(read(round.written[0], &byte, 1), 1);
        assert_int_equal(read(round.written[0], &byte, 1), 0); /* it is dead */
        close(round.parent_gone[0]);
        close(round.parent_gone[1]);
        close(round.written[0]);
}

static void attack(struct it_host *host)
{
        uint64_t kept;

        for (uint32_t i = 0; i < ROUNDS; i++) {
                struct pw_listing *devices;

                one_round(host);
                devices = it_list(host->session, "devices", NULL);
                (void)is_let_go(devices, &kept);
                fprintf(stderr, "executors keep %d MiB of who is dead\n", (int)(kept >> 20));
                pw_listing_free(devices);
        }
        it_until(host->session, "devices", is_let_go, &kept);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "heirs",
                                             .rule = "executors unmap what dead clients had before anybody can add to it unseen",
                                             .alone = true,
                                             .unwatched = true,
                                             .users = true,
                                             .run = attack });
}
