/* Modules by name: found in the configured folders, opened by the daemon, handed to executors as descriptors.
 */
#ifndef PW_DAEMON_MODULE_H
#define PW_DAEMON_MODULE_H

#include "daemon/session.h"

/* Folders in order: those of the settings, then the installed one (or the one built beside this daemon). */
PW_MUST_CHECK enum pw_status pw_modules_new(struct pw_daemon *daemon, struct pw_modules **ret_modules, struct pw_error *ret_err);
/* Other folders, from now on: those that the settings have now. */
PW_MUST_CHECK enum pw_status pw_modules_refresh(struct pw_daemon *daemon, struct pw_error *ret_err);
void pw_modules_free(struct pw_modules *modules);
/* Open NAME.so: a descriptor of the caller's and the XXH3 of its bytes. Errors: PW_INVALID (name), PW_NOT_FOUND (with the folders
 * that were looked in), PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_module_open(struct pw_modules *modules, const char *name, int *ret_fd, uint64_t *ret_digest,
                                            struct pw_error *ret_err);
/* The digest alone: the file is read only where it has changed since it was last. Errors: likewise. */
PW_MUST_CHECK enum pw_status pw_module_digest(struct pw_modules *modules, const char *name, uint64_t *ret_digest,
                                              struct pw_error *ret_err);
/* An executor asks for one. */
void pw_module_request(struct pw_dsession *session, uint64_t id, const Pathways__Wire__ModuleRequest *request);

#endif
