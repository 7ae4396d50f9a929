/* Objects as sessions name them.
 */
#ifndef PW_DAEMON_SESSION_OBJECT_H
#define PW_DAEMON_SESSION_OBJECT_H

#include "daemon/session/output.h"

struct pw_object;

/* The object that an id from outside names, if the session may touch it. Errors: PW_NOT_FOUND (other host or epoch), PW_GONE. */
PW_MUST_CHECK enum pw_status pw_object_by_id(struct pw_dsession *session, const Pathways__Wire__ObjectId *id,
                                             struct pw_object **ret_object, struct pw_error *ret_err);

#endif
