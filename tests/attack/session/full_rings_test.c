/* Six sessions with every lane filled to the brim, told all at once and filled again as the daemon reads: reading them is the work
 * of one tenant, and others do not wait for it. */
#include "tests/attack/attack.h"

#include "libclient/listing.h"
#include "libclient/session.h"
#include "tests/integration/trace.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SESSIONS 6
#define FILL_US (2 * IT_SECOND)

struct plan { const struct it_host *host; pid_t filler; int begin[2]; };
struct filler { struct pw_session *session; struct pw_client_lane *lane; struct pw_future *future; };

/* In every cell the same: a reference to its own value, and back. */
static void write_cells(struct filler *filler, const struct it_host *host)
{
        filler->session = it_connect(host);
        it_ok(pw_put(filler->session, "value", 5, NULL, &filler->future, IT_ERR));
        it_ok(pw_lane_get(filler->session, &filler->lane, IT_ERR));
        atomic_store(&filler->session->control->lane_count, PW_LANES_MAX); /* as many threads: their rings are theirs to write */
        it_ok(pw_session_fence(filler->session, IT_ERR));
        for (uint32_t i = 0; i < PW_LANES_MAX; i++)
                for (uint32_t j = 0; j < PW_RING_CELLS; j++)
                        filler->session->control->lanes[i].ring.cells[j] = pw_cell_object(
                                j % 2 ? PW_RING_DROP : PW_RING_REF, filler->future->segment, filler->future->slot,
                                filler->future->generation);
}

/* All cells that there are, published, in whole pairs. Returns how many were read since the last time. */
static uint64_t fill(struct filler *filler)
{
        uint64_t read = 0;

        for (uint32_t i = 0; i < PW_LANES_MAX; i++) {
                struct pw_ring *ring = &filler->session->control->lanes[i].ring;
                uint32_t head = atomic_load(&ring->head) & ~UINT32_C(1), tail = atomic_load(&ring->tail);
                uint32_t full = head + PW_RING_CELLS - (tail & 1);

                if (full - tail > PW_RING_CELLS)
                        continue;
                read += full - tail;
                atomic_store(&ring->tail, full);
        }
        atomic_store(&filler->session->control->lane_count, PW_LANES_MAX);
        return read;
}

/* When it is told to: one bell each, and from then on what was read is there again. */
static int fill_rings(void *context, int pipe)
{
        static struct filler fillers[SESSIONS];
        const struct plan *plan = context;
        uint64_t cells = 0;
        int64_t until_us;
        char byte;

        for (int i = 0; i < SESSIONS; i++)
                write_cells(&fillers[i], plan->host);
        if (write(pipe, "w", 1) != 1 || read(plan->begin[0], &byte, 1) != 1)
                return 1;
        for (int i = 0; i < SESSIONS; i++) {
                fill(&fillers[i]);
                fillers[i].lane->writer.tail = atomic_load(&fillers[i].lane->shared->ring.tail);
        }
        for (int i = 0; i < SESSIONS; i++)
                pw_lane_publish(fillers[i].lane, true);
        /* Filled again at this pace: the attack, not a wait. */
        for (until_us = it_now_us() + FILL_US; it_now_us() < until_us; usleep(1000))
                for (int i = 0; i < SESSIONS; i++)
                        cells += fill(&fillers[i]);
        for (int i = 0; i < SESSIONS; i++) /* nobody ended them: full rings are no offence */
                it_ok(pw_put(fillers[i].session, "value", 5, NULL, &fillers[i].future, IT_ERR));
        if (write(pipe, &cells, sizeof cells) != sizeof cells)
                return 1;
        pause();
        return 0;
}

