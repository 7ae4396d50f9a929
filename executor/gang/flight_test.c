/* Calls that a device has under way: how far ahead they are launched, in which order they are published, and what fails behind the
 * back of those behind. The device does what it is told to, by the test or by who waits for it. */
#include "executor/device/spying.h"

/* Goes well until fail_from_now_on(). */
static uint32_t may_fail(struct build *build, uint32_t from, uint32_t to)
{
        return build_call(build, &(struct build_call){ .function = "broken/fail", .params = &(uint64_t){ 99 }, .params_bytes = 8,
                                                       .inputs = { from }, .input_count = 1, .output = to });
}

/* Node `node` does. */
static void fail_from_now_on(const struct scene *scene, uint32_t node)
{
        const struct program *program = &scene->trial.program;
        const struct pw_image *image = pw_board_line(scene->trial.world.islands[program->island], program->line);

        *(uint64_t *)((uintptr_t)image + pw_image_node(image, node)->params) = 0;
}

/* load, then `count` calls, each of what the one before wrote; the first two may fail. */
static struct build *build_chain(uint32_t count)
{
        struct build *build = build_new();
        uint32_t slice = build_slice(build, devices, 1, 0), value = scalar(build, slice);

        build_input(build, value);
        for (uint32_t i = 0; i < count; i++) {
                uint32_t next = scalar(build, slice);

                if (i < 2)
                        may_fail(build, value, next);
                else
                        scale(build, value, next);
                value = next;
        }
        build_result(build, value);
        return build;
}

static void expect_history(const struct scene *scene, uint64_t first, uint64_t last)
{
        uint64_t end_ns = 0;

        for (uint64_t seq = first; seq <= last; seq++) {
                struct pw_history gang = world_history(&scene->trial.world, 0, seq);

                assert_true(gang.start_ns >= end_ns && gang.end_ns >= gang.start_ns);
                end_ns = gang.end_ns;
        }
}

/* --- tests ------------------------------------------------------------------------------------------------------------------- */

/* The one that is i-th to be done. */
static const struct pw_device_call *call_at(uint32_t i) { return spy->launched[(spy->first + i) % pw_array_count(spy->launched)]; }

/* All are launched before the first is done; each is published when it is, and the oldest is what runs. */
static void test_ahead(void **state)
{
        struct scene scene;
        uint64_t seq;
        (void)state;

        begin(&scene, build_chain(10));
        run_order_all(&scene.trial.run);
        pw_launch_turn(scene.launch);
        assert_int_equal(done_seq(&scene), 11);
        assert_int_equal(spy->count, 11);
        assert_int_equal(atomic_load(&board_of(&scene)->running_since_ns), 0); /* a load is no function */
        let(&scene, 1);
        seq = done_seq(&scene); /* of the load */
        assert_int_equal(seq, 12);
        assert_int_equal(spy->count, 10);
        assert_int_equal(running(&scene), seq + 1);
        assert_true(atomic_load(&board_of(&scene)->running_since_ns) != 0);
        for (uint32_t i = 1; i <= 10; i++) {
                assert_int_equal(done_seq(&scene), seq + i - 1);
                let(&scene, 1);
                assert_int_equal(done_seq(&scene), seq + i);
                assert_int_equal(running(&scene), i < 10 ? seq + i + 1 : 0);
        }
        assert_int_equal(atomic_load(&board_of(&scene)->running_since_ns), 0);
        assert_int_equal(spy->waits, 0);
        assert_true(*(const double *)run_data(&scene.trial.run, 0, 0) == 256.0);
        expect_history(&scene, 1, seq + 10);
        end(&scene);
}

/* A function sees the guards of what it reads: that of a room it writes is another. */
static void test_guards(void **state)
{
        struct scene scene;
        (void)state;

        begin(&scene, build_chain(10));
        run_order_all(&scene.trial.run);
        pw_launch_turn(scene.launch);
        let(&scene, 1); /* the load */
        for (uint32_t i = 0; i < 10; i++)
                for (uint32_t k = 0; k < i; k++)
                        assert_memory_not_equal(&call_at(i)->guard, &call_at(k)->guard, sizeof(struct pw_guard));
        let(&scene, 10);
        end(&scene);
}

