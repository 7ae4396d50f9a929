/* What a form shows of a row, and the table that it makes of many. */
#include "cli/print/form.h"

#include "base/memory.h"
#include "base/size.h"
#include "cli/print/grid.h"

#include <inttypes.h>

const Pathways__Wire__Cell *pw_row_cell(const Pathways__Wire__Row *row, const char *key)
{
        for (size_t i = 0; i < row->n_cells; i++)
                if (!strcmp(row->cells[i]->key, key))
                        return row->cells[i];
        return NULL;
}

const char *pw_row_text(const Pathways__Wire__Row *row, const char *key)
{
        const Pathways__Wire__Cell *cell = pw_row_cell(row, key);

        return cell && cell->value_case == PATHWAYS__WIRE__CELL__VALUE_TEXT ? cell->text : "";
}

uint64_t pw_row_number(const Pathways__Wire__Row *row, const char *key)
{
        const Pathways__Wire__Cell *cell = pw_row_cell(row, key);

        return cell && cell->value_case == PATHWAYS__WIRE__CELL__VALUE_NUMBER ? cell->number : 0;
}

static const char *number_text(enum pw_cell_format format, uint64_t number, char room[PW_CELL_TEXT_BYTES])
{
        switch (format) {
        case PW_CELL_SIZE:
                return pw_size_format(number, room);
        case PW_CELL_DURATION:
                return pw_duration_format(number, room);
        case PW_CELL_POWER:
                snprintf(room, PW_CELL_TEXT_BYTES, "%" PRIu64 ".%" PRIu64 " W", number / 1000, number % 1000 / 100);
                return room;
        case PW_CELL_HOST:
        case PW_CELL_HEX:
                snprintf(room, PW_CELL_TEXT_BYTES, format == PW_CELL_HOST ? "h%" PRIu64 : "%" PRIx64, number);
                return room;
        default:
                snprintf(room, PW_CELL_TEXT_BYTES, "%" PRIu64, number);
                return room;
        }
}

static const char *type_text(const struct pw_column *column, const Pathways__Wire__Row *row, char room[PW_CELL_TEXT_BYTES])
{
        const char *dtype = pw_row_text(row, column->key), *dims = pw_row_text(row, column->other);
        bool opaque = !strcmp(dtype, pw_dtype_text(PW_OPAQUE));

        snprintf(room, PW_CELL_TEXT_BYTES, "%s%s%s", *dtype ? dtype : "-", *dims && !opaque ? " " : "", opaque ? "" : dims);
        return room;
}

const char *pw_column_text(const struct pw_column *column, const Pathways__Wire__Row *row, char room[PW_CELL_TEXT_BYTES])
{
        const Pathways__Wire__Cell *cell = pw_row_cell(row, column->key);

        if (column->format == PW_CELL_TYPE)
                return type_text(column, row, room);
        if (!cell)
                return "-";
        switch (cell->value_case) {
        case PATHWAYS__WIRE__CELL__VALUE_TEXT:
                return *cell->text ? cell->text : "-";
        case PATHWAYS__WIRE__CELL__VALUE_NUMBER:
                return number_text(column->format, cell->number, room);
        case PATHWAYS__WIRE__CELL__VALUE_REAL:
                snprintf(room, PW_CELL_TEXT_BYTES, "%.6g", cell->real);
                return room;
        case PATHWAYS__WIRE__CELL__VALUE_FLAG:
                return cell->flag ? "yes" : "no";
        default:
                return "-";
        }
}

static const char *heading_of(const struct pw_column *column)
{
        return column->heading ? column->heading : column->key;
}

static bool is_text(const struct pw_column *column, const Pathways__Wire__Row *row)
{
        const Pathways__Wire__Cell *cell = pw_row_cell(row, column->key);

        return cell && cell->value_case == PATHWAYS__WIRE__CELL__VALUE_TEXT;
}

