/*
 * get_1k: looking at objects that the client holds, at random among a million. The pointers lie in the order of the looks, as the
 * numbers of the lines do that the floor looks at: one access at random each. get_1k_found: both look for the pointer first, at
 * random in an array of a million: two accesses at random that depend on each other. get_1k_read: both read the bytes, too.
 * get_1k_first, get_1k_typed: of values with dims, what the handle does not know yet and what it was asked before.
 * get_1k_other: values with dims that another process put.
 */
#include "tests/bench/bench.h"

#include "base/memory.h"
#include "pathways.h"
#include "plane/entry.h"
#include "tests/bench/daemon.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define BYTES 1024u
#define IDS_AT_ONCE 1000u

static const struct pw_put_params typed = { .dtype = PW_F32, .dims = { 1, { BYTES / sizeof(float) } } };

struct gets {
        struct pw_session *session;
        struct pw_future **futures, **shuffled; /* by number, and in the order of the looks */
        struct pw_entry *lines;                 /* what the floor looks at: as many lines as there are entries */
        struct pw_entry **line_of;              /* by number */
        const uint64_t **bytes_of;              /* in the order of the looks */
        uint32_t *order;
        uint32_t count, held;
        volatile uint64_t sum;                  /* of what was read, so that it is */
};

/* A shuffle by Fisher and Yates, of xorshift numbers: the same one each time. */
static void shuffle(uint32_t *order, uint32_t count)
{
        uint64_t state = 88172645463325252;

        for (uint32_t i = 0; i < count; i++)
                order[i] = i;
        for (uint32_t i = count - 1; i > 0; i--) {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                uint32_t other = (uint32_t)(state % (i + 1)), kept = order[i];
                order[i] = order[other];
                order[other] = kept;
        }
}

static enum pw_status gets_init(struct gets *gets, struct pw_session *session, uint32_t count, struct pw_error *ret_err)
{
        *gets = (struct gets){ .session = session, .count = count };
        gets->futures = calloc(count, sizeof *gets->futures);
        gets->shuffled = calloc(count, sizeof *gets->shuffled);
        gets->lines = aligned_alloc(64, count * sizeof *gets->lines);
        gets->line_of = calloc(count, sizeof *gets->line_of);
        gets->bytes_of = calloc(count, sizeof *gets->bytes_of);
        gets->order = calloc(count, sizeof *gets->order);
        if (!gets->futures || !gets->shuffled || !gets->lines || !gets->line_of || !gets->bytes_of || !gets->order)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for %u objects", count);
        memset(gets->lines, 3, count * sizeof *gets->lines);
        shuffle(gets->order, count);
        for (uint32_t i = 0; i < count; i++)
                gets->line_of[i] = &gets->lines[i];
        return PW_OK;
}

static void let_go(struct gets *gets)
{
        for (uint32_t i = 0; gets->futures && i < gets->held; i++)
                pw_unref(gets->futures[i]);
        gets->held = 0;
}

static void gets_done(struct gets *gets)
{
        let_go(gets);
        free(gets->futures);
        free(gets->shuffled);
        free(gets->lines);
        free(gets->line_of);
        free(gets->bytes_of);
        free(gets->order);
}

/* Other objects in the place of those that it holds: of its own, or those of the ids. */
static enum pw_status take_new(struct gets *gets, const struct pw_put_params *params, const struct pw_id *ids,
                               struct pw_error *ret_err)
{
        uint8_t data[BYTES] = { 1 };
        enum pw_status status = PW_OK;

        let_go(gets);
        while (gets->held < gets->count && status == PW_OK) {
                struct pw_future **future = &gets->futures[gets->held];
                status = ids ? pw_open(gets->session, ids[gets->held], future, ret_err)
                             : pw_put(gets->session, data, sizeof data, params, future, ret_err);
                gets->held += status == PW_OK;
        }
        for (uint32_t i = 0; i < gets->count; i++)
                gets->shuffled[i] = gets->futures[gets->order[i]];
        return status;
}

/* --- what is measured ------------------------------------------------------------------------------------------------- */

static inline enum pw_status get(struct pw_future *future, struct pw_error *ret_err)
{
        struct pw_view view;
        enum pw_status status = pw_get(future, 0, &view, ret_err);

        if (status == PW_OK)
                pw_view_done(&view);
        return status;
}

static enum pw_status get_all(struct gets *gets, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;

        for (uint32_t i = 0; i < gets->count && status == PW_OK; i++)
                status = get(gets->shuffled[i], ret_err);
        return status;
}

