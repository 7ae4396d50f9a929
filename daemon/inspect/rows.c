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

        rows->full = (rows->limit && rows->count >= rows->limit) || rows->bytes >= BYTES_MAX;
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

void pw_rows_send(struct pw_rows *rows, struct pw_dsession *session, uint64_t id)
{
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        Pathways__Wire__Listing listing = PATHWAYS__WIRE__LISTING__INIT;

        listing.rows = rows->rows;
        listing.n_rows = rows->count;
        listing.truncated = rows->truncated;
        listing.next = rows->next;
        listing.behind = rows->behind;
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_LISTING;
        reply.listing = &listing;
        if (rows->failed)
                pw_session_reply_error(session, id, PW_NO_MEMORY, "pathwaysd is out of memory for the listing; ask for fewer rows");
        else if (!pw_session_may_send(session, pathways__wire__reply__get_packed_size(&reply)))
                pw_session_reply_error(session, id, PW_LIMIT,
                                       "replies that clients of this tenant have not read take too much: read them, or ask "
                                                              "for fewer rows");
        else
                pw_session_reply(session, id, &reply, NULL, 0);
        pw_rows_free(rows);
}
