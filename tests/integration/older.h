/* Systems that cannot do what this one can: the kernel is asked to deny it to this process and whom it starts.
 */
#ifndef PW_TESTS_INTEGRATION_OLDER_H
#define PW_TESTS_INTEGRATION_OLDER_H

#include <stdbool.h>

/* As before Linux 6.16: no socket refuses descriptors (SO_PASSRIGHTS). For good. False: it cannot be denied here. */
bool older_begin(void);
bool older_is(void);

#endif
