/* The table of benches, and what each of them fills in.
 *
 * A bench starts a private daemon, measures its work and, in the same run, the floor: the least that the machine asks for
 * such work. Every figure is a median of at least 5 repeats, which its smallest and largest value go with.
 */
#ifndef PW_TESTS_BENCH_H
#define PW_TESTS_BENCH_H

#include "base/error.h"

#include <sys/types.h>

#define PW_BENCH_REPEATS 5u
#define PW_BENCH_ROWS_MAX 32u

enum pw_bench_goal {
        PW_BENCH_AT_LEAST,       /* the value is to be at least `reach` */
        PW_BENCH_AT_MOST,        /* at most */
        PW_BENCH_RATIO_AT_LEAST, /* the value divided by the floor */
        PW_BENCH_RATIO_AT_MOST,
};

struct pw_bench_row {
        const char *name, *unit;
        enum pw_bench_goal goal;
        double reach;
        double values[PW_BENCH_REPEATS]; /* one of each repeat */
        double floors[PW_BENCH_REPEATS];
        uint32_t count;     /* values there are; 0: not measured here */
        uint32_t floor_count;
        const char *remark; /* why it was not measured, or NULL */
        double others;      /* share of the processors that others took while its bench worked; NAN: not known */
};

struct pw_bench_context {
        bool quick; /* a tenth of the work: to see that everything works */
        struct pw_bench_row rows[PW_BENCH_ROWS_MAX];
        uint32_t row_count;
};

struct pw_bench {
        const char *name;
        enum pw_status (*run)(struct pw_bench_context *context, struct pw_error *ret_err);
};

/* One per bench; each adds its rows. Errors: whatever keeps it from measuring. */
enum pw_status pw_bench_put_1k(struct pw_bench_context *context, struct pw_error *ret_err);
enum pw_status pw_bench_put_64m(struct pw_bench_context *context, struct pw_error *ret_err);
enum pw_status pw_bench_get_1k(struct pw_bench_context *context, struct pw_error *ret_err);
enum pw_status pw_bench_open_1k(struct pw_bench_context *context, struct pw_error *ret_err);
enum pw_status pw_bench_wait_10k(struct pw_bench_context *context, struct pw_error *ret_err);
enum pw_status pw_bench_wake(struct pw_bench_context *context, struct pw_error *ret_err);
enum pw_status pw_bench_chain(struct pw_bench_context *context, struct pw_error *ret_err);
enum pw_status pw_bench_lone(struct pw_bench_context *context, struct pw_error *ret_err);
enum pw_status pw_bench_gang8(struct pw_bench_context *context, struct pw_error *ret_err);
enum pw_status pw_bench_pipeline(struct pw_bench_context *context, struct pw_error *ret_err);
enum pw_status pw_bench_order(struct pw_bench_context *context, struct pw_error *ret_err);
enum pw_status pw_bench_allreduce(struct pw_bench_context *context, struct pw_error *ret_err);
enum pw_status pw_bench_idle(struct pw_bench_context *context, struct pw_error *ret_err);
enum pw_status pw_bench_objects(struct pw_bench_context *context, struct pw_error *ret_err);
enum pw_status pw_bench_clients(struct pw_bench_context *context, struct pw_error *ret_err);
enum pw_status pw_bench_reclaim(struct pw_bench_context *context, struct pw_error *ret_err);
enum pw_status pw_bench_start(struct pw_bench_context *context, struct pw_error *ret_err);
/* Between hosts: cluster/ */
enum pw_status pw_bench_pull_1g(struct pw_bench_context *context, struct pw_error *ret_err);
enum pw_status pw_bench_pull_1g_tls(struct pw_bench_context *context, struct pw_error *ret_err);
enum pw_status pw_bench_pull_1k(struct pw_bench_context *context, struct pw_error *ret_err);
enum pw_status pw_bench_spread_256m(struct pw_bench_context *context, struct pw_error *ret_err);
enum pw_status pw_bench_lookup(struct pw_bench_context *context, struct pw_error *ret_err);
enum pw_status pw_bench_giving_up(struct pw_bench_context *context, struct pw_error *ret_err);
enum pw_status pw_bench_redis_load(struct pw_bench_context *context, struct pw_error *ret_err);

/* Prints how costs grow with objects, clients, devices and nodes: a table of its own. growth.c */
enum pw_status pw_bench_growth(struct pw_error *ret_err);

/* A new row, to be filled through the pointer. */
struct pw_bench_row *pw_bench_row_add(struct pw_bench_context *context, const char *name, const char *unit,
                                      enum pw_bench_goal goal, double reach);
void pw_bench_row_value(struct pw_bench_row *row, double value);
void pw_bench_row_floor(struct pw_bench_row *row, double floor);
double pw_bench_seconds(void); /* now */
void pw_bench_pass(double seconds); /* doing nothing is what is measured meanwhile */

/* others.c: the share of the processors, 0 to 1, that nobody of this bench used and that was busy all the same, since begin(). */
struct pw_bench_span { double start, busy, own; }; /* seconds: now; of all processors; of this process and its ended children */
struct pw_bench_span pw_bench_span_begin(void);
double pw_bench_span_others(const struct pw_bench_span *span);
double pw_bench_own_seconds(void); /* processor time of this process */

/* rest.c: times that threads of the process gave the processor away, or had it taken, since it began. */
uint64_t pw_bench_switches(pid_t pid);

/* report.c */
struct pw_bench_summary {
        double value, least, most, floor, ratio;
        double times; /* how many times worse than its reach it is; NAN: not known */
        bool reached;
};
struct pw_bench_summary pw_bench_summarize(const struct pw_bench_row *row);
void pw_bench_print_heading(void);
void pw_bench_print_row(const struct pw_bench_row *row);
void pw_bench_print_json(const struct pw_bench_row *row);

/* syscalls.c: count the system calls of this thread. After begin(), each mark() lets the next one be counted; end() gives the
 * number of marks that were followed by one. begin() is false where the machine cannot. */
bool pw_syscalls_begin(void);
void pw_syscalls_mark(void);
uint64_t pw_syscalls_end(void);

#endif
