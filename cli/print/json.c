/* Rows as JSON. */
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "cli/print/form.h"

#include <jansson.h>

/* JSON is UTF-8; bytes that are not, or that a terminal obeys, come out as '?'. */
static json_t *text_json(const char *text)
{
        pw_auto_free char *copy = strdup(text);

        return copy ? json_string(pw_text_make_plain(copy)) : NULL;
}

static json_t *cell_json(const Pathways__Wire__Cell *cell)
{
        switch (cell->value_case) {
        case PATHWAYS__WIRE__CELL__VALUE_TEXT:
                return text_json(cell->text);
        case PATHWAYS__WIRE__CELL__VALUE_NUMBER:
                return cell->number <= INT64_MAX ? json_integer((json_int_t)cell->number) : json_real((double)cell->number);
        case PATHWAYS__WIRE__CELL__VALUE_REAL:
                return json_real(cell->real);
        case PATHWAYS__WIRE__CELL__VALUE_FLAG:
                return json_boolean(cell->flag);
        default:
                return json_null();
        }
}

static bool print_row(const Pathways__Wire__Row *row, FILE *out)
{
        json_t *object = json_object();
        bool ok = object != NULL;

        for (size_t i = 0; ok && i < row->n_cells; i++)
                ok = !json_object_set_new(object, row->cells[i]->key, cell_json(row->cells[i]));
        ok = ok && !json_dumpf(object, out, 0);
        json_decref(object);
        return ok;
}

enum pw_status pw_json_print(const Pathways__Wire__Listing *listing, FILE *out, struct pw_error *ret_err)
{
        fputs(listing->n_rows ? "[\n" : "[", out);
        for (size_t i = 0; i < listing->n_rows; i++) {
                if (!print_row(listing->rows[i], out))
                        return pw_error_set(ret_err, PW_NO_MEMORY, "row %zu does not become JSON", i);
                fputs(i + 1 < listing->n_rows ? ",\n" : "\n", out);
        }
        fputs("]\n", out);
        return PW_OK;
}

char *pw_json_text(const char *text)
{
        json_t *json = text_json(text);
        char *dumped = json ? json_dumps(json, JSON_ENCODE_ANY) : NULL;

        json_decref(json);
        return dumped;
}
