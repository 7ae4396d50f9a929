/* The answers of a daemon that is broken, to a program that calls libpathways: replies that cannot be, that nobody asked for,
 * without their descriptors or with others, halves of frames, and entries and shard lists in the futures segment that lead
 * anywhere. Every call comes back, with a value that can be read or a status; nothing is leaked.
 *
 * The memory of the session has its size and its seals, as nobody can do anything about a daemon that takes that away.
 */
#include "libclient/listing.h"
#include "libclient/session.h"
#include "plane/control.h"
#include "plane/segment.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/stand_in/answer_play.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#define OWN 7u
#define SLOTS 64u
#define PAGE 4096u
#define ROOMS (64u * PAGE)

enum file { FILE_OWN, FILE_FUTURES, FILE_HINTS, FILE_SMALL, FILE_PIPE, FILES };

struct broken {
        struct fuzz_bytes bytes;
        int fd;
        uint32_t granted[2]; /* slots: own, futures */
        bool ended;
};

static struct { int fds[FILES]; struct pw_map maps[FILES]; } memory;

static void memory_make(enum file file, uint64_t bytes)
{
        enum pw_status status = pw_memfd_create("fuzz", bytes, &memory.fds[file], NULL);

        if (status == PW_OK)
                status = pw_map_fd(memory.fds[file], bytes, true, &memory.maps[file], NULL);
        assert(status == PW_OK);
        (void)status;
}

/* Made once; empty for each input. */
static void memory_reset(void)
{
        int pipes[2];

        if (!memory.maps[FILE_OWN].base) {
                memory_make(FILE_OWN, PAGE + ROOMS + PW_CONTROL_BYTES);
                memory_make(FILE_FUTURES, PAGE + ROOMS);
                memory_make(FILE_HINTS, sizeof(struct pw_hint_page));
                memory_make(FILE_SMALL, PAGE);
                if (pipe2(pipes, O_CLOEXEC) == 0)
                        memory.fds[FILE_PIPE] = pipes[0];
        }
        for (enum file file = 0; file <= FILE_SMALL; file++)
                if (pw_memfd_punch(memory.fds[file], 0, memory.maps[file].bytes, NULL) != PW_OK)
                        assert(!"memory");
}

/* --- answers that may be right ------------------------------------------------------------------------------------------------ */

/* One number of many is another one: small, huge, or next to what it was. */
static uint64_t twist(struct broken *broken, uint64_t right)
{
        uint8_t shape = (uint8_t)fuzz_take(&broken->bytes, 1);

        switch (shape) {
        case 0xf0: return fuzz_take(&broken->bytes, 1);
        case 0xf1: return fuzz_take(&broken->bytes, 8);
        case 0xf2: return right + 1;
        case 0xf3: return right - 1;
        case 0xf4: return UINT64_MAX;
        case 0xf5: return UINT32_MAX;
        case 0xf6: return 0;
        default: return right;
        }
}

static void info_fill(struct broken *broken, Pathways__Wire__SegmentInfo *info, uint32_t number, enum pw_segment_kind kind)
{
        info->segment = (uint32_t)twist(broken, number);
        info->kind = (uint32_t)twist(broken, kind);
        info->slot_count = (uint32_t)twist(broken, SLOTS);
        info->room_offset = twist(broken, PAGE);
        info->bytes = twist(broken, PAGE + ROOMS);
        info->offset = twist(broken, 0);
}

static void room_fill(struct broken *broken, Pathways__Wire__RoomGrant *room, const Pathways__Wire__RoomRequest *ask)
{
        uint32_t *granted = &broken->granted[ask->futures], count = 4;

        room->look = fuzz_take(&broken->bytes, 1) == 0xff;
        room->extent = (uint32_t)twist(broken, *granted / count);
        room->segment = (uint32_t)twist(broken, ask->futures ? ANSWER_FUTURES : OWN);
        room->first_slot = (uint32_t)twist(broken, *granted);
        room->slot_count = (uint32_t)twist(broken, count);
        room->room_bytes = twist(broken, ask->futures || ask->inline_only ? 0 : pw_class_bytes(ask->size_class % PW_CLASS_COUNT));
        room->room_offset = twist(broken, PAGE);
        room->return_ring = twist(broken, PW_CONTROL_RINGS_OFFSET + *granted * 64u);
        for (uint32_t i = 0; ask->futures && i < count && *granted + i < SLOTS; i++)
                (void)!pw_entry_take(pw_map_entry(&memory.maps[FILE_FUTURES], *granted + i), &(uint32_t){ 0 });
        *granted = (*granted + count) % SLOTS;
}

