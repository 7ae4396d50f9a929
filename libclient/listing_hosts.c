/* Listings over the hosts of a cluster: one host after the other is asked, by the daemon of this one. */
#include "libclient/listing.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- rows: what is added to them is allocated as what was read, so that it is freed with it ----------------------------------- */

static const char *text_of(const Pathways__Wire__Row *row, const char *key)
{
        for (size_t i = 0; i < row->n_cells; i++)
                if (!strcmp(row->cells[i]->key, key) && row->cells[i]->value_case == PATHWAYS__WIRE__CELL__VALUE_TEXT)
                        return row->cells[i]->text;
        return "";
}

static bool has_cell(const Pathways__Wire__Row *row, const char *key)
{
        for (size_t i = 0; i < row->n_cells; i++)
                if (!strcmp(row->cells[i]->key, key))
                        return true;
        return false;
}

static Pathways__Wire__Cell *cell_new(const char *key, const char *text)
{
        Pathways__Wire__Cell *cell = malloc(sizeof *cell);

        if (!cell)
                return NULL;
        pathways__wire__cell__init(cell);
        cell->key = strdup(key);
        cell->value_case = PATHWAYS__WIRE__CELL__VALUE_TEXT;
        cell->text = strdup(text);
        if (cell->key && cell->text)
                return cell;
        free(cell->key);
        free(cell->text);
        free(cell);
        return NULL;
}

/* In front of the others. */
static enum pw_status row_add(Pathways__Wire__Row *row, const char *key, const char *text, struct pw_error *ret_err)
{
        Pathways__Wire__Cell **cells = realloc(row->cells, (row->n_cells + 1) * sizeof *cells), *cell;

        if (cells)
                row->cells = cells;
        cell = cells ? cell_new(key, text) : NULL;
        if (!cell)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a cell");
        memmove(cells + 1, cells, row->n_cells * sizeof *cells);
        cells[0] = cell;
        row->n_cells++;
        return PW_OK;
}

/* Those of status and hosts have such a cell. */
static enum pw_status label(const struct pw_listing *listing, const char *host, struct pw_error *ret_err)
{
        Pathways__Wire__Listing *rows = pw_listing_rows(listing);
        enum pw_status status = PW_OK;

        for (size_t i = 0; i < rows->n_rows && status == PW_OK; i++)
                if (!has_cell(rows->rows[i], "host"))
                        status = row_add(rows->rows[i], "host", host, ret_err);
        return status;
}

static enum pw_status add_silent(struct pw_listing *listing, const char *host, const char *why, struct pw_error *ret_err)
{
        Pathways__Wire__Listing *rows = pw_listing_rows(listing);
        Pathways__Wire__Row **all = realloc(rows->rows, (rows->n_rows + 1) * sizeof *all), *row = malloc(sizeof *row);
        enum pw_status status;

        if (all)
                rows->rows = all;
        if (!all || !row) {
                free(row);
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a row");
        }
        pathways__wire__row__init(row);
        all[rows->n_rows++] = row;
        pw_listing_add_silent(listing);
        status = row_add(row, "unanswered", why, ret_err);
        return status == PW_OK ? row_add(row, "host", host, ret_err) : status;
}

/* --- hosts -------------------------------------------------------------------------------------------------------------------- */

struct host {
        uint32_t number;
        bool here;
        char *name;
        struct pw_error why; /* it did not answer; PW_OK: it did */
};
struct hosts { struct host *all; size_t count; };

static int compare(const void *a, const void *b)
{
        const struct host *left = a, *right = b;

        return (left->number > right->number) - (left->number < right->number);
}

/* Own: free_hosts(), whatever is returned. */
static enum pw_status read_hosts(const Pathways__Wire__Listing *rows, struct hosts *hosts, struct pw_error *ret_err)
{
        hosts->all = calloc(rows->n_rows + 1, sizeof *hosts->all);
        while (hosts->all && hosts->count < rows->n_rows) {
                const Pathways__Wire__Row *row = rows->rows[hosts->count];
                struct host *host = &hosts->all[hosts->count++];
                const char *number = text_of(row, "host");

                host->number = *number ? (uint32_t)strtoul(number + 1, NULL, 10) : 0;
                host->here = !strcmp(text_of(row, "link"), "here");
                host->name = strdup(text_of(row, "name"));
                if (!host->name)
                        break;
        }
        if (!hosts->all || hosts->count < rows->n_rows || (hosts->count && !hosts->all[hosts->count - 1].name))
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a list of %zu hosts", rows->n_rows);
        qsort(hosts->all, hosts->count, sizeof *hosts->all, compare);
        return PW_OK;
}

