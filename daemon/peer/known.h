/* What an object of this host is, as it is said to others.
 */
#ifndef PW_DAEMON_PEER_KNOWN_H
#define PW_DAEMON_PEER_KNOWN_H

#include "cluster/borrow/talk.h"
#include "daemon/daemon.h"
#include "store/object.h"

/* Room for what ret_known borrows. */
struct pw_known_space { struct pw_error err; uint8_t value[PW_TALK_VALUE_MAX]; };

/* A value that is small comes along. Of a value that cannot be, as its producer spoilt it, that it failed.
 * Blocks: never for long: a page of a memfd is read. */
void pw_known(struct pw_daemon *daemon, const struct pw_object *object, struct pw_known_space *space,
              struct pw_talk_known *ret_known);

/* Where the bytes of a READY value lie in a row: of one that is not spread, or that one device has whole. */
struct pw_value_at { uint32_t segment; uint64_t offset, bytes; bool is_inline; const uint8_t *inline_bytes; };
/* Errors: PW_UNSUPPORTED (it is spread over devices), PW_NOT_READY (nobody can read it where it is: store/fetched.h), PW_PROTOCOL
 * (its producer spoilt it), its error. */
PW_MUST_CHECK enum pw_status pw_value_at(struct pw_daemon *daemon, const struct pw_object *object, struct pw_value_at *ret_at,
                                         struct pw_error *ret_err);

#endif
