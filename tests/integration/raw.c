/* Frames by hand. */
#include "tests/integration/raw.h"

#include "wire/frame.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FRAME_MAX 512u
#define BUFFER (1u << 16)

int raw_connect(const struct it_host *host)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        snprintf(address.sun_path, sizeof address.sun_path, "%s", host->socket);
        if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
                return fd;
        if (fd >= 0)
                close(fd);
        return -1;
}

enum pw_status raw_hello(int fd, char text[200]) { return raw_hello_of(fd, PW_LAYOUT_VERSION, text); }

enum pw_status raw_hello_of(int fd, uint32_t layout, char text[200])
{
        struct pw_decoder decoder;
        struct pw_frame frame;
        uint8_t bytes[FRAME_MAX];
        enum pw_status status = PW_OK;
        size_t got;

        (void)!send(fd, bytes, raw_pack_hello_of(layout, bytes), MSG_NOSIGNAL); /* who was refused is told all the same */
        pw_decoder_init(&decoder);
        while (status == PW_OK && (status = pw_frame_next(&decoder, &frame, NULL)) == PW_NOT_READY)
                status = pw_decoder_read(&decoder, fd, true, &got, NULL);
        text[0] = 0;
        if (status == PW_OK) {
                Pathways__Wire__Reply *reply = pathways__wire__reply__unpack(NULL, frame.bytes, frame.payload);

                assert_non_null(reply);
                status = (enum pw_status)reply->status;
                snprintf(text, 200, "%s", reply->text);
                pathways__wire__reply__free_unpacked(reply, NULL);
        }
        pw_decoder_done(&decoder);
        return status;
}

/* What is written and read of a flood. */
struct state {
        const struct raw_flood *flood;
        struct pw_decoder decoder;
        uint8_t buffer[BUFFER];
        uint32_t at, end, packed, answered, ok;
};

static void fill_buffer(struct state *state)
{
        if (state->at < state->end)
                return;
        state->at = state->end = 0;
        while (state->packed < state->flood->count && state->end + FRAME_MAX <= BUFFER) {
                Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;

                request.id = 100 + state->packed;
                state->flood->fill(state->flood->context, state->packed++, &request);
                assert_true(PW_FRAME_HEADER + pathways__wire__request__get_packed_size(&request) <= FRAME_MAX);
                state->end += raw_pack(&request, state->buffer + state->end);
        }
}

static void write_some(struct state *state)
{
        ssize_t sent = send(state->flood->fd, state->buffer + state->at, state->end - state->at, MSG_NOSIGNAL | MSG_DONTWAIT);

        assert_true(sent > 0 || errno == EAGAIN);
        if (sent > 0)
                state->at += (uint32_t)sent;
}

static void read_some(struct state *state)
{
        struct pw_frame frame;
        size_t got;

        it_ok(pw_decoder_read(&state->decoder, state->flood->fd, false, &got, IT_ERR));
        while (pw_frame_next(&state->decoder, &frame, NULL) == PW_OK) {
                Pathways__Wire__Reply *reply = pathways__wire__reply__unpack(NULL, frame.bytes, frame.payload);

                assert_non_null(reply);
                state->answered++;
                state->ok += reply->status == PW_OK;
                pathways__wire__reply__free_unpacked(reply, NULL);
        }
}

static bool is_over(const struct state *state)
{
        bool written = state->packed == state->flood->count && state->at == state->end;

        return written && (state->flood->unread || state->answered >= state->flood->count + state->flood->before);
}

uint32_t raw_flood(const struct raw_flood *flood)
{
        struct state state = { .flood = flood };
        int64_t until_us = it_now_us() + flood->limit_us;

        pw_decoder_init(&state.decoder);
        while (!is_over(&state)) {
                struct pollfd on = { .fd = flood->fd, .events = POLLIN };

                fill_buffer(&state);
                if (state.at < state.end)
                        on.events |= POLLOUT;
                assert_true(poll(&on, 1, 1000) >= 0);
                if (on.revents & POLLOUT)
                        write_some(&state);
                if (on.revents & POLLIN)
                        read_some(&state);
                if (it_now_us() > until_us && flood->unread)
                        break;
                if (it_now_us() > until_us)
                        fail_msg("%u of %u requests answered after %d s", state.answered, flood->count + flood->before,
                                 (int)(flood->limit_us / IT_SECOND));
        }
        pw_decoder_done(&state.decoder);
        return state.ok;
}

void raw_is_hung_up(int fd)
{
        struct timeval most = { IT_LONG / IT_SECOND, 0 };
        char bytes[256];
        ssize_t got;

        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most), 0);
        while ((got = recv(fd, bytes, sizeof bytes, 0)) > 0)
                ;
        assert_true(got == 0 || errno == ECONNRESET || errno == EPIPE);
        close(fd);
}

void raw_fill_remove(void *context, uint32_t i, Pathways__Wire__Request *request)
{
        static Pathways__Wire__NameRemove body;

        (void)context;
        (void)i;
        pathways__wire__name_remove__init(&body);
        body.name = (char *)(uintptr_t)"nothing";
        request->body_case = PATHWAYS__WIRE__REQUEST__BODY_NAME_REMOVE;
        request->name_remove = &body;
}
