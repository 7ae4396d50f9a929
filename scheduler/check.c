/* Invariants of the scheduler, each looked up from its own records: for `pathways check` and tests. */
#include "scheduler/state.h"

#include "base/memory.h"

#include <stdio.h>

struct check {
        struct pw_scheduler *scheduler;
        void (*found)(void *context, const char *where, const char *problem);
        void *context;
        uint32_t count;
        const struct pw_device *device;
        uint64_t used[PW_DEVICES_MAX][3]; /* by enum pw_room_use, as runs and results name their rooms: */
        struct pw_room *rooms;
        uint32_t room_count, room_capacity;
};

static void problem(struct check *check, const char *what, uint64_t have, uint64_t want)
{
        char where[32], text[160];

        snprintf(where, sizeof where, "device h%u:%u", check->scheduler->host, check->device->number);
        snprintf(text, sizeof text, "%s: %lu, expected %lu", what, (unsigned long)have, (unsigned long)want);
        check->count++;
        if (check->found)
                check->found(check->context, where, text);
}

static void add_room(struct check *check, struct pw_room room, enum pw_room_use use)
{
        check->used[room.device][use] += room.bytes;
        if (room.bytes && pw_grow((void **)&check->rooms, &check->room_capacity, check->room_count + 1, sizeof room))
                check->rooms[check->room_count++] = room;
}

static void add_block(struct check *check, const struct pw_host_run *run, uint32_t index)
{
        const struct pw_program_block *block = &run->program->blocks[index];
        const struct pw_program_slice *slice = &run->program->slices[block->slice];

        for (uint32_t i = 0; i < slice->here_count; i++) {
                struct pw_room room = pw_program_room(run->program, &run->program->devices[slice->here[i].device],
                                                      pw_host_run_block(run, index, i), block->bytes);

                add_room(check, room, run->letting_go ? PW_USE_LETTING_GO : PW_USE_BLOCK);
        }
}

/* The last of a chain has its blocks. */
static void add_rooms(struct check *check)
{
        const struct pw_requester *requester;
        struct pw_host_result *result;
        struct pw_host_run *run;

        pw_list_each(&check->scheduler->host_results, result, struct pw_host_result, link)
                for (uint32_t i = 0; !result->donated && i < result->room_count; i++)
                        if (pw_host_result_is_here(result, i))
                                add_room(check, result->rooms[i], result->letting_go ? PW_USE_LETTING_GO : PW_USE_RESULT);
        for (uint32_t a = 0; (requester = pw_requester_next(check->scheduler, &a));)
                for (uint32_t i = 0; i < requester->run_capacity; i++) {
                        run = requester->runs[i];
                        for (uint32_t b = 0; run && run->placed && b < run->program->block_count; b++)
                                if (!run->holds[run->program->blocks[b].chain].behind)
                                        add_block(check, run, b);
                }
}

static int by_place(const void *a, const void *b)
{
        const struct pw_room *left = a, *right = b;

        if (left->device != right->device)
                return left->device < right->device ? -1 : 1;
        if (left->segment != right->segment)
                return left->segment < right->segment ? -1 : 1;
        return left->offset < right->offset ? -1 : left->offset > right->offset;
}

static void check_rooms(struct check *check)
{
        if (check->room_count)
                qsort(check->rooms, check->room_count, sizeof *check->rooms, by_place);
        for (uint32_t i = 1; i < check->room_count; i++) {
                const struct pw_room *before = &check->rooms[i - 1], *room = &check->rooms[i];

                check->device = check->scheduler->devices[room->device];
                if (before->device == room->device && before->segment == room->segment &&
                    before->offset + before->bytes > room->offset)
                        problem(check, "a room begins in another", room->offset, before->offset + before->bytes);
        }
}

static void check_memory(struct check *check)
{
        static const char *const names[] = { "bytes of results", "bytes of blocks", "bytes letting go" };
        const struct pw_device *device = check->device;
        uint64_t ranges = 0, sum = device->free;

        for (uint32_t i = 0; i < 3; i++) {
                sum += device->used[i];
                if (device->used[i] != check->used[device->number][i])
                        problem(check, names[i], device->used[i], check->used[device->number][i]);
        }
        if (sum != device->capacity)
                problem(check, "memory adds up to", sum, device->capacity);
        for (uint32_t i = 0; i < device->room_count && !device->range; i++)
                ranges += pw_range_used(device->rooms[i]->range);
        if (device->range)
                ranges = pw_range_used(device->range);
        if (ranges != device->capacity - device->free)
                problem(check, "bytes in segments", ranges, device->capacity - device->free);
}