static enum pw_status find_and_get_all(struct gets *gets, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;

        for (uint32_t i = 0; i < gets->count && status == PW_OK; i++)
                status = get(gets->futures[gets->order[i]], ret_err);
        return status;
}

static inline uint64_t sum_of(const uint64_t *bytes)
{
        uint64_t sum = 0;

        for (uint32_t i = 0; i < BYTES / sizeof *bytes; i++)
                sum += bytes[i];
        return sum;
}

static enum pw_status get_and_read_all(struct gets *gets, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;
        uint64_t sum = 0;

        for (uint32_t i = 0; i < gets->count && status == PW_OK; i++) {
                struct pw_view view;
                status = pw_get(gets->shuffled[i], 0, &view, ret_err);
                if (status != PW_OK)
                        break;
                gets->bytes_of[i] = view.data;
                sum += sum_of(view.data);
                pw_view_done(&view);
        }
        gets->sum = sum;
        return status;
}

/* The floors: load the word and compare its state. */
static uint32_t look_at_all(struct gets *gets)
{
        uint32_t ready = 0;

        for (uint32_t i = 0; i < gets->count; i++)
                ready += pw_word_state(pw_entry_load(&gets->lines[gets->order[i]])) == PW_ENTRY_READY;
        return ready;
}

static uint32_t find_and_look_at_all(struct gets *gets)
{
        uint32_t ready = 0;

        for (uint32_t i = 0; i < gets->count; i++)
                ready += pw_word_state(pw_entry_load(gets->line_of[gets->order[i]])) == PW_ENTRY_READY;
        return ready;
}

/* The bytes are those that the gets have read. */
static uint32_t look_and_read_all(struct gets *gets)
{
        uint32_t ready = 0;
        uint64_t sum = 0;

        for (uint32_t i = 0; i < gets->count; i++) {
                if (pw_word_state(pw_entry_load(&gets->lines[gets->order[i]])) != PW_ENTRY_READY)
                        continue;
                ready++;
                sum += sum_of(gets->bytes_of[i]);
        }
        gets->sum = sum;
        return ready;
}

struct looks {
        enum pw_status (*get)(struct gets *gets, struct pw_error *ret_err);
        uint32_t (*look)(struct gets *gets);
};
static const struct looks plain = { get_all, look_at_all }, found = { find_and_get_all, find_and_look_at_all },
                          read_too = { get_and_read_all, look_and_read_all };

static enum pw_status once(struct gets *gets, const struct looks *looks, struct pw_bench_row *row, struct pw_error *ret_err)
{
        double start = pw_bench_seconds();
        enum pw_status status = looks->get(gets, ret_err);
        double gotten = pw_bench_seconds();
        uint32_t ready = status == PW_OK ? looks->look(gets) : 0;
        double looked = pw_bench_seconds();

        pw_bench_row_value(row, (gotten - start) * 1e9 / gets->count);
        pw_bench_row_floor(row, ready == gets->count ? (looked - gotten) * 1e9 / gets->count : 0);
        return status;
}

/* --- rows ------------------------------------------------------------------------------------------------------------- */

static struct pw_bench_row *row_of(struct pw_bench_context *context, const char *name)
{
        return pw_bench_row_add(context, name, "ns", PW_BENCH_RATIO_AT_MOST, 3);
}

/* After a first time that is not counted. */
static enum pw_status measure(struct gets *gets, const struct looks *looks, struct pw_bench_row *row, struct pw_error *ret_err)
{
        enum pw_status status = looks->get(gets, ret_err);

        for (uint32_t repeat = 0; repeat < PW_BENCH_REPEATS && status == PW_OK; repeat++)
                status = once(gets, looks, row, ret_err);
        return status;
}

static enum pw_status measure_first(struct gets *gets, struct pw_bench_row *first, struct pw_bench_row *again,
                                    struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;

        for (uint32_t repeat = 0; repeat < PW_BENCH_REPEATS && status == PW_OK; repeat++) {
                status = take_new(gets, &typed, NULL, ret_err);
                if (status == PW_OK)
                        status = once(gets, &plain, first, ret_err);
                if (status == PW_OK)
                        status = once(gets, &plain, again, ret_err);
        }
        return status;
}

static enum pw_status own_rows(struct pw_bench_context *context, const struct pw_bench_daemon *daemon, struct gets *gets,
                               struct pw_error *ret_err)
{
        struct pw_bench_row *held = row_of(context, "get_1k"), *by_number = row_of(context, "get_1k_found");
        struct pw_bench_row *bytes = row_of(context, "get_1k_read");
        struct pw_bench_row *first = row_of(context, "get_1k_first"), *again = row_of(context, "get_1k_typed");
        struct pw_session *session;
        enum pw_status status = pw_connect(daemon->socket, &session, ret_err);

