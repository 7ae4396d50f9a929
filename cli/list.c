/* Subcommands that show what the daemon lists. */
#include "base/memory.h"
#include "base/size.h"
#include "base/text.h"
#include "cli/print/grid.h"
#include "cli/print/output.h"

#include <inttypes.h>

static const char *filter_of(const struct pw_invocation *invocation)
{
        return invocation->operand_count ? invocation->operands[0] : NULL;
}

/* The cell that rows are sorted by: the first that is no host. */
static uint64_t first_number(const Pathways__Wire__Row *row)
{
        size_t at = row->n_cells && !strcmp(row->cells[0]->key, "host");

        return at < row->n_cells ? pw_row_number(row, row->cells[at]->key) : 0;
}

static uint64_t host_number(const Pathways__Wire__Row *row)
{
        const char *host = pw_row_text(row, "host");

        return *host ? strtoull(host + 1, NULL, 10) : 0;
}

static int compare_rows(const void *a, const void *b)
{
        const Pathways__Wire__Row *left = *(Pathways__Wire__Row *const *)a, *right = *(Pathways__Wire__Row *const *)b;
        uint64_t x = first_number(left), y = first_number(right), x_host = host_number(left), y_host = host_number(right);

        return x_host != y_host ? (x_host > y_host) - (x_host < y_host) : (x > y) - (x < y);
}

/* By the number in the first cell, where that counts up, as of runs; other rows stay in the daemon's order. */
static void sort_rows(const Pathways__Wire__Listing *rows)
{
        if (rows->n_rows && first_number(rows->rows[0]))
                qsort(rows->rows, rows->n_rows, sizeof *rows->rows, compare_rows);
}

static enum pw_status list(struct pw_invocation *invocation, const char *filter, struct pw_listing **ret_listing,
                           struct pw_error *ret_err)
{
        return pw_list(invocation->session, invocation->command->name, filter, invocation->settings.limit, ret_listing, ret_err);
}

/* What a filter names is of one host. */
static enum pw_status show(struct pw_invocation *invocation, const char *filter, bool everywhere, struct pw_error *ret_err)
{
        const struct pw_command *command = invocation->command;
        const char *host = invocation->settings.host;
        const struct pw_list_params params = { host ? host : everywhere && !filter ? NULL : ".", command->name, filter,
                                               invocation->settings.limit };
        struct pw_listing *listing;
        enum pw_status status = pw_list_everywhere(invocation->session, &params, &listing, ret_err);

        if (status != PW_OK)
                return status;
        sort_rows(pw_listing_rows(listing));
        status = pw_output_listing(invocation, filter && command->detail.count ? &command->detail : &command->form, listing,
                                   ret_err);
        pw_listing_free(listing);
        return status;
}

enum pw_status pw_command_list(struct pw_invocation *invocation, struct pw_error *ret_err)
{
        return show(invocation, NULL, false, ret_err);
}

enum pw_status pw_command_survey(struct pw_invocation *invocation, struct pw_error *ret_err)
{
        const char *filter = filter_of(invocation);

        if (filter && !strcmp(invocation->command->name, "programs") && (!*filter || filter[strspn(filter, "0123456789")]))
                return pw_error_set(ret_err, PW_INVALID, "programs: \"%.80s\" is no number of a program", filter);
        return show(invocation, filter, true, ret_err);
}

static void print_cause(const Pathways__Wire__Row *row, FILE *out)
{
        uint32_t indent = 2 * (uint32_t)pw_min_u64(pw_row_number(row, "depth"), 20), width = pw_output_columns();
        const char *waits_for = pw_row_text(row, "waits_for"), *remedy = pw_row_text(row, "remedy");
        char since[16], line[2048];
        uint64_t since_us = pw_row_number(row, "since_us");

        pw_text_print(pw_row_text(row, "what"), indent, width, out);
        pw_text_format(line, sizeof line, "waits for %s%s%s", waits_for, since_us ? ", for " : "",
                 since_us ? pw_duration_format(since_us, since) : "");
        if (*waits_for)
                pw_text_print(line, indent + 2, width, out);
        pw_text_format(line, sizeof line, "remedy: %s", remedy);
        if (*remedy)
                pw_text_print(line, indent + 2, width, out);
}

/* The daemon reads them all; words belong to the operands that follow them. */
static enum pw_status why_filter(const struct pw_invocation *invocation, char *filter, size_t bytes, struct pw_error *ret_err)
{
        static const struct { const char *word; uint32_t operands; } words[] = { { "run", 2 }, { "pid", 2 }, { "gang", 3 } };
        uint32_t wanted = 1;
        size_t used = 0;

        for (size_t i = 0; i < pw_array_count(words); i++)
                if (!strcmp(invocation->operands[0], words[i].word))
                        wanted = words[i].operands;
        if (invocation->operand_count != wanted)
                return pw_error_set(ret_err, PW_INVALID,
                                    "why: takes an id, a name, NAME[PID], `run N`, HOST, DEVICE, `gang DEVICE SEQ` or `pid N`");
        if (wanted == 2 && invocation->operands[1][strspn(invocation->operands[1], "0123456789")])
                return pw_error_set(ret_err, PW_INVALID, "why: \"%.80s\" is no number of a %s", invocation->operands[1],
                                    invocation->operands[0][0] == 'r' ? "run" : "process");
        for (uint32_t i = 0; i < wanted && used < bytes; i++)
                used += (size_t)snprintf(filter + used, bytes - used, "%s%s", i ? " " : "", invocation->operands[i]);
        return PW_OK;
}

enum pw_status pw_command_why(struct pw_invocation *invocation, struct pw_error *ret_err)
{
        struct pw_listing *listing = NULL;
        char filter[300];
        enum pw_status status = why_filter(invocation, filter, sizeof filter, ret_err);

        if (status == PW_OK)
                status = list(invocation, filter, &listing, ret_err);
        if (status == PW_OK && invocation->settings.json)
                status = pw_json_print(pw_listing_rows(listing), invocation->out, ret_err);
        else if (status == PW_OK)
                for (size_t i = 0; i < pw_listing_rows(listing)->n_rows; i++)
                        print_cause(pw_listing_rows(listing)->rows[i], invocation->out);
        pw_listing_free(listing);
        return status;
}

enum pw_status pw_command_check(struct pw_invocation *invocation, struct pw_error *ret_err)
{
        struct pw_listing *listing = NULL;
        enum pw_status status = list(invocation, NULL, &listing, ret_err);
        size_t problems = 0;

        if (status == PW_OK) {
                problems = pw_listing_rows(listing)->n_rows;
                if (problems || invocation->settings.json)
                        status = pw_output_rows(invocation, &invocation->command->form, pw_listing_rows(listing), ret_err);
                else
                        fputs("all is well\n", invocation->out);
        }
        pw_listing_free(listing);
        if (status == PW_OK && problems)
                return pw_error_set(ret_err, PW_FAILED, "check: %zu problem%s", problems, problems == 1 ? "" : "s");
        return status;
}
