/* The handshake: versions agreed, memory made, descriptors handed over. */
#include "base/memory.h"
#include "daemon/child/child.h"
#include "daemon/child/spawn.h"
#include "daemon/client/client.h"
#include "daemon/client/tenant.h"
#include "daemon/memory/segment.h"
#include "daemon/session/kept.h"
#include "daemon/settings/quota.h"

#include <stdio.h>

#define CLIENT_SLOTS (PW_SLOT_MAX + 1)
/* A segment is sparse: with more addresses than memory, extents in use here and there do not keep a large one out. */
#define ROOM_SPACE 4u
/* Records of a session here, in the store and of its socket, that are made with it. */
#define SESSION_BYTES (6 * 1024)

static enum pw_status agree(const Pathways__Wire__Hello *hello, struct pw_error *ret_err)
{
        if (hello->version < 1)
                return pw_error_set(ret_err, PW_PROTOCOL, "the client speaks no version that this pathwaysd speaks (%u)",
                                    PW_WIRE_VERSION);
        if (hello->layout != PW_LAYOUT_VERSION)
                return pw_error_set(ret_err, PW_PROTOCOL,
                                    "shared memory has layout %u here, %u at the client: install one version of both",
                                    PW_LAYOUT_VERSION, hello->layout);
        return PW_OK;
}

static enum pw_status map_control(struct pw_dsession *session, struct pw_error *ret_err)
{
        struct pw_window window = pw_backed_window(&session->control_backed);
        enum pw_status status = pw_map_window(&window, true, &session->control_map, ret_err);

        if (status == PW_OK)
                session->control = (struct pw_control *)session->control_map.base;
        return status;
}

static enum pw_status open_in_store(struct pw_dsession *session, struct pw_error *ret_err)
{
        struct pw_store_session_params params = { .session = session->number,
                                                  .tenant = session->tenant->name,
                                                  .client = session->client,
                                                  .control = session->control,
                                                  .control_bytes = PW_CONTROL_BYTES,
                                                  .any_tenant = session->operator_,
                                                  .now_us = pw_now_us() };
        enum pw_status status = pw_store_session_open(session->daemon->store, &params, ret_err);

        if (status != PW_OK)
                return status;
        session->in_store = true;
        session->tenant->sessions++;
        session->kept_bytes = SESSION_BYTES;
        pw_kept_count(session->daemon, session->tenant, PW_KEPT_SESSIONS, SESSION_BYTES);
        return PW_OK;
}

static enum pw_status make_client(struct pw_dsession *session, struct pw_error *ret_err)
{
        struct pw_daemon *daemon = session->daemon;
        uint64_t rooms = ROOM_SPACE * pw_round_up(daemon->settings.host_memory, 4096);
        struct pw_segment like = { .layout = pw_segment_layout(PW_SEGMENT_CLIENT, CLIENT_SLOTS, rooms), .tenant = session->tenant,
                                   .session = session->number };
        struct pw_place_params place = { session->process, session->tenant, PW_CONTROL_BYTES, like.layout.bytes };
        enum pw_status status = pw_quota_session(session->tenant, ret_err);

        if (status == PW_OK)
                status = pw_backing_place(&place, &session->control_backed, &like.backed, ret_err);
        if (status != PW_OK)
                return status;
        status = map_control(session, ret_err);
        if (status == PW_OK)
                status = open_in_store(session, ret_err);
        if (status == PW_OK)
                status = pw_segment_reserve(daemon, &like, &session->own, ret_err);
        if (status != PW_OK)
                pw_backed_done(daemon, &like.backed);
        return status;
}

void pw_session_describe(Pathways__Wire__SegmentInfo *ret_info, const struct pw_segment *segment)
{
        pathways__wire__segment_info__init(ret_info);
        ret_info->segment = segment->number;
        ret_info->kind = segment->layout.kind;
        ret_info->slot_count = segment->layout.slot_count;
        ret_info->room_offset = segment->layout.room_offset;
        ret_info->bytes = segment->layout.bytes;
        ret_info->offset = segment->backed.offset;
        ret_info->apart = segment->apart;
        ret_info->device = segment->device;
}

