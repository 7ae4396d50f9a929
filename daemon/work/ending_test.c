/* Sessions that ended with very many programs and slices: so many of them go in a part, each once, and all of them. */
#include "base/memory.h"
#include "daemon/work/ending.h"
#include "daemon/work/slice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define PART 128u
#define PROGRAMS 1000u
#define SLICES 5000u
#define PROGRAMS_OF_PART (PART / 16)

static uint8_t freed[PROGRAMS + 1], closed[SLICES + 1];
static uint32_t freed_count, closed_count;

void pw_scheduler_program_free(struct pw_scheduler *scheduler, uint32_t program)
{
        (void)scheduler;
        freed[program]++;
        freed_count++;
}

void pw_slice_end(struct pw_dsession *session, uint32_t slice)
{
        (void)session;
        closed[slice]++;
        closed_count++;
}

static void begin(struct pw_dsession *session, struct pw_daemon *daemon, uint32_t programs, uint32_t slices)
{
        *session = (struct pw_dsession){ .daemon = daemon };
        memset(freed, 0, sizeof freed);
        memset(closed, 0, sizeof closed);
        freed_count = closed_count = 0;
        for (uint32_t i = 1; i <= programs; i++)
                assert_true(pw_table_put(&session->programs, i, session));
        for (uint32_t i = 1; i <= slices; i++)
                assert_true(pw_table_put(&session->slices, i, session));
}

static void check_all(struct pw_dsession *session, uint32_t programs, uint32_t slices)
{
        for (uint32_t i = 1; i <= programs; i++)
                assert_int_equal(freed[i], 1);
        for (uint32_t i = 1; i <= slices; i++)
                assert_int_equal(closed[i], 1);
        assert_int_equal(freed_count, programs);
        assert_int_equal(closed_count, slices);
        pw_table_done(&session->programs);
        pw_table_done(&session->slices);
}

static void test_in_parts(void **state)
{
        static struct pw_daemon daemon;
        struct pw_dsession session;
        uint32_t part, parts = 0;
        bool over;

        (void)state;
        begin(&session, &daemon, PROGRAMS, SLICES);
        do {
                uint32_t freed_before = freed_count, closed_before = closed_count;

                part = PART;
                over = pw_work_ending_go_on(&session, &part);
                assert_true(over == (part > 0));
                assert_in_range(freed_count - freed_before, 0, PROGRAMS_OF_PART);
                assert_in_range(closed_count - closed_before, 0, PART);
                assert_true(closed_count == 0 || freed_count == PROGRAMS);
                parts++;
        } while (!over);
        assert_int_equal(parts, PROGRAMS / PROGRAMS_OF_PART + SLICES / PART + 1);
        check_all(&session, PROGRAMS, SLICES);
}

/* What is left of the part is for others; where nothing is, nothing goes. */
static void test_of_a_part(void **state)
{
        static struct pw_daemon daemon;
        struct pw_dsession session;
        uint32_t part = 0;

        (void)state;
        begin(&session, &daemon, 1, 7);
        assert_false(pw_work_ending_go_on(&session, &part));
        assert_int_equal(freed_count + closed_count, 0);
        part = PART;
        assert_true(pw_work_ending_go_on(&session, &part));
        assert_int_equal(part, PART - 16 - 7);
        check_all(&session, 1, 7);
        begin(&session, &daemon, 0, 0);
        assert_true(pw_work_ending_go_on(&session, &part));
        assert_int_equal(part, PART - 16 - 7);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_in_parts), cmocka_unit_test(test_of_a_part) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
