/* Metadata of one host: does what it was asked in that order, and answers late; or it is away, and has not done it. */
#include "tests/world/client/claim.h"

#define QUESTIONS 1024u
#define BINDINGS 256u

struct question { struct pw_name_ask ask; char name[8]; };
struct binding { const char *tenant; char name[8]; struct pw_id id; }; /* tenant NULL: free */

struct world_metadata {
        struct question questions[QUESTIONS]; /* a ring */
        uint32_t first, count;
        struct binding bindings[BINDINGS];
};

struct world_metadata *world_metadata_new(void) { return calloc(1, sizeof(struct world_metadata)); }
void world_metadata_free(struct world_metadata *metadata) { free(metadata); }

static const char *tenant_of(const char *tenant)
{
        uint32_t i = 0;

        while (strcmp(world_tenants[i], tenant))
                i++;
        return world_tenants[i];
}

void world_metadata_take(struct world *world, const struct pw_name_ask *ask)
{
        struct world_metadata *metadata = world->metadata;
        struct question *question = &metadata->questions[(metadata->first + metadata->count) % QUESTIONS];

        if (metadata->count++ == QUESTIONS)
                world_fail(world, "metadata is asked more than %u questions at once", QUESTIONS);
        question->ask = *ask;
        question->ask.tenant = tenant_of(ask->tenant);
        snprintf(question->name, sizeof question->name, "%s", ask->name);
}

/* That of the name; or a free one. */
static struct binding *binding_of(struct world *world, const struct pw_name_ask *ask)
{
        struct binding *free_one = NULL;

        for (uint32_t i = 0; i < BINDINGS; i++) {
                struct binding *binding = &world->metadata->bindings[i];
                if (binding->tenant == ask->tenant && !strcmp(binding->name, ask->name))
                        return binding;
                if (!binding->tenant)
                        free_one = binding;
        }
        if (!free_one)
                world_fail(world, "metadata has more than %u bindings", BINDINGS);
        return free_one;
}

static enum pw_name_outcome perform(struct world *world, const struct pw_name_ask *ask)
{
        struct binding *binding = binding_of(world, ask);
        bool same = binding->tenant && pw_id_equal(binding->id, ask->id);

        if (ask->kind == PW_NAME_UNBIND) {
                if (same)
                        binding->tenant = NULL;
                return same ? PW_NAMED_OK : PW_NAMED_NOT_FOUND;
        }
        if (ask->kind != PW_NAME_BIND)
                world_fail(world, "metadata is asked what name %s is bound to, and was never unsure", ask->name);
        if (binding->tenant)
                return same ? PW_NAMED_OK : PW_NAMED_TAKEN;
        binding->tenant = ask->tenant;
        snprintf(binding->name, sizeof binding->name, "%s", ask->name);
        binding->id = ask->id;
        return PW_NAMED_OK;
}

bool world_metadata_answer(struct world *world, bool away, struct pw_name_ask *ret_ask, struct pw_name_answer *ret_answer)
{
        struct world_metadata *metadata = world->metadata;
        struct question *question = &metadata->questions[metadata->first];

        if (!metadata->count)
                return false;
        question->ask.name = question->name;
        *ret_ask = question->ask;
        *ret_answer = (struct pw_name_answer){ .token = question->ask.token, .id = question->ask.id, .version = 1,
                                               .outcome = away ? PW_NAMED_AWAY : perform(world, &question->ask) };
        metadata->first = (metadata->first + 1) % QUESTIONS;
        metadata->count--;
        return true;
}
