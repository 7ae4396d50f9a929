/* Audits: what clients' memfds have, compared with what was granted in them, for `pathways check`.
 *
 * To see which pages a memfd has takes a lock that its client may hold (worker.c), so the worker looks, and the listing is answered
 * when it has seen all, or after PW_AUDIT_US with a row for each that could not be seen.
 */
#ifndef PW_DAEMON_MEMORY_AUDIT_H
#define PW_DAEMON_MEMORY_AUDIT_H

#include "daemon/session/session.h"

#define PW_AUDIT_US 1000000u

struct pw_audit;
struct pw_measure;

/* `done` is called once, later or at once, with what was found; `session` NULL: it has ended, `context` is only to be freed.
 * Errors: PW_LIMIT (one of the session, or too many, are under way), PW_NO_MEMORY. */
typedef void (*pw_audited_fn)(void *context_take, struct pw_dsession *session, const struct pw_audit *audit);
PW_MUST_CHECK enum pw_status pw_audit_begin(struct pw_dsession *session, pw_audited_fn done, void *context_take,
                                            struct pw_error *ret_err);
/* What was found; each problem is one call. */
void pw_audit_each(const struct pw_audit *audit, void (*found)(void *context, const char *where, const char *problem),
                   void *context);
void pw_audits_tick(struct pw_daemon *daemon, uint64_t now_us);
uint64_t pw_audits_next_us(const struct pw_daemon *daemon);
void pw_audits_done(struct pw_daemon *daemon);

/* Worker thread: look. */
void pw_measure_do(struct pw_measure *measure, int fd);
/* It has looked, or could not. Own: the measure. */
void pw_measure_done(struct pw_measure *measure_take, enum pw_status status);
/* Nobody looks any more; NULL: nothing. */
void pw_measure_free(struct pw_measure *measure);

#endif
