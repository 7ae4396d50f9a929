/* Random kills and stops of clients and executors under load, from a seed: nothing hangs longer than a second, nothing is left.
 *
 * Clients put, get, share and run all the time, at random, and check every value. The test kills some of them or of the executors,
 * or stops one for a while, then every client must come forward within a second, the devices be ready, `check` find nothing and
 * `memory` add up. While a client is stopped the others go on; what an executor has to do waits while that is stopped.
 * PW_KILLS is how many, PW_SEED the seed of another round.
 */
#include "plane/hint.h"
#include "tests/integration/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CLIENTS 4
#define DEVICES 8 /* as it_setup() says */
#define ELEMENTS 64
#define LINKS 12 /* of a chain of runs, at most: a step of a client takes a small part of a second */

/* What clients and test share: written by its client, but for stop. */
struct board {
        _Atomic bool stop;
        _Atomic uint32_t turns; /* steps of all: a word to wait on */
        struct {
                _Atomic uint64_t steps;
                _Atomic uint64_t place, rest; /* an id to be opened by others; may be half written */
        } clients[CLIENTS];
};

struct client {
        struct it_host *host;
        struct board *board;
        int number;
        uint64_t seed;
        struct pw_session *session;
        struct pw_slice *wide, *narrow;
        struct pw_program *reduce, *step;
};

/* --- a client --------------------------------------------------------------------------------------------------------- */

/* Where a value is not what it must be, or a wait hangs, this process ends with 1 and says why. */
static void give_up(struct client *client, struct pw_future *future, const char *what, const struct pw_error *err)
{
        struct pw_listing *why = NULL;
        char id[PW_ID_TEXT_BYTES] = "";

        print_error("client %d: %s: %s %s\n", client->number, what, pw_status_name(err->status), err->text);
        if (future && pw_list(client->session, "why", pw_id_format(pw_future_id(future), id), 0, &why, NULL) == PW_OK)
                it_print(why);
        _exit(1);
}

static bool is_expected(enum pw_status status)
{
        return status == PW_CRASHED || status == PW_DEVICE_LOST;
}

/* The value, if an executor that died did not take it along. */
static bool get_value(struct client *client, struct pw_future *future, double *ret_value, const char *what)
{
        struct pw_error err = { PW_OK, "" };
        struct pw_view view;
        enum pw_status status = pw_get(future, 2 * IT_LONG, &view, &err);

        if (status != PW_OK && (!is_expected(status) || !err.text[0]))
                give_up(client, future, what, &err);
        if (status != PW_OK)
                return false;
        *ret_value = *(const double *)view.data;
        for (uint64_t i = 1; i < view.bytes / sizeof(double); i++)
                if (((const double *)view.data)[i] != *ret_value)
                        give_up(client, future, "a torn value", &err);
        pw_view_done(&view);
        return true;
}

static struct pw_future *put_value(struct client *client, uint64_t count, double value)
{
        struct pw_put_params params = { .dtype = PW_F64, .dims = PW_DIMS(count) };
        struct pw_error err = { PW_OK, "" };
        struct pw_future *future;
        void *data;

        if (pw_create(client->session, count * sizeof value, &params, &future, &data, &err) != PW_OK)
                give_up(client, NULL, "create", &err);
        for (uint64_t i = 0; i < count; i++)
                ((double *)data)[i] = value;
        if (pw_seal(future, &err) != PW_OK)
                give_up(client, NULL, "seal", &err);
        return future;
}

static void puts_and_gets(struct client *client)
{
        uint64_t count = 1 + it_random(&client->seed) % (it_random(&client->seed) % 4 ? 100 : 100000);
        double value = (double)(it_random(&client->seed) % 1000), got;
        struct pw_future *future = put_value(client, count, value);

        atomic_store(&client->board->clients[client->number].place, pw_future_id(future).place);
        atomic_store(&client->board->clients[client->number].rest,
                     (uint64_t)pw_future_id(future).epoch << 32 | pw_future_id(future).generation);
        if (!get_value(client, future, &got, "get") || got != value)
                give_up(client, future, "a wrong value", &(struct pw_error){ PW_FAILED, "" });
        pw_unref(future);
}

static void opens_anothers(struct client *client)
{
        int other = (int)(it_random(&client->seed) % CLIENTS);
        uint64_t rest = atomic_load(&client->board->clients[other].rest);
        struct pw_id id = { atomic_load(&client->board->clients[other].place), (uint32_t)(rest >> 32), (uint32_t)rest };
        struct pw_error err = { PW_OK, "" };
        struct pw_future *future;
        struct pw_view view;

        if (pw_open(client->session, id, &future, NULL) != PW_OK)
                return; /* gone, most of the time */
        enum pw_status status = pw_get(future, 2 * IT_LONG, &view, &err);
        if (status == PW_OK)
                pw_view_done(&view);
        else if (status != PW_PRODUCER_LOST && status != PW_CANCELLED && status != PW_GONE && !is_expected(status))
                give_up(client, future, "get of another's", &err);
        pw_unref(future);
}

