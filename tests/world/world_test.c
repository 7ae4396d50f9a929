/* Islands of one host under load that chance makes: whatever happens, every run ends, results are what the program says, errors
 * reach exactly what depends on them, no device waits for what is not ordered, rooms are one user's at a time. */
#include "tests/world/client/claim.h"
#include "tests/world/client/store.h"

#include "base/memory.h"
#include "scheduler/island/policy/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static bool is_held(const struct world_object *object) { return object->held || object->shared; }

static struct world_object *random_object(struct world *world)
{
        uint32_t skip = world_random(world, world->object_count + 1);
        struct world_object *object, *found = NULL;

        pw_list_each(&world->objects, object, struct world_object, link) {
                if (is_held(object))
                        found = object;
                if (found && !skip--)
                        break;
        }
        return found;
}

/* One of those who hold it. */
static void let_go(struct world *world, struct world_object *object)
{
        if (object->shared && (!object->held || world_random(world, 2)))
                world_unshare(world, object);
        else
                world_drop(world, object);
}

static bool fits(const struct world_program *program, uint32_t input, const struct world_object *object)
{
        const struct pw_image *image = program->row->image;
        const struct pw_image_value *want =
                pw_image_value(image, PW_IMAGE_AT(image, struct pw_image_input, image->inputs)[input].value);
        const struct pw_dims *dims = object->result ? &object->result->type->value.dims : &object->dims;

        return object->held && object->tenant == program->tenant && dims->rank == want->dims.rank &&
               !memcmp(dims->dim, want->dims.dim, dims->rank * sizeof dims->dim[0]);
}

static void submit_random(struct world *world)
{
        struct world_program *program = &world->programs[world_random(world, WORLD_PROGRAMS)];
        struct world_object *inputs[WORLD_INPUTS], *put[WORLD_INPUTS] = { NULL };

        if (!program->handle || world->runs_open > 40)
                return;
        for (uint32_t i = 0; i < program->row->input_count; i++) {
                inputs[i] = world_random(world, 4) ? random_object(world) : NULL;
                if (inputs[i] && fits(program, i, inputs[i]))
                        continue;
                inputs[i] = put[i] = world_put(world, program, i, world_random(world, 4) != 0);
        }
        if (world_random(world, 100) < world->options.deadline_percent)
                world->deadline_us = world->now_us + 1 + world_random(world, 3000);
        world_submit(world, program, inputs, world_random(world, 100) < world->options.sequential_percent);
        for (uint32_t i = 0; i < program->row->input_count; i++)
                if (put[i] && put[i]->held && world_random(world, 2))
                        world_drop(world, put[i]);
}

static void make_ready(struct world *world, bool all)
{
        struct world_run *run;

        pw_list_each(&world->runs, run, struct world_run, link)
                for (uint32_t i = 0; !run->ended && i < run->run->input_count; i++)
                        if (run->pending[i] && (all || !world_random(world, 4)))
                                world_input_ready(world, run, i, world_random(world, 8) ? PW_OK : PW_PRODUCER_LOST);
}

static struct world_run *random_run(struct world *world)
{
        struct world_run *run, *found = NULL;

        pw_list_each(&world->runs, run, struct world_run, link)
                if (!run->ended && (!found || !world_random(world, 3)))
                        found = run;
        return found;
}

static void free_program(struct world *world)
{
        struct world_program *program = &world->programs[world_random(world, WORLD_PROGRAMS)];
        struct world_run *run;

        if (!program->handle)
                return;
        pw_list_each(&world->runs, run, struct world_run, link)
                if (run->program == program)
                        return;
        pw_scheduler_program_free(world->scheduler, program->handle);
        world_daemon(world);
        world->tenant = program->tenant;
        *program = (struct world_program){ .handle = 0 };
        world_make_program(world, program);
}

static void event(struct world *world)
{
        uint32_t dice = world_random(world, 1000), runs;
        struct world_object *object;
        struct world_run *run;

        world->now_us += world_random(world, 50);
        if (world_random(world, 1000) < world->options.death_per_mille)
                world_kill(world, world_random(world, world->device_count));
        for (; world->ending; world->ending &= world->ending - 1)
                world_kill(world, (uint32_t)__builtin_ctzll(world->ending));
        if (world_random(world, 1000) < world->options.cancel_per_mille && (run = random_run(world)))
                world_cancel(world, run);
        if (dice < 700) {
                for (runs = world_random(world, 6); runs; runs--)
                        world_step(world, world_random(world, world->device_count));
        } else if (dice < 820) {
                world_daemon(world);
        } else if (dice < 900) {
                submit_random(world);
        } else if (dice < 960) {
                object = random_object(world);
                if (object && world_random(world, 2))
                        world_ask(world, object);
                else if (object && !world_random(world, 3))
                        world_share(world, object);
                else if (object)
                        let_go(world, object);
                if (!world_random(world, 16))
                        world_other_dies(world);
        } else if (dice < 985) {
                make_ready(world, false);
        } else if (dice < 995) {
                world_forget_runs(world);
                world_check(world);
        } else {
                free_program(world);
        }
}

