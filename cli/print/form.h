/* How rows are shown: which cells, under which headings, in which units.
 *
 * Invariant: a form chooses what a person sees; JSON has every cell of every row, as the daemon gave it.
 */
#ifndef PW_CLI_PRINT_FORM_H
#define PW_CLI_PRINT_FORM_H

#include "libclient/listing.h"

#include <stdio.h>

enum pw_cell_format {
        PW_CELL_PLAIN,    /* text, or a number as it is */
        PW_CELL_SIZE,     /* bytes: "1.5 GiB" */
        PW_CELL_DURATION, /* microseconds: "3.2 s" */
        PW_CELL_POWER,    /* milliwatts: "311.5 W" */
        PW_CELL_HOST,     /* "h0" */
        PW_CELL_HEX,      /* as ids have it */
        PW_CELL_TYPE,     /* a dtype with the dims of the cell `other`: "f32 [96, 65]" */
};

struct pw_column {
        const char *key;
        const char *heading; /* NULL: the key */
        enum pw_cell_format format;
        const char *other;
        bool whole; /* never wrapped: for ids */
};

struct pw_form {
        const struct pw_column *columns;
        uint32_t count;
        bool upright; /* one row: a line per cell instead of a table */
        const struct pw_column *notes; /* each in a line under its row, where there is something */
        uint32_t note_count;
};

#define PW_CELL_TEXT_BYTES 256

/* The cell `key` of `row`, or NULL. */
const Pathways__Wire__Cell *pw_row_cell(const Pathways__Wire__Row *row, const char *key);
/* Its text or number; "" and 0 where it has none. */
const char *pw_row_text(const Pathways__Wire__Row *row, const char *key);
uint64_t pw_row_number(const Pathways__Wire__Row *row, const char *key);
/* What `column` shows of `row`: `room`, or a text of the row. "-" where there is nothing. */
const char *pw_column_text(const struct pw_column *column, const Pathways__Wire__Row *row, char room[PW_CELL_TEXT_BYTES]);

/* As a table of at most `width` columns. Errors: PW_NO_MEMORY. */
struct pw_paper { uint32_t width; bool colour; };
PW_MUST_CHECK enum pw_status pw_form_print(const struct pw_form *form, const Pathways__Wire__Listing *listing,
                                           const struct pw_paper *paper, FILE *out, struct pw_error *ret_err);
/* As an array of JSON objects, one to a line. Errors: PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_json_print(const Pathways__Wire__Listing *listing, FILE *out, struct pw_error *ret_err);

/* `text` as a JSON string, quotes included; NULL: out of memory. Own: the caller frees it. */
char *pw_json_text(const char *text);

/* Cells of a row that the command makes itself. */
Pathways__Wire__Cell pw_cell_text(const char *key, const char *text);
Pathways__Wire__Cell pw_cell_number(const char *key, uint64_t number);
Pathways__Wire__Cell pw_cell_real(const char *key, double real);

#endif