static void fill_welcome(struct pw_dsession *session, Pathways__Wire__Welcome *welcome)
{
        struct pw_daemon *daemon = session->daemon;

        welcome->version = PW_WIRE_VERSION;
        welcome->host = daemon->host;
        welcome->epoch = daemon->epoch;
        welcome->session = session->number;
        welcome->tenant = session->tenant->name;
        welcome->host_capacity = daemon->settings.host_memory;
        welcome->control_bytes = PW_CONTROL_BYTES;
        welcome->device_count = daemon->device_count;
        welcome->island_count = daemon->settings.islands;
}

static enum pw_status too_crowded(const struct pw_daemon *daemon, struct pw_error *ret_err)
{
        return pw_error_set(ret_err, PW_LIMIT,
                            "pathwaysd has %u descriptors for %u sessions: end some, or raise its limit (LimitNOFILE, ulimit -n)",
                            daemon->clients.fd_limit, daemon->registry.sessions.count - 1);
}

static enum pw_status attach_client(struct pw_dsession *session, uint64_t id, struct pw_error *ret_err)
{
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        Pathways__Wire__Welcome welcome = PATHWAYS__WIRE__WELCOME__INIT;
        Pathways__Wire__SegmentInfo own, futures;
        enum pw_status status = session->crowded ? too_crowded(session->daemon, ret_err) :
                pw_tenant_begin(session->daemon, session->tenant, ret_err);
        int fds[3];

        if (status == PW_OK)
                status = make_client(session, ret_err);
        if (status == PW_OK)
                status = pw_backing_readonly(session->tenant->futures->backed.backing, &fds[1], ret_err);
        if (status != PW_OK)
                return status;
        fill_welcome(session, &welcome);
        pw_session_describe(&own, session->own);
        pw_session_describe(&futures, session->tenant->futures);
        welcome.own = &own;
        welcome.futures = &futures;
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_WELCOME;
        reply.welcome = &welcome;
        welcome.control_offset = session->control_backed.offset;
        fds[0] = session->control_backed.backing->fd;
        fds[2] = session->tenant->hints_fd;
        session->role = PW_ROLE_CLIENT;
        session->daemon->counters.sessions++;
        pw_session_reply(session, id, &reply, fds, pw_array_count(fds));
        return PW_OK;
}

static enum pw_status attach_child(struct pw_dsession *session, uint64_t id, const Pathways__Wire__Hello *hello,
                                   struct pw_error *ret_err)
{
        struct pw_daemon *daemon = session->daemon;
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        Pathways__Wire__Welcome welcome = PATHWAYS__WIRE__WELCOME__INIT;
        bool executor = !strcmp(hello->role, "executor");
        char options[PW_DEVICE_OPTIONS_BYTES];
        int fds[4 + PW_ISLANDS_MAX + PW_DEVICES_MAX];
        uint32_t fd_count = 0;
        enum pw_status status = pw_child_attached(session, executor, hello->device, ret_err);

        if (status != PW_OK)
                return status;
        fill_welcome(session, &welcome);
        if (executor) {
                pw_device_options_format(&daemon->settings, hello->device, options, sizeof options);
                welcome.device_options = options;
                welcome.island = pw_child_island(daemon, hello->device);
                fd_count = pw_child_descriptors(daemon, hello->device, fds);
        }
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_WELCOME;
        reply.welcome = &welcome;
        session->role = executor ? PW_ROLE_EXECUTOR : PW_ROLE_DESCRIBER;
        session->device = hello->device;
        pw_session_reply(session, id, &reply, fds, fd_count);
        return PW_OK;
}

enum pw_status pw_session_attach(struct pw_dsession *session, uint64_t id, const Pathways__Wire__Hello *hello,
                                 struct pw_error *ret_err)
{
        enum pw_status status = agree(hello, ret_err);

        if (status != PW_OK)
                return status;
        if (session->role != PW_ROLE_NONE)
                return pw_error_set(ret_err, PW_PROTOCOL, "Hello twice");
        status = strcmp(hello->role, "client") ? attach_child(session, id, hello, ret_err) : attach_client(session, id, ret_err);
        if (status != PW_OK) {
                session->daemon->counters.refused++;
                return status;
        }
        session->decoder.frame_max = PW_FRAME_MAX;
        pw_session_known(session);
        return status;
}
