/* Files and sockets that the daemon keeps in folders which others may have a hand in.
 */
#ifndef PW_DAEMON_OWN_FILE_H
#define PW_DAEMON_OWN_FILE_H

#include "base/error.h"

#include <sys/types.h>

/* Open `folder`/`name` to read and write, made where it is not there; mode 0600, also where it had another. The folder is root's or
 * the daemon's user's and no place that everybody may write to; the file a regular one of that user, with one name, reached by no
 * link.
 * Own:    *ret_fd is the caller's.
 * Errors: PW_DENIED, which says what is not so; PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_own_file(const char *folder, const char *name, int *ret_fd, struct pw_error *ret_err);
/* Make a folder, mode 0700, and those above it that are not there. Errors: PW_SYSTEM, PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_own_folder(const char *path, struct pw_error *ret_err);
/* Make `folder`/`name`, or find it there: a folder, reached by no link, of mode 0700 and of user `uid` with group `gid`. That may
 * be another than the daemon's where this is root: then they may pass through `folder`, by its group where that had no rights in
 * it. `folder` is as for pw_own_file(). Errors: PW_DENIED, which says what is not so; PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_own_folder_for(const char *folder, const char *name, uid_t uid, gid_t gid,
                                               struct pw_error *ret_err);
/* Remove the socket at `path`, of somebody who is gone; nothing there is fine. Errors: PW_EXISTS: it is no socket, and stays. */
PW_MUST_CHECK enum pw_status pw_old_socket_remove(const char *path, struct pw_error *ret_err);

#endif
