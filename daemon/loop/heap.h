/* Pages of the daemon's heap that lie free between what is used go back to the system a second after pw_heap_freed().
 * Without that, what one who left had there is the daemon's until it ends, and nobody's in `pathways memory`.
 */
#ifndef PW_DAEMON_LOOP_HEAP_H
#define PW_DAEMON_LOOP_HEAP_H

#include <stdint.h>

struct pw_daemon;

uint64_t pw_heap_next_us(const struct pw_daemon *daemon);
/* On a thread of its own: how long it takes depends on how much there is. */
void pw_heap_tick(struct pw_daemon *daemon, uint64_t now_us);

#endif
