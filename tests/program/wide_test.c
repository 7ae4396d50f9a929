/* Programs over 2 to 4,096 devices of many hosts, which exist here only: what a compiled program, a host's plan of it and a host's
 * record of a run take does not grow with them, and the time to compile it does not but for what looks at the places of its slices
 * once.
 *
 * Time is processor time, of programs so long that a look at all places for each node would take a hundred times as long. */
#include "base/memory.h"
#include "base/size.h"
#include "pathways.h"
#include "program/graph/graph_make.h"
#include "program/image/image.h"
#include "program/image/plan.h"
#include "program/lower/lower.h"
#include "scheduler/scheduler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#define FIRST_HOST 7u
#define PER_HOST 8u     /* devices of a host */
#define PER_ISLAND 4u   /* of them */
#define STEPS 400u      /* of a long program */
#define MARGIN 20.0     /* times as long, at most */

static const uint32_t counts[] = { 2, 8, 64, 512, 4096 };

/* --- what is measured --------------------------------------------------------------------------------------------------------- */

static double cpu_s(void)
{
        struct timespec now;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* --- programs ----------------------------------------------------------------------------------------------------------------- */

static struct pw_make_slice rooms[3];

/* A slice over `mesh`, of devices from `first` on, all hosts' together. */
static void add_slice(struct pw_graph *graph, uint32_t rows, uint32_t columns, uint32_t first)
{
        struct pw_make_slice *slice = &rooms[graph->slice_count];
        struct pw_slice_map map = { .id = 1 + graph->slice_count, .mesh = { rows, columns },
                                    .device_count = rows * (columns ? columns : 1), .places = slice->places };

        for (uint32_t i = 0; i < map.device_count; i++) {
                uint32_t device = first + i;
                slice->places[i] = (struct pw_slice_place){ (uint16_t)(FIRST_HOST + device / PER_HOST),
                                                            (uint16_t)(device % PER_HOST / PER_ISLAND),
                                                            (uint16_t)(device % PER_HOST) };
        }
        assert_true(pw_graph_add_slice(graph, &map));
}

/* A training step: what each device makes of its part is reduced, and updates what all of them have. */
static void training(struct pw_graph *graph, uint32_t count, uint32_t steps)
{
        uint32_t weights, rows;

        add_slice(graph, count, 0, 0);
        weights = pw_make_input(graph, 0, PW_DIMS(65, 10), (struct pw_sharding)PW_BROADCAST, PW_DONATED);
        for (uint32_t i = 0; i < steps; i++) {
                rows = pw_make_input(graph, 0, PW_DIMS(96 * 4096 + 5, 65), (struct pw_sharding)PW_SPLIT(0), 0);
                rows = PW_MAKE_CALL(graph, 0, "digits/like0", PW_PARTIAL(PW_SUM), weights, rows);
                weights = PW_MAKE_CALL(graph, 0, "digits/update", PW_BROADCAST, weights, rows);
        }
        assert_true(pw_graph_add_result(graph, weights));
}

/* Two halves of the devices, one behind the other. */
static void pipeline(struct pw_graph *graph, uint32_t count, uint32_t steps)
{
        uint32_t value = PW_NODE_NONE;

        add_slice(graph, count / 2, 0, 0);
        add_slice(graph, count / 2, 0, count / 2);
        assert_true(pw_graph_add_stage(graph, "first", 2) && pw_graph_add_stage(graph, "second", 2));
        for (uint32_t i = 0; i < steps; i++) {
                value = pw_make_input(graph, 0, PW_DIMS(4096, 3), (struct pw_sharding)PW_SPLIT(0), 0);
                value = PW_MAKE_CALL(graph, 0, "p/one", PW_SPLIT(0), value);
                graph->calls[graph->call_count - 1].stage = 1;
                value = pw_make_as(graph, value, 1, (struct pw_sharding)PW_SPLIT(0));
                value = PW_MAKE_CALL(graph, 1, "p/two", PW_SPLIT(0), value);
                graph->calls[graph->call_count - 1].stage = 2;
                assert_true(pw_graph_add_result(graph, value));
        }
}

/* Every transfer there is inside a slice, and to one of other devices that has another number of them. */
static void transfers(struct pw_graph *graph, uint32_t count, uint32_t steps)
{
        static const struct pw_sharding layouts[] = { PW_BROADCAST, PW_SPLIT(0), PW_SPLIT(1), PW_SPLIT(0), PW_BROADCAST };
        uint32_t value, terms, whole;

        add_slice(graph, count, 0, 0);
        add_slice(graph, (count + 1) / 2, 0, 0);
        value = whole = pw_make_input(graph, 0, PW_DIMS(8192, 8192), layouts[0], 0);
        for (uint32_t i = 0; i < steps; i++) {
                for (uint32_t k = 1; k < pw_array_count(layouts); k++)
                        value = pw_make_as(graph, value, 0, layouts[k]);
                terms = PW_MAKE_CALL(graph, 0, "t/like0", PW_PARTIAL(PW_SUM), whole, value);
                value = pw_make_as(graph, terms, 0, layouts[1]);                           /* reduce-scatter */
                value = pw_make_as(graph, value, 1, layouts[1]);                           /* M to N */
                value = pw_make_as(graph, value, 0, layouts[1]);
                value = pw_make_as(graph, terms, 0, layouts[0]);                           /* all-reduce */
        }
        assert_true(pw_graph_add_result(graph, value));
}

/* Rows of a mesh lie in an island each: what moves along rows stays in them, what moves along columns crosses hosts. */
static void meshes(struct pw_graph *graph, uint32_t count, uint32_t steps)
{
        static const struct pw_sharding both = { { PW_AXIS_SPLIT(0), PW_AXIS_SPLIT(1) } };
        static const struct pw_sharding row = { { PW_AXIS_SPLIT(0), PW_AXIS_BROADCAST } };
        static const struct pw_sharding column = { { PW_AXIS_BROADCAST, PW_AXIS_SPLIT(1) } };
        static const struct pw_sharding terms = { { PW_AXIS_PARTIAL(PW_SUM), PW_AXIS_PARTIAL(PW_SUM) } };
        uint32_t value, whole;

        add_slice(graph, count < 4 ? 1 : count / 4, count < 4 ? count : 4, 0);
        whole = pw_make_input(graph, 0, PW_DIMS(8192, 8192), (struct pw_sharding)PW_BROADCAST, 0);
        value = pw_make_input(graph, 0, PW_DIMS(8192, 8192), both, 0);
        for (uint32_t i = 0; i < steps; i++) {
                (void)pw_make_as(graph, value, 0, row);
                (void)pw_make_as(graph, value, 0, column);
                value = pw_make_call(graph,
                                     &(struct pw_make_call){ 0, "m/like0", (const uint32_t[]){ whole, value }, 2, &terms, 1 });
                value = pw_make_as(graph, value, 0, both);
        }
        assert_true(pw_graph_add_result(graph, value));
}

/* --- compiled ----------------------------------------------------------------------------------------------------------------- */

struct compiled {
        uint32_t bytes, nodes;
        uint64_t plan_bytes; /* of the first host */
        double lower_s, plan_s;
};

/* Devices of an island of the first host that a slice has. */
static uint64_t members_of(const struct pw_graph *graph, uint32_t slice, uint32_t island)
{
        uint64_t members = 0;

        for (uint32_t i = 0; i < graph->slices[slice].device_count; i++)
                if (graph->slices[slice].places[i].host == FIRST_HOST && graph->slices[slice].places[i].island == island)
                        members |= UINT64_C(1) << graph->slices[slice].places[i].device;
        return members;
}

/* What the first host plans is about its own devices. */
static void check_plan(const struct pw_graph *graph, const struct pw_image *image, const struct pw_plan *plan)
{
        assert_true(plan->column_count && plan->column_count <= PER_HOST / PER_ISLAND);
        for (uint32_t c = 0; c < plan->column_count; c++) {
                const struct pw_plan_island *column = &plan->columns[c];
                assert_int_equal(column->island, c);
                assert_true(column->gang_count);
                for (uint32_t g = 0; g < column->gang_count && g < 10; g++) {
                        const struct pw_image_node *node = pw_image_node(image, column->gangs[g].node);
                        uint64_t receivers = members_of(graph, node->slice, c), senders = members_of(graph, node->source_slice, c);
                        assert_int_equal(column->gangs[g].members, node->phase == PW_PHASE_SEND   ? senders
                                                                   : node->phase == PW_PHASE_RECV ? receivers
                                                                                                  : receivers | senders);
                }
        }
}

typedef void maker(struct pw_graph *graph, uint32_t count, uint32_t steps);

static struct pw_image *lower(struct pw_graph *graph, uint32_t steps)
{
        struct pw_image *image = NULL;
        struct pw_error err = { 0 };
        struct pw_image_row row;

        if (pw_graph_check(graph, &err) != PW_OK || pw_make_shapes(graph, &err) != PW_OK ||
            pw_lower(graph, &image, &err) != PW_OK ||
            (steps == 1 && pw_image_check(image, graph->slices, graph->slice_count, &err) != PW_OK))
                fail_msg("%s", err.text);
        for (uint32_t n = 0; n < image->node_count; n++)
                pw_image_row(image, n, &row);
        return image;
}

static struct compiled compile(maker *make, uint32_t count, uint32_t steps)
{
        struct pw_graph *graph = pw_graph_new("wide");
        struct compiled compiled;
        struct pw_plan plan = { 0 };
        struct pw_image *image;
        double start_s;

        make(graph, count, steps);
        start_s = cpu_s();
        image = lower(graph, steps);
        compiled.lower_s = cpu_s() - start_s;
        start_s = cpu_s();
        assert_true(pw_plan_init(&plan, image, graph->slices, FIRST_HOST));
        compiled.plan_s = cpu_s() - start_s;
        check_plan(graph, image, &plan);
        compiled.bytes = image->bytes;
        compiled.nodes = image->node_count;
        compiled.plan_bytes = pw_plan_bytes(&plan, image);
        pw_plan_done(&plan);
        free(image);
        pw_graph_free(graph);
        return compiled;
}

static void print(const char *name, uint32_t count, const struct compiled *of)
{
        fprintf(stderr, "%s, %u devices: %u nodes, %u bytes, in %.2f ms; plan of a host %lu bytes, in %.2f ms\n", name,
                count, of->nodes, of->bytes, of->lower_s * 1e3, (unsigned long)of->plan_bytes, of->plan_s * 1e3);
}

/* `first`: from where on the first host is full, and there are transfers over islands: two nodes each where inside one it is
 * one. */
static const struct { const char *name; maker *make; uint32_t first; } programs[] = {
        { "training", training, 8 }, { "pipeline", pipeline, 16 }, { "transfers", transfers, 16 }, { "meshes", meshes, 8 },
};

static void compile_all(uint32_t steps)
{
        for (uint32_t p = 0; p < pw_array_count(programs); p++) {
                struct compiled few = compile(programs[p].make, programs[p].first, steps);
                few = compile(programs[p].make, programs[p].first, steps); /* memory was cold */
                print(programs[p].name, programs[p].first, &few);
                for (uint32_t i = 0; i < pw_array_count(counts); i++) {
                        struct compiled wide = compile(programs[p].make, counts[i], steps);
                        print(programs[p].name, counts[i], &wide);
                        if (steps == STEPS)
                                assert_true(wide.lower_s <= MARGIN * few.lower_s && wide.plan_s <= MARGIN * few.plan_s);
                        if (counts[i] < programs[p].first) {
                                assert_true(wide.bytes <= few.bytes);
                                continue;
                        }
                        assert_int_equal(wide.bytes, few.bytes);
                        assert_int_equal(wide.nodes, few.nodes);
                        assert_int_equal(wide.plan_bytes, few.plan_bytes);
                }
        }
}

static void test_one_step(void **state)
{
        (void)state;
        compile_all(1);
}

/* A long program looks at its places no more often than a short one. */
static void test_many_steps(void **state)
{
        (void)state;
        compile_all(STEPS);
}

/* --- the records of runs ------------------------------------------------------------------------------------------------------ */

#define TENANT "wide"
#define MEMORY (UINT64_C(1) << 44) /* of each device */

/* The scheduler of the first host, with a slice of its own for each that a program has, which is opened nowhere else. */
static struct pw_scheduler *first_host(void)
{
        struct pw_error err;
        struct pw_scheduler *scheduler = pw_scheduler_new(&(struct pw_scheduler_params){ .host = FIRST_HOST, .epoch = 1 }, &err);

        assert_non_null(scheduler);
        for (uint32_t d = 0; d < PER_HOST; d++) {
                struct pw_device_add add = { d, d / PER_ISLAND, "emulated", MEMORY };
                assert_int_equal(pw_scheduler_device_add(scheduler, &add, &err), PW_OK);
                assert_int_equal(pw_scheduler_segment(scheduler, d, TENANT, 100 + d, MEMORY, &err), PW_OK);
        }
        for (uint32_t s = 0; s < pw_array_count(rooms); s++) {
                const struct pw_slice_map *map;
                assert_int_equal(pw_scheduler_slice_open(scheduler, &(struct pw_slice_ask){ .tenant = TENANT, .device_count = 1 },
                                                         &map, &err), PW_OK);
                assert_int_equal(map->id, 1 + s);
        }
        return scheduler;
}

static struct pw_room rooms_of_others[PW_CORE_ROOMS_MAX];

/* What another host answers when it has rooms for the run. */
static void answer(struct pw_scheduler *scheduler, const struct pw_run *run, struct pw_core_message message)
{
        struct pw_error err;

        for (uint32_t r = 0; r < run->result_count; r++) {
                const struct pw_slice_map *map = &run->row->slices[run->results[r]->type->value.slice];
                struct pw_core_body body = { .rooms = rooms_of_others };
                for (uint32_t place = 0; place < map->device_count; place++)
                        if (map->places[place].host == message.host)
                                rooms_of_others[body.room_count++] = (struct pw_room){ map->places[place].host,
                                                                                       map->places[place].device, 1, 0, 0 };
                message.kind = PW_CORE_PLACED;
                message.result = r;
                assert_int_equal(pw_scheduler_deliver(scheduler, &message, &body, 1, &err), PW_OK);
        }
        message.kind = PW_CORE_RESERVED;
        assert_int_equal(pw_scheduler_deliver(scheduler, &message, NULL, 1, &err), PW_OK);
}

static void answer_for_others(struct pw_scheduler *scheduler, const struct pw_run *run)
{
        const struct pw_actions *actions = pw_scheduler_actions(scheduler);

        for (uint32_t i = 0; i < actions->count; i++) {
                struct pw_core_message message = actions->items[i].core;
                if (actions->items[i].kind == PW_ACT_CORE && message.kind == PW_CORE_RESERVE && message.host != FIRST_HOST)
                        answer(scheduler, run, message);
        }
}

/* A run whose inputs are values in host memory, but for those that are as the results of `before` lie. */
static struct pw_run *submit(struct pw_scheduler *scheduler, uint32_t program, const struct pw_run *before)
{
        struct pw_run *run = pw_scheduler_run_new(scheduler, program);
        const struct pw_image *image = run->row->image;
        const struct pw_image_input *inputs = PW_IMAGE_AT(image, struct pw_image_input, image->inputs);

        for (uint32_t i = 0; i < run->input_count; i++) {
                const struct pw_image_value *want = pw_image_value(image, inputs[i].value);
                struct pw_result *result = before ? before->results[0] : NULL;
                if (result && pw_dims_equal(&result->type->value.dims, &want->dims)) {
                        run->inputs[i] = (struct pw_input_place){ .source = PW_INPUT_RESULT, .result = result };
                        continue;
                }
                run->inputs[i] = (struct pw_input_place){ .source = PW_INPUT_HOST,
                                                          .host = { .dtype = want->dtype, .dims = want->dims, .segment = 1 } };
                assert_int_equal(pw_dims_bytes(want->dtype, &want->dims, &run->inputs[i].host.bytes, NULL), PW_OK);
        }
        pw_scheduler_submit(scheduler, run, 1);
        pw_scheduler_turn(scheduler, 1);
        answer_for_others(scheduler, run);
        assert_int_equal(run->state, PW_RUN_ADMITTED);
        return run;
}

/* Rooms of the first host and its devices' shards, each once. */
static void check_record(const struct pw_run_record *record, uint32_t input_count)
{
        const char *at = (const char *)record;
        const struct pw_run_input *inputs = (const void *)(at + record->inputs);

        assert_in_range(record->island_count, 1, PER_HOST / PER_ISLAND);
        for (uint32_t i = 0; i < input_count; i++) {
                const struct pw_run_shard *shards = (const void *)(at + inputs[i].shards);
                assert_in_range(inputs[i].shard_count, 0, PER_HOST); /* 0: it lies on other hosts */
                for (uint32_t k = 0; k < inputs[i].shard_count && shards[k].device != PW_SHARD_IN_HOST; k++) {
                        assert_int_equal(shards[k].segment, 100 + shards[k].device);
                        assert_true(!k || shards[k - 1].place < shards[k].place);
                }
        }
}

struct recorded { uint32_t count, bytes, shards; };

/* What the islands of the first host are told of the runs that were submitted. */
static struct recorded take_records(struct pw_scheduler *scheduler, const struct pw_run *run)
{
        struct pw_actions *actions = pw_scheduler_actions(scheduler);
        struct recorded all = { 0 };

        for (uint32_t i = 0; i < actions->count; i++) {
                struct pw_core_message prepare = actions->items[i].core;
                const struct pw_run_record *record;
                const struct pw_run_input *inputs;
                struct pw_message message;
                struct pw_error err;
                if (actions->items[i].kind != PW_ACT_CORE || prepare.kind != PW_CORE_PREPARE || prepare.host != FIRST_HOST)
                        continue;
                for (bool more = true; more; all.count++) {
                        assert_int_equal(pw_scheduler_preparing(scheduler, &prepare, &message, &more, &err), PW_OK);
                        record = (const void *)(actions->bytes + message.at);
                        inputs = (const void *)((const char *)record + record->inputs);
                        check_record(record, run->input_count);
                        all.bytes += message.bytes;
                        for (uint32_t k = 0; k < run->input_count; k++)
                                all.shards += inputs[k].shard_count;
                }
        }
        pw_actions_clear(actions);
        return all;
}

/* Of a run, and of one behind it that reads what it makes. */
static void record(maker *make, uint32_t count, struct recorded ret_recorded[2])
{
        struct pw_scheduler *scheduler = first_host();
        struct pw_graph *graph = pw_graph_new("wide");
        struct pw_run *before = NULL;
        struct pw_error err;
        uint32_t program;

        make(graph, count, 1);
        assert_int_equal(pw_scheduler_program_add(scheduler, lower(graph, 1), graph, TENANT, 0, &program, &err), PW_OK);
        for (uint32_t r = 0; r < 2; r++) {
                before = submit(scheduler, program, before);
                ret_recorded[r] = take_records(scheduler, before);
        }
        pw_graph_free(graph);
        pw_scheduler_free(scheduler);
}

static void test_records(void **state)
{
        (void)state;
        for (uint32_t p = 0; p < pw_array_count(programs); p++) {
                struct recorded few[2], wide[2];
                record(programs[p].make, programs[p].first, few);
                for (uint32_t i = 0; i < pw_array_count(counts); i++) {
                        record(programs[p].make, counts[i], wide);
                        fprintf(stderr, "%s, %u devices: %u records of %u bytes together, then %u of %u with %u shards\n",
                                programs[p].name, counts[i], wide[0].count, wide[0].bytes, wide[1].count, wide[1].bytes,
                                wide[1].shards);
                        assert_true(wide[0].count && wide[1].count);
                        if (counts[i] >= programs[p].first)
                                assert_memory_equal(wide, few, sizeof few);
                }
        }
}

/* What is behind a slice of a program: {host, device}, and as many as may be. */
static void test_limits(void **state)
{
        struct pw_graph *graph = pw_graph_new("wide");
        struct pw_error err;

        (void)state;
        assert_true(pw_graph_add_slice(graph,
                                       &(struct pw_slice_map){ .mesh = { PW_SLICE_DEVICES_MAX + 1 }, .places = rooms[0].places,
                                                                      .device_count = PW_SLICE_DEVICES_MAX + 1 }));
        assert_int_equal(pw_graph_check(graph, &err), PW_TOO_LARGE);
        assert_string_equal(err.text, "slice 0: 4097 devices; a slice has 4096 at most");
        pw_graph_free(graph);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_one_step), cmocka_unit_test(test_many_steps),
                                            cmocka_unit_test(test_records), cmocka_unit_test(test_limits) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
