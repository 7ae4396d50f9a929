/* trace: from the daemon's answers to a file. */
#include "base/error.h"
#include "base/memory.h"
#include "cli/chrome.h"
#include "cli/print/output.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define WAIT_US UINT64_C(250000) /* of one question: how late an interrupt is seen at most */

static uint64_t now_us(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* An interrupt ends the trace, not the process: what is there is still written. */
static void hold_interrupts(void)
{
        sigset_t set;

        sigemptyset(&set);
        sigaddset(&set, SIGINT);
        sigaddset(&set, SIGTERM);
        pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static bool interrupted(void)
{
        sigset_t set;

        return !sigpending(&set) && (sigismember(&set, SIGINT) || sigismember(&set, SIGTERM));
}

/* --- hosts ---------------------------------------------------------------------------------------------------------------- */

#define WAIT_OTHERS_US UINT64_C(50000) /* of one question, where there are others to be asked */

struct source {
        uint32_t number;
        bool here, goes_on, ended;
        char name[16];                   /* "h2" */
};
struct sources { struct source *all; size_t count; };

/* The daemon's own first: times are by its clock. */
static enum pw_status find_sources(struct pw_invocation *invocation, struct sources *ret_sources, struct pw_error *ret_err)
{
        const char *wanted = invocation->settings.host;
        struct pw_listing *listing;
        const Pathways__Wire__Listing *rows;
        struct sources sources = { NULL, 0 };
        enum pw_status status = pw_list(invocation->session, "hosts", NULL, 0, &listing, ret_err);

        if (status != PW_OK)
                return status;
        rows = pw_listing_rows(listing);
        sources.all = calloc(rows->n_rows + 1, sizeof *sources.all);
        for (size_t i = 0; sources.all && i < rows->n_rows; i++) {
                const char *number = pw_row_text(rows->rows[i], "host");
                bool here = !strcmp(pw_row_text(rows->rows[i], "link"), "here");
                struct source *source = &sources.all[here ? 0 : sources.count];

                if (wanted && strcmp(wanted, number) && strcmp(wanted, pw_row_text(rows->rows[i], "name")) &&
                    (strcmp(wanted, ".") || !here))
                        continue;
                sources.all[sources.count++] = *source;
                *source = (struct source){ .number = (uint32_t)strtoul(number + (*number != 0), NULL, 10), .here = here };
                snprintf(source->name, sizeof source->name, "%s", number);
        }
        pw_listing_free(listing);
        if (!sources.all)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a list of hosts");
        if (sources.count) {
                *ret_sources = sources;
                return PW_OK;
        }
        free(sources.all);
        return pw_error_set(ret_err, PW_NOT_FOUND, "trace: there is no host \"%.80s\" here: `pathways hosts` lists them", wanted);
}

/* All that there is at once. One that does not answer is left out from then on, and said. */
static enum pw_status read_source(struct pw_invocation *invocation, struct pw_chrome *chrome, struct source *source,
                                  const struct pw_trace_params *params, struct pw_error *ret_err)
{
        struct pw_trace_params of = *params;
        struct pw_trace_chunk *part = NULL;
        bool more = true;
        enum pw_status status = PW_OK;

        of.host = source->here ? NULL : source->name;
        while (status == PW_OK && more && !source->ended) {
                of.goes_on = source->goes_on;
                status = pw_trace_next_of(invocation->session, &of, &part, ret_err);
                if (status != PW_OK)
                        break;
                more = !source->here && pw_trace_chunk_message(part)->more;
                source->ended = pw_trace_chunk_message(part)->end;
                source->goes_on = true;
                status = pw_chrome_add(chrome, pw_trace_chunk_message(part), ret_err);
                pw_trace_chunk_free(part);
        }
        if (source->here || status == PW_OK || status == PW_NO_MEMORY || status == PW_DAEMON_GONE)
                return status;
        if (status == PW_NOT_READY && !params->last)
                return PW_OK; /* its clock is measured within a beat */
        fprintf(stderr, "pathways: host %s is not in the trace from now on: %s\n", source->name, ret_err->text);
        source->ended = true;
        return PW_OK;
}

static enum pw_status ask_all(struct pw_invocation *invocation, struct pw_chrome *chrome, const struct sources *sources,
                              struct pw_trace_params *params, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;

        for (size_t i = 0; status == PW_OK && i < sources->count; i++) {
                struct source *source = &sources->all[i];

                if (source->ended)
                        continue;
                status = pw_chrome_host(chrome, source->number, sources->count > 1, ret_err);
                if (status == PW_OK)
                        status = read_source(invocation, chrome, source, params, ret_err);
        }
        return status;
}

static bool all_ended(const struct sources *sources)
{
        bool all = true;

        for (size_t i = 0; i < sources->count; i++)
                all = all && sources->all[i].ended;
        return all;
}

static void pause_us(uint64_t us)
{
        struct timespec time = { (time_t)(us / 1000000), (long)(us % 1000000) * 1000 };

        nanosleep(&time, NULL);
}

static enum pw_status follow(struct pw_invocation *invocation, struct pw_chrome *chrome, const struct sources *sources,
                             struct pw_error *ret_err)
{
        uint64_t end_us = now_us() + pw_min_u64(invocation->settings.seconds_us, UINT64_MAX / 2);
        uint64_t most_us = sources->count > 1 ? WAIT_OTHERS_US : WAIT_US;
        enum pw_status status = PW_OK;

        while (status == PW_OK && !all_ended(sources)) {
                uint64_t at_us = now_us(), wait_us = at_us < end_us ? pw_min_u64(end_us - at_us, most_us) : 0;
                struct pw_trace_params params = { .wait_us = (int64_t)wait_us, .last = at_us >= end_us || interrupted() };

                if (!sources->all[0].here && wait_us && !params.last)
                        pause_us(wait_us); /* the daemon waits for nothing of another host */
                status = ask_all(invocation, chrome, sources, &params, ret_err);
        }
        return status;
}

static enum pw_status report(struct pw_invocation *invocation, const struct pw_chrome *chrome, struct pw_error *ret_err)
{
        const char *file = invocation->settings.output;
        struct pw_chrome_counts counts = pw_chrome_counts(chrome);
        Pathways__Wire__Cell cells[] = {
                pw_cell_text("file", file ? file : "-"),
                pw_cell_number("seconds_us", counts.took_ns / 1000),
                pw_cell_number("gangs", counts.gangs),
                pw_cell_number("runs", counts.runs),
                pw_cell_number("lost", counts.lost),
        };

        if (counts.lost)
                fprintf(stderr, "pathways: %" PRIu64 " gangs and runs came faster than they were read, and are not in the trace\n",
                        counts.lost);
        if (!file)
                return PW_OK;
        if (invocation->settings.json)
                return pw_output_cells(invocation, cells, pw_array_count(cells), ret_err);
        fprintf(invocation->out, "%" PRIu64 " gangs, %" PRIu64 " runs, %" PRIu64 " lost: open %s in https://ui.perfetto.dev\n",
                counts.gangs, counts.runs, counts.lost, file);
        return PW_OK;
}

static enum pw_status write_trace(struct pw_invocation *invocation, FILE *file, struct pw_error *ret_err)
{
        struct pw_chrome *chrome;
        struct sources sources;
        enum pw_status status = find_sources(invocation, &sources, ret_err);

        if (status != PW_OK)
                return status;
        chrome = pw_chrome_new(file);
        if (!chrome) {
                free(sources.all);
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a trace");
        }
        hold_interrupts();
        status = follow(invocation, chrome, &sources, ret_err);
        free(sources.all);
        pw_chrome_end(chrome);
        if (status == PW_OK && (fflush(file) || ferror(file)))
                status = pw_error_errno(ret_err, errno, "write %s",
                                        invocation->settings.output ? invocation->settings.output : "to standard output");
        if (status == PW_OK)
                status = report(invocation, chrome, ret_err);
        pw_chrome_free(chrome);
        return status;
}

enum pw_status pw_command_trace(struct pw_invocation *invocation, struct pw_error *ret_err)
{
        const char *path = invocation->settings.output;
        FILE *file;
        enum pw_status status;

        if (!invocation->settings.seconds_us)
                return pw_error_set(ret_err, PW_INVALID, "trace: --seconds 0: at least 1us");
        file = path ? fopen(path, "we") : invocation->out;
        if (!file)
                return pw_error_errno(ret_err, errno, "open %s", path);
        status = write_trace(invocation, file, ret_err);
        if (path)
                fclose(file);
        return status;
}
