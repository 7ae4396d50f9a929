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
        struct pw_room *rooms; /* of the device, as runs and results name them */
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

static void add_room(struct check *check, struct pw_room room)
{
        if (room.device == check->device->number && room.bytes &&
            pw_grow((void **)&check->rooms, &check->room_capacity, check->room_count + 1, sizeof room))
                check->rooms[check->room_count++] = room;
}

/* The last of a chain has the block. */
static void add_block(struct check *check, const struct pw_live *live, uint32_t index, uint64_t ret_used[3])
{
        const struct pw_program *program = live->program;
        const struct pw_program_block *block = &program->blocks[index];

        for (uint32_t place = 0; place < program->row.slices[block->slice].device_count; place++) {
                uint32_t number = program->row.slices[block->slice].devices[place];
                add_room(check, (struct pw_room){ number, pw_program_device(program, number)->rooms->segment,
                                                  pw_live_block(live, index, place), block->bytes });
                ret_used[live->letting_go ? PW_USE_LETTING_GO : PW_USE_BLOCK] += number == check->device->number ? block->bytes : 0;
        }
}

static void add_rooms(struct check *check, uint64_t ret_used[3])
{
        struct pw_result *result;
        struct pw_live *live;
        uint32_t cursor = 0;

        ret_used[0] = ret_used[1] = ret_used[2] = 0;
        check->room_count = 0;
        pw_list_each(&check->scheduler->results, result, struct pw_result, link)
                for (uint32_t i = 0; !result->donated && !pw_result_live(result)->given && i < result->room_count; i++) {
                        add_room(check, result->rooms[i]);
                        if (result->rooms[i].device == check->device->number)
                                ret_used[pw_result_live(result)->letting_go ? PW_USE_LETTING_GO : PW_USE_RESULT] += result->rooms[i].bytes;
                }
        while ((live = pw_table_next(&check->scheduler->runs, &cursor))) {
                const struct pw_program *program = live->program;
                for (uint32_t b = 0; live->placed && b < program->block_count; b++)
                        if (!live->holds[program->blocks[b].chain].behind)
                                add_block(check, live, b, ret_used);
        }
}

static int by_place(const void *a, const void *b)
{
        const struct pw_room *left = a, *right = b;

        if (left->segment != right->segment)
                return left->segment < right->segment ? -1 : 1;
        return left->offset < right->offset ? -1 : left->offset > right->offset;
}

static void check_memory(struct check *check)
{
        const struct pw_device *device = check->device;
        uint64_t used[3], ranges = 0, sum = device->free;

        add_rooms(check, used);
        for (uint32_t i = 0; i < 3; i++) {
                static const char *const names[] = { "bytes of results", "bytes of blocks", "bytes letting go" };
                sum += device->used[i];
                if (device->used[i] != used[i])
                        problem(check, names[i], device->used[i], used[i]);
        }
        if (sum != device->capacity)
                problem(check, "memory adds up to", sum, device->capacity);
        for (uint32_t i = 0; i < device->room_count; i++)
                ranges += pw_range_used(device->rooms[i]->range);
        if (ranges != device->capacity - device->free)
                problem(check, "bytes in segments", ranges, device->capacity - device->free);
        if (check->room_count > 1)
                qsort(check->rooms, check->room_count, sizeof *check->rooms, by_place);
        for (uint32_t i = 1; i < check->room_count; i++) {
                const struct pw_room *before = &check->rooms[i - 1], *room = &check->rooms[i];
                if (before->segment == room->segment && before->offset + before->bytes > room->offset)
                        problem(check, "a room begins in another", room->offset, before->offset + before->bytes);
        }
}

static void check_gangs(struct check *check)
{
        const struct pw_device *device = check->device;
        const struct pw_island *island = check->scheduler->islands[device->island];
        uint64_t last = device->done_seq, marked = device->done;

        if (device->ordered - device->done > check->scheduler->ahead)
                problem(check, "gangs ahead", device->ordered - device->done, check->scheduler->ahead);
        for (uint64_t i = device->done; i < device->ordered; i++) {
                uint64_t seq = device->seqs[i & device->seq_mask];
                const struct pw_ordered *ordered = &island->log[seq % PW_ORDER_LOG];
                if (seq <= last || seq > island->seq || island->seq - seq >= PW_ORDER_REACH)
                        problem(check, "gang ordered out of turn", seq, last);
                else if (!(ordered->part->plan->gangs[ordered->gang].members >> device->number & 1))
                        problem(check, "gang ordered for another", seq, device->number);
                last = seq;
        }
        for (uint64_t i = device->marker_first; i < device->marker_end; i++) {
                const struct pw_marker *marker = &device->markers[i & (device->marker_capacity - 1)];
                if (marker->count < marked || marker->count > device->ordered)
                        problem(check, "marker out of turn", marker->count, marked);
                marked = marker->count;
        }
}

/* What its tenants are charged lies in the rooms of all devices. */
static void check_quotas(struct check *check)
{
        const struct pw_device_quota *quota;

        for (uint32_t i = 0; (quota = pw_table_next(&check->scheduler->quotas, &i));) {
                uint64_t used = 0;

                for (uint32_t d = 0; d < PW_DEVICES_MAX; d++) {
                        const struct pw_rooms *rooms = check->scheduler->devices[d] ? pw_device_rooms(check->scheduler->devices[d], quota->tenant) : NULL;

                        used += rooms ? pw_range_used(rooms->range) : 0;
                }
                if (used != pw_quota_used(quota))
                        problem(check, "bytes charged to a tenant", pw_quota_used(quota), used);
        }
}

uint32_t pw_scheduler_check(struct pw_scheduler *scheduler, void (*found)(void *context, const char *where, const char *problem),
                            void *context)
{
        struct check check = { .scheduler = scheduler, .found = found, .context = context };

        for (uint32_t i = 0; i < PW_DEVICES_MAX; i++) {
                if (!scheduler->devices[i])
                        continue;
                check.device = scheduler->devices[i];
                check_memory(&check);
                check_gangs(&check);
        }
        if (check.device)
                check_quotas(&check);
        free(check.rooms);
        return check.count;
}
