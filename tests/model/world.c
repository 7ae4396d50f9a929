/* The daemon's loop and the clients' session, as far as the models need them, around the product's own sources. */
#include "tests/model/world.h"

#include "daemon/client/client.h"
#include "daemon/client/lane.h"
#include "daemon/client/scan.h"
#include "daemon/client/observer.h"
#include "daemon/effect.h"
#include "daemon/loop/turn.h"
#include "store/object.h"
#include "tests/model/runs.h"

#include <sys/random.h>

struct world world;
static uint64_t seen_words[WORLD_CLIENTS + 1][WORLD_SLOTS]; /* of shared entries, after the last step; the last ones are futures */
static struct pw_entry *shared_entries[WORLD_CLIENTS + 1][WORLD_SLOTS];

/* What is secret is in the daemon's state: the same in each execution, so that states are known again. */
ssize_t getrandom(void *data, size_t bytes, unsigned flags)
{
        (void)flags;
        memset(data, 1, bytes);
        return (ssize_t)bytes;
}

/* --- the daemon: one look at everything that epoll would tell, then turns ------------------------------------------------- */

/* It looks at all of it each time, whatever it finds: each of these may be what it waits for. */
static bool anything_told(void *context)
{
        uint32_t told = 0;

        (void)context;
        for (uint32_t i = 0; i < world.client_count; i++) {
                struct world_client *client = &world.clients[i];
                told |= world_peek(&client->socket) | (world_peek(&client->asked) ^ world_peek(&client->answered));
                told |= world_peek(&client->hung_up) & !client->session.ended;
                told |= model_dead((int)i) & !client->noticed;
        }
        return told;
}

struct told { uint32_t came, asked, hung_up; bool died; };

/* As for daemon/client/input.c and daemon/client/process.c: what it published before it said or did that is read first, in
 * parts. */
static bool is_read(struct world_client *client, uint64_t *until)
{
        if (!*until)
                *until = pw_lanes_pass(&client->session);
        if (!pw_lanes_read(&client->session, *until)) {
                world.daemon.loop.more = true;
                return false;
        }
        *until = 0;
        return true;
}

static void poll_one(uint32_t i, struct told told)
{
        struct world_client *client = &world.clients[i];

        client->came = told.came;
        if (told.came)
                pw_session_speaks(&client->session);
        if (told.died && is_read(client, &client->until.died)) {
                client->noticed = true;
                if (client->session.ended)
                        pw_store_session_dead(world.daemon.store, client->session.number, pw_now_us());
                else
                        pw_session_end(&client->session, NULL);
                world.daemon.loop.more = true;
        } else if (!told.died && told.hung_up && !client->session.ended && is_read(client, &client->until.hung_up)) {
                pw_session_end(&client->session, NULL);
        }
        if (told.asked != client->answered && is_read(client, &client->until.asked)) {
                if (client->request && !client->session.ended)
                        client->request(&client->session);
                client->request = NULL;
                atomic_store(&client->answered, told.asked);
        }
}

static void poll_all(void)
{
        struct told told[WORLD_CLIENTS];

        model_point(&world.clients[0].socket); /* what the kernel knows, in one step */
        for (uint32_t i = 0; i < world.client_count; i++) {
                struct world_client *client = &world.clients[i];
                told[i] = (struct told){ world_peek(&client->socket), world_peek(&client->asked), world_peek(&client->hung_up),
                                         model_dead((int)i) && !client->noticed };
                if (told[i].came)
                        model_wrote(&client->socket);
                *(volatile uint32_t *)&client->socket = WORLD_NOTHING;
                model_read(&client->socket, (uint64_t)told[i].asked << 4 | told[i].came << 2 | told[i].hung_up << 1 | told[i].died);
        }
        for (uint32_t i = 0; i < world.client_count; i++)
                poll_one(i, told[i]);
}

