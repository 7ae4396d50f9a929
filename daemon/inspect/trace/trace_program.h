/* A program as traces tell of it: the names and kinds of its nodes, copied, since the program may go before they are told.
 */
#ifndef PW_DAEMON_INSPECT_TRACE_TRACE_PROGRAM_H
#define PW_DAEMON_INSPECT_TRACE_TRACE_PROGRAM_H

#include "daemon/inspect/trace/trace_log.h"

struct pw_image;

/* Own: the caller's. NULL: it would take more than `most_bytes`, or out of memory. */
struct pw_traced_program *pw_traced_program_new(const struct pw_image *image, uint64_t most_bytes);
void pw_traced_program_free(struct pw_traced_program *program); /* may be NULL */

#endif
