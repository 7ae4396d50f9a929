/* Clients of the model, and what the daemon does for them. */
#include "store/model_test.h"

static const uint32_t row_bytes[ROWS] = { 64, 1024, 6000, 70000, 0 /* inline */, 0 /* futures */ };

uint32_t model_dice(struct world *world, uint32_t sides)
{
        world->seed ^= world->seed << 13;
        world->seed ^= world->seed >> 7;
        world->seed ^= world->seed << 17;
        return (uint32_t)(world->seed >> 20) % sides;
}

void model_open_client(struct world *world, struct client *client)
{
        uint64_t control_bytes = PW_CONTROL_RINGS_OFFSET + 4 * PW_MIB;
        struct pw_segment_layout layout = pw_segment_layout(PW_SEGMENT_CLIENT, SLOTS, ROOM_BYTES);
        char name[32];

        memset(client, 0, sizeof *client);
        client->alive = true;
        client->session = ++world->next_session;
        client->segment = ++world->next_segment;
        client->control = aligned_alloc(4096, control_bytes);
        memset(client->control + PW_CONTROL_RINGS_OFFSET, 0, 4 * PW_MIB);
        client->entries = aligned_alloc(4096, layout.room_offset);
        memset(client->entries, 0, layout.room_offset);
        client->units = calloc(ROOM_BYTES / 64, sizeof *client->units);
        snprintf(name, sizeof name, "client[%u]", client->session);
        assert_int_equal(
                pw_store_session_open(world->store,
                                      &(struct pw_store_session_params){ .session = client->session,
                                                                         .tenant = "ann",
                                                                         .client = name,
                                                                         .control = (struct pw_control *)client->control,
                                                                         .control_bytes = control_bytes,
                                                                         .now_us = world->now_us },
                                      NULL),
                PW_OK);
        assert_int_equal(pw_store_segment_add(world->store,
                                              &(struct pw_store_segment_params){
                                                      .segment = client->segment,
                                                      .layout = layout,
                                                      .tenant = "ann",
                                                      .session = client->session,
                                                      .map = { (uint8_t *)client->entries, layout.room_offset, true },
                                                      .hints = world->hints },
                                              NULL),
                         PW_OK);
}

void model_free_client_memory(struct client *client)
{
        free(client->control);
        free(client->units);
        free(client->ring);
        client->control = NULL;
        client->units = NULL;
        client->ring = NULL;
}

static struct client *waiting_for(struct world *world, uint64_t token)
{
        for (uint32_t i = 0; i < CLIENTS; i++)
                if (world->clients[i].alive && world->clients[i].token == token)
                        return &world->clients[i];
        return NULL;
}

static void take_grant(struct world *world, const struct pw_store_action *action)
{
        struct client *client = waiting_for(world, action->token);
        const struct pw_store_grant *grant = &action->grant;
        struct extent *extent = NULL;
        struct row *row;
        uint32_t mask = 1;

        world->grants++;
        assert_non_null(client);
        row = &client->rows[client->lane_now][client->asked_row];
        client->token = 0;
        assert_int_equal(grant->session, client->session);
        assert_int_equal(grant->lane, client->lane_now);
        assert_true(grant->slot_count >= 1);
        for (uint32_t i = 0; i < row->count; i++)
                if (row->extents[i].number == grant->extent)
                        extent = &row->extents[i];
        if (!extent) {
                assert_true(row->count < EXTENTS);
                extent = &row->extents[row->count++];
        }
        while (mask < grant->slot_count)
                mask <<= 1;
        if (client->asked_row < ROW_INLINE)
                assert_true(grant->room_bytes >= row_bytes[client->asked_row]);
        *extent = (struct extent){ grant->extent,
                                   grant->first_slot,
                                   grant->slot_count,
                                   0,
                                   grant->room_offset,
                                   grant->room_bytes,
                                   { .ring = (struct pw_return_ring *)(client->control + grant->return_ring),
                                     .mask = mask - 1 } };
}