static void serve(void *context)
{
        struct pw_daemon *daemon = context;

        for (;;) {
                model_settle(1, NULL, 0);
                poll_all();
                if (pw_turn(daemon))
                        continue;
                if (pw_turn_may_sleep(daemon))
                        model_wait(anything_told, NULL);
        }
}

/* --- building it ---------------------------------------------------------------------------------------------------------- */

static void open_session(uint32_t i)
{
        struct world_client *client = &world.clients[i];
        struct pw_dsession *session = &client->session;
        uint64_t control_bytes = PW_CONTROL_RINGS_OFFSET + 512;
        struct pw_segment_layout layout = pw_segment_layout(PW_SEGMENT_CLIENT, WORLD_SLOTS, WORLD_ROOMS_BYTES);

        client->control = model_alloc(control_bytes);
        client->segment = (struct pw_client_segment){ 10 * (i + 1), PW_SEGMENT_CLIENT, WORLD_SLOTS, layout.room_offset,
                                               { model_alloc(layout.bytes), layout.bytes, true } };
        *session = (struct pw_dsession){ .daemon = &world.daemon, .number = i + 1, .fd = (int)i + 1, .role = PW_ROLE_CLIENT,
                                         .tenant = &world.tenant,
                                         .control = client->control, .heard = true };
        pw_list_init(&session->of_ended);
        pw_list_init(&session->of_scan);
        pw_list_init(&session->of_speakers);
        client->control->lane_count = 1;
        pw_table_put(&world.daemon.registry.sessions, session->number, session);
        model_must(pw_store_session_open(world.daemon.store, &(struct pw_store_session_params){ .session = i + 1, .tenant = "ann",
                           .client = "model", .control = client->control, .control_bytes = control_bytes }, NULL) == PW_OK &&
                   pw_store_segment_add(world.daemon.store, &(struct pw_store_segment_params){ .segment = client->segment.number,
                           .layout = layout, .tenant = "ann", .session = i + 1, .map = client->segment.map,
                           .hints = world.tenant.hints }, NULL) == PW_OK, "a session opens");
        model_must(pw_lanes_drain(session) == 0 && session->lane_count == 1, "its lane is known before anything happens");
}

static void open_library(uint32_t i)
{
        struct world_client *client = &world.clients[i];

        client->library = (struct pw_session){ .life = &world.life, .hints = world.tenant.hints, .own = &client->segment,
                                               .control = client->control, .connection = &client->connection,
                                               .host_capacity = WORLD_ROOMS_BYTES, .epoch = 7 };
        client->connection.socket.fd = (int)i + 1;
        pw_list_init(&client->connection.soon);
        model_alloc_for((int)i + 1);
        client->lane = model_alloc(sizeof *client->lane);
        client->lane->session = &client->library;
        client->lane->shared = &client->control->lanes[0];
        client->lane->writer.ring = &client->lane->shared->ring;
        pw_future_free(pw_future_alloc(client->lane), client->lane); /* so that addresses do not depend on who is first */
        model_alloc_for(-1);
}

/* Of the tenant; the daemon writes it. */
static void open_futures(void)
{
        struct pw_segment_layout layout = pw_segment_layout(PW_SEGMENT_CLIENT, WORLD_SLOTS, WORLD_ROOMS_BYTES); /* no names */

        layout.kind = PW_SEGMENT_FUTURES;
        world.futures = (struct pw_client_segment){ WORLD_FUTURES, PW_SEGMENT_FUTURES, WORLD_SLOTS, layout.room_offset,
                                             { model_alloc(layout.bytes), layout.bytes, true } };
        model_must(pw_store_segment_add(world.daemon.store,
                                        &(struct pw_store_segment_params){ .segment = WORLD_FUTURES, .layout = layout,
                           .tenant = "ann", .map = world.futures.map, .hints = world.tenant.hints }, NULL) == PW_OK,
                           "futures have a segment");
}

