/* Another tenant: a user that nothing else runs as, whom only root can become.
 */
#ifndef PW_TESTS_INTEGRATION_OTHER_H
#define PW_TESTS_INTEGRATION_OTHER_H

#include "tests/integration/harness.h"

#define IT_OTHER 65533u

/* True, and said: the test is to be skipped. Else that user gets at the host's socket. */
bool it_alone(const struct it_host *host);
/* In a child, which is that user from then on, and of `group` besides (0: of none). */
struct pw_session *it_connect_as_other(const struct it_host *host, unsigned group);

#endif