/* The parts that a body may point to. */
struct parts {
        Pathways__Wire__Welcome welcome;
        Pathways__Wire__SegmentInfo own, futures;
        Pathways__Wire__RoomGrant room;
        Pathways__Wire__Slice slice;
        Pathways__Wire__Program program;
        Pathways__Wire__ValueType type, *types[4];
        Pathways__Wire__AxisSharding axis, *axes[4];
        uint64_t dims[12];
        protobuf_c_boolean flags[4];
        Pathways__Wire__Object object;
        Pathways__Wire__ObjectId id;
        Pathways__Wire__Listing listing;
        Pathways__Wire__Row row, *rows[4];
        Pathways__Wire__Cell cell, *cells[4];
        Pathways__Wire__Trace trace;
};

static void welcome_fill(struct broken *broken, struct parts *parts)
{
        Pathways__Wire__Welcome *welcome = &parts->welcome;

        pathways__wire__welcome__init(welcome);
        pathways__wire__segment_info__init(&parts->own);
        pathways__wire__segment_info__init(&parts->futures);
        info_fill(broken, &parts->own, OWN, PW_SEGMENT_CLIENT);
        info_fill(broken, &parts->futures, ANSWER_FUTURES, PW_SEGMENT_FUTURES);
        welcome->version = (uint32_t)twist(broken, PW_WIRE_VERSION);
        welcome->epoch = 3;
        welcome->host_capacity = twist(broken, ROOMS);
        welcome->control_bytes = twist(broken, PW_CONTROL_BYTES);
        welcome->control_offset = twist(broken, PAGE + ROOMS);
        welcome->own = twist(broken, 1) ? &parts->own : NULL;
        welcome->futures = twist(broken, 1) ? &parts->futures : NULL;
}

static void program_fill(struct broken *broken, struct parts *parts)
{
        Pathways__Wire__Program *program = &parts->program;

        pathways__wire__program__init(program);
        pathways__wire__value_type__init(&parts->type);
        pathways__wire__axis_sharding__init(&parts->axis);
        parts->axis.layout = (uint32_t)twist(broken, PW_LAYOUT_BROADCAST);
        parts->axis.dim = (uint32_t)twist(broken, 0);
        parts->type.dtype = (uint32_t)twist(broken, PW_F64);
        parts->dims[0] = twist(broken, 4);
        parts->type.dims = parts->dims;
        parts->type.n_dims = twist(broken, 1) % 13;
        for (uint32_t i = 0; i < 4; i++) {
                parts->types[i] = &parts->type;
                parts->axes[i] = &parts->axis;
        }
        parts->type.sharding = parts->axes;
        parts->type.n_sharding = twist(broken, 2) % 5;
        program->program = 1;
        program->peak_bytes = twist(broken, 64);
        program->inputs = parts->types;
        program->n_inputs = twist(broken, 1) % 5;
        program->results = parts->types;
        program->n_results = twist(broken, 1) % 5;
        program->donated = parts->flags;
        program->n_donated = twist(broken, 1) % 5;
}

static void listing_fill(struct broken *broken, struct parts *parts)
{
        pathways__wire__listing__init(&parts->listing);
        pathways__wire__row__init(&parts->row);
        pathways__wire__cell__init(&parts->cell);
        for (uint32_t i = 0; i < 4; i++) {
                parts->rows[i] = &parts->row;
                parts->cells[i] = &parts->cell;
        }
        parts->row.cells = parts->cells;
        parts->row.n_cells = twist(broken, 1) % 5;
        parts->listing.rows = parts->rows;
        parts->listing.n_rows = twist(broken, 2) % 5;
        parts->listing.next = twist(broken, 0);
        parts->listing.truncated = twist(broken, 0);
}

