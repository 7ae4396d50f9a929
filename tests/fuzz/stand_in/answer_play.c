/* A program that calls what it can, once. */
#include "tests/fuzz/stand_in/answer_play.h"

#include "libclient/listing.h"

/* Every byte of a view can be read. */
static void view_read(struct pw_view *view)
{
        for (uint64_t i = 0; i < view->bytes; i++)
                (void)((const volatile uint8_t *)view->data)[i];
        pw_view_done(view);
}

static void look_at(struct pw_future *future)
{
        struct pw_view view;
        struct pw_info info;

        if (pw_get(future, 2000, &view, NULL) == PW_OK)
                view_read(&view);
        if (pw_get_shard(future, 1, 0, &view, NULL) == PW_OK)
                view_read(&view);
        (void)!pw_future_info(future, &info, NULL);
        (void)!pw_poll(future);
}

static struct pw_future *play_objects(struct pw_session *session)
{
        struct pw_put_params frozen = { .flags = PW_PUT_FROZEN, .timeout_us = 2000 };
        struct pw_future *future = NULL, *other = NULL;
        double numbers[4] = { 1 };

        if (pw_put(session, "12345678", 8, &(struct pw_put_params){ .timeout_us = 2000 }, &other, NULL) == PW_OK) {
                look_at(other);
                pw_unref(other);
        }
        if (pw_put(session, numbers, sizeof numbers,
                   &(struct pw_put_params){ .dtype = PW_F64, .dims = PW_DIMS(4), .timeout_us = 2000 }, &future, NULL) != PW_OK)
                future = NULL;
        if (future && pw_name(future, "name", NULL) == PW_OK && pw_lookup(session, "name", 1000, &other, NULL) == PW_OK) {
                look_at(other);
                pw_unref(other);
        }
        if (pw_put(session, numbers, sizeof numbers, &frozen, &other, NULL) == PW_OK) {
                look_at(other);
                pw_unref(other);
        }
        for (uint32_t i = 0; i < 3; i++)
                if (pw_open(session, pw_id_make(0, 3, i == 2 ? 9 : ANSWER_FUTURES, i, 1), &other, NULL) == PW_OK) {
                        look_at(other);
                        pw_unref(other);
                }
        return future;
}

static void play_run(struct pw_session *session, struct pw_future *input)
{
        struct pw_slice *slice = NULL;
        struct pw_program *program;
        struct pw_future *result;

        if (pw_slice_open(session, &(struct pw_slice_params){ .device_count = 2 }, &slice, NULL) != PW_OK)
                return;
        program = pw_program_new(session, "fuzz");
        pw_result(program, pw_call(program, slice, "pw/nop", PW_ARGS(pw_input(program, slice, PW_F64, PW_DIMS(4), PW_SPLIT(0), 0)),
                                   PW_SPLIT(0)));
        if (pw_compile(program, NULL) == PW_OK && pw_run(program, PW_FUTURES(input), &result, NULL) == PW_OK) {
                look_at(result);
                (void)!pw_relocate(&result, &(struct pw_relocate_params){ .timeout_us = 2000 }, NULL);
                (void)!pw_cancel(result, NULL);
                pw_unref(result);
        }
        pw_program_free(program);
        pw_slice_close(slice);
}

void answer_play(struct pw_session *session)
{
        struct pw_future *future = play_objects(session);
        struct pw_listing *listing;
        struct pw_trace_chunk *part;

        if (pw_list(session, "objects", NULL, 4, &listing, NULL) == PW_OK)
                pw_listing_free(listing);
        if (pw_trace_next(session, 0, true, &part, NULL) == PW_OK)
                pw_trace_chunk_free(part);
        if (future) {
                play_run(session, future);
                (void)!pw_lease(future, 1, NULL);
                (void)!pw_transfer(future, "pid 1", NULL);
                look_at(future);
                pw_unref(future);
        }
}
