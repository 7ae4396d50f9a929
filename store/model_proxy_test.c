/* Proxies in the model: any client's thread stands in for the daemon, which makes them, hears of them, and has their replicas. */
#include "store/model_test.h"
#include "store/proxy.h"

static struct pw_cell cell_of(const struct object *object)
{
        return pw_cell_object(0, object->segment, object->slot, object->generation);
}

static void make(struct world *world, struct client *client)
{
        struct pw_proxy_slot slot = { .session = client->session };
        struct pw_object *known;
        uint32_t number;

        if (client->token || client->held_count == HELD || !model_take_slot(world, client, ROW_FUTURES, &number))
                return;
        model_read_ring(world, client);
        slot.number = number + 1;
        slot.cell = cell_of(&world->objects[number]);
        slot.home = pw_id_make(3, 1, 7, number, 1);
        assert_int_equal(pw_store_proxy(world->store, &slot, &known, NULL), PW_OK);
        assert_true(pw_id_equal(pw_object_id(world->store, known), slot.home));
        world->objects[number].payload = 1;
        world->objects[number].proxy = true;
        world->proxies++;
        model_hold_it(client, number, false);
}

/* Its bytes are those of what the client has put, if that has such a room. */
static void back(struct world *world, struct client *client, struct pw_object *proxy)
{
        struct pw_object *replica;
        struct pw_object_room room;
        uint32_t number;
        uint64_t old;

        if (client->token || !model_take_slot(world, client, 1, &number))
                return;
        replica = pw_store_find(world->store, 0, client->segment, world->objects[number].slot, world->objects[number].generation);
        assert_non_null(replica);
        room = pw_object_room(world->store, replica);
        pw_entry_fill(world->objects[number].entry,
                      &(struct pw_described){ .bytes = 1000, .room_offset = room.offset, .room_segment = client->segment }, NULL);
        assert_true(pw_entry_decide(world->objects[number].entry, replica->generation, PW_OK, 0, 1, &old));
        assert_int_equal(pw_store_proxy_back(world->store, proxy, replica, world->now_us, NULL), PW_OK);
        model_publish(client, number, false);
        world->backed++;
}

static void hear(struct world *world, struct client *client, struct pw_object *proxy)
{
        static const struct pw_value_type type = { PW_OPAQUE, { 1, { 1000 } } };
        enum pw_entry_state state = pw_word_state(pw_entry_load(pw_object_entry(world->store, proxy)));
        bool fails = model_dice(world, 8) == 0;
        struct pw_decision decision = { .status = fails ? PW_FAILED : PW_OK, .text = "it failed there", .bytes = 1000,
                                        .elsewhere = fails ? NULL : &type };

        if (state == PW_ENTRY_PENDING)
                pw_store_decide(world->store, proxy, &decision, world->now_us);
        else if (pw_store_proxy_elsewhere(world->store, proxy) && fails)
                pw_store_lose(world->store, proxy, PW_HOST_LOST, "h3 is lost", world->now_us);
        else if (pw_store_proxy_elsewhere(world->store, proxy))
                back(world, client, proxy);
}

void model_proxy(struct world *world, struct client *client)
{
        uint32_t number = model_dice(world, world->object_count + 1);

        for (uint32_t i = 0; i < 100 && i < world->object_count; i++, number++) {
                const struct object *object = &world->objects[number % world->object_count];
                bool lives = object->proxy && object->payload == 1;
                struct pw_object *proxy = lives ? pw_store_proxy_find(world->store, cell_of(object)) : NULL;

                if (!proxy)
                        continue;
                assert_int_equal(proxy->run, number % world->object_count + 1);
                hear(world, client, proxy);
                break;
        }
        if (model_dice(world, 2))
                make(world, client);
}

void model_proxy_freed(struct world *world, uint64_t number)
{
        struct object *object = &world->objects[number - 1];

        assert_true(object->proxy);
        assert_int_equal(object->payload, 1);
        assert_null(pw_store_proxy_find(world->store, cell_of(object)));
        object->payload = 2;
        for (uint32_t c = 0; c < CLIENTS; c++)
                for (uint32_t i = 0; world->clients[c].alive && i < world->clients[c].held_count; i++)
                        if (world->clients[c].held[i].object == number - 1)
                                fail_msg("proxy %x is freed, but a client holds it", object->slot);
}
