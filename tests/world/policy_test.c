/* Policies: what each of them must do, and the shares of device time that `share` gives, under virtual time. */
#include "tests/world/world.h"

#include "base/memory.h"
#include "scheduler/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define TENANTS WORLD_TENANTS
#define IN_FLIGHT 24u /* runs of a tenant that has enough to do: together more than the window */
#define CALLS 4u

static struct world world;

/* --- a play --------------------------------------------------------------------------------------------------------------- */

/* Tenants that each want all of the devices, for gangs of this length. */
struct play {
        uint64_t tick_us, took_us[TENANTS], gang_us[TENANTS], idle_us;
        uint32_t gangs[TENANTS];
        uint32_t open[WORLD_PROGRAMS];
        bool away[TENANTS];
        bool keeps_runs; /* that ended: who looks for them forgets them */
};

static void begin(const char *policy, uint32_t devices)
{
        world_init(&world, 1, &(struct world_options){ .islands = 1, .devices_per_island = devices, .ahead = 16,
                                                       .tenants = TENANTS, .policy = policy,
                                                       .capacity = 4 << 20, .donations = 1 });
        world.check_every = 16;
}

static uint32_t tenant_of(const struct world_program *program)
{
        uint32_t t = 0;

        while (strcmp(world_tenants[t], program->tenant))
                t++;
        return t;
}

static void add_programs(uint32_t tenant, uint32_t first, uint32_t count)
{
        world.tenant = world_tenants[tenant];
        for (uint32_t i = first; i < first + count; i++)
                world_make_chain(&world, &world.programs[i], "chain", CALLS, 8);
}

static void weigh(const uint32_t *weights)
{
        struct pw_error err;

        for (uint32_t t = 0; t < TENANTS; t++)
                assert_int_equal(pw_scheduler_weight(world.scheduler, world_tenants[t], weights[t], &err), PW_OK);
}

static void drop_decided(struct play *play)
{
        struct world_object *object;

        pw_list_each(&world.objects, object, struct world_object, link)
                if (object->held && object->result && object->decided) {
                        play->open[object->maker->program - world.programs]--;
                        world_drop(&world, object);
                }
}

static void submit_more(struct play *play)
{
        for (uint32_t i = 0; i < WORLD_PROGRAMS; i++) {
                struct world_program *program = &world.programs[i];

                for (; program->handle && !play->away[tenant_of(program)] && play->open[i] < IN_FLIGHT; play->open[i]++) {
                        struct world_object *input = world_put(&world, program, 0, true);

                        world_submit(&world, program, &input, false);
                        if (input->held)
                                world_drop(&world, input);
                }
        }
}

static uint32_t tenant_at(uint64_t seq)
{
        const struct pw_ordered *ordered = &world.scheduler->islands[0]->log[seq % PW_ORDER_LOG];

        return tenant_of(world_find_run(&world, ordered->fragment->run->id.number)->program);
}

/* One tick on one device. What a late one has launched takes its time when it comes to it. */
static void step(struct play *play, uint32_t device)
{
        struct world_executor *executor = &world.executors[device];
        uint64_t seq;

        while (!(seq = atomic_load(&executor->board->running)) && world_step(&world, device))
                ;
        if (!seq) {
                play->idle_us += play->tick_us;
                return;
        }
        play->took_us[tenant_at(seq)] += play->tick_us;
        if (world.now_us + play->tick_us - executor->began_us < play->gang_us[tenant_at(seq)])
                return;
        play->gangs[tenant_at(seq)]++;
        world.now_us += play->tick_us;
        while (atomic_load(&executor->board->done.seq) < seq)
                assert_true(world_step(&world, device));
        world.now_us -= play->tick_us;
}

