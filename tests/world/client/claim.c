/* Names and leases: clients ask for them, metadata is asked about names, and each holds its object until it ends. */
#include "tests/world/client/claim.h"

#include "store/name.h"
#include "tests/world/client/store.h"

#define NAMES 5u     /* of each tenant */
#define LASTS_US 3000u

void world_claims_open(struct world *world)
{
        pw_list_init(&world->claims);
        world->metadata = world_metadata_new();
        if (!world->metadata)
                world_fail(world, "out of memory");
}

void world_claims_close(struct world *world)
{
        struct world_claim *claim;

        pw_list_each(&world->claims, claim, struct world_claim, link)
                free(claim);
        world_metadata_free(world->metadata);
}

struct pw_object *world_stored(struct world *world, const struct world_object *object)
{
        struct pw_object *stored = pw_store_find(world->store, world_session(world, object), object->segment, object->slot,
                                                 object->generation);

        if (!stored)
                world_fail(world, "object %x.%x is held, and is not found", object->segment, object->slot);
        return stored;
}

struct world_claim *world_claim_of(struct world *world, const char *tenant, const char *name)
{
        struct world_claim *claim;

        pw_list_each(&world->claims, claim, struct world_claim, link)
                if (claim->name[0] && !claim->ending && claim->object->tenant == tenant && !strcmp(claim->name, name))
                        return claim;
        return NULL;
}

/* --- who is held -------------------------------------------------------------------------------------------------------------- */

static struct world_claim *claim_new(struct world *world, struct world_object *object)
{
        struct world_claim *claim = calloc(1, sizeof *claim);

        if (!claim)
                world_fail(world, "out of memory");
        claim->object = object;
        pw_list_append(&world->claims, &claim->link);
        return claim;
}

static void hold(struct world_object *object)
{
        object->refs++;
        object->claims++;
}

static void let_go(struct world *world, struct world_object *object)
{
        object->claims--;
        world_unref(world, object);
}

/* until_us 0: no lease. */
static void set_lease(struct world *world, struct world_claim *claim, uint64_t until_us)
{
        bool was = claim->leased;

        claim->leased = until_us != 0;
        claim->until_us = until_us;
        if (claim->leased && !was)
                hold(claim->object);
        if (!claim->leased && was)
                let_go(world, claim->object);
}

static void forget_if_over(struct world_claim *claim)
{
        if (claim->leased || claim->name[0])
                return;
        pw_list_remove(&claim->link);
        free(claim);
}

/* The name is in no metadata any more. Its lease goes on where the name was bound. */
static void name_over(struct world *world, struct world_claim *claim, bool with_lease)
{
        if (claim->object->charged_to == claim)
                claim->object->charged_to = NULL;
        claim->name[0] = '\0';
        claim->token = 0;
        if (with_lease)
                set_lease(world, claim, 0);
        let_go(world, claim->object);
        forget_if_over(claim);
}

static void name_ends(struct world_claim *claim)
{
        claim->ending = true;
        claim->token = 0;
        if (claim->object->charged_to == claim)
                claim->object->charged_to = NULL;
}

/* --- requests ----------------------------------------------------------------------------------------------------------------- */

static uint64_t some_end(struct world *world) { return world->now_us + 1 + world_random(world, LASTS_US); }

static struct pw_name_request request_of(struct world *world, const struct world_object *object, const char *name)
{
        return (struct pw_name_request){ .session = world_session(world, object), .request = ++world->token,
                                         .tenant = object->tenant, .name = name, .now_us = world->now_us };
}

static void lease(struct world *world, struct world_object *object, const char *name)
{
        uint64_t until_us = some_end(world);
        struct pw_error err;

        (void)name;
        if (pw_store_lease(world->store, world_stored(world, object), until_us, &err) != PW_OK)
                world_fail(world, "no lease: %s", err.text);
        set_lease(world, claim_new(world, object), until_us);
}

static bool ends_here(struct world *world, const struct world_object *object, const char *name)
{
        struct world_claim *claim;

        pw_list_each(&world->claims, claim, struct world_claim, link)
                if (claim->object == object && claim->ending && !strcmp(claim->name, name))
                        return true;
        return false;
}

static void bind(struct world *world, struct world_object *object, const char *name)
{
        struct world_claim *claim = world_claim_of(world, object->tenant, name);
        enum pw_status expected = claim && claim->object != object ? PW_EXISTS : PW_OK, status;
        uint64_t until_us = world_random(world, 2) ? some_end(world) : 0;
        struct pw_name_request request = request_of(world, object, name);
        struct pw_error err;

        if (ends_here(world, object, name))
                return;
        status = pw_store_name_bind(world->store, &request, world_stored(world, object), until_us, &err);
        if (status != expected)
                world_fail(world, "name %s: binding it is %s, not %s", name, pw_status_name(status), pw_status_name(expected));
        if (status != PW_OK)
                return;
        world->requests_open++;
        if (!claim) {
                claim = claim_new(world, object);
                snprintf(claim->name, sizeof claim->name, "%s", name);
                hold(object);
        }
        set_lease(world, claim, until_us);
}

