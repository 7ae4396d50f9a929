/* What a person names, found: an object by id or name, its shards, the text of its error.
 */
#ifndef PW_DAEMON_INSPECT_FIND_H
#define PW_DAEMON_INSPECT_FIND_H

#include "daemon/session/session.h"
#include "store/object.h"

/* The object of an id or a name of the session's tenant. Errors: PW_NOT_FOUND (neither), PW_GONE (an id without object). */
PW_MUST_CHECK enum pw_status pw_find_object(struct pw_dsession *session, const char *text, struct pw_object **ret_object,
                                            struct pw_error *ret_err);
/* The device that "h0:2" or "2" names. Errors: PW_NOT_FOUND. */
PW_MUST_CHECK enum pw_status pw_find_device(const struct pw_daemon *daemon, const char *text, uint32_t *ret_device,
                                            struct pw_error *ret_err);
/* The list of a sharded object that is ready; else NULL. */
const struct pw_shard_list *pw_find_shards(struct pw_daemon *daemon, const struct pw_object_row *row);
/* The sentence of an object in error; where it has none, that of its status. Returns `text`. */
char *pw_find_error_text(struct pw_daemon *daemon, const struct pw_object_row *row, char *text, size_t text_bytes);

#endif
