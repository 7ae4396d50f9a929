/* The other side of a session, for unit tests. One thread owns everything; the calls below wake it and wait for an answer. */
#include "libclient/fake_daemon.h"

#include "base/id.h"
#include "base/size.h"
#include "libclient/connection.h"
#include "plane/control.h"
#include "plane/hint.h"
#include "plane/segment.h"

#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#define OWN_SEGMENT 7u
#define FUTURES_SEGMENT 3u
#define SLOTS (1u << 21)
#define EXTENTS 4096u
#define HELD_MAX 4096u

enum ask { ASK_NONE, ASK_RELEASE, ASK_LISTEN, ASK_DIE, ASK_SETTLE, ASK_STOP };

struct extent { uint32_t first_slot, slot_count; struct pw_return_writer returns; bool futures; uint32_t lane, size_class; uint64_t back; };

struct memory { int fd, client_fd; struct pw_map map; };

struct fake_daemon {
        struct fake_params params;
        struct fake_counts counts;
        int fd, client_fd, ask_fd, done_fd;
        pthread_t thread;
        _Atomic int ask;
        struct memory own, futures, hints;
        struct pw_control *control;
        struct pw_ring_reader readers[PW_LANES_MAX];
        struct extent extents[EXTENTS];
        uint32_t extent_count;
        uint32_t *extent_of[2];  /* by slot: own, futures */
        uint16_t *more_refs[2];
        uint32_t next_slot[2];
        uint64_t next_room, rooms_end, next_ring;
        uint64_t waiting_id;     /* of a RoomRequest that has no room yet; 0: none */
        uint64_t waiting_bytes;
        uint32_t waiting_lane, waiting_class;
        int64_t waiting_until_ns;
        struct { uint32_t slot, generation; } held[HELD_MAX];
        uint32_t held_count;
        struct { char name[64]; Pathways__Wire__ObjectId object; bool bound; } name;
        struct pw_decoder decoder;
        bool deaf, stopped;
};

static void memory_make(struct memory *memory, const char *name, uint64_t bytes, bool client_writes)
{
        enum pw_status status = pw_memfd_create(name, bytes, &memory->fd, NULL);
        assert(status == PW_OK);
        status = pw_map_fd(memory->fd, bytes, true, &memory->map, NULL);
        assert(status == PW_OK);
        memory->client_fd = memory->fd;
        if (!client_writes)
                status = pw_memfd_readonly(memory->fd, &memory->client_fd, NULL);
        assert(status == PW_OK);
        (void)status;
}

static void memory_done(struct memory *memory)
{
        pw_unmap(&memory->map);
        if (memory->client_fd != memory->fd)
                close(memory->client_fd);
        close(memory->fd);
}

static void reply_send(struct fake_daemon *fake, uint64_t id, Pathways__Wire__Reply *reply, const int *fds, uint32_t fd_count)
{
        uint8_t message[4096];
        reply->id = id;
        size_t bytes = pathways__wire__reply__get_packed_size(reply);
        assert(bytes <= sizeof message);
        pathways__wire__reply__pack(reply, message);
        (void)!pw_frame_send(fake->fd, PW_FRAME_REPLY, message, (uint32_t)bytes, fds, fd_count, NULL);
}

static void reply_status(struct fake_daemon *fake, uint64_t id, enum pw_status status, const char *text)
{
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        reply.status = status;
        reply.text = (char *)(uintptr_t)text;
        reply_send(fake, id, &reply, NULL, 0);
}

/* --- handshake, segments -------------------------------------------------------------------------------------------------- */

static Pathways__Wire__SegmentInfo info_of(uint32_t number, enum pw_segment_kind kind, const struct memory *memory)
{
        Pathways__Wire__SegmentInfo info = PATHWAYS__WIRE__SEGMENT_INFO__INIT;
        info.segment = number;
        info.kind = kind;
        info.slot_count = SLOTS;
        info.room_offset = (uint64_t)SLOTS * sizeof(struct pw_entry);
        info.bytes = memory->map.bytes;
        return info;
}