static void share(const struct world_client *client)
{
        const struct pw_ring *ring = &client->control->lanes[0].ring;

        model_share(&client->socket, sizeof client->socket);
        model_share(&client->hung_up, sizeof client->hung_up);
        model_share(&client->asked, sizeof client->asked + sizeof client->answered);
        model_share_plain(&client->reply, sizeof client->reply, &client->answered);
        model_share(&ring->tail, sizeof ring->tail);
        model_share(&ring->watch, sizeof ring->watch);
        model_share(&ring->head, sizeof ring->head);
        model_share(client->control->lanes[0].notes, sizeof client->control->lanes[0].notes);
        model_share_plain(ring->cells, sizeof ring->cells, &ring->tail);
}

void world_begin(uint32_t clients)
{
        memset(&world, 0, sizeof world);
        memset(shared_entries, 0, sizeof shared_entries);
        model_state(&world.daemon, sizeof world.daemon);
        model_state(&world.tenant, sizeof world.tenant);
        world.life = PW_LIFE_ALIVE;
        world.client_count = clients;
        world.tenant.name = (char *)(uintptr_t)"ann";
        world.tenant.hints = model_alloc(sizeof *world.tenant.hints);
        model_share(world.tenant.hints->changes, sizeof world.tenant.hints->changes);
        runs_begin();
        world.daemon.store = pw_store_new(&(struct pw_store_params){ .epoch = 7, .capacity_bytes = WORLD_CAPACITY_BYTES });
        world.daemon.loop.settle = pw_effects;
        world.daemon.clients.observer = &world_observer;
        pw_loop_init(&world.daemon.loop);
        pw_clients_init(&world.daemon.clients);
        pw_memory_init(&world.daemon.memory);
        pw_work_init(&world.daemon.work);
        pw_inspection_init(&world.daemon.inspection);
        pw_scans_tenant_init(&world.tenant);
        pw_list_init(&world.tenant.submitted);
        pw_list_init(&world.tenant.batch);
        pw_speakers_init(&world.tenant.speakers);
        model_thread("daemon", -1, true, serve, &world.daemon);
        for (uint32_t i = 0; i < world.client_count; i++) {
                open_session(i);
                open_library(i);
                share(&world.clients[i]);
                model_state(&world.clients[i].session, sizeof world.clients[i].session);
                model_state(&world.clients[i].noticed, sizeof world.clients[i].noticed);
                model_state(&world.clients[i].until, sizeof world.clients[i].until);
        }
        open_futures();
        for (uint32_t i = 1; i <= clients; i++)
                model_must(pw_store_reader_add(world.daemon.store, WORLD_FUTURES, i, NULL) == PW_OK, "futures are asked for");
        /* Everybody has asked for everybody's segment. */
        for (uint32_t i = 0; i < world.client_count * world.client_count; i++)
                model_must(pw_store_reader_add(world.daemon.store, world.clients[i / clients].segment.number, i % clients + 1,
                                               NULL) == PW_OK,
                           "a segment is asked for");
}

static struct pw_store_grant granted(const struct pw_room_request *ask)
{
        struct pw_store *store = world.daemon.store;
        struct pw_store_actions *actions = pw_store_actions(store);
        struct pw_store_grant grant = { 0 };

        pw_store_room_request(store, ask);
        for (uint32_t j = 0; j < actions->count; j++) {
                if (actions->items[j].kind == PW_STORE_POPULATE)
                        pw_store_populated(store, actions->items[j].token, PW_OK, 0);
                if (actions->items[j].kind == PW_STORE_GRANT)
                        grant = actions->items[j].grant;
        }
        pw_store_actions_clear(actions);
        model_must(grant.slot_count, "room is granted");
        return grant;
}

