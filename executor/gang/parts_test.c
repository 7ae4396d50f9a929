/* All-reduces in parts: the same bits as of one that is not, for every type, over meshes of one and two axes. */
#include "executor/launch_fixture.h"

#include "executor/collective/stream.h"

/* A matrix of the host, `rows` in `to` over a mesh of `count` devices, each row a term of a sum in `part`. */
struct reduction {
        uint32_t count, second; /* devices; of the second axis of the mesh, 0: it has one */
        enum pw_dtype dtype;
        enum pw_op op;
        uint64_t rows, columns;
        struct pw_sharding loaded, part, whole;
};

static struct build *build_both(const struct reduction *reduction)
{
        static const enum pw_transfer_phase phases[] = { PW_PHASE_WHOLE, PW_PHASE_PARTS };
        struct pw_dims loaded = PW_DIMS(reduction->rows, reduction->columns), term = PW_DIMS(1, reduction->columns);
        struct build *build = build_new();
        uint32_t slice = build_slice(build, devices, reduction->count, reduction->second), rows, part, to[2];

        rows = build_value(build, slice, reduction->dtype, loaded, reduction->loaded);
        part = build_value(build, slice, reduction->dtype, term, reduction->part);
        build_input(build, rows);
        build_call(build, &(struct build_call){ .function = "pw/nop", .inputs = { rows }, .input_count = 1, .output = part });
        for (uint32_t i = 0; i < 2; i++) {
                to[i] = build_value(build, slice, reduction->dtype, term, reduction->whole);
                build_transfer(build, &(struct build_transfer){ .from = part, .to = to[i], .phase = phases[i],
                                                                .op = reduction->op });
        }
        build_result(build, to[0]);
        build_result(build, to[1]);
        return build;
}

/* Numbers whose sum depends on the order, where they have a point. */
static void fill(void *data, enum pw_dtype dtype, uint64_t elements)
{
        for (uint64_t i = 0; i < elements; i++) {
                double number = (double)(i * 2654435761u % 9) * (i % 2 ? 1e8 : -3.25e-3);
                if (dtype == PW_F32)
                        ((float *)data)[i] = (float)number;
                else if (dtype == PW_F64)
                        ((double *)data)[i] = number;
                else /* bits: no exponent of an f16 or bf16 that is no number */
                        for (uint32_t k = 0; k < pw_dtype_bytes(dtype); k++)
                                ((uint8_t *)data)[i * pw_dtype_bytes(dtype) + k] = (uint8_t)(i * 2654435761u >> 7 * k) & 0x3f;
        }
}

static uint64_t bytes_of(const struct build *build, uint32_t value, uint32_t place)
{
        const struct pw_image_value *of = &build->values[value];
        struct pw_box box;

        pw_shard_box(&of->dims, &of->sharding, build->slices[of->slice].mesh, place, &box);
        return pw_box_elements(&box) * pw_dtype_bytes(of->dtype);
}

static void reduce_both(const struct reduction *reduction)
{
        struct input input = { .bytes = reduction->rows * reduction->columns * pw_dtype_bytes(reduction->dtype) };
        struct trial trial;

        trial_init(&trial, reduction->count, 1, build_both(reduction));
        fill(input_in_host(&input, &trial.world), reduction->dtype, reduction->rows * reduction->columns);
        world_start_all(&trial.world);
        run_init(&trial.run, &trial.program, &input);
        for (uint32_t d = 0; d < reduction->count; d++)
                memset((void *)(uintptr_t)run_data(&trial.run, 1, d), 0x55, bytes_of(trial.program.build, 3, d) + PW_ROOM_GUARD);
        run_order_all(&trial.run);
        run_wait(&trial.run);
        for (uint32_t d = 0; d < reduction->count; d++) {
                assert_int_equal(run_head(&trial.run, 1, d)->status, PW_OK);
                uint64_t bytes = bytes_of(trial.program.build, 3, d);
                const uint8_t *sum = run_data(&trial.run, 1, d);
                assert_true(sum[bytes] == 0x55 && !memcmp(sum + bytes, sum + bytes + 1, PW_ROOM_GUARD - 1)); /* nothing behind it */
                if (memcmp(run_data(&trial.run, 0, d), sum, bytes))
                        fail_msg("place %u of %u: %s, %lu columns", d, reduction->count, pw_dtype_text(reduction->dtype),
                                 (unsigned long)reduction->columns);
        }
        world_no_report(&trial.world);
        trial_done(&trial);
}

