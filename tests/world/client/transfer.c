/* Transfer: who is charged for an object is whom it was transferred to last, for as long as that holds it. */
#include "store/name.h"
#include "store/object.h"
#include "tests/world/client/claim.h"
#include "tests/world/client/store.h"

static struct world_claim *bound_name(struct world *world, const struct world_object *object)
{
        struct world_claim *claim;

        pw_list_each(&world->claims, claim, struct world_claim, link)
                if (claim->object == object && claim->name[0] && claim->bound && !claim->ending)
                        return claim;
        return NULL;
}

static void to_name(struct world *world, struct world_object *object, struct world_claim *claim)
{
        struct pw_error err;

        if (pw_store_transfer_to_name(world->store, world_stored(world, object), claim->name, &err) != PW_OK)
                world_fail(world, "no transfer to name %s: %s", claim->name, err.text);
        object->charged_session = 0;
        object->charged_to = claim;
}

/* Who had none holds a reference then; the next one that it says it takes is that one. */
static void to_session(struct world *world, struct world_object *object, bool other)
{
        bool has = world_other_has(world, object);
        uint32_t session = other ? (uint32_t)world_other_owner(world, object).number : world_session(world, object);
        struct pw_error err;

        if (pw_store_transfer(world->store, world_stored(world, object), session, world->now_us, &err) != PW_OK)
                world_fail(world, "no transfer to session %u: %s", session, err.text);
        object->charged_session = session;
        object->charged_to = NULL;
        if (!other || has)
                return;
        world_other_given(object);
        if (world_random(world, 2))
                world_other_says(world, object);
}

void world_transfer(struct world *world, struct world_object *object)
{
        struct world_claim *claim = bound_name(world, object);

        if (claim && world_random(world, 2))
                to_name(world, object, claim);
        else
                to_session(world, object, world_random(world, 2));
}

void world_check_charge(struct world *world, struct world_object *object)
{
        struct pw_object_row row;
        bool own = object->charged_session == world_session(world, object);

        if (object->charged_session && !(own ? object->held : object->told))
                object->charged_session = 0;
        if (!object->charged_session && !object->charged_to)
                return;
        pw_object_row(world->store, world_stored(world, object), &row);
        if (object->charged_to ? row.charge.kind != PW_OWNER_NAME || strcmp(row.charge.name, object->charged_to->name)
                               : row.charge.kind != PW_OWNER_SESSION || row.charge.number != object->charged_session)
                world_fail(world, "object %x.%x is charged to an owner of kind %u, %lu, and not to whom it was transferred",
                           object->segment, object->slot, row.charge.kind, (unsigned long)row.charge.number);
}
