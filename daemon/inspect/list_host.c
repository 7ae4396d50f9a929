/* Listings of the host: status, devices, islands. */
#include "base/memory.h"
#include "daemon/child/child.h"
#include "daemon/device/gpus.h"
#include "daemon/inspect/list.h"
#include "daemon/inspect/term.h"
#include "daemon/inspect/trace/trace.h"
#include "daemon/inspect/waits.h"
#include "daemon/memory/room.h"
#include "daemon/meta/meta.h"
#include "store/object.h"

/* What there is, as far as the asker may see it. */
struct counts {
        const struct pw_lister *lister;
        uint64_t puts_waiting, runs_in_flight, runs_waiting, runs_done;
        uint32_t sessions, traces;
};

bool pw_list_status_object(void *context, const struct pw_object_row *row)
{
        struct pw_lister *lister = context;

        lister->objects += pw_list_visible(lister, row->tenant);
        return true;
}

static void count_put(void *context, const struct pw_wait_row *wait)
{
        struct counts *counts = context;

        counts->puts_waiting += !strcmp(wait->session->tenant->name, counts->lister->tenant);
}

static uint32_t client_count(const struct pw_daemon *daemon)
{
        struct pw_dsession *session;
        uint32_t count = 0;

        for (uint32_t i = 0; (session = pw_table_next(&daemon->registry.sessions, &i));)
                count += session->role == PW_ROLE_CLIENT;
        return count;
}

static struct counts count(const struct pw_lister *lister)
{
        struct pw_daemon *daemon = lister->daemon;
        const struct pw_tenant *tenant = pw_lister_tenant(lister);
        struct counts counts = { .lister = lister };

        if (lister->operator_) {
                counts.runs_in_flight = daemon->counters.runs_in_flight;
                counts.runs_done = daemon->counters.runs_done;
                counts.runs_waiting = pw_scheduler_run_counts(daemon->scheduler).waiting_input +
                                      pw_scheduler_run_counts(daemon->scheduler).waiting_room;
                counts.puts_waiting = pw_store_puts_waiting(daemon->store);
                counts.sessions = client_count(daemon);
                counts.traces = pw_traces_count(daemon, NULL);
                return counts;
        }
        if (!tenant)
                return counts;
        pw_scheduler_tenant_runs(daemon->scheduler, tenant->name, &counts.runs_in_flight, &counts.runs_waiting);
        counts.runs_done = tenant->runs - pw_min_u64(tenant->runs, counts.runs_in_flight);
        pw_rooms_each_wait(daemon, NULL, count_put, &counts);
        counts.sessions = tenant->sessions;
        counts.traces = pw_traces_count(daemon, tenant);
        return counts;
}

/* Which kind, and of a cluster who this host is there, since when its Redis is away, and what that costs. */
static void list_metadata(const struct pw_lister *lister)
{
        const struct pw_daemon *daemon = lister->daemon;
        const struct pw_carried *carried = &daemon->carried;
        struct pw_rows *rows = lister->rows;

        pw_rows_text(rows, "metadata", "%s", daemon->meta->kind->name);
        if (!carried->cluster)
                return;
        pw_rows_text(rows, "cluster", "%s", carried->cluster);
        pw_rows_text(rows, "host_name", "%s", carried->host_name);
        pw_rows_text(rows, "metadata_address", "%s", daemon->settings.metadata);
        if (!carried->away_us)
                return;
        pw_rows_number(rows, "metadata_away_us", lister->now_us - pw_min_u64(lister->now_us, carried->away_us));
        pw_rows_text(rows, "metadata_note",
                     "%s. Meanwhile no name is bound or removed, and names of other hosts are not found; all else goes on, and "
                     "what is known stays good", carried->why.text);
}

enum pw_status pw_list_status(struct pw_lister *lister)
{
        struct pw_daemon *daemon = lister->daemon;
        struct pw_rows *rows = lister->rows;
        const struct pw_actions *actions = pw_scheduler_actions(daemon->scheduler);
        const struct counts counts = count(lister);
        uint64_t ready = 0;

        for (uint32_t i = 0; i < daemon->device_count; i++)
                ready += daemon->children.all[i].state == PW_CHILD_READY;
        pw_rows_begin(rows);
        pw_rows_text(rows, "version", "%s", PACKAGE_VERSION);
        pw_rows_number(rows, "host", daemon->host);
        pw_rows_number(rows, "epoch", daemon->epoch);
        pw_rows_number(rows, "uptime_us", lister->now_us - daemon->started_us);
        pw_rows_text(rows, "tenant", "%s", lister->tenant);
        pw_rows_number(rows, "sessions", counts.sessions);
        pw_rows_number(rows, "devices", daemon->device_count);
        pw_rows_number(rows, "devices_ready", ready);
        pw_rows_number(rows, "islands", daemon->settings.islands);
        pw_rows_number(rows, "host_capacity", daemon->settings.host_memory);
        pw_rows_number(rows, "host_free", pw_store_free_bytes(daemon->store));
        pw_rows_number(rows, "objects", lister->objects);
        pw_rows_number(rows, "puts_waiting", counts.puts_waiting);
        pw_rows_number(rows, "runs_in_flight", counts.runs_in_flight);
        pw_rows_number(rows, "runs_waiting", counts.runs_waiting);
        pw_rows_number(rows, "runs_done", counts.runs_done);
        pw_rows_number(rows, "traces", counts.traces);
        list_metadata(lister);
        pw_rows_text(rows, "socket", "%s", daemon->socket_path);
        if (daemon->http_address[0])
                pw_rows_text(rows, "http", "%s", daemon->http_address);
        if (daemon->memory.capped[0])
                pw_rows_text(rows, "capped", "%s", daemon->memory.capped);
        pw_rows_number(rows, "prepare_messages", actions->prepares);
        pw_rows_number(rows, "order_messages", actions->order_batches);
        pw_rows_number(rows, "notice_messages", actions->notices);
        return PW_OK;
}

