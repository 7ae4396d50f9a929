/* Somebody else on the host, in a process of its own. */
#include "tests/attack/attack.h"
#include "tests/attack/bystander.h"

#include "libclient/session.h"
#include "tests/integration/trace.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { FENCE, PUT, GET, RUN, COMPILE, STATUS, KINDS };
static const char *const names[KINDS] = { "fence", "put", "get", "run", "compile", "status" };

/* Shared by the two processes. */
struct times {
        _Atomic bool stop;
        _Atomic uint64_t rounds;
        _Atomic int64_t longest_us[KINDS];
};

struct bystander {
        struct it_child child;
        const struct it_host *host;
        struct times *times;
};

static void note(struct times *times, int kind, int64_t since_us)
{
        int64_t took_us = it_now_us() - since_us;

        if (took_us > times->longest_us[kind])
                times->longest_us[kind] = took_us;
}

/* Compiled anew in each round: what that takes is noted too. */
static struct pw_program *compile(struct pw_session *session, struct pw_slice *slice)
{
        struct pw_program *program = pw_program_new(session, "bystander");
        struct pw_value *x = pw_input(program, slice, PW_F64, PW_DIMS(8), PW_BROADCAST, 0);

        pw_result(program, pw_call(program, slice, "pw/add", PW_ARGS(x, x), PW_BROADCAST));
        it_ok(pw_compile(program, IT_ERR));
        return program;
}

/* What is late says why. */
static void get_result(struct pw_session *session, struct pw_future *result, struct pw_view *ret_view)
{
        struct pw_error err;
        enum pw_status status = pw_get(result, IT_SECOND, ret_view, &err);
        char id[PW_ID_TEXT_BYTES];

        if (status != PW_OK && status != PW_DEADLINE)
                fail_msg("a run: %s", err.text);
        if (status == PW_OK)
                return;
        fprintf(stderr, "bystander: %s\n", err.text);
        struct pw_listing *chain = it_list(session, "why", pw_id_format(pw_future_id(result), id));
        it_print(chain);
        pw_listing_free(chain);
        it_ok(pw_get(result, PW_FOREVER, ret_view, IT_ERR));
}

static void one_round(struct pw_session *session, struct pw_slice *slice, struct times *times)
{
        double numbers[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
        struct pw_future *future, *result;
        struct pw_view view;
        int64_t since_us = it_now_us();

        it_ok(pw_put(session, numbers, sizeof numbers, &(struct pw_put_params){ .dtype = PW_F64, .dims = PW_DIMS(8) },
                     &future, IT_ERR));
        note(times, PUT, since_us);
        since_us = it_now_us();
        it_ok(pw_get(future, PW_FOREVER, &view, IT_ERR));
        note(times, GET, since_us);
        assert_memory_equal(view.data, numbers, sizeof numbers);
        pw_view_done(&view);
        since_us = it_now_us();
        struct pw_program *program = compile(session, slice);
        note(times, COMPILE, since_us);
        since_us = it_now_us();
        it_ok(pw_run(program, PW_FUTURES(future), &result, IT_ERR));
        get_result(session, result, &view);
        note(times, RUN, since_us);
        for (int i = 0; i < 8; i++)
                assert_true(((const double *)view.data)[i] == 2 * numbers[i]);
        pw_view_done(&view);
        pw_unref(result);
        pw_unref(future);
        pw_program_free(program);
        since_us = it_now_us();
        it_ok(pw_session_fence(session, IT_ERR));
        note(times, FENCE, since_us);
        since_us = it_now_us();
        pw_listing_free(it_list(session, "status", NULL));
        note(times, STATUS, since_us);
}

static int stand_by(void *context, int pipe)
{
        struct bystander *bystander = context;
        struct pw_session *session = it_connect(bystander->host);
        struct pw_slice *slice = it_slice(session, 1, 1);

        (void)pipe;
        while (!bystander->times->stop) {
                one_round(session, slice, bystander->times);
                bystander->times->rounds++;
        }
        pw_slice_close(slice);
        pw_close(session);
        return 0;
}

static void await_rounds(struct bystander *bystander, uint64_t count)
{
        int64_t limit_us = it_now_us() + IT_LONG;

        while (bystander->times->rounds < count) {
                if (it_now_us() > limit_us)
                        fail_msg("the bystander is in its round %d for %d s", (int)bystander->times->rounds,
                                 (int)(IT_LONG / IT_SECOND));
                sched_yield();
        }
}

struct bystander *bystander_begin(const struct it_host *host)
{
        struct bystander *bystander = calloc(1, sizeof *bystander);

        assert_non_null(bystander);
        bystander->host = host;
        bystander->times = mmap(NULL, sizeof *bystander->times, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_true(bystander->times != MAP_FAILED);
        bystander->child = attack_fork(BYSTANDER_USER, stand_by, bystander);
        await_rounds(bystander, 1);
        /* What the first round took is the start of a process, of executors, of modules. */
        for (int kind = 0; kind < KINDS; kind++)
                bystander->times->longest_us[kind] = 0;
        await_rounds(bystander, 3);
        return bystander;
}

void bystander_round(struct bystander *bystander) { await_rounds(bystander, bystander->times->rounds + 2); }

void bystander_end(struct bystander *bystander)
{
        bool late = false;

        bystander_round(bystander);
        bystander->times->stop = true;
        assert_int_equal(it_reap(&bystander->child, 0), 0);
        for (int kind = 0; kind < KINDS; kind++) {
                int64_t longest_us = bystander->times->longest_us[kind];

                if (longest_us > BYSTANDER_BOUND_US)
                        print_message("bystander: a %s took %d ms, should be %d ms\n", names[kind], (int)(longest_us / 1000),
                                      BYSTANDER_BOUND_US / 1000);
                late |= longest_us > BYSTANDER_BOUND_US * it_slack();
        }
        print_message("bystander: %d rounds\n", (int)bystander->times->rounds);
        munmap(bystander->times, sizeof *bystander->times);
        free(bystander);
        assert_false(late);
}
