/* pathways memory. */
#include "base/memory.h"
#include "base/size.h"
#include "cli/print/output.h"

#include <inttypes.h>

/* What is unaccounted can be too much: then it is below 0, and a text. */
static int64_t bytes_of(const Pathways__Wire__Row *row)
{
        const char *text = pw_row_text(row, "bytes");

        return *text ? strtoll(text, NULL, 10) : (int64_t)pw_row_number(row, "bytes");
}

static bool is_same_host(const Pathways__Wire__Row *a, const Pathways__Wire__Row *b)
{
        return !strcmp(pw_row_text(a, "host"), pw_row_text(b, "host"));
}

/* Rows of one memory of a host follow each other; `end` is the first row behind them. */
struct block { size_t first, end; };

static struct block block_at(const Pathways__Wire__Listing *listing, size_t first)
{
        struct block block = { first, first };

        while (block.end < listing->n_rows && is_same_host(listing->rows[block.end], listing->rows[first]) &&
               !strcmp(pw_row_text(listing->rows[block.end], "memory"), pw_row_text(listing->rows[first], "memory")))
                block.end++;
        return block;
}

static bool is_device(const Pathways__Wire__Listing *listing, struct block block)
{
        return strchr(pw_row_text(listing->rows[block.first], "memory"), ':');
}

static bool are_alike(const Pathways__Wire__Listing *listing, struct block a, struct block b)
{
        bool alike = a.end - a.first == b.end - b.first && is_device(listing, a) && is_device(listing, b) &&
                     is_same_host(listing->rows[a.first], listing->rows[b.first]);

        for (size_t i = 0; alike && i < a.end - a.first; i++)
                alike = bytes_of(listing->rows[a.first + i]) == bytes_of(listing->rows[b.first + i]) &&
                        !strcmp(pw_row_text(listing->rows[a.first + i], "about"), pw_row_text(listing->rows[b.first + i], "about"));
        return alike;
}

static void print_term(const Pathways__Wire__Row *row, FILE *out)
{
        const char *about = pw_row_text(row, "about");
        int64_t bytes = bytes_of(row);
        char size[16], text[20];

        snprintf(text, sizeof text, "%s%s", bytes < 0 ? "-" : "", pw_size_format((uint64_t)(bytes < 0 ? -bytes : bytes), size));
        fprintf(out, "  %-12s %10s%s%s\n", pw_row_text(row, "term"), text, *about ? "  " : "", about);
}

/* A block per memory, and one for devices in a row that have the same; the last line is what does not add up, over all of them:
 * `unaccounted 0`. */
static void print_memories(const struct pw_listing *all, FILE *out)
{
        const Pathways__Wire__Listing *listing = pw_listing_rows(all);
        size_t count = listing->n_rows - pw_listing_silent(all);
        int64_t unaccounted = 0;
        struct block block, last, next;

        for (size_t at = 0; at < count; at = last.end) {
                block = last = block_at(listing, at);
                while (last.end < count && are_alike(listing, block, next = block_at(listing, last.end)))
                        last = next;
                fprintf(out, "%s", pw_row_text(listing->rows[block.first], "memory"));
                if (last.first != block.first)
                        fprintf(out, " to %s, each", pw_row_text(listing->rows[last.first], "memory"));
                fputc('\n', out);
                for (size_t i = block.first; i < block.end; i++)
                        print_term(listing->rows[i], out);
        }
        for (size_t i = 0; i < count; i++)
                if (!strcmp(pw_row_text(listing->rows[i], "term"), "unaccounted"))
                        unaccounted += llabs(bytes_of(listing->rows[i])); /* too much here does not make up for too little there */
        pw_output_silent(all, out);
        fprintf(out, "unaccounted %" PRId64 "\n", unaccounted);
}

/* Hosts that did not answer come before the last line, which is of the others. */
enum pw_status pw_command_memory(struct pw_invocation *invocation, struct pw_error *ret_err)
{
        const struct pw_list_params params = { .host = invocation->settings.host, .what = "memory" };
        struct pw_listing *listing = NULL;
        enum pw_status status = pw_list_everywhere(invocation->session, &params, &listing, ret_err);

        if (status == PW_OK && invocation->settings.json)
                status = pw_json_print(pw_listing_rows(listing), invocation->out, ret_err);
        else if (status == PW_OK)
                print_memories(listing, invocation->out);
        pw_listing_free(listing);
        return status;
}
