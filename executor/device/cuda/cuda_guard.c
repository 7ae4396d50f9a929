/* The guards of rooms on a GPU: looked at behind one function, set ahead of the next, by one kernel where that can be. */
#include "executor/device/cuda_private.h"

#include "executor/device/cuda/guard_rooms.h"

#define THREADS 32u /* a byte of a room's guards each */

static const char code[] =
#include "executor/device/cuda/guard.ptx.inc"
        ;
static const struct pw_code guard_code = { .name = "guard", .image = code, .bytes = sizeof code };

static uint64_t end_of(const struct pw_device_call *call, uint32_t room)
{
        return (uintptr_t)call->task->outputs[room].data + call->task->outputs[room].bytes;
}

/* Four rooms of a call, from `first` on. */
static void fill(const struct pw_device_call *call, uint32_t first, struct pw_guard_rooms *rooms, unsigned long long *ends)
{
        memcpy(rooms->words, call->guard.words, sizeof rooms->words);
        for (uint32_t i = 0; i < PW_GUARD_ROOMS && first + i < pw_device_call_rooms(call); i++) {
                ends[i] = end_of(call, first + i);
                rooms->rests[i] = call->rests[first + i];
        }
}

/* One launch. Of `ended`, rooms from `first_ended` on are looked at; NULL: none. */
struct turn {
        const struct pw_device_call *ended, *begins;
        uint32_t first_ended, first_begins;
        uint64_t number, progress; /* of the flight; what is written: the number, or 0: nothing */
};

static enum pw_status launch(struct pw_exec_device *device, const struct turn *turn, struct pw_error *ret_err)
{
        unsigned long long ends[2 * PW_GUARD_ROOMS] = { 0 }, progress_at = device->page_at,
                           states = pw_cuda_words_at(device, turn->number, offsetof(struct pw_cuda_words, guards)) +
                                    turn->first_ended * sizeof(uint32_t);
        uint64_t progress = turn->progress;
        struct pw_guard_turn rooms = { 0 };
        void *args[2 * PW_GUARD_ROOMS + 4];

        if (turn->ended)
                fill(turn->ended, turn->first_ended, &rooms.ended, ends);
        if (turn->begins)
                fill(turn->begins, turn->first_begins, &rooms.begins, ends + PW_GUARD_ROOMS);
        for (uint32_t i = 0; i < 2 * PW_GUARD_ROOMS; i++)
                args[i] = &ends[i];
        args[2 * PW_GUARD_ROOMS] = &states;
        args[2 * PW_GUARD_ROOMS + 1] = &progress_at;
        args[2 * PW_GUARD_ROOMS + 2] = &progress;
        args[2 * PW_GUARD_ROOMS + 3] = &rooms;
        return pw_cuda_launch_own(device, &(struct pw_cuda_kernel_of){ 0, &guard_code, "pw_guard_turn" },
                                  (struct pw_cuda_grid){ 1, THREADS }, args, ret_err);
}

/* Would guards be set where others are yet to be looked at? Not where each byte has the same place in both. */
static bool is_in_the_way(const struct pw_device_call *ended, const struct pw_device_call *begins)
{
        for (uint32_t i = 0; i < pw_device_call_rooms(ended); i++)
                for (uint32_t k = 0; k < pw_device_call_rooms(begins); k++) {
                        uint64_t a = end_of(ended, i), b = end_of(begins, k);
                        if (a < b + begins->rests[k] && b < a + ended->rests[i] && (a != b || ended->rests[i] != begins->rests[k]))
                                return true;
                }
        return false;
}

enum pw_status pw_cuda_guards(struct pw_exec_device *device, const struct pw_device_call *ended, uint64_t number,
                              const struct pw_device_call *begins, struct pw_error *ret_err)
{
        uint32_t ended_count = ended ? pw_device_call_rooms(ended) : 0, begins_count = begins ? pw_device_call_rooms(begins) : 0;
        uint32_t looked = 0, set = 0;
        bool together = ended && begins && !is_in_the_way(ended, begins), over = !ended;
        enum pw_status status = PW_OK;

        while ((!over || set < begins_count) && status == PW_OK) {
                bool last = looked + PW_GUARD_ROOMS >= ended_count, sets = over || (last && together);
                struct turn turn = { .first_ended = looked, .first_begins = set, .number = number };

                if (!over) {
                        turn.ended = ended;
                        turn.progress = last ? number : 0;
                        looked += PW_GUARD_ROOMS;
                }
                if (sets && set < begins_count) {
                        turn.begins = begins;
                        set += PW_GUARD_ROOMS;
                }
                over |= last;
                if (!turn.ended)
                        turn.first_ended = 0;
                status = launch(device, &turn, ret_err);
        }
        return status;
}
