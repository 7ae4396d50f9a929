/* Rows as tables and as JSON. */
#include "cli/print/form.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct pw_column columns[] = {
        { .key = "id" },
        { .key = "bytes", .format = PW_CELL_SIZE },
        { .key = "age_us", .heading = "age", .format = PW_CELL_DURATION },
        { .key = "took_us", .heading = "took", .format = PW_CELL_DURATION },
        { .key = "names" },
};
static const struct pw_column notes[] = { { .key = "names", .heading = "named" }, { .key = "mark" } };

struct rows {
        Pathways__Wire__Cell cells[6], *pointers[6];
        Pathways__Wire__Row row, *rows[1];
        Pathways__Wire__Listing listing;
};

static void make_rows(struct rows *rows, const char *names, const char *mark)
{
        Pathways__Wire__Row row = PATHWAYS__WIRE__ROW__INIT;
        Pathways__Wire__Listing listing = PATHWAYS__WIRE__LISTING__INIT;

        rows->cells[0] = pw_cell_text("id", "h0.3/1.2.3");
        rows->cells[1] = pw_cell_number("bytes", 1536);
        rows->cells[2] = pw_cell_number("age_us", 3200000);
        rows->cells[3] = pw_cell_number("took_us", 12);
        rows->cells[4] = pw_cell_text("mark", mark);
        rows->cells[5] = pw_cell_text("names", names);
        for (int i = 0; i < 6; i++)
                rows->pointers[i] = &rows->cells[i];
        rows->row = row;
        rows->row.cells = rows->pointers;
        rows->row.n_cells = 6;
        rows->rows[0] = &rows->row;
        rows->listing = listing;
        rows->listing.rows = rows->rows;
        rows->listing.n_rows = 1;
}

static char *printed(const struct rows *rows, const struct pw_form *form)
{
        char *text = NULL;
        size_t bytes;
        FILE *out = open_memstream(&text, &bytes);

        assert_non_null(out);
        if (form)
                assert_int_equal(pw_form_print(form, &rows->listing, &(struct pw_paper){ 80, false }, out, NULL), PW_OK);
        else
                assert_int_equal(pw_json_print(&rows->listing, out, NULL), PW_OK);
        fclose(out);
        return text;
}

static void a_table_has_units(void **state)
{
        struct pw_form form = { columns, 4, false, notes, 2 };
        struct rows rows;

        (void)state;
        make_rows(&rows, "weights", "frozen");
        char *text = printed(&rows, &form);
        assert_string_equal(text, "id            bytes    age   took\n"
                                  "h0.3/1.2.3  1.5 KiB  3.2 s  12 us\n"
                                  "    named: weights; mark: frozen\n");
        free(text);
}

static void what_is_not_there_is_a_dash(void **state)
{
        struct pw_form form = { columns, 5, true, NULL, 0 };
        struct rows rows;

        (void)state;
        make_rows(&rows, "", "");
        rows.row.n_cells = 6;
        rows.cells[1].value_case = rows.cells[3].value_case = PATHWAYS__WIRE__CELL__VALUE__NOT_SET;
        char *text = printed(&rows, &form);
        assert_string_equal(text, "id     h0.3/1.2.3\nbytes  -\nage    3.2 s\ntook   -\nnames  -\n");
        free(text);
}

static void json_has_every_cell_exactly(void **state)
{
        struct rows rows;

        (void)state;
        make_rows(&rows, "a\"b\xff", "");
        rows.cells[1].number = 9007199254740993;
        char *text = printed(&rows, NULL);
        assert_string_equal(text, "[\n{\"id\": \"h0.3/1.2.3\", \"bytes\": 9007199254740993, \"age_us\": 3200000, \"took_us\": 12, "
                                  "\"mark\": \"\", \"names\": \"a\\\"b?\"}\n]\n");
        free(text);
        rows.listing.n_rows = 0;
        text = printed(&rows, NULL);
        assert_string_equal(text, "[]\n");
        free(text);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_table_has_units),
                cmocka_unit_test(what_is_not_there_is_a_dash),
                cmocka_unit_test(json_has_every_cell_exactly),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
