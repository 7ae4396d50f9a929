/* A worker: it makes the gradients that the server asks it for, on a slice of its own, until it is told that the training is over.
 */
#ifndef PARAMETER_SERVER_WORKER_H
#define PARAMETER_SERVER_WORKER_H

#include "examples/parameter-server/options.h"
#include "pathways.h"

/* Be worker options->worker of options->run.
 * Errors:  PW_DEADLINE (there is no such training), PW_CANCELLED (the server gave it up), PW_PRODUCER_LOST and PW_HOST_LOST (the
 *          server is lost), those of the calls.   Blocks: until the end. */
enum pw_status worker_run(const struct options *options, struct pw_error *err);

#endif
