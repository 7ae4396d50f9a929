/* One table: which body goes to which handler, and who may send it. */
#include "daemon/client/request.h"

#include "base/memory.h"
#include "daemon/child/child.h"
#include "daemon/client/client.h"
#include "daemon/client/object/foreign.h"
#include "daemon/client/lane.h"
#include "daemon/client/scan.h"
#include "daemon/client/object/move.h"
#include "daemon/client/object/name.h"
#include "daemon/client/observer.h"
#include "daemon/client/object/transfer.h"
#include "daemon/child/arena.h"
#include "daemon/memory/fetch/fetch.h"
#include "daemon/memory/freezer/frozen.h"
#include "daemon/memory/room.h"
#include "daemon/memory/segment.h"
#include "daemon/module/module.h"
#include "daemon/peer/draining.h"
#include "daemon/session/object.h"
#include "daemon/session/output.h"
#include "daemon/work/cancel.h"
#include "daemon/work/shape/describe.h"
#include "daemon/work/program.h"
#include "daemon/work/slice.h"
#include "store/object.h"

#define PLAIN_MAX_BYTES (256u << 10) /* of a request, but for programs: what is unpacked on the loop */

static void take_hello(struct pw_dsession *session, const Pathways__Wire__Request *request)
{
        struct pw_error err;
        enum pw_status status = pw_session_attach(session, request->id, request->hello, &err);

        if (status == PW_OK)
                return;
        pw_session_reply_error(session, request->id, status, err.text);
        pw_session_end(session, err.text);
}

static void take_room(struct pw_dsession *session, const Pathways__Wire__Request *request)
{
        pw_scan_reclaim(session->daemon, pw_now_us()); /* what is free already need not be waited for */
        if (!session->ended)
                pw_rooms_ask(session, request->id, request->room);
}

static void take_freeze(struct pw_dsession *session, const Pathways__Wire__Request *request)
{
        pw_scan_reclaim(session->daemon, pw_now_us());
        if (!session->ended)
                pw_frozen_request(session, request->id, request->freeze);
}

/* Of what an executor has mapped: which are no more. */
static void tell_gone(struct pw_dsession *session, uint64_t id)
{
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        Pathways__Wire__SegmentInfo info = PATHWAYS__WIRE__SEGMENT_INFO__INIT;

        info.n_gone = pw_child_maps(session->daemon, session->device, 0, &info.gone);
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_SEGMENT;
        reply.segment = &info;
        pw_session_reply(session, id, &reply, NULL, 0);
}

static enum pw_status take_memory(struct pw_backing *backing, bool own, int *ret_fd, struct pw_error *ret_err)
{
        if (!own)
                return pw_backing_readonly(backing, ret_fd, ret_err);
        *ret_fd = backing->fd;
        return PW_OK;
}

/* Who may map a segment: its tenant's sessions, operators and executors; for others there is none. Only the executor of a device
 * may write its memory. */
static void take_segment(struct pw_dsession *session, const Pathways__Wire__Request *request)
{
        struct pw_segment *segment = pw_segment_get(&session->daemon->memory, request->segment->segment);
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        Pathways__Wire__SegmentInfo info;
        bool executor = session->role == PW_ROLE_EXECUTOR, heads, own;
        enum pw_status status = PW_OK;
        struct pw_error err;
        int fds[2] = { -1, -1 };
        uint32_t count = 0;

        if (executor && !request->segment->segment) {
                tell_gone(session, request->id);
                return;
        }
        if (!segment || (!executor && segment->tenant != session->tenant && !session->operator_)) {
                pw_session_reply_error(session, request->id, PW_NOT_FOUND, "there is no such segment (any more)");
                return;
        }
        if (session->in_store && segment->layout.kind != PW_SEGMENT_DEVICE)
                status = pw_store_reader_add(session->daemon->store, segment->number, session->number, &err);
        heads = executor && segment->layout.kind == PW_SEGMENT_DEVICE;
        own = executor && (heads ? segment->device == session->device : segment->fetched);
        if (status == PW_OK && segment->apart && !executor)
                status = pw_error_set(&err, PW_UNSUPPORTED, "the processor does not read the memory of device %u", segment->device);
        if (status == PW_OK && !segment->apart)
                status = take_memory(segment->backed.backing, own, &fds[count++], &err);
        if (status == PW_OK && heads)
                status = take_memory(segment->heads.backing, own, &fds[count++], &err);
        if (status != PW_OK) {
                pw_session_reply_error(session, request->id, status, err.text);
                return;
        }
        pw_session_describe(&info, segment);
        if (executor && segment->backed.backing)
                pw_child_unpin_may(session->daemon, session->device, segment->backed.backing->file);
        if (executor)
                info.n_gone = pw_child_maps(session->daemon, session->device, segment->number, &info.gone);
        if (heads)
                info.heads = pw_segment_heads(segment->layout.bytes);
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_SEGMENT;
        reply.segment = &info;
        pw_session_reply(session, request->id, &reply, fds, count);
}

