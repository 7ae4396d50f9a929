/* Every kind of transport carries control and bulk streams as daemon/transport/stream/ says. */
#include "tests/conformance/transport/place.h"

#include "daemon/transport/stream/bulk.h"
#include "daemon/transport/stream/control.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>

#include <cmocka.h>

#define QUEUE_BYTES (4u << 20)

/* --- control ------------------------------------------------------------------------------------------------------------------ */

/* One end, and what it heard. */
struct end {
        struct pw_control_stream *stream;
        uint32_t frames, rooms, broken;
        uint64_t bytes;
        uint32_t stop_at;  /* it stops itself inside that frame; 0: never */
        bool wrong;        /* a frame was not as it was sent */
        struct pw_error why;
};

/* The frame with that number: its length, and each byte of it, follow from the number. */
static uint32_t frame_bytes(uint32_t number)
{
        static const uint32_t lengths[] = { 0, 1, 3, 4, 5, 4096, 16384, 16385, 65532, 70000, PW_FRAMES_MAX };

        return lengths[number % pw_array_count(lengths)];
}

static void frame_fill(uint8_t *bytes, uint32_t number) { memset(bytes, (int)(number * 37 + 1), frame_bytes(number)); }

static void on_frame(void *context, const uint8_t *frame, uint32_t bytes)
{
        struct end *end = context;
        uint32_t number = end->frames++;
        uint8_t *expected = malloc(PW_FRAMES_MAX);

        assert_non_null(expected);
        frame_fill(expected, number);
        if (bytes != frame_bytes(number) || (bytes && memcmp(frame, expected, bytes) != 0))
                end->wrong = true;
        free(expected);
        end->bytes += bytes;
        if (end->stop_at == end->frames)
                pw_control_stream_stop(end->stream);
}

static void on_room(void *context) { ((struct end *)context)->rooms++; }

static void on_broken(void *context, const struct pw_error *why)
{
        struct end *end = context;

        end->why = *why;
        end->broken++;
}

static const struct pw_control_stream_events events = { on_frame, on_room, on_broken };

static void end_make(struct end *end, struct pw_pipe **pipe)
{
        struct pw_control_stream_params params = { &events, end, QUEUE_BYTES };

        *end = (struct end){ .frames = 0 };
        assert_int_equal(pw_control_stream_new(*pipe, &params, &end->stream, NULL), PW_OK);
        *pipe = NULL;
}

/* In two parts, as a head and what is behind it. */
static enum pw_status send_frame(struct end *end, uint32_t number)
{
        uint32_t bytes = frame_bytes(number), first = bytes / 3;
        uint8_t *frame = malloc(PW_FRAMES_MAX);
        struct iovec parts[2] = { { frame, first }, { frame + first, bytes - first } };
        enum pw_status status;

        assert_non_null(frame);
        frame_fill(frame, number);
        status = pw_control_stream_send(end->stream, parts, 2, NULL);
        pw_control_stream_flush(end->stream);
        free(frame);
        return status;
}

static void meet(struct place *place, const struct pw_transport_kind *kind, enum pw_greeting_use use)
{
        place_make(place, &(struct place_params){ .kind = kind->name });
        if (place_call(place, "beta", use) != PW_OK)
                fail_msg("%s: %s", kind->name, place->why.text);
}

/* Frames of all sizes, both ways at once. */
static void test_frames(void **state)
{
        const struct pw_transport_kind *kind;
        struct place place;

        (void)state;
        each_kind(kind) {
                struct end ends[2];
                uint32_t sent[2] = { 0, 0 };

                meet(&place, kind, PW_USE_CONTROL);
                end_make(&ends[0], &place.called);
                end_make(&ends[1], &place.came);
                while (ends[0].frames < 44 || ends[1].frames < 44) {
                        for (uint32_t i = 0; i < 2; i++)
                                while (sent[i] < 44 && send_frame(&ends[i], sent[i]) == PW_OK)
                                        sent[i]++;
                        place_turn(&place);
                }
                for (uint32_t i = 0; i < 2; i++) {
                        assert_int_equal(ends[i].frames, 44);
                        assert_false(ends[i].wrong);
                        assert_int_equal(ends[i].broken, 0);
                }
                pw_control_stream_free(ends[0].stream);
                place_await(&place, &ends[1].broken, 1);
                assert_int_equal(ends[1].why.status, PW_DAEMON_GONE);
                assert_int_equal(send_frame(&ends[1], 0), PW_DAEMON_GONE);
                pw_control_stream_free(ends[1].stream);
                place_remove(&place);
        }
}

