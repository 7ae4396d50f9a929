/* Explores the models that are small, or those that are named. */
#include "tests/model/models.h"

#include <stdio.h>

/* Those behind SMALL take minutes: they are explored when they are named. */
#define SMALL 8
static const struct model *const models[] = { &entry_take_model, &entry_decide_model, &lane_work_model, &lane_drop_model, &lane_full_model,
                                              &reclaim_model, &wait_model, &letgo_model, &reuse_model, &wait_two_model, &open_model };

static bool wanted(size_t number, int count, char **names)
{
        bool any = count <= 1 && number < SMALL;

        for (int i = 1; i < count; i++)
                any |= !strcmp(models[number]->name, names[i]);
        return any;
}

/* The threads' stacks are switched behind a sanitizer's back. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif

int main(int count, char **names)
{
        bool holds = true;

        if (SANITIZED) {
                printf("the models do not run under a sanitizer\n");
                return 77;
        }
        setvbuf(stdout, NULL, _IOLBF, 0);
        for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
                if (wanted(i, count, names))
                        holds &= model_explore(models[i], true);
        return holds ? 0 : 1;
}
