/* Attaching: Hello, Welcome, maps; and the surroundings of the launch loop, by requests to the daemon. */
#include "executor/attach.h"

#include "base/log.h"
#include "base/memory.h"
#include "executor/arenas.h"
#include "libclient/socket/connection.h"

#include <errno.h>
#include <fcntl.h>

#define MAPS_MAX (2 + PW_ISLANDS_MAX + PW_DEVICES_MAX)

struct pw_attached {
        int fd; /* the connection's */
        struct pw_connection *connection;
        struct pw_surroundings around;
        struct pw_launch_params params;
        struct pw_map maps[MAPS_MAX];
        uint32_t map_count;
        uint64_t done_at_start; /* gangs of the device */
        struct pw_exec_arenas arenas; /* where memory of devices is apart */
        uint64_t capacity_bytes;      /* of each device */
        uint32_t *gone;         /* segments, told by answers, and mapped still */
        size_t gone_count;
};

static bool is_detached(const struct pw_attached *attached) { return fcntl(attached->fd, F_GETFD) < 0; }

/* The daemon ends executors that it wants to live on without it: none. Where a function closed the socket, the gang that finds
 * that out is not to blame: it is in no function yet, and another executor has it again. The first gang of an executor is, or one
 * executor after the other would be started for it. */
static void daemon_gone(void *context)
{
        const struct pw_attached *attached = context;
        struct pw_device_board *own = attached->params.boards[attached->params.device];

        if (!is_detached(attached))
                _exit(0);
        if (own && atomic_load(&own->done.count) > attached->done_at_start)
                atomic_store(&own->running, 0);
        _exit(PW_EXIT_DETACHED);
}

static void end_if_detached(void *context)
{
        if (is_detached(context))
                _exit(PW_EXIT_DETACHED);
}

/* --- surroundings -------------------------------------------------------------------------------------------------------- */

static enum pw_status descriptors(const struct pw_answer *answer, bool body, const char *what, uint32_t count,
                                  struct pw_error *ret_err)
{
        if (!body || answer->fd_count != count)
                return pw_error_set(ret_err, PW_PROTOCOL, "pathwaysd answered a request for a %s with something else", what);
        return PW_OK;
}

/* They stay mapped where there is no memory for it. */
static void keep_gone(struct pw_attached *attached, const Pathways__Wire__SegmentInfo *info)
{
        uint32_t *gone = info->n_gone ? realloc(attached->gone, (attached->gone_count + info->n_gone) * sizeof *gone) : NULL;

        if (!gone)
                return;
        memcpy(gone + attached->gone_count, info->gone, info->n_gone * sizeof *gone);
        attached->gone = gone;
        attached->gone_count += info->n_gone;
}

/* No segment has the number 0. */
static void ask_gone(void *context)
{
        struct pw_attached *attached = context;
        Pathways__Wire__SegmentRequest body = PATHWAYS__WIRE__SEGMENT_REQUEST__INIT;
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        struct pw_answer answer;

        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_SEGMENT;
        request.segment = &body;
        if (pw_connection_call(attached->connection, &request, &answer, NULL) != PW_OK)
                return; /* the daemon is gone: this process ends */
        if (answer.reply->body_case == PATHWAYS__WIRE__REPLY__BODY_SEGMENT)
                keep_gone(attached, answer.reply->segment);
        pw_answer_done(&answer);
}

static bool tell_gone(void *context, uint32_t *ret_segment)
{
        struct pw_attached *attached = context;

        if (!attached->gone_count)
                return false;
        *ret_segment = attached->gone[--attached->gone_count];
        return true;
}

/* An answer with the descriptors of the segment, and, of a device, of its heads. Own: the caller gives it back. */
static enum pw_status call_segment(struct pw_attached *attached, uint32_t segment, bool of_device, struct pw_answer *ret_answer,
                                   struct pw_error *ret_err)
{
        Pathways__Wire__SegmentRequest segment_body = PATHWAYS__WIRE__SEGMENT_REQUEST__INIT;
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        bool body;
        enum pw_status status;

