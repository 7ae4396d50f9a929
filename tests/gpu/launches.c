/* Chains of small kernels: calls of a function, as an executor launches them, against a loop over one stream. */
#include "tests/gpu/site.h"

#include <stdio.h>
#include <stdlib.h>

static const char code[] =
#include "tests/gpu/kernels.ptx.inc"
        ;
static const struct pw_code codes[] = { { "measure", code, sizeof code } };

static enum pw_status launch(struct pw_task *task, const char *name, const void *const *args)
{
        const struct pw_kernel kernel = { .code = "measure", .name = name, .grid = { 1 }, .block = { 1 }, .args = args,
                                          .arg_count = 1 };

        return task->services->launch(task, &kernel);
}

static enum pw_status nop(struct pw_task *task)
{
        void *word = pw_task_out(task, 0);

        return launch(task, "measure_nop", (const void *const[]){ &word });
}

#define SPIN_NS UINT64_C(10000)
static enum pw_status spin(struct pw_task *task)
{
        uint64_t ns = SPIN_NS;

        return launch(task, "measure_spin", (const void *const[]){ &ns });
}

static const struct pw_function functions[] = { { .name = "nop", .cuda = nop }, { .name = "spin", .cuda = spin } };

/* One room after another: each call reads what the one before wrote. They are kin, as short calls of one run are. */
#define FLIGHTS 64u
struct chain {
        struct pw_task tasks[FLIGHTS];
        struct pw_task_value values[2];
        struct pw_device_call calls[FLIGHTS];
        uint32_t rests[1];
        char text[200];
};

static void chain_make(const struct gpu_site *site, const struct pw_function *function, struct chain *chain)
{
        *chain = (struct chain){ .rests = { 512 - 64 } };
        for (uint32_t i = 0; i < 2; i++)
                chain->values[i] = (struct pw_task_value){ .data = site->base + (size_t)i * 512, .bytes = 64, .dtype = PW_F64,
                                                           .dims = PW_DIMS(8) };
        for (uint32_t i = 0; i < FLIGHTS; i++) {
                chain->tasks[i] = (struct pw_task){ .input_count = 1, .output_count = 1, .inputs = &chain->values[i & 1],
                                                    .outputs = &chain->values[!(i & 1)], .error_text = chain->text,
                                                    .error_text_bytes = sizeof chain->text };
                chain->calls[i] = (struct pw_device_call){ .function = function, .task = &chain->tasks[i], .rests = chain->rests,
                                                           .codes = codes, .code_count = 1, .serial = 1, .kin = 1 };
        }
}

/* `count` calls, as many under way as may be. */
static double by_calls(const struct gpu_site *site, const struct chain *chain, uint32_t count)
{
        double since = gpu_now_s();

        for (uint32_t i = 0, under_way = 0; i < count || under_way;) {
                enum pw_status status = i < count ? site->kind->launch(site->device, &chain->calls[i % FLIGHTS], NULL) : PW_LIMIT;

                if (status == PW_OK) {
                        i++;
                        under_way++;
                } else if (status == PW_LIMIT) {
                        gpu_await(site);
                        under_way--;
                } else {
                        fprintf(stderr, "a call: status %d, %s\n", (int)status, chain->text);
                        exit(1);
                }
        }
        return gpu_now_s() - since;
}

static double by_stream(const struct gpu_site *site, struct CUfunc_st *function, void **args, uint32_t count)
{
        double since = gpu_now_s();

        for (uint32_t i = 0; i < count; i++)
                gpu_raw_launch(&site->raw, function, args);
        gpu_must(&site->raw, site->raw.driver->cuStreamSynchronize(site->raw.stream), "kernels");
        return gpu_now_s() - since;
}

static void measure(struct gpu_site *site, const char *name, uint32_t index, double bar)
{
        static struct chain chain;
        unsigned long long argument = index ? SPIN_NS : (uintptr_t)site->base;
        struct CUfunc_st *function = gpu_raw_kernel(&site->raw, index ? "measure_spin" : "measure_nop");
        uint32_t count = site->options->small ? 100 : 10000;
        double took = 1e9, floor = 1e9;

        chain_make(site, &functions[index], &chain);
        by_calls(site, &chain, FLIGHTS); /* the first time of its code */
        for (uint32_t i = 0; i < GPU_TIMES; i++) {
                double bare = by_stream(site, function, (void *[]){ &argument }, count), ours = by_calls(site, &chain, count);

                floor = bare < floor ? bare : floor;
                took = ours < took ? ours : took;
        }
        gpu_say(site, &(struct gpu_figure){ .name = name, .unit = "us", .value = took * 1e6 / count, .floor = floor * 1e6 / count,
                                            .bar = bar, .rule = GPU_AT_MOST, .count = count });
}

void gpu_launches(struct gpu_site *site)
{
        measure(site, "launch_10us", 1, 1.1);
        measure(site, "launch_nop", 0, 1.5);
}