static void on_hello(struct fake_daemon *fake, uint64_t id)
{
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        Pathways__Wire__Welcome welcome = PATHWAYS__WIRE__WELCOME__INIT;
        Pathways__Wire__SegmentInfo own = info_of(OWN_SEGMENT, PW_SEGMENT_CLIENT, &fake->own);
        Pathways__Wire__SegmentInfo futures = info_of(FUTURES_SEGMENT, PW_SEGMENT_FUTURES, &fake->futures);
        welcome.version = PW_WIRE_VERSION;
        welcome.epoch = 3;
        welcome.host_capacity = fake->rooms_end - fake->next_room;
        welcome.own = &own;
        welcome.futures = &futures;
        own.bytes = fake->rooms_end;
        welcome.control_bytes = PW_CONTROL_BYTES;
        welcome.control_offset = fake->rooms_end;
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_WELCOME;
        reply.welcome = &welcome;
        int fds[] = { fake->own.client_fd, fake->futures.client_fd, fake->hints.client_fd };
        reply_send(fake, id, &reply, fds, pw_array_count(fds));
}

static void on_segment(struct fake_daemon *fake, uint64_t id, uint32_t number)
{
        if (number != FUTURES_SEGMENT) {
                reply_status(fake, id, PW_NOT_FOUND, "no such segment");
                return;
        }
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        Pathways__Wire__SegmentInfo info = info_of(number, PW_SEGMENT_FUTURES, &fake->futures);
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_SEGMENT;
        reply.segment = &info;
        reply_send(fake, id, &reply, &fake->futures.client_fd, 1);
}

/* --- rooms ---------------------------------------------------------------------------------------------------------------- */

static struct pw_entry *entry_at(struct fake_daemon *fake, bool futures, uint32_t slot)
{
        return pw_map_entry(futures ? &fake->futures.map : &fake->own.map, slot);
}

static void future_arm(struct fake_daemon *fake, uint32_t slot)
{
        uint32_t generation;
        bool taken = pw_entry_take(entry_at(fake, true, slot), &generation);
        assert(taken);
        (void)taken;
}

static void grant(struct fake_daemon *fake, uint64_t id, const Pathways__Wire__RoomRequest *ask, uint32_t count, uint64_t room_bytes)
{
        assert(fake->extent_count < EXTENTS && fake->next_slot[ask->futures] + count <= SLOTS);
        struct extent *extent = &fake->extents[fake->extent_count];
        *extent = (struct extent){ .first_slot = fake->next_slot[ask->futures], .slot_count = count, .futures = ask->futures,
                                   .lane = ask->lane, .size_class = ask->size_class };
        for (uint32_t i = 0; i < count; i++) {
                fake->extent_of[ask->futures][extent->first_slot + i] = fake->extent_count;
                if (ask->futures)
                        future_arm(fake, extent->first_slot + i);
        }
        extent->returns = pw_return_ring_init((struct pw_return_ring *)(void *)((uint8_t *)fake->control + fake->next_ring), count);
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        Pathways__Wire__RoomGrant room = PATHWAYS__WIRE__ROOM_GRANT__INIT;
        room.extent = fake->extent_count++;
        room.segment = ask->futures ? FUTURES_SEGMENT : OWN_SEGMENT;
        room.first_slot = extent->first_slot;
        room.slot_count = count;
        room.room_offset = fake->next_room;
        room.room_bytes = room_bytes;
        room.return_ring = fake->next_ring;
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_ROOM;
        reply.room = &room;
        fake->next_slot[ask->futures] += count;
        fake->next_room += count * room_bytes;
        fake->next_ring += pw_return_ring_bytes(count);
        fake->counts.grants++;
        reply_send(fake, id, &reply, NULL, 0);
}

/* Have at least `count` rooms of the class come back to the lane since it was last told? */
static bool rooms_came_back(struct fake_daemon *fake, uint32_t lane, uint32_t size_class, uint64_t count)
{
        uint64_t back = 0;
        for (int pass = 0; pass < 2; pass++) {
                for (uint32_t i = 0; i < fake->extent_count; i++) {
                        struct extent *extent = &fake->extents[i];
                        if (extent->futures || extent->lane != lane || extent->size_class != size_class)
                                continue;
                        back += extent->back;
                        if (pass)
                                extent->back = 0;
                }
                if (back < count)
                        return false;
        }
        return true;
}

static void say_look(struct fake_daemon *fake, uint64_t id)
{
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        Pathways__Wire__RoomGrant room = PATHWAYS__WIRE__ROOM_GRANT__INIT;
        room.look = true;
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_ROOM;
        reply.room = &room;
        reply_send(fake, id, &reply, NULL, 0);
}

