/* From a pipe to a peer: its stream, its hello, its frames. */
#include "daemon/peer/call.h"

#include "base/memory.h"
#include "daemon/meta/meta.h"
#include "daemon/peer/borrowing.h"
#include "daemon/peer/draining.h"
#include "daemon/peer/lending.h"
#include "daemon/peer/name/naming.h"
#include "daemon/peer/page/paging.h"
#include "daemon/peer/pull/bulk.h"
#include "daemon/peer/pull/pulling.h"
#include "daemon/session/complaint.h"
#include "daemon/transport/pipe.h"
#include "daemon/transport/stream/control.h"

#include <stdlib.h>
#include <string.h>

#define QUEUE_BYTES (4u << 20) /* that a host has not taken, at most: then frames wait in its link */

struct pw_peer_call {
        struct pw_list link;     /* in `silent`, `over` or `failed` of the peers; else alone */
        struct pw_peers *peers;
        uint64_t number;
        struct pw_peer *peer;    /* whose it is; NULL: of one that came, and did not say so yet */
        struct pw_dial *dial;    /* while it is called */
        bool refused;            /* nobody listens where it called */
        struct pw_control_stream *stream;
        uint64_t hello_until_us; /* CLOCK_MONOTONIC; of one that came: until then it has said who it is */
        char proven[PW_HOST_NAME_MAX + 1]; /* the name that its certificate has; "": its proof names nobody */
        uint64_t bytes_in, bytes_out;
};

static struct pw_peer_call *call_new(struct pw_peers *peers, struct pw_peer *peer)
{
        struct pw_peer_call *call = calloc(1, sizeof *call);

        if (!call)
                return NULL;
        *call = (struct pw_peer_call){ .peers = peers, .number = ++peers->next_call, .peer = peer };
        pw_list_init(&call->link);
        if (pw_table_put(&peers->calls, call->number, call))
                return call;
        free(call);
        return NULL;
}

/* Nothing more is told of it; what is on the stack may still look at it. */
static void end(struct pw_peer_call *call)
{
        if (!pw_table_remove(&call->peers->calls, call->number))
                return;
        if (call->stream)
                pw_control_stream_stop(call->stream);
        if (call->peer)
                pw_peers_count(call->peers, call->peer->params.link.host,
                               &(struct pw_traffic){ .out = call->bytes_out, .in = call->bytes_in });
        pw_list_remove(&call->link);
        pw_list_append(&call->peers->over, &call->link);
        call->peers->daemon->loop.more = true;
}

static void call_free(struct pw_peer_call *call)
{
        if (call->dial)
                pw_dial_free(call->dial);
        pw_control_stream_free(call->stream);
        pw_list_remove(&call->link);
        free(call);
}

static uint32_t addresses_of(const struct pw_peer_call *call)
{
        const struct pw_host *host = pw_hosts_get(&call->peers->hosts, call->peer->params.link.host);

        return host ? pw_peers_address_count(host) : 1;
}

static void closed(struct pw_peer_call *call)
{
        struct pw_peers *peers = call->peers;

        if (!pw_table_get(&peers->calls, call->number))
                return;
        end(call);
        if (call->peer && call->refused)
                pw_peer_refused(call->peer, call->number, addresses_of(call), pw_boot_us());
        else if (call->peer)
                pw_peer_closed(call->peer, call->number, pw_boot_us());
}

/* --- what it says ------------------------------------------------------------------------------------------------------------- */

static const char *name_of(const struct pw_peer_call *call)
{
        return call->peer ? call->peer->params.name : call->proven[0] ? call->proven : "somebody";
}

static void hear_hello(struct pw_peer_call *call, const struct pw_hello *hello)
{
        const char *proven = call->proven[0] ? call->proven : NULL;
        struct pw_peers *peers = call->peers;
        struct pw_error err;
        enum pw_status status;

        if (!peers->joined)
                status = pw_error_set(&err, PW_NOT_READY, "this host has no number yet");
        else if (call->peer)
                status = pw_peer_hello(call->peer, call->number, hello, proven, pw_boot_us(), &err);
        else
                status = pw_hosts_hello(&peers->hosts, call->number, hello, proven, pw_boot_us(), &call->peer, &err);
        if (status == PW_OK) {
                pw_list_remove(&call->link); /* it is silent no more */
                pw_hosts_heard(&peers->hosts, hello);
                return;
        }
        if (status == PW_NOT_FOUND) /* it has joined since the host table was read */
                pw_meta_look(peers->daemon->meta);
        if (status == PW_BUSY || status == PW_NOT_FOUND || status == PW_NOT_READY) /* it calls again, and then it goes well */
                pw_log(&peers->daemon->log, PW_LOG_DEBUG, "host put off name=%s reason=\"%s\"", hello->name, err.text);
        else
                pw_complain(peers->daemon, PW_LOG_OTHERS, "host refused name=%s number=%u reason=\"%s\"", hello->name, hello->host,
                            err.text);
        end(call); /* who refused it has shut it */
}

