/* What the daemon lists, and what must hold after every test. */
#include "tests/integration/harness.h"

#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct pw_listing *it_list(struct pw_session *session, const char *what, const char *filter)
{
        struct pw_listing *listing = NULL;

        it_ok(pw_list(session, what, filter, 0, &listing, IT_ERR));
        return listing;
}

size_t it_rows(const struct pw_listing *listing) { return pw_listing_rows(listing)->n_rows; }

static const Pathways__Wire__Cell *cell(const struct pw_listing *listing, size_t row, const char *key)
{
        const Pathways__Wire__Listing *rows = pw_listing_rows(listing);

        assert_true(row < rows->n_rows);
        for (size_t i = 0; i < rows->rows[row]->n_cells; i++)
                if (!strcmp(rows->rows[row]->cells[i]->key, key))
                        return rows->rows[row]->cells[i];
        return NULL;
}

int64_t it_number(const struct pw_listing *listing, size_t row, const char *key)
{
        const Pathways__Wire__Cell *found = cell(listing, row, key);

        if (!found)
                return 0;
        return found->value_case == PATHWAYS__WIRE__CELL__VALUE_TEXT ? strtoll(found->text, NULL, 10) : (int64_t)found->number;
}

const char *it_text(const struct pw_listing *listing, size_t row, const char *key)
{
        const Pathways__Wire__Cell *found = cell(listing, row, key);

        return found && found->value_case == PATHWAYS__WIRE__CELL__VALUE_TEXT ? found->text : "";
}

int64_t it_listed(struct pw_session *session, const char *what, const char *key)
{
        struct pw_listing *listing = it_list(session, what, NULL);
        int64_t number = it_number(listing, 0, key);

        pw_listing_free(listing);
        return number;
}

size_t it_find(const struct pw_listing *listing, const char *key, const char *text)
{
        for (size_t i = 0; i < it_rows(listing); i++)
                if (!strcmp(it_text(listing, i, key), text))
                        return i;
        it_print(listing);
        fail_msg("no row has %s %s", key, text);
        return 0;
}

void it_print(const struct pw_listing *listing)
{
        const Pathways__Wire__Listing *rows = pw_listing_rows(listing);

        for (size_t r = 0; r < rows->n_rows; r++) {
                for (size_t i = 0; i < rows->rows[r]->n_cells; i++) {
                        const Pathways__Wire__Cell *one = rows->rows[r]->cells[i];

                        if (one->value_case == PATHWAYS__WIRE__CELL__VALUE_TEXT)
                                print_error("  %s=%s", one->key, one->text);
                        else
                                print_error("  %s=%" PRIu64, one->key, one->number);
                }
                print_error("\n");
        }
}

void it_until(struct pw_session *session, const char *what, bool (*is_so)(const struct pw_listing *listing, void *context),
              void *context)
{
        int64_t limit_us = it_now_us() + IT_LONG;

        for (;;) {
                struct pw_listing *listing = it_list(session, what, NULL);
                bool so = is_so(listing, context);

                if (!so && it_now_us() > limit_us) {
                        print_error("after %d s this is not as it should be: %s\n", (int)(IT_LONG / IT_SECOND), what);
                        it_print(listing);
                        fail();
                }
                pw_listing_free(listing);
                if (so)
                        return;
                sched_yield();
        }
}

static pid_t parent_of(pid_t pid)
{
        char path[32], line[400] = "";
        int parent = 0;

        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        FILE *file = fopen(path, "re");
        if (file && fgets(line, sizeof line, file) && strrchr(line, ')'))
                sscanf(strrchr(line, ')'), ") %*c %d", &parent);
        if (file)
                fclose(file);
        return parent;
}

/* It may be dead, and its number another process': who is killed is who the descriptor names, once seen to be the
 * daemon's child. */
bool it_signal_executor(const struct it_host *host, const char *device, int signal)
{
        struct pw_listing *devices = it_list(host->session, "devices", NULL);
        pid_t pid = (pid_t)it_number(devices, it_find(devices, "device", device), "pid");
        int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        bool sent = pidfd >= 0 && parent_of(pid) == host->pid && syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0) == 0;

        pw_listing_free(devices);
        if (pidfd >= 0)
                close(pidfd);
        return sent;
}

static bool is_alone_and_idle(const struct pw_listing *status, void *context)
{
        (void)context;
        return it_number(status, 0, "runs_in_flight") == 0 && it_number(status, 0, "objects") == 0;
}

static bool is_unused(const struct pw_listing *devices, void *context)
{
        (void)context;
        for (size_t i = 0; i < it_rows(devices); i++)
                if (it_number(devices, i, "used"))
                        return false;
        return true;
}

static bool is_empty(const struct pw_listing *listing, void *context)
{
        (void)context;
        return it_rows(listing) == 0;
}

static void adds_up(struct pw_session *session)
{
        struct pw_listing *memory = it_list(session, "memory", NULL);

        for (size_t i = 0; i < it_rows(memory); i++) {
                if (strcmp(it_text(memory, i, "term"), "unaccounted") || !it_number(memory, i, "bytes"))
                        continue;
                it_print(memory);
                fail_msg("memory %s does not add up", it_text(memory, i, "memory"));
        }
        pw_listing_free(memory);
}

static void finds_nothing(struct pw_session *session)
{
        struct pw_listing *check = it_list(session, "check", NULL);

        if (it_rows(check)) {
                it_print(check);
                fail_msg("check finds %zu problems", it_rows(check));
        }
        pw_listing_free(check);
}

void it_host_clean(struct it_host *host)
{
        pw_close(host->session);
        host->session = it_connect(host);
        finds_nothing(host->session);
        adds_up(host->session);
        it_until(host->session, "objects", is_empty, NULL);
        it_until(host->session, "status", is_alone_and_idle, NULL);
        it_until(host->session, "devices", is_unused, NULL);
        finds_nothing(host->session);
        adds_up(host->session);
        pw_close(host->session);
        host->session = NULL;
}
