/* A session with the fake daemon, and a step of a model.
 */
#ifndef PW_LIBCLIENT_PROGRAM_PROGRAM_FIXTURE_TEST_H
#define PW_LIBCLIENT_PROGRAM_PROGRAM_FIXTURE_TEST_H

#include "libclient/fake/fake_daemon.h"
#include "libclient/session.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>

#include <cmocka.h>

struct world {
        struct fake_daemon *fake;
        struct pw_session *session;
        struct pw_slice *slice;
        struct pw_program *other; /* a program with one value, to take values from */
        struct pw_value *foreign;
};

static inline int start(void **state, const struct fake_params *params)
{
        struct world *world = calloc(1, sizeof *world);
        world->fake = fake_start(params);
        struct pw_session_params session = { .fd = fake_client_fd(world->fake) };
        *state = world;
        assert_int_equal(pw_session_open(&session, &world->session, NULL), PW_OK);
        assert_int_equal(pw_slice_open(world->session, &(struct pw_slice_params){ .device_count = 4 }, &world->slice, NULL), PW_OK);
        world->other = pw_program_new(world->session, "other");
        world->foreign = pw_input(world->other, world->slice, PW_F32, PW_DIMS(4), PW_BROADCAST, 0);
        return 0;
}

static inline int teardown(void **state)
{
        struct world *world = *state;
        pw_program_free(world->other);
        pw_slice_close(world->slice);
        pw_close(world->session);
        fake_stop(world->fake);
        free(world);
        return 0;
}

static inline struct pw_program *step(struct world *world, unsigned flags)
{
        struct pw_program *program = pw_program_new(world->session, "test/step");
        struct pw_value *weights = pw_input(program, world->slice, PW_I64, PW_SCALAR, PW_BROADCAST, flags);
        struct pw_value *images = pw_input(program, world->slice, PW_F32, PW_DIMS(2, 3), PW_BROADCAST, 0);
        pw_result(program, pw_call(program, world->slice, "test/step", PW_ARGS(weights, images), PW_BROADCAST));
        assert_int_equal(pw_compile(program, NULL), PW_OK);
        return program;
}

static inline struct pw_future *put_weights(struct world *world)
{
        int64_t zero = 0;
        struct pw_future *future;
        struct pw_put_params params = { .dtype = PW_I64, .dims = PW_SCALAR };
        assert_int_equal(pw_put(world->session, &zero, sizeof zero, &params, &future, NULL), PW_OK);
        return future;
}

static inline struct pw_future *put_images(struct world *world)
{
        float images[6] = { 0 };
        struct pw_future *future;
        struct pw_put_params params = { .dtype = PW_F32, .dims = PW_DIMS(2, 3) };
        assert_int_equal(pw_put(world->session, images, sizeof images, &params, &future, NULL), PW_OK);
        return future;
}

#endif
