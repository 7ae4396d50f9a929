/* What the daemon keeps because of a tenant, besides rooms of values: each kind counted for itself, all of it charged to the
 * tenant's quota of host memory and listed as overhead (store/account/quota.h). Whoever keeps something asks, keeps, and counts it
 * down where it is freed. Who must not be refused for lack of memory has a bound of his own in place of asking. Loop thread only.
 */
#ifndef PW_DAEMON_MEMORY_KEPT_H
#define PW_DAEMON_MEMORY_KEPT_H

#include "store/account/quota.h"

struct pw_daemon;
struct pw_tenant;

/* May `bytes` more be kept? Errors: PW_NO_SPACE, says what holds the memory; the kind's name stands in the sentence. */
PW_MUST_CHECK enum pw_status pw_kept_ask(struct pw_daemon *daemon, const struct pw_tenant *tenant, enum pw_kept_kind kind,
                                         uint64_t bytes, struct pw_error *ret_err);
/* So many more, or less. */
void pw_kept_count(struct pw_daemon *daemon, const struct pw_tenant *tenant, enum pw_kept_kind kind, int64_t bytes);
/* "programs 48 MiB, traces 2 MiB"; "": nothing. Returns `text`. */
char *pw_kept_text(const struct pw_use *use, char *text, size_t text_bytes);
/* What a block of the heap takes of memory, its header included; 0 for NULL. */
uint64_t pw_kept_heap_bytes(void *block);

#endif
