/* Requests about names, leases and frees, and the answers of those that wait for metadata or for a name.
 */
#ifndef PW_DAEMON_CLIENT_OBJECT_NAME_H
#define PW_DAEMON_CLIENT_OBJECT_NAME_H

#include "daemon/session/output.h"

struct pw_object;

void pw_name_bind(struct pw_dsession *session, uint64_t id, const Pathways__Wire__NameBind *request);
void pw_name_remove(struct pw_dsession *session, uint64_t id, const Pathways__Wire__NameRemove *request);
void pw_name_lookup(struct pw_dsession *session, uint64_t id, const Pathways__Wire__NameLookup *request);
void pw_name_lease(struct pw_dsession *session, uint64_t id, const Pathways__Wire__Lease *request);
/* The session gets a reference, then the answer that says so. */
void pw_name_answer_object(struct pw_dsession *session, uint64_t id, struct pw_object *object);
void pw_name_free(struct pw_dsession *session, uint64_t id, const Pathways__Wire__Free *request);
/* Lookups that wait, of `session` or of all (NULL). */
struct pw_wait_row;
void pw_names_each_wait(struct pw_daemon *daemon, const struct pw_dsession *session,
                        void (*row)(void *context, const struct pw_wait_row *row), void *context);
/* Those of one name of a tenant, the first first. */
void pw_names_each_wait_of(struct pw_daemon *daemon, const struct pw_tenant *tenant, const char *name,
                           void (*row)(void *context, const struct pw_wait_row *row), void *context);
/* Answer some of those that were settled. True: there were any. */
bool pw_names_turn(struct pw_daemon *daemon);

#endif
