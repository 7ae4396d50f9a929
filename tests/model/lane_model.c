/* The lane: records, the watch word, the doorbell. What is published as work is read; a DROP waits for whom it may wait for; a
 * ring that is full, and that wraps. */
#include "tests/model/models.h"
#include "tests/model/world.h"

static struct pw_future *futures[WORLD_CLIENTS];
static uint32_t records;

static void work(void *context)
{
        struct world_client *client = context;

        /* An object that is not there: the daemon ignores the record, but reads it. */
        for (uint32_t i = 0; i < records; i++) {
                if (pw_lane_await_ring(client->lane, 1, NULL) != PW_OK)
                        return;
                pw_ring_write(&client->lane->writer, pw_cell_object(PW_RING_REF, 10, 1, 99));
                pw_lane_publish(client->lane, true);
                world_settle((uint32_t)(client - world.clients), i);
        }
}

static void all_read(void)
{
        world_end();
        for (uint32_t i = 0; i < world.client_count; i++)
                model_must(model_dead((int)i) || world.clients[i].session.lanes[0]->reader.head == records,
                           "a record that was published as work is not read");
}

static void work_begin(void)
{
        records = 2;
        world_begin(2);
        world_client(0, "first", work);
        world_client(1, "second", work);
}
const struct model lane_work_model = { "work", "two lanes publish work while the daemon goes to sleep", work_begin, world_step,
                                       all_read, 1, NULL };

/* A thread that asks for something else meanwhile: its frame fills the socket, and it has the socket when the other rings. */
static void send_frame(void *context)
{
        const struct world_client *client = context;

        world_frame((uint32_t)(client - world.clients));
}

static void bell_begin(void)
{
        records = 2;
        world_begin(1);
        world_client(0, "ringer", work);
        world_thread(0, "asker", send_frame);
}
const struct model lane_bell_model = { "bell", "a thread rings while another sends a frame, and the socket is full at times",
                                       bell_begin, world_step, all_read, 0, NULL };

static void full_begin(void)
{
        records = PW_RING_CELLS + 1;
        world_begin(1);
        world_client(0, "client", work);
}
const struct model lane_full_model = { "full", "a ring that fills, and wraps", full_begin, world_step, all_read, 1, NULL };

/* A client drops what another's put waits for: the daemon is hungry. */
static void drop(void *context)
{
        struct world_client *client = context;

        pw_unref(futures[client - world.clients]);
}

static void ask(void *context)
{
        struct world_client *client = context;

        /* The request comes by the socket; the daemon finds no room and is hungry from then on. */
        atomic_store(&client->socket, WORLD_FRAME);
}

static void drop_begin(void)
{
        world_begin(2);
        world_grant(0, 4096, 2);
        futures[0] = world_put(0, 4096, true);
        world_put(0, 4096, true);
        world_entry(0, 0);
        world_client(0, "owner", drop);
        world_client(1, "asker", ask);
        /* More than there is, with time to wait: it stays in the queue, and the store drains. */
        pw_store_room_request(world.daemon.store,
                              &(struct pw_room_request){ .token = 100, .session = 2, .size_class = pw_size_class(4096),
                              .count = 2, .need_bytes = 4096, .deadline_us = UINT64_MAX });
        model_must(pw_store_waits_for_room(world.daemon.store, 0), "the asker queues");
}

static void dropped(void)
{
        world_end();
        model_must(!pw_store_waits_for_room(world.daemon.store, 0), "a DROP lies unread while somebody queues for room");
}
const struct model lane_drop_model = { "hungry", "a DROP while somebody queues for room", drop_begin, world_step,
                                       dropped, 1, NULL };