static void check_gangs(struct check *check)
{
        const struct pw_device *device = check->device;
        const struct pw_island *island = check->scheduler->islands[device->island];
        uint64_t last = device->done_seq, marked = device->done, left = device->done;
        const struct pw_stand *stand;

        if (device->ordered - device->done > check->scheduler->ahead)
                problem(check, "gangs ahead", device->ordered - device->done, check->scheduler->ahead);
        for (uint64_t i = device->done; i < device->ordered; i++) {
                uint64_t seq = device->seqs[i & device->seq_mask];
                const struct pw_ordered *ordered = &island->log[seq % PW_ORDER_LOG];
                if (seq <= last || seq > island->seq || island->seq - seq >= PW_ORDER_REACH)
                        problem(check, "gang ordered out of turn", seq, last);
                else if (!(ordered->fragment->plan->gangs[ordered->gang].members >> device->number & 1))
                        problem(check, "gang ordered for another", seq, device->number);
                last = seq;
        }
        for (uint64_t i = device->marker_first; i < device->marker_end; i++) {
                const struct pw_marker *marker = &device->markers[i & device->seq_mask];
                if (marker->count < marked || marker->count > device->ordered)
                        problem(check, "marker out of turn", marker->count, marked);
                marked = marker->count;
        }
        pw_list_each(&device->leaving, stand, struct pw_stand, leaving) {
                if (stand->leaves_at <= device->done || stand->leaves_at < left || stand->leaves_at > device->ordered)
                        problem(check, "a run leaves out of turn", stand->leaves_at, left);
                left = stand->leaves_at;
        }
}

/* What its tenants are charged lies in the rooms of all devices. */
static void check_quotas(struct check *check)
{
        const struct pw_device_quota *quota;

        for (uint32_t i = 0; (quota = pw_table_next(&check->scheduler->quotas, &i));) {
                uint64_t used = 0;

                for (uint32_t d = 0; d < PW_DEVICES_MAX; d++) {
                        const struct pw_rooms *rooms =
                                check->scheduler->devices[d] ? pw_device_rooms(check->scheduler->devices[d], quota->tenant) : NULL;

                        used += !rooms ? 0 : rooms->range == check->scheduler->devices[d]->range ? pw_rooms_used(rooms)
                                                                                                : pw_range_used(rooms->range);
                }
                if (used != pw_quota_used(quota))
                        problem(check, "bytes charged to a tenant", pw_quota_used(quota), used);
        }
}

static void check_fragment(struct check *check, struct pw_fragment *fragment)
{
        char where[48], text[80];

        if (fragment->wait == PW_WAIT_NOTHING || fragment->wait == PW_WAIT_WINDOW || fragment->next == fragment->plan->gang_count ||
            pw_fragment_check(fragment, &fragment->plan->gangs[fragment->next]) != PW_WAIT_NOTHING)
                return;
        snprintf(where, sizeof where, "run %lu", (unsigned long)fragment->run->id.number);
        snprintf(text, sizeof text, "its gang in island %u rests, and nothing keeps it", fragment->island->number);
        check->count++;
        if (check->found)
                check->found(check->context, where, text);
}

/* Who rests until something comes was woken when it came. */
static void check_fragments(struct check *check)
{
        const struct pw_requester *requester;
        const struct pw_host_run *run;

        for (uint32_t a = 0; (requester = pw_requester_next(check->scheduler, &a));)
                for (uint32_t i = 0; i < requester->run_capacity; i++) {
                        run = requester->runs[i];
                        for (uint32_t c = 0; run && run->state == PW_HOST_RUN_RESERVED && c < run->program->plan.column_count; c++)
                                check_fragment(check, &run->fragments[c]);
                }
}

static void check_steps(struct check *check)
{
        char text[80];

        if (!check->scheduler->impossible)
                return;
        snprintf(text, sizeof text, "%lu events came in states in which they have no meaning",
                 (unsigned long)check->scheduler->impossible);
        check->count++;
        if (check->found)
                check->found(check->context, "states", text);
}

uint32_t pw_scheduler_check(struct pw_scheduler *scheduler, void (*found)(void *context, const char *where, const char *problem),
                            void *context)
{
        struct check check = { .scheduler = scheduler, .found = found, .context = context };

        add_rooms(&check);
        check_rooms(&check);
        for (uint32_t i = 0; i < PW_DEVICES_MAX; i++) {
                if (!scheduler->devices[i])
                        continue;
                check.device = scheduler->devices[i];
                check_memory(&check);
                check_gangs(&check);
        }
        if (check.device)
                check_quotas(&check);
        check_fragments(&check);
        check_steps(&check);
        free(check.rooms);
        return check.count;
}