        if (status == PW_OK)
                status = gets_init(gets, session, context->quick ? 100000 : 1000000, ret_err);
        if (status == PW_OK)
                status = take_new(gets, NULL, NULL, ret_err);
        if (status == PW_OK)
                status = measure(gets, &plain, held, ret_err);
        if (status == PW_OK)
                status = measure(gets, &found, by_number, ret_err);
        if (status == PW_OK)
                status = measure(gets, &read_too, bytes, ret_err);
        if (status == PW_OK)
                status = measure_first(gets, first, again, ret_err);
        gets_done(gets);
        pw_close(session);
        return status;
}

/* --- of another process ----------------------------------------------------------------------------------------------- */

/* Puts, says the ids, and holds the objects until the socket ends. */
static int put_all(const char *socket, int fd, uint32_t count)
{
        struct pw_id ids[IDS_AT_ONCE];
        uint8_t data[BYTES] = { 1 };
        struct pw_session *session;
        struct pw_future *future;
        char byte;
        enum pw_status status = pw_connect(socket, &session, NULL);

        for (uint32_t i = 0; i < count && status == PW_OK; i++) {
                status = pw_put(session, data, sizeof data, &typed, &future, NULL);
                if (status == PW_OK)
                        ids[i % IDS_AT_ONCE] = pw_future_id(future);
                if (i % IDS_AT_ONCE == IDS_AT_ONCE - 1 && send(fd, ids, sizeof ids, MSG_NOSIGNAL) != (ssize_t)sizeof ids)
                        return 1;
        }
        (void)!recv(fd, &byte, 1, 0);
        return status != PW_OK;
}

static enum pw_status take_others(struct gets *gets, int fd, struct pw_error *ret_err)
{
        pw_auto_free struct pw_id *ids = calloc(gets->count, sizeof *ids);

        if (!ids)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for %u ids", gets->count);
        for (uint32_t i = 0; i < gets->count; i += IDS_AT_ONCE)
                if (recv(fd, &ids[i], IDS_AT_ONCE * sizeof *ids, MSG_WAITALL) != (ssize_t)(IDS_AT_ONCE * sizeof *ids))
                        return pw_error_set(ret_err, PW_PROTOCOL, "the other process of the bench has ended");
        return take_new(gets, NULL, ids, ret_err);
}

static enum pw_status other_rows(struct pw_bench_context *context, const struct pw_bench_daemon *daemon, struct gets *gets,
                                 struct pw_error *ret_err)
{
        struct pw_bench_row *row = row_of(context, "get_1k_other");
        uint32_t count = context->quick ? 100000 : 1000000;
        struct pw_session *session = NULL;
        int sockets[2];

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
                return pw_error_errno(ret_err, errno, "socketpair");
        pid_t pid = fork();
        if (pid == 0) { /* before there is a session: that one does not outlive a fork */
                close(sockets[0]);
                _exit(put_all(daemon->socket, sockets[1], count));
        }
        pw_close_fd(&sockets[1]);
        enum pw_status status = pid > 0 ? pw_connect(daemon->socket, &session, ret_err) : pw_error_errno(ret_err, errno, "fork");
        if (status == PW_OK)
                status = gets_init(gets, session, count, ret_err);
        if (status == PW_OK)
                status = take_others(gets, sockets[0], ret_err);
        if (status == PW_OK)
                status = measure(gets, &plain, row, ret_err);
        gets_done(gets);
        pw_close(session);
        pw_close_fd(&sockets[0]);
        if (pid > 0)
                waitpid(pid, NULL, 0);
        return status;
}

enum pw_status pw_bench_get_1k(struct pw_bench_context *context, struct pw_error *ret_err)
{
        struct pw_bench_daemon_params params = { .devices = 1, .host_memory = "3GiB" };
        struct pw_bench_daemon daemon;
        struct gets gets = { 0 };
        enum pw_status status = pw_bench_daemon_start(&params, &daemon, ret_err);

        if (status == PW_OK) /* the process that it forks must find no session */
                status = other_rows(context, &daemon, &gets, ret_err);
        gets = (struct gets){ 0 };
        if (status == PW_OK)
                status = own_rows(context, &daemon, &gets, ret_err);
        pw_bench_daemon_stop(&daemon);
        return status;
}