/* An executor has made the arena of its device, or wants that of another. */
static void take_arena(struct pw_dsession *session, const Pathways__Wire__Request *request)
{
        struct pw_daemon *daemon = session->daemon;
        Pathways__Wire__Arena arena = PATHWAYS__WIRE__ARENA__INIT;
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        uint32_t device = request->arena->device;
        struct pw_child_arena *of = device < daemon->device_count ? &daemon->children.all[device].arena : NULL;
        enum pw_status status = PW_OK;
        struct pw_error err;

        if (of && device == session->device)
                status = pw_child_arena_take(of, &err);
        if (status == PW_OK && (!of || of->fd < 0))
                status = pw_error_set(&err, PW_NOT_FOUND, "device %u has no arena", device);
        if (status != PW_OK) {
                pw_session_reply_error(session, request->id, status, err.text);
                return;
        }
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_ARENA;
        reply.arena = &arena;
        arena.device = device;
        pw_session_reply(session, request->id, &reply, &of->fd, 1);
}

static void take_device_up(struct pw_dsession *session, const Pathways__Wire__Request *request)
{
        const Pathways__Wire__DeviceUp *up = request->device_up;
        struct pw_error err;

        if (!up->status) {
                pw_child_up(session->daemon, session->device, up->name);
        } else {
                pw_error_set(&err, pw_status_told(up->status), "%s", up->text);
                pw_child_not_up(session->daemon, session->device, &err);
        }
        pw_session_reply_ok(session, request->id);
}

static void take_fetched(struct pw_dsession *session, const Pathways__Wire__Request *request)
{
        pw_fetch_report(session, request->id, request->fetch_report);
}

/* The executor has let go of pages, and hears of others. */
static void take_unpinned(struct pw_dsession *session, const Pathways__Wire__Request *request)
{
        const struct pw_child_unpins *unpins = pw_child_unpinned(session->daemon, session->device, request->unpinned->upto);
        Pathways__Wire__UnpinPages pages[PW_UNPIN_MOST], *list[PW_UNPIN_MOST];
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        Pathways__Wire__Unpin body = PATHWAYS__WIRE__UNPIN__INIT;

        for (uint32_t i = 0; i < unpins->count; i++) {
                list[i] = &pages[i];
                pathways__wire__unpin_pages__init(list[i]);
                pages[i].file = unpins->pages[i].file;
                pages[i].offset = unpins->pages[i].offset;
                pages[i].bytes = unpins->pages[i].bytes;
        }
        body.upto = unpins->asked;
        body.all = unpins->all;
        body.n_pages = unpins->count;
        body.pages = list;
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_UNPIN;
        reply.unpin = &body;
        pw_session_reply(session, request->id, &reply, NULL, 0);
        pw_child_unpin_told(session->daemon, session->device);
}

static void take_lane_end(struct pw_dsession *session, const Pathways__Wire__Request *request)
{
        if (session->in_store && request->lane_end->lane < PW_LANES_MAX)
                pw_store_lane_end(session->daemon->store, session->number, request->lane_end->lane, pw_now_us());
        pw_session_reply_ok(session, request->id);
}

static void take_leave(struct pw_dsession *session, const Pathways__Wire__Request *request)
{
        (void)request;
        session->left = true;
        pw_session_end(session, NULL);
}

static void take_slice_open(struct pw_dsession *session, const Pathways__Wire__Request *request)
{
        pw_slice_open_request(session, request->id, request->slice_open);
}

static void take_slice_close(struct pw_dsession *session, const Pathways__Wire__Request *request)
{
        pw_slice_close_request(session, request->id, request->slice_close->slice);
}

/* Those of clients that say at once what they are never come here. */
static void take_compile(struct pw_dsession *session, const Pathways__Wire__Request *request)
{
        pw_session_reply_error(session, request->id, PW_PROTOCOL, "a program that does not come first in its request");
}

static void take_program_free(struct pw_dsession *session, const Pathways__Wire__Request *request)
{
        pw_program_free_request(session, request->id, request->program_free->program);
}

/* Records that a client published before it asks by socket come first. */
static void take_name_bind(struct pw_dsession *session, const Pathways__Wire__Request *request)
{
        pw_name_bind(session, request->id, request->name_bind);
}

