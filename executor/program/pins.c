/* Ranges of pages that the device reaches by itself. There are few, so they are looked through. */
#include "executor/program/pins.h"

#include "base/memory.h"

#define PAGE_BYTES 4096u

void pw_pins_init(struct pw_pins *pins, const struct pw_device_memory *memory, struct pw_exec_device *device,
                  _Atomic uint32_t *word)
{
        *pins = (struct pw_pins){ .memory = memory->pin == pw_memory_pins_nothing ? NULL : memory, .device = device, .word = word };
}

static void say(struct pw_pins *pins) { atomic_store(pins->word, pins->pinned); }

static void drop(struct pw_pins *pins, uint32_t i)
{
        struct pw_pin pin = pins->all[i];

        pins->all[i] = pins->all[--pins->count];
        if (pin.is_refused)
                return;
        pins->memory->unpin(pins->device, pin.base, pin.bytes);
        pins->bytes -= pin.bytes;
        pins->pinned--;
        say(pins);
}

void pw_pins_done(struct pw_pins *pins)
{
        while (pins->count)
                drop(pins, pins->count - 1);
}

static bool overlaps(const struct pw_pin *pin, const uint8_t *at, uint64_t bytes)
{
        return pin->base < at + bytes && at < pin->base + pin->bytes;
}

bool pw_pins_used(const struct pw_pins *pins, const uint8_t *at, uint64_t bytes, uint64_t since)
{
        for (uint32_t i = 0; i < pins->count; i++)
                if (!pins->all[i].is_refused && pins->all[i].used >= since && overlaps(&pins->all[i], at, bytes))
                        return true;
        return false;
}

void pw_pins_drop(struct pw_pins *pins, const uint8_t *at, uint64_t bytes)
{
        for (uint32_t i = pins->count; i-- > 0;)
                if (overlaps(&pins->all[i], at, bytes))
                                drop(pins, i);
}

/* All of it is in one. */
static bool has(struct pw_pins *pins, const struct pw_pin *wanted)
{
        for (uint32_t i = 0; i < pins->count; i++) {
                struct pw_pin *pin = &pins->all[i];
                if (pin->base > wanted->base || wanted->base + wanted->bytes > pin->base + pin->bytes)
                        continue;
                pin->used = pw_max_u64(pin->used, wanted->used);
                return true;
        }
        return false;
}

/* False: all that there are were used by gangs from `in_use` on. */
static bool drop_oldest(struct pw_pins *pins, uint64_t in_use)
{
        uint32_t oldest = 0;

        for (uint32_t i = 1; i < pins->count; i++)
                if (pins->all[i].used < pins->all[oldest].used)
                        oldest = i;
        if (!pins->count || pins->all[oldest].used >= in_use)
                return false;
        drop(pins, oldest);
        return true;
}

static bool make_place(struct pw_pins *pins, uint64_t bytes, uint64_t in_use)
{
        if (bytes > PW_PINS_BYTES)
                return false;
        while (pins->count == PW_PINS_MAX || pins->bytes + bytes > PW_PINS_BYTES)
                if (!drop_oldest(pins, in_use))
                        return false;
        return true;
}

/* The word says so first: who gives pages back looks there when the gang is done, or later. */
static void add(struct pw_pins *pins, struct pw_pin pin, bool writable)
{
        pins->pinned++;
        say(pins);
        pin.is_refused = !pins->memory->pin(pins->device, pin.base, pin.bytes, writable);
        if (pin.is_refused) {
                pins->pinned--;
                say(pins);
        } else {
                pins->bytes += pin.bytes;
        }
        pins->all[pins->count++] = pin;
}

void pw_pins_want(struct pw_pins *pins, const struct pw_pins_wanted *wanted)
{
        uintptr_t begin = (uintptr_t)wanted->at & ~(uintptr_t)(PAGE_BYTES - 1);
        struct pw_pin pin = { .base = (uint8_t *)begin, .used = wanted->gang,
                              .bytes = pw_round_up((uintptr_t)wanted->at + wanted->bytes, PAGE_BYTES) - begin };

        if (!pins->memory || wanted->bytes < PW_PINS_MIN_BYTES || has(pins, &pin) ||
            pw_pins_used(pins, pin.base, pin.bytes, wanted->in_use))
                return;
        pw_pins_drop(pins, pin.base, pin.bytes);
        if (make_place(pins, pin.bytes, wanted->in_use))
                add(pins, pin, wanted->writable);
}
