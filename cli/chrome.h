/* What devices did, as a Chrome trace: JSON that Perfetto and chrome://tracing open.
 *
 * A process per island; in it a row for each device with its calls and one beneath for its transfers and loads. Runs and moves are
 * async spans in a process of their own, one for each host. Times are microseconds since the trace began, by the clock of the host
 * that is added first; what began before begins at 0.
 */
#ifndef PW_CLI_CHROME_H
#define PW_CLI_CHROME_H

#include "libclient/listing.h"

#include <stdio.h>

struct pw_chrome;

struct pw_chrome *pw_chrome_new(FILE *out); /* NULL: out of memory. `out` is borrowed. */
void pw_chrome_free(struct pw_chrome *chrome);
/* Errors: PW_NO_MEMORY. What `out` does not take shows in ferror(). */
PW_MUST_CHECK enum pw_status pw_chrome_add(struct pw_chrome *chrome, const Pathways__Wire__Trace *part, struct pw_error *ret_err);
/* What is added next is of that host, "h2"; several: its name is said. Errors: PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_chrome_host(struct pw_chrome *chrome, uint32_t number, bool several, struct pw_error *ret_err);
/* Close the JSON. */
void pw_chrome_end(struct pw_chrome *chrome);

struct pw_chrome_counts { uint64_t gangs, runs, lost, took_ns; };
struct pw_chrome_counts pw_chrome_counts(const struct pw_chrome *chrome);

#endif