/* All of it, to the other end's pipe, which does not block: there is room for so few. */
static void write_all(struct pw_pipe *pipe, const void *bytes, size_t count)
{
        struct iovec part = { (void *)(uintptr_t)bytes, count };
        size_t written = 0;

        assert_int_equal(pipe->kind->write(pipe, &part, 1, &written, NULL), PW_OK);
        assert_int_equal(written, count);
}

/* The other side reads nothing: the queue fills, says so, and what the other side says is read all the same. */
static void test_full_queue(void **state)
{
        const struct pw_transport_kind *kind;
        struct place place;

        (void)state;
        each_kind(kind) {
                struct end near, far;
                uint32_t sent = 0, before;
                uint64_t queued;

                meet(&place, kind, PW_USE_CONTROL);
                end_make(&near, &place.called);
                do {
                        before = sent;
                        queued = pw_control_stream_queued_bytes(near.stream);
                        while (send_frame(&near, sent) == PW_OK)
                                sent++;
                        place_glance(&place);
                } while (sent != before || pw_control_stream_queued_bytes(near.stream) != queued);
                assert_true(queued <= QUEUE_BYTES && queued + PW_FRAMES_HEAD + PW_FRAMES_MAX > QUEUE_BYTES);
                assert_int_equal(send_frame(&near, sent), PW_LIMIT);
                near.rooms = 0;
                write_all(place.came, "\0\0\0\0\1\0\0\0\x26", 9);
                place_await(&place, &near.frames, 2);
                assert_false(near.wrong);
                end_make(&far, &place.came);
                place_await(&place, &near.rooms, 1);
                assert_int_equal(send_frame(&near, sent++), PW_OK);
                place_await(&place, &far.frames, sent);
                assert_false(far.wrong);
                assert_int_equal(near.broken + far.broken, 0);
                pw_control_stream_free(near.stream);
                pw_control_stream_free(far.stream);
                place_remove(&place);
        }
}

/* A frame of 4 GiB, one that is a byte too long, half a frame and then the end. */
static void test_bad_frames(void **state)
{
        static const struct { const char *bytes; uint32_t count; bool hang_up; } says[] = {
                { "\xff\xff\xff\xff", 4, false }, { "\1\0\x10\0", 4, false }, { "\x10\0\0\0half", 8, true }, { "\x10\0", 2, true },
        };
        const struct pw_transport_kind *kind;
        struct place place;

        (void)state;
        each_kind(kind) for (uint32_t i = 0; i < pw_array_count(says); i++) {
                struct end near;

                meet(&place, kind, PW_USE_CONTROL);
                end_make(&near, &place.called);
                write_all(place.came, "\0\0\0\0", 4);
                write_all(place.came, says[i].bytes, says[i].count);
                if (says[i].hang_up)
                        place_drop_pipes(&place);
                place_await(&place, &near.broken, 1);
                assert_int_equal(near.why.status, PW_PROTOCOL);
                assert_int_equal(near.frames, 1);
                pw_control_stream_free(near.stream);
                place_remove(&place);
        }
}

/* Who stops in the middle is told no more. */
static void test_stop(void **state)
{
        const struct pw_transport_kind *kind;
        struct place place;

        (void)state;
        each_kind(kind) {
                struct end near, far;

                meet(&place, kind, PW_USE_CONTROL);
                end_make(&near, &place.called);
                end_make(&far, &place.came);
                far.stop_at = 2;
                for (uint32_t i = 0; i < 8; i++)
                        assert_int_equal(send_frame(&near, i), PW_OK);
                place_await(&place, &near.broken, 1);
                assert_int_equal(far.frames, 2);
                assert_int_equal(far.broken, 0);
                pw_control_stream_free(near.stream);
                pw_control_stream_free(far.stream);
                place_remove(&place);
        }
}

/* --- bulk --------------------------------------------------------------------------------------------------------------------- */

#define ROOM_BYTES (8u << 20)
#define PARTS 5u

struct mover {
        struct pw_bulk_stream *stream;
        struct iovec parts[PARTS];
        bool sends;
        uint32_t times;             /* it moves them so often, UINT32_MAX: for ever */
        atomic_uint begun;
        uint32_t ended;             /* the loop's */
        enum pw_status status;      /* the thread's until it has ended */
};

