/* The peak of one run: what its blocks and results take of each device. */
#include "program/image/image.h"

#include "base/memory.h"
#include "base/size.h"

static bool has_device(const struct pw_slice_map *slice, uint32_t device)
{
        for (uint32_t i = 0; i < slice->device_count; i++)
                if (slice->devices[i] == device)
                        return true;
        return false;
}

uint64_t pw_image_device_peak(const struct pw_image *image, const struct pw_slice_map *slices, uint32_t device)
{
        const struct pw_image_result *results = PW_IMAGE_AT(image, struct pw_image_result, image->results);
        uint64_t peak = 0;

        for (uint32_t b = 0; b < pw_image_block_count(image); b++)
                if (has_device(&slices[pw_image_block(image, b)->slice], device))
                        peak += pw_image_block(image, b)->bytes;
        for (uint32_t r = 0; r < image->result_count; r++)
                if (has_device(&slices[pw_image_value(image, results[r].value)->slice], device))
                        peak += pw_room_bytes(pw_image_value(image, results[r].value)->shard_bytes);
        return peak;
}

/* Bytes of each slice on each of its devices, then for each device the slices that it is in. */
static enum pw_status largest_peak(struct pw_image *image, const struct pw_slice_map *slices, struct pw_error *ret_err)
{
        const struct pw_image_result *results = PW_IMAGE_AT(image, struct pw_image_result, image->results);
        pw_auto_free uint64_t *bytes = calloc((size_t)image->slice_count + 1, sizeof *bytes);

        if (!bytes)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");
        for (uint32_t b = 0; b < pw_image_block_count(image); b++)
                bytes[pw_image_block(image, b)->slice] += pw_image_block(image, b)->bytes;
        for (uint32_t r = 0; r < image->result_count; r++) {
                const struct pw_image_value *value = pw_image_value(image, results[r].value);
                bytes[value->slice] += pw_room_bytes(value->shard_bytes);
        }
        for (uint32_t s = 0; s < image->slice_count; s++) {
                for (uint32_t i = 0; i < slices[s].device_count; i++) {
                        uint64_t peak = 0;
                        for (uint32_t other = 0; other < image->slice_count; other++)
                                peak += has_device(&slices[other], slices[s].devices[i]) ? bytes[other] : 0;
                        image->peak_bytes = pw_max_u64(image->peak_bytes, peak);
                }
        }
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
        return largest_peak(image, slices, ret_err);
}
