/* Taking a slot for a lane, from what it was granted or from the daemon; and its ring: room in it, and publishing. */
#include "libclient/session.h"

#include <dirent.h>
#include <inttypes.h>

#ifndef RING_LOOKS /* tests/model looks once */
#define RING_LOOKS 400u /* a pause each: some microseconds, about what the daemon needs for a few hundred records */
#endif

static bool take_entry(struct pw_client_lane *lane, const struct pw_slot_request *request, uint32_t slot, struct pw_slot *ret_slot)
{
        if (request->row == PW_ROW_FUTURES) {
                ret_slot->entry = pw_map_entry(&lane->session->futures->map, slot);
                uint64_t word = pw_entry_load(ret_slot->entry);
                ret_slot->generation = pw_word_generation(word);
                return pw_word_state(word) == PW_ENTRY_PENDING;
        }
        const struct pw_extent *extent = lane->rows[request->row].current;
        ret_slot->entry = pw_map_entry(&lane->session->own->map, slot);
        ret_slot->room_offset = extent->room_offset + (slot - extent->first_slot) * extent->room_bytes;
        return pw_entry_take(ret_slot->entry, &ret_slot->generation);
}

static bool take_granted(struct pw_client_lane *lane, const struct pw_slot_request *request, struct pw_slot *ret_slot)
{
        struct pw_row *row = &lane->rows[request->row];
        bool turned;
        while (pw_row_pop(row, &ret_slot->slot, &turned)) {
                if (turned) /* an extent is used up: have the daemon read the DROPs that will refill it while we use the next */
                        pw_lane_publish(lane, true);
                if (take_entry(lane, request, ret_slot->slot, ret_slot))
                        return true;
        }
        return false;
}

static int64_t left_us(int64_t deadline_ns)
{
        if (deadline_ns == INT64_MAX)
                return -1;
        int64_t us = (deadline_ns - pw_now_ns() + 999) / 1000;
        return us > 0 ? us : 0;
}

static enum pw_status add_grant(struct pw_client_lane *lane, const struct pw_slot_request *request,
                                const Pathways__Wire__RoomGrant *grant, struct pw_error *ret_err)
{
        struct pw_session *session = lane->session;
        struct pw_client_segment *own = session->own;
        const struct pw_client_segment *segment = request->row == PW_ROW_FUTURES ? session->futures : own;
        if (grant->look)
                return PW_OK;
        if (!own->number) { /* the first grant says it */
                pthread_mutex_lock(&session->lock);
                enum pw_status status = request->row == PW_ROW_FUTURES ? PW_OK :
                        pw_segment_map_name(&session->segments, own, grant->segment, ret_err);
                pthread_mutex_unlock(&session->lock);
                if (status != PW_OK)
                        return status;
        }
        if (grant->segment != segment->number ||
            (request->row < PW_CLASS_COUNT && grant->room_bytes < pw_class_bytes(request->row)))
                return pw_error_set(ret_err, PW_PROTOCOL,
                                    "rooms of %" PRIu64 " bytes in segment %x were granted, not what was asked for",
                                    grant->room_bytes, grant->segment);
        struct pw_grant_bounds bounds = { session->control_map.base, session->control_map.bytes, segment->slot_count,
                                          segment->map.bytes };
        return pw_row_add(&lane->rows[request->row], grant, &bounds, ret_err);
}

/* The process has no threads but this one and the session's watcher, which has nothing to do: nobody gives anything back while
 * this one waits. */
static bool is_alone(const struct pw_session *session)
{
        if (atomic_load(&session->parked))
                return false;
        DIR *tasks = opendir("/proc/self/task");
        const struct dirent *task;
        uint32_t count = 0;
        while (tasks && (task = readdir(tasks)))
                count += task->d_name[0] != '.';
        if (tasks)
                closedir(tasks);
        return count == 2;
}

static enum pw_status ask_room(struct pw_client_lane *lane, const struct pw_slot_request *request, struct pw_error *ret_err)
{
        Pathways__Wire__Request ask = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__RoomRequest room = PATHWAYS__WIRE__ROOM_REQUEST__INIT;
        bool with_rooms = request->row < PW_CLASS_COUNT;
        room.lane = lane->number;
        room.futures = request->row == PW_ROW_FUTURES;
        room.inline_only = request->row == PW_ROW_INLINE;
        room.size_class = with_rooms ? request->row : 0;
        room.count = pw_row_want(&lane->rows[request->row], with_rooms ? pw_class_bytes(request->row) : 0);
        room.timeout_us = left_us(request->until_ns);
        room.room_bytes = request->need_bytes;
        room.alone = room.futures && is_alone(lane->session);
        ask.body_case = PATHWAYS__WIRE__REQUEST__BODY_ROOM;
        ask.room = &room;
        struct pw_answer answer;
        enum pw_status status = pw_session_call(lane->session, &ask, PATHWAYS__WIRE__REPLY__BODY_ROOM, &answer, ret_err);
        if (status != PW_OK)
                return status;
        status = add_grant(lane, request, answer.reply->room, ret_err);
        pw_answer_done(&answer);
        return status;
}

enum pw_status pw_lane_take(struct pw_client_lane *lane, struct pw_slot_request *request, struct pw_slot *ret_slot,
                            struct pw_error *ret_err)
{
        if (take_granted(lane, request, ret_slot))
                return PW_OK;
        if (!request->until_ns)
                request->until_ns = pw_deadline_ns(request->timeout_us);
        do {
                enum pw_status status = ask_room(lane, request, ret_err);
                if (status != PW_OK)
                        return status;
                if (take_granted(lane, request, ret_slot))
                        return PW_OK;
        } while (left_us(request->until_ns) != 0);
        if (request->row == PW_ROW_FUTURES)
                return pw_error_set(ret_err, PW_NO_SPACE, "no slot for a future until the deadline");
        return pw_error_set(ret_err, PW_NO_SPACE, "no room for %" PRIu64 " bytes until the deadline", request->need_bytes);
}

void pw_lane_publish(struct pw_client_lane *lane, bool at_once)
{
        if (pw_ring_publish(&lane->writer, at_once))
                pw_connection_doorbell(lane->session->connection);
}

enum pw_status pw_lane_await_ring(struct pw_client_lane *lane, uint32_t cells, struct pw_error *ret_err)
{
        while (!pw_ring_has_room(&lane->writer, cells)) {
                for (uint32_t i = 0; i < RING_LOOKS && !pw_ring_has_room(&lane->writer, cells); i++)
                        pw_cpu_pause();
                if (pw_ring_has_room(&lane->writer, cells))
                        break;
                pw_lane_publish(lane, true);
                enum pw_status status = pw_session_fence(lane->session, ret_err);
                if (status != PW_OK)
                        return status;
        }
        return PW_OK;
}
