/* The handlers of requests: a whole daemon in a thread, with executors, and a client that sends it any requests.
 *
 * An input is a row of requests: two bytes of length, then a packed Request, which is left out if it cannot be unpacked; where the
 * highest bit of the length is set the bytes go as they are. Else what a client learns only when it attaches is put in: the number
 * of the request, the epoch of ids that have 0 there, and of their segments 1, the client's own, and 2, that of its tenant's
 * futures. The first byte says whether the client says Hello. Afterwards another client is answered, and in the end store and
 * scheduler find nothing wrong. */
#include "tests/fuzz/fuzz.h"
#include "tests/integration/frame.h"
#include "tests/threads/inside.h"
#include "wire/frame.h"

#include "base/id.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define LAST UINT64_MAX /* id of the request whose answer is waited for */
#define PATIENCE_S 20
#define REQUESTS_MAX 64

static struct inside inside;

struct client {
        int fd;
        struct pw_decoder decoder;
        uint32_t host, epoch, own, futures;
};

static void must(bool is_so, const char *what)
{
        if (is_so)
                return;
        fprintf(stderr, "%s: %s\n", what, strerror(errno));
        abort();
}

/* --- a client without a library -------------------------------------------------------------------------------------------- */

static void client_open(struct client *client)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        struct timeval most = { PATIENCE_S, 0 };

        *client = (struct client){ .fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) };
        snprintf(address.sun_path, sizeof address.sun_path, "%s", inside.socket);
        pw_decoder_init(&client->decoder);
        setsockopt(client->fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
        setsockopt(client->fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
        must(connect(client->fd, (struct sockaddr *)&address, sizeof address) == 0, "connect");
}

static void client_close(struct client *client)
{
        pw_decoder_done(&client->decoder);
        close(client->fd);
}

/* False: the daemon has hung up. */
static bool send_payload(struct client *client, const uint8_t *payload, uint32_t bytes)
{
        return pw_frame_send(client->fd, PW_FRAME_REQUEST, payload, bytes, NULL, 0, NULL) == PW_OK;
}

static bool send_request(struct client *client, const Pathways__Wire__Request *request)
{
        uint32_t bytes = (uint32_t)pathways__wire__request__get_packed_size(request);
        uint8_t *payload = malloc(bytes + 1);

        must(payload, "memory");
        pathways__wire__request__pack(request, payload);
        bool sent = send_payload(client, payload, bytes);
        free(payload);
        return sent;
}

/* The reply to request `id`; NULL: the daemon has hung up. */
static Pathways__Wire__Reply *await_reply(struct client *client, uint64_t id)
{
        for (;;) {
                struct pw_frame frame;
                struct pw_error err = { PW_OK, "" };
                size_t bytes;
                enum pw_status status = pw_frame_next(&client->decoder, &frame, &err);

                if (status == PW_NOT_READY) {
                        status = pw_decoder_read(&client->decoder, client->fd, true, &bytes, &err);
                        if (status == PW_DAEMON_GONE)
                                return NULL;
                        must(status == PW_OK, err.text[0] ? err.text : "no answer");
                        continue;
                }
                must(status == PW_OK, err.text);
                if (frame.kind != PW_FRAME_REPLY)
                        continue;
                Pathways__Wire__Reply *reply = pathways__wire__reply__unpack(NULL, frame.bytes, frame.payload);
                must(reply, "a reply that cannot be read");
                if (reply->id == id)
                        return reply;
                pathways__wire__reply__free_unpacked(reply, NULL);
        }
}

/* Its own segment has a number once something is granted there. */
static void own_number(struct client *client)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__RoomRequest room = PATHWAYS__WIRE__ROOM_REQUEST__INIT;

        room.inline_only = true;
        room.count = 1;
        request.id = 2;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_ROOM;
        request.room = &room;
        must(send_request(client, &request), "a request for room");
        Pathways__Wire__Reply *reply = await_reply(client, 2);
        must(reply && reply->body_case == PATHWAYS__WIRE__REPLY__BODY_ROOM, "no room");
        client->own = reply->room->segment;
        pathways__wire__reply__free_unpacked(reply, NULL);
}

