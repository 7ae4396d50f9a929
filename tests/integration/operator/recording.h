/* `pathways trace` around what a test does.
 */
#ifndef PW_TESTS_INTEGRATION_OPERATOR_RECORDING_H
#define PW_TESTS_INTEGRATION_OPERATOR_RECORDING_H

#include "tests/integration/operator/chrome.h"
#include "tests/integration/operator/command.h"

/* Start to write `path`, a file in the host's folder; the daemon knows of it on return. */
struct it_command it_recording_begin(struct it_host *host, char path[120]);
/* End it, and read the file, which must hold to the schema and have lost nothing. Own: the caller ends it with it_chrome_free(). */
struct it_chrome it_recording_end(struct it_command *command, const char *path);

#endif