void world_grant(uint32_t i, uint64_t room_bytes, uint32_t count)
{
        struct world_client *client = &world.clients[i];
        uint32_t row = room_bytes ? pw_size_class(room_bytes) : PW_ROW_INLINE;
        Pathways__Wire__RoomGrant wire = PATHWAYS__WIRE__ROOM_GRANT__INIT;
        struct pw_grant_bounds bounds = { (uint8_t *)client->control, PW_CONTROL_RINGS_OFFSET + 512, WORLD_SLOTS,
                                          client->segment.map.bytes };
        struct pw_store_grant grant = granted(&(struct pw_room_request){ .token = ++world.token, .session = i + 1, .count = count,
                .inline_only = !room_bytes, .size_class = room_bytes ? row : 0, .need_bytes = room_bytes,
                .deadline_us = UINT64_MAX });

        wire.extent = grant.extent;
        wire.first_slot = grant.first_slot;
        wire.slot_count = grant.slot_count;
        wire.room_offset = grant.room_offset;
        wire.room_bytes = grant.room_bytes;
        wire.return_ring = grant.return_ring;
        model_must(pw_row_add(&client->lane->rows[row], &wire, &bounds, NULL) == PW_OK, "room is granted");
        model_share(&client->lane->rows[row].current->returned.ring->tail, sizeof(uint32_t));
        model_share(client->lane->rows[row].current->returned.ring->slots, count * sizeof(uint32_t));
}

uint32_t world_grant_futures(uint32_t i, uint32_t count)
{
        return granted(&(struct pw_room_request){ .token = ++world.token, .session = i + 1, .count = count, .futures = true,
                                                  .deadline_us = UINT64_MAX }).first_slot;
}

struct pw_future *world_future(uint32_t i, uint32_t slot)
{
        struct pw_future *future = pw_future_alloc(world.clients[i].lane);

        pw_future_fill(future, &world.futures, slot, pw_word_generation(pw_map_entry(&world.futures.map, slot)->word));
        return future;
}

int world_client(uint32_t i, const char *name, void (*run)(void *))
{
        return model_thread(name, (int)i, false, run, &world.clients[i]);
}

int world_thread(uint32_t i, const char *name, void (*run)(void *))
{
        struct pw_connection *connection = &world.clients[i].connection;

        model_share(&connection->wanted, sizeof connection->wanted);
        model_share(&connection->send_lock, sizeof(uint32_t));
        return world_client(i, name, run);
}

static struct pw_entry *name_entry(uint32_t i, const struct pw_client_segment *segment, uint32_t slot)
{
        struct pw_entry *entry = pw_map_entry(&segment->map, slot);
        uint32_t bucket = pw_hint_bucket(segment->number, slot);

        model_share(entry, sizeof *entry);
        model_check_sees(&entry->word, sizeof entry->word);
        if (!(world.buckets >> bucket & 1))
                model_share(&world.tenant.hints->waiters[bucket], sizeof(uint32_t));
        world.buckets |= 1u << bucket;
        shared_entries[i][slot] = entry;
        seen_words[i][slot] = entry->word;
        return entry;
}

struct pw_entry *world_entry(uint32_t i, uint32_t slot) { return name_entry(i, &world.clients[i].segment, slot); }
struct pw_entry *world_future_entry(uint32_t slot) { return name_entry(WORLD_CLIENTS, &world.futures, slot); }

struct pw_future *world_put(uint32_t i, uint64_t bytes, bool sealed)
{
        static const uint8_t zeros[WORLD_ROOMS_BYTES];
        struct world_client *client = &world.clients[i];
        struct pw_future *future = NULL;
        void *data;

        if (sealed)
                model_must(pw_put(&client->library, zeros, bytes, NULL, &future, NULL) == PW_OK, "a put before the start");
        else
                model_must(pw_create(&client->library, bytes, NULL, &future, &data, NULL) == PW_OK, "a create before the start");
        return future;
}

struct pw_future *world_share(uint32_t i, const struct pw_future *future)
{
        struct pw_future *other = pw_future_alloc(world.clients[i].lane);

