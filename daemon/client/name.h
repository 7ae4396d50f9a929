/* Requests about names, leases and frees; lookups that wait for a name to be bound.
 */
#ifndef PW_DAEMON_CLIENT_NAME_H
#define PW_DAEMON_CLIENT_NAME_H

#include "daemon/session/output.h"

void pw_name_bind(struct pw_dsession *session, uint64_t id, const Pathways__Wire__NameBind *request);
void pw_name_remove(struct pw_dsession *session, uint64_t id, const Pathways__Wire__NameRemove *request);
/* The store tells of a binding that has ended: pw_store_unnamed_fn, of the daemon. */
void pw_name_ended(void *context, const char *tenant, const char *name, struct pw_id object);
void pw_name_lookup(struct pw_dsession *session, uint64_t id, const Pathways__Wire__NameLookup *request);
void pw_name_lease(struct pw_dsession *session, uint64_t id, const Pathways__Wire__Lease *request);
void pw_name_free(struct pw_dsession *session, uint64_t id, const Pathways__Wire__Free *request);
void pw_names_session_end(struct pw_dsession *session);
/* Lookups that wait, of `session` or of all (NULL). */
struct pw_wait_row;
void pw_names_each_wait(struct pw_daemon *daemon, const struct pw_dsession *session,
                        void (*row)(void *context, const struct pw_wait_row *row), void *context);
/* Those of one name of a tenant, the first first. */
void pw_names_each_wait_of(const struct pw_daemon *daemon, const struct pw_tenant *tenant, const char *name,
                           void (*row)(void *context, const struct pw_wait_row *row), void *context);
/* Tell some of those whose name was bound. True: there were any. */
bool pw_names_turn(struct pw_daemon *daemon);
void pw_names_done(struct pw_daemon *daemon); /* every session has ended */
/* When the next waiting lookup gives up; UINT64_MAX: never. */
uint64_t pw_names_next_us(const struct pw_daemon *daemon);
void pw_names_tick(struct pw_daemon *daemon, uint64_t now_us);

#endif
