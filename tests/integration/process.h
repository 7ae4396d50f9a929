/* What a process has: descriptors, maps and memory, so that a test sees them grow.
 */
#ifndef PW_TESTS_INTEGRATION_PROCESS_H
#define PW_TESTS_INTEGRATION_PROCESS_H

#include "tests/integration/harness.h"

struct it_has { uint64_t fds, maps, private_kib; };

struct it_has it_has(pid_t pid);

#endif