/* A run that goes on with what another one makes, in place, is launched behind that one, and fails with it. */
static void test_runs_in_a_row(void **state)
{
        (void)state;

        for (uint32_t fails = 0; fails < 2; fails++) {
                struct input input = { .bytes = 8, .mesh = { 1 }, .shard_count = 1, .in_place = true };
                struct scene scene;
                struct run next;

                begin(&scene, build_chain(5));
                if (fails)
                        fail_from_now_on(&scene, 1);
                run_order_all(&scene.trial.run);
                input.shards[0] = (struct pw_run_shard){ .segment = DEVICE_SEGMENT(0), .device = 0,
                                                         .offset = scene.trial.run.results[0][0], .bytes = pw_room_bytes(8),
                                                         .seq = 12 };
                run_init(&next, &scene.trial.program, &input);
                run_order_all(&next);
                pw_launch_turn(scene.launch);
                assert_int_equal(spy->count, 11);
                assert_int_equal(spy->waits, 0);
                let(&scene, 6);
                assert_int_equal(done_seq(&scene), 13); /* of the load, too */
                let(&scene, 5);
                expect_history(&scene, 1, done_seq(&scene));
                assert_int_equal(run_head(&next, 0, 0)->status, fails ? PW_FAILED : PW_OK);
                if (fails)
                        assert_int_equal(run_head(&next, 0, 0)->cause_node, PW_NODE_NONE); /* it is a node of another run */
                else
                        assert_true(*(const double *)run_data(&next, 0, 0) == 64.0);
                end(&scene);
        }
}

/* No more than there may be are under way: the next one waits for the oldest. */
static void test_most(void **state)
{
        struct scene scene;
        (void)state;

        begin(&scene, build_chain(PW_FLIGHTS + 5));
        run_order_all(&scene.trial.run);
        pw_launch_turn(scene.launch);
        assert_int_equal(spy->most, PW_FLIGHTS);
        assert_int_equal(spy->waits, 6);
        let(&scene, PW_FLIGHTS);
        assert_int_equal(run_head(&scene.trial.run, 0, 0)->status, PW_OK);
        end(&scene);
}

/* Who was launched behind one that fails has no value either, as it says; the daemon is told of each once. */
static void test_fails_behind(void **state)
{
        struct scene scene;
        struct pw_report report;
        uint32_t head;
        (void)state;

        begin(&scene, build_chain(4));
        fail_from_now_on(&scene, 1);
        fail_from_now_on(&scene, 2); /* of what it is given, which is nothing: nobody is told */
        head = atomic_load(&board_of(&scene)->report_tail);
        run_order_all(&scene.trial.run);
        pw_launch_turn(scene.launch);
        assert_int_equal(spy->count, 5);
        assert_int_equal(run_head(&scene.trial.run, 0, 0)->status, PW_OK); /* so far */
        let(&scene, 5);
        assert_int_equal(run_head(&scene.trial.run, 0, 0)->status, PW_FAILED);
        assert_int_equal(run_head(&scene.trial.run, 0, 0)->cause_node, 1);
        for (uint32_t i = 0; i < 4; i++)
                assert_int_equal(world_history(&scene.trial.world, 0, done_seq(&scene) - i).status, PW_FAILED);
        assert_true(pw_report_pop(board_of(&scene), &head, &report));
        assert_int_equal(report.result, PW_NODE_NONE);
        assert_true(pw_report_pop(board_of(&scene), &head, &report));
        assert_int_equal(report.result, 0);
        assert_int_equal(report.cause_node, 1);
        assert_false(pw_report_pop(board_of(&scene), &head, &report));
        end(&scene);
}

/* The room of what failed is another's by then: who reads that has a value, however far ahead each was launched. */
static void test_room_of_another(void **state)
{
        (void)state;

        for (uint32_t done = 0; done <= 3; done++) { /* before the last is launched */
                struct build *build = build_new();
                uint32_t slice = build_slice(build, devices, 1, 0), loaded = scalar(build, slice), failed = scalar(build, slice),
                         of_failed = scalar(build, slice), other, of_other = scalar(build, slice);
                struct scene scene;

                build_input(build, loaded);
                may_fail(build, loaded, failed);
                scale(build, failed, of_failed);
                other = build_value_in(build, failed, PW_BROADCAST);
                scale(build, loaded, other);
                scale(build, other, of_other);
                build_result(build, of_failed);
                build_result(build, of_other);
                begin(&scene, build);
                fail_from_now_on(&scene, 1);
                for (uint32_t node = 0; node < 4; node++)
                        run_order(&scene.trial.run, node);
                pw_launch_turn(scene.launch);
                assert_int_equal(spy->count, 4);
                let(&scene, 1 + done);
                run_order(&scene.trial.run, 4);
                pw_launch_turn(scene.launch);
                let(&scene, spy->count);
                assert_int_equal(run_head(&scene.trial.run, 0, 0)->status, PW_FAILED);
                assert_int_equal(run_head(&scene.trial.run, 1, 0)->status, PW_OK);
                assert_true(*(const double *)run_data(&scene.trial.run, 1, 0) == 4.0);
                end(&scene);
        }
}

