/* Grids keep within their width and lose nothing. */
#include "cli/print/grid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *printed(struct pw_grid *grid, uint32_t width)
{
        char *text = NULL;
        size_t bytes;
        FILE *out = open_memstream(&text, &bytes);

        assert_non_null(out);
        pw_grid_print(grid, width, out);
        fclose(out);
        pw_grid_free(grid);
        return text;
}

static struct pw_grid *grid_of(uint32_t columns, const char *const *cells, uint32_t count)
{
        struct pw_grid *grid = pw_grid_new(columns);

        assert_non_null(grid);
        for (uint32_t i = 0; i < count; i++)
                assert_true(pw_grid_add(grid, cells[i]));
        return grid;
}

static void columns_align(void **state)
{
        const char *cells[] = { "name", "bytes", "where", "a", "1", "h0", "longer", "1024", "h0:2" };
        struct pw_grid *grid = grid_of(3, cells, 9);

        (void)state;
        pw_grid_align_right(grid, 1);
        char *text = printed(grid, 80);
        assert_string_equal(text, "name    bytes  where\n"
                                  "a           1  h0\n"
                                  "longer   1024  h0:2\n");
        free(text);
}

static void gaps_give_way_first(void **state)
{
        const char *cells[] = { "digits/step", "digits[4411]", "ready" };

        (void)state;
        char *text = printed(grid_of(3, cells, 3), 30);
        assert_string_equal(text, "digits/step digits[4411] ready\n");
        free(text);
}

static void long_cells_go_on(void **state)
{
        const char *cells[] = { "1", "waits for the input of run forty", "23456789" };
        struct pw_grid *grid = grid_of(3, cells, 3);

        (void)state;
        pw_grid_align_right(grid, 2);
        char *text = printed(grid, 30);
        assert_string_equal(text, "1 waits for the input 23456789\n"
                                  "  of run forty\n");
        free(text);
}

static void no_line_is_too_wide(void **state)
{
        char longest[400];

        (void)state;
        memset(longest, 'x', sizeof longest - 1);
        longest[sizeof longest - 1] = 0;
        const char *cells[] = { "h0.67fa12ab/3f2a.7.12", longest, "f32", longest };
        char *text = printed(grid_of(4, cells, 4), 80);
        size_t letters = 0;
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
                assert_in_range(strlen(line), 1, 80);
                for (const char *c = line; *c; c++)
                        letters += *c == 'x';
        }
        assert_int_equal(letters, 2 * (sizeof longest - 1));
        free(text);
}

/* What is copied from a sentence to a shell is whole, and a number has its unit beside it. */
static void commands_stay_whole(void **state)
{
        char *text = NULL;
        size_t bytes;
        FILE *out = open_memstream(&text, &bytes);

        (void)state;
        pw_text_print("remedy: end it; `pathways free --force h0.67fa12ab/3f2a.7.12`; after 18.9 s, or h0.67fa12ab/3f2a.7.13",
                      2, 48, out);
        fclose(out);
        assert_string_equal(text, "  remedy: end it;\n"
                                  "  `pathways free --force h0.67fa12ab/3f2a.7.12`;\n"
                                  "  after 18.9 s, or h0.67fa12ab/3f2a.7.13\n");
        free(text);
        out = open_memstream(&text, &bytes);
        pw_text_print("remedy: `pathways free --force h0.67fa12ab/3f2a.7.12`; or end it", 0, 24, out);
        fclose(out);
        assert_string_equal(text, "remedy:\n`pathways free --force h0.67fa12ab/3f2a.7.12`;\nor end it\n");
        free(text);
        out = open_memstream(&text, &bytes);
        pw_text_print("waits for the function to return, for 18.9 s", 0, 42, out);
        fclose(out);
        assert_string_equal(text, "waits for the function to return, for\n18.9 s\n");
        free(text);
}

static void empty_grid_prints_nothing(void **state)
{
        (void)state;
        char *text = printed(grid_of(2, NULL, 0), 80);
        assert_string_equal(text, "");
        free(text);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(columns_align), cmocka_unit_test(gaps_give_way_first),
                cmocka_unit_test(long_cells_go_on),
                cmocka_unit_test(no_line_is_too_wide), cmocka_unit_test(commands_stay_whole),
                cmocka_unit_test(empty_grid_prints_nothing),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
