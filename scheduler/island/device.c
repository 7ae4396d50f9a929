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
        *device = (struct pw_device){ .number = add->device, .island = add->island, .up = true, .kernels = add->kernels,
                                      .capacity = add->capacity_bytes, .free = add->capacity_bytes, .seq_mask = capacity - 1 };
        pw_list_init(&device->turns);
        pw_list_init(&device->leaving);
        device->kind = strdup(add->kind);
        device->range = add->apart ? pw_range_new(add->capacity_bytes, PW_LINE_BYTES) : NULL;
        device->seqs = calloc(capacity, sizeof *device->seqs);
        device->charges = counts ? calloc(capacity, sizeof *device->charges) : NULL;
        device->markers = calloc(capacity, sizeof *device->markers);
        if (device->kind && !add->apart == !device->range && device->seqs && device->markers && !counts == !device->charges)
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
                if (!device->range)
                        pw_range_free(device->rooms[i]->range);
                free(device->rooms[i]);
        }
        pw_range_free(device->range);
        free(device->rooms);
        free(device->kind);
        free(device->seqs);
        free(device->charges);
        free(device->markers);
        free(device->lost_text);
        free(device);
}

void pw_device_mark(struct pw_device *device, struct pw_fragment *fragment, uint32_t gang)
{
        device->markers[device->marker_end++ & device->seq_mask] =
                (struct pw_marker){ .count = device->ordered, .fragment = fragment, .gang = gang };
}
