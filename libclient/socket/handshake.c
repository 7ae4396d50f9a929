/* The handshake: Hello, and the daemon's Welcome or refusal, before the watcher thread runs. */
#include "libclient/socket/connection_private.h"

#include "plane/hint.h"

#include <errno.h>
#include <poll.h>

#define HANDSHAKE_NS (INT64_C(10) * 1000 * 1000 * 1000)

static enum pw_status say_hello(struct pw_connection *connection, struct pw_error *ret_err)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__Hello hello = PATHWAYS__WIRE__HELLO__INIT;
        hello.version = PW_WIRE_VERSION;
        hello.layout = PW_LAYOUT_VERSION;
        hello.role = (char *)(uintptr_t)connection->params.role;
        hello.device = connection->params.device;
        hello.command = program_invocation_short_name;
        request.id = pw_connection_next_ids(connection, 1);
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_HELLO;
        request.hello = &hello;
        return pw_connection_send_request(connection, &request, ret_err);
}

/* The first frame, or the deadline. */
static enum pw_status read_first(struct pw_connection *connection, struct pw_frame *ret_frame, struct pw_error *ret_err)
{
        int64_t deadline_ns = pw_now_ns() + HANDSHAKE_NS;
        for (;;) {
                enum pw_status status = pw_frame_next(&connection->decoder, ret_frame, ret_err);
                if (status == PW_OK && ret_frame->kind == PW_FRAME_DOORBELL)
                        continue;
                if (status != PW_NOT_READY)
                        return status;
                int64_t left_ms = (deadline_ns - pw_now_ns()) / 1000000;
                struct pollfd on = { .fd = connection->socket.fd, .events = POLLIN };
                if (left_ms <= 0 || poll(&on, 1, (int)left_ms) == 0)
                        return pw_error_set(ret_err, PW_DAEMON_GONE,
                                            "pathwaysd took the connection but did not answer within 10 s");
                size_t bytes;
                status = pw_decoder_read(&connection->decoder, connection->socket.fd, false, &bytes, ret_err);
                if (status != PW_OK)
                        return status;
        }
}

static enum pw_status check_welcome(const struct pw_answer *answer, struct pw_error *ret_err)
{
        enum pw_status status = pw_answer_status(answer, ret_err);
        if (status != PW_OK)
                return status;
        if (answer->reply->body_case != PATHWAYS__WIRE__REPLY__BODY_WELCOME)
                return pw_error_set(ret_err, PW_PROTOCOL, "the answer to the handshake is no Welcome");
        uint32_t version = answer->reply->welcome->version;
        if (version != PW_WIRE_VERSION)
                return pw_error_set(ret_err, PW_PROTOCOL, "pathwaysd speaks version %u, this library %u", version, PW_WIRE_VERSION);
        return PW_OK;
}

enum pw_status pw_connection_shake_hands(struct pw_connection *connection, struct pw_answer *ret_welcome, struct pw_error *ret_err)
{
        enum pw_status said = say_hello(connection, ret_err), status;
        struct pw_frame frame;
        if (said != PW_OK && said != PW_DAEMON_GONE)
                return said;
        /* A daemon that refuses may have closed before the Hello: its reason is there to be read all the same. */
        status = read_first(connection, &frame, said == PW_OK ? ret_err : NULL);
        if (status != PW_OK)
                return said == PW_OK ? status : said;
        struct pw_answer answer = { 0 };
        Pathways__Wire__Reply *reply = NULL;
        if (frame.kind == PW_FRAME_REPLY)
                reply = pathways__wire__reply__unpack(NULL, frame.bytes, frame.payload);
        if (!reply)
                return pw_error_set(ret_err, PW_PROTOCOL, "the answer to the handshake cannot be read");
        pw_answer_take(&answer, reply, &frame);
        status = check_welcome(&answer, ret_err);
        if (status != PW_OK) {
                pw_answer_done(&answer);
                return status;
        }
        *ret_welcome = answer;
        return PW_OK;
}
