/* The hosts of the cluster, as this one knows them. */
#include "base/memory.h"
#include "daemon/inspect/list.h"
#include "daemon/peer/draining.h"
#include "daemon/peer/peers.h"

/* Nothing, where it does not. */
static void say_drain(struct pw_lister *lister, uint32_t host)
{
        bool is_done;
        uint32_t successor = pw_draining_successor(lister->daemon, host, &is_done);

        if (successor)
                pw_rows_text(lister->rows, "drain", "%s to h%u", is_done ? "drained" : "draining", successor);
}

static void host_row(void *context, const struct pw_host_seen *seen)
{
        struct pw_lister *lister = context;
        struct pw_rows *rows = lister->rows;
        uint64_t boot_us = pw_boot_us();

        if (!pw_rows_begin(rows))
                return;
        pw_rows_text(rows, "host", "h%u", seen->host->row.number);
        pw_rows_text(rows, "name", "%s", seen->host->row.name);
        pw_rows_number(rows, "epoch", seen->epoch);
        pw_rows_text(rows, "link", "%s", seen->state);
        pw_rows_number(rows, "term", seen->term);
        if (seen->since_us)
                pw_rows_number(rows, "since_us", boot_us - pw_min_u64(boot_us, seen->since_us));
        if (seen->heard_us)
                pw_rows_number(rows, "heard_us", boot_us - pw_min_u64(boot_us, seen->heard_us));
        if (seen->round_us)
                pw_rows_number(rows, "round_us", seen->round_us);
        if (seen->clock_bound_us) {
                pw_rows_signed(rows, "clock_us", seen->clock_us);
                pw_rows_number(rows, "clock_bound_us", seen->clock_bound_us);
        }
        pw_rows_number(rows, "bytes_out", seen->bytes_out);
        pw_rows_number(rows, "bytes_in", seen->bytes_in);
        pw_rows_number(rows, "bulk_out", seen->bulk_out);
        pw_rows_number(rows, "bulk_in", seen->bulk_in);
        say_drain(lister, seen->host->row.number);
        pw_rows_text(rows, "address", "%s", seen->host->row.address);
}

enum pw_status pw_list_hosts(struct pw_lister *lister)
{
        const struct pw_daemon *daemon = lister->daemon;
        const struct pw_text_list *addresses = pw_peers_addresses(daemon->peers);
        struct pw_rows *rows = lister->rows;

        if (pw_rows_begin(rows)) {
                pw_rows_text(rows, "host", "h%u", daemon->host);
                pw_rows_text(rows, "name", "%s", daemon->carried.host_name);
                pw_rows_number(rows, "epoch", daemon->epoch);
                pw_rows_text(rows, "link", "here");
                say_drain(lister, daemon->host);
                pw_rows_text(rows, "address", "%s", addresses ? addresses->items[0] : "-");
        }
        pw_peers_each(daemon, host_row, lister);
        return PW_OK;
}