/* What they say that they wait for. */
static void print_open(struct world *world)
{
        struct world_run *run;
        struct pw_run_row row;

        pw_list_each(&world->runs, run, struct world_run, link)
                if (!run->ended && pw_scheduler_run_row(world->scheduler, run->number, &row, &(uint64_t){ 0 }))
                        print_message("run %lu, state %d: %s\n", (unsigned long)run->number, (int)row.state, row.waiting_for);
}

/* Nothing new comes: everything ends, once the client lets go of what holds memory that others need. */
static void settle(struct world *world)
{
        world_claims_end(world);
        make_ready(world, true);
        while (world->runs_open) {
                bool moved = false;
                for (uint32_t i = 0; i < world->device_count; i++)
                        moved |= world_step(world, i);
                world_deliver(world, true);
                world_daemon(world);
                make_ready(world, true);
                if (!moved && world->runs_open && world_link_empty(world) && !pw_store_reclaims(world->store) &&
                    !world_unread(world)) {
                        struct world_object *object = random_object(world);
                        bool again = false;
                        for (uint32_t i = 0; i < world->device_count; i++)
                                again |= world_step(world, i);
                        if (again)
                                continue;
                        if (!object)
                                print_open(world);
                        if (!object)
                                world_fail(world, "%u runs do not end", world->runs_open);
                        let_go(world, object);
                }
        }
        world_check(world);
}

static void all_free(void *context, const struct pw_device_row *row)
{
        if (row->free != row->capacity || row->ordered != row->done)
                world_fail(context, "device %u: %lu of %lu bytes free in the end", row->device, (unsigned long)row->free,
                           (unsigned long)row->capacity);
}

struct share { uint64_t judged, decided, refused; };

static struct share play(uint64_t seed, const struct world_options *options, uint32_t events)
{
        static struct world world;
        struct world_object *object;
        struct share share;

        world_init(&world, seed, options);
        for (uint32_t i = 0; i < WORLD_PROGRAMS; i++) {
                world.tenant = world_tenants[i % world_tenant_count(&world)];
                world_make_program(&world, &world.programs[i]);
        }
        for (uint32_t i = 0; i < events; i++)
                event(&world);
        settle(&world);
        while ((object = random_object(&world))) {
                let_go(&world, object);
                world_daemon(&world);
        }
        world_hush(&world);
        if (world.object_count)
                world_fail(&world, "%u objects are left", world.object_count);
        pw_scheduler_each_device(world.scheduler, all_free, &world);
        world_check_store_empty(&world);
        share = (struct share){ world.judged, world.good + world.failed, world.unprepared };
        printf("seed %lu: %lu runs, %lu results, %lu errors, %lu deaths, %lu judged", (unsigned long)seed,
               (unsigned long)world.ended, (unsigned long)world.good, (unsigned long)world.failed, (unsigned long)world.deaths,
               (unsigned long)world.judged);
        printf("; ahead: %lu calls, %lu moves, %lu sends\n", (unsigned long)world.ahead[WORLD_CALLS],
               (unsigned long)world.ahead[WORLD_MOVES], (unsigned long)world.ahead[WORLD_SENDS]);
        world_done(&world);
        return share;
}

/* Every fourth seed is a new one. Of late devices one and a new one are played each time: soak plays as many. */
static void play_seeds(uint32_t first, uint32_t count, const struct world_options *options)
{
        bool early = world_kind() == WORLD_EARLY;
        struct world_seeds seeds = early ? world_seeds(first, count - count / 4, count / 4) : world_seeds(first, 1, 1);
        struct share all = { 0, 0, 0 };

        for (uint64_t i = 0; i < seeds.count + seeds.fresh; i++) {
                struct share share = play(world_seed(&seeds, i), options, 4000);
                all.judged += share.judged;
                all.decided += share.decided;
                all.refused += share.refused;
        }
        printf("%lu of %lu results were known beforehand: %lu %%\n", (unsigned long)all.judged, (unsigned long)all.decided,
               (unsigned long)(all.judged * 100 / (all.decided ? all.decided : 1)));
        if (options->arena_bytes) {
                printf("%lu runs found no room in a board\n", (unsigned long)all.refused);
                if (seeds.count > 1 && !all.refused)
                        fail_msg("no run was refused for want of room in a board");
        }
        if (seeds.count > 1 && all.judged * 100 < all.decided * options->judged_percent)
                fail_msg("%lu of %lu results were known beforehand, which is less than %u %%", (unsigned long)all.judged,
                         (unsigned long)all.decided, options->judged_percent);
}