        segment_body.segment = segment;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_SEGMENT;
        request.segment = &segment_body;
        status = pw_connection_call(attached->connection, &request, ret_answer, ret_err);
        if (status != PW_OK)
                return status;
        body = ret_answer->reply->body_case == PATHWAYS__WIRE__REPLY__BODY_SEGMENT;
        if (body)
                keep_gone(attached, ret_answer->reply->segment);
        status = descriptors(ret_answer, body, "segment", of_device + !(body && ret_answer->reply->segment->apart), ret_err);
        if (status != PW_OK)
                pw_answer_done(ret_answer);
        return status;
}

/* Only those of the own device can be written. */
static enum pw_status map_answered(int fd, uint64_t offset, uint64_t bytes, struct pw_map *ret_map, struct pw_error *ret_err)
{
        bool writable = (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR;

        return pw_map_window(&(struct pw_window){ fd, offset, bytes }, writable, ret_map, ret_err);
}

static enum pw_status ask_segment(void *context, uint32_t segment, struct pw_host_map *ret_map, struct pw_error *ret_err)
{
        struct pw_answer answer;
        enum pw_status status = call_segment(context, segment, false, &answer, ret_err);

        if (status != PW_OK)
                return status;
        ret_map->file = pw_memfd_file(answer.fds[0]);
        ret_map->offset = answer.reply->segment->offset;
        status = map_answered(answer.fds[0], ret_map->offset, answer.reply->segment->bytes, &ret_map->map, ret_err);
        pw_answer_done(&answer);
        return status;
}

static enum pw_status map_rooms(struct pw_attached *attached, const struct pw_answer *answer, struct pw_rooms_map *map,
                                struct pw_error *ret_err)
{
        const Pathways__Wire__SegmentInfo *info = answer->reply->segment;
        bool apart = info->apart;

        if (info->heads < pw_segment_heads(info->bytes) || (apart && info->bytes > attached->arenas.bytes))
                return pw_error_set(ret_err, PW_PROTOCOL, "segment %u of a device has %llu bytes, and %llu of heads", info->segment,
                                    (unsigned long long)info->bytes, (unsigned long long)info->heads);
        if (map_answered(answer->fds[!apart], 0, info->heads, &map->heads, ret_err) != PW_OK)
                return ret_err->status;
        if (!apart)
                return map_answered(answer->fds[0], info->offset, info->bytes, &map->rooms, ret_err);
        map->apart = true;
        map->rooms = (struct pw_map){ .bytes = info->bytes, .writable = info->device == attached->params.device };
        return pw_exec_arenas_of(&attached->arenas, info->device, &map->rooms.base, ret_err);
}

/* Rooms and their heads; where they are apart heads alone. */
static enum pw_status ask_rooms(void *context, uint32_t segment, struct pw_rooms_map *ret_map, struct pw_error *ret_err)
{
        struct pw_attached *attached = context;
        struct pw_rooms_map map = { { NULL, 0, false }, { NULL, 0, false }, false };
        struct pw_answer answer;
        enum pw_status status = call_segment(attached, segment, true, &answer, ret_err);

