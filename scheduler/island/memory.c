/* The memory of a device: segments of its tenants, rooms in them, booked against one capacity. */
#include "scheduler/island/device.h"

#include "base/error.h"
#include "base/memory.h"

struct pw_rooms *pw_device_rooms(const struct pw_device *device, const char *tenant)
{
        for (uint32_t i = 0; i < device->room_count; i++)
                if (!strcmp(device->rooms[i]->quota->tenant, tenant))
                        return device->rooms[i];
        return NULL;
}

enum pw_status pw_device_segment(struct pw_device *device, struct pw_device_quota *quota, uint32_t segment, uint64_t bytes,
                                 struct pw_error *ret_err)
{
        struct pw_rooms *rooms;

        if (pw_device_rooms(device, quota->tenant))
                return pw_error_set(ret_err, PW_EXISTS, "device %u has a segment of tenant %s", device->number, quota->tenant);
        if (!pw_grow((void **)&device->rooms, &device->room_capacity, device->room_count + 1, sizeof *device->rooms))
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a segment of device %u", device->number);
        rooms = calloc(1, sizeof *rooms);
        if (!rooms)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a segment of device %u", device->number);
        *rooms = (struct pw_rooms){ .quota = quota, .segment = segment, .bytes = bytes,
                                    .range = device->range ? device->range : pw_range_new(bytes, PW_LINE_BYTES) };
        if (!rooms->range) {
                free(rooms);
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a segment of device %u", device->number);
        }
        pw_line_init(&rooms->line);
        device->rooms[device->room_count++] = rooms;
        return PW_OK;
}

void pw_rooms_end(struct pw_device *device, struct pw_rooms *rooms)
{
        uint32_t i = 0;

        while (device->rooms[i] != rooms)
                i++;
        device->rooms[i] = device->rooms[--device->room_count];
        pw_line_done(&rooms->line);
        if (!device->range)
                pw_range_free(rooms->range);
        free(rooms);
}

bool pw_room_take(struct pw_device *device, struct pw_rooms *rooms, uint64_t bytes, enum pw_room_use use, uint64_t *ret_offset)
{
        if (bytes > device->free || !pw_range_take(rooms->range, bytes, ret_offset))
                return false;
        device->free -= bytes;
        device->used[use] += bytes;
        rooms->quota->used[use] += bytes;
        rooms->used[use] += bytes;
        return true;
}

static struct pw_rooms *rooms_of(const struct pw_device *device, const struct pw_room *room)
{
        for (uint32_t i = 0; i < device->room_count; i++)
                if (device->rooms[i]->segment == room->segment)
                        return device->rooms[i];
        return NULL;
}

void pw_room_give(struct pw_device *device, const struct pw_room *room, enum pw_room_use use)
{
        struct pw_rooms *rooms = rooms_of(device, room);

        if (!rooms)
                return;
        pw_range_give(rooms->range, room->offset, room->bytes);
        rooms->quota->used[use] -= room->bytes;
        rooms->used[use] -= room->bytes;
        device->used[use] -= room->bytes;
        device->free += room->bytes;
}

void pw_room_change(struct pw_device *device, const struct pw_room *room, enum pw_room_use from, enum pw_room_use to)
{
        struct pw_rooms *rooms = rooms_of(device, room);

        if (!rooms)
                return;
        rooms->quota->used[from] -= room->bytes;
        rooms->quota->used[to] += room->bytes;
        rooms->used[from] -= room->bytes;
        rooms->used[to] += room->bytes;
        device->used[from] -= room->bytes;
        device->used[to] += room->bytes;
}
