/* Devices: what one was given and has done. */
#include "scheduler/island/device.h"

#include "scheduler/scheduler.h"

struct pw_device *pw_device_new(const struct pw_device_add *add, uint32_t ahead, bool counts)
{
        struct pw_device *device = calloc(1, sizeof *device);
        uint64_t capacity = 1;

        if (!device)
                return NULL;
        while (capacity < ahead)
                capacity *= 2;
        *device = (struct pw_device){ .number = add->device, .island = add->island, .up = true,
                                      .capacity = add->capacity_bytes, .free = add->capacity_bytes, .seq_mask = capacity - 1,
                                      .marker_capacity = (uint32_t)capacity };
        pw_list_init(&device->turns);
        device->kind = strdup(add->kind);
        device->seqs = calloc(capacity, sizeof *device->seqs);
        device->charges = counts ? calloc(capacity, sizeof *device->charges) : NULL;
        device->markers = calloc(capacity, sizeof *device->markers);
        if (device->kind && device->seqs && device->markers && !counts == !device->charges)
                return device;
        pw_device_free(device);
        return NULL;
}

void pw_device_free(struct pw_device *device)
{
        if (!device)
                return;
        for (uint32_t i = 0; i < device->room_count; i++) {
                pw_line_done(&device->rooms[i]->line);
                pw_range_free(device->rooms[i]->range);
                free(device->rooms[i]);
        }
        free(device->rooms);
        free(device->kind);
        free(device->seqs);
        free(device->charges);
        free(device->markers);
        free(device->lost_text);
        free(device);
}

static bool grow_markers(struct pw_device *device)
{
        uint32_t capacity = device->marker_capacity * 2;
        struct pw_marker *markers = calloc(capacity, sizeof *markers);

        if (!markers)
                return false;
        for (uint64_t i = device->marker_first; i != device->marker_end; i++)
                markers[i & (capacity - 1)] = device->markers[i & (device->marker_capacity - 1)];
        free(device->markers);
        device->markers = markers;
        device->marker_capacity = capacity;
        return true;
}

bool pw_device_mark(struct pw_device *device, struct pw_fragment *fragment, uint32_t gang)
{
        if (device->marker_end - device->marker_first == device->marker_capacity && !grow_markers(device))
                return false;
        device->markers[device->marker_end++ & (device->marker_capacity - 1)] =
                (struct pw_marker){ .count = device->ordered, .fragment = fragment, .gang = gang };
        return true;
}