        if (status != PW_OK)
                return status;
        status = map_rooms(attached, &answer, &map, ret_err);
        pw_answer_done(&answer);
        if (status == PW_OK)
                *ret_map = map;
        else
                pw_unmap(&map.heads);
        return status;
}

/* Tasks that are too many stay with the daemon: it gives no more than it may. */
static uint32_t ask_fetches(void *context, const struct pw_fetched *fetched, uint32_t count, struct pw_wanted_value *ret_tasks)
{
        struct pw_attached *attached = context;
        Pathways__Wire__FetchDone done[PW_FETCHES_MAX], *list[PW_FETCHES_MAX];
        Pathways__Wire__FetchReport body = PATHWAYS__WIRE__FETCH_REPORT__INIT;
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        struct pw_answer answer;
        uint32_t told = 0;

        for (uint32_t i = 0; i < count; i++) {
                pathways__wire__fetch_done__init(&done[i]);
                done[i].token = fetched[i].token;
                done[i].status = fetched[i].err.status;
                done[i].text = (char *)(uintptr_t)(fetched[i].err.status == PW_OK ? "" : fetched[i].err.text);
                list[i] = &done[i];
        }
        body.n_done = count;
        body.done = list;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_FETCH_REPORT;
        request.fetch_report = &body;
        if (pw_connection_call(attached->connection, &request, &answer, NULL) != PW_OK)
                return UINT32_MAX;
        for (size_t i = 0; answer.reply->body_case == PATHWAYS__WIRE__REPLY__BODY_FETCH_TASKS &&
                           i < answer.reply->fetch_tasks->n_tasks && told < PW_FETCHES_MAX; i++) {
                const Pathways__Wire__FetchTask *task = answer.reply->fetch_tasks->tasks[i];
                ret_tasks[told++] = (struct pw_wanted_value){ task->token, task->from_offset, task->bytes, task->to_offset,
                                                            task->from_segment, task->to_segment };
        }
        pw_answer_done(&answer);
        return told;
}

/* Too many are all. */
static bool ask_leaving(void *context, uint64_t upto, struct pw_leaving *ret_leaving)
{
        struct pw_attached *attached = context;
        Pathways__Wire__Unpinned body = PATHWAYS__WIRE__UNPINNED__INIT;
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        const Pathways__Wire__Unpin *unpin;
        struct pw_answer answer;
        bool heard;

        body.upto = upto;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_UNPINNED;
        request.unpinned = &body;
        if (pw_connection_call(attached->connection, &request, &answer, NULL) != PW_OK)
                return false;
        heard = answer.reply->body_case == PATHWAYS__WIRE__REPLY__BODY_UNPIN;
        if (heard) {
                unpin = answer.reply->unpin;
                *ret_leaving = (struct pw_leaving){ .upto = unpin->upto, .all = unpin->all || unpin->n_pages > PW_LEAVING_MAX };
                for (size_t i = 0; i < unpin->n_pages && !ret_leaving->all; i++)
                        ret_leaving->pages[ret_leaving->count++] = (struct pw_leaving_pages){
                                unpin->pages[i]->file, unpin->pages[i]->offset, unpin->pages[i]->bytes };
        }
        pw_answer_done(&answer);
        return heard;
}

static enum pw_status ask_module(void *context, const char *name, uint64_t digest, int *ret_fd, struct pw_error *ret_err)
{
        struct pw_attached *attached = context;
        Pathways__Wire__ModuleRequest body = PATHWAYS__WIRE__MODULE_REQUEST__INIT;
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        struct pw_answer answer;
        enum pw_status status;

        body.module = (char *)(uintptr_t)name;
        body.digest = digest;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_MODULE;
        request.module = &body;
        status = pw_connection_call(attached->connection, &request, &answer, ret_err);
        if (status != PW_OK)
                return status;
        status = descriptors(&answer, answer.reply->body_case == PATHWAYS__WIRE__REPLY__BODY_MODULE, "module", 1, ret_err);
        if (status == PW_OK) {
                *ret_fd = answer.fds[0];
                answer.fds[0] = -1;
        }
        pw_answer_done(&answer);
        return status;
}

static void ring_doorbell(void *context)
{
        struct pw_attached *attached = context;

        pw_connection_doorbell(attached->connection);
}

/* --- the Welcome --------------------------------------------------------------------------------------------------------- */

static enum pw_status map_next(struct pw_attached *attached, const struct pw_answer *welcome, uint64_t bytes, bool writable,
                               void **ret_base, struct pw_error *ret_err)
{
        struct pw_map *map = &attached->maps[attached->map_count];
        enum pw_status status = pw_map_fd(welcome->fds[attached->map_count], bytes, writable, map, ret_err);

        if (status != PW_OK)
                return status;
        attached->map_count++;
        *ret_base = map->base;
        return PW_OK;
}

static enum pw_status map_boards(struct pw_attached *attached, struct pw_answer *answer, struct pw_error *ret_err)
{
        const Pathways__Wire__Welcome *welcome = answer->reply->welcome;
        struct pw_launch_params *params = &attached->params;
        void *bells = NULL, *own = NULL, *board = NULL;
        enum pw_status status;

