/* Device addresses. They lie in one window of addresses where the processor can read nothing, at the same place in every process;
 * what they stand for is mapped as far into a second window, which only work of streams reaches. */
#include "tests/fake_cuda/fake.h"

#include <sys/mman.h>

#define WINDOW_BYTES (UINT64_C(1) << 40)
#define DEVICE_BASE UINT64_C(0x300000000000)
#define REAL_BASE UINT64_C(0x340000000000)

struct reserved { struct pw_list link; uint64_t address, bytes; };

static struct pw_list all; /* by address */

void fake_window_start(void)
{
        static const uint64_t bases[] = { DEVICE_BASE, REAL_BASE };

        pw_list_init(&all);
        for (size_t i = 0; i < pw_array_count(bases); i++) {
                void *wish = (void *)(uintptr_t)bases[i];

                if (mmap(wish, WINDOW_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) !=
                    wish)
                        fake_abort("the addresses at %p are not free", wish);
        }
}

void *fake_window_at(uint64_t address) { return (void *)(uintptr_t)(address - DEVICE_BASE + REAL_BASE); }

/* The first place from `from` on that is free; *ret_before is what lies behind it. */
static uint64_t place_find(uint64_t from, uint64_t bytes, uint64_t align, struct pw_list **ret_before)
{
        uint64_t address = pw_round_up(from, align);
        struct reserved *one;

        *ret_before = &all;
        pw_list_each(&all, one, struct reserved, link) {
                if (one->address + one->bytes <= address)
                        continue;
                if (one->address >= address + bytes) {
                        *ret_before = &one->link;
                        break;
                }
                address = pw_round_up(one->address + one->bytes, align);
        }
        return bytes <= WINDOW_BYTES && address + bytes <= DEVICE_BASE + WINDOW_BYTES ? address : 0;
}

uint64_t fake_window_reserve(uint64_t bytes, uint64_t align, uint64_t wish)
{
        bool can_wish = wish >= DEVICE_BASE && wish < DEVICE_BASE + WINDOW_BYTES && !(wish % FAKE_GRANULARITY);
        struct pw_list *before;
        uint64_t address = can_wish ? place_find(wish, bytes, FAKE_GRANULARITY, &before) : 0;
        struct reserved *one = malloc(sizeof *one);

        if (!address || address != wish)
                address = place_find(DEVICE_BASE + FAKE_GRANULARITY, bytes, align ? align : FAKE_GRANULARITY, &before);
        if (!address || !one) {
                free(one);
                return 0;
        }
        *one = (struct reserved){ .address = address, .bytes = bytes };
        pw_list_append(before, &one->link);
        return address;
}

bool fake_window_free(uint64_t address, uint64_t bytes)
{
        struct reserved *one;

        pw_list_each(&all, one, struct reserved, link) {
                if (one->address != address || one->bytes != bytes)
                        continue;
                pw_list_remove(&one->link);
                free(one);
                return true;
        }
        return false;
}

bool fake_window_has(uint64_t address, uint64_t bytes)
{
        struct reserved *one;

        pw_list_each(&all, one, struct reserved, link)
                if (one->address <= address && address - one->address < one->bytes &&
                    one->bytes - (address - one->address) >= bytes)
                        return true;
        return false;
}
