/* A function that goes wrong beside one that does not. */
#include "tests/integration/scene.h"

#include <string.h>

void it_scene_end(struct it_scene *scene)
{
        pw_unref(scene->input);
        pw_program_free(scene->bad);
        pw_program_free(scene->good);
        pw_slice_close(scene->slice);
}

void it_fails_with(struct pw_future *future, enum pw_status status, const char *texts)
{
        struct pw_view view;

        it_fails(pw_get(future, IT_LONG, &view, IT_ERR), status, texts);
}

static bool is_back(const struct pw_listing *devices, void *context)
{
        int64_t restarts = 0;

        for (size_t i = 0; i < it_rows(devices); i++) {
                restarts += it_number(devices, i, "restarts");
                if (strcmp(it_text(devices, i, "state"), "ready"))
                        return false;
        }
        return restarts == *(const int *)context;
}

void it_back_within_a_second(struct pw_session *session, int restarts, int64_t since_us)
{
        it_until(session, "devices", is_back, &restarts);
        it_within("an executor is back", since_us, IT_SECOND);
}

bool it_are_running(const struct pw_listing *gangs, void *context)
{
        int running = 0;

        for (size_t i = 0; i < it_rows(gangs); i++)
                running += !strcmp(it_text(gangs, i, "state"), "running") && strchr(it_text(gangs, i, "node"), '/');
        return running == *(const int *)context;
}

bool it_rests(const struct pw_listing *status, void *context)
{
        (void)context;
        return it_number(status, 0, "runs_in_flight") == 0;
}

struct pw_program *it_sleeper(struct pw_session *session, struct pw_slice *slice, uint64_t us)
{
        struct pw_program *program = pw_program_new(session, "test/sleep");
        struct pw_value *input = pw_input(program, slice, PW_F64, PW_SCALAR, PW_BROADCAST, 0);

        pw_result(program, it_sleep(program, slice, input, PW_BROADCAST, us));
        it_ok(pw_compile(program, IT_ERR));
        return program;
}
