/* trace: from the daemon's answers to a file. */
#include "base/error.h"
#include "base/memory.h"
#include "cli/chrome.h"
#include "cli/print/output.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
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

static enum pw_status follow(struct pw_invocation *invocation, struct pw_chrome *chrome, struct pw_error *ret_err)
{
        uint64_t end_us = now_us() + pw_min_u64(invocation->settings.seconds_us, UINT64_MAX / 2);
        enum pw_status status = PW_OK;
        bool end = false;

        while (status == PW_OK && !end) {
                uint64_t at_us = now_us();
                struct pw_trace_chunk *part = NULL;
                int64_t wait_us = at_us < end_us ? (int64_t)pw_min_u64(end_us - at_us, WAIT_US) : 0;
                status = pw_trace_next(invocation->session, wait_us, at_us >= end_us || interrupted(), &part, ret_err);
                if (status == PW_OK) {
                        status = pw_chrome_add(chrome, pw_trace_chunk_message(part), ret_err);
                        end = pw_trace_chunk_message(part)->end;
                }
                pw_trace_chunk_free(part);
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
        struct pw_chrome *chrome = pw_chrome_new(file);
        enum pw_status status;

        if (!chrome)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a trace");
        hold_interrupts();
        status = follow(invocation, chrome, ret_err);
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