static void go_on(struct play *play, uint64_t us)
{
        memset(play->took_us, 0, sizeof play->took_us);
        memset(play->gangs, 0, sizeof play->gangs);
        play->idle_us = 0;
        for (uint64_t end_us = world.now_us + us; world.now_us < end_us; world.now_us += play->tick_us) {
                if (world.now_us % (play->tick_us * 10) == 0) {
                        submit_more(play);
                        world_daemon(&world);
                        drop_decided(play);
                        world_daemon(&world);
                        if (!play->keeps_runs)
                                world_forget_runs(&world);
                }
                for (uint32_t d = 0; d < world.device_count; d++)
                        step(play, d);
        }
}

static bool is_early(void) { return world_kind() == WORLD_EARLY; }

/* Each tenant took what its weight is due, within 1 % of that, and devices had a gang for 0.98 of the time. Late devices are played
 * for a shorter time, of which a gang is more. */
static void expect_shares(const struct play *play, const uint32_t *weights)
{
        uint64_t all_us = 0, weight = 0;

        for (uint32_t t = 0; t < TENANTS; t++) {
                all_us += play->took_us[t];
                weight += weights[t];
        }
        for (uint32_t t = 0; t < TENANTS; t++) {
                uint64_t due_us = all_us * weights[t] / weight;
                uint64_t off_us = due_us > play->took_us[t] ? due_us - play->took_us[t] : play->took_us[t] - due_us;

                if (off_us * 100 > due_us * (is_early() ? 1 : 5))
                        fail_msg("tenant %u of weight %u took %lu us of %lu, and not %lu", t, weights[t],
                                 (unsigned long)play->took_us[t], (unsigned long)all_us, (unsigned long)due_us);
        }
        assert_true(play->idle_us * 50 < all_us);
}

static void all_tenants(struct play *play, const uint32_t *weights)
{
        begin("share", 1);
        for (uint32_t t = 0; t < TENANTS; t++)
                add_programs(t, t, 1);
        weigh(weights);
        go_on(play, 100000); /* what gangs take is learned */
}

static void end(struct play *play)
{
        memset(play->away, 1, sizeof play->away);
        world_settle(&world);
        assert_int_equal(world.runs_open, 0);
        drop_decided(play);
        world_daemon(&world);
        world_done(&world);
}

/* --- shares --------------------------------------------------------------------------------------------------------------- */

#define LONG_US (is_early() ? 4000000u : 400000u) /* a gang less or more is no 1 % of anybody's, or no 5 % */
static const uint32_t even[TENANTS] = { 1, 1, 1, 1 }, doubling[TENANTS] = { 1, 2, 4, 8 };

static void test_even(void **state)
{
        struct play play = { .tick_us = 30, .gang_us = { 330, 330, 330, 330 } };

        (void)state;
        all_tenants(&play, even);
        go_on(&play, LONG_US);
        expect_shares(&play, even);
        end(&play);
}

/* It is device time that is shared, not gangs. */
static void test_lengths(void **state)
{
        struct play play = { .tick_us = 50, .gang_us = { 300, 1000, 100, 50 } };

        (void)state;
        all_tenants(&play, even);
        go_on(&play, LONG_US);
        expect_shares(&play, even);
        assert_true(play.gangs[3] > 10 * play.gangs[1]);
        end(&play);
}

/* Weights change while tenants wait: what comes counts with the new ones. */
static void test_weights(void **state)
{
        static const uint32_t other[TENANTS] = { 5, 1, 1, 3 };
        struct play play = { .tick_us = 30, .gang_us = { 330, 330, 330, 330 } };

        (void)state;
        all_tenants(&play, doubling);
        go_on(&play, LONG_US);
        expect_shares(&play, doubling);
        weigh(other);
        go_on(&play, 20000);
        go_on(&play, LONG_US);
        expect_shares(&play, other);
        end(&play);
}