        if (welcome->device_count > PW_DEVICES_MAX || welcome->island_count > PW_ISLANDS_MAX ||
            params->device >= welcome->device_count || welcome->island >= welcome->island_count ||
            answer->fd_count < 2 + welcome->island_count + welcome->device_count)
                return pw_error_set(ret_err, PW_PROTOCOL,
                                    "pathwaysd welcomed device %u of %u on island %u of %u with %u descriptors", params->device,
                                    welcome->device_count, welcome->island, welcome->island_count, answer->fd_count);
        params->host = welcome->host;
        params->island = welcome->island;
        params->device_count = welcome->device_count;
        params->island_count = welcome->island_count;
        status = map_next(attached, answer, sizeof(struct pw_bells), true, &bells, ret_err);
        if (status == PW_OK)
                status = map_next(attached, answer, sizeof(struct pw_device_board), true, &own, ret_err);
        for (uint32_t i = 0; i < welcome->island_count && status == PW_OK; i++) {
                status = map_next(attached, answer, PW_ISLAND_BOARD_BYTES, false, &board, ret_err);
                params->islands[i] = board;
        }
        for (uint32_t i = 0; i < welcome->device_count && status == PW_OK; i++) {
                status = map_next(attached, answer, sizeof(struct pw_device_board), false, &board, ret_err);
                params->boards[i] = i == params->device ? own : board;
                if (i == params->device)
                        attached->done_at_start = atomic_load(&params->boards[i]->done.count);
        }
        params->bells = bells;
        for (uint32_t i = attached->map_count; i < answer->fd_count && status == PW_OK; i++) {
                pw_exec_arenas_take(&attached->arenas, answer->fds[i]);
                answer->fds[i] = -1;
        }
        return status;
}

static void ring_own(void *context)
{
        const struct pw_launch_params *params = context;

        pw_bells_ring_one(params->bells, params->device);
}

/* What was in the memory of the device is lost, and the gang that it is in is to blame, as by a crash. */
__attribute__((noreturn)) static void device_lost(void *context, const char *how)
{
        const struct pw_launch_params *params = context;
        struct pw_device_board *own = params->boards[params->device];

        strncpy(own->end_text, how, sizeof own->end_text - 1);
        pw_log(params->log, PW_LOG_ERROR, "device lost text=\"%s\"", how);
        _exit(PW_EXIT_DEVICE);
}

/* Behind its arena, if it has one. */
static enum pw_status open_collective(struct pw_attached *attached, struct pw_collective_params *of, struct pw_error *ret_err)
{
        struct pw_launch_params *params = &attached->params;
        struct pw_joint_marks *marks = &params->boards[params->device]->joint;
        bool nccl = params->kind->caps(params->handle) & PW_DEVICE_NCCL;

        of->failures = atomic_load(&marks->in_vain) + (atomic_exchange(&marks->making, 0) != 0);
        atomic_store(&marks->in_vain, of->failures);
        of->number = params->device;
        of->log = params->log;
        of->device = params->handle;
        of->memory = attached->arenas.bases[params->device];
        of->memory_bytes = attached->arenas.bytes;
        of->lost = device_lost;
        of->context = params;
        params->collective = pw_collective_kind(nccl && !of->off ? "nccl" : "host");
        return params->collective->open(of, &params->joints, ret_err);
}

static enum pw_status open_device(struct pw_attached *attached, struct pw_device_options *options, struct pw_error *ret_err)
{
        struct pw_launch_params *params = &attached->params;