static void on_room(struct fake_daemon *fake, uint64_t id, const Pathways__Wire__RoomRequest *ask)
{
        uint64_t room_bytes = ask->futures || ask->inline_only ? 0 : pw_class_bytes(ask->size_class);
        uint64_t fits = room_bytes ? (fake->rooms_end - fake->next_room) / room_bytes : ask->count;
        if (room_bytes && rooms_came_back(fake, ask->lane, ask->size_class, ask->count)) {
                say_look(fake, id);
        } else if (fits) {
                grant(fake, id, ask, (uint32_t)pw_min_u64(fits, ask->count), room_bytes);
        } else if (rooms_came_back(fake, ask->lane, ask->size_class, 1)) {
                say_look(fake, id);
        } else {
                fake->waiting_id = id;
                fake->waiting_bytes = ask->room_bytes;
                fake->waiting_lane = ask->lane;
                fake->waiting_class = ask->size_class;
                fake->waiting_until_ns = ask->timeout_us < 0 ? INT64_MAX : pw_now_ns() + ask->timeout_us * 1000;
        }
}

static void serve_waiting(struct fake_daemon *fake)
{
        if (!fake->waiting_id)
                return;
        uint64_t id = fake->waiting_id;
        if (rooms_came_back(fake, fake->waiting_lane, fake->waiting_class, 1)) {
                fake->waiting_id = 0;
                say_look(fake, id);
        } else if (pw_now_ns() >= fake->waiting_until_ns) {
                fake->waiting_id = 0;
                reply_status(fake, id, PW_NO_SPACE, "all of it held by the test itself");
        }
}

/* --- records ---------------------------------------------------------------------------------------------------------------- */

static void object_end(struct fake_daemon *fake, bool futures, uint32_t slot)
{
        struct pw_entry *entry = entry_at(fake, futures, slot);
        struct extent *extent = &fake->extents[fake->extent_of[futures][slot]];
        uint64_t word = pw_entry_load(entry);
        atomic_store(&entry->word, pw_word_make(PW_ENTRY_FREE, 0, pw_word_generation(word), PW_OK));
        if (futures)
                future_arm(fake, slot);
        extent->back++;
        pw_return_give(&extent->returns, slot);
}

static void on_drop(struct fake_daemon *fake, struct pw_cell cell)
{
        bool futures = pw_cell_segment(cell) == FUTURES_SEGMENT;
        uint32_t slot = pw_cell_slot(cell);
        uint64_t word = pw_entry_load(entry_at(fake, futures, slot));
        fake->counts.drops++;
        if (pw_word_generation(word) != pw_cell_generation(cell) || pw_word_state(word) < PW_ENTRY_PENDING)
                fake->counts.dropped_unknown++;
        else if (fake->more_refs[futures][slot])
                fake->more_refs[futures][slot]--;
        else
                object_end(fake, futures, slot);
}

static void on_ref(struct fake_daemon *fake, struct pw_cell cell)
{
        bool futures = pw_cell_segment(cell) == FUTURES_SEGMENT;
        uint64_t word = pw_entry_load(entry_at(fake, futures, pw_cell_slot(cell)));
        fake->counts.refs++;
        if (pw_word_generation(word) == pw_cell_generation(cell) && pw_word_state(word) >= PW_ENTRY_PENDING)
                fake->more_refs[futures][pw_cell_slot(cell)]++;
}

#define SHARED_OFFSET ((uint64_t)SLOTS * sizeof(struct pw_entry)) /* of the shard list or error text of all results */

/* i32 [5] over a mesh of 2: shard 0 holds 1 2 3, shard 1 holds 10 20; partial or broadcast: 1 2 3 4 5 and 10 20 30 40 50. */
static void result_shards(struct fake_daemon *fake, struct pw_entry *entry)
{
        static const int32_t split[2][5] = { { 1, 2, 3 }, { 10, 20 } }, whole[2][5] = { { 1, 2, 3, 4, 5 }, { 10, 20, 30, 40, 50 } };
        struct pw_shard_list *list = (struct pw_shard_list *)(void *)(fake->futures.map.base + SHARED_OFFSET);
        bool is_split = fake->params.sharding.axis[0].lay == PW_LAY_SPLIT;
        *list = (struct pw_shard_list){ .shard_count = 2, .dtype = PW_I32, .mesh = { 2, 1 }, .sharding = fake->params.sharding,
                                        .dims = { .rank = 1, .dim = { 5 } } };
        for (uint32_t i = 0; i < 2; i++) {
                uint64_t offset = SHARED_OFFSET + 1024 + i * 64;
                list->shards[i] = (struct pw_shard_place){ offset, is_split ? 12 - 4 * i : 20, FUTURES_SEGMENT, i };
                memcpy(fake->futures.map.base + offset, is_split ? split[i] : whole[i], 20);
        }
        if (fake->params.short_shard)
                list->shards[1].bytes = 4;
        entry->room_offset = SHARED_OFFSET;
}