static void object_fill(struct broken *broken, struct parts *parts)
{
        struct pw_id id = pw_id_make(0, 3, (uint32_t)twist(broken, ANSWER_FUTURES) & PW_SEGMENT_MAX,
                                      (uint32_t)twist(broken, 0) & PW_SLOT_MAX, 1);

        pathways__wire__object__init(&parts->object);
        pathways__wire__object_id__init(&parts->id);
        parts->id.place = twist(broken, id.place);
        parts->id.epoch = (uint32_t)twist(broken, 3);
        parts->id.generation = (uint32_t)twist(broken, 1);
        parts->object.object = twist(broken, 1) ? &parts->id : NULL;
}

/* The body that belongs to the request, or the one that `shape` says. */
static Pathways__Wire__Reply__BodyCase body_of(const Pathways__Wire__Request *request, uint8_t shape)
{
        if (shape >= 0xe0)
                return (Pathways__Wire__Reply__BodyCase)(shape % 16);
        switch (request->body_case) {
        case PATHWAYS__WIRE__REQUEST__BODY_HELLO: return PATHWAYS__WIRE__REPLY__BODY_WELCOME;
        case PATHWAYS__WIRE__REQUEST__BODY_ROOM: return PATHWAYS__WIRE__REPLY__BODY_ROOM;
        case PATHWAYS__WIRE__REQUEST__BODY_SEGMENT: return PATHWAYS__WIRE__REPLY__BODY_SEGMENT;
        case PATHWAYS__WIRE__REQUEST__BODY_SLICE_OPEN: return PATHWAYS__WIRE__REPLY__BODY_SLICE;
        case PATHWAYS__WIRE__REQUEST__BODY_PROGRAM_COMPILE: return PATHWAYS__WIRE__REPLY__BODY_PROGRAM;
        case PATHWAYS__WIRE__REQUEST__BODY_NAME_LOOKUP:
        case PATHWAYS__WIRE__REQUEST__BODY_FREEZE: return PATHWAYS__WIRE__REPLY__BODY_OBJECT;
        case PATHWAYS__WIRE__REQUEST__BODY_LIST: return PATHWAYS__WIRE__REPLY__BODY_LISTING;
        case PATHWAYS__WIRE__REQUEST__BODY_TRACE: return PATHWAYS__WIRE__REPLY__BODY_TRACE;
        default: return PATHWAYS__WIRE__REPLY__BODY__NOT_SET;
        }
}

static void body_fill(struct broken *broken, const Pathways__Wire__Request *request, Pathways__Wire__Reply *reply,
                      struct parts *parts)
{
        static const Pathways__Wire__RoomRequest none = PATHWAYS__WIRE__ROOM_REQUEST__INIT;

        switch (reply->body_case) {
        case PATHWAYS__WIRE__REPLY__BODY_WELCOME:
                welcome_fill(broken, parts);
                reply->welcome = &parts->welcome;
                break;
        case PATHWAYS__WIRE__REPLY__BODY_ROOM:
                pathways__wire__room_grant__init(&parts->room);
                room_fill(broken, &parts->room, request->body_case == PATHWAYS__WIRE__REQUEST__BODY_ROOM ? request->room : &none);
                reply->room = &parts->room;
                break;
        case PATHWAYS__WIRE__REPLY__BODY_SEGMENT:
                pathways__wire__segment_info__init(&parts->own);
                info_fill(broken, &parts->own, request->body_case == PATHWAYS__WIRE__REQUEST__BODY_SEGMENT ?
                          request->segment->segment : 1, PW_SEGMENT_CLIENT);
                reply->segment = &parts->own;
                break;
        case PATHWAYS__WIRE__REPLY__BODY_SLICE:
                pathways__wire__slice__init(&parts->slice);
                parts->slice.slice = (uint32_t)twist(broken, 11);
                reply->slice = &parts->slice;
                break;
        case PATHWAYS__WIRE__REPLY__BODY_PROGRAM:
                program_fill(broken, parts);
                reply->program = &parts->program;
                break;
        case PATHWAYS__WIRE__REPLY__BODY_OBJECT:
                object_fill(broken, parts);
                reply->object = &parts->object;
                break;
        case PATHWAYS__WIRE__REPLY__BODY_LISTING:
                listing_fill(broken, parts);
                reply->listing = &parts->listing;
                break;
        case PATHWAYS__WIRE__REPLY__BODY_TRACE:
                pathways__wire__trace__init(&parts->trace);
                reply->trace = &parts->trace;
                break;
        default: reply->body_case = PATHWAYS__WIRE__REPLY__BODY__NOT_SET;
        }
}