static const char *state_text(const struct pw_child *child, uint64_t now_us)
{
        switch (child->state) {
        case PW_CHILD_READY:
                return "ready";
        case PW_CHILD_STARTING:
                return "starting";
        default:
                return child->next_start_us > now_us ? "backoff" : "down";
        }
}

/* Up to now: of the gang that it is in, too. */
static uint64_t busy_us(const struct pw_device_board *board, uint64_t now_us)
{
        uint64_t busy_ns = atomic_load(&board->busy_ns), started_ns = atomic_load(&board->started_ns);

        if (atomic_load(&board->running) && started_ns < now_us * 1000)
                busy_ns += now_us * 1000 - started_ns;
        return busy_ns / 1000;
}

/* What the driver said of a GPU last, and when. */
static void list_facts(struct pw_rows *rows, const struct pw_gpu_facts *facts, uint64_t now_us)
{
        if (!facts)
                return;
        if (facts->known & PW_GPU_MEMORY) {
                pw_rows_number(rows, "gpu_memory", facts->total_bytes);
                pw_rows_number(rows, "gpu_used", facts->used_bytes);
        }
        if (facts->known & PW_GPU_POWER)
                pw_rows_number(rows, "gpu_power", facts->power_mw);
        if (facts->known & PW_GPU_TEMPERATURE)
                pw_rows_number(rows, "gpu_celsius", facts->celsius);
        if (facts->known & PW_GPU_ECC)
                pw_rows_number(rows, "gpu_ecc_errors", facts->ecc_errors);
        pw_rows_number(rows, "gpu_said_us", now_us - pw_min_u64(now_us, facts->read_us));
        if (facts->error[0])
                pw_rows_text(rows, "gpu_error", "%s", facts->error);
}

static void device_row(void *context, const struct pw_device_row *row)
{
        struct pw_lister *lister = context;
        struct pw_rows *rows = lister->rows;
        const struct pw_child *child = &lister->daemon->children.all[row->device];
        uint64_t beside;
        const char *why;

        if (!pw_rows_begin(rows))
                return;
        pw_rows_text(rows, "device", "h%u:%u", lister->daemon->host, row->device);
        pw_rows_text(rows, "kind", "%s", row->kind);
        pw_rows_text(rows, "name", "%s", child->device_name);
        pw_rows_number(rows, "island", row->island);
        pw_rows_text(rows, "state", "%s", state_text(child, lister->now_us));
        if (child->state != PW_CHILD_DEAD)
                pw_rows_number(rows, "pid", (uint64_t)child->pid);
        pw_rows_number(rows, "capacity", row->capacity);
        pw_rows_number(rows, "used", row->capacity - row->free);
        pw_rows_number(rows, "gangs_done", row->done);
        pw_rows_number(rows, "busy_us", busy_us(child->board, lister->now_us));
        pw_rows_number(rows, "restarts", child->restarts);
        list_facts(rows, pw_gpus_peek(lister->daemon->gpus, row->device), lister->now_us);
        if (pw_term_beside(lister->daemon, row->device, &beside, &why))
                pw_rows_number(rows, "gpu_overhead", beside);
}

enum pw_status pw_list_devices(struct pw_lister *lister)
{
        pw_gpus_ask(lister->daemon->gpus, lister->now_us);
        pw_scheduler_each_device(lister->daemon->scheduler, device_row, lister);
        return PW_OK;
}

static void island_row(void *context, const struct pw_island_row *row)
{
        struct pw_rows *rows = ((struct pw_lister *)context)->rows;

        if (!pw_rows_begin(rows))
                return;
        pw_rows_number(rows, "island", row->island);
        pw_rows_number(rows, "devices", row->devices);
        pw_rows_number(rows, "runs_queued", row->queued);
        pw_rows_number(rows, "runs_admitted", row->admitted);
        pw_rows_number(rows, "ordered", row->ordered);
        pw_rows_text(rows, "policy", "%s", row->policy);
}

enum pw_status pw_list_islands(struct pw_lister *lister)
{
        pw_scheduler_each_island(lister->daemon->scheduler, island_row, lister);
        return PW_OK;
}
