/* Objects of other hosts: requests of clients that open them, and that want their bytes here. What cannot be answered from what is
 * here goes to the table of session/foreign.h. */
#ifndef PW_DAEMON_CLIENT_OBJECT_FOREIGN_H
#define PW_DAEMON_CLIENT_OBJECT_FOREIGN_H

#include "daemon/session/output.h"

void pw_foreign_open(struct pw_dsession *session, uint64_t id, const Pathways__Wire__ObjectOpen *request);
void pw_foreign_fetch(struct pw_dsession *session, uint64_t id, const Pathways__Wire__ObjectFetch *request);

#endif
