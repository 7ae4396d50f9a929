/* A host of another number than 0: every id and sentence says so.
 */
#include "tests/integration/folder.h"
#include "tests/integration/trace.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void start_third(struct it_host *host)
{
        char path[160];

        snprintf(path, sizeof path, "%s/state", host->folder);
        assert_int_equal(mkdir(path, 0700), 0);
        snprintf(path, sizeof path, "%s/state/host", host->folder);
        it_write_file(path, "3\n");
        it_start(host, IT_ARGS(IT_SMALL));
        host->session = it_connect(host);
}

/* No cell of a listing speaks of host 0. */
static void speaks_of_itself(struct it_host *host, const char *what, const char *filter)
{
        struct pw_listing *listing = it_list(host->session, what, filter);
        const Pathways__Wire__Listing *rows = pw_listing_rows(listing);

        for (size_t r = 0; r < rows->n_rows; r++)
                for (size_t c = 0; c < rows->rows[r]->n_cells; c++) {
                        const Pathways__Wire__Cell *cell = rows->rows[r]->cells[c];

                        if (cell->value_case == PATHWAYS__WIRE__CELL__VALUE_TEXT &&
                            (strstr(cell->text, "h0:") || strstr(cell->text, "h0.")))
                                fail_msg("%s says %s: %s", what, cell->key, cell->text);
                }
        pw_listing_free(listing);
}

static void sentences_name_the_host(void **state)
{
        struct it_host *host = *state;
        char text[PW_ID_TEXT_BYTES];

        start_third(host);
        struct pw_slice *slice = it_slice(host->session, 1, 1);
        struct pw_program *program = pw_program_new(host->session, "test/fails");
        struct pw_value *input = pw_input(program, slice, PW_F64, PW_SCALAR, PW_BROADCAST, 0);
        pw_result(program, it_break(program, slice, "broken/fail", input, PW_BROADCAST, 0));
        it_ok(pw_compile(program, IT_ERR));
        struct pw_future *value = it_put_scalar(host->session, 1), *result = it_run_1(program, value);
        struct pw_view view;

        assert_int_equal(it_listed(host->session, "status", "host"), 3);
        pw_id_format(pw_future_id(value), text);
        assert_int_equal(strncmp(text, "h3.", 3), 0);
        it_fails(pw_get(result, IT_LONG, &view, IT_ERR), PW_FAILED, "device h3:0");
        speaks_of_itself(host, "devices", NULL);
        speaks_of_itself(host, "memory", NULL);
        speaks_of_itself(host, "objects", NULL);
        speaks_of_itself(host, "runs", NULL);
        speaks_of_itself(host, "gangs", NULL);
        speaks_of_itself(host, "why", "h3");
        speaks_of_itself(host, "why", "run 1");
        struct pw_listing *listing;
        it_fails(pw_list(host->session, "why", "h0", 0, &listing, IT_ERR), PW_NOT_FOUND, "this host is h3");
        pw_unref(result);
        pw_unref(value);
        pw_program_free(program);
        pw_slice_close(slice);
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
}

static void a_number_that_cannot_be(void **state)
{
        struct it_host *host = *state;
        char path[160];

        snprintf(path, sizeof path, "%s/state", host->folder);
        assert_int_equal(mkdir(path, 0700), 0);
        snprintf(path, sizeof path, "%s/state/host", host->folder);
        it_write_file(path, "65535\n");
        it_refuses_to_start(host, IT_ARGS(IT_SMALL), "state/host|no number of a host");
        it_write_file(path, "three\n");
        it_refuses_to_start(host, IT_ARGS(IT_SMALL), "state/host|no number of a host");
}

int main(void)
{
        const struct CMUnitTest tests[] = { IT_FOLDER_TEST(sentences_name_the_host), IT_FOLDER_TEST(a_number_that_cannot_be) };

        return cmocka_run_group_tests_name("third_host", tests, NULL, NULL);
}