/* Descriptors as they should be, fewer, or others. */
static uint32_t choose_files(struct broken *broken, Pathways__Wire__Reply__BodyCase body, int fds[4])
{
        uint32_t count = body == PATHWAYS__WIRE__REPLY__BODY_WELCOME ? 3 : body == PATHWAYS__WIRE__REPLY__BODY_SEGMENT ? 1 : 0;
        uint8_t shape = (uint8_t)fuzz_take(&broken->bytes, 1);

        if (shape >= 0xe0)
                count = shape % 5;
        for (uint32_t i = 0; i < count; i++)
                fds[i] = memory.fds[(i + (shape >= 0xc0 ? fuzz_take(&broken->bytes, 1) : 0)) % FILES];
        return count;
}

static void answer(struct broken *broken, const Pathways__Wire__Request *request)
{
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        struct parts parts = { 0 };
        uint8_t message[4096];
        int fds[4];

        reply.body_case = body_of(request, (uint8_t)fuzz_take(&broken->bytes, 1));
        body_fill(broken, request, &reply, &parts);
        reply.id = twist(broken, request->id);
        reply.status = (uint32_t)twist(broken, PW_OK);
        uint32_t fd_count = choose_files(broken, reply.body_case, fds);
        assert(pathways__wire__reply__get_packed_size(&reply) <= sizeof message);
        size_t bytes = pathways__wire__reply__pack(&reply, message);
        (void)!pw_frame_send(broken->fd, PW_FRAME_REPLY, message, (uint32_t)bytes, fds, fd_count, NULL);
        /* Who never answers is waited for. An answer to what was never asked is seen by the library itself. */
        broken->ended |= reply.id != request->id && reply.id < UINT32_MAX;
}

/* --- what else it does -------------------------------------------------------------------------------------------------------- */

/* A shard list that may be right, at the start of the rooms; the entry leads to it. */
static void spoil_shards(struct broken *broken, struct pw_entry *entry)
{
        struct pw_shard_list *list = (struct pw_shard_list *)(void *)(memory.maps[FILE_FUTURES].base + PAGE);

        memset(list, 0, PW_SHARD_LIST_BYTES(4));
        list->shard_count = (uint32_t)twist(broken, 2);
        list->dtype = (uint8_t)twist(broken, PW_I32);
        list->mesh[0] = (uint32_t)twist(broken, 2);
        list->mesh[1] = (uint32_t)twist(broken, 1);
        list->dims.rank = (uint32_t)twist(broken, 1);
        list->dims.dim[0] = twist(broken, 4);
        list->dims.dim[1] = twist(broken, 0);
        list->sharding.axis[0].layout = (uint8_t)twist(broken, PW_LAYOUT_SPLIT);
        list->sharding.axis[0].dim = (uint8_t)twist(broken, 0);
        list->sharding.axis[0].op = (uint8_t)twist(broken, 0);
        for (uint32_t i = 0; i < 2; i++)
                list->shards[i] = (struct pw_shard_place){ twist(broken, 2 * PAGE + i * 64u), twist(broken, 16),
                                                                   (uint32_t)twist(broken, ANSWER_FUTURES), { 0, (uint16_t)i } };
        entry->room_offset = twist(broken, PAGE);
}

/* An entry of the futures segment, out of PENDING or anywhere. */
static void spoil_entry(struct broken *broken)
{
        struct pw_entry *entry = pw_map_entry(&memory.maps[FILE_FUTURES], (uint32_t)fuzz_take(&broken->bytes, 1) % 8);
        uint8_t shape = (uint8_t)fuzz_take(&broken->bytes, 1);
        uint64_t flags = shape & 8 ? PW_ENTRY_SHARDED : 0, old;

        entry->bytes = twist(broken, 8);
        entry->dtype = (uint8_t)twist(broken, PW_OPAQUE);
        entry->is_inline = shape & 1;
        entry->room_segment = (uint32_t)twist(broken, ANSWER_FUTURES);
        entry->room_offset = twist(broken, PAGE);
        if (flags)
                spoil_shards(broken, entry);
        if (shape & 2)
                entry->body.dims[fuzz_take(&broken->bytes, 1) % 3] = twist(broken, 1);
        if (shape & 4)
                atomic_store(&entry->word, fuzz_take(&broken->bytes, 8));
        else
                (void)!pw_entry_decide(entry, pw_word_generation(pw_entry_load(entry)), shape & 16 ? PW_FAILED : PW_OK, flags,
                                       UINT32_MAX, &old);
}

