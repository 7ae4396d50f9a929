/* Rows and cells. */
#include "daemon/inspect/rows.h"

#include "base/memory.h"
#include "daemon/session/output.h"

#include <stdarg.h>
#include <stdio.h>

#define BYTES_MAX (48u << 20) /* so that a listing fits into a frame */
#define CELL_BYTES 16u        /* at most, besides its key and text */

bool pw_rows_begin(struct pw_rows *rows)
{
        Pathways__Wire__Row *row;

        rows->full = (rows->limit && rows->count >= rows->limit) || rows->bytes >= (rows->bytes_max ? rows->bytes_max : BYTES_MAX);
        if (rows->full) {
                rows->truncated = true;
                return false;
        }
        row = malloc(sizeof *row);
        if (!row || !pw_grow((void **)&rows->rows, &rows->capacity, rows->count + 1, sizeof *rows->rows)) {
                free(row);
                rows->failed = true;
                return false;
        }
        pathways__wire__row__init(row);
        rows->rows[rows->count++] = row;
        rows->cell_capacity = 0;
        return true;
}

static Pathways__Wire__Cell *add_cell(struct pw_rows *rows, const char *key)
{
        Pathways__Wire__Row *row = rows->count ? rows->rows[rows->count - 1] : NULL;
        Pathways__Wire__Cell *cell;

        if (!row || rows->failed || rows->full)
                return NULL;
        cell = malloc(sizeof *cell);
        if (!cell || !pw_grow((void **)&row->cells, &rows->cell_capacity, (uint32_t)row->n_cells + 1, sizeof *row->cells)) {
                free(cell);
                rows->failed = true;
                return NULL;
        }
        pathways__wire__cell__init(cell);
        cell->key = (char *)(uintptr_t)key; /* literals: never freed */
        row->cells[row->n_cells++] = cell;
        rows->bytes += strlen(key) + CELL_BYTES;
        return cell;
}

void pw_rows_text(struct pw_rows *rows, const char *key, const char *format, ...)
{
        Pathways__Wire__Cell *cell = add_cell(rows, key);
        va_list args;
        char *text;

        if (!cell)
                return;
        va_start(args, format);
        if (vasprintf(&text, format, args) < 0)
                rows->failed = true;
        else
                cell->text = text;
        va_end(args);
        rows->bytes += rows->failed ? 0 : strlen(text);
        if (!rows->failed)
                cell->value_case = PATHWAYS__WIRE__CELL__VALUE_TEXT;
}

void pw_rows_number(struct pw_rows *rows, const char *key, uint64_t number)
{
        Pathways__Wire__Cell *cell = add_cell(rows, key);

        if (!cell)
                return;
        cell->value_case = PATHWAYS__WIRE__CELL__VALUE_NUMBER;
        cell->number = number;
}

void pw_rows_signed(struct pw_rows *rows, const char *key, int64_t number)
{
        Pathways__Wire__Cell *cell = add_cell(rows, key);

        if (!cell)
                return;
        cell->value_case = PATHWAYS__WIRE__CELL__VALUE_REAL;
        cell->real = (double)number;
}

void pw_rows_free(struct pw_rows *rows)
{
        for (uint32_t i = 0; i < rows->count; i++) {
                for (size_t j = 0; j < rows->rows[i]->n_cells; j++) {
                        Pathways__Wire__Cell *cell = rows->rows[i]->cells[j];

                        if (cell->value_case == PATHWAYS__WIRE__CELL__VALUE_TEXT)
                                free(cell->text);
                        free(cell);
                }
                free(rows->rows[i]->cells);
                free(rows->rows[i]);
        }
        free(rows->rows);
}

static Pathways__Wire__Listing listing_of(const struct pw_rows *rows)
{
        Pathways__Wire__Listing listing = PATHWAYS__WIRE__LISTING__INIT;

        listing.rows = rows->rows;
        listing.n_rows = rows->count;
        listing.truncated = rows->truncated;
        listing.next = rows->next;
        listing.behind = rows->behind;
        return listing;
}

void pw_rows_send(struct pw_rows *rows, struct pw_dsession *session, uint64_t id)
{
        Pathways__Wire__Listing listing = listing_of(rows);

        if (rows->failed)
                pw_session_reply_error(session, id, PW_NO_MEMORY, "pathwaysd is out of memory for the listing; ask for fewer rows");
        else
                pw_session_reply_listing(session, id, &listing);
        pw_rows_free(rows);
}

enum pw_status pw_rows_pack(const struct pw_rows *rows, uint8_t **ret_bytes, uint32_t *ret_count)
{
        Pathways__Wire__Listing listing = listing_of(rows);
        uint8_t *bytes = rows->failed ? NULL : malloc(pathways__wire__listing__get_packed_size(&listing) + 1);

        if (!bytes)
                return PW_NO_MEMORY;
        *ret_count = (uint32_t)pathways__wire__listing__pack(&listing, bytes);
        *ret_bytes = bytes;
        return PW_OK;
}
