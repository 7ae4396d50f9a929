/* Tests with real processes: a private pathwaysd in a folder of its own, looks at its listings, children that can be killed.
 *
 * Every test gets its own daemon (it_setup, it_teardown), so tests and programs of tests run beside each other. it_teardown()
 * checks what must hold after every test: once sessions and runs have ended no object is left and no device has memory in use,
 * `check` finds nothing, `memory` adds up, and the daemon ends by SIGTERM with exit 0.
 * Nobody sleeps: a condition of the daemon is asked for again until it holds, it_until() gives up after 25 s.
 */
#ifndef PW_TESTS_INTEGRATION_HARNESS_H
#define PW_TESTS_INTEGRATION_HARNESS_H

/* cmocka.h needs the first four before it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "libclient/listing.h"
#include "pathways.h"

#include <sys/types.h>

#define IT_SECOND INT64_C(1000000)
#define IT_LONG (25 * IT_SECOND) /* what takes longer hangs */
#define IT_TOGETHER (180 * IT_SECOND)

struct it_gpus;
struct it_host {
        pid_t pid; /* 0: none */
        int pidfd;
        char folder[64], socket[96], log[96];
        struct pw_session *session; /* of the test itself; NULL: none */
        struct it_gpus *gpus;       /* of $PW_GPUS, "nccl" or "peer": its driver, once a daemon was started; else NULL */
        bool no_modules;            /* folders of modules are those of `args` and config file alone */
};

/* --- the daemon ------------------------------------------------------------------------------------------------------- */

/* A folder, no daemon yet. */
void it_host_init(struct it_host *host);
/* Start pathwaysd with `args` (ends with NULL) besides run dir, state dir and modules, and wait for its --ready-fd. False: it ended
 * before; its status is in *ret_exit, what it said last in `said`. */
bool it_host_start(struct it_host *host, const char *const *args, int *ret_exit, char said[600]);
/* The same in two steps, for a daemon that does not get ready by itself. The second waits for what the first returns, and closes
 * it. */
int it_host_launch(struct it_host *host, const char *const *args);
bool it_host_await(struct it_host *host, int ready, int *ret_exit, char said[600]);
/* Send `signal` (0: it ends by itself) and wait for the end. Its exit status, or 128 + the signal it died of; fails the test if it
 * takes 25 s. */
int it_host_end(struct it_host *host, int signal);
/* The last line of the daemon's log. */
void it_said_last(const struct it_host *host, char said[600]);
/* `signal` to the executor of `device` ("h0:2"), if it lives. True: it was sent. */
bool it_signal_executor(const struct it_host *host, const char *device, int signal);
/* Kill what lives and remove the folder. */
void it_host_done(struct it_host *host);
/* Ends the session; waits until nothing is in flight or left; nothing may be wrong then. */
void it_host_clean(struct it_host *host);

/* For cmocka: *state is an it_host with a daemon of 8 emulated devices in 2 islands with 16 MiB each, and a session. */
int it_setup(void **state);
int it_teardown(void **state);
/* The same with other arguments for the daemon. */
int it_setup_with(void **state, const char *const *args);
#define IT_ARGS(...) (const char *const[]){ __VA_ARGS__, NULL }
#define IT_TEST(test) cmocka_unit_test_setup_teardown(test, it_setup, it_teardown)

struct pw_session *it_connect(const struct it_host *host);
/* Absolute path below the top of the build tree; returns `path`. */
char *it_built(const char *name, char path[600]);

/* --- what the daemon lists -------------------------------------------------------------------------------------------- */

struct pw_listing *it_list(struct pw_session *session, const char *what, const char *filter);
size_t it_rows(const struct pw_listing *listing);
/* 0 and "" where the row has no such cell; numbers written as text are read. */
int64_t it_number(const struct pw_listing *listing, size_t row, const char *key);
const char *it_text(const struct pw_listing *listing, size_t row, const char *key);
/* The number at `key` of the only or first row of `what`. */
int64_t it_listed(struct pw_session *session, const char *what, const char *key);
/* Ask again until `is_so` says yes; it is handed the listing of `what`. Fails the test, with the rows, after 25 s. */
void it_until(struct pw_session *session, const char *what, bool (*is_so)(const struct pw_listing *listing, void *context),
              void *context);
/* The row in which `key` is `text`; fails the test if there is none. */
size_t it_find(const struct pw_listing *listing, const char *key, const char *text);
/* A line for each row, to standard error. */
void it_print(const struct pw_listing *listing);

/* --- children --------------------------------------------------------------------------------------------------------- */

/* In a child: whoever started the tests in the background may have had signals ignored. */
void it_hear_signals(void);
/* A process that runs `work` and ends with what it returns; it dies with its parent. It has no use for the parent's sessions. */
struct it_child { pid_t pid; int pipe; /* the work writes, the test reads */ };
struct it_child it_fork(int (*work)(void *context, int pipe), void *context);
/* Read exactly `bytes`; fails the test if the child ends or 25 s pass before. */
void it_read(struct it_child *child, void *data, size_t bytes);
/* Kill it with `signal` (0: let it end) and wait. As it_host_end(). */
int it_reap(struct it_child *child, int signal);
/* Wait; -1: it did not end in time, and was killed. */
int it_reap_within(struct it_child *child, int64_t bound_us);
/* One that the test has forked itself: as if by it_fork(). */
void it_adopt(const struct it_child *child);
/* The test has waited for it itself. */
void it_forget(struct it_child *child);

/* --- small things ----------------------------------------------------------------------------------------------------- */

int64_t it_now_us(void);
/* IT_LONG; where all attacks go at once, on processors that each has a small part of, what the slowest may take. */
int64_t it_long_us(void);
/* How many times its bound something may take before a test fails: $PW_SLACK, 20 where it is not set (machines that tests share are
 * slow at times). it_within() gives that much only where others take the processors meanwhile, and three times the bound where
 * nobody does; what is measured is printed where it is over the bound. */
int64_t it_slack(void);
void it_within(const char *what, int64_t since_us, int64_t bound_us);
uint64_t it_environment(const char *name, uint64_t otherwise);
/* Tests are run over devices whose memory the processor does not read: emulated ones ($PW_APART), or, in place of these, GPUs of
 * the fake driver ($PW_GPUS). Who gets a result has it copied, and has room for that in host memory; a device copies between
 * gangs. */
bool it_apart(void);
uint64_t it_random(uint64_t *seed); /* splitmix64 */

struct it_expected { enum pw_status status; const char *texts, *call, *file; int line; };
void it_judge(enum pw_status got, const struct pw_error *err, const struct it_expected *expected);

/* A failed call fails the test with its sentence. */
#define it_ok(call) it_fails(call, PW_OK, NULL)
/* The call must end in `status_` with a sentence in which each of the texts, separated by '|', stands. */
#define it_fails(call_, status_, texts_)                                                                               \
        do {                                                                                                           \
                struct pw_error err_ = { PW_OK, "" };                                                                  \
                enum pw_status got_ = (call_);                                                                         \
                it_judge(got_, &err_, &(struct it_expected){ (status_), (texts_), #call_, __FILE__, __LINE__ });       \
        } while (0)
#define IT_ERR (&err_) /* the last argument of a call within the two */

/* A number, so many times. */
void it_put_and_get(struct it_host *host, int times);
/* A child of it_fork(), `context` its host: another session waits for the object of the name `pending`. */
int it_wait_for_pending(void *context, int pipe);

#include "tests/integration/group.h"

#endif