static void result_error(struct fake_daemon *fake, struct pw_entry *entry)
{
        static const char text[] = "function test/fails returned an error on device h0:0, run 1";
        entry->room_offset = SHARED_OFFSET;
        entry->bytes = sizeof text - 1;
        memcpy(fake->futures.map.base + entry->room_offset, text, sizeof text);
}

static void result_decide(struct fake_daemon *fake, uint32_t slot, uint32_t generation)
{
        struct pw_entry *entry = entry_at(fake, true, slot);
        uint64_t old, number = fake->counts.runs;
        struct pw_described described = { .bytes = sizeof number, .dtype = PW_I64, .dims = { .rank = 0 }, .is_inline = true,
                                          .room_segment = FUTURES_SEGMENT };
        if (fake->params.fail_runs) {
                result_error(fake, entry);
        } else if (fake->params.sharded) {
                result_shards(fake, entry);
        } else {
                pw_entry_fill(entry, &described, NULL);
                memcpy(entry->body.value, &number, sizeof number);
        }
        if (pw_entry_decide(entry, generation, fake->params.fail_runs ? PW_FAILED : PW_OK,
                            fake->params.sharded ? PW_ENTRY_SHARDED : 0, UINT32_MAX, &old))
                pw_hint_wake((struct pw_hint_page *)(void *)fake->hints.map.base, entry, FUTURES_SEGMENT, slot);
}

static uint32_t on_run(struct fake_daemon *fake, const struct pw_ring_reader *reader)
{
        struct pw_cell header = pw_ring_peek(reader, 0);
        uint32_t inputs = pw_cell_run_inputs(header), results = pw_cell_run_results(header);
        fake->counts.runs++;
        for (uint32_t i = 0; i < inputs; i++) {
                struct pw_cell cell = pw_ring_peek(reader, 2 + i);
                if (pw_cell_top(cell) & PW_RUN_INPUT_DONATED) {
                        fake->counts.donated++;
                        on_drop(fake, cell);
                        fake->counts.drops--;
                }
        }
        for (uint32_t i = 0; i < results; i++) {
                struct pw_cell cell = pw_ring_peek(reader, 2 + inputs + i);
                if (fake->params.hold_runs && fake->held_count < HELD_MAX) {
                        fake->held[fake->held_count].slot = pw_cell_slot(cell);
                        fake->held[fake->held_count++].generation = pw_cell_generation(cell);
                } else {
                        result_decide(fake, pw_cell_slot(cell), pw_cell_generation(cell));
                }
        }
        return 2 + inputs + results;
}

static void read_lane(struct fake_daemon *fake, struct pw_ring_reader *reader)
{
        uint32_t cells, done = 0;
        bool sane = pw_ring_available(reader, &cells);
        assert(sane);
        (void)sane;
        while (done < cells) {
                struct pw_cell cell = pw_ring_peek(reader, 0);
                uint32_t used = 1;
                if (pw_cell_top(cell) == PW_RING_DROP)
                        on_drop(fake, cell);
                else if (pw_cell_top(cell) == PW_RING_REF)
                        on_ref(fake, cell);
                else
                        used = on_run(fake, reader);
                pw_ring_consume(reader, used);
                done += used;
        }
}

static void read_rings(struct fake_daemon *fake)
{
        for (uint32_t i = 0; i < PW_LANES_MAX && !fake->deaf; i++) {
                fake->readers[i].ring = &fake->control->lanes[i].ring;
                pw_ring_wake(&fake->readers[i]);
                do {
                        read_lane(fake, &fake->readers[i]);
                } while (!pw_ring_sleep(&fake->readers[i], fake->waiting_id != 0));
        }
        serve_waiting(fake);
}

/* --- requests --------------------------------------------------------------------------------------------------------------- */