static void take_name_remove(struct pw_dsession *session, const Pathways__Wire__Request *request)
{
        pw_name_remove(session, request->id, request->name_remove);
}

static void take_name_lookup(struct pw_dsession *session, const Pathways__Wire__Request *request)
{
        pw_name_lookup(session, request->id, request->name_lookup);
}

static void take_lease(struct pw_dsession *session, const Pathways__Wire__Request *request)
{
        pw_name_lease(session, request->id, request->lease);
}

static void take_transfer(struct pw_dsession *session, const Pathways__Wire__Request *request)
{
        pw_transfer_request(session, request->id, request->transfer);
}

static void take_free(struct pw_dsession *session, const Pathways__Wire__Request *request)
{
        pw_name_free(session, request->id, request->free);
}

/* The client that was granted the slot may have submitted the run without our having read that. */
static void read_maker(struct pw_dsession *session, const Pathways__Wire__ObjectId *id)
{
        struct pw_object *object;
        struct pw_dsession *maker;

        if (pw_object_by_id(session, id, &object, NULL) != PW_OK || pw_object_run(object))
                return;
        maker = pw_session_get(&session->daemon->registry, object->grantee);
        if (maker)
                pw_lanes_drain(maker); /* a part, if there is very much */
}

static void take_cancel(struct pw_dsession *session, const Pathways__Wire__Request *request)
{
        if (request->cancel->object)
                read_maker(session, request->cancel->object);
        if (session->ended)
                return;
        pw_cancel_request(session, request->id, request->cancel);
}

static void take_object_open(struct pw_dsession *session, const Pathways__Wire__Request *request)
{
        pw_foreign_open(session, request->id, request->object_open);
}

static void take_object_fetch(struct pw_dsession *session, const Pathways__Wire__Request *request)
{
        pw_foreign_fetch(session, request->id, request->object_fetch);
}

static void take_drain(struct pw_dsession *session, const Pathways__Wire__Request *request)
{
        const Pathways__Wire__Drain *drain = request->drain;

        pw_draining_begin(session, &(struct pw_draining_request){ request->id, drain->host, drain->to, drain->timeout_us });
}

static void take_move(struct pw_dsession *session, const Pathways__Wire__Request *request)
{
        pw_move_request(session, request->id, request->move);
}

static void take_list(struct pw_dsession *session, const Pathways__Wire__Request *request)
{
        session->daemon->clients.observer->list(session, request->id, request->list);
}

static void take_trace(struct pw_dsession *session, const Pathways__Wire__Request *request)
{
        session->daemon->clients.observer->trace(session, request->id, request->trace);
}

static void take_module(struct pw_dsession *session, const Pathways__Wire__Request *request)
{
        pw_module_request(session, request->id, request->module);
}