/* A value is given to a run: which waits until it is known that nobody else of its tenant holds it. */
static void give_and_get(struct pw_program *program, struct pw_session *session)
{
        double numbers[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
        struct pw_future *future;
        struct pw_view view;

        it_ok(pw_put(session, numbers, sizeof numbers, &(struct pw_put_params){ .dtype = PW_F64, .dims = PW_DIMS(8) },
                     &future, IT_ERR));
        for (int i = 0; i < 2; i++)
                it_ok(pw_run(program, PW_FUTURES(pw_donate(&future)), &future, IT_ERR));
        it_ok(pw_get(future, PW_FOREVER, &view, IT_ERR));
        assert_true(((const double *)view.data)[7] == 32);
        pw_view_done(&view);
        pw_unref(future);
}

/* Beside them, of the same user: gives a value to their process, lists what there is, and works. */
static int meddle(void *context, int pipe)
{
        const struct plan *plan = context;
        struct pw_session *session = it_connect(plan->host);
        struct pw_slice *slice = it_slice(session, 1, 1);
        struct pw_program *program = pw_program_new(session, "meddler");
        struct pw_value *x = pw_input(program, slice, PW_F64, PW_DIMS(8), PW_BROADCAST, PW_DONATED);
        struct pw_future *future;
        char filler[24];

        snprintf(filler, sizeof filler, "pid %d", (int)plan->filler);
        pw_result(program, pw_call(program, slice, "pw/add", PW_ARGS(x, x), PW_BROADCAST));
        it_ok(pw_compile(program, IT_ERR));
        it_ok(pw_put(session, "value", 5, NULL, &future, IT_ERR));
        for (uint64_t i = 1;; i++) {
                enum pw_status status = pw_transfer(future, filler, NULL);

                assert_true(status == PW_OK || status == PW_NOT_FOUND); /* it is dead in the end */
                give_and_get(program, session);
                pw_listing_free(it_list(session, i % 2 ? "owners" : "objects", NULL));
                if (write(pipe, &i, sizeof i) != sizeof i)
                        return 1;
        }
}

/* Of an operator, who sees what is of everybody: fences and listings. Returns the longest of the fences. */
static int64_t ask(struct it_host *host, int64_t for_us)
{
        int64_t most_us = 0;

        /* A sample each, of what has no event; nothing is waited for. */
        for (int64_t since_us = it_now_us(); it_now_us() - since_us < for_us; usleep(1000)) {
                int64_t from_us = it_now_us();

                it_ok(pw_session_fence(host->session, IT_ERR));
                it_within("the fence of another tenant", from_us, 50000);
                most_us = it_now_us() - from_us > most_us ? it_now_us() - from_us : most_us;
                from_us = it_now_us();
                pw_listing_free(it_list(host->session, "status", NULL));
                it_within("a listing by an operator", from_us, 50000);
        }
        return most_us;
}

static void attack(struct it_host *host)
{
        struct plan plan = { .host = host };
        struct it_child child, meddler;
        uint64_t read, rounds;
        int64_t most_us, after_us;
        char byte;

        assert_int_equal(pipe2(plan.begin, O_CLOEXEC), 0);
        child = attack_fork(ATTACK_USER, fill_rings, &plan);
        plan.filler = child.pid;
        it_read(&child, &byte, 1);
        meddler = attack_fork(ATTACK_USER, meddle, &plan);
        it_read(&meddler, &rounds, sizeof rounds);
        assert_int_equal(write(plan.begin[1], "b", 1), 1);
        most_us = ask(host, FILL_US);
        it_read(&child, &read, sizeof read);
        assert_true(read > PW_RING_CELLS); /* they are read, and filled again */
        assert_int_equal(it_reap(&child, SIGKILL), 128 + SIGKILL); /* with full rings */
        after_us = ask(host, IT_SECOND);
        it_read(&meddler, &rounds, sizeof rounds); /* its tenant goes on */
        it_read(&meddler, &rounds, sizeof rounds);
        assert_int_equal(it_reap(&meddler, SIGKILL), 128 + SIGKILL);
        close(plan.begin[0]);
        close(plan.begin[1]);
        print_message("%llu million cells read, %llu rounds of who works beside them, the longest fence of another %lld us, after "
                      "their end %lld us\n",
                      (unsigned long long)read / 1000000, (unsigned long long)rounds, (long long)most_us, (long long)after_us);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "full_rings", .rule = "lanes are read for a part of a turn by each tenant",
                                             .args = IT_ARGS("--devices", "emulated:8", "--islands", "2", "--host-memory", "1GiB",
                                                             "--device-memory", "16MiB"), /* the rings are 400 MiB */
                                             .run = attack, .users = true });
}
