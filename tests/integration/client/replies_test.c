/* What a turn of the daemon has for one session goes out together: each reply comes once and whole, also through a socket that was
 * full of them, and what was answered before a session ends comes before its end.
 */
#include "tests/integration/raw.h"
#include "wire/frame.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ASKED 2000u
#define FULL_MS 200 /* a socket that takes nothing for so long is full: the daemon reads no more of who does not read */
#define LETTERS 250
#define OBJECTS 12u /* of which a listing has some kilobytes */

/* Names that nobody bound, so long that the replies, which repeat them, are more than a socket holds. */
static void name_of(uint32_t i, char name[LETTERS + 1])
{
        memset(name, 'x', LETTERS);
        name[LETTERS] = 0;
        name[snprintf(name, 20, "%u", i)] = '/';
}

/* A lookup, or, of every other one, a listing of all objects: where the socket is nearly full a part of a reply goes out. */
static bool is_listing(uint64_t i) { return i % 2 == 0; }

static uint32_t pack(uint32_t i, uint8_t *frame)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__NameLookup lookup = PATHWAYS__WIRE__NAME_LOOKUP__INIT;
        Pathways__Wire__ListRequest list = PATHWAYS__WIRE__LIST_REQUEST__INIT;
        char name[LETTERS + 1], what[] = "objects";

        name_of(i, name);
        lookup.name = name;
        list.what = what;
        request.id = i;
        request.body_case = is_listing(i) ? PATHWAYS__WIRE__REQUEST__BODY_LIST : PATHWAYS__WIRE__REQUEST__BODY_NAME_LOOKUP;
        if (is_listing(i))
                request.list = &list;
        else
                request.name_lookup = &lookup;
        return raw_pack(&request, frame);
}

static int attach(const struct it_host *host)
{
        int fd = raw_connect(host);
        char text[200];

        assert_true(fd >= 0);
        assert_int_equal(raw_hello(fd, text), PW_OK);
        return fd;
}

struct reader { struct pw_decoder decoder; uint8_t *seen; uint32_t count; };

/* What is there: the names asked for, each once. False: the daemon hung up. */
static bool read_replies(struct reader *reader, int fd)
{
        enum pw_status status;
        struct pw_error err;
        struct pw_frame frame;
        char name[LETTERS + 1];
        size_t bytes;

        if (pw_decoder_read(&reader->decoder, fd, true, &bytes, &err) != PW_OK)
                return false;
        while ((status = pw_frame_next(&reader->decoder, &frame, &err)) == PW_OK) {
                Pathways__Wire__Reply *reply = pathways__wire__reply__unpack(NULL, frame.bytes, frame.payload);

                assert_non_null(reply);
                assert_in_range(reply->id, 1, ASKED);
                assert_int_equal(reader->seen[reply->id]++, 0);
                assert_int_equal(reply->status, is_listing(reply->id) ? PW_OK : PW_NOT_FOUND);
                name_of((uint32_t)reply->id, name);
                assert_true(is_listing(reply->id) ? reply->listing->n_rows == OBJECTS : strstr(reply->text, name) != NULL);
                pathways__wire__reply__free_unpacked(reply, NULL);
                reader->count++;
        }
        assert_int_equal(status, PW_NOT_READY);
        return true;
}

static struct reader reader_make(void)
{
        struct reader reader = { .seen = calloc(ASKED + 1, 1) };

        assert_non_null(reader.seen);
        pw_decoder_init(&reader.decoder);
        return reader;
}

static void reader_done(struct reader *reader)
{
        pw_decoder_done(&reader->decoder);
        free(reader->seen);
}

struct asker { int fd; uint32_t asked, bytes, sent; uint8_t frame[LETTERS + 100]; };

static bool has_more(const struct asker *asker) { return asker->asked < ASKED || asker->sent < asker->bytes; }

/* As much as the socket takes. */
static void ask(struct asker *asker)
{
        ssize_t sent = 0;

        for (; has_more(asker) && sent >= 0; asker->sent += sent > 0 ? (uint32_t)sent : 0) {
                if (asker->sent == asker->bytes) {
                        asker->bytes = pack(++asker->asked, asker->frame);
                        asker->sent = 0;
                }
                sent = send(asker->fd, asker->frame + asker->sent, asker->bytes - asker->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        }
        assert_true(sent >= 0 || errno == EAGAIN);
}

/* Asks until its socket is full, for it reads nothing; then it reads, and asks for the rest. */
static void each_reply_comes_whole(void **state)
{
        const struct it_host *host = *state;
        struct reader reader = reader_make();
        struct asker asker = { .fd = attach(host) };
        struct pollfd look = { .fd = asker.fd, .events = POLLOUT };
        struct pw_future *futures[OBJECTS];

        for (uint32_t i = 0; i < OBJECTS; i++)
                it_ok(pw_put(host->session, "x", 1, NULL, &futures[i], IT_ERR));
        while (has_more(&asker) && poll(&look, 1, FULL_MS) == 1)
                ask(&asker);
        while (reader.count < ASKED) {
                look.events = (short)(POLLIN | (has_more(&asker) ? POLLOUT : 0));
                assert_int_equal(poll(&look, 1, (int)(IT_LONG / 1000)), 1);
                if (look.revents & POLLIN)
                        assert_true(read_replies(&reader, asker.fd));
                if (look.revents & POLLOUT)
                        ask(&asker);
        }
        close(asker.fd);
        for (uint32_t i = 0; i < OBJECTS; i++)
                pw_unref(futures[i]);
        reader_done(&reader);
}

/* Three lookups and what no frame begins with, in one piece: three answers, and the end. */
static void answers_come_before_the_end(void **state)
{
        const struct it_host *host = *state;
        struct reader reader = reader_make();
        uint8_t frames[4 * (LETTERS + 100)];
        uint32_t bytes = 0;
        int fd = attach(host);

        for (uint32_t i = 1; i <= 5; i += 2)
                bytes += pack(i, frames + bytes);
        memset(frames + bytes, 0xff, 32);
        assert_int_equal(send(fd, frames, bytes + 32, MSG_NOSIGNAL), bytes + 32);
        while (read_replies(&reader, fd)) {
        }
        assert_int_equal(reader.count, 3);
        close(fd);
        reader_done(&reader);
}

int main(void)
{
        const struct CMUnitTest tests[] = { IT_TEST(each_reply_comes_whole), IT_TEST(answers_come_before_the_end) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
