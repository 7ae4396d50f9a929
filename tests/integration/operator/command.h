/* The `pathways` command as a child: what it prints, how it ends.
 */
#ifndef PW_TESTS_INTEGRATION_OPERATOR_COMMAND_H
#define PW_TESTS_INTEGRATION_OPERATOR_COMMAND_H

#include "tests/integration/harness.h"

struct it_command { pid_t pid; int pidfd; char out[96], err[96]; };

/* Start `pathways ARGS... --socket SOCKET` with its output in files of the host's folder. */
struct it_command it_command_start(const struct it_host *host, const char *const *args);
/* Send `signal` (0: none) and wait for the end. Its exit code, or 128 + the signal it died of; fails the test after 25 s. */
int it_command_end(struct it_command *command, int signal);
/* Start and end; what it wrote to standard output and error. Own: the caller frees *ret_out and *ret_err; either may be NULL. */
int it_command_run(const struct it_host *host, const char *const *args, char **ret_out, char **ret_err);
/* Start and end: its exit code is `code`, and what it wrote has each of the texts, separated by '|'. */
void it_command_expect(const struct it_host *host, int code, const char *texts, const char *const *args);
/* Those that are started from now on run as this user; 0: as the test does. */
void it_command_as(unsigned user);
#define it_command(host, ret_out, ret_err, ...) it_command_run(host, IT_ARGS(__VA_ARGS__), ret_out, ret_err)

#endif