/* What is cancelled comes when all before it is done. */
static void test_others_wait(void **state)
{
        struct scene scene;
        (void)state;

        begin(&scene, build_chain(6));
        for (uint32_t node = 0; node < 4; node++)
                run_order(&scene.trial.run, node);
        pw_launch_turn(scene.launch);
        assert_int_equal(spy->count, 4);
        run_record(&scene.trial.run, 0)->cancelled_at = 4;
        for (uint32_t node = 4; node < 7; node++)
                run_order(&scene.trial.run, node);
        pw_launch_turn(scene.launch);
        assert_int_equal(spy->count, 0);
        assert_int_equal(spy->waits, 4);
        assert_int_equal(run_head(&scene.trial.run, 0, 0)->status, PW_CANCELLED);
        expect_history(&scene, 1, done_seq(&scene));
        end(&scene);
}

/* Each time the same: those that end together share the time that they took, as far as that is known when each is published. */
static void test_time_is_shared(void **state)
{
        struct pw_history first, second, last;
        struct scene scene;
        uint64_t since_ns;
        (void)state;

        begin(&scene, build_chain(4));
        run_order_all(&scene.trial.run);
        pw_launch_turn(scene.launch);
        let(&scene, 1);
        since_ns = pw_launch_clock_ns();
        while (pw_launch_clock_ns() - since_ns < 1000000)
                ;
        spy->together = 4;
        let(&scene, 4);
        first = world_history(&scene.trial.world, 0, done_seq(&scene) - 3);
        second = world_history(&scene.trial.world, 0, done_seq(&scene) - 2);
        last = world_history(&scene.trial.world, 0, done_seq(&scene));
        assert_true(first.end_ns - first.start_ns >= 1000000 / 4);
        assert_true(4 * (first.end_ns - first.start_ns) <= last.end_ns - first.start_ns);
        assert_int_equal(second.start_ns, first.end_ns);
        assert_true(3 * (second.end_ns - second.start_ns) <= last.end_ns - second.start_ns);
        expect_history(&scene, 1, done_seq(&scene));
        end(&scene);
}

/* The end of one may be seen late, and that of the next one at once: what was long is not short the next time. */
static void test_time_is_known(void **state)
{
        const uint64_t most_ns = UINT64_C(8000000000000);
        struct pw_program_node *node;
        struct scene scene;
        (void)state;

        begin(&scene, build_chain(4));
        pw_list_each(&scene.launch->programs.nodes, node, struct pw_program_node, link)
                node->took_ns = node->index < 3 ? most_ns : 1;
        run_order_all(&scene.trial.run);
        pw_launch_turn(scene.launch);
        let(&scene, 5);
        pw_list_each(&scene.launch->programs.nodes, node, struct pw_program_node, link)
                assert_true(!node->index || (node->index < 3 ? node->took_ns == most_ns / 8 : node->took_ns < most_ns / 8));
        end(&scene);
}

static uint64_t kin_at(uint32_t i) { return call_at(i)->kin; }

/* Short calls of a run that are one behind another may end together, where none has a limit of its own. */
static void test_kin(void **state)
{
        static const struct { uint8_t run, node, row; } order[] = {
                { 0, 0, 0 }, { 0, 1, 1 }, { 0, 2, 0 }, { 0, 3, 0 }, { 0, 4, 0 },
                { 0, 5, 1 }, { 1, 0, 0 }, { 0, 6, 2 }, { 0, 7, 2 }, { 1, 1, 3 },
        };
        struct pw_program_node *node;
        struct run runs[2];
        struct scene scene;
        (void)state;

        begin(&scene, build_chain(7));
        pw_list_each(&scene.launch->programs.nodes, node, struct pw_program_node, link) {
                assert_true(!node->took_ns == !node->index); /* node 0 is no call */
                node->took_ns = node->index == 2 ? 0 : node->index == 3 ? 1000000 : 2000;
                if (node->index == 4)
                        ((struct pw_image_node *)(uintptr_t)node->image)->time_limit_us = 1000000;
        }
        for (uint32_t i = 0; i < 2; i++)
                run_init(&runs[i], &scene.trial.program, &input_one);
        for (size_t i = 0; i < pw_array_count(order); i++)
                run_order(&runs[order[i].run], order[i].node);
        pw_launch_turn(scene.launch);
        assert_int_equal(spy->count, pw_array_count(order));
        assert_int_equal(scene.launch->own->running_together, kin_at(0) ? PW_TOGETHER_MOST : 1);
        for (uint32_t i = 0; i < pw_array_count(order); i++) {
                assert_true(!kin_at(i) == !order[i].row);
                for (uint32_t k = 0; k < i && order[i].row; k++)
                        assert_true((kin_at(k) == kin_at(i)) == (order[k].row == order[i].row));
        }
        let(&scene, 1);
        assert_true(kin_at(0) && atomic_load(&scene.launch->own->running_together) == PW_TOGETHER_MOST);
        let(&scene, spy->count);
        end(&scene);
}