static void test_load(void **state)
{
        (void)state;
        play_seeds(1, 8, &(struct world_options){ .judged_percent = 90,
                                                  .islands = 2, .devices_per_island = 4, .ahead = 4, .capacity = 1 << 20,
                                                  .fail_percent = 0, .sequential_percent = 10 });
}

static void test_errors(void **state)
{
        (void)state;
        play_seeds(1000, 8, &(struct world_options){ .judged_percent = 80,
                                                     .islands = 3, .devices_per_island = 3, .ahead = 8, .capacity = 1 << 20,
                                                     .fail_percent = 20, .sequential_percent = 10, .slow_messages = true });
}

/* Tenants that share devices: their runs are ordered in turn, whatever they wait for. */
static void test_tenants(void **state)
{
        (void)state;
        play_seeds(10000, 8, &(struct world_options){ .judged_percent = 85, .tenants = 3,
                                                      .islands = 2, .devices_per_island = 4, .ahead = 3, .capacity = 256 << 10,
                                                      .sequential_percent = 5, .slow_messages = true, .rich = true });
        play_seeds(11000, 8, &(struct world_options){ .judged_percent = 25, .tenants = 4,
                                                      .islands = 4, .devices_per_island = 2, .ahead = 2, .capacity = 64 << 10,
                                                      .fail_percent = 5, .sequential_percent = 5, .death_per_mille = 2,
                                                      .cancel_per_mille = 10, .deadline_percent = 10, .slow_messages = true,
                                                      .rich = true });
        play_seeds(12000, 8, &(struct world_options){ .judged_percent = 30, .tenants = 2,
                                                      .islands = 1, .devices_per_island = 3, .ahead = 1, .capacity = 1 << 20,
                                                      .fail_percent = 5, .cancel_per_mille = 10, .rich = true });
}

/* Tenants in one arena: rooms of no two lie over each other, and one who has none left waits for what the others give back. */
static void test_apart(void **state)
{
        (void)state;
        play_seeds(15000, 8, &(struct world_options){ .judged_percent = 25, .tenants = 4, .apart = true,
                                                      .islands = 2, .devices_per_island = 3, .ahead = 4, .capacity = 128 << 10,
                                                      .fail_percent = 5, .sequential_percent = 5, .death_per_mille = 2,
                                                      .cancel_per_mille = 10, .slow_messages = true, .rich = true });
        play_seeds(15500, 8, &(struct world_options){ .judged_percent = 80, .tenants = 3, .apart = true,
                                                      .islands = 1, .devices_per_island = 4, .ahead = 8, .capacity = 1 << 20,
                                                      .sequential_percent = 10 });
}

/* Whose turn comes first is the policy's: whatever it says, all that must hold does. */
static void test_policies(void **state)
{
        const struct pw_policy *policy;

        (void)state;
        for (uint32_t i = 0; (policy = pw_policy_at(i)); i++)
                play_seeds(13000 + 500 * i, 8, &(struct world_options){ .judged_percent = 25, .tenants = 4, .policy = policy->name,
                                                                        .islands = 2, .devices_per_island = 3, .ahead = 3,
                                                                        .capacity = 256 << 10,
                                                                        .fail_percent = 5, .sequential_percent = 5,
                                                                        .death_per_mille = 2,
                                                                        .cancel_per_mille = 10, .slow_messages = true,
                                                                        .rich = true });
}

/* Boards that are too small for the records of all runs at once. */
static void test_small_arena(void **state)
{
        (void)state;
        play_seeds(4000, 8, &(struct world_options){ .judged_percent = 20, .arena_bytes = 72 << 10,
                                                     .islands = 2, .devices_per_island = 3, .ahead = 3, .capacity = 1 << 20,
                                                     .fail_percent = 5, .sequential_percent = 10, .slow_messages = true });
        play_seeds(4500, 8, &(struct world_options){ .judged_percent = 0, .arena_bytes = 72 << 10,
                                                     .islands = 2, .devices_per_island = 3, .ahead = 3, .capacity = 1 << 20,
                                                     .fail_percent = 5, .sequential_percent = 10, .death_per_mille = 3,
                                                     .cancel_per_mille = 5, .slow_messages = true, .rich = true });
}

static void test_cancels(void **state)
{
        (void)state;
        play_seeds(2000, 8, &(struct world_options){ .judged_percent = 30,
                                                     .islands = 2, .devices_per_island = 3, .ahead = 3, .capacity = 1 << 20,
                                                     .fail_percent = 5, .sequential_percent = 10, .cancel_per_mille = 20,
                                                     .slow_messages = true });
}

