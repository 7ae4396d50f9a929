/* The other side of a session, for unit tests. One thread owns everything; the calls below wake it and wait for an answer. */
#include "libclient/fake/fake_daemon_private.h"

#include "base/id.h"
#include "base/size.h"
#include "plane/hint.h"

#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

enum ask { ASK_NONE, ASK_RELEASE, ASK_LISTEN, ASK_DIE, ASK_SETTLE, ASK_STOP };

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

void fake_reply(struct fake_daemon *fake, uint64_t id, Pathways__Wire__Reply *reply, const int *fds, uint32_t fd_count)
{
        uint8_t message[4096];
        reply->id = id;
        size_t bytes = pathways__wire__reply__get_packed_size(reply);
        assert(bytes <= sizeof message);
        pathways__wire__reply__pack(reply, message);
        (void)!pw_frame_send(fake->fd, PW_FRAME_REPLY, message, (uint32_t)bytes, fds, fd_count, NULL);
}

void fake_reply_status(struct fake_daemon *fake, uint64_t id, enum pw_status status, const char *text)
{
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        reply.status = status;
        reply.text = (char *)(uintptr_t)text;
        fake_reply(fake, id, &reply, NULL, 0);
}

struct pw_entry *fake_entry(struct fake_daemon *fake, bool futures, uint32_t slot)
{
        return pw_map_entry(futures ? &fake->futures.map : &fake->own.map, slot);
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
        own.segment = 0; /* the first grant says it */
        own.bytes = fake->rooms_end;
        welcome.control_bytes = PW_CONTROL_BYTES;
        welcome.control_offset = fake->rooms_end;
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_WELCOME;
        reply.welcome = &welcome;
        int fds[] = { fake->own.client_fd, fake->futures.client_fd, fake->hints.client_fd };
        fake_reply(fake, id, &reply, fds, pw_array_count(fds));
}

static void on_segment(struct fake_daemon *fake, uint64_t id, uint32_t number)
{
        if (number != FUTURES_SEGMENT) {
                fake_reply_status(fake, id, PW_NOT_FOUND, "no such segment");
                return;
        }
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        Pathways__Wire__SegmentInfo info = info_of(number, PW_SEGMENT_FUTURES, &fake->futures);
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_SEGMENT;
        reply.segment = &info;
        fake_reply(fake, id, &reply, &fake->futures.client_fd, 1);
}

/* --- requests --------------------------------------------------------------------------------------------------------------- */