        model_must(pw_store_ref(world.daemon.store, i + 1,
                                pw_cell_object(PW_RING_REF, future->segment, future->slot, future->generation),
                                0) == PW_OK, "a reference before the start");
        pw_future_fill(other, world_segment(future->segment), future->slot, future->generation);
        return other;
}

void world_hang_up(uint32_t i) { atomic_store(&world.clients[i].hung_up, 1); }
void world_settle(uint32_t i, uint32_t where)
{
        struct pw_client_lane *lane = world.clients[i].lane;
        struct { struct pw_client_lane lane; struct pw_extent extent; } kept;

        memset(&kept, 0, sizeof kept);
        kept.lane = *lane;
        kept.extent = lane->rows[PW_ROW_INLINE].current ? *lane->rows[PW_ROW_INLINE].current : (struct pw_extent){ 0 };
        model_settle(where, &kept, sizeof kept);
}

void world_press(uint32_t i) { pw_lane_publish(world.clients[i].lane, true); }

/* --- what must hold --------------------------------------------------------------------------------------------------------- */

/* The table of plane/entry.h: may the word go from one to the other in one step? */
static bool lawful(uint64_t from, uint64_t to)
{
        enum pw_entry_state old = pw_word_state(from), new = pw_word_state(to);
        bool next = pw_word_generation(to) == pw_word_generation(from) + 1;

        if (old == PW_ENTRY_FREE)
                return new == PW_ENTRY_PENDING ? next : new == PW_ENTRY_TAKEN;
        if (pw_word_generation(from) != pw_word_generation(to))
                return false;
        if (old == new && old == PW_ENTRY_PENDING) /* flags; none is lost that the daemon set */
                return (pw_word_flags(from) & ~pw_word_flags(to)) == 0;
        if (old == new) /* given away, or taken back; a value that moves */
                return ((from ^ to) & ~(uint64_t)(PW_ENTRY_DONATED | (to & PW_ENTRY_SHARDED ? PW_ENTRY_MOVING : 0))) == 0;
        switch (old) {
        case PW_ENTRY_TAKEN:
                return new == PW_ENTRY_FREE;
        case PW_ENTRY_PENDING:
                return (new == PW_ENTRY_READY || new == PW_ENTRY_ERROR) && (pw_word_flags(from) & ~pw_word_flags(to)) == 0;
        case PW_ENTRY_READY:
                return new == PW_ENTRY_LOST || new == PW_ENTRY_CLOSING;
        case PW_ENTRY_ERROR:
        case PW_ENTRY_LOST:
                return new == PW_ENTRY_CLOSING;
        default:
                return new != PW_ENTRY_PENDING;
        }
}

void world_step(void)
{
        for (uint32_t i = 0; i <= WORLD_CLIENTS; i++)
                for (uint32_t j = 0; j < WORLD_SLOTS; j++) {
                        uint64_t word = shared_entries[i][j] ? shared_entries[i][j]->word : 0;
                        if (!shared_entries[i][j] || word == seen_words[i][j])
                                continue;
                        model_must(lawful(seen_words[i][j], word), "an entry's word changed as no row of its table says");
                        seen_words[i][j] = word;
                }
}

static void found(void *context, const char *where, const char *problem)
{
        (void)context, (void)where;
        model_must(false, problem);
}

void world_end(void)
{
        struct pw_memory_terms terms;

        model_must(!anything_told(NULL), "the daemon sleeps though somebody rang");
        pw_store_check(world.daemon.store, found, NULL);
        pw_store_terms(world.daemon.store, &terms);
        model_must(terms.unaccounted == 0, "bytes that nobody accounts for");
}

static bool count_row(void *context, const struct pw_object_row *row)
{
        (void)row;
        ++*(uint32_t *)context;
        return true;
}

uint32_t world_objects(void)
{
        uint32_t count = 0;

        pw_store_each_object(world.daemon.store, count_row, &count);
        return count;
}
