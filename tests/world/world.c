/* The world: memory, boards, devices; chance. */
#include "tests/world/client/claim.h"
#include "tests/world/client/store.h"

#include "base/memory.h"
#include "scheduler/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/mman.h>

#include <cmocka.h>

const char *const world_tenants[WORLD_TENANTS] = { "tenant", "second", "third", "fourth" };

uint32_t world_random(struct world *world, uint32_t below)
{
        world->state += UINT64_C(0x9e3779b97f4a7c15);
        return below ? (uint32_t)(world_mix(world_mix(world->state, 0), 1) >> 20) % below : 0;
}

void world_log(struct world *world, const char *format, ...)
{
        va_list args;

        if (!world->trace)
                return;
        va_start(args, format);
        vprintf(format, args);
        va_end(args);
        putchar('\n');
}

void world_fail(struct world *world, const char *format, ...)
{
        char text[700];
        va_list args;

        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        fflush(stdout);
        fprintf(stderr, "PW_WORLD_SEED=%lu: %s\n", (unsigned long)world->seed, text);
        world_states_print(world);
        fail_msg("%s", text);
        abort();
}

static void *map(uint64_t bytes)
{
        void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        assert_true(base != MAP_FAILED);
        return base;
}

#define BOARD_BYTES (UINT64_C(1) << 28)

static void add_island(struct world *world, uint32_t island)
{
        struct pw_error err;
        uint64_t bytes = BOARD_BYTES;

        world->boards[island] = map(BOARD_BYTES);
        if (world->options.arena_bytes)
                bytes = offsetof(struct pw_island_board, arena) + world->options.arena_bytes;
        if (pw_boards_island(world->host, island, world->boards[island], bytes, &err) != PW_OK)
                world_fail(world, "%s", err.text);
}

static void add_device(struct world *world, uint32_t island)
{
        uint32_t number = world->device_count++;
        struct world_executor *executor = &world->executors[number];
        struct pw_device_add add = { number, island, "emulated", world->options.capacity, false, world->options.apart };
        enum pw_status status;
        struct pw_error err;

        *executor = (struct world_executor){ .present = true, .device = number, .island = island, .next = 1,
                                             .flights = world_flights_new(),
                                             .board = map(sizeof *executor->board),
                                             .memory_bytes = world->options.capacity,
                                             .memory = map(world_tenant_count(world) * world->options.capacity) };
        assert_non_null(executor->flights);
        status = pw_scheduler_device_add(world->scheduler, &add, &err);
        for (uint32_t t = 0; status == PW_OK && t < world_tenant_count(world); t++)
                status = pw_scheduler_segment(world->scheduler, number, world_tenants[t],
                                              WORLD_SEGMENTS + t * WORLD_DEVICES + number, executor->memory_bytes, &err);
        if (status == PW_OK)
                status = pw_boards_device(world->host, number, island, executor->board, &err);
        if (status != PW_OK)
                world_fail(world, "%s", err.text);
}

void world_init(struct world *world, uint64_t seed, const struct world_options *options)
{
        struct pw_error err;

        memset(world, 0, sizeof *world);
        world->seed = world->state = seed;
        world->options = *options;
        world->kind = world_kind();
        world->options.apart |= world->kind == WORLD_APART;
        world->tenant = world_tenants[0];
        world->passing = world_passing_new();
        assert_non_null(world->passing);
        world->trace = getenv("PW_WORLD_TRACE") != NULL;
        world->check_every = getenv("PW_WORLD_SEEDS") && !getenv("PW_WORLD_SEED") ? WORLD_CHECK_RARELY : 1;
        world->scheduler = pw_scheduler_new(&(struct pw_scheduler_params){ .ahead = options->ahead, .host = WORLD_HOST,
                                                                           .epoch = WORLD_EPOCH, .linked = options->slow_messages,
                                                                           .policy = options->policy }, &err);
        world->host = pw_boards_new(WORLD_HOST);
        world->link = world_link_new();
        assert_non_null(world->link);
        assert_non_null(world->scheduler);
        assert_non_null(world->host);
        pw_list_init(&world->objects);
        pw_list_init(&world->runs);
        world_store_open(world);
        world_claims_open(world);
        world_states_open(world);
        for (uint32_t i = 0; i < options->islands; i++) {
                add_island(world, i);
                for (uint32_t d = 0; d < options->devices_per_island; d++)
                        add_device(world, i);
        }
}

void world_shrink(struct world *world, uint32_t device, uint64_t bytes)
{
        struct pw_device *shrunk = world->scheduler->devices[device];

        assert_true(shrunk->free == shrunk->capacity && bytes <= shrunk->capacity);
        shrunk->capacity = shrunk->free = bytes;
}

void world_forget_runs(struct world *world)
{
        struct world_object *object;
        struct world_run *run;

        pw_list_each(&world->runs, run, struct world_run, link) {
                bool used = !run->ended || world_link_carries(world, run->number);
                pw_list_each(&world->objects, object, struct world_object, link)
                        used |= object->maker == run;
                if (used)
                        continue;
                pw_list_remove(&run->link);
                free(run);
        }
}

void world_done(struct world *world)
{
        struct world_object *object;
        struct world_run *run;

        pw_list_each(&world->objects, object, struct world_object, link)
                free(object);
        pw_list_each(&world->runs, run, struct world_run, link)
                free(run);
        pw_scheduler_free(world->scheduler);
        world_store_close(world);
        world_claims_close(world);
        pw_boards_free(world->host);
        for (uint32_t i = 0; i < PW_ISLANDS_MAX; i++)
                if (world->boards[i])
                        munmap(world->boards[i], BOARD_BYTES);
        for (uint32_t i = 0; i < world->device_count; i++) {
                free(world->executors[i].flights);
                munmap(world->executors[i].board, sizeof *world->executors[i].board);
                munmap(world->executors[i].memory, world_tenant_count(world) * world->executors[i].memory_bytes);
        }
        world_link_free(world->link);
        world_states_close(world);
        free(world->passing);
}