static void leaves_open(struct client *client)
{
        struct pw_error err = { PW_OK, "" };
        struct pw_future *future;
        void *data;

        if (pw_create(client->session, it_random(&client->seed) % 10000, NULL, &future, &data, &err) != PW_OK)
                give_up(client, NULL, "create", &err);
        if (it_random(&client->seed) % 2 && pw_abort(future, &err) != PW_OK)
                give_up(client, NULL, "abort", &err);
        pw_unref(future);
}

/* A chain of runs; every link adds 1. */
static void runs(struct client *client, struct pw_program *program, bool donate)
{
        int links = 1 + (int)(it_random(&client->seed) % LINKS);
        double start = (double)(it_random(&client->seed) % 100), got;
        struct pw_future *value = put_value(client, ELEMENTS, start), *next;
        struct pw_error err = { PW_OK, "" };

        for (int i = 0; i < links; i++) {
                if (pw_run(program, PW_FUTURES(donate ? pw_donate(&value) : value), &next, &err) != PW_OK)
                        give_up(client, value, "run", &err);
                pw_unref(value);
                value = next;
        }
        if (it_random(&client->seed) % 4 && get_value(client, value, &got, "a run's result") && got != start + links)
                give_up(client, value, "a wrong result", &(struct pw_error){ PW_FAILED, "" });
        pw_unref(value);
}

static void trace(struct client *client)
{
        double factor = 0.125;
        struct pw_value *value;

        client->wide = it_slice(client->session, 8, 2);
        client->narrow = it_slice(client->session, 3, 1);
        client->reduce = pw_program_new(client->session, "test/reduce");
        value = pw_call_with(client->reduce, client->wide, "pw/scale",
                             PW_ARGS(pw_input(client->reduce, client->wide, PW_F64, PW_DIMS(ELEMENTS), PW_BROADCAST, 0)),
                             PW_PARTIAL(PW_SUM), &(struct pw_call_params){ .params = &factor, .params_bytes = sizeof factor });
        value = it_sleep(client->reduce, client->wide, value, PW_BROADCAST, 200);
        pw_result(client->reduce, it_grow(client->reduce, client->wide, value, PW_BROADCAST, 1));
        it_ok(pw_compile(client->reduce, IT_ERR));
        client->step = pw_program_new(client->session, "test/step");
        value = pw_input(client->step, client->narrow, PW_F64, PW_DIMS(ELEMENTS), PW_SPLIT(0), PW_DONATED);
        pw_result(client->step, it_grow(client->step, client->narrow, value, PW_SPLIT(0), 1));
        it_ok(pw_compile(client->step, IT_ERR));
}

static int be_a_client(void *context, int pipe)
{
        struct client *client = context;

        client->session = it_connect(client->host);
        trace(client);
        assert_int_equal(write(pipe, "c", 1), 1);
        while (!atomic_load(&client->board->stop)) {
                switch (it_random(&client->seed) % 8) {
                case 0: opens_anothers(client); break;
                case 1: leaves_open(client); break;
                case 2:
                case 3: runs(client, client->reduce, false); break;
                case 4: runs(client, client->step, true); break;
                default: puts_and_gets(client);
                }
                atomic_fetch_add(&client->board->clients[client->number].steps, 1);
                atomic_fetch_add(&client->board->turns, 1);
                pw_futex_wake(&client->board->turns, 1);
        }
        pw_close(client->session);
        return 0;
}

/* --- the killer ------------------------------------------------------------------------------------------------------- */

struct killer {
        struct it_host *host;
        struct board *board;
        struct client clients[CLIENTS];
        struct it_child children[CLIENTS];
        uint64_t seed;
        int kill;
        int64_t longest_us; /* until all came forward after a kill */
};

static void start_client(struct killer *killer, int number)
{
        char byte;

        killer->clients[number] = (struct client){ .host = killer->host, .board = killer->board, .number = number,
                                                   .seed = it_random(&killer->seed) };
        killer->children[number] = it_fork(be_a_client, &killer->clients[number]);
        it_read(&killer->children[number], &byte, 1);
}

static bool all_ready(const struct pw_listing *devices, void *context)
{
        (void)context;
        for (size_t i = 0; i < it_rows(devices); i++)
                if (strcmp(it_text(devices, i, "state"), "ready"))
                        return false;
        return true;
}

static void signal_executor(struct killer *killer, uint64_t device, int signal)
{
        char name[16];

        snprintf(name, sizeof name, "h0:%d", (int)device);
        it_signal_executor(killer->host, name, signal);
}

static void show(struct killer *killer, const char *what, const char *filter)
{
        struct pw_listing *listing = it_list(killer->host->session, what, filter);

        print_error("%s\n", what);
        it_print(listing);
        pw_listing_free(listing);
}

static void hangs(struct killer *killer, int client)
{
        char pid[24];

        snprintf(pid, sizeof pid, "pid %d", (int)killer->children[client].pid);
        show(killer, "devices", NULL);
        show(killer, "runs", NULL);
        show(killer, "why", pid);
        fail_msg("kill %d: client %d hangs", killer->kill, client);
}