static bool add_note(struct pw_grid *grid, const struct pw_column *column, const Pathways__Wire__Row *row)
{
        char room[PW_CELL_TEXT_BYTES], note[2 * PW_CELL_TEXT_BYTES];
        const char *text = pw_column_text(column, row, room);

        if (!strcmp(text, "-"))
                return true;
        snprintf(note, sizeof note, "%s: %s", heading_of(column), text);
        return pw_grid_note(grid, note);
}

/* Cells of numbers stand at the right of their column. */
static bool fill_table(struct pw_grid *grid, const struct pw_form *form, const Pathways__Wire__Listing *listing)
{
        char room[PW_CELL_TEXT_BYTES];
        bool ok = true;

        for (uint32_t c = 0; c < form->count; c++)
                ok = ok && pw_grid_add(grid, heading_of(&form->columns[c]));
        for (size_t r = 0; r < listing->n_rows; r++) {
                for (uint32_t c = 0; c < form->count; c++)
                        ok = ok && pw_grid_add(grid, pw_column_text(&form->columns[c], listing->rows[r], room));
                for (uint32_t n = 0; n < form->note_count; n++)
                        ok = ok && add_note(grid, &form->notes[n], listing->rows[r]);
        }
        for (uint32_t c = 0; listing->n_rows && c < form->count; c++) {
                if (!is_text(&form->columns[c], listing->rows[0]))
                        pw_grid_align_right(grid, c);
                if (form->columns[c].whole)
                        pw_grid_keep_whole(grid, c);
                if (!strcmp(form->columns[c].key, "state"))
                        pw_grid_mark(grid, c);
        }
        return ok;
}

static bool fill_upright(struct pw_grid *grid, const struct pw_form *form, const Pathways__Wire__Listing *listing)
{
        char room[PW_CELL_TEXT_BYTES];
        bool ok = true;

        for (size_t r = 0; r < listing->n_rows; r++)
                for (uint32_t c = 0; c < form->count; c++)
                        ok = ok && pw_grid_add(grid, heading_of(&form->columns[c])) &&
                             pw_grid_add(grid, pw_column_text(&form->columns[c], listing->rows[r], room));
        return ok;
}

enum pw_status pw_form_print(const struct pw_form *form, const Pathways__Wire__Listing *listing, const struct pw_paper *paper,
                             FILE *out, struct pw_error *ret_err)
{
        struct pw_grid *grid = pw_grid_new(form->upright ? 2 : form->count);
        bool ok = grid && (form->upright ? fill_upright(grid, form, listing) : fill_table(grid, form, listing));

        if (ok && paper->colour)
                pw_grid_colour(grid);
        if (ok && !form->upright)
                pw_grid_headed(grid);
        if (ok)
                pw_grid_print(grid, paper->width, out);
        pw_grid_free(grid);
        return ok ? PW_OK : pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a table of %zu rows", listing->n_rows);
}

Pathways__Wire__Cell pw_cell_text(const char *key, const char *text)
{
        Pathways__Wire__Cell cell = PATHWAYS__WIRE__CELL__INIT;

        cell.key = (char *)key;
        cell.value_case = PATHWAYS__WIRE__CELL__VALUE_TEXT;
        cell.text = (char *)text;
        return cell;
}

Pathways__Wire__Cell pw_cell_number(const char *key, uint64_t number)
{
        Pathways__Wire__Cell cell = PATHWAYS__WIRE__CELL__INIT;

        cell.key = (char *)key;
        cell.value_case = PATHWAYS__WIRE__CELL__VALUE_NUMBER;
        cell.number = number;
        return cell;
}

Pathways__Wire__Cell pw_cell_real(const char *key, double real)
{
        Pathways__Wire__Cell cell = PATHWAYS__WIRE__CELL__INIT;

        cell.key = (char *)key;
        cell.value_case = PATHWAYS__WIRE__CELL__VALUE_REAL;
        cell.real = real;
        return cell;
}