static void free_result(struct world *world, void *payload)
{
        struct object *object = &world->objects[(uintptr_t)payload - 1];

        assert_int_equal(object->payload, 1);
        object->payload = 2;
        world->freed_payloads++;
}

static bool run_held(const struct world *world, const struct run *run)
{
        for (uint32_t r = 0; r < run->result_count; r++)
                for (uint32_t c = 0; c < CLIENTS; c++)
                        for (uint32_t i = 0; world->clients[c].alive && i < world->clients[c].held_count; i++)
                                if (world->clients[c].held[i].object == run->results[r])
                                        return true;
        return false;
}

static void cancel_run(struct world *world, uint64_t number)
{
        for (uint32_t i = 0; i < world->run_count; i++) {
                if (world->runs[i].number != number)
                        continue;
                if (run_held(world, &world->runs[i]))
                        fail_msg("run %llu is cancelled, but a client holds its result", (unsigned long long)number);
                world->runs[i].cancelled = true;
                world->cancels++;
        }
}

void model_punch(struct world *world, struct pw_store_owner *owner, uint64_t bytes)
{
        assert_true(world->punch_count < pw_array_count(world->punches));
        world->punches[world->punch_count].owner = owner;
        world->punches[world->punch_count++].bytes = bytes;
}

static void segment_idle(struct world *world, uint32_t segment)
{
        for (uint32_t c = 0; c < CLIENTS; c++)
                for (uint32_t i = 0; world->clients[c].alive && i < world->clients[c].held_count; i++)
                        assert_int_not_equal(world->objects[world->clients[c].held[i].object].segment, segment);
        struct pw_store_leaving leaving = pw_store_segment_remove(world->store, segment);
        model_punch(world, leaving.owner, leaving.bytes);
        for (uint32_t i = 0; i < world->old_count; i++) {
                if (world->old[i].segment != segment)
                        continue;
                for (uint32_t j = 0; j < world->object_count; j++)
                        if (world->objects[j].segment == segment)
                                world->objects[j].entry = NULL;
                free(world->old[i].entries);
                world->old[i] = world->old[--world->old_count];
                return;
        }
        fail_msg("segment %u is idle, but its session lives", segment);
}

void model_do_actions(struct world *world)
{
        struct pw_store_actions *actions = pw_store_actions(world->store);

        for (uint32_t i = 0; i < actions->count; i++) {
                struct pw_store_action action = actions->items[i];
                struct client *client;

                switch (action.kind) {
                case PW_STORE_GRANT: take_grant(world, &action); break;
                case PW_STORE_LOOK_AGAIN:
                        client = waiting_for(world, action.token);
                        assert_non_null(client);
                        client->token = 0;
                        world->looks++;
                        break;
                case PW_STORE_REFUSE:
                        client = waiting_for(world, action.token);
                        if (client)
                                client->token = 0;
                        assert_non_null(action.text);
                        world->refusals++;
                        break;
                case PW_STORE_POPULATE:
                        assert_true(action.bytes > 0 && action.offset % 4096 == 0 && action.bytes % 4096 == 0);
                        assert_true(world->populate_count < 256);
                        world->populate[world->populate_count++].token = action.token;
                        break;
                case PW_STORE_PUNCH: model_punch(world, action.owner, action.bytes); break;
                case PW_STORE_FREE_RESULT: free_result(world, action.payload); break;
                case PW_STORE_FREE_PROXY: model_proxy_freed(world, action.number); break;
                case PW_STORE_CANCEL_RUN: cancel_run(world, action.number); break;
                case PW_STORE_SEGMENT_IDLE: segment_idle(world, action.segment); break;
                case PW_STORE_END_SESSION:
                        fail_msg("session %llu is ended: %s", (unsigned long long)action.number, action.text);
                        break;
                default: break;
                }
        }
        pw_store_actions_clear(actions);
        plain_settle(world->store, world->now_us);
}

