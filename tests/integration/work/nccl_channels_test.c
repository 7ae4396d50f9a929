/* Communicators of GPUs: how many are kept, which go, and in which order they are used. */
#include "tests/integration/work/nccl_scene.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* --- how many ----------------------------------------------------------------------------------------------------------------- */

#define SETS 3u

/* One sum over each of `counts` devices at a time, by sets[order[0]], sets[order[1]], ... */
static void sums(void **state, const char *kept, const uint32_t counts[SETS], const char *order)
{
        struct it_host *host = nccl_begin_with(state, "cuda:4", "trace = trace\n", NULL, kept);
        struct nccl_scene scenes[SETS];

        for (uint32_t i = 0; i < SETS; i++)
                scenes[i] = nccl_scene_over(host, counts[i]);
        for (; *order; order++) {
                const struct nccl_scene *scene = &scenes[*order - '0'];
                nccl_expect_sum(it_run_1(scene->program, scene->input), counts[*order - '0']);
        }
        for (uint32_t i = 0; i < SETS; i++)
                nccl_scene_close(&scenes[i]);
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
}

/* One is kept: each set has its own closed for that of another, and what is registered with it. */
static void one_at_a_time(void **state)
{
        sums(state, "--nccl-communicators=1", (const uint32_t[SETS]){ 4, 3, 2 }, "001100");
        assert_int_equal(nccl_calls_of("ncclAllReduce"), 2 * (4 + 3 + 4));
        assert_int_equal(nccl_calls_of("ncclCommInitRankConfig"), 4 + 3 + 4);
        assert_int_equal(nccl_calls_of("ncclCommRegister"), 4 + 3 + 4);
        assert_int_equal(nccl_calls_of("ncclCommDestroy"), 3 + 3);
        assert_int_equal(nccl_calls_of("ncclCommDeregister"), 3 + 3);
        it_gpus_done(&nccl_gpus);
}

/* Two are kept, and the first one made was used again. */
static void the_least_used_goes(void **state)
{
        sums(state, "--nccl-communicators=2", (const uint32_t[SETS]){ 4, 3, 2 }, "01020");
        assert_int_equal(nccl_calls_of("ncclCommInitRankConfig"), 4 + 3 + 2);
        it_gpus_done(&nccl_gpus);
}

/* Two that were not made, one that was, and two more: NCCL is still of use. */
static void failures_in_a_row(void **state)
{
        struct it_host *host = nccl_begin(state, "fail = ncclCommInitRankConfig@1=1,ncclCommInitRankConfig@2=1,"
                                                 "ncclCommInitRankConfig@4=1,ncclCommInitRankConfig@5=1\n", NULL);
        struct nccl_scene scenes[2] = { nccl_scene_over(host, 4), nccl_scene_over(host, 3) };

        for (uint32_t i = 0; i < 2; i++) {
                for (uint32_t k = 0; k < 2; k++)
                        nccl_expect_fails(&scenes[i], PW_SYSTEM, "making a communicator");
                nccl_expect_sum(it_run_1(scenes[i].program, scenes[i].input), 4 - i);
        }
        assert_false(it_has_said(host, "no communicator"));
        for (uint32_t i = 0; i < 2; i++)
                nccl_scene_close(&scenes[i]);
        nccl_end(host);
}

/* --- order -------------------------------------------------------------------------------------------------------------------- */

#define OVERLAPPING 3u
#define RUNS 4u

/* Sets of devices that overlap, each of another program, in runs beside each other. */
static void overlap(struct it_host *host, struct pw_future *input, uint64_t seed)
{
        struct pw_slice *slices[OVERLAPPING];
        struct pw_program *programs[OVERLAPPING];
        struct pw_future *results[OVERLAPPING][RUNS];
        double expected[OVERLAPPING];

        for (uint32_t i = 0; i < OVERLAPPING; i++) {
                uint32_t devices = 2 + (uint32_t)(it_random(&seed) % 3), times = 1 + (uint32_t)(it_random(&seed) % 3);

                slices[i] = it_slice(host->session, devices, 1);
                programs[i] = nccl_reducer(host, slices[i], "pw/nop", times);
                expected[i] = 1;
                while (times--)
                        expected[i] *= devices;
        }
        for (uint32_t k = 0; k < RUNS; k++)
                for (uint32_t i = 0; i < OVERLAPPING; i++)
                        results[i][k] = it_run_1(programs[i], input);
        for (uint32_t k = 0; k < RUNS; k++)
                for (uint32_t i = 0; i < OVERLAPPING; i++)
                        nccl_expect_sum(results[i][k], expected[i]);
        for (uint32_t i = 0; i < OVERLAPPING; i++) {
                pw_program_free(programs[i]);
                pw_slice_close(slices[i]);
        }
}

/* All launch in the order of the island, whatever their sets are. Two communicators are kept, so each set makes those of others go.
 * PW_OVERLAPS is how many seeds, PW_SEED the first. */
static void overlapping_sets(void **state)
{
        struct it_host *host = nccl_begin_with(state, "cuda:4", NULL, NULL, "--nccl-communicators=2");
        uint64_t count = it_environment("PW_OVERLAPS", 8), first = it_environment("PW_SEED", 1);
        struct pw_future *input;

        input = it_put_f64(host->session, PW_DIMS(NCCL_ELEMENTS), 1);
        for (uint64_t i = 0; i < count; i++)
                overlap(host, input, first + i);
        pw_unref(input);
        nccl_end(host);
}

int main(void)
{
        const struct CMUnitTest tests[] = { IT_FOLDER_TEST(one_at_a_time), IT_FOLDER_TEST(the_least_used_goes),
                                            IT_FOLDER_TEST(failures_in_a_row), IT_FOLDER_TEST(overlapping_sets) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
