/* --watch: what a subcommand prints, again and again. */
#include "cli/print/watch.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/size.h"
#include "cli/print/output.h"

#include <errno.h>
#include <time.h>

#define CLEAR_LINE "\033[K"
#define CLEAR_BELOW "\033[J"
#define HOME "\033[H"

/* On a terminal that can move its cursor: over what stood there, as much as fits. */
static void redraw(const char *text, const struct pw_invocation *invocation)
{
        uint32_t lines = pw_output_lines() > 2 ? pw_output_lines() - 2 : 1;
        char interval[16];

        printf(HOME "every %s: pathways %s" CLEAR_LINE "\n" CLEAR_LINE, pw_duration_format(invocation->settings.watch_us, interval),
               invocation->command->name);
        for (; *text && lines; lines--) {
                size_t length = strcspn(text, "\n");
                printf("\n%.*s" CLEAR_LINE, (int)length, text);
                text += length + (text[length] == '\n');
        }
        fputs(*text ? " ..." CLEAR_BELOW : CLEAR_BELOW, stdout);
}

/* Elsewhere: a block behind the other, with an empty line between; JSON on one line. */
static void append(const char *text, bool json, bool first)
{
        if (!first && !json)
                putchar('\n');
        for (; *text; text++)
                if (!json || *text != '\n')
                        putchar(*text);
        if (json)
                putchar('\n');
}

static enum pw_status print_once(struct pw_invocation *invocation, bool first, struct pw_error *ret_err)
{
        pw_auto_free char *text = NULL;
        size_t bytes;
        enum pw_status status;

        invocation->out = open_memstream(&text, &bytes);
        if (!invocation->out) {
                invocation->out = stdout;
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for what is watched");
        }
        status = invocation->command->run(invocation, ret_err);
        fclose(invocation->out);
        invocation->out = stdout;
        if (status != PW_OK)
                return status;
        if (pw_output_is_screen() && !invocation->settings.json)
                redraw(text, invocation);
        else
                append(text, invocation->settings.json, first);
        return fflush(stdout) ? pw_error_errno(ret_err, errno, "write to standard output") : PW_OK;
}

static void add_us(struct timespec *at, uint64_t us)
{
        uint64_t ns = (uint64_t)at->tv_nsec + us % 1000000 * 1000;

        at->tv_sec += (time_t)(us / 1000000 + ns / 1000000000);
        at->tv_nsec = (long)(ns % 1000000000);
}

enum pw_status pw_watch(struct pw_invocation *invocation, struct pw_error *ret_err)
{
        struct timespec at;
        enum pw_status status = print_once(invocation, true, ret_err);

        clock_gettime(CLOCK_MONOTONIC, &at);
        while (status == PW_OK) {
                add_us(&at, invocation->settings.watch_us);
                while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
                        ;
                status = print_once(invocation, false, ret_err);
        }
        return status;
}