void model_read_ring(struct world *world, struct client *client)
{
        for (uint32_t i = 0; i < client->ring_count; i++) {
                const struct object *object = &world->objects[client->ring[i].object];
                struct pw_cell cell = pw_cell_object(client->ring[i].ref ? PW_RING_REF : PW_RING_DROP, object->segment,
                                                     object->slot, object->generation);

                if (client->ring[i].ref)
                        assert_int_equal(pw_store_ref(world->store, client->session, cell, world->now_us), PW_OK);
                else
                        assert_int_equal(pw_store_drop(world->store, client->session, cell, world->now_us), PW_OK);
        }
        client->ring_count = 0;
}

void model_read_all(struct world *world)
{
        for (uint32_t i = 0; i < CLIENTS; i++)
                if (world->clients[i].alive)
                        model_read_ring(world, &world->clients[i]);
}

void model_look(struct world *world)
{
        uint32_t count;
        const uint32_t *sessions = pw_store_scan(world->store, &count);

        for (uint32_t i = 0; i < count; i++)
                for (uint32_t c = 0; c < CLIENTS; c++)
                        if (world->clients[c].alive && world->clients[c].session == sessions[i])
                                model_read_ring(world, &world->clients[c]);
}

void model_publish(struct client *client, uint32_t object, bool ref)
{
        assert_true(pw_grow((void **)&client->ring, &client->ring_capacity, client->ring_count + 1, sizeof *client->ring));
        client->ring[client->ring_count++] = (struct record){ object, ref };
}

bool model_names_it(const struct object *object)
{
        uint64_t word = object->entry ? pw_entry_load(object->entry) : 0;

        return object->entry && pw_word_generation(word) == object->generation && pw_word_state(word) >= PW_ENTRY_PENDING;
}

/* What a client holds is there. */
void model_check_held(struct world *world)
{
        for (uint32_t c = 0; c < CLIENTS; c++) {
                struct client *client = &world->clients[c];

                for (uint32_t i = 0; client->alive && i < client->held_count; i++) {
                        struct object *object = &world->objects[client->held[i].object];
                        if (!model_names_it(object))
                                fail_msg("client %u holds %x.%x.%x, which is gone", client->session, object->segment,
                                         object->slot, object->generation);
                }
        }
}

void model_hold_it(struct client *client, uint32_t object, bool created)
{
        assert_true(client->held_count < HELD);
        client->held[client->held_count++] = (struct held){ object, created };
}

static bool pop(struct client *client, struct extent *extent, uint32_t *ret_slot)
{
        (void)client;
        if (extent->used < extent->count) {
                *ret_slot = extent->first + extent->used++;
                return true;
        }
        while (pw_return_take(&extent->returned, ret_slot))
                if (*ret_slot - extent->first < extent->count)
                        return true;
        return false;
}

static uint32_t note_object(struct world *world, uint32_t segment, uint32_t slot, uint32_t generation,
                            struct pw_entry *entry)
{
        for (uint32_t i = 0; i < world->object_count; i++)
                assert_false(world->objects[i].segment == segment && world->objects[i].slot == slot &&
                             world->objects[i].generation == generation);
        assert_true(world->object_count < OBJECTS);
        world->objects[world->object_count] = (struct object){ segment, slot, generation, entry, 0, false, false };
        return world->object_count++;
}

static void own_room(struct world *world, struct client *client, const struct extent *extent, uint32_t slot,
                     uint32_t object)
{
        uint64_t room_offset = pw_segment_layout(PW_SEGMENT_CLIENT, SLOTS, ROOM_BYTES).room_offset;
        uint64_t from = extent->offset + (slot - extent->first) * extent->bytes - room_offset;

        assert_true(from + extent->bytes <= ROOM_BYTES);
        for (uint64_t unit = from / 64; unit < (from + extent->bytes) / 64; unit++) {
                uint32_t other = client->units[unit];
                if (other && model_names_it(&world->objects[other - 1]))
                        fail_msg("room of %x.%x lies in that of %x.%x.%x", client->segment, slot, client->segment,
                                 world->objects[other - 1].slot, world->objects[other - 1].generation);
                client->units[unit] = object + 1;
        }
}

