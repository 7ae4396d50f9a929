/* Rows as a table for people and as JSON. */
#include "tests/bench/bench.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>

static int compare(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

static double median(const double *values, uint32_t count)
{
        double sorted[PW_BENCH_REPEATS];

        if (!count)
                return NAN;
        memcpy(sorted, values, count * sizeof *values);
        qsort(sorted, count, sizeof *sorted, compare);
        return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

static bool is_reached(const struct pw_bench_row *row, double value, double ratio)
{
        switch (row->goal) {
        case PW_BENCH_AT_LEAST:
                return value >= row->reach;
        case PW_BENCH_AT_MOST:
                return value <= row->reach;
        case PW_BENCH_RATIO_AT_LEAST:
                return ratio >= row->reach;
        default:
                return ratio <= row->reach;
        }
}

/* Where nothing is allowed, one is as bad as it is for itself. */
static double times_worse(const struct pw_bench_row *row, double value, double ratio)
{
        double reach = fmax(row->reach, 1e-9);

        switch (row->goal) {
        case PW_BENCH_AT_LEAST:
                return reach / value;
        case PW_BENCH_AT_MOST:
                return row->reach > 0 ? value / reach : value;
        case PW_BENCH_RATIO_AT_LEAST:
                return reach / ratio;
        default:
                return ratio / reach;
        }
}

struct pw_bench_summary pw_bench_summarize(const struct pw_bench_row *row)
{
        struct pw_bench_summary summary = { .value = median(row->values, row->count),
                                            .floor = median(row->floors, row->floor_count) };

        summary.least = summary.most = summary.value;
        for (uint32_t i = 0; i < row->count; i++) {
                summary.least = fmin(summary.least, row->values[i]);
                summary.most = fmax(summary.most, row->values[i]);
        }
        summary.ratio = summary.floor > 0 ? summary.value / summary.floor : NAN;
        summary.times = row->count ? times_worse(row, summary.value, summary.ratio) : NAN;
        summary.reached = row->count && is_reached(row, summary.value, summary.ratio);
        return summary;
}

/* "1.25 M", three digits. */
static const char *short_number(double number, char text[24])
{
        static const char *const prefixes[] = { "", " k", " M", " G" };
        uint32_t i = 0;

        if (isnan(number))
                return "-";
        while (fabs(number) >= 999.5 && i + 1 < pw_array_count(prefixes)) {
                number /= 1000;
                i++;
        }
        snprintf(text, 24, "%.3g%s", number, prefixes[i]);
        return text;
}

void pw_bench_print_heading(void)
{
        printf("%-15s %8s %-9s %8s %8s %8s %7s %6s  %s\n", "name", "value", "unit", "min", "max", "floor", "ratio",
               "others", "reach");
}

void pw_bench_print_row(const struct pw_bench_row *row)
{
        static const char *const goals[] = { ">= %s", "<= %s", "ratio >= %s", "ratio <= %s" };
        struct pw_bench_summary summary = pw_bench_summarize(row);
        char text[6][24], goal[48], others[16] = "-";

        if (!row->count) {
                printf("%-16s not measured: %s\n", row->name, row->remark ? row->remark : "");
                return;
        }
        snprintf(goal, sizeof goal, goals[row->goal], short_number(row->reach, text[5]));
        if (!isnan(row->others))
                snprintf(others, sizeof others, "%.0f %%", row->others * 100);
        printf("%-15s %8s %-9s %8s %8s %8s %7s %6s  %s%s\n", row->name, short_number(summary.value, text[0]), row->unit,
               short_number(summary.least, text[1]), short_number(summary.most, text[2]), short_number(summary.floor, text[3]),
               short_number(summary.ratio, text[4]), others, goal, summary.reached ? "" : "  MISSED");
}

static void print_number(const char *key, double number)
{
        if (isnan(number))
                printf(", \"%s\": null", key);
        else
                printf(", \"%s\": %.9g", key, number);
}

void pw_bench_print_json(const struct pw_bench_row *row)
{
        static const char *const goals[] = { "value >=", "value <=", "ratio >=", "ratio <=" };
        struct pw_bench_summary summary = pw_bench_summarize(row);

        printf("{\"name\": \"%s\"", row->name);
        print_number("value", summary.value);
        printf(", \"unit\": \"%s\"", row->unit);
        print_number("floor", summary.floor);
        print_number("ratio", summary.ratio);
        print_number("min", summary.least);
        print_number("max", summary.most);
        print_number("others", row->others);
        print_number("times", summary.times);
        printf(", \"reach\": \"%s %.9g\", \"reached\": %s}\n", goals[row->goal], row->reach, summary.reached ? "true" : "false");
}
