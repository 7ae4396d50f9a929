/* A client of each tenant as the store knows it: a session with a segment of its own and one of futures, in plain memory. It does
 * what libclient would: slots that were granted are taken, values are written where their rooms are, what comes back comes by a
 * ring. */
#include "tests/world/client/store.h"

#include "base/memory.h"
#include "base/size.h"
#include "store/object.h"

#include <sys/mman.h>

#define SLOTS (1u << 15)
#define ROOM_BYTES (64 * PW_MIB)
#define LISTS_BYTES (16 * PW_MIB)
#define CONTROL_BYTES (PW_CONTROL_RINGS_OFFSET + 4 * PW_MIB)
#define CAPACITY_BYTES PW_GIB
#define RESERVED_BYTES (4 * PW_MIB)
#define POOLS 16u
#define GRANT_SLOTS 256u
#define KIND_INLINE PW_CLASS_COUNT /* besides classes of rooms */
#define KIND_FUTURES (PW_CLASS_COUNT + 1)

/* Slots of one kind: those that were granted, and came back, are taken from `ready`. */
struct pool {
        uint32_t kind;
        uint64_t token; /* of the request under way */
        struct granted { struct pw_store_grant grant; struct pw_return_reader returns; } *grants;
        uint32_t grant_count, grant_capacity;
        uint32_t *ready;
        uint32_t ready_count, ready_capacity;
};

struct segment {
        uint32_t number;
        struct pw_map map;
        struct pw_segment_layout layout;
        struct world_object *objects[SLOTS];
};

struct world_client {
        uint32_t session;
        uint8_t *control;
        struct pw_hint_page *hints;
        struct segment own, futures;
        struct pool pools[POOLS];
        uint32_t pool_count;
};

static void *zeroed(struct world *world, uint64_t bytes)
{
        void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (memory == MAP_FAILED)
                world_fail(world, "out of memory");
        return memory;
}

static void add_segment(struct world *world, struct segment *segment, uint32_t tenant, uint32_t session)
{
        struct world_client *client = world->clients[tenant];
        struct pw_error err;

        segment->number = WORLD_HOST_SEGMENTS + 2 * tenant + !session;
        segment->layout = session ? pw_segment_layout(PW_SEGMENT_CLIENT, SLOTS, ROOM_BYTES) :
                pw_segment_layout(PW_SEGMENT_FUTURES, SLOTS, LISTS_BYTES);
        segment->map = (struct pw_map){ zeroed(world, segment->layout.bytes), segment->layout.bytes, true };
        if (pw_store_segment_add(world->store, &(struct pw_store_segment_params){ .segment = segment->number,
                                 .layout = segment->layout, .tenant = world_tenants[tenant], .session = session,
                                 .map = segment->map, .hints = client->hints }, &err) != PW_OK)
                world_fail(world, "%s", err.text);
}

static void open_client(struct world *world, uint32_t tenant)
{
        struct world_client *client = zeroed(world, sizeof *client);
        struct pw_error err;

        world->clients[tenant] = client;
        client->session = 1 + tenant;
        client->control = zeroed(world, CONTROL_BYTES);
        client->hints = zeroed(world, sizeof *client->hints);
        for (uint32_t i = 0; i < PW_HINT_BUCKETS; i++) /* somebody waits for everything */
                atomic_store(&client->hints->waiters[i], 1);
        if (pw_store_session_open(world->store, &(struct pw_store_session_params){ .session = client->session,
                                  .tenant = world_tenants[tenant], .client = world_tenants[tenant],
                                  .control = (struct pw_control *)(void *)client->control, .control_bytes = CONTROL_BYTES,
                                  .now_us = world->now_us }, &err) != PW_OK)
                world_fail(world, "%s", err.text);
        add_segment(world, &client->futures, tenant, 0);
        add_segment(world, &client->own, tenant, client->session);
}

void world_store_open(struct world *world)
{
        world->store = pw_store_new(&(struct pw_store_params){ .host = WORLD_HOST, .epoch = WORLD_EPOCH,
                                                               .capacity_bytes = CAPACITY_BYTES,
                                                               .reserved_bytes = RESERVED_BYTES,
                                                               .apart = world->kind == WORLD_APART ? UINT64_MAX : 0 });
        if (!world->store)
                world_fail(world, "out of memory");
        for (uint32_t i = 0; i < world_tenant_count(world); i++)
                open_client(world, i);
        world_others_open(world);
}

static void close_client(struct world_client *client)
{
        for (uint32_t i = 0; i < client->pool_count; i++) {
                free(client->pools[i].grants);
                free(client->pools[i].ready);
        }
        munmap(client->control, CONTROL_BYTES);
        munmap(client->hints, sizeof *client->hints);
        munmap(client->own.map.base, client->own.map.bytes);
        munmap(client->futures.map.base, client->futures.map.bytes);
        munmap(client, sizeof *client);
}

