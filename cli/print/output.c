/* Where rows go. */
#include "cli/print/output.h"

#include "base/error.h"
#include "base/memory.h"

#include <sys/ioctl.h>

#define COLUMNS 80u
#define COLUMNS_MIN 40u /* narrower, nothing would be read */
#define UNBOUND (1u << 20) /* where it is no terminal: what reads it looks for words in lines */
#define LINES 24u

static bool is_terminal(void) { return isatty(STDOUT_FILENO); }

uint32_t pw_output_lines(void)
{
        struct winsize size;

        return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_row ? LINES : size.ws_row;
}

/* TERM and NO_COLOR as https://no-color.org has it: conventions of terminals, no settings of this command. */
bool pw_output_is_screen(void)
{
        const char *term = getenv("TERM");

        return is_terminal() && term && *term && strcmp(term, "dumb");
}

static bool wants_colour(void)
{
        const char *no_colour = getenv("NO_COLOR");

        return pw_output_is_screen() && !(no_colour && *no_colour);
}

uint32_t pw_output_columns(void)
{
        struct winsize size;

        if (!is_terminal())
                return UNBOUND;
        if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col)
                return COLUMNS;
        return size.ws_col > COLUMNS_MIN ? size.ws_col : COLUMNS_MIN;
}

/* Cells that are not there, or empty, are left out of an upright form. */
static enum pw_status print_present(struct pw_invocation *invocation, const struct pw_form *form,
                                    const Pathways__Wire__Listing *rows, const struct pw_paper *paper, struct pw_error *ret_err)
{
        pw_auto_free struct pw_column *columns = calloc(form->count + 1, sizeof *columns);
        struct pw_form present = { columns, 0, true, NULL, 0 };

        if (!columns)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for %u columns", form->count);
        for (uint32_t i = 0; i < form->count; i++) {
                const Pathways__Wire__Cell *cell = rows->n_rows ? pw_row_cell(rows->rows[0], form->columns[i].key) : NULL;
                if (cell && !(cell->value_case == PATHWAYS__WIRE__CELL__VALUE_TEXT && !*cell->text))
                        columns[present.count++] = form->columns[i];
        }
        return pw_form_print(&present, rows, paper, invocation->out, ret_err);
}

enum pw_status pw_output_rows(struct pw_invocation *invocation, const struct pw_form *form, const Pathways__Wire__Listing *listing,
                              struct pw_error *ret_err)
{
        struct pw_paper paper = { pw_output_columns(), wants_colour() };
        enum pw_status status;

        if (invocation->settings.json)
                status = pw_json_print(listing, invocation->out, ret_err);
        else if (form->upright)
                status = print_present(invocation, form, listing, &paper, ret_err);
        else
                status = pw_form_print(form, listing, &paper, invocation->out, ret_err);
        if (status == PW_OK && listing->truncated)
                fprintf(stderr, "pathways: there are more rows%s\n",
                        invocation->settings.limit ? "; --limit 0 shows all that one answer holds" : " than one answer holds");
        if (status == PW_OK && listing->behind)
                fprintf(stderr,
                        "pathways: clients tell more than pathwaysd has read so far: what they took and gave back last is not "
                        "shown\n");
        return status;
}

static bool has_column(const struct pw_form *form, const char *key)
{
        for (uint32_t i = 0; i < form->count; i++)
                if (!strcmp(form->columns[i].key, key))
                        return true;
        return false;
}

/* In `form`, behind a column for the host if that has none and there are hosts. */
static enum pw_status output_hosts(struct pw_invocation *invocation, const struct pw_form *form,
                                   const Pathways__Wire__Listing *listing, struct pw_error *ret_err)
{
        pw_auto_free struct pw_column *columns = calloc(form->count + 1, sizeof *columns);
        struct pw_form wider = *form;

        if (!listing->n_rows || !pw_row_cell(listing->rows[0], "host") || has_column(form, "host"))
                return pw_output_rows(invocation, form, listing, ret_err);
        if (!columns)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for %u columns", form->count);
        columns[0] = (struct pw_column){ .key = "host" };
        memcpy(columns + 1, form->columns, form->count * sizeof *columns);
        wider.columns = columns;
        wider.count++;
        return pw_output_rows(invocation, &wider, listing, ret_err);
}

void pw_output_silent(const struct pw_listing *listing, FILE *out)
{
        const Pathways__Wire__Listing *rows = pw_listing_rows(listing);

        for (size_t i = rows->n_rows - pw_listing_silent(listing); i < rows->n_rows; i++)
                fprintf(out, "%s did not answer: %s\n", pw_row_text(rows->rows[i], "host"),
                        pw_row_text(rows->rows[i], "unanswered"));
}

enum pw_status pw_output_listing(struct pw_invocation *invocation, const struct pw_form *form, const struct pw_listing *listing,
                                 struct pw_error *ret_err)
{
        Pathways__Wire__Listing rows = *pw_listing_rows(listing);
        enum pw_status status;

        if (invocation->settings.json)
                return pw_output_rows(invocation, form, &rows, ret_err);
        rows.n_rows -= pw_listing_silent(listing);
        status = output_hosts(invocation, form, &rows, ret_err);
        if (status == PW_OK)
                pw_output_silent(listing, invocation->out);
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
