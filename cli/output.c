/* Where rows go. */
#include "cli/output.h"

#include "base/memory.h"

#include <sys/ioctl.h>

#define COLUMNS 80u

static uint32_t columns_of(FILE *out)
{
        struct winsize size;

        if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &size) < 0 || size.ws_col < COLUMNS)
                return COLUMNS;
        return size.ws_col;
}

enum pw_status pw_output_rows(struct pw_invocation *invocation, const struct pw_form *form, const Pathways__Wire__Listing *listing,
                              struct pw_error *ret_err)
{
        enum pw_status status = invocation->settings.json
                                        ? pw_json_print(listing, invocation->out, ret_err)
                                        : pw_form_print(form, listing, columns_of(invocation->out), invocation->out, ret_err);

        if (status == PW_OK && listing->truncated)
                fprintf(stderr, "pathways: there are more rows; --limit N shows more\n");
        return status;
}

enum pw_status pw_output_cells(struct pw_invocation *invocation, Pathways__Wire__Cell *cells, size_t count,
                               struct pw_error *ret_err)
{
        Pathways__Wire__Listing listing = PATHWAYS__WIRE__LISTING__INIT;
        Pathways__Wire__Row row = PATHWAYS__WIRE__ROW__INIT, *rows = &row;
        pw_auto_free Pathways__Wire__Cell **pointers = calloc(count + 1, sizeof *pointers);

        if (!pointers)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a row");
        for (size_t i = 0; i < count; i++)
                pointers[i] = &cells[i];
        row.cells = pointers;
        row.n_cells = count;
        listing.rows = &rows;
        listing.n_rows = 1;
        return pw_output_rows(invocation, &invocation->command->form, &listing, ret_err);
}