static void free_hosts(struct hosts *hosts)
{
        for (size_t i = 0; i < hosts->count; i++)
                free(hosts->all[i].name);
        free(hosts->all);
}

/* Own: free_hosts(). */
static enum pw_status find_hosts(struct pw_session *session, struct hosts *ret_hosts, struct pw_error *ret_err)
{
        struct hosts hosts = { NULL, 0 };
        struct pw_listing *listing;
        enum pw_status status = pw_list(session, "hosts", NULL, 0, &listing, ret_err);

        if (status != PW_OK)
                return status;
        status = read_hosts(pw_listing_rows(listing), &hosts, ret_err);
        pw_listing_free(listing);
        if (status == PW_OK)
                *ret_hosts = hosts;
        else
                free_hosts(&hosts);
        return status;
}

/* One answer joins those before it: *all is NULL before the first. */
static enum pw_status add(struct pw_listing **all, struct pw_listing *more_take, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;

        if (!*all) {
                *all = more_take;
                return PW_OK;
        }
        status = pw_listing_join(*all, more_take, ret_err);
        if (status == PW_OK)
                pw_listing_free(more_take);
        return status;
}

static enum pw_status ask(struct pw_session *session, const struct pw_list_params *params, struct host *host,
                          struct pw_listing **all, struct pw_error *ret_err)
{
        struct pw_list_params of = *params;
        struct pw_listing *more;
        char name[16];
        enum pw_status status;

        snprintf(name, sizeof name, "h%u", host->number);
        of.host = host->here ? NULL : name;
        status = pw_list_of(session, &of, &more, &host->why);
        if (status != PW_OK && !host->here && status != PW_DAEMON_GONE)
                return PW_OK;
        if (status != PW_OK)
                return pw_error_set(ret_err, status, "%s", host->why.text);
        status = label(more, name, ret_err);
        if (status == PW_OK)
                status = add(all, more, ret_err);
        if (status != PW_OK)
                pw_listing_free(more);
        return status;
}

static enum pw_status ask_all(struct pw_session *session, const struct pw_list_params *params, const struct hosts *hosts,
                              struct pw_listing **all, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;

        for (size_t i = 0; i < hosts->count && status == PW_OK; i++)
                status = ask(session, params, &hosts->all[i], all, ret_err);
        return status;
}

static enum pw_status add_all_silent(struct pw_listing *all, const struct hosts *hosts, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;
        char name[16];

        for (size_t i = 0; i < hosts->count && status == PW_OK; i++) {
                snprintf(name, sizeof name, "h%u", hosts->all[i].number);
                if (hosts->all[i].why.status != PW_OK)
                        status = add_silent(all, name, hosts->all[i].why.text, ret_err);
        }
        return status;
}

/* Those of another name or number go. */
static void narrow(struct hosts *hosts, const char *wanted)
{
        size_t kept = 0;
        char name[16];

        for (size_t i = 0; i < hosts->count; i++) {
                snprintf(name, sizeof name, "h%u", hosts->all[i].number);
                if (!strcmp(name, wanted) || !strcmp(hosts->all[i].name, wanted))
                        hosts->all[kept++] = hosts->all[i];
                else
                        free(hosts->all[i].name);
        }
        hosts->count = kept;
}

static enum pw_status list_found(struct pw_session *session, const struct pw_list_params *params, struct hosts *hosts,
                                 struct pw_listing **ret_listing, struct pw_error *ret_err)
{
        struct pw_listing *all = NULL;
        enum pw_status status;

        if (params->host)
                narrow(hosts, params->host);
        if (!hosts->count || (!params->host && hosts->count == 1))
                return pw_list_of(session, params, ret_listing, ret_err); /* says that there is no such host, or is alone */
        status = ask_all(session, params, hosts, &all, ret_err);
        if (status == PW_OK && !all)
                status = pw_error_set(ret_err, hosts->all[0].why.status, "%s", hosts->all[0].why.text);
        if (status == PW_OK)
                status = add_all_silent(all, hosts, ret_err);
        if (status == PW_OK)
                *ret_listing = all;
        else
                pw_listing_free(all);
        return status;
}

enum pw_status pw_list_everywhere(struct pw_session *session, const struct pw_list_params *params, struct pw_listing **ret_listing,
                                  struct pw_error *ret_err)
{
        struct hosts hosts;
        enum pw_status status;

        if (params->host && !strcmp(params->host, "."))
                return pw_list(session, params->what, params->filter, params->limit, ret_listing, ret_err);
        status = find_hosts(session, &hosts, ret_err);
        if (status != PW_OK)
                return status;
        status = list_found(session, params, &hosts, ret_listing, ret_err);
        free_hosts(&hosts);
        return status;
}