/* A program that is forgotten is used by nobody: what is under way of it is done first. */
static void test_settles(void **state)
{
        struct scene scene;
        (void)state;

        begin(&scene, build_chain(5));
        run_order_all(&scene.trial.run);
        pw_launch_turn(scene.launch);
        assert_int_equal(spy->count, 6);
        pw_program_node_drop(&scene.launch->programs, pw_list_first(&scene.launch->programs.nodes, struct pw_program_node, link));
        assert_int_equal(spy->count, 0);
        assert_int_equal(run_head(&scene.trial.run, 0, 0)->status, PW_OK);
        end(&scene);
}

static bool leave_all_once(void *context, uint64_t upto, struct pw_leaving *ret_leaving)
{
        (void)context, (void)upto;
        *ret_leaving = (struct pw_leaving){ .upto = 1, .all = true };
        return true;
}

/* As it waits for one to end it serves others, and waits for all of them: then nothing would wake it any more. */
static void test_serves_meanwhile(void **state)
{
        struct pw_surroundings around;
        struct scene scene;
        (void)state;

        begin(&scene, build_chain(PW_FLIGHTS + 8));
        around = *scene.launch->given.around;
        around.leaving = leave_all_once;
        scene.launch->given.around = &around;
        spy->asks = &scene.trial.world.islands[0]->leaving[0];
        run_order_all(&scene.trial.run);
        alarm(60);
        pw_launch_turn(scene.launch);
        alarm(0);
        assert_int_equal(scene.launch->left, 1);
        let(&scene, spy->count);
        assert_int_equal(run_head(&scene.trial.run, 0, 0)->status, PW_OK);
        end(&scene);
}

/* Who waits for another has done what that one waits for, and says meanwhile in which gang it is. */
static void test_wait(void **state)
{
        struct build *build = build_new();
        uint32_t slices[2], values[5];
        struct trial trial;
        double one = 1.0;
        struct input inputs[2] = { INPUT(one), INPUT(one) };
        (void)state;

        for (uint32_t s = 0; s < 2; s++) {
                slices[s] = build_slice(build, devices + s, 1, 0);
                values[s] = scalar(build, slices[s]);
                build_input(build, values[s]);
        }
        values[2] = scalar(build, slices[0]);
        values[3] = scalar(build, slices[1]);
        values[4] = scalar(build, slices[0]);
        scale(build, values[0], values[2]);
        build_wait(build, scale(build, values[1], values[3]), 2); /* on the other device, for that one */
        build_wait(build, scale(build, values[2], values[4]), 3);
        build_result(build, values[4]);
        trial_init(&trial, 2, 1, build);
        trial.world.launch_delay_us = 20000;
        world_start_all(&trial.world);
        trial_run(&trial, inputs); /* the first time each is waited for */
        world_kill(&trial.world, 1);
        run_init(&trial.run, &trial.program, inputs);
        run_order_all(&trial.run);
        world_wait(&trial.world, 0, 8);
        WORLD_UNTIL(atomic_load(&trial.world.boards[0]->running) == 10);
        assert_int_equal(atomic_load(&trial.world.boards[0]->done.seq), 8);
        world_start(&trial.world, 1);
        run_wait(&trial.run);
        assert_true(*(const double *)run_data(&trial.run, 0, 0) == 4.0);
        trial_done(&trial);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_ahead), cmocka_unit_test(test_guards), cmocka_unit_test(test_runs_in_a_row),
                cmocka_unit_test(test_most),
                cmocka_unit_test(test_fails_behind), cmocka_unit_test(test_room_of_another), cmocka_unit_test(test_others_wait),
                cmocka_unit_test(test_time_is_shared),
                cmocka_unit_test(test_time_is_known), cmocka_unit_test(test_kin), cmocka_unit_test(test_settles),
                cmocka_unit_test(test_serves_meanwhile), cmocka_unit_test(test_wait),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
