/* A part of a memfd that somebody uses (memory/backing.h). Zeroed: none.
 */
#ifndef PW_DAEMON_SESSION_BACKED_H
#define PW_DAEMON_SESSION_BACKED_H

#include <stdint.h>

struct pw_backing;
struct pw_backed { struct pw_backing *backing; uint64_t offset, bytes; };

#endif