static void move(void *context, struct pw_bulk_stream *stream)
{
        struct mover *mover = context;

        mover->status = PW_OK;
        for (uint32_t i = 0; i < mover->times && mover->status == PW_OK; i++) {
                mover->begun++;
                mover->status = mover->sends ? pw_bulk_stream_send(stream, mover->parts, PARTS, NULL)
                                             : pw_bulk_stream_receive(stream, mover->parts, PARTS, NULL);
        }
}

static void on_ended(void *context) { ((struct mover *)context)->ended++; }

static void mover_make(struct mover *mover, struct pw_pipe **pipe, uint8_t *room, bool sends, uint32_t times)
{
        static const uint32_t ends[2][PARTS] = { { 1, 1, 100000, 4194304, ROOM_BYTES }, { 0, 3, 2000000, 2000000, ROOM_BYTES } };
        struct pw_bulk_stream_params params = { move, on_ended, mover };

        *mover = (struct mover){ .sends = sends, .times = times };
        for (uint32_t i = 0, at = 0; i < PARTS; at = ends[sends][i++])
                mover->parts[i] = (struct iovec){ room + at, ends[sends][i] - at };
        assert_int_equal(pw_bulk_stream_new(*pipe, &params, &mover->stream, NULL), PW_OK);
        *pipe = NULL;
}

/* From a room into a room, in parts that do not fit those of the other side. */
static void test_bulk(void **state)
{
        const struct pw_transport_kind *kind;
        struct place place;

        (void)state;
        each_kind(kind) {
                uint8_t *from = malloc(ROOM_BYTES), *to = calloc(1, ROOM_BYTES);
                struct mover sender, receiver;

                assert_true(from && to);
                for (uint32_t i = 0; i < ROOM_BYTES; i++)
                        from[i] = (uint8_t)(i * 2654435761u >> 24);
                meet(&place, kind, PW_USE_BULK);
                mover_make(&sender, &place.called, from, true, 3);
                mover_make(&receiver, &place.came, to, false, 4);
                place_await(&place, &sender.ended, 1);
                place_await(&place, &receiver.ended, 1);
                assert_int_equal(sender.status, PW_OK);
                assert_int_equal(receiver.status, PW_DAEMON_GONE); /* at the fourth */
                assert_memory_equal(from, to, ROOM_BYTES);
                pw_bulk_stream_free(sender.stream);
                pw_bulk_stream_free(receiver.stream);
                place_remove(&place);
                free(from);
                free(to);
        }
}

/* A thread that waits for bytes, or for somebody to take its own, comes out when the loop shuts its stream. */
static void test_shut(void **state)
{
        const struct pw_transport_kind *kind;
        struct place place;

        (void)state;
        each_kind(kind) for (uint32_t sends = 0; sends < 2; sends++) {
                uint8_t *room = calloc(1, ROOM_BYTES);
                struct mover mover;

                assert_non_null(room);
                meet(&place, kind, PW_USE_BULK);
                mover_make(&mover, &place.called, room, sends, UINT32_MAX);
                while (!mover.begun)
                        sched_yield();
                pw_bulk_stream_shut(mover.stream);
                pw_bulk_stream_shut(mover.stream);
                assert_int_equal(mover.ended, 0);
                place_await(&place, &mover.ended, 1);
                assert_int_equal(mover.status, PW_CANCELLED);
                pw_bulk_stream_free(mover.stream);
                place_remove(&place);
                free(room);
        }
}

/* One is shut, and its transport closed: that waits for the thread, and nobody is told. */
static void test_close(void **state)
{
        const struct pw_transport_kind *kind;
        struct place place;

        (void)state;
        each_kind(kind) {
                uint8_t *room = calloc(1, ROOM_BYTES);
                struct mover mover;

                assert_non_null(room);
                meet(&place, kind, PW_USE_BULK);
                mover_make(&mover, &place.called, room, false, UINT32_MAX);
                pw_bulk_stream_shut(mover.stream);
                pw_transport_close(place.alpha);
                place.alpha = NULL;
                assert_int_equal(mover.status, PW_CANCELLED);
                assert_int_equal(mover.ended, 0);
                pw_bulk_stream_free(mover.stream);
                place_remove(&place);
                free(room);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_frames), cmocka_unit_test(test_full_queue), cmocka_unit_test(test_bad_frames),
                cmocka_unit_test(test_stop),   cmocka_unit_test(test_bulk),       cmocka_unit_test(test_shut),
                cmocka_unit_test(test_close),
        };

        return cmocka_run_group_tests(tests, place_group_begin, place_group_end);
}
