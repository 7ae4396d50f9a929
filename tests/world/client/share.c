/* Another client of each tenant, which takes references by id: it saw an object that somebody held, and says so in its ring,
 * which is read later. Until then the store does not know, and frees nothing that it may name. */
#include "tests/world/client/store.h"

#include "base/memory.h"

struct record { bool drop; struct pw_cell cell; };

struct world_other {
        struct record *ring; /* not read yet */
        uint32_t count, capacity;
        uint32_t session;
};

static void open_other(struct world *world, uint32_t tenant, uint32_t session)
{
        struct pw_error err;
        enum pw_status status = pw_store_session_open(
                world->store, &(struct pw_store_session_params){ .session = session, .tenant = world_tenants[tenant],
                                                                 .client = "another", .now_us = world->now_us }, &err);

        for (uint32_t s = 0; status == PW_OK && s < 2; s++)
                status = pw_store_reader_add(world->store, WORLD_HOST_SEGMENTS + 2 * tenant + s, session, &err);
        if (status != PW_OK)
                world_fail(world, "%s", err.text);
        world->others[tenant].session = session;
}

void world_others_open(struct world *world)
{
        world->others = calloc(WORLD_TENANTS, sizeof *world->others);
        if (!world->others)
                world_fail(world, "out of memory");
        for (uint32_t i = 0; i < world_tenant_count(world); i++)
                open_other(world, i, WORLD_OTHERS + i);
}

void world_others_close(struct world *world)
{
        for (uint32_t i = 0; i < WORLD_TENANTS; i++)
                free(world->others[i].ring);
        free(world->others);
}

static struct world_other *other_of(const struct world *world, const struct world_object *object)
{
        return &world->others[world_session(world, object) - 1];
}

static void say(struct world *world, const struct world_object *object, bool drop)
{
        struct world_other *other = other_of(world, object);

        if (!pw_grow((void **)&other->ring, &other->capacity, other->count + 1, sizeof *other->ring))
                world_fail(world, "out of memory");
        other->ring[other->count++] = (struct record){ drop, world_cell(object) };
}

void world_share(struct world *world, struct world_object *object)
{
        uint64_t word = pw_entry_load(object->entry);

        if (object->shared || !object->refs || pw_word_flags(word) & PW_ENTRY_DONATED)
                return;
        object->shared = true;
        object->refs++;
        say(world, object, false);
}

void world_unshare(struct world *world, struct world_object *object)
{
        object->shared = false;
        say(world, object, true);
        world_unref(world, object);
        world_changed(world);
}

static void read_ring(struct world *world, uint32_t tenant)
{
        struct world_other *other = &world->others[tenant];

        for (uint32_t i = 0; i < other->count; i++) {
                const struct record *record = &other->ring[i];
                struct world_object *object = world_object_at(world, pw_cell_segment(record->cell), pw_cell_slot(record->cell));
                enum pw_status status = record->drop ?
                        pw_store_drop(world->store, other->session, record->cell, world->now_us) :
                        pw_store_ref(world->store, other->session, record->cell, world->now_us);

                if (status != PW_OK)
                        world_fail(world, "a record of session %u is refused", other->session);
                if (!object || object->generation != pw_cell_generation(record->cell))
                        continue;
                object->told = !record->drop;
                if (record->drop && object->charged_session == other->session)
                        object->charged_session = 0;
        }
        other->count = 0;
}

bool world_other_has(struct world *world, const struct world_object *object)
{
        read_ring(world, world_session(world, object) - 1);
        return object->shared;
}

struct pw_owner world_other_owner(const struct world *world, const struct world_object *object)
{
        return (struct pw_owner){ PW_OWNER_SESSION, other_of(world, object)->session };
}

void world_other_given(struct world_object *object)
{
        object->shared = object->told = true;
        object->refs++;
}

void world_other_says(struct world *world, const struct world_object *object) { say(world, object, false); }

void world_read_rings(struct world *world, const uint32_t *sessions, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++)
                if (sessions[i] >= WORLD_OTHERS)
                        read_ring(world, (sessions[i] - WORLD_OTHERS) % WORLD_TENANTS);
}

/* What it said is read first; then its references go, and the next of its kind attaches. */
void world_other_dies(struct world *world)
{
        uint32_t tenant = world_random(world, world_tenant_count(world));
        struct world_other *other = &world->others[tenant];
        struct world_object *object;

        read_ring(world, tenant);
        pw_store_session_end(world->store, other->session, true, world->now_us);
        pw_list_each(&world->objects, object, struct world_object, link) {
                if (object->charged_session == other->session)
                        object->charged_session = 0;
                if (object->shared && other_of(world, object) == other) {
                        object->shared = object->told = false;
                        world_unref(world, object);
                }
        }
        open_other(world, tenant, other->session + WORLD_TENANTS);
        world_act(world);
        world_changed(world);
}

uint32_t world_other_session(const struct world *world, uint32_t tenant) { return world->others[tenant].session; }

void world_read_some(struct world *world)
{
        for (uint32_t i = 0; i < world_tenant_count(world); i++)
                if (world->others[i].count && world_random(world, 2))
                        read_ring(world, i);
}

bool world_unread(const struct world *world)
{
        for (uint32_t i = 0; i < world_tenant_count(world); i++)
                if (world->others[i].count)
                        return true;
        return false;
}
