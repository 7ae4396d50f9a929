/* What a daemon does for the launch loop, done by the host that tests make up. */
#include "executor/fixture_test.h"

#include "base/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

/* A second map of the same pages: the loop unmaps its own. */
static enum pw_status map_again(const struct world *world, uint32_t segment, struct pw_window part, struct pw_map *ret_map,
                                struct pw_error *ret_err)
{
        uint8_t *again;

        if (segment >= 2 + world->device_count)
                return pw_error_set(ret_err, PW_NOT_FOUND, "no segment %u", segment);
        again = mremap(world->segments[segment] + part.offset, 0, part.bytes, MREMAP_MAYMOVE);
        if (again == MAP_FAILED)
                return pw_error_set(ret_err, PW_SYSTEM, "mremap");
        *ret_map = (struct pw_map){ again, part.bytes, true };
        return PW_OK;
}

static enum pw_status map_segment(void *context, uint32_t segment, struct pw_host_map *ret_map, struct pw_error *ret_err)
{
        *ret_map = (struct pw_host_map){ .file = segment };
        return map_again(context, segment, (struct pw_window){ -1, 0, SEGMENT_BYTES }, &ret_map->map, ret_err);
}

static enum pw_status map_rooms(void *context, uint32_t segment, struct pw_rooms_map *ret_map, struct pw_error *ret_err)
{
        enum pw_status status = map_again(context, segment, (struct pw_window){ -1, 0, ROOMS_BYTES }, &ret_map->rooms, ret_err);

        if (status == PW_OK)
                status = map_again(context, segment, (struct pw_window){ -1, ROOMS_BYTES, pw_segment_heads(ROOMS_BYTES) },
                                   &ret_map->heads, ret_err);
        return status;
}

static enum pw_status open_module(void *context, const char *name, uint64_t digest, int *ret_fd, struct pw_error *ret_err)
{
        static const char *const folders[] = { "executor/modules", "tests/integration/modules" };
        const char *top = getenv("PW_BUILD");
        char path[4096];
        (void)context, (void)digest;

        for (uint32_t i = 0; i < pw_array_count(folders); i++) {
                snprintf(path, sizeof path, "%s/%s/.libs/%s.so", top ? top : ".", folders[i], name);
                *ret_fd = open(path, O_RDONLY | O_CLOEXEC);
                if (*ret_fd >= 0)
                        return PW_OK;
        }
        return pw_error_set(ret_err, PW_NOT_FOUND, "no module %s below %s", name, top ? top : ".");
}

static void count_doorbell(void *context)
{
        struct world *world = context;

        atomic_fetch_add(world->doorbells, 1);
        pw_futex_wake((const _Atomic uint32_t *)world->doorbells, 1);
}

struct pw_surroundings world_around(struct world *world)
{
        return (struct pw_surroundings){ .context = world, .segment = map_segment, .rooms = map_rooms, .module = open_module,
                                         .doorbell = count_doorbell };
}
