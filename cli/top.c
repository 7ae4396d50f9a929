/* top: what the daemon does now, on a terminal. */
#include "cli/command.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/size.h"

#include <inttypes.h>
#include <locale.h>
#include <ncurses.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>

#define INTERVAL_MIN_US UINT64_C(100000)
#define INTERVAL_MAX_US UINT64_C(60000000)
#define INTERRUPT 3 /* Control-C */
#define BAR 12
#define OWNERS 5u
#define DEVICES_MAX 64u

#define PAIR_BAD 1

/* What one look at the daemon gave. */
struct sample {
        struct pw_listing *status, *devices, *memory, *owners, *runs;
        uint64_t at_us, runs_done, busy_us[DEVICES_MAX], gangs[DEVICES_MAX];
};

struct top {
        struct pw_invocation *invocation;
        struct sample now, before;
        uint64_t interval_us;
        bool paused;
        int line; /* drawn next */
};

/* --- samples -------------------------------------------------------------------------------------------------------------- */

static uint64_t clock_us(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void free_sample(struct sample *sample)
{
        struct pw_listing *all[] = { sample->status, sample->devices, sample->memory, sample->owners, sample->runs };

        for (size_t i = 0; i < pw_array_count(all); i++)
                pw_listing_free(all[i]);
        *sample = (struct sample){ 0 };
}

static enum pw_status take_sample(struct pw_session *session, struct sample *sample, struct pw_error *ret_err)
{
        struct { const char *what; struct pw_listing **ret; } wanted[] = { { "status", &sample->status },
                                                                             { "devices", &sample->devices },
                                                                           { "memory", &sample->memory },
                                                                             { "owners", &sample->owners },
                                                                           { "runs", &sample->runs } };
        enum pw_status status = PW_OK;

        *sample = (struct sample){ .at_us = clock_us() };
        for (size_t i = 0; status == PW_OK && i < pw_array_count(wanted); i++)
                status = pw_list(session, wanted[i].what, NULL, 0, wanted[i].ret, ret_err);
        if (status != PW_OK) {
                free_sample(sample);
                return status;
        }
        sample->runs_done = pw_row_number(pw_listing_rows(sample->status)->rows[0], "runs_done");
        for (size_t i = 0; i < pw_listing_rows(sample->devices)->n_rows && i < DEVICES_MAX; i++) {
                sample->busy_us[i] = pw_row_number(pw_listing_rows(sample->devices)->rows[i], "busy_us");
                sample->gangs[i] = pw_row_number(pw_listing_rows(sample->devices)->rows[i], "gangs_done");
        }
        return PW_OK;
}

static enum pw_status look(struct top *top, struct pw_error *ret_err)
{
        struct sample next;
        enum pw_status status = take_sample(top->invocation->session, &next, ret_err);

        if (status != PW_OK)
                return status;
        free_sample(&top->before);
        top->before = top->now;
        top->now = next;
        return PW_OK;
}

/* A second; 0 before there are two samples, or where the count began anew. */
static double rate(const struct top *top, uint64_t now, uint64_t before)
{
        uint64_t us = top->now.at_us - top->before.at_us;

        return top->before.at_us && us && now >= before ? (double)(now - before) * 1e6 / (double)us : 0;
}

/* --- drawing -------------------------------------------------------------------------------------------------------------- */

/* One line, cut at the right edge. */
static void put_line(struct top *top, int attributes, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void put_line(struct top *top, int attributes, const char *format, ...)
{
        char text[400];
        va_list args;

        if (top->line >= LINES)
                return;
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        attrset((attr_t)attributes);
        mvaddnstr(top->line++, 0, text, COLS);
        attrset(A_NORMAL);
}

static const char *bar_of(double part, char bar[BAR + 3])
{
        int full = part <= 0 ? 0 : part >= 1 ? BAR : (int)(part * BAR + 0.5);

        bar[0] = '[';
        for (int i = 0; i < BAR; i++)
                bar[1 + i] = i < full ? '|' : ' ';
        bar[BAR + 1] = ']';
        bar[BAR + 2] = 0;
        return bar;
}

static double share(uint64_t part, uint64_t whole) { return whole ? (double)part / (double)whole : 0; }

static void draw_head(struct top *top)
{
        const Pathways__Wire__Row *row = pw_listing_rows(top->now.status)->rows[0];
        char uptime[16], interval[16];

        put_line(top, A_BOLD, "pathwaysd %s h%" PRIu64 ", up %s%s", pw_row_text(row, "version"), pw_row_number(row, "host"),
                 pw_duration_format(pw_row_number(row, "uptime_us"), uptime), top->paused ? " - paused" : "");
        put_line(top, 0, "%.0f runs/s, %" PRIu64 " in flight; %" PRIu64 " objects, %" PRIu64 " sessions; every %s",
                 rate(top, top->now.runs_done, top->before.runs_done), pw_row_number(row, "runs_in_flight"),
                 pw_row_number(row, "objects"), pw_row_number(row, "sessions"), pw_duration_format(top->interval_us, interval));
}

static uint64_t host_term(const Pathways__Wire__Listing *memory, const char *name)
{
        for (size_t i = 0; i < memory->n_rows; i++)
                if (!strcmp(pw_row_text(memory->rows[i], "term"), name))
                        return pw_row_number(memory->rows[i], "bytes");
        return 0;
}

/* The first memory is the host's. */
static void draw_host(struct top *top)
{
        const Pathways__Wire__Listing *memory = pw_listing_rows(top->now.memory);
        uint64_t capacity = host_term(memory, "capacity"), used = capacity - host_term(memory, "free");
        char bar[BAR + 3], has[16], of[16];

        put_line(top, 0, "host memory %s %s of %s", bar_of(share(used, capacity), bar), pw_size_format(used, has),
                 pw_size_format(capacity, of));
        top->line++;
}

static void draw_devices(struct top *top)
{
        const Pathways__Wire__Listing *devices = pw_listing_rows(top->now.devices);

        put_line(top, A_REVERSE, "%-7s %3s %-9s %5s %-14s %-14s %-21s %9s", "device", "isl", "state", "busy", "", "memory", "",
                 "gangs/s");
        for (size_t i = 0; i < devices->n_rows && i < DEVICES_MAX; i++) {
                const Pathways__Wire__Row *row = devices->rows[i];
                uint64_t used = pw_row_number(row, "used"), capacity = pw_row_number(row, "capacity");
                double busy = rate(top, top->now.busy_us[i], top->before.busy_us[i]) / 1e6;
                char busy_bar[BAR + 3], bar[BAR + 3], has[16], of[16];
                bool ready = !strcmp(pw_row_text(row, "state"), "ready");
                put_line(top, ready ? 0 : COLOR_PAIR(PAIR_BAD) | A_BOLD, "%-7s %3" PRIu64 " %-9s %4.0f%% %s %s %9s of %-9s %8.0f",
                         pw_row_text(row, "device"), pw_row_number(row, "island"), pw_row_text(row, "state"),
                         busy > 1 ? 100 : busy * 100, bar_of(busy, busy_bar), bar_of(share(used, capacity), bar),
                         pw_size_format(used, has), pw_size_format(capacity, of),
                         rate(top, top->now.gangs[i], top->before.gangs[i]));
        }
        top->line++;
}

static uint64_t charge_of(const Pathways__Wire__Row *row)
{
        return pw_row_number(row, "host_bytes") + pw_row_number(row, "device_bytes");
}

static int by_charge(const void *a, const void *b)
{
        uint64_t x = charge_of(*(Pathways__Wire__Row *const *)a), y = charge_of(*(Pathways__Wire__Row *const *)b);

        return (x < y) - (x > y);
}

static void draw_owners(struct top *top)
{
        const Pathways__Wire__Listing *owners = pw_listing_rows(top->now.owners);

        put_line(top, A_REVERSE, "%-16s %-24s %10s %10s %8s", "tenant", "largest owners", "host", "device", "objects");
        qsort(owners->rows, owners->n_rows, sizeof *owners->rows, by_charge);
        for (size_t i = 0; i < owners->n_rows && i < OWNERS; i++) {
                const Pathways__Wire__Row *row = owners->rows[i];
                char host[16], device[16];
                put_line(top, 0, "%-16.16s %-24.24s %10s %10s %8" PRIu64, pw_row_text(row, "tenant"), pw_row_text(row, "client"),
                         pw_size_format(pw_row_number(row, "host_bytes"), host),
                         pw_size_format(pw_row_number(row, "device_bytes"), device), pw_row_number(row, "objects"));
        }
        top->line++;
}

static void draw_waits(struct top *top)
{
        const Pathways__Wire__Listing *runs = pw_listing_rows(top->now.runs);

        put_line(top, A_REVERSE, "%8s %-20s %-8s %9s %s", "run", "program", "state", "age", "waits for");
        for (size_t i = 0; i < runs->n_rows; i++) {
                const Pathways__Wire__Row *row = runs->rows[i];
                const char *state = pw_row_text(row, "state");
                char age[16];
                if (strcmp(state, "waiting") && strcmp(state, "queued") && strcmp(state, "running"))
                        continue;
                put_line(top, 0, "%8" PRIu64 " %-20.20s %-8s %9s %s", pw_row_number(row, "run"), pw_row_text(row, "program"), state,
                         pw_duration_format(pw_row_number(row, "age_us"), age), pw_row_text(row, "waiting_for"));
        }
}

/* A change of size that came between two waits for a key is told to nobody: it is looked for. */
static void fit_terminal(void)
{
        struct winsize size;

        if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && is_term_resized(size.ws_row, size.ws_col))
                resizeterm(size.ws_row, size.ws_col);
}

static void draw(struct top *top)
{
        fit_terminal();
        erase();
        top->line = 0;
        draw_head(top);
        draw_host(top);
        draw_devices(top);
        draw_owners(top);
        draw_waits(top);
        top->line = LINES - 1;
        put_line(top, A_DIM, "q quit  space look now  p pause  + - interval");
        refresh();
}

/* --- keys ----------------------------------------------------------------------------------------------------------------- */

/* False: quit. *ret_look: not to wait for the interval. */
static bool take_key(struct top *top, int key, bool *ret_look)
{
        switch (key) {
        case 'q':
        case 'Q':
        case INTERRUPT:
                return false;
        case 'p':
                top->paused = !top->paused;
                break;
        case '+':
                top->interval_us = pw_min_u64(top->interval_us * 2, INTERVAL_MAX_US);
                break;
        case '-':
                top->interval_us = pw_max_u64(top->interval_us / 2, INTERVAL_MIN_US);
                break;
        case ' ':
                *ret_look = true;
                break;
        default: /* KEY_RESIZE: drawn again by the caller */
                break;
        }
        return true;
}

/* Until the interval is over or a key asks for a look. False: quit. */
static bool wait_for_keys(struct top *top)
{
        uint64_t end_us = clock_us() + top->interval_us;
        bool now = false;

        while (!now) {
                uint64_t at_us = clock_us();
                int key;
                if (at_us >= end_us && !top->paused)
                        return true;
                timeout((int)((top->paused ? top->interval_us : end_us - at_us) / 1000 + 1));
                key = getch();
                if (key != ERR && !take_key(top, key, &now))
                        return false;
                if (key != ERR || top->paused)
                        draw(top);
        }
        return true;
}

/* --- the terminal --------------------------------------------------------------------------------------------------------- */

/* The interrupt key is one that quits, so that the terminal is put right again and the exit status is that of q. */
static void take_interrupts_as_keys(void)
{
        struct termios modes;

        if (tcgetattr(STDIN_FILENO, &modes))
                return;
        modes.c_cc[VINTR] = _POSIX_VDISABLE;
        if (!tcsetattr(STDIN_FILENO, TCSANOW, &modes))
                def_prog_mode();
}

static enum pw_status open_terminal(SCREEN **ret_screen, struct pw_error *ret_err)
{
        const char *type = getenv("TERM"); /* as ncurses reads it */

        setlocale(LC_CTYPE, "");
        if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
                return pw_error_set(ret_err, PW_UNSUPPORTED,
                                    "top: needs a terminal; `pathways status --watch` and other listings do not");
        if (!type || !strcmp(type, "dumb") || !(*ret_screen = newterm(NULL, stdout, stdin)))
                return pw_error_set(ret_err, PW_UNSUPPORTED,
                                    "top: needs a terminal that can move its cursor (TERM is %.40s); the listings have --watch",
                                    type ? type : "not set");
        cbreak();
        noecho();
        take_interrupts_as_keys();
        curs_set(0);
        keypad(stdscr, TRUE);
        if (has_colors()) {
                start_color();
                use_default_colors();
                init_pair(PAIR_BAD, COLOR_RED, -1);
        }
        return PW_OK;
}

static enum pw_status follow(struct top *top, struct pw_error *ret_err)
{
        enum pw_status status;

        do {
                status = look(top, ret_err);
                if (status == PW_OK)
                        draw(top);
        } while (status == PW_OK && wait_for_keys(top));
        return status;
}

enum pw_status pw_command_top(struct pw_invocation *invocation, struct pw_error *ret_err)
{
        struct top top = { .invocation = invocation, .interval_us = invocation->settings.interval_us };
        SCREEN *screen = NULL;
        enum pw_status status;

        if (invocation->settings.json)
                return pw_error_set(ret_err, PW_INVALID, "top: is for people; `pathways devices --watch --json` is for programs");
        if (top.interval_us < INTERVAL_MIN_US || top.interval_us > INTERVAL_MAX_US)
                return pw_error_set(ret_err, PW_INVALID, "top: --interval is from 100ms to 1min");
        status = open_terminal(&screen, ret_err);
        if (status != PW_OK)
                return status;
        status = follow(&top, ret_err);
        endwin();
        delscreen(screen);
        free_sample(&top.now);
        free_sample(&top.before);
        return status;
}
