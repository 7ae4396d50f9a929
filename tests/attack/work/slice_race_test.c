/* A slice is closed while a program over it compiles, and others are opened in its place: the program is of the slice that it was
 * compiled over, on as many devices. */
#include "tests/attack/attack.h"
#include "tests/attack/post.h"

#include "libclient/program/program.h"
#include "libclient/session.h"
#include "libclient/socket/connection.h"
#include "tests/integration/trace.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DEVICES 4u
#define OTHERS 8u
#define ROUNDS 3

/* The describing executor is in a shape function that does not come to an end: until it is ended everybody's questions wait. */
static void hold_describer(struct pw_session *session, struct pw_slice *slice)
{
        attack_post_call(session, slice, &(struct attack_call){ .function = "broken/endless" });
        it_ok(pw_session_fence(session, IT_ERR));
}

static void *compile_it(void *program)
{
        it_ok(pw_compile(program, IT_ERR));
        return NULL;
}

static bool waits_for_shapes(const struct pw_listing *listing)
{
        for (size_t row = 0; row < it_rows(listing); row++)
                if (strstr(it_text(listing, row, "waits_for"), "pw/nop"))
                        return true;
        return false;
}

/* By its number: the library keeps a slice's for as long as a program may need it. */
static void close_by_number(struct pw_session *session, uint32_t number)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__SliceClose close = PATHWAYS__WIRE__SLICE_CLOSE__INIT;

        close.slice = number;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_SLICE_CLOSE;
        request.slice_close = &close;
        it_ok(pw_connection_post(session->connection, &request, IT_ERR));
        it_ok(pw_session_fence(session, IT_ERR));
}

static void one_round(const struct it_host *host, int round)
{
        struct pw_session *session = it_connect(host), *holder = it_connect(host);
        struct pw_slice *slice = it_slice(session, DEVICES, 0), *held = it_slice(holder, 1, 0), *others[OTHERS];
        struct pw_program *program = pw_program_new(session, "raced");
        struct pw_value *x = pw_input(program, slice, PW_F64, PW_DIMS(8), PW_SPLIT(0), 0);
        uint64_t unheard_of[2] = { (uint64_t)getpid(), (uint64_t)round };
        double numbers[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
        struct pw_future *input, *result;
        struct pw_info info;
        char pid[32];
        pthread_t thread;

        pw_result(program, pw_call_with(program, slice, "pw/nop", PW_ARGS(x), PW_SPLIT(0),
                                        &(struct pw_call_params){ .params = unheard_of, .params_bytes = sizeof unheard_of }));
        hold_describer(holder, held);
        assert_int_equal(pthread_create(&thread, NULL, compile_it, program), 0);
        snprintf(pid, sizeof pid, "pid %d", (int)getpid());
        for (bool waits = false; !waits;) {
                struct pw_listing *listing = it_list(session, "why", pid);
                waits = waits_for_shapes(listing);
                pw_listing_free(listing);
        }
        close_by_number(session, slice->number);
        for (uint32_t i = 0; i < OTHERS; i++)
                others[i] = it_slice(session, 1, 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        it_ok(pw_put(session, numbers, sizeof numbers, &(struct pw_put_params){ .dtype = PW_F64, .dims = PW_DIMS(8) },
                     &input, IT_ERR));
        result = it_run_1(program, input);
        it_expect_f64(result, numbers, 8);
        it_ok(pw_future_info(result, &info, IT_ERR));
        assert_int_equal(info.shard_count, DEVICES);
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        for (uint32_t i = 0; i < OTHERS; i++)
                pw_slice_close(others[i]);
        pw_slice_close(held);
        pw_close(holder);
        pw_close(session);
}

static int race(void *context, int pipe)
{
        (void)pipe;
        for (int i = 0; i < ROUNDS; i++)
                one_round(context, i);
        return 0;
}

static void race_slices(struct it_host *host)
{
        struct it_child child = attack_fork(ATTACK_USER, race, host);

        assert_int_equal(it_reap(&child, 0), 0);
}

/* Unwatched: the bystander compiles too, and waits for the same describing executor. */
int main(void)
{
        return attack_main(&(struct attack){ .name = "slice_race",
                                             .rule = "a compilation holds its slices until it is answered; numbers are never "
                                                     "given twice",
                                             .alone = true,
                                             .unwatched = true,
                                             .run = race_slices });
}