static const struct handler {
        Pathways__Wire__Request__BodyCase body;
        unsigned roles; /* bits of enum pw_role */
        void (*take)(struct pw_dsession *session, const Pathways__Wire__Request *request);
} handlers[] = {
#define CLIENT (1u << PW_ROLE_CLIENT)
#define CHILD (1u << PW_ROLE_EXECUTOR | 1u << PW_ROLE_DESCRIBER)
#define WORK (1u << 31) /* new work: not where the host drains */
        { PATHWAYS__WIRE__REQUEST__BODY_HELLO, 1u << PW_ROLE_NONE, take_hello },
        { PATHWAYS__WIRE__REQUEST__BODY_ROOM, CLIENT | WORK, take_room },
        { PATHWAYS__WIRE__REQUEST__BODY_FREEZE, CLIENT | WORK, take_freeze },
        { PATHWAYS__WIRE__REQUEST__BODY_SEGMENT, CLIENT | CHILD, take_segment },
        { PATHWAYS__WIRE__REQUEST__BODY_ARENA, 1u << PW_ROLE_EXECUTOR, take_arena },
        { PATHWAYS__WIRE__REQUEST__BODY_DEVICE_UP, 1u << PW_ROLE_EXECUTOR, take_device_up },
        { PATHWAYS__WIRE__REQUEST__BODY_FETCH_REPORT, 1u << PW_ROLE_EXECUTOR, take_fetched },
        { PATHWAYS__WIRE__REQUEST__BODY_UNPINNED, 1u << PW_ROLE_EXECUTOR, take_unpinned },
        { PATHWAYS__WIRE__REQUEST__BODY_LANE_END, CLIENT, take_lane_end },
        { PATHWAYS__WIRE__REQUEST__BODY_LEAVE, CLIENT, take_leave },
        { PATHWAYS__WIRE__REQUEST__BODY_SLICE_OPEN, CLIENT | WORK, take_slice_open },
        { PATHWAYS__WIRE__REQUEST__BODY_SLICE_CLOSE, CLIENT, take_slice_close },
        { PATHWAYS__WIRE__REQUEST__BODY_PROGRAM_COMPILE, CLIENT | WORK, take_compile },
        { PATHWAYS__WIRE__REQUEST__BODY_PROGRAM_FREE, CLIENT, take_program_free },
        { PATHWAYS__WIRE__REQUEST__BODY_NAME_BIND, CLIENT | WORK, take_name_bind },
        { PATHWAYS__WIRE__REQUEST__BODY_NAME_REMOVE, CLIENT, take_name_remove },
        { PATHWAYS__WIRE__REQUEST__BODY_NAME_LOOKUP, CLIENT, take_name_lookup },
        { PATHWAYS__WIRE__REQUEST__BODY_LEASE, CLIENT | WORK, take_lease },
        { PATHWAYS__WIRE__REQUEST__BODY_TRANSFER, CLIENT, take_transfer },
        { PATHWAYS__WIRE__REQUEST__BODY_FREE, CLIENT, take_free },
        { PATHWAYS__WIRE__REQUEST__BODY_OBJECT_OPEN, CLIENT, take_object_open },
        { PATHWAYS__WIRE__REQUEST__BODY_OBJECT_FETCH, CLIENT, take_object_fetch },
        { PATHWAYS__WIRE__REQUEST__BODY_CANCEL, CLIENT, take_cancel },
        { PATHWAYS__WIRE__REQUEST__BODY_DRAIN, CLIENT, take_drain },
        { PATHWAYS__WIRE__REQUEST__BODY_MOVE, CLIENT, take_move },
        { PATHWAYS__WIRE__REQUEST__BODY_LIST, CLIENT, take_list },
        { PATHWAYS__WIRE__REQUEST__BODY_TRACE, CLIENT, take_trace },
        { PATHWAYS__WIRE__REQUEST__BODY_MODULE, CHILD, take_module },
};

static void serve(struct pw_dsession *session, const Pathways__Wire__Request *request, const struct handler *handler)
{
        struct pw_error err;

        if (handler->roles & WORK && pw_draining_check(session->daemon, &err) != PW_OK)
                pw_session_reply_error(session, request->id, err.status, err.text);
        else
                handler->take(session, request);
}

static void dispatch(struct pw_dsession *session, const Pathways__Wire__Request *request)
{
        for (uint32_t i = 0; i < pw_array_count(handlers); i++) {
                if (handlers[i].body != request->body_case)
                        continue;
                if (handlers[i].roles & 1u << session->role)
                        serve(session, request, &handlers[i]);
                else
                        pw_session_reply_error(session, request->id, session->role == PW_ROLE_NONE ? PW_PROTOCOL : PW_DENIED,
                                               session->role == PW_ROLE_NONE ? "Hello comes first" : "not a request of this role");
                return;
        }
        pw_session_reply_error(session, request->id, PW_UNSUPPORTED, "this pathwaysd does not know the request");
}

void pw_request_take(struct pw_dsession *session, const struct pw_frame *frame)
{
        Pathways__Wire__Request *request;
        bool compiles;
        uint64_t id = pw_program_request_id(frame, &compiles);

        session->daemon->loop.more = true;
        if (session->role == PW_ROLE_CLIENT && compiles) {
                pw_program_take(session, id, frame);
                return;
        }
        if (frame->bytes > PLAIN_MAX_BYTES) {
                pw_session_reply_error(session, id, PW_TOO_LARGE, "a request of more than 256 KiB that is no program");
                return;
        }
        request = pathways__wire__request__unpack(NULL, frame->bytes, frame->payload);
        if (!request) {
                pw_session_end(session, "a frame that is no request");
                return;
        }
        dispatch(session, request);
        pathways__wire__request__free_unpacked(request, NULL);
}

void pw_request_answered(struct pw_dsession *session, const struct pw_frame *frame)
{
        Pathways__Wire__Reply *reply =
                session->role == PW_ROLE_DESCRIBER ? pathways__wire__reply__unpack(NULL, frame->bytes, frame->payload) : NULL;

        if (!reply) {
                pw_session_end(session, "a reply that nobody asked for");
                return;
        }
        session->daemon->loop.more = true;
        pw_describe_answered(session->daemon, reply);
        pathways__wire__reply__free_unpacked(reply, NULL);
}
