/* The server: it holds the weights, hands out parts of batches with the rows of the weights that these touch, and takes gradients
 * of those rows back. It goes on without a worker that is lost.
 */
#ifndef PARAMETER_SERVER_SERVER_H
#define PARAMETER_SERVER_SERVER_H

#include "examples/parameter-server/options.h"
#include "pathways.h"

/* Train, say how it goes, and write the losses where options say.
 * Errors:  PW_PRODUCER_LOST (no worker is left), PW_EXISTS (another training has options->run), those of the calls.
 * Blocks:  until the end. */
enum pw_status server_run(const struct options *options, struct pw_error *err);

#endif