static void on_name(struct fake_daemon *fake, const Pathways__Wire__Request *request)
{
        if (request->body_case == PATHWAYS__WIRE__REQUEST__BODY_NAME_BIND) {
                snprintf(fake->name.name, sizeof fake->name.name, "%s", request->name_bind->name);
                fake->name.object = *request->name_bind->object;
                fake->name.bound = true;
                fake->more_refs[0][(uint32_t)fake->name.object.place & PW_SLOT_MAX]++;
                reply_status(fake, request->id, PW_OK, "");
        } else if (!fake->name.bound || strcmp(fake->name.name, request->name_lookup->name) != 0) {
                reply_status(fake, request->id, PW_NOT_FOUND, "no such name");
        } else {
                Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
                Pathways__Wire__Object object = PATHWAYS__WIRE__OBJECT__INIT;
                object.object = &fake->name.object;
                reply.body_case = PATHWAYS__WIRE__REPLY__BODY_OBJECT;
                reply.object = &object;
                fake->more_refs[0][(uint32_t)fake->name.object.place & PW_SLOT_MAX]++;
                reply_send(fake, request->id, &reply, NULL, 0);
        }
}

static void on_compile(struct fake_daemon *fake, const Pathways__Wire__Request *request)
{
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        Pathways__Wire__Program program = PATHWAYS__WIRE__PROGRAM__INIT;
        program.program = (uint32_t)++fake->counts.compiles;
        program.peak_bytes = 4096;
        fake->counts.last_values = request->program_compile->n_values;
        fake->counts.last_calls = request->program_compile->n_calls;
        fake->counts.last_results = request->program_compile->n_results;
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_PROGRAM;
        reply.program = &program;
        reply_send(fake, request->id, &reply, NULL, 0);
}

static void on_slice(struct fake_daemon *fake, const Pathways__Wire__Request *request)
{
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        Pathways__Wire__Slice slice = PATHWAYS__WIRE__SLICE__INIT;
        slice.slice = 11;
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_SLICE;
        reply.slice = &slice;
        reply_send(fake, request->id, &reply, NULL, 0);
}

static void on_request(struct fake_daemon *fake, const Pathways__Wire__Request *request)
{
        switch (request->body_case) {
        case PATHWAYS__WIRE__REQUEST__BODY_HELLO: on_hello(fake, request->id); break;
        case PATHWAYS__WIRE__REQUEST__BODY_ROOM: on_room(fake, request->id, request->room); break;
        case PATHWAYS__WIRE__REQUEST__BODY_SEGMENT: on_segment(fake, request->id, request->segment->segment); break;
        case PATHWAYS__WIRE__REQUEST__BODY_NAME_BIND:
        case PATHWAYS__WIRE__REQUEST__BODY_NAME_LOOKUP: on_name(fake, request); break;
        case PATHWAYS__WIRE__REQUEST__BODY_PROGRAM_COMPILE: on_compile(fake, request); break;
        case PATHWAYS__WIRE__REQUEST__BODY_SLICE_OPEN: on_slice(fake, request); break;
        default:
                fake->counts.lane_ends += request->body_case == PATHWAYS__WIRE__REQUEST__BODY_LANE_END && request->lane_end->lane < PW_LANES_MAX;
                fake->counts.programs_freed += request->body_case == PATHWAYS__WIRE__REQUEST__BODY_PROGRAM_FREE;
                fake->counts.slices_closed += request->body_case == PATHWAYS__WIRE__REQUEST__BODY_SLICE_CLOSE;
                reply_status(fake, request->id, PW_OK, "");
        }
}

static void read_socket(struct fake_daemon *fake)
{
        struct pw_frame frame;
        size_t bytes;
        if (pw_decoder_read(&fake->decoder, fake->fd, false, &bytes, NULL) != PW_OK) {
                fake->stopped = true;
                return;
        }
        read_rings(fake); /* what a request was preceded by comes first */
        while (pw_frame_next(&fake->decoder, &frame, NULL) == PW_OK) {
                if (frame.kind != PW_FRAME_REQUEST)
                        continue;
                Pathways__Wire__Request *request = pathways__wire__request__unpack(NULL, frame.bytes, frame.payload);
                assert(request);
                on_request(fake, request);
                pathways__wire__request__free_unpacked(request, NULL);
        }
        read_rings(fake);
}

/* --- the thread ------------------------------------------------------------------------------------------------------------- */

static void read_ask(struct fake_daemon *fake)
{
        uint64_t one;
        (void)!read(fake->ask_fd, &one, sizeof one);
        enum ask ask = (enum ask)atomic_exchange(&fake->ask, ASK_NONE);
        if (ask == ASK_LISTEN)
                fake->deaf = false;
        if (ask == ASK_STOP || ask == ASK_DIE)
                fake->stopped = true;
        if (!fake->stopped)
                read_rings(fake);
        for (uint32_t i = 0; ask == ASK_RELEASE && i < fake->held_count; i++)
                result_decide(fake, fake->held[i].slot, fake->held[i].generation);
        if (ask == ASK_RELEASE)
                fake->held_count = 0;
        if (ask == ASK_DIE)
                shutdown(fake->fd, SHUT_RDWR);
        one = 1;
        (void)!write(fake->done_fd, &one, sizeof one);
}