void world_store_close(struct world *world)
{
        pw_store_free(world->store);
        world_others_close(world);
        for (uint32_t i = 0; i < world_tenant_count(world); i++)
                close_client(world->clients[i]);
}

/* --- places ----------------------------------------------------------------------------------------------------------------- */

static struct segment *segment_of(struct world *world, uint32_t number)
{
        uint32_t at = number - WORLD_HOST_SEGMENTS;

        if (at >= 2 * world_tenant_count(world))
                world_fail(world, "there is no segment %u", number);
        return at % 2 ? &world->clients[at / 2]->futures : &world->clients[at / 2]->own;
}

static struct world_client *client_of(const struct world *world, const struct world_object *object)
{
        uint32_t tenant = 0;

        while (world_tenants[tenant] != object->tenant)
                tenant++;
        return world->clients[tenant];
}

uint32_t world_session(const struct world *world, const struct world_object *object)
{
        return client_of(world, object)->session;
}

struct pw_cell world_cell(const struct world_object *object)
{
        return pw_cell_object(PW_RING_DROP, object->segment, object->slot, object->generation);
}

struct world_object *world_object_at(struct world *world, uint32_t segment, uint32_t slot)
{
        return segment_of(world, segment)->objects[slot];
}

void world_object_gone(struct world *world, const struct world_object *object)
{
        segment_of(world, object->segment)->objects[object->slot] = NULL;
}

uint64_t world_host_value(struct world *world, uint32_t segment, uint64_t offset)
{
        uint64_t value;

        memcpy(&value, segment_of(world, segment)->map.base + offset, sizeof value);
        return value;
}

/* --- slots ------------------------------------------------------------------------------------------------------------------ */

static struct pool *pool_of(struct world *world, struct world_client *client, uint32_t kind)
{
        for (uint32_t i = 0; i < client->pool_count; i++)
                if (client->pools[i].kind == kind)
                        return &client->pools[i];
        if (client->pool_count == POOLS)
                world_fail(world, "there are more than %u kinds of slots", POOLS);
        client->pools[client->pool_count].kind = kind;
        return &client->pools[client->pool_count++];
}

static void add_ready(struct world *world, struct pool *pool, uint32_t slot)
{
        if (!pw_grow((void **)&pool->ready, &pool->ready_capacity, pool->ready_count + 1, sizeof *pool->ready))
                world_fail(world, "out of memory");
        pool->ready[pool->ready_count++] = slot;
}

static bool take_ready(struct world *world, struct pool *pool, uint32_t *ret_slot)
{
        for (uint32_t i = 0, slot; i < pool->grant_count; i++)
                while (pw_return_take(&pool->grants[i].returns, &slot))
                        add_ready(world, pool, slot);
        if (!pool->ready_count)
                return false;
        *ret_slot = pool->ready[--pool->ready_count];
        return true;
}

static void ask(struct world *world, const struct world_client *client, struct pool *pool)
{
        bool room = pool->kind < PW_CLASS_COUNT;
        uint64_t bytes = room ? pw_class_bytes(pool->kind) : 0;

        pool->token = ++world->token;
        pw_store_room_request(world->store, &(struct pw_room_request){ .token = pool->token, .session = client->session,
                              .futures = pool->kind == KIND_FUTURES, .inline_only = pool->kind == KIND_INLINE,
                              .size_class = room ? pool->kind : 0,
                              .count = (uint32_t)pw_min_u64(GRANT_SLOTS, pw_grant_slots_max(bytes)), .need_bytes = bytes,
                              .now_us = world->now_us, .deadline_us = UINT64_MAX });
        world_act(world);
}

static uint32_t take_slot(struct world *world, struct world_client *client, uint32_t kind)
{
        struct pool *pool = pool_of(world, client, kind);
        uint32_t slot;

        if (take_ready(world, pool, &slot))
                return slot;
        ask(world, client, pool);
        if (!take_ready(world, pool, &slot))
                world_fail(world, "session %u has no slot of kind %u", client->session, kind);
        return slot;
}

static void take_grant(struct world *world, const struct pw_store_grant *grant, uint64_t token)
{
        struct world_client *client = world->clients[grant->session - 1];
        struct pool *pool = client->pools;
        uint32_t capacity = 1;

        while (pool->token != token)
                if (++pool == client->pools + client->pool_count)
                        world_fail(world, "nobody asked for slots by token %lu", (unsigned long)token);
        if (!pw_grow((void **)&pool->grants, &pool->grant_capacity, pool->grant_count + 1, sizeof *pool->grants))
                world_fail(world, "out of memory");
        while (capacity < grant->slot_count)
                capacity <<= 1;
        pool->grants[pool->grant_count++] = (struct granted){ *grant, {
                .ring = (struct pw_return_ring *)(void *)(client->control + grant->return_ring), .mask = capacity - 1 } };
        for (uint32_t i = grant->slot_count; i--;)
                add_ready(world, pool, grant->first_slot + i);
}