static enum pw_status hear_body(struct pw_peer_call *call, const struct pw_peer_said *said, struct pw_error *ret_err)
{
        struct pw_talk_message message;
        uint32_t host = call->peer->params.link.host;
        enum pw_status status;

        if (said->whose == PW_PEER_BODY_PULL)
                return pw_pulling_hear(call->peers, host, said->body, said->body_bytes, ret_err);
        if (said->whose == PW_PEER_BODY_PAGE)
                return pw_paging_hear(call->peers, host, said->body, said->body_bytes, ret_err);
        if (said->whose == PW_PEER_BODY_NAME)
                return pw_naming_hear(call->peers, host, said->body, said->body_bytes, ret_err);
        if (said->whose != PW_PEER_BODY_TALK)
                return pw_error_set(ret_err, PW_PROTOCOL, "a message between schedulers: no program runs over several hosts yet");
        status = pw_talk_decode(said->body, said->body_bytes, &message, ret_err);
        if (status != PW_OK)
                return status;
        status = pw_talk_is_for_lender(message.kind) ? pw_lending_hear(call->peers, host, &message, ret_err)
                                                     : pw_borrowing_hear(call->peers, host, &message, ret_err);
        if (status == PW_OK && message.kind == PW_TALK_DRAINS)
                pw_draining_heard(call->peers, host);
        return status;
}

static void hear_frame(struct pw_peer_call *call, const struct pw_peer_said *said)
{
        struct pw_error err;
        enum pw_status status;

        if (!call->peer)
                status = pw_error_set(&err, PW_PROTOCOL, "it sends before it has said who it is");
        else
                status = pw_peer_head(call->peer, call->number, &said->head, pw_boot_us(), &err);
        if (status == PW_EXISTS || status == PW_GONE)
                return; /* it came before; or on a connection that another one has replaced */
        if (status == PW_OK && said->head.number) {
                status = hear_body(call, said, &err);
                if (status == PW_OK)
                        return;
                pw_peers_give_up(call->peers, call->peer->params.link.host, &err);
        }
        if (status == PW_OK)
                return;
        pw_complain(call->peers->daemon, PW_LOG_OTHERS, "host breaks the protocol name=%s reason=\"%s\"", name_of(call), err.text);
        closed(call);
}

static void on_frame(void *context, const uint8_t *frame, uint32_t bytes)
{
        struct pw_peer_call *call = context;
        struct pw_peer_said said;
        struct pw_error err;

        call->bytes_in += bytes;
        call->peers->daemon->loop.more = true;
        if (pw_peer_unpack(frame, bytes, &said, &err) != PW_OK) {
                pw_complain(call->peers->daemon, PW_LOG_OTHERS, "host breaks the protocol name=%s reason=\"%s\"", name_of(call),
                            err.text);
                closed(call);
                return;
        }
        if (said.is_hello)
                hear_hello(call, &said.hello);
        else
                hear_frame(call, &said);
        pw_peer_said_done(&said);
}

static void on_room(void *context)
{
        struct pw_peer_call *call = context;

        call->peers->daemon->loop.more = true; /* the turn goes on writing */
}

static void on_broken(void *context, const struct pw_error *why)
{
        struct pw_peer_call *call = context;

        pw_log(&call->peers->daemon->log, PW_LOG_DEBUG, "connection over host=%s reason=\"%s\"", name_of(call), why->text);
        closed(call);
}

static const struct pw_control_stream_events stream_events = { on_frame, on_room, on_broken };

/* Own: the pipe goes, whatever comes of it. */
static enum pw_status begin(struct pw_peer_call *call, struct pw_pipe *pipe_take, const struct pw_greeting *greeting,
                            struct pw_error *ret_err)
{
        struct pw_control_stream_params params = { &stream_events, call, QUEUE_BYTES };
        enum pw_status status;

        if (pipe_take->kind->has & PW_TRANSPORT_NAMES)
                strcpy(call->proven, greeting->name);
        status = pw_control_stream_new(pipe_take, &params, &call->stream, ret_err);
        if (status != PW_OK)
                pw_pipe_free(pipe_take);
        return status;
}

/* --- those that come ---------------------------------------------------------------------------------------------------------- */