/* One that was away took nothing and is owed nothing; whoever is there alone has the device. */
static void test_return(void **state)
{
        struct play play = { .tick_us = 50, .gang_us = { 300, 300, 300, 300 } };

        (void)state;
        all_tenants(&play, even);
        play.away[1] = play.away[2] = play.away[3] = true;
        go_on(&play, 200000);
        go_on(&play, 400000);
        assert_true(play.took_us[0] >= 396000);
        play.away[1] = play.away[2] = play.away[3] = false;
        go_on(&play, 20000); /* what was ordered ahead of them */
        go_on(&play, LONG_US);
        expect_shares(&play, even);
        end(&play);
}

/* A tenant that has two devices for itself and wants a share of another waits there for what the other took meanwhile, and no
 * longer than ten seconds of it, whatever comes. */
static void test_no_starving(void **state)
{
        struct play play = { .tick_us = 5000, .gang_us = { 50000, 50000, 50000, 50000 } };

        (void)state;
        begin("share", 3);
        add_programs(0, 0, 3); /* one on each device */
        add_programs(1, 3, 1); /* on one of them */
        go_on(&play, 15000000);
        for (uint32_t i = 0; i < 4; i++) {
                go_on(&play, 12000000);
                assert_true(play.took_us[0] > 2 * 12000000); /* more than its own devices */
                assert_true(play.took_us[1] > 6000000);
        }
        end(&play);
}

/* --- every kind ------------------------------------------------------------------------------------------------------------- */

/* Each gang once, a tenant's in the order of its runs, those of a run in its own. Fewer than the log holds. */
static void expect_in_order(uint64_t first, uint64_t *last_of)
{
        const struct pw_island *island = world.scheduler->islands[0];

        for (uint64_t seq = first + 1; seq <= island->seq; seq++) {
                const struct pw_ordered *ordered = &island->log[seq % PW_ORDER_LOG];
                uint64_t at = ordered->fragment->run->id.number * 100 + ordered->gang + 1;
                uint64_t *last = &last_of[tenant_of(world_find_run(&world, ordered->fragment->run->id.number)->program)];

                assert_true(at > *last);
                *last = at;
        }
}

static void test_kinds(void **state)
{
        const struct pw_policy *policy;
        struct pw_error err;

        (void)state;
        for (uint32_t i = 0; (policy = pw_policy_at(i)); i++) {
                struct play play = { .tick_us = 50, .gang_us = { 300, 50, 1000, 100 }, .keeps_runs = true };
                uint64_t last_of[TENANTS] = { 0 }, seen = 0, gangs = 0;

                assert_int_equal(pw_policy_check(policy->name, &err), PW_OK);
                assert_ptr_equal(pw_policy_find(policy->name), policy);
                assert_true(policy->make && policy->end && policy->enter && policy->leave && policy->key && policy->turn &&
                            policy->ordered && policy->done);
                begin(policy->name, 1);
                for (uint32_t t = 0; t < TENANTS; t++)
                        add_programs(t, t, 1);
                weigh(doubling);
                for (uint32_t j = 0; j < 600; j++) {
                        go_on(&play, 500);
                        expect_in_order(seen, last_of);
                        world_forget_runs(&world);
                        seen = world.scheduler->islands[0]->seq;
                        for (uint32_t t = 0; t < TENANTS; t++)
                                gangs += play.gangs[t];
                }
                for (uint32_t t = 0; t < TENANTS; t++)
                        assert_true(last_of[t]);
                assert_true(gangs > 500);
                end(&play);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_even),   cmocka_unit_test(test_lengths),     cmocka_unit_test(test_weights),
                cmocka_unit_test(test_return), cmocka_unit_test(test_no_starving), cmocka_unit_test(test_kinds),
        };
        const struct CMUnitTest late_tests[] = { cmocka_unit_test(test_lengths), cmocka_unit_test(test_return),
                                                 cmocka_unit_test(test_kinds) };
        int kind = -1, failed = 0;

        while (world_next_kind(&kind))
                failed += is_early() ? cmocka_run_group_tests_name(world_kind_name(kind), tests, NULL, NULL)
                                     : cmocka_run_group_tests_name(world_kind_name(kind), late_tests, NULL, NULL);
        return failed;
}