        options->params.number = params->device;
        options->params.log = params->log;
        options->params.ring = ring_own;
        options->params.lost = device_lost;
        options->params.context = params;
        attached->capacity_bytes = pw_round_up(options->params.capacity_bytes, 4096);
        params->kind = pw_device_kind(options->kind);
        if (!params->kind)
                return pw_error_set(ret_err, PW_NOT_FOUND, "this executor has no devices of kind %s", options->kind);
        return params->kind->open(&options->params, &params->handle, ret_err);
}

static enum pw_status open_arenas(struct pw_attached *attached, struct pw_error *ret_err)
{
        struct pw_launch_params *given = &attached->params;
        struct pw_exec_arenas_params params = { .connection = attached->connection, .memory = given->kind->memory(given->handle),
                                                .handle = given->handle, .device = given->device,
                                                .bytes = attached->capacity_bytes };

        if (!(given->kind->caps(given->handle) & PW_DEVICE_APART))
                return PW_OK;
        return pw_exec_arenas_open(&attached->arenas, &params, &given->is_used, ret_err);
}

static enum pw_status open_all(struct pw_attached *attached, const char *text, struct pw_error *ret_err)
{
        struct pw_device_options options;
        enum pw_status status = pw_device_options_parse(text, &options, ret_err);

        if (status == PW_OK)
                status = open_device(attached, &options, ret_err);
        if (status == PW_OK)
                status = open_arenas(attached, ret_err);
        if (status == PW_OK)
                status = open_collective(attached, &options.collective, ret_err);
        return status;
}

/* The daemon is told, either way. */
static enum pw_status bring_up(struct pw_attached *attached, const char *options, struct pw_error *ret_err)
{
        Pathways__Wire__DeviceUp body = PATHWAYS__WIRE__DEVICE_UP__INIT;
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        enum pw_status status = open_all(attached, options, ret_err), told;
        struct pw_answer answer;
        struct pw_error err;
        char name[64] = "";

        if (status == PW_OK)
                attached->params.kind->name_of(attached->params.handle, name, sizeof name);
        body.status = status;
        body.text = status == PW_OK ? (char *)(uintptr_t)"" : ret_err->text;
        body.name = name;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_DEVICE_UP;
        request.device_up = &body;
        told = pw_connection_call(attached->connection, &request, &answer, &err);
        if (told == PW_OK)
                pw_answer_done(&answer);
        else if (status == PW_OK)
                *ret_err = err;
        return status == PW_OK ? told : status;
}

enum pw_status pw_attach(int fd, uint32_t device, const struct pw_log *log, struct pw_attached **ret_attached,
                         struct pw_error *ret_err)
{
        struct pw_attached *attached = calloc(1, sizeof *attached);
        struct pw_connection_params params = { .fd = fd, .role = "executor", .device = device, .gone = daemon_gone,
                                                .context = attached };
        struct pw_answer welcome;
        enum pw_status status;

        if (!attached)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for an executor");
        attached->fd = fd;
        attached->arenas = PW_EXEC_ARENAS_NONE;
        status = pw_connection_open(&params, &attached->connection, &welcome, ret_err);
        if (status != PW_OK) {
                free(attached);
                return status;
        }
        attached->around = (struct pw_surroundings){ attached, ask_segment, ask_rooms, ask_gone, tell_gone, ask_fetches,
                                                     ask_leaving, ask_module, end_if_detached, ring_doorbell };
        attached->params.around = &attached->around;
        attached->params.device = device;
        attached->params.log = log;
        status = map_boards(attached, &welcome, ret_err);
        if (status == PW_OK)
                status = bring_up(attached, welcome.reply->welcome->device_options, ret_err);
        pw_answer_done(&welcome);
        if (status != PW_OK)
                pw_detach(attached);
        else
                *ret_attached = attached;
        return status;
}

void pw_detach(struct pw_attached *attached)
{
        if (!attached)
                return;
        if (attached->params.collective)
                attached->params.collective->close(attached->params.joints);
        pw_exec_arenas_done(&attached->arenas);
        if (attached->params.handle)
                attached->params.kind->close(attached->params.handle);
        for (uint32_t i = 0; i < attached->map_count; i++)
                pw_unmap(&attached->maps[i]);
        pw_connection_close(attached->connection);
        free(attached->gone);
        free(attached);
}

const struct pw_launch_params *pw_attached_params(const struct pw_attached *attached) { return &attached->params; }