static void along(uint32_t count, enum pw_dtype dtype, enum pw_op op, uint64_t columns)
{
        reduce_both(&(struct reduction){ .count = count, .dtype = dtype, .op = op, .rows = count, .columns = columns,
                                         .loaded = PW_SPLIT(0), .part = PW_PARTIAL(op), .whole = PW_BROADCAST });
}

/* Nothing, less than a line, a line more than parts, no whole lines; more than is reduced at a time. */
static void test_sizes(void **state)
{
        static const uint64_t columns[] = { 0, 1, 15, 16, 17, 65, 1000, 40001 };
        static const uint32_t counts[] = { 2, 3, 4, 8 };
        (void)state;

        for (uint32_t i = 0; i < pw_array_count(counts); i++)
                for (uint32_t k = 0; k < pw_array_count(columns); k++)
                        along(counts[i], PW_F32, PW_SUM, columns[k]);
}

static void test_types(void **state)
{
        static const enum pw_dtype dtypes[] = { PW_U8, PW_I32, PW_I64, PW_F16, PW_BF16, PW_F64 };
        (void)state;

        for (uint32_t i = 0; i < pw_array_count(dtypes); i++)
                for (enum pw_op op = PW_SUM; op <= PW_PROD; op++)
                        along(3, dtypes[i], op, 20011);
}

/* Large enough to be written around the cache. */
static void test_streams(void **state)
{
        (void)state;
        along(2, PW_F32, PW_SUM, PW_STREAM_BYTES / 4 + 3);
        along(3, PW_F64, PW_MAX, PW_STREAM_BYTES / 8 + 1);
}

/* Four groups of two, whose sums are of other columns, or the same ones; and one group of both axes. */
static void test_two_axes(void **state)
{
        static const struct pw_axis_sharding beside[] = { PW_AXIS_SPLIT(1), PW_AXIS_BROADCAST };
        (void)state;

        for (uint32_t i = 0; i < pw_array_count(beside); i++)
                for (uint64_t columns = 1; columns < 10000; columns += 3333)
                        for (uint32_t first = 0; first < 2; first++) {
                                struct reduction reduction = { .count = 8, .second = 4, .dtype = PW_F32, .rows = first ? 2 : 4,
                                                               .columns = columns };
                                reduction.loaded.axis[!first] = (struct pw_axis_sharding)PW_AXIS_SPLIT(0);
                                reduction.part.axis[!first] = (struct pw_axis_sharding)PW_AXIS_PARTIAL(PW_SUM);
                                reduction.loaded.axis[first] = reduction.part.axis[first] = reduction.whole.axis[first] = beside[i];
                                reduce_both(&reduction);
                        }
        reduce_both(&(struct reduction){ .count = 8, .second = 2, .dtype = PW_F64, .rows = 8, .columns = 1001,
                                         .loaded = { { PW_AXIS_SPLIT(0), PW_AXIS_SPLIT(0) } },
                                         .part = { { PW_AXIS_PARTIAL(PW_SUM), PW_AXIS_PARTIAL(PW_SUM) } } });
}

/* Many, one behind the other, and nobody waits between them. */
static void test_many(void **state)
{
        enum { COUNT = 200 };
        struct reduction reduction = { .count = 4, .dtype = PW_F32, .rows = 4, .columns = 777, .loaded = PW_SPLIT(0),
                                       .part = PW_PARTIAL(PW_SUM), .whole = PW_BROADCAST };
        struct input input = { .bytes = 4 * 777 * 4 };
        static struct run runs[COUNT];
        struct trial trial;
        (void)state;

        trial_init(&trial, 4, 1, build_both(&reduction));
        fill(input_in_host(&input, &trial.world), PW_F32, 4 * 777);
        world_start_all(&trial.world);
        for (uint32_t i = 0; i < COUNT; i++) {
                run_init(&runs[i], &trial.program, &input);
                run_order_all(&runs[i]);
        }
        run_wait(&runs[COUNT - 1]);
        for (uint32_t i = 0; i < COUNT; i++)
                for (uint32_t d = 0; d < 4; d++)
                        assert_memory_equal(run_data(&runs[i], 0, d), run_data(&runs[i], 1, d), 777 * 4);
        world_no_report(&trial.world);
        trial_done(&trial);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sizes), cmocka_unit_test(test_types), cmocka_unit_test(test_streams),
                cmocka_unit_test(test_two_axes), cmocka_unit_test(test_many),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
