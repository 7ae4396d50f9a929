/* Fetching values from the device. They are whole, and who wants them holds them: nothing writes their rooms meanwhile. */
#include "executor/gang/fetch.h"

#include "base/memory.h"
#include "executor/gang/flight.h"
#include "executor/gang/gang_private.h"

#include <time.h>

#define PIECE_BYTES (UINT64_C(64) << 20)
#define AGAIN_NS 1000000 /* when the daemon could not be asked */

/* The head says whether a value is there: the process that made it may have ended since it was asked for. */
static enum pw_status check(const struct pw_launch *launch, const struct pw_room_head *head, struct pw_error *ret_err)
{
        if (head->seq < pw_gang_lost_before(launch, launch->given.device) || head->seal != pw_room_seal(head) ||
            head->status != PW_OK)
                return pw_error_set(ret_err, PW_DEVICE_LOST, "its value on device h%u:%u is lost", launch->given.host,
                                    launch->given.device);
        return PW_OK;
}

/* What the device has done meanwhile is published as it goes: limits count until then. */
static void keep_up(struct pw_launch *launch)
{
        if (launch->flights)
                pw_flights_reap(launch);
}

static enum pw_status copy_out(struct pw_launch *launch, uint8_t *to, const uint8_t *from, uint64_t bytes, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;

        for (uint64_t at = 0; at < bytes && status == PW_OK; at += PIECE_BYTES) {
                keep_up(launch);
                status = launch->memory->copy_out(launch->given.handle, to + at, from + at, pw_min_u64(bytes - at, PIECE_BYTES),
                                                  ret_err);
        }
        return status;
}

static enum pw_status copy(struct pw_launch *launch, const struct pw_wanted_value *task, struct pw_error *ret_err)
{
        struct pw_segments_range from = { task->from_segment, task->from_offset, task->bytes };
        struct pw_segments_range to = { task->to_segment, task->to_offset, task->bytes };
        struct pw_place place;
        uint8_t *at;
        enum pw_status status = pw_segments_at(&launch->segments, &from, &place, ret_err);

        if (status == PW_OK)
                status = check(launch, place.head, ret_err);
        if (status == PW_OK) /* nothing else is lent while it is copied */
                status = pw_segments_lend(&launch->segments, &to, launch->segments.in_use, &at, ret_err);
        if (status == PW_OK) {
                /* once it is copied others may take its place: it is older than what is in use */
                pw_segments_pin(&launch->segments, &to, launch->segments.in_use - 1);
                status = copy_out(launch, at, place.data, task->bytes, ret_err);
        }
        return status;
}

/* As many as the daemon gives at a time: others have their turn in between. False: it has no more. What was fetched is reported as
 * it is asked next. */
static bool serve_some(struct pw_launch *launch)
{
        const struct pw_surroundings *around = launch->given.around;
        struct pw_wanted_value tasks[PW_FETCHES_MAX];
        uint32_t count = around->fetches(around->context, launch->fetched, launch->fetched_count, tasks);

        if (count == UINT32_MAX) {
                nanosleep(&(struct timespec){ .tv_nsec = AGAIN_NS }, NULL);
                return true;
        }
        for (uint32_t i = 0; i < count; i++) {
                launch->fetched[i] = (struct pw_fetched){ .token = tasks[i].token };
                launch->fetched[i].err.status = copy(launch, &tasks[i], &launch->fetched[i].err);
        }
        launch->fetched_count = count;
        return count > 0;
}

void pw_fetches_serve(struct pw_launch *launch)
{
        uint64_t wanted = atomic_load(&launch->board->fetches[launch->given.device]); /* what comes later counts up again */

        if (!launch->given.around->fetches || !serve_some(launch))
                launch->fetches = wanted;
        launch->now_ns = 0; /* the next gang has not begun yet */
}
