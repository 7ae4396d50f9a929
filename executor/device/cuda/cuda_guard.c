/* The guards of rooms on a GPU: looked at behind some functions, set ahead of the next, by one kernel where that can be. */
#include "executor/device/cuda_private.h"

#define THREADS 32u /* a byte of a room's guards each */

static const char code[] =
#include "executor/device/cuda/guard.ptx.inc"
        ;
static const struct pw_code guard_code = { .name = "guard", .image = code, .bytes = sizeof code };

_Static_assert(PW_GUARD_CALLS <= PW_TOGETHER_MOST, "as others count on");
_Static_assert(sizeof(struct pw_guard_turn) <= 4096, "parameters of a kernel");

/* --- rooms -------------------------------------------------------------------------------------------------------------------- */

/* Of the device: where the room begins, where its guarded rest does, and ends. */
struct place { uint64_t begin, end, behind; };

static struct place place_of(const struct pw_device_call *call, uint32_t room)
{
        uint64_t begin = (uintptr_t)call->task->outputs[room].data, end = begin + call->task->outputs[room].bytes;

        return (struct place){ begin, end, end + call->rests[room] };
}

/* All bytes of their guards are the same. */
static bool is_same(struct place a, struct place b) { return a.end == b.end && a.behind == b.behind; }

static bool has_place(const struct pw_device_call *call, struct place place)
{
        for (uint32_t i = 0; i < pw_device_call_rooms(call); i++)
                if (is_same(place_of(call, i), place))
                        return true;
        return false;
}

static const struct pw_device_call *call_at(struct pw_exec_device *device, uint64_t number)
{
        return pw_cuda_flight(device, number)->call;
}

/* The rooms of a batch, one after another. Where several calls have one to the byte, it has the guard of the first: what became of
 * it is said of all of them. */
struct cursor { struct pw_cuda_batch batch; uint64_t number; uint32_t room; };

static bool is_repeated(struct pw_exec_device *device, const struct cursor *at)
{
        struct place place = place_of(call_at(device, at->number), at->room);

        for (uint64_t i = at->batch.from; i < at->number; i++)
                if (has_place(call_at(device, i), place))
                        return true;
        return false;
}

/* False: there are no more. */
static bool find(struct pw_exec_device *device, struct cursor *at)
{
        for (; at->number < at->batch.to; at->number++, at->room = 0)
                for (; at->room < pw_device_call_rooms(call_at(device, at->number)); at->room++)
                        if (!is_repeated(device, at))
                                return true;
        return false;
}

/* --- what may be together ----------------------------------------------------------------------------------------------------- */

static bool touch(struct place a, uint64_t begin, uint64_t end) { return a.begin < end && begin < a.behind; }

/* The rest of `place` is not read or written before `call` has ended, and its own guards are there until then. */
static bool is_apart(const struct pw_device_call *call, struct place place)
{
        const struct pw_task *task = call->task;

        for (uint32_t i = 0; i < pw_device_call_rooms(call); i++) {
                struct place other = place_of(call, i);
                if (!is_same(other, place) && touch(other, place.begin, place.behind))
                        return false;
        }
        for (uint32_t i = 0; i < task->input_count; i++) {
                uint64_t input = (uintptr_t)task->inputs[i].data;
                if (input < place.behind && place.end < input + task->inputs[i].bytes)
                        return false;
        }
        return true;
}

bool pw_cuda_guards_fit(struct pw_exec_device *device, const struct pw_cuda_batch *batch, const struct pw_device_call *call,
                        uint32_t *ret_rooms)
{
        uint32_t rooms = 0;

        for (uint32_t room = 0; room < pw_device_call_rooms(call); room++) {
                struct place place = place_of(call, room);
                bool is_new = true;
                for (uint64_t i = batch->from; i < batch->to; i++) {
                        if (!is_apart(call_at(device, i), place))
                                return false;
                        is_new = is_new && !has_place(call_at(device, i), place);
                }
                rooms += is_new;
        }
        *ret_rooms = rooms;
        return true;
}

/* Would guards be set where others are yet to be looked at? Not where each byte has the same place in both. */
static bool is_in_the_way(struct pw_exec_device *device, const struct pw_cuda_turn *turn)
{
        struct cursor ended = { turn->ended, turn->ended.from, 0 };

        for (; find(device, &ended); ended.room++) {
                struct cursor begins = { turn->begins, turn->begins.from, 0 };
                struct place a = place_of(call_at(device, ended.number), ended.room);
                for (; find(device, &begins); begins.room++) {
                        struct place b = place_of(call_at(device, begins.number), begins.room);
                        if (a.end < b.behind && b.end < a.behind && !is_same(a, b))
                                return true;
                }
        }
        return false;
}

/* --- launches ----------------------------------------------------------------------------------------------------------------- */

/* The next rooms, as many as go into one launch. */
static void fill(struct pw_exec_device *device, struct cursor *at, struct pw_guard_room *rooms, uint32_t *indexes)
{
        for (uint32_t i = 0; i < PW_GUARD_ROOMS && find(device, at); i++, at->room++) {
                const struct pw_device_call *call = call_at(device, at->number);
                struct place place = place_of(call, at->room);
                rooms[i] = (struct pw_guard_room){ .end = place.end, .rest = place.behind - place.end };
                memcpy(rooms[i].words, call->guard.words, sizeof rooms[i].words);
                indexes[i] = at->room;
        }
}

static enum pw_status launch(struct pw_exec_device *device, struct pw_guard_turn *turn, struct pw_error *ret_err)
{
        void *args[] = { turn };

        turn->words = pw_cuda_words_at(device, 0);
        turn->ends = pw_cuda_end_at(device, 0);
        return pw_cuda_launch_own(device, &(struct pw_cuda_kernel_of){ 0, &guard_code, "pw_guard_turn" },
                                  (struct pw_cuda_grid){ 1, THREADS }, args, ret_err);
}

static bool is_empty(const struct pw_cuda_batch *batch) { return batch->from == batch->to; }
static uint32_t count_of(const struct pw_cuda_batch *batch) { return (uint32_t)(batch->to - batch->from); }

/* A call without rooms ends and begins, too. */
enum pw_status pw_cuda_guards(struct pw_exec_device *device, const struct pw_cuda_turn *turn, struct pw_error *ret_err)
{
        struct cursor looks = { turn->ended, turn->ended.from, 0 }, sets = { turn->begins, turn->begins.from, 0 };
        bool ended = is_empty(&turn->ended), begun = is_empty(&turn->begins), together = !is_in_the_way(device, turn);
        enum pw_status status = PW_OK;

        while ((!ended || !begun) && status == PW_OK) {
                struct pw_guard_turn part = { .ended_number = turn->ended.from, .begins_number = turn->begins.from };
                uint32_t indexes[PW_GUARD_ROOMS]; /* of those that begin nobody asks */

                if (!ended) {
                        fill(device, &looks, part.ended, part.indexes);
                        part.ended_count = count_of(&turn->ended);
                        part.is_last = !find(device, &looks);
                }
                if (!begun && (ended || (part.is_last && together))) {
                        fill(device, &sets, part.begins, indexes);
                        part.begins_count = count_of(&turn->begins);
                        begun = !find(device, &sets);
                }
                ended |= part.is_last;
                status = launch(device, &part, ret_err);
        }
        return status;
}
