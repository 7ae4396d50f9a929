/* Metrics: the table, and where each value comes from. */
#include "daemon/http/metric.h"

#include "base/memory.h"
#include "daemon/child/child.h"
#include "daemon/device/gpus.h"
#include "daemon/inspect/term.h"
#include "daemon/peer/peers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/resource.h>

/* One answer under way. */
struct sampling {
        struct pw_daemon *daemon;
        const struct pw_store_counts *objects;
        FILE *out;
};

struct metric {
        const char *name, *type; /* "counter", "gauge", "histogram" */
        const char *labels;      /* for the manual; NULL: none */
        const char *help;        /* one sentence */
        void (*write)(const struct sampling *to, const struct metric *metric);
};

/* --- samples ---------------------------------------------------------------------------------------------------------- */

/* `labels`: what stands in braces, or NULL. */
static void sample(const struct sampling *to, const struct metric *metric, const char *labels, uint64_t value)
{
        fprintf(to->out, "%s%s%s%s %" PRIu64 "\n", metric->name, labels ? "{" : "", labels ? labels : "", labels ? "}" : "", value);
}

static void write_seconds(const struct sampling *to, uint64_t us)
{
        fprintf(to->out, "%" PRIu64 ".%06" PRIu64 "\n", us / 1000000, us % 1000000);
}

/* --- the daemon ------------------------------------------------------------------------------------------------------- */

static void build(const struct sampling *to, const struct metric *metric)
{
        sample(to, metric, "version=\"" PACKAGE_VERSION "\"", 1);
}

static void uptime(const struct sampling *to, const struct metric *metric)
{
        fprintf(to->out, "%s ", metric->name);
        write_seconds(to, pw_now_us() - to->daemon->started_us);
}

static void ready(const struct sampling *to, const struct metric *metric)
{
        sample(to, metric, NULL, to->daemon->phase == PW_SERVING);
}