static void came(void *context, struct pw_pipe *pipe_take, const struct pw_greeting *greeting)
{
        struct pw_peers *peers = context;
        struct pw_peer_call *call;
        struct pw_error err;

        if (peers->joined && greeting->use == PW_USE_BULK) {
                pw_bulk_came(peers->bulk, pipe_take, greeting);
                return;
        }
        call = peers->joined ? call_new(peers, NULL) : NULL;
        if (!call) {
                pw_pipe_free(pipe_take);
                return;
        }
        if (begin(call, pipe_take, greeting, &err) != PW_OK) {
                end(call);
                return;
        }
        call->hello_until_us = pw_now_us() + peers->daemon->settings.lease_us;
        pw_list_append(&peers->silent, &call->link);
        peers->daemon->loop.more = true;
}

static void refused(void *context, const struct pw_error *why)
{
        struct pw_peers *peers = context;

        pw_complain(peers->daemon, PW_LOG_OTHERS, "connection refused reason=\"%s\"", why->text);
}

const struct pw_listener_events pw_calls_events = { came, refused };

/* --- the port ----------------------------------------------------------------------------------------------------------------- */

static void called(void *context, struct pw_pipe *pipe_take, const struct pw_greeting *greeting, const struct pw_error *why)
{
        struct pw_peer_call *call = context;
        struct pw_error err;
        enum pw_status status;

        call->peers->daemon->loop.more = true;
        status = pipe_take ? begin(call, pipe_take, greeting, &err) : pw_error_set(&err, why->status, "%s", why->text);
        if (!pw_table_get(&call->peers->calls, call->number))
                return; /* nobody wants it any more */
        if (status == PW_OK) {
                pw_peer_connected(call->peer, call->number, pw_boot_us());
                return;
        }
        call->refused = status == PW_NOT_FOUND;
        pw_log(&call->peers->daemon->log, PW_LOG_DEBUG, "host not reached name=%s reason=\"%s\"", call->peer->params.name,
               err.text);
        closed(call);
}

static enum pw_status dial(struct pw_peer_call *call, struct pw_error *ret_err)
{
        const struct pw_link *link = call->peer->link;
        const struct pw_host *host = pw_hosts_get(&call->peers->hosts, link->params.host);
        char address[PW_HOST_ADDRESS_MAX + 1];
        struct pw_dial_params params = { .address = address, .expected = call->peer->params.name, .use = PW_USE_CONTROL,
                                         .done = called, .context = call };

        if (!host || !pw_peers_address(host, link->calls, address))
                return pw_error_set(ret_err, PW_UNSUPPORTED, "it listens nowhere: it has no --listen");
        return pw_transport_dial(call->peers->transport, &params, &call->dial, ret_err);
}

static uint64_t port_connect(void *context, struct pw_peer *peer)
{
        struct pw_peers *peers = context;
        struct pw_peer_call *call = call_new(peers, peer);
        enum pw_status status;
        struct pw_error err;

        if (!call)
                return ++peers->next_call; /* of that number nobody ever hears: it is late, and called again */
        status = dial(call, &err);
        if (status != PW_OK) {
                call->refused = status == PW_NOT_FOUND;
                pw_log(&peers->daemon->log, PW_LOG_DEBUG, "host not called name=%s reason=\"%s\"", peer->params.name, err.text);
                pw_list_append(&peers->failed, &call->link);
                peers->daemon->loop.more = true;
        }
        return call->number;
}

static void send_bytes(struct pw_peer_call *call, uint8_t *bytes_take, uint32_t count)
{
        struct iovec part = { bytes_take, count };
        struct pw_error err;

        if (pw_control_stream_send(call->stream, &part, 1, &err) != PW_OK)
                pw_log(&call->peers->daemon->log, PW_LOG_WARNING, "hello not sent host=%s reason=\"%s\"", name_of(call), err.text);
        pw_control_stream_flush(call->stream);
        call->bytes_out += count;
        free(bytes_take);
}

/* Without memory for it the other side hears nothing, and the connection is late. */
static void port_say(void *context, uint64_t connection, const struct pw_hello *hello)
{
        const struct pw_peers *peers = context;
        struct pw_peer_call *call = pw_table_get(&peers->calls, connection);
        uint8_t *bytes;
        uint32_t count;

        if (call && call->stream && pw_peer_pack_hello(hello, &bytes, &count) == PW_OK)
                send_bytes(call, bytes, count);
}

static void port_shut(void *context, uint64_t connection)
{
        const struct pw_peers *peers = context;
        struct pw_peer_call *call = pw_table_get(&peers->calls, connection);

        if (call)
                end(call);
}