static void *run(void *argument)
{
        struct fake_daemon *fake = argument;
        while (!fake->stopped) {
                struct pollfd on[2] = { { .fd = fake->fd, .events = POLLIN }, { .fd = fake->ask_fd, .events = POLLIN } };
                int64_t left_ns = fake->waiting_id ? fake->waiting_until_ns - pw_now_ns() : -1;
                int left_ms = !fake->waiting_id || fake->waiting_until_ns == INT64_MAX ? -1 : left_ns < 0 ? 0 : (int)(left_ns / 1000000) + 1;
                (void)poll(on, 2, left_ms);
                if (on[0].revents)
                        read_socket(fake);
                if (on[1].revents)
                        read_ask(fake);
                serve_waiting(fake);
        }
        return NULL;
}

static void ask(struct fake_daemon *fake, enum ask what)
{
        uint64_t one = 1;
        atomic_store(&fake->ask, what);
        (void)!write(fake->ask_fd, &one, sizeof one);
        (void)!read(fake->done_fd, &one, sizeof one);
}

struct fake_daemon *fake_start(const struct fake_params *params)
{
        struct fake_daemon *fake = calloc(1, sizeof *fake);
        int sockets[2];
        uint64_t entries = (uint64_t)SLOTS * sizeof(struct pw_entry);
        assert(fake);
        fake->params = *params;
        fake->deaf = params->deaf;
        int failed = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets);
        assert(!failed);
        (void)failed;
        fake->fd = sockets[0];
        fake->client_fd = sockets[1];
        fake->ask_fd = eventfd(0, EFD_CLOEXEC);
        fake->done_fd = eventfd(0, EFD_CLOEXEC);
        fake->next_room = entries;
        fake->rooms_end = entries + (params->room_bytes ? params->room_bytes : PW_GIB);
        fake->next_ring = PW_CONTROL_RINGS_OFFSET;
        memory_make(&fake->own, "own", fake->rooms_end + PW_CONTROL_BYTES, true); /* lanes behind the rooms */
        memory_make(&fake->futures, "futures", entries + 4096, false);
        memory_make(&fake->hints, "hints", sizeof(struct pw_hint_page), true);
        fake->control = (struct pw_control *)(void *)(fake->own.map.base + fake->rooms_end);
        for (int i = 0; i < 2; i++) {
                fake->extent_of[i] = calloc(SLOTS, sizeof *fake->extent_of[i]);
                fake->more_refs[i] = calloc(SLOTS, sizeof *fake->more_refs[i]);
                assert(fake->extent_of[i] && fake->more_refs[i]);
        }
        pw_decoder_init(&fake->decoder);
        failed = pthread_create(&fake->thread, NULL, run, fake);
        assert(!failed);
        return fake;
}

int fake_client_fd(struct fake_daemon *fake)
{
        int fd = fake->client_fd;
        fake->client_fd = -1;
        return fd;
}

const struct fake_counts *fake_counts(const struct fake_daemon *fake) { return &fake->counts; }
void fake_release(struct fake_daemon *fake) { ask(fake, ASK_RELEASE); }
void fake_listen(struct fake_daemon *fake) { ask(fake, ASK_LISTEN); }
void fake_die(struct fake_daemon *fake) { ask(fake, ASK_DIE); }
void fake_settle(struct fake_daemon *fake) { ask(fake, ASK_SETTLE); }

void fake_stop(struct fake_daemon *fake)
{
        uint64_t one = 1;
        atomic_store(&fake->ask, ASK_STOP);
        (void)!write(fake->ask_fd, &one, sizeof one);
        pthread_join(fake->thread, NULL);
        close(fake->fd);
        if (fake->client_fd >= 0)
                close(fake->client_fd);
        close(fake->ask_fd);
        close(fake->done_fd);
        memory_done(&fake->own);
        memory_done(&fake->futures);
        memory_done(&fake->hints);
        for (int i = 0; i < 2; i++) {
                free(fake->extent_of[i]);
                free(fake->more_refs[i]);
        }
        pw_decoder_done(&fake->decoder);
        free(fake);
}