static void turns(const struct sampling *to, const struct metric *metric)
{
        const struct pw_counters *counters = &to->daemon->counters;
        uint64_t below = 0, bound_us = PW_TURN_FIRST_US;

        for (uint32_t i = 0; i < PW_TURN_BUCKETS; i++, bound_us *= 10) {
                below += counters->turns[i];
                if (i + 1 < PW_TURN_BUCKETS)
                        fprintf(to->out, "%s_bucket{le=\"%g\"} %" PRIu64 "\n", metric->name, (double)bound_us / 1e6, below);
                else
                        fprintf(to->out, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", metric->name, below);
        }
        fprintf(to->out, "%s_sum ", metric->name);
        write_seconds(to, counters->turns_us);
        fprintf(to->out, "%s_count %" PRIu64 "\n", metric->name, below);
}

static void longest_turn(const struct sampling *to, const struct metric *metric)
{
        fprintf(to->out, "%s ", metric->name);
        write_seconds(to, to->daemon->counters.longest_turn_us);
}

static void lines_lost(const struct sampling *to, const struct metric *metric)
{
        sample(to, metric, NULL, to->daemon->counters.lines_lost);
}

static uint64_t microseconds(const struct timeval *time)
{
        return (uint64_t)time->tv_sec * 1000000 + (uint64_t)time->tv_usec;
}

static void cpu(const struct sampling *to, const struct metric *metric)
{
        struct rusage usage;

        if (getrusage(RUSAGE_SELF, &usage) < 0)
                return;
        fprintf(to->out, "%s ", metric->name);
        write_seconds(to, microseconds(&usage.ru_utime) + microseconds(&usage.ru_stime));
}

static void resident(const struct sampling *to, const struct metric *metric)
{
        FILE *file = fopen("/proc/self/statm", "re");
        unsigned long long size, pages;

        if (file && fscanf(file, "%llu %llu", &size, &pages) == 2)
                sample(to, metric, NULL, pages * (uint64_t)sysconf(_SC_PAGESIZE));
        if (file)
                fclose(file);
}

/* --- who uses it ------------------------------------------------------------------------------------------------------ */

static void sessions(const struct sampling *to, const struct metric *metric)
{
        struct pw_dsession *session;
        uint64_t count = 0;

        for (uint32_t i = 0; (session = pw_table_next(&to->daemon->registry.sessions, &i));)
                count += session->role == PW_ROLE_CLIENT && !session->ended;
        sample(to, metric, NULL, count);
}

static void sessions_total(const struct sampling *to, const struct metric *metric)
{
        sample(to, metric, NULL, to->daemon->counters.sessions);
}

static void refused_total(const struct sampling *to, const struct metric *metric)
{
        sample(to, metric, NULL, to->daemon->counters.refused);
}

static void tenants(const struct sampling *to, const struct metric *metric)
{
        sample(to, metric, NULL, to->daemon->registry.tenants.count);
}

/* --- the store -------------------------------------------------------------------------------------------------------- */

struct terms { const struct sampling *to; const struct metric *metric; };

static void term(void *context, const struct pw_term *term)
{
        const struct terms *terms = context;

        fprintf(terms->to->out, "%s{memory=\"%s\",term=\"%s\"} %" PRId64 "\n", terms->metric->name, term->memory, term->name,
                term->bytes);
}

static void memory(const struct sampling *to, const struct metric *metric)
{
        pw_terms_each(to->daemon, term, &(struct terms){ to, metric });
}

static void objects(const struct sampling *to, const struct metric *metric)
{
        sample(to, metric, "state=\"pending\"", to->objects->pending);
        sample(to, metric, "state=\"ready\"", to->objects->ready);
        sample(to, metric, "state=\"failed\"", to->objects->failed);
}

static void references(const struct sampling *to, const struct metric *metric)
{
        sample(to, metric, NULL, to->objects->refs);
}

static void names(const struct sampling *to, const struct metric *metric)
{
        sample(to, metric, NULL, pw_store_names(to->daemon->store));
}

static void puts_waiting(const struct sampling *to, const struct metric *metric)
{
        sample(to, metric, NULL, pw_store_puts_waiting(to->daemon->store));
}

/* --- work ------------------------------------------------------------------------------------------------------------- */

static void runs_submitted(const struct sampling *to, const struct metric *metric)
{
        sample(to, metric, NULL, to->daemon->counters.runs_done + to->daemon->counters.runs_in_flight);
}

static void runs_ended(const struct sampling *to, const struct metric *metric)
{
        struct pw_run_counts counts = pw_scheduler_run_counts(to->daemon->scheduler);

        sample(to, metric, "outcome=\"done\"", counts.done);
        sample(to, metric, "outcome=\"failed\"", counts.failed);
        sample(to, metric, "outcome=\"cancelled\"", counts.cancelled);
}

static void runs_in_flight(const struct sampling *to, const struct metric *metric)
{
        sample(to, metric, NULL, to->daemon->counters.runs_in_flight);
}

static void runs_waiting(const struct sampling *to, const struct metric *metric)
{
        struct pw_run_counts counts = pw_scheduler_run_counts(to->daemon->scheduler);

        sample(to, metric, "for=\"input\"", counts.waiting_input);
        sample(to, metric, "for=\"room\"", counts.waiting_room);
}

struct gangs { const struct sampling *to; const struct metric *metric; bool in_flight; };

static void gangs_of(void *context, const struct pw_device_row *row)
{
        const struct gangs *gangs = context;
        char labels[64];

        snprintf(labels, sizeof labels, "device=\"h%u:%u\"", gangs->to->daemon->host, row->device);
        sample(gangs->to, gangs->metric, labels, gangs->in_flight ? row->ordered - row->done : row->done);
}

static void gangs_done(const struct sampling *to, const struct metric *metric)
{
        pw_scheduler_each_device(to->daemon->scheduler, gangs_of, &(struct gangs){ to, metric, false });
}

static void gangs_in_flight(const struct sampling *to, const struct metric *metric)
{
        pw_scheduler_each_device(to->daemon->scheduler, gangs_of, &(struct gangs){ to, metric, true });
}

static void messages(const struct sampling *to, const struct metric *metric)
{
        const struct pw_actions *actions = pw_scheduler_actions(to->daemon->scheduler);

        sample(to, metric, "kind=\"prepare\"", actions->prepares);
        sample(to, metric, "kind=\"order\"", actions->order_batches);
        sample(to, metric, "kind=\"notice\"", actions->notices);
}

static void devices_up(const struct sampling *to, const struct metric *metric)
{
        char labels[64];

        for (uint32_t i = 0; i < to->daemon->device_count; i++) {
                snprintf(labels, sizeof labels, "device=\"h%u:%u\",kind=\"%s\"", to->daemon->host, i,
                         to->daemon->settings.kinds.of[i].name);
                sample(to, metric, labels, to->daemon->children.all[i].state == PW_CHILD_READY);
        }
}

static void restarts(const struct sampling *to, const struct metric *metric)
{
        char labels[64];

        for (uint32_t i = 0; i < to->daemon->device_count; i++) {
                snprintf(labels, sizeof labels, "device=\"h%u:%u\"", to->daemon->host, i);
                sample(to, metric, labels, to->daemon->children.all[i].restarts);
        }
        sample(to, metric, "device=\"none\"", to->daemon->children.all[to->daemon->device_count].restarts);
}

/* --- GPUs, as their driver says -------------------------------------------------------------------------------------------- */

static void write_value(const struct sampling *to, const struct pw_gpu_facts *facts, enum pw_gpu_known what)
{
        if (what == PW_GPU_POWER)
                fprintf(to->out, "%" PRIu64 ".%03" PRIu64 "\n", facts->power_mw / 1000, facts->power_mw % 1000);
        else
                fprintf(to->out, "%" PRIu64 "\n", what == PW_GPU_TEMPERATURE ? facts->celsius : facts->ecc_errors);
}

/* A sample for each GPU of which `what` is known. */
static void gpus_sample(const struct sampling *to, const struct metric *metric, enum pw_gpu_known what)
{
        for (uint32_t i = 0; i < to->daemon->device_count; i++) {
                const struct pw_gpu_facts *facts = pw_gpus_peek(to->daemon->gpus, i);

                if (!facts || !(facts->known & what))
                        continue;
                fprintf(to->out, "%s{device=\"h%u:%u\"} ", metric->name, to->daemon->host, i);
                write_value(to, facts, what);
        }
}

static void gpu_memory(const struct sampling *to, const struct metric *metric)
{
        char labels[64];
        uint64_t beside;
        const char *why;

        for (uint32_t i = 0; i < to->daemon->device_count; i++) {
                const struct pw_gpu_facts *facts = pw_gpus_peek(to->daemon->gpus, i);

                snprintf(labels, sizeof labels, "device=\"h%u:%u\",term=\"overhead\"", to->daemon->host, i);
                if (pw_term_beside(to->daemon, i, &beside, &why))
                        sample(to, metric, labels, beside);
                if (!facts || !(facts->known & PW_GPU_MEMORY))
                        continue;
                snprintf(labels, sizeof labels, "device=\"h%u:%u\",term=\"capacity\"", to->daemon->host, i);
                sample(to, metric, labels, facts->total_bytes);
                snprintf(labels, sizeof labels, "device=\"h%u:%u\",term=\"used\"", to->daemon->host, i);
                sample(to, metric, labels, facts->used_bytes);
        }
}

static void gpu_power(const struct sampling *to, const struct metric *metric) { gpus_sample(to, metric, PW_GPU_POWER); }

static void gpu_celsius(const struct sampling *to, const struct metric *metric) { gpus_sample(to, metric, PW_GPU_TEMPERATURE); }

static void gpu_errors(const struct sampling *to, const struct metric *metric) { gpus_sample(to, metric, PW_GPU_ECC); }

static void gpu_said(const struct sampling *to, const struct metric *metric)
{
        for (uint32_t i = 0; i < to->daemon->device_count; i++) {
                const struct pw_gpu_facts *facts = pw_gpus_peek(to->daemon->gpus, i);

                if (!facts)
                        continue;
                fprintf(to->out, "%s{device=\"h%u:%u\"} ", metric->name, to->daemon->host, i);
                write_seconds(to, pw_now_us() - facts->read_us);
        }
}

/* --- other hosts ------------------------------------------------------------------------------------------------------ */

struct hosts { const struct sampling *to; const struct metric *metric; };

#define HOST_LABELS_BYTES (PW_HOST_NAME_MAX + 64u)

static const char *host_labels(const struct pw_host_seen *seen, const char *more, char labels[HOST_LABELS_BYTES])
{
        snprintf(labels, HOST_LABELS_BYTES, "host=\"h%u\",name=\"%s\"%s", seen->host->row.number, seen->host->row.name, more);
        return labels;
}

static void link_up_of(void *context, const struct pw_host_seen *seen)
{
        const struct hosts *hosts = context;
        char labels[HOST_LABELS_BYTES];

        sample(hosts->to, hosts->metric, host_labels(seen, "", labels), !strcmp(seen->state, "up"));
}

static void link_up(const struct sampling *to, const struct metric *metric)
{
        pw_peers_each(to->daemon, link_up_of, &(struct hosts){ to, metric });
}

static void link_term_of(void *context, const struct pw_host_seen *seen)
{
        const struct hosts *hosts = context;
        char labels[HOST_LABELS_BYTES];

        sample(hosts->to, hosts->metric, host_labels(seen, "", labels), seen->term);
}

static void link_term(const struct sampling *to, const struct metric *metric)
{
        pw_peers_each(to->daemon, link_term_of, &(struct hosts){ to, metric });
}

static void link_round_of(void *context, const struct pw_host_seen *seen)
{
        const struct hosts *hosts = context;
        char labels[HOST_LABELS_BYTES];

        if (!seen->round_us)
                return;
        fprintf(hosts->to->out, "%s{%s} ", hosts->metric->name, host_labels(seen, "", labels));
        write_seconds(hosts->to, seen->round_us);
}

static void link_round(const struct sampling *to, const struct metric *metric)
{
        pw_peers_each(to->daemon, link_round_of, &(struct hosts){ to, metric });
}

static void link_bytes_of(void *context, const struct pw_host_seen *seen)
{
        const struct hosts *hosts = context;
        char labels[HOST_LABELS_BYTES];

        sample(hosts->to, hosts->metric, host_labels(seen, ",stream=\"control\",way=\"out\"", labels), seen->bytes_out);
        sample(hosts->to, hosts->metric, host_labels(seen, ",stream=\"control\",way=\"in\"", labels), seen->bytes_in);
        sample(hosts->to, hosts->metric, host_labels(seen, ",stream=\"bulk\",way=\"out\"", labels), seen->bulk_out);
        sample(hosts->to, hosts->metric, host_labels(seen, ",stream=\"bulk\",way=\"in\"", labels), seen->bulk_in);
}

static void link_bytes(const struct sampling *to, const struct metric *metric)
{
        pw_peers_each(to->daemon, link_bytes_of, &(struct hosts){ to, metric });
}

/* --- the table -------------------------------------------------------------------------------------------------------- */

static const struct metric metrics[] = {
        { "pathways_build_info", "gauge", "version", "Always 1; the label has the version.", build },
        { "pathways_uptime_seconds", "gauge", NULL, "Time since the daemon started.", uptime },
        { "pathways_ready", "gauge", NULL, "1 from when all executors are ready until the daemon is told to stop, else 0.", ready },
        { "pathways_memory_bytes", "gauge", "memory, term",
          "Where each byte is, as in `pathways memory`: all but capacity add up to it.", memory },
        { "pathways_objects", "gauge", "state", "Objects that are pending, ready, or failed (in error or lost).", objects },
        { "pathways_references", "gauge", NULL, "Claims that keep objects alive, of sessions, runs, names and leases.",
          references },
        { "pathways_names", "gauge", NULL, "Names that are bound.", names },
        { "pathways_puts_waiting", "gauge", NULL, "Requests for host memory that wait for room.", puts_waiting },
        { "pathways_tenants", "gauge", NULL, "Tenants that have not ended.", tenants },
        { "pathways_sessions", "gauge", NULL, "Sessions of clients.", sessions },
        { "pathways_sessions_total", "counter", NULL, "Sessions of clients ever begun.", sessions_total },
        { "pathways_connections_refused_total", "counter", NULL,
          "Connections refused for lack of descriptors or memory, or over a quota.", refused_total },
        { "pathways_runs_submitted_total", "counter", NULL, "Runs ever submitted.", runs_submitted },
        { "pathways_runs_ended_total", "counter", "outcome", "Runs that ended: done, failed (a result is an error) or cancelled.",
          runs_ended },
        { "pathways_runs_in_flight", "gauge", NULL, "Runs submitted and not ended.", runs_in_flight },
        { "pathways_runs_waiting", "gauge", "for", "Runs that are not admitted: they wait for an input, or for room.",
          runs_waiting },
        { "pathways_gangs_done_total", "counter", "device", "Gangs that a device took part in and is done with.", gangs_done },
        { "pathways_gangs_in_flight", "gauge", "device", "Gangs ordered on a device that it is not done with.", gangs_in_flight },
        { "pathways_scheduler_messages_total", "counter", "kind",
          "Messages of the schedulers: prepare, order and notice.", messages },
        { "pathways_device_up", "gauge", "device, kind", "1 while the executor of the device is ready, else 0.", devices_up },
        { "pathways_executor_restarts_total", "counter", "device",
          "Starts of an executor after it ended; device none is the describing one.", restarts },
        { "pathways_gpu_memory_bytes", "gauge", "device, term",
          "Memory of a GPU as its driver says: all, used, and what its executor takes.", gpu_memory },
        { "pathways_gpu_power_watts", "gauge", "device",
          "Power that a GPU takes, as its driver says.", gpu_power },
        { "pathways_gpu_temperature_celsius", "gauge", "device",
          "Temperature of a GPU, as its driver says.", gpu_celsius },
        { "pathways_gpu_ecc_errors_total", "counter", "device",
          "Errors of its memory that were not corrected, since driver or GPU began.", gpu_errors },
        { "pathways_gpu_said_seconds", "gauge", "device",
          "Time since the driver said so: it is asked again, and not waited for.", gpu_said },
        { "pathways_link_up", "gauge", "host, name", "1 while the link with that host is up, else 0.", link_up },
        { "pathways_link_term", "gauge", "host, name",
          "The term of the link, which counts up when one of the two gives the other up.", link_term },
        { "pathways_link_round_seconds", "gauge", "host, name",
          "A round trip between the daemons, smoothed, once something was said.", link_round },
        { "pathways_link_bytes_total", "counter", "host, name, stream, way",
          "Bytes to and from that host, on control streams and, of values, on bulk streams.", link_bytes },
        { "pathways_turn_seconds", "histogram", "le", "How long turns of the loop took in which something was done.", turns },
        { "pathways_turn_longest_seconds", "gauge", NULL,
          "The longest of them since the start, for which anything may have waited.", longest_turn },
        { "pathways_log_lines_lost_total", "counter", NULL, "Lines of the log that could not be written.", lines_lost },
        { "process_cpu_seconds_total", "counter", NULL, "User and system time of the daemon, without its executors.", cpu },
        { "process_resident_memory_bytes", "gauge", NULL,
          "Memory of the daemon that is in use, values that it touched included.", resident },
};

/* One of which there is nothing to say, as there are no other hosts, is left out. */
static void write_metric(const struct sampling *to, const struct metric *metric)
{
        struct sampling own = *to;
        char *text = NULL;
        size_t bytes = 0;

        own.out = open_memstream(&text, &bytes);
        if (!own.out)
                return;
        metric->write(&own, metric);
        if (fclose(own.out) == 0 && bytes)
                fprintf(to->out, "# HELP %s %s\n# TYPE %s %s\n%s", metric->name, metric->help, metric->name, metric->type, text);
        free(text);
}

void pw_metrics_write(struct pw_daemon *daemon, const struct pw_store_counts *objects, FILE *out)
{
        struct sampling to = { daemon, objects, out };

        pw_gpus_ask(daemon->gpus, pw_now_us());
        for (uint32_t i = 0; i < pw_array_count(metrics); i++)
                write_metric(&to, &metrics[i]);
}

void pw_metrics_mdoc(FILE *out)
{
        for (uint32_t i = 0; i < pw_array_count(metrics); i++) {
                const struct metric *metric = &metrics[i];

                fprintf(out, ".It Va %s No ( %s", metric->name, metric->type);
                fprintf(out, metric->labels ? "; by %s )\n" : " )\n", metric->labels);
                fprintf(out, "%s\n", metric->help);
        }
}
