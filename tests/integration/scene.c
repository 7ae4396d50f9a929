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
