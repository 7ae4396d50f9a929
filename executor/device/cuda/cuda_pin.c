/* Memory of the host that is registered with the driver: copies of it go at the speed of the link, and wait for nobody. */
#include "executor/device/cuda_private.h"

#include "base/memory.h"

/* Of the first pin that ends behind `at`. */
static uint32_t place_of(const struct pw_cuda_pins *pins, const uint8_t *at)
{
        uint32_t low = 0, high = pins->count;

        while (low < high) {
                uint32_t middle = (low + high) / 2;
                if (pins->all[middle].base + pins->all[middle].bytes <= at)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low;
}

static bool can(struct pw_exec_device *device, enum pw_cuda_attribute attribute)
{
        int value = 0;

        return device->driver->cuDeviceGetAttribute(&value, attribute, device->device) == PW_CUDA_SUCCESS && value;
}

bool pw_cuda_pin(struct pw_exec_device *device, uint8_t *base, uint64_t bytes, bool writable)
{
        struct pw_cuda_pins *pins = &device->pins;
        uint32_t place = place_of(pins, base);
        unsigned flags = PW_CUDA_HOST_REGISTER_PORTABLE | (writable ? 0 : PW_CUDA_HOST_REGISTER_READ_ONLY);
        enum pw_cuda_result result;
        struct pw_error err;

        if (pins->count == PW_CUDA_PINS || !can(device, PW_CUDA_ATTRIBUTE_HOST_REGISTER_SUPPORTED) ||
            (!writable && !can(device, PW_CUDA_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED)))
                return false;
        pw_cuda_flush(device); /* that takes long */
        result = device->driver->cuMemHostRegister(base, bytes, flags);
        if (pw_cuda_check(device, result, "registering memory of the host", &err) != PW_OK)
                return false;
        memmove(&pins->all[place + 1], &pins->all[place], (pins->count - place) * sizeof pins->all[0]);
        pins->all[place] = (struct pw_cuda_pin){ base, bytes };
        pins->count++;
        return true;
}

void pw_cuda_unpin(struct pw_exec_device *device, uint8_t *base, uint64_t bytes)
{
        struct pw_cuda_pins *pins = &device->pins;
        uint32_t place = place_of(pins, base);
        struct pw_error err;

        (void)bytes;
        if (place == pins->count || pins->all[place].base != base)
                return;
        pw_cuda_flush(device);
        if (pw_cuda_check(device, device->driver->cuMemHostUnregister(base), "memory of the host that stays registered", &err) !=
            PW_OK)
                device->params.lost(device->params.context, err.text); /* the device would go on with pages that were given back */
        pins->count--;
        memmove(&pins->all[place], &pins->all[place + 1], (pins->count - place) * sizeof pins->all[0]);
}

uint64_t pw_cuda_alike(const struct pw_exec_device *device, const void *at, uint64_t bytes, bool *ret_pinned)
{
        const struct pw_cuda_pins *pins = &device->pins;
        const uint8_t *begin = at;
        uint32_t place = place_of(pins, begin);
        const struct pw_cuda_pin *pin = &pins->all[place];

        *ret_pinned = place < pins->count && pin->base <= begin;
        if (*ret_pinned)
                return pw_min_u64(bytes, (uint64_t)(pin->base + pin->bytes - begin));
        return place < pins->count ? pw_min_u64(bytes, (uint64_t)(pin->base - begin)) : bytes;
}