void world_room(struct world *world, const struct pw_store_action *action)
{
        if (action->kind == PW_STORE_GRANT)
                take_grant(world, &action->grant, action->token);
        else if (action->kind == PW_STORE_REFUSE)
                world_fail(world, "room is refused: %s", action->text);
}

/* There is memory; what is given back is read as zeros. */
void world_pages(struct world *world, const struct pw_store_action *action)
{
        if (action->kind == PW_STORE_POPULATE) {
                pw_store_populated(world->store, action->token, PW_OK, world->now_us);
                return;
        }
        memset(segment_of(world, action->segment)->map.base + action->offset, 0, action->bytes);
        pw_store_pages_gone(world->store, action->owner, action->bytes, world->now_us);
}

/* --- objects ---------------------------------------------------------------------------------------------------------------- */

static void take_place(struct world *world, struct world_object *object, struct segment *segment, uint32_t slot)
{
        if (segment->objects[slot])
                world_fail(world, "slot %x.%x is granted while an object is there", segment->number, slot);
        object->segment = segment->number;
        object->slot = slot;
        object->entry = pw_map_entry(&segment->map, slot);
        segment->objects[slot] = object;
}

static uint64_t room_of(const struct pool *pool, uint32_t slot)
{
        const struct pw_store_grant *grant = &pool->grants[0].grant;

        for (uint32_t i = 0; slot - grant->first_slot >= grant->slot_count;)
                grant = &pool->grants[++i].grant;
        return grant->room_offset + (slot - grant->first_slot) * grant->room_bytes;
}

void world_entry_put(struct world *world, struct world_object *object)
{
        struct world_client *client = client_of(world, object);
        uint64_t bytes, room_bytes;
        uint32_t kind;

        if (pw_dims_bytes(object->dtype, &object->dims, &bytes, NULL) != PW_OK)
                world_fail(world, "a value is too large");
        room_bytes = pw_entry_room_bytes(bytes, object->dtype, &object->dims);
        object->is_inline = !room_bytes;
        object->bytes = bytes;
        kind = room_bytes ? pw_size_class(room_bytes) : KIND_INLINE;
        take_place(world, object, &client->own, take_slot(world, client, kind));
        if (room_bytes)
                object->room_offset = room_of(pool_of(world, client, kind), object->slot);
        if (!pw_entry_take(object->entry, &object->generation))
                world_fail(world, "slot %x.%x was granted, and cannot be taken", object->segment, object->slot);
}

bool world_entry_seal(struct world *world, struct world_object *object, enum pw_status status)
{
        struct segment *segment = segment_of(world, object->segment);
        struct pw_described described = { .bytes = object->bytes, .dtype = object->dtype, .dims = object->dims,
                                          .room_segment = object->segment, .room_offset = object->room_offset,
                                          .is_inline = object->is_inline };
        uint64_t old;

        pw_entry_fill(object->entry, &described, segment->map.base + object->room_offset);
        memcpy(object->is_inline ? object->entry->body.value : segment->map.base + object->room_offset, &object->value,
               sizeof object->value);
        if (!pw_entry_decide(object->entry, object->generation, status, 0, UINT32_MAX, &old))
                return false;
        if (pw_word_flags(old) & PW_ENTRY_RING)
                pw_store_rung(world->store, world_session(world, object), world->now_us);
        return true;
}

void world_entry_claim(struct world *world, struct world_object *object)
{
        struct world_client *client = client_of(world, object);

        take_place(world, object, &client->futures, take_slot(world, client, KIND_FUTURES));
        object->generation = pw_word_generation(pw_entry_load(object->entry));
}

const struct pw_shard_list *world_shard_list(struct world *world, const struct world_object *object)
{
        const uint8_t *base = segment_of(world, object->segment)->map.base;

        return (const struct pw_shard_list *)(const void *)(base + object->entry->room_offset);
}

const char *world_error_text(struct world *world, const struct world_object *object)
{
        const struct pw_entry *entry = object->entry;
        const char *base = (const char *)segment_of(world, object->segment)->map.base;

        if (pw_word_state(pw_entry_load(entry)) == PW_ENTRY_LOST)
                return entry->body.loss.bytes ? base + entry->body.loss.offset : "";
        return entry->bytes ? base + entry->room_offset : "";
}

void world_reclaim(struct world *world)
{
        bool any = pw_store_reclaim_begin(world->store);
        uint32_t count;
        const uint32_t *sessions = pw_store_scan(world->store, &count);

        world_read_rings(world, sessions, count);
        if (any)
                pw_store_reclaim_finish(world->store, world->now_us);
}