/* Anywhere in what it shares with the client. */
static void spoil_word(struct broken *broken)
{
        struct pw_map *map = &memory.maps[fuzz_take(&broken->bytes, 1) % 3];
        uint64_t near = map == &memory.maps[FILE_OWN] && fuzz_take(&broken->bytes, 1) & 1 ? PAGE + ROOMS : 0;

        *(volatile uint64_t *)(map->base + near + fuzz_take(&broken->bytes, 2) % (PAGE / 8) * 8) = twist(broken, 1);
}

static void half_a_frame(struct broken *broken)
{
        uint8_t bytes[32];
        size_t count = fuzz_take(&broken->bytes, 1) % sizeof bytes;

        for (size_t i = 0; i < count; i++)
                bytes[i] = (uint8_t)fuzz_take(&broken->bytes, 1);
        (void)!send(broken->fd, bytes, count, MSG_NOSIGNAL);
        broken->ended = true;
}

/* One thing before each request is answered, or instead. */
static void meet(struct broken *broken, const Pathways__Wire__Request *request)
{
        uint8_t shape = (uint8_t)fuzz_take(&broken->bytes, 1);
        static const Pathways__Wire__Request hello = PATHWAYS__WIRE__REQUEST__INIT;

        for (uint32_t i = 0; i < (shape >> 6); i++)
                (fuzz_take(&broken->bytes, 1) & 1 ? spoil_entry : spoil_word)(broken);
        switch (shape % 32) {
        case 31: broken->ended = true; return;
        case 30: half_a_frame(broken); return;
        case 29: (void)!pw_frame_send(broken->fd, PW_FRAME_REQUEST, (const uint8_t *)"", 0, NULL, 0, NULL); break;
        case 28: (void)!send(broken->fd, "\0\0", 2, MSG_NOSIGNAL); break;
        case 27: answer(broken, &hello); break; /* that nobody waits for */
        default: break;
        }
        answer(broken, request);
        if (shape % 32 == 26)
                answer(broken, request); /* twice */
}

static void hear(struct broken *broken, struct pw_decoder *decoder)
{
        struct pw_frame frame;

        while (!broken->ended && pw_frame_next(decoder, &frame, NULL) == PW_OK) {
                Pathways__Wire__Request *request = frame.kind == PW_FRAME_REQUEST ?
                        pathways__wire__request__unpack(NULL, frame.bytes, frame.payload) : NULL;
                if (frame.kind == PW_FRAME_DOORBELL)
                        spoil_entry(broken); /* a run, decided */
                if (request && broken->bytes.left)
                        meet(broken, request);
                else if (request)
                        broken->ended = true; /* it has said all */
                if (request)
                        pathways__wire__request__free_unpacked(request, NULL);
        }
}

static void *be_broken(void *context)
{
        struct broken *broken = context;
        struct pw_decoder decoder;
        size_t bytes;

        pw_decoder_init(&decoder);
        while (!broken->ended && pw_decoder_read(&decoder, broken->fd, true, &bytes, NULL) == PW_OK)
                hear(broken, &decoder);
        pw_decoder_done(&decoder);
        shutdown(broken->fd, SHUT_RDWR);
        return NULL;
}

/* --- the program -------------------------------------------------------------------------------------------------------------- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t count)
{
        struct broken broken = { .bytes = { data, count } };
        struct pw_session *session;
        pthread_t thread;
        int sockets[2];

        memory_reset();
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
                return 0;
        broken.fd = sockets[0];
        if (pthread_create(&thread, NULL, be_broken, &broken) == 0) {
                if (pw_session_open(&(struct pw_session_params){ .fd = sockets[1] }, &session, NULL) == PW_OK) {
                        answer_play(session);
                        pw_close(session);
                }
                pthread_join(thread, NULL);
        }
        close(sockets[0]);
        return 0;
}
