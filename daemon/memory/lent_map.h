/* Maps of segments by which threads read values that they send: one is kept when it is not used any more, for what is sent next
 * from there. Making one anew for each value costs a fault for every 16 pages, and the loop the time to take it down.
 *
 * Threads: loop thread only, but for the bytes.   Blocks: never.
 */
#ifndef PW_DAEMON_MEMORY_LENT_MAP_H
#define PW_DAEMON_MEMORY_LENT_MAP_H

#include "daemon/memory/segment.h"

struct pw_lent_map;

/* The range, read-only. Own: pw_lent_map_give(), before the segment goes. Errors: PW_PROTOCOL (it lies beyond the segment),
 * PW_SYSTEM, PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_lent_map_take(struct pw_segment *segment, uint64_t offset, uint64_t bytes,
                                              struct pw_lent_map **ret_map, uint8_t **ret_at, struct pw_error *ret_err);
void pw_lent_map_give(struct pw_lent_map *map); /* accepts NULL */

#endif
