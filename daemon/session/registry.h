/* Who is there: sessions, their processes, their users.
 */
#ifndef PW_DAEMON_SESSION_REGISTRY_H
#define PW_DAEMON_SESSION_REGISTRY_H

#include "base/list.h"
#include "base/table.h"

struct pw_foreign;
struct pw_tenancy;

struct pw_registry {
        struct pw_table sessions;   /* number -> struct pw_dsession */
        uint32_t next_session;      /* numbers are never used again */
        struct pw_table processes;  /* pid -> struct pw_process */
        struct pw_table tenants;    /* uid -> struct pw_tenant */
        struct pw_table users;      /* the same, of those that only connected so far */
        const struct pw_tenancy *tenancy; /* borrowed */
        const struct pw_foreign *foreign; /* objects of other hosts; NULL: there are none. Borrowed */
};

#endif