static void unbind(struct world *world, struct world_object *object, const char *name)
{
        struct world_claim *claim = world_claim_of(world, object->tenant, name);
        struct pw_name_request request = request_of(world, object, name);
        enum pw_status status;
        struct pw_error err;

        status = pw_store_name_remove(world->store, &request, &err);
        if (status != (claim ? PW_OK : PW_NOT_FOUND))
                world_fail(world, "name %s: removing it is %s", name, pw_status_name(status));
        world->requests_open += status == PW_OK;
        if (claim)
                name_ends(claim);
}

/* By another client of the tenant, which holds what is found from then on. */
static void look_up(struct world *world, struct world_object *object, const char *name)
{
        struct world_claim *claim = world_claim_of(world, object->tenant, name);
        struct pw_object *found = pw_store_name_find(world->store, object->tenant, name);
        struct pw_error err;

        if (!found != !(claim && claim->bound) || (found && found != world_stored(world, claim->object)))
                world_fail(world, "name %s is %s", name, found ? "found where it is not bound" : "bound, and not found");
        if (!found)
                return;
        if (world_other_has(world, claim->object) || pw_word_flags(pw_entry_load(claim->object->entry)) & PW_ENTRY_DONATED)
                return;
        if (pw_store_hold(world->store, found, world_other_owner(world, claim->object), &err) != PW_OK)
                world_fail(world, "what name %s is bound to cannot be held: %s", name, err.text);
        world_other_given(claim->object);
}

static void transfer(struct world *world, struct world_object *object, const char *name)
{
        (void)name;
        world_transfer(world, object);
}

static void (*const requests[])(struct world *world, struct world_object *object, const char *name) = {
        lease, bind, bind, unbind, look_up, transfer, transfer, transfer, transfer,
};

void world_ask(struct world *world, struct world_object *object)
{
        char name[8];

        if (!object->held)
                return;
        snprintf(name, sizeof name, "n%u", world_random(world, NAMES));
        requests[world_random(world, sizeof requests / sizeof *requests)](world, object, name);
        world_act(world);
        world_changed(world);
}

/* --- what comes of them ------------------------------------------------------------------------------------------------------- */

static void leases_end(struct world *world)
{
        struct world_claim *claim;

        pw_list_each(&world->claims, claim, struct world_claim, link)
                if (claim->leased && claim->until_us <= world->now_us) {
                        if (claim->name[0] && !claim->ending)
                                name_ends(claim);
                        set_lease(world, claim, 0);
                        forget_if_over(claim);
                }
        pw_store_tick(world->store, world->now_us);
}

static void ask_metadata(struct world *world)
{
        struct pw_name_ask ask;
        struct world_claim *claim;

        for (; pw_store_name_next(world->store, &ask); pw_store_name_asked(world->store, ask.token)) {
                pw_list_each(&world->claims, claim, struct world_claim, link)
                        if (!strcmp(claim->name, ask.name) && !strcmp(claim->object->tenant, ask.tenant) &&
                            pw_id_slot(ask.id) == claim->object->slot && pw_id_segment(ask.id) == claim->object->segment)
                                claim->token = ask.token;
                world_metadata_take(world, &ask);
        }
}

/* What a host that is answered makes of it. */
static void answered(struct world *world, struct world_claim *claim, enum pw_name_ask_kind kind, enum pw_name_outcome outcome)
{
        claim->token = 0;
        if (kind == PW_NAME_BIND && outcome == PW_NAMED_OK)
                claim->bound = true;
        else if (kind == PW_NAME_BIND)
                name_over(world, claim, true);
        else if (outcome != PW_NAMED_AWAY)
                name_over(world, claim, false);
}

static bool hear_metadata(struct world *world, bool away)
{
        struct pw_name_answer answer;
        struct world_claim *claim;
        struct pw_name_ask ask;

        if (!world_metadata_answer(world, away, &ask, &answer))
                return false;
        pw_list_each(&world->claims, claim, struct world_claim, link)
                if (claim->token == ask.token) {
                        answered(world, claim, ask.kind, answer.outcome);
                        break;
                }
        pw_store_name_answered(world->store, &answer, world->now_us);
        return true;
}

static void hear_answers(struct world *world)
{
        struct pw_name_told told;

        while (pw_store_name_told(world->store, &told))
                if (!world->requests_open--)
                        world_fail(world, "a request about a name is answered twice");
}

void world_claims_turn(struct world *world)
{
        leases_end(world);
        ask_metadata(world);
        if (!pw_list_empty(&world->claims)) {
                while (world_random(world, 3) && hear_metadata(world, !world_random(world, 8)))
                        ;
                if (!world_random(world, 8))
                        pw_store_names_back(world->store);
        }
        hear_answers(world);
}

void world_claims_end(struct world *world)
{
        struct world_claim *claim;

        pw_list_each(&world->claims, claim, struct world_claim, link)
                if (claim->name[0] && !claim->ending)
                        unbind(world, claim->object, claim->name);
        world->now_us += LASTS_US + 1;
        pw_store_names_back(world->store);
        leases_end(world);
        ask_metadata(world);
        while (hear_metadata(world, false))
                ;
        hear_answers(world);
        world_act(world);
        world_changed(world);
        if (!pw_list_empty(&world->claims))
                world_fail(world, "names or leases are left");
        if (world->requests_open)
                world_fail(world, "%u requests about names are not answered", world->requests_open);
}