/* A slot of the row for the client's thread; false: it has none and asks. */
bool model_take_slot(struct world *world, struct client *client, uint32_t row_number, uint32_t *ret_object)
{
        struct row *row = &client->rows[client->lane_now][row_number];
        uint32_t slot, generation;

        for (uint32_t i = 0; i < row->count; i++) {
                while (pop(client, &row->extents[i], &slot)) {
                        struct pw_entry *entry =
                                row_number == ROW_FUTURES ? pw_map_entry(&world->futures, slot) : &client->entries[slot];
                        if (row_number == ROW_FUTURES) {
                                generation = pw_word_generation(pw_entry_load(entry));
                                if (pw_word_state(pw_entry_load(entry)) != PW_ENTRY_PENDING)
                                        continue;
                        } else if (!pw_entry_take(entry, &generation)) {
                                continue;
                        }
                        *ret_object = note_object(world, row_number == ROW_FUTURES ? FUTURES_SEGMENT : client->segment,
                                                  slot, generation, entry);
                        if (row_number < ROW_INLINE)
                                own_room(world, client, &row->extents[i], slot, *ret_object);
                        return true;
                }
        }
        client->token = ++world->next_token;
        client->asked_row = row_number;
        pw_store_room_request(
                world->store,
                &(struct pw_room_request){ .token = client->token,
                                           .session = client->session,
                                           .lane = client->lane_now,
                                           .futures = row_number == ROW_FUTURES,
                                           .inline_only = row_number == ROW_INLINE,
                                           .size_class = row_number < ROW_INLINE ? pw_size_class(row_bytes[row_number]) : 0,
                                           .count = 1 + model_dice(world, 40),
                                           .need_bytes = row_bytes[row_number],
                                           .now_us = world->now_us,
                                           .deadline_us = world->now_us + model_dice(world, 3) * 1000 });
        return false;
}

void model_open_world(struct world *world, uint64_t seed)
{
        static const uint64_t capacities[] = { PW_MIB / 2, PW_MIB, 3 * PW_MIB, 12 * PW_MIB };
        struct pw_segment_layout layout = pw_segment_layout(PW_SEGMENT_FUTURES, SLOTS, PW_MIB);

        memset(world, 0, sizeof *world);
        world->seed = seed * UINT64_C(0x9e3779b97f4a7c15);
        world->now_us = 1000000;
        world->objects = calloc(OBJECTS, sizeof *world->objects);
        world->hints = calloc(1, sizeof *world->hints);
        for (uint32_t i = 0; i < PW_HINT_BUCKETS; i += 2)
                world->hints->waiters[i] = 1;
        world->futures = (struct pw_map){ aligned_alloc(4096, layout.bytes), layout.bytes, true };
        memset(world->futures.base, 0, layout.bytes);
        world->store = pw_store_new(&(struct pw_store_params){
                .host = 0, .epoch = 3, .capacity_bytes = PW_MIB + capacities[seed % 4], .reserved_bytes = PW_MIB });
        world->next_segment = FUTURES_SEGMENT;
        assert_int_equal(pw_store_segment_add(world->store,
                                              &(struct pw_store_segment_params){ .segment = FUTURES_SEGMENT,
                                                                                 .layout = layout,
                                                                                 .tenant = "ann",
                                                                                 .map = world->futures,
                                                                                 .hints = world->hints },
                                              NULL),
                         PW_OK);
        for (uint32_t i = 0; i < CLIENTS; i++)
                model_open_client(world, &world->clients[i]);
}
