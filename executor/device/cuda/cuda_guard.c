/* The guards of rooms on a GPU: looked at behind one function, set ahead of the next, by one kernel where that can be. */
#include "executor/device/cuda_private.h"

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

/* One launch, of rooms from these on. */
struct part { uint32_t ended, begins; bool looks, sets, last; };

static enum pw_status launch(struct pw_exec_device *device, const struct pw_cuda_turn *turn, const struct part *part,
                             struct pw_error *ret_err)
{
        unsigned long long ends[2 * PW_GUARD_ROOMS] = { 0 }, end_at = pw_cuda_end_at(device, turn->ended_number),
                           said = pw_cuda_words_at(device, turn->ended_number),
                           says = pw_cuda_words_at(device, turn->begins_number);
        struct pw_guard_turn rooms = { .number = part->last ? turn->ended_number : 0, .first = part->ended,
                                       .has_ended = part->looks, .is_first = part->sets && !part->begins };
        void *args[2 * PW_GUARD_ROOMS + 4];

        if (part->looks)
                fill(turn->ended, part->ended, &rooms.ended, ends);
        if (part->sets)
                fill(turn->begins, part->begins, &rooms.begins, ends + PW_GUARD_ROOMS);
        for (uint32_t i = 0; i < 2 * PW_GUARD_ROOMS; i++)
                args[i] = &ends[i];
        args[2 * PW_GUARD_ROOMS] = &said;
        args[2 * PW_GUARD_ROOMS + 1] = &says;
        args[2 * PW_GUARD_ROOMS + 2] = &end_at;
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

static uint32_t rooms_of(const struct pw_device_call *call) { return call ? pw_device_call_rooms(call) : 0; }

/* A call without rooms ends and begins, too. */
enum pw_status pw_cuda_guards(struct pw_exec_device *device, const struct pw_cuda_turn *turn, struct pw_error *ret_err)
{
        bool together = turn->ended && turn->begins && !is_in_the_way(turn->ended, turn->begins);
        bool ended = !turn->ended, begun = !turn->begins;
        uint32_t looked = 0, set = 0;
        enum pw_status status = PW_OK;

        while ((!ended || !begun) && status == PW_OK) {
                struct part part = { .ended = looked, .begins = set, .looks = !ended };

                part.last = part.looks && looked + PW_GUARD_ROOMS >= rooms_of(turn->ended);
                part.sets = !begun && (ended || (part.last && together));
                status = launch(device, turn, &part, ret_err);
                looked += PW_GUARD_ROOMS;
                set += part.sets ? PW_GUARD_ROOMS : 0;
                ended |= part.last;
                begun |= part.sets && set >= rooms_of(turn->begins);
        }
        return status;
}
