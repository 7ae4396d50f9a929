/* bench: how fast it is, beside how fast it could be. */
#include "tests/bench/bench.h"

#include "base/memory.h"
#include "base/option.h"

#include <errno.h>
#include <time.h>

static const struct pw_bench benches[] = {
        { "put_1k", pw_bench_put_1k }, { "put_64m", pw_bench_put_64m }, { "get_1k", pw_bench_get_1k },
        { "open_1k", pw_bench_open_1k }, { "wait_10k", pw_bench_wait_10k },
        { "wake", pw_bench_wake },     { "chain", pw_bench_chain },     { "lone", pw_bench_lone },
        { "gang8", pw_bench_gang8 },   { "pipeline", pw_bench_pipeline }, { "order", pw_bench_order },
        { "allreduce_64m", pw_bench_allreduce }, { "idle", pw_bench_idle }, { "start", pw_bench_start },
        { "reclaim", pw_bench_reclaim }, { "clients", pw_bench_clients }, { "objects_1m", pw_bench_objects },
        { "pull_1g", pw_bench_pull_1g }, { "pull_1g_tls", pw_bench_pull_1g_tls }, { "pull_1k", pw_bench_pull_1k },
        { "spread_256m", pw_bench_spread_256m }, { "lookup", pw_bench_lookup }, { "giving_up", pw_bench_giving_up },
        { "redis_load", pw_bench_redis_load },
};

struct settings { bool json, quick, growth, help; };

static const struct pw_option option_items[] = {
        { "json", 0, PW_OPTION_FLAG, offsetof(struct settings, json), NULL, NULL, "Print one JSON object per line." },
        { "quick", 0, PW_OPTION_FLAG, offsetof(struct settings, quick), NULL, NULL, "Do a tenth of the work." },
        { "growth", 0, PW_OPTION_FLAG, offsetof(struct settings, growth), NULL, NULL, "Print how costs grow, instead." },
        { "help", 'h', PW_OPTION_FLAG, offsetof(struct settings, help), NULL, NULL, "Print this and exit." },
};
static const struct pw_options options = { option_items, pw_array_count(option_items), "bench" };

double pw_bench_seconds(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void pw_bench_pass(double seconds)
{
        struct timespec span = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };

        while (clock_nanosleep(CLOCK_MONOTONIC, 0, &span, &span) == EINTR)
                ;
}

struct pw_bench_row *pw_bench_row_add(struct pw_bench_context *context, const char *name, const char *unit,
                                      enum pw_bench_goal goal, double reach)
{
        struct pw_bench_row *row = &context->rows[context->row_count++];

        *row = (struct pw_bench_row){ .name = name, .unit = unit, .goal = goal, .reach = reach };
        return row;
}

void pw_bench_row_value(struct pw_bench_row *row, double value)
{
        if (row->count < PW_BENCH_REPEATS)
                row->values[row->count++] = value;
}

void pw_bench_row_floor(struct pw_bench_row *row, double floor)
{
        if (row->floor_count < PW_BENCH_REPEATS)
                row->floors[row->floor_count++] = floor;
}

static void print_help(void)
{
        fputs("Usage: bench [OPTION]... [NAME]...\n\nBenches:", stdout);
        for (size_t i = 0; i < pw_array_count(benches); i++)
                printf(" %s", benches[i].name);
        fputs("\n\n", stdout);
        pw_options_help(&options, stdout);
}

/* The rows of one bench are printed as soon as it has ended. */
static bool run_bench(const struct pw_bench *bench, const struct settings *settings)
{
        struct pw_bench_context context = { .quick = settings->quick };
        struct pw_bench_span span = pw_bench_span_begin();
        struct pw_error error;
        double others;

        if (bench->run(&context, &error) != PW_OK) {
                fprintf(stderr, "bench %s: %s\n", bench->name, error.text);
                return false;
        }
        others = pw_bench_span_others(&span);
        for (uint32_t i = 0; i < context.row_count; i++) {
                context.rows[i].others = others;
                if (settings->json)
                        pw_bench_print_json(&context.rows[i]);
                else
                        pw_bench_print_row(&context.rows[i]);
        }
        fflush(stdout);
        return true;
}

static const struct pw_bench *find(const char *name)
{
        for (size_t i = 0; i < pw_array_count(benches); i++)
                if (!strcmp(name, benches[i].name))
                        return &benches[i];
        fprintf(stderr, "bench: there is no bench %s; --help lists them\n", name);
        return NULL;
}

int main(int argc, char **argv)
{
        struct settings settings;
        struct pw_error error;
        int operand = argc;
        bool ok = true;

        if (pw_options_defaults(&options, &settings, &error) != PW_OK ||
            pw_options_parse(&options, &settings, argc, argv, &operand, &error) != PW_OK) {
                fprintf(stderr, "bench: %s\n", error.text);
                return 2;
        }
        if (settings.help) {
                print_help();
                return 0;
        }
        if (settings.growth) {
                if (pw_bench_growth(&error) == PW_OK)
                        return 0;
                fprintf(stderr, "bench: %s\n", error.text);
                return 1;
        }
        for (int i = operand; i < argc; i++)
                if (!find(argv[i]))
                        return 2;
        if (!settings.json)
                pw_bench_print_heading();
        for (int i = operand; i < argc; i++)
                ok = run_bench(find(argv[i]), &settings) && ok;
        for (size_t i = 0; operand == argc && i < pw_array_count(benches); i++)
                ok = run_bench(&benches[i], &settings) && ok;
        return ok ? 0 : 1;
}