static void comes_to(struct killer *killer, int client, uint64_t steps, int64_t until_us)
{
        for (;;) {
                uint32_t turns = atomic_load(&killer->board->turns);

                if (atomic_load(&killer->board->clients[client].steps) >= steps)
                        return;
                if (pw_futex_wait(&killer->board->turns, turns, until_us * 1000) == -ETIMEDOUT)
                        hangs(killer, client);
        }
}

/* Every client that lives, but `except`, comes forward by two steps at least: the second one began after what was done to the
 * other. */
static void all_come_forward(struct killer *killer, int except, int64_t since_us)
{
        uint64_t before[CLIENTS];

        for (int i = 0; i < CLIENTS; i++)
                before[i] = atomic_load(&killer->board->clients[i].steps);
        for (int i = 0; i < CLIENTS; i++)
                if (i != except && killer->children[i].pid)
                        comes_to(killer, i, before[i] + 2, since_us + it_slack() * IT_SECOND);
}

static void nothing_wrong(struct killer *killer)
{
        struct pw_listing *check = it_list(killer->host->session, "check", NULL),
                          *memory = it_list(killer->host->session, "memory", NULL);

        if (it_rows(check)) {
                it_print(check);
                fail_msg("kill %d: check finds %d problems", killer->kill, (int)it_rows(check));
        }
        for (size_t i = 0; i < it_rows(memory); i++)
                if (!strcmp(it_text(memory, i, "term"), "unaccounted") && it_number(memory, i, "bytes"))
                        fail_msg("kill %d: %d bytes of %s are unaccounted for", killer->kill, (int)it_number(memory, i, "bytes"),
                                 it_text(memory, i, "memory"));
        pw_listing_free(check);
        pw_listing_free(memory);
}

/* A random while. */
static void pass_time(struct killer *killer)
{
        int looks = (int)(it_random(&killer->seed) % 50);

        while (looks--)
                it_listed(killer->host->session, "status", "host");
}

/* --- strikes ---------------------------------------------------------------------------------------------------------- */

static void kill_client(struct killer *killer, int victim)
{
        if (killer->children[victim].pid)
                assert_int_equal(it_reap(&killer->children[victim], SIGKILL), 128 + SIGKILL);
}

/* The others go on meanwhile, those that live. */
static void stop_client(struct killer *killer, int victim)
{
        if (!killer->children[victim].pid)
                return;
        assert_int_equal(kill(killer->children[victim].pid, SIGSTOP), 0);
        all_come_forward(killer, victim, it_now_us());
        assert_int_equal(kill(killer->children[victim].pid, SIGCONT), 0);
}

static void stop_executor(struct killer *killer, uint64_t device)
{
        signal_executor(killer, device, SIGSTOP);
        pass_time(killer);
        signal_executor(killer, device, SIGCONT);
}

static void strike_one(struct killer *killer)
{
        uint64_t kind = it_random(&killer->seed) % 6, device = it_random(&killer->seed) % DEVICES;
        int victim = (int)(it_random(&killer->seed) % CLIENTS);

        switch (kind) {
        case 0: stop_client(killer, victim); break;
        case 1: stop_executor(killer, device); break;
        case 2:
        case 3: signal_executor(killer, device, SIGKILL); break;
        default: kill_client(killer, victim);
        }
}

/* Up to three, one close behind the other, so that the later ones strike what is being mended. Returns how many. */
static int strike(struct killer *killer)
{
        int strikes = 1 + (int)(it_random(&killer->seed) % 3);

        pass_time(killer);
        for (int i = 0; i < strikes; i++)
                strike_one(killer);
        return strikes;
}

static void expect_mended(struct killer *killer)
{
        int64_t start_us = it_now_us();

        for (int i = 0; i < CLIENTS; i++)
                if (killer->children[i].pid == 0)
                        start_client(killer, i);
        all_come_forward(killer, -1, start_us);
        it_until(killer->host->session, "devices", all_ready, NULL);
        it_within("all come forward and all executors are back", start_us, IT_SECOND);
        if (it_now_us() - start_us > killer->longest_us)
                killer->longest_us = it_now_us() - start_us;
        nothing_wrong(killer);
}

static void random_kills(void **state)
{
        struct it_host *host = *state;
        int kills = (int)it_environment("PW_KILLS", 100);
        uint64_t seed = it_environment("PW_SEED", 1);
        struct killer killer = { .host = host, .seed = seed };

        print_message("PW_SEED=%" PRIu64 " PW_KILLS=%d\n", seed, kills);
        killer.board = mmap(NULL, sizeof *killer.board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_true(killer.board != MAP_FAILED);
        for (int i = 0; i < CLIENTS; i++)
                start_client(&killer, i);
        while (killer.kill < kills) {
                killer.kill += strike(&killer);
                expect_mended(&killer);
        }
        atomic_store(&killer.board->stop, true);
        for (int i = 0; i < CLIENTS; i++)
                assert_int_equal(it_reap(&killer.children[i], 0), 0);
        print_message("all had come forward and all executors were back after at most %d ms\n", (int)(killer.longest_us / 1000));
        munmap(killer.board, sizeof *killer.board);
}

int main(void)
{
        const struct CMUnitTest tests[] = { IT_TEST(random_kills) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
