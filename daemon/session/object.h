/* Objects as sessions name them.
 */
#ifndef PW_DAEMON_SESSION_OBJECT_H
#define PW_DAEMON_SESSION_OBJECT_H

#include "daemon/session/output.h"

struct pw_object;

/* The object that an id from outside names, if the session may touch it: of another host, or of another epoch of this one, the
 * proxy here. Errors: PW_NOT_FOUND (nobody here holds such an object of another host), PW_GONE. */
PW_MUST_CHECK enum pw_status pw_object_of_id(struct pw_dsession *session, struct pw_id id, struct pw_object **ret_object,
                                             struct pw_error *ret_err);
PW_MUST_CHECK enum pw_status pw_object_by_id(struct pw_dsession *session, const Pathways__Wire__ObjectId *id,
                                             struct pw_object **ret_object, struct pw_error *ret_err);

#endif
