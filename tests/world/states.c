/* Changes of states: the last ones are kept, tests say which ones they expect. */
#include "tests/world/world.h"

#include "base/memory.h"
#include "base/transition.h"
#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define KEPT 256u
#define LAST 24u /* of them are told of where a world fails */

struct world_states {
        struct pw_observer observer;
        uint64_t first, end; /* numbers of those that were not expected yet; of all */
        struct pw_transition kept[KEPT];
};

static void see(void *context, const struct pw_transition *transition)
{
        struct world *world = context;
        char text[PW_TRANSITION_TEXT_BYTES];

        world->states->kept[world->states->end++ % KEPT] = *transition;
        if (world->trace)
                world_log(world, "    %s", pw_transition_format(transition, text));
}

void world_states_open(struct world *world)
{
        world->states = calloc(1, sizeof *world->states);
        assert_non_null(world->states);
        world->states->observer = (struct pw_observer){ see, world };
        pw_scheduler_observe(world->scheduler, &world->states->observer);
        pw_store_observe(world->store, &world->states->observer);
}

void world_states_close(struct world *world) { free(world->states); }

static const struct pw_transition *state_at(const struct world_states *states, uint64_t number)
{
        return &states->kept[number % KEPT];
}

void world_states_print(const struct world *world)
{
        const struct world_states *states = world->states;
        char text[PW_TRANSITION_TEXT_BYTES];

        for (uint64_t i = states->end > LAST ? states->end - LAST : 0; i < states->end; i++)
                fprintf(stderr, "  %s\n", pw_transition_format(state_at(states, i), text));
}

void world_expect(struct world *world, const char *lines)
{
        struct world_states *states = world->states;
        char found[KEPT * PW_TRANSITION_TEXT_BYTES], *at = found;

        assert_true(states->end - states->first <= KEPT);
        for (*at = 0; states->first < states->end; states->first++) {
                char text[PW_TRANSITION_TEXT_BYTES];

                at += sprintf(at, "%s\n", pw_transition_format(state_at(states, states->first), text));
        }
        assert_string_equal(found, lines);
}