static void say_hello(struct client *client)
{
        uint8_t frame[256];
        uint32_t bytes = raw_pack_hello(frame);

        must(send(client->fd, frame, bytes, MSG_NOSIGNAL) == bytes, "Hello");
        Pathways__Wire__Reply *reply = await_reply(client, 1);
        must(reply && reply->body_case == PATHWAYS__WIRE__REPLY__BODY_WELCOME, "no Welcome");
        client->host = reply->welcome->host;
        client->epoch = reply->welcome->epoch;
        client->futures = reply->welcome->futures->segment;
        pathways__wire__reply__free_unpacked(reply, NULL);
        own_number(client);
}

/* Whatever was sent before was handled, or ended the session. */
static bool is_answered(struct client *client)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__ListRequest list = PATHWAYS__WIRE__LIST_REQUEST__INIT;

        list.what = (char *)(uintptr_t)"status";
        list.filter = (char *)(uintptr_t)"";
        request.id = LAST;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_LIST;
        request.list = &list;
        Pathways__Wire__Reply *reply = send_request(client, &request) ? await_reply(client, LAST) : NULL;
        if (!reply)
                return false;
        pathways__wire__reply__free_unpacked(reply, NULL);
        return true;
}

/* --- what it sends ------------------------------------------------------------------------------------------------------- */

static void mend_id(const struct client *client, Pathways__Wire__ObjectId *id)
{
        if (!id || id->epoch)
                return;
        struct pw_id given = { id->place, client->epoch, id->generation };
        uint32_t segment = pw_id_segment(given);

        if (segment == 1)
                segment = client->own;
        else if (segment == 2)
                segment = client->futures;
        given = pw_id_make(client->host, client->epoch, segment, pw_id_slot(given), id->generation);
        id->place = given.place;
        id->epoch = given.epoch;
}

static void mend(const struct client *client, Pathways__Wire__Request *request, uint32_t number)
{
        request->id = number;
        switch (request->body_case) {
        case PATHWAYS__WIRE__REQUEST__BODY_SEGMENT:
                if (request->segment->segment == 1 || request->segment->segment == 2)
                        request->segment->segment = request->segment->segment == 1 ? client->own : client->futures;
                break;
        case PATHWAYS__WIRE__REQUEST__BODY_NAME_BIND: mend_id(client, request->name_bind->object); break;
        case PATHWAYS__WIRE__REQUEST__BODY_LEASE: mend_id(client, request->lease->object); break;
        case PATHWAYS__WIRE__REQUEST__BODY_FREE: mend_id(client, request->free->object); break;
        case PATHWAYS__WIRE__REQUEST__BODY_CANCEL: mend_id(client, request->cancel->object); break;
        case PATHWAYS__WIRE__REQUEST__BODY_TRANSFER: mend_id(client, request->transfer->object); break;
        case PATHWAYS__WIRE__REQUEST__BODY_MOVE:
                mend_id(client, request->move->object);
                mend_id(client, request->move->with);
                break;
        default: break;
        }
}

static bool send_one(struct client *client, const uint8_t *payload, uint32_t bytes, bool as_it_is, uint32_t number)
{
        Pathways__Wire__Request *request;

        if (as_it_is)
                return send_payload(client, payload, bytes);
        request = pathways__wire__request__unpack(NULL, bytes, payload);
        if (!request)
                return true;
        mend(client, request, number);
        bool sent = send_request(client, request);
        pathways__wire__request__free_unpacked(request, NULL);
        return sent;
}

static void stop(void) { inside_stop(&inside); }

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
        struct fuzz_bytes left = { bytes, count };
        struct client client, other;
        bool alive = true;

        if (!inside.folder[0]) {
                inside_start(&inside, NULL);
                atexit(stop);
        }
        client_open(&client);
        if (!(fuzz_take(&left, 1) & 1))
                say_hello(&client);
        for (uint32_t number = 2; left.left && alive && number < REQUESTS_MAX; number++) {
                uint32_t head = (uint32_t)fuzz_take(&left, 2), length = head & 0x7fff;

                if (length > left.left)
                        length = (uint32_t)left.left;
                alive = send_one(&client, left.at, length, head & 0x8000, number);
                left.at += length;
                left.left -= length;
        }
        if (alive)
                (void)is_answered(&client);
        client_open(&other);
        say_hello(&other);
        must(is_answered(&other), "another client");
        client_close(&other);
        client_close(&client);
        return 0;
}