static void port_met(void *context, struct pw_peer *peer, const struct pw_link_met *met)
{
        struct pw_peers *peers = context;
        uint32_t host = peer->params.link.host;
        struct pw_error err;

        pw_log(&peers->daemon->log, PW_LOG_INFO, "host met host=h%u name=%s epoch=%x term=%llu%s", host, peer->params.name,
               peer->link->epoch, (unsigned long long)peer->link->term,
               !met->ended_term ? "" : met->restarted ? " it was started again" : " it had given this one up");
        if (met->ended_term) {
                pw_pulling_ended(peers, host);
                pw_borrowing_ended(peers, host);
                pw_lending_ended(peers, host);
                pw_naming_ended(peers, host);
                pw_paging_ended(peers, host);
                pw_draining_ended(peers, host);
        }
        pw_pulling_met(peers, host);
        if (pw_borrowing_met(peers, host, peer->link->epoch, &err) != PW_OK)
                pw_log(&peers->daemon->log, PW_LOG_WARNING, "not all that was borrowed is renewed host=h%u reason=\"%s\"", host,
                       err.text);
        pw_draining_met(peers, host);
}

static void port_gave_up(void *context, struct pw_peer *peer, const struct pw_error *why)
{
        struct pw_peers *peers = context;
        uint32_t host = peer->params.link.host;

        pw_log(&peers->daemon->log, peer->link->aways > 1 ? PW_LOG_DEBUG : PW_LOG_WARNING,
               "host given up host=h%u name=%s reason=\"%s\"", host, peer->params.name, why->text);
        pw_pulling_ended(peers, host);
        pw_borrowing_ended(peers, host);
        pw_lending_ended(peers, host);
        pw_naming_ended(peers, host);
        pw_paging_ended(peers, host);
        pw_draining_ended(peers, host);
}

const struct pw_peer_port pw_calls_port = { port_connect, port_say, port_shut, port_met, port_gave_up };

/* --- writing, turns ----------------------------------------------------------------------------------------------------------- */

/* False: it takes no more for now, or is over. */
static bool write_one(struct pw_peer_call *call, struct pw_peer *peer, const struct pw_peer_writing *writing)
{
        struct pw_error err;
        uint8_t *bytes;
        uint32_t count;
        enum pw_status status = pw_peer_pack_frame(&writing->head, writing->frame, &bytes, &count);

        if (status != PW_OK)
                return false; /* it is tried again when there is memory */
        status = pw_control_stream_send(call->stream, &(struct iovec){ bytes, count }, 1, &err);
        free(bytes);
        if (status != PW_OK)
                return false;
        call->bytes_out += count;
        pw_peer_wrote(peer, writing, pw_boot_us());
        return true;
}

void pw_calls_write(struct pw_peers *peers, struct pw_peer *peer)
{
        struct pw_peer_writing writing;
        struct pw_peer_call *call = NULL;

        while (pw_peer_next(peer, pw_boot_us(), &writing)) {
                call = pw_table_get(&peers->calls, writing.connection);
                if (!call || !call->stream || !write_one(call, peer, &writing))
                        break;
        }
        if (call && call->stream)
                pw_control_stream_flush(call->stream);
}

bool pw_calls_turn(struct pw_peers *peers)
{
        bool any = !pw_list_empty(&peers->failed) || !pw_list_empty(&peers->over);
        struct pw_peer_call *call;

        pw_list_each(&peers->failed, call, struct pw_peer_call, link)
                closed(call);
        pw_list_each(&peers->over, call, struct pw_peer_call, link)
                call_free(call);
        return any;
}

uint64_t pw_calls_next_us(const struct pw_peers *peers)
{
        return pw_list_empty(&peers->silent) ? UINT64_MAX
                                             : pw_list_first(&peers->silent, struct pw_peer_call, link)->hello_until_us;
}

void pw_calls_tick(struct pw_peers *peers, uint64_t now_us)
{
        struct pw_peer_call *call;

        pw_list_each(&peers->silent, call, struct pw_peer_call, link) {
                if (call->hello_until_us > now_us)
                        return;
                pw_complain(peers->daemon, PW_LOG_OTHERS, "connection refused reason=\"%s has not said who it is for a lease\"",
                            name_of(call));
                end(call);
        }
}

void pw_calls_count(const struct pw_peers *peers, const struct pw_peer *peer, uint64_t *ret_out, uint64_t *ret_in)
{
        const struct pw_peer_call *call;

        *ret_out = *ret_in = 0;
        for (uint32_t at = 0; (call = pw_table_next(&peers->calls, &at));) {
                *ret_out += call->peer == peer ? call->bytes_out : 0;
                *ret_in += call->peer == peer ? call->bytes_in : 0;
        }
}

void pw_calls_done(struct pw_peers *peers)
{
        struct pw_peer_call *call;

        for (uint32_t at = 0; (call = pw_table_next(&peers->calls, &at)); at = 0)
                end(call);
        (void)pw_calls_turn(peers);
        pw_table_done(&peers->calls);
}
