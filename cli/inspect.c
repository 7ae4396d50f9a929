/* object: all that is known of one, part by part. */
#include "base/memory.h"
#include "cli/print/output.h"

static const struct pw_column object_columns[] = {
        { .key = "id" }, { .key = "names", .heading = "named" }, { .key = "state" }, { .key = "mark" },
        { .key = "dtype", .heading = "type", .format = PW_CELL_TYPE, .other = "dims" }, { .key = "bytes", .format = PW_CELL_SIZE },
        { .key = "where" }, { .key = "home" }, { .key = "lender" },
        { .key = "pulled_bytes", .heading = "pulled", .format = PW_CELL_SIZE },
        { .key = "age_us", .heading = "age", .format = PW_CELL_DURATION }, { .key = "refs" },
        { .key = "tenant" }, { .key = "charged" }, { .key = "host_bytes", .heading = "host", .format = PW_CELL_SIZE },
        { .key = "device_bytes", .heading = "device", .format = PW_CELL_SIZE }, { .key = "producer" }, { .key = "run" },
        { .key = "program" }, { .key = "result" }, { .key = "node" }, { .key = "status" }, { .key = "error" },
};
static const struct pw_column shard_columns[] = {
        { .key = "shard" },   { .key = "where" },  { .key = "bytes", .format = PW_CELL_SIZE },
        { .key = "segment" }, { .key = "offset" },
};
static const struct pw_column holder_columns[] = {
        { .key = "kind" }, { .key = "holder" }, { .key = "refs" },
        { .key = "since_us", .heading = "for", .format = PW_CELL_DURATION },
        { .key = "left_us", .heading = "ends in", .format = PW_CELL_DURATION },
};
static const struct pw_column waiter_columns[] = { { .key = "kind" }, { .key = "waiter" }, { .key = "thread" },
                                                   { .key = "input" } };

#define FORM(columns, upright) { (columns), pw_array_count(columns), (upright), NULL, 0 }
static const struct { const char *part, *title; struct pw_form form; } parts[] = {
        { "object", NULL, FORM(object_columns, true) },
        { "shard", "Shards", FORM(shard_columns, false) },
        { "holder", "Holders", FORM(holder_columns, false) },
        { "waiter", "Waiting for it", FORM(waiter_columns, false) },
};

static enum pw_status print_part(struct pw_invocation *invocation, uint32_t part, const Pathways__Wire__Listing *all,
                                 struct pw_error *ret_err)
{
        Pathways__Wire__Listing rows = PATHWAYS__WIRE__LISTING__INIT;
        pw_auto_free Pathways__Wire__Row **pointers = calloc(all->n_rows + 1, sizeof *pointers);

        if (!pointers)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for %zu rows", all->n_rows);
        rows.rows = pointers;
        for (size_t i = 0; i < all->n_rows; i++)
                if (!strcmp(pw_row_text(all->rows[i], "part"), parts[part].part))
                        pointers[rows.n_rows++] = all->rows[i];
        if (!rows.n_rows)
                return PW_OK;
        if (parts[part].title)
                fprintf(invocation->out, "\n%s:\n", parts[part].title);
        return pw_output_rows(invocation, &parts[part].form, &rows, ret_err);
}

enum pw_status pw_command_object(struct pw_invocation *invocation, struct pw_error *ret_err)
{
        struct pw_listing *listing = NULL;
        enum pw_status status = pw_list(invocation->session, "object", invocation->operands[0], 0, &listing, ret_err);

        if (status == PW_OK && invocation->settings.json)
                status = pw_json_print(pw_listing_rows(listing), invocation->out, ret_err);
        else
                for (uint32_t i = 0; status == PW_OK && i < pw_array_count(parts); i++)
                        status = print_part(invocation, i, pw_listing_rows(listing), ret_err);
        pw_listing_free(listing);
        return status;
}
