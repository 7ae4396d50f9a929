/* The peak of one run: what its blocks and results take of each device. */
#include "program/image/image.h"

#include "base/memory.h"
#include "base/size.h"

/* A device, and the slice that has it. */
struct where { uint32_t device, slice; };

static uint32_t device_key(const struct pw_slice_place *at) { return (uint32_t)at->host << 16 | at->device; }

static int by_device(const void *a, const void *b)
{
        uint32_t first = ((const struct where *)a)->device, second = ((const struct where *)b)->device;

        return first < second ? -1 : first > second;
}

/* Own: *ret_list is the caller's. False: out of memory. */
static bool list_devices(const struct pw_image *image, const struct pw_slice_map *slices, struct where **ret_list,
                         size_t *ret_count)
{
        struct where *list;
        size_t count = 0;

        for (uint32_t s = 0; s < image->slice_count; s++)
                count += slices[s].device_count;
        list = calloc(count + 1, sizeof *list);
        if (!list)
                return false;
        count = 0;
        for (uint32_t s = 0; s < image->slice_count; s++)
                for (uint32_t i = 0; i < slices[s].device_count; i++)
                        list[count++] = (struct where){ device_key(&slices[s].places[i]), s };
        qsort(list, count, sizeof *list, by_device);
        *ret_list = list;
        *ret_count = count;
        return true;
}

enum pw_status pw_image_peak(const struct pw_image *image, const struct pw_slice_map *slices, uint64_t *ret_bytes,
                             struct pw_error *ret_err)
{
        const struct pw_image_result *results = PW_IMAGE_AT(image, struct pw_image_result, image->results);
        pw_auto_free uint64_t *bytes = calloc((size_t)image->slice_count + 1, sizeof *bytes); /* of each slice, on each device */
        pw_auto_free struct where *list = NULL;
        uint64_t most = 0, sum = 0;
        size_t count;

        if (!bytes || !list_devices(image, slices, &list, &count))
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");
        for (uint32_t b = 0; b < pw_image_block_count(image); b++)
                bytes[pw_image_block(image, b)->slice] += pw_image_block(image, b)->bytes;
        for (uint32_t r = 0; r < image->result_count; r++) {
                const struct pw_image_value *value = pw_image_value(image, results[r].value);
                bytes[value->slice] += pw_room_bytes(value->shard_bytes);
        }
        for (size_t i = 0; i < count; i++) {
                sum = (i && list[i].device == list[i - 1].device ? sum : 0) + bytes[list[i].slice];
                most = pw_max_u64(most, sum);
        }
        *ret_bytes = most;
        return PW_OK;
}

/* No sum of rooms that a device could see may overflow. */
enum pw_status pw_image_find_peak(struct pw_image *image, const struct pw_slice_map *slices, struct pw_error *ret_err)
{
        const struct pw_image_result *results = PW_IMAGE_AT(image, struct pw_image_result, image->results);
        uint64_t total = 0;
        bool fits = true;

        for (uint32_t b = 0; b < pw_image_block_count(image); b++)
                fits = fits && pw_add_ok(total, pw_image_block(image, b)->bytes, &total);
        for (uint32_t r = 0; r < image->result_count; r++)
                fits = fits &&
                       pw_add_ok(total, pw_room_bytes(pw_image_value(image, results[r].value)->shard_bytes), &total);
        if (!fits)
                return pw_error_set(ret_err, PW_TOO_LARGE,
                                    "the values of the program have more bytes than 64 bits can count");
        return pw_image_peak(image, slices, &image->peak_bytes, ret_err);
}