static void test_deaths(void **state)
{
        (void)state;
        play_seeds(3000, 8, &(struct world_options){ .judged_percent = 20,
                                                     .islands = 4, .devices_per_island = 2, .ahead = 5, .capacity = 1 << 20,
                                                     .fail_percent = 5, .sequential_percent = 10, .death_per_mille = 5,
                                                     .cancel_per_mille = 5, .slow_messages = true });
}

/* A few deaths and nothing else: of most results it is known beforehand whether they come. */
static void test_few_deaths(void **state)
{
        (void)state;
        play_seeds(9000, 16, &(struct world_options){ .judged_percent = 50,
                                                      .islands = 4, .devices_per_island = 2, .ahead = 5, .capacity = 1 << 20,
                                                      .fail_percent = 2, .sequential_percent = 10, .death_per_mille = 1,
                                                      .slow_messages = true });
        play_seeds(9500, 8, &(struct world_options){ .judged_percent = 40,
                                                     .islands = 3, .devices_per_island = 3, .ahead = 5, .capacity = 256 << 10,
                                                     .sequential_percent = 5, .death_per_mille = 1, .slow_messages = true,
                                                     .rich = true });
}

/* Runs end at deadlines of their own, wherever they are; members that are in a function then die. */
static void test_deadlines(void **state)
{
        (void)state;
        play_seeds(5000, 8, &(struct world_options){ .judged_percent = 20,
                                                     .islands = 2, .devices_per_island = 3, .ahead = 4, .capacity = 64 << 10,
                                                     .fail_percent = 5, .sequential_percent = 10, .cancel_per_mille = 5,
                                                     .deadline_percent = 30, .slow_messages = true });
}

/* Memory for a few runs only. */
static void test_narrow(void **state)
{
        (void)state;
        play_seeds(4000, 16, &(struct world_options){ .judged_percent = 45,
                                                      .islands = 2, .devices_per_island = 3, .ahead = 4, .capacity = 32 << 10,
                                                     .fail_percent = 5, .sequential_percent = 10, .cancel_per_mille = 2,
                                                     .slow_messages = true });
}

/* The same where devices end, so that runs whose blocks others took over are cancelled and fail. */
static const struct world_options narrow_deaths = { .judged_percent = 20,
                                                    .islands = 3, .devices_per_island = 2, .ahead = 6, .capacity = 40 << 10,
                                                    .fail_percent = 5, .sequential_percent = 5, .death_per_mille = 3,
                                                    .cancel_per_mille = 10, .slow_messages = true };

static void test_narrow_deaths(void **state)
{
        (void)state;
        play_seeds(5000, 16, &narrow_deaths);
}

/* Programs of all kinds; then functions fail, too. */
static void test_rich(void **state)
{
        (void)state;
        play_seeds(6000, 8, &(struct world_options){ .judged_percent = 85,
                                                     .islands = 3, .devices_per_island = 4, .ahead = 4, .capacity = 256 << 10,
                                                     .sequential_percent = 5, .slow_messages = true, .rich = true });
        play_seeds(7000, 8, &(struct world_options){ .judged_percent = 85,
                                                     .islands = 2, .devices_per_island = 4, .ahead = 4, .capacity = 256 << 10,
                                                     .fail_percent = 10, .sequential_percent = 5, .slow_messages = true,
                                                     .rich = true });
}

/* And everything else goes wrong that may, in little memory. */
static void test_rich_troubles(void **state)
{
        (void)state;
        play_seeds(8000, 16, &(struct world_options){ .judged_percent = 25,
                                                      .islands = 3, .devices_per_island = 3, .ahead = 5, .capacity = 64 << 10,
                                                      .fail_percent = 5, .sequential_percent = 5, .death_per_mille = 2,
                                                      .cancel_per_mille = 5, .deadline_percent = 10, .slow_messages = true,
                                                      .rich = true });
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_load),    cmocka_unit_test(test_errors), cmocka_unit_test(test_cancels),
                        cmocka_unit_test(test_small_arena),
                cmocka_unit_test(test_tenants), cmocka_unit_test(test_apart), cmocka_unit_test(test_policies),
                cmocka_unit_test(test_deaths),  cmocka_unit_test(test_few_deaths), cmocka_unit_test(test_narrow),
                cmocka_unit_test(test_narrow_deaths), cmocka_unit_test(test_deadlines),
                cmocka_unit_test(test_rich), cmocka_unit_test(test_rich_troubles),
        };

        return WORLD_RUN_TESTS(tests);
}