static void on_name(struct fake_daemon *fake, const Pathways__Wire__Request *request)
{
        if (request->body_case == PATHWAYS__WIRE__REQUEST__BODY_NAME_BIND) {
                snprintf(fake->name.name, sizeof fake->name.name, "%s", request->name_bind->name);
                fake->name.object = *request->name_bind->object;
                fake->name.bound = true;
                fake->more_refs[0][(uint32_t)fake->name.object.place & PW_SLOT_MAX]++;
                fake_reply_status(fake, request->id, PW_OK, "");
        } else if (!fake->name.bound || strcmp(fake->name.name, request->name_lookup->name) != 0) {
                fake_reply_status(fake, request->id, PW_NOT_FOUND, "no such name");
        } else {
                Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
                Pathways__Wire__Object object = PATHWAYS__WIRE__OBJECT__INIT;
                object.object = &fake->name.object;
                reply.body_case = PATHWAYS__WIRE__REPLY__BODY_OBJECT;
                reply.object = &object;
                fake->more_refs[0][(uint32_t)fake->name.object.place & PW_SLOT_MAX]++;
                fake_reply(fake, request->id, &reply, NULL, 0);
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
        fake_reply(fake, request->id, &reply, NULL, 0);
}

static void on_slice(struct fake_daemon *fake, const Pathways__Wire__Request *request)
{
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        Pathways__Wire__Slice slice = PATHWAYS__WIRE__SLICE__INIT;
        slice.slice = 11;
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_SLICE;
        reply.slice = &slice;
        fake_reply(fake, request->id, &reply, NULL, 0);
}

/* Objects of other hosts, and of an earlier daemon of this one. */
static void refuse_open(struct fake_daemon *fake, const Pathways__Wire__Request *request)
{
        bool here = pw_id_host((struct pw_id){ .place = request->object_open->object->place }) == 0;

        fake_reply_status(fake, request->id, here ? PW_GONE : PW_NOT_FOUND, here ? "it has ended" : "no such host");
}

static void on_request(struct fake_daemon *fake, const Pathways__Wire__Request *request)
{
        switch (request->body_case) {
        case PATHWAYS__WIRE__REQUEST__BODY_HELLO: on_hello(fake, request->id); break;
        case PATHWAYS__WIRE__REQUEST__BODY_ROOM: fake_room(fake, request->id, request->room); break;
        case PATHWAYS__WIRE__REQUEST__BODY_SEGMENT: on_segment(fake, request->id, request->segment->segment); break;
        case PATHWAYS__WIRE__REQUEST__BODY_NAME_BIND:
        case PATHWAYS__WIRE__REQUEST__BODY_NAME_LOOKUP: on_name(fake, request); break;
        case PATHWAYS__WIRE__REQUEST__BODY_PROGRAM_COMPILE: on_compile(fake, request); break;
        case PATHWAYS__WIRE__REQUEST__BODY_SLICE_OPEN: on_slice(fake, request); break;
        case PATHWAYS__WIRE__REQUEST__BODY_OBJECT_OPEN: refuse_open(fake, request); break;
        default:
                fake->counts.lane_ends +=
                        request->body_case == PATHWAYS__WIRE__REQUEST__BODY_LANE_END && request->lane_end->lane < PW_LANES_MAX;
                fake->counts.programs_freed += request->body_case == PATHWAYS__WIRE__REQUEST__BODY_PROGRAM_FREE;
                fake->counts.slices_closed += request->body_case == PATHWAYS__WIRE__REQUEST__BODY_SLICE_CLOSE;
                fake_reply_status(fake, request->id, PW_OK, "");
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
        fake_read_rings(fake); /* what a request was preceded by comes first */
        while (pw_frame_next(&fake->decoder, &frame, NULL) == PW_OK) {
                if (frame.kind != PW_FRAME_REQUEST)
                        continue;
                Pathways__Wire__Request *request = pathways__wire__request__unpack(NULL, frame.bytes, frame.payload);
                assert(request);
                on_request(fake, request);
                pathways__wire__request__free_unpacked(request, NULL);
        }
        fake_read_rings(fake);
}

/* --- the thread ------------------------------------------------------------------------------------------------------------- */

static void read_ask(struct fake_daemon *fake)
{
        uint64_t one;
        (void)!read(fake->ask_fd, &one, sizeof one);
        enum ask ask = (enum ask)atomic_exchange(&fake->ask, ASK_NONE);
        if (ask == ASK_LISTEN)
                fake->unread_rings = false;
        if (ask == ASK_STOP || ask == ASK_DIE)
                fake->stopped = true;
        if (!fake->stopped)
                fake_read_rings(fake);
        if (ask == ASK_RELEASE)
                fake_release_held(fake);
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
                int left_ms = !fake->waiting_id ||
                        fake->waiting_until_ns == INT64_MAX ? -1 : left_ns < 0 ? 0 : (int)(left_ns / 1000000) + 1;
                (void)poll(on, 2, left_ms);
                if (on[0].revents)
                        read_socket(fake);
                if (on[1].revents)
                        read_ask(fake);
                fake_serve_waiting(fake);
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
        fake->unread_rings = params->unread_rings;
        int failed = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets);
        assert(!failed);
        (void)failed;
        fake->fd = sockets[0];
        fake->client_fd = sockets[1];
        fake->ask_fd = eventfd(0, EFD_CLOEXEC);
        fake->done_fd = eventfd(0, EFD_CLOEXEC);
        fake->next_room = entries;
        fake->futures_left = params->future_slots ? params->future_slots : UINT64_MAX;
        fake->rooms_end = entries + (params->room_bytes ? params->room_bytes : PW_GIB);
        fake->next_ring = PW_CONTROL_RINGS_OFFSET;
        memory_make(&fake->own, "own", fake->rooms_end + PW_CONTROL_BYTES, true); /* lanes behind the rooms */
        memory_make(&fake->futures, "futures", entries + PAGE * (1 + SHARDS), false);
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
