/* What an executor takes beside its arena: every way in which that is known, and in which it is not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "daemon/device/beside.h"

#define EXECUTOR 4711
#define UNKNOWN UINT64_MAX

struct row { uint64_t total, executor, arena, beside; };

static void expect(const struct row *row)
{
        struct pw_gpu_facts facts = { .known = PW_GPU_EXECUTOR | (row->total ? PW_GPU_MEMORY : 0), .total_bytes = row->total,
                                      .executor = EXECUTOR, .executor_bytes = row->executor };
        struct pw_gpu_arena arena = { EXECUTOR, row->arena };
        uint64_t bytes = UNKNOWN;
        const char *why = NULL;

        assert_int_equal(pw_gpu_beside(&facts, &arena, &bytes, &why), row->beside != UNKNOWN);
        assert_int_equal(bytes, row->beside);
        assert_non_null(why);
}

static void bytes_are_told_apart(void **state)
{
        static const struct row rows[] = {
                { 100, 5, 60, 5 },        /* the arena is not among them, */
                { 100, 59, 60, 59 },
                { 100, 65, 60, 5 },       /* it is: the GPU has no room for both, */
                { 100, 60, 60, 0 },
                { 50, 65, 60, UNKNOWN },  /* more than there is, or nothing at all, cannot be */
                { 100, 101, 60, UNKNOWN },
                { 100, 0, 60, UNKNOWN },
                { 100, UINT64_MAX - 1, 60, UNKNOWN },
                { 0, UINT64_MAX - 1, 60, UNKNOWN },
                { 100, 41, 40, UNKNOWN }, /* 41 besides, or 1 */
                { 100, 60, 40, UNKNOWN },
                { 100, 61, 40, 21 },
                { 0, 65, 60, UNKNOWN },   /* nobody knows how much there is */
        };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
                expect(&rows[i]);
}

static void what_is_not_said(void **state)
{
        struct pw_gpu_facts facts = { .known = PW_GPU_MEMORY, .executor = EXECUTOR, .hides = "no" };
        struct pw_gpu_arena arena = { EXECUTOR, 60 };
        uint64_t bytes;
        const char *why;

        (void)state;
        assert_false(pw_gpu_beside(&facts, &arena, &bytes, &why));
        assert_string_equal(why, "no");
        arena.executor++; /* it was another's */
        facts.known |= PW_GPU_EXECUTOR;
        assert_false(pw_gpu_beside(&facts, &arena, &bytes, &why));
        assert_string_equal(why, "NVML has not been asked since it began: ask again");
        arena.executor = facts.executor = 0; /* there is none */
        assert_false(pw_gpu_beside(&facts, &arena, &bytes, &why));
        assert_string_equal(why, "it is not there: the state in pathways devices says how far it is");
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(bytes_are_told_apart), cmocka_unit_test(what_is_not_said) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
