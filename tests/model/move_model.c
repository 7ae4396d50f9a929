/* Moves: a result gets the place of a copy, under its id, while another takes it by id, or reads it already. Whoever reads it sees
 * one place from beginning to end, and its room is there as long; each room goes back once. */
#include "tests/model/models.h"
#include "tests/model/runs.h"

#include "daemon/client/object/move.h"
#include "store/object.h"

uint8_t *world_futures_base(void);

static struct {
        struct pw_future *moved, *copy, *shared; /* the mover's handles, and the reader's own */
        struct pw_id id, copy_id;
        uint64_t list; /* where the reader found the list of shards, and what it found */
        struct pw_shard_place shard;
        bool reads;
        bool to_host; /* the copy is a put, else another result */
        uint32_t slot; /* of the result that is read: 0 moves, 1 is the copy */
} at;

uint8_t *world_futures_base(void) { return world.futures.map.base; }

/* --- the mover ---------------------------------------------------------------------------------------------------------------- */

static void move(struct pw_dsession *session)
{
        Pathways__Wire__Move request = PATHWAYS__WIRE__MOVE__INIT;
        Pathways__Wire__ObjectId object = PATHWAYS__WIRE__OBJECT_ID__INIT, with = PATHWAYS__WIRE__OBJECT_ID__INIT;

        object.place = at.id.place;
        object.epoch = at.id.epoch;
        object.generation = at.id.generation;
        with.place = at.copy_id.place;
        with.epoch = at.copy_id.epoch;
        with.generation = at.copy_id.generation;
        request.object = &object;
        request.with = &with;
        pw_move_request(session, 1, &request);
}

/* As the end of pw_relocate(): whatever the daemon says, the copy is given back. The mover keeps the value. */
static void relocate(void *context)
{
        enum pw_status status = world_ask(0, move);

        (void)context;
        model_must(status == PW_OK || status == PW_BUSY, "a move is refused for no reason");
        world_settle(0, 1);
        pw_unref(at.copy);
        world_press(0);
        world_settle(0, 2);
}

/* --- the reader --------------------------------------------------------------------------------------------------------------- */

static const struct pw_shard_place *shard_at(uint64_t list)
{
        return ((const struct pw_shard_list *)(world.futures.map.base + list))->shards;
}

static void read_for_a_while(struct world_client *client, struct pw_future *future)
{
        at.list = future->entry->room_offset;
        at.shard = *shard_at(at.list);
        at.reads = true;
        atomic_load(&client->socket);
        at.reads = false;
        at.list = 0;
        memset(&at.shard, 0, sizeof at.shard);
        world_settle(1, 1);
        pw_unref(future);
        world_press(1);
        world_settle(1, 2);
}

static void open_moved(void *context)
{
        struct world_client *client = context;
        struct pw_future *future;

        if (pw_open(&client->library, at.slot ? at.copy_id : at.id, &future, NULL) == PW_OK)
                read_for_a_while(client, future);
        else
                world_press(1);
}

static void read_shared(void *context) { read_for_a_while(context, at.shared); }

/* --- what must hold ----------------------------------------------------------------------------------------------------------- */

enum reader { TAKES_IT, TAKES_THE_COPY, HOLDS_IT };

static void begin_move(bool to_host, enum reader reader)
{
        struct pw_entry *entry;

        world_begin(2);
        memset(&at, 0, sizeof at);
        at.to_host = to_host;
        world_grant_futures(0, 2);
        runs_result(0, 0);
        at.moved = world_future(0, 0);
        if (to_host) {
                world_grant(0, 0, 1);
                at.copy = world_put(0, 8, true);
                world_entry(0, 0);
        } else {
                runs_result(0, 1);
                at.copy = world_future(0, 1);
                world_future_entry(1);
        }
        if (reader == HOLDS_IT)
                at.shared = world_share(1, at.moved);
        at.id = pw_future_id(at.moved);
        at.copy_id = pw_future_id(at.copy);
        world_future_entry(0);
        at.slot = reader == TAKES_THE_COPY;
        entry = pw_map_entry(&world.futures.map, at.slot);
        model_check_sees(&entry->room_offset, sizeof entry->room_offset);
        model_share_plain(&at, sizeof at, NULL);
        world_client(0, "mover", relocate);
        world_client(1, "reader", reader == HOLDS_IT ? read_shared : open_moved);
}

static bool room_is_there(void)
{
        const struct pw_entry *put = pw_map_entry(&world.clients[0].segment.map, 0);

        return at.shard.device.device == PW_SHARD_IN_HOST ? pw_word_state(put->word) == PW_ENTRY_READY :
                !runs_seen.freed[at.shard.offset];
}

static void one_place(void)
{
        const struct pw_entry *entry = pw_map_entry(&world.futures.map, at.slot);

        world_step();
        if (!at.reads || model_dead(1))
                return;
        model_must(entry->room_offset == at.list && !memcmp(shard_at(at.list), &at.shard, sizeof at.shard),
                   "a value moved under its reader");
        model_must(room_is_there(), "a room went back under its reader");
}

/* One room has the value, another went back; with the mover's process all of it goes. */
static void one_left(void)
{
        const struct pw_entry *entry = pw_map_entry(&world.futures.map, 0);
        uint32_t freed = runs_seen.freed[0] + runs_seen.freed[1];
        bool in_host;

        world_end();
        if (model_dead(0)) {
                model_must(world_objects() == 0, "a value stays that nobody holds");
                model_must(runs_seen.freed[0] == 1 && runs_seen.freed[1] == !at.to_host,
                           "the room of a value did not go back once");
                return;
        }
        at.list = entry->room_offset;
        at.shard = *shard_at(at.list);
        in_host = at.shard.device.device == PW_SHARD_IN_HOST;
        model_must(pw_word_state(entry->word) == PW_ENTRY_READY && room_is_there(), "a value is gone that its mover holds");
        model_must(world_objects() == 1u + in_host && freed == (at.to_host ? in_host : 1), "not one room of two went back");
}

static void move_begin(void) { begin_move(true, TAKES_IT); }
const struct model move_model = { "move", "a value moves to the host while another takes it by id", move_begin, one_place,
                                  one_left, 1, NULL };
static void exchange_begin(void) { begin_move(false, TAKES_IT); }
const struct model exchange_model = { "exchange", "a value moves between devices while another takes it by id", exchange_begin,
                                      one_place, one_left, 1, NULL };
static void exchange_copy_begin(void) { begin_move(false, TAKES_THE_COPY); }
const struct model exchange_copy_model = { "copied", "the same while another takes the copy by id", exchange_copy_begin, one_place,
                                           one_left, 1, NULL };
static void move_shared_begin(void) { begin_move(true, HOLDS_IT); }
const struct model move_shared_model = { "held", "a value is to move while another reads and drops it",
                                         move_shared_begin, one_place, one_left, 1, NULL };
