/* Explores the models, or those that are named. With `--whole` first: all orders, also those that make no difference. */
#include "tests/model/models.h"

#include <stdio.h>

/* Those that are explored in both ways show each time that what is left out makes no difference: they end in the same states, and
 * their checks see the same. The last ones take longer: they are explored when they are named, or with PW_MODELS set, as
 * tests/soak.sh does. */
enum how { REDUCED, BOTH, NAMED };
static const struct { const struct model *model; enum how how; } models[] = {
        { &entry_take_model, BOTH },   { &entry_decide_model, BOTH }, { &lane_work_model, REDUCED }, { &lane_drop_model, BOTH },
        { &lane_full_model, BOTH },    { &lane_bell_model, BOTH },    { &reclaim_model, REDUCED },   { &wait_model, BOTH },
        { &wait_two_model, REDUCED },
        { &marked_model, BOTH },       { &marked_ahead_model, BOTH },
        { &letgo_model, REDUCED },     { &reuse_model, REDUCED },     { &wide_model, BOTH },
        { &wide_beside_model, REDUCED },
        { &donate_model, REDUCED },    { &donate_shared_model, REDUCED }, { &catch_up_model, REDUCED },
        { &catch_up_liar_model, REDUCED },
        { &move_model, REDUCED },      { &move_shared_model, REDUCED },
        { &exchange_model, NAMED },    { &exchange_copy_model, NAMED },
        { &open_model, NAMED },        { &donate_look_model, NAMED },
};

static bool wanted(size_t number, int count, char **names)
{
        bool any = !count && (models[number].how != NAMED || getenv("PW_MODELS"));

        for (int i = 0; i < count; i++)
                any |= !strcmp(models[number].model->name, names[i]);
        return any;
}

static bool explore(const struct model *model, bool whole, bool both)
{
        struct model_found one, all;

        if (!model_explore(model, !whole, &one))
                return false;
        if (!both)
                return true;
        if (!model_explore(model, false, &all))
                return false;
        if (one.ends == all.ends && one.views == all.views && one.digest == all.digest)
                return true;
        printf("  %s: the orders that were left out make a difference\n", model->name);
        return false;
}

/* The threads' stacks are switched behind a sanitizer's back. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED 0
#endif

int main(int count, char **arguments)
{
        bool whole = count > 1 && !strcmp(arguments[1], "--whole"), holds = true;
        int skip = 1 + whole;

        if (SANITIZED) {
                printf("the models do not run under a sanitizer\n");
                return 77;
        }
        setvbuf(stdout, NULL, _IOLBF, 0);
        for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
                if (wanted(i, count - skip, arguments + skip))
                        holds &= explore(models[i].model, whole, models[i].how == BOTH && count == 1);
        return holds ? 0 : 1;
}
