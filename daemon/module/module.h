/* Modules by name and version: found in the configured folders, kept by the daemon as copies that nothing changes, handed to
 * executors as descriptors.
 *
 * A *version* is the bytes that a module's file had when it was looked at, known by their digest. Whoever compiles a program has
 * the file looked at once for each module that it calls, so all its calls run one version, and that is what it runs while it lives,
 * over restarts of executors too. A version that nobody uses goes, but a few of the latest, in case that somebody compiles again.
 */
#ifndef PW_DAEMON_MODULE_MODULE_H
#define PW_DAEMON_MODULE_MODULE_H

#include "daemon/session/output.h"

#define PW_MODULE_VERSIONS_MAX 128u                     /* that are in use */
#define PW_MODULE_VERSIONS_BYTES_MAX (512 * PW_MIB)     /* and what they may have in all */
#define PW_MODULE_IDLE_MAX 16u                          /* that are kept without a user */
#define PW_MODULE_IDLE_BYTES_MAX (64 * PW_MIB)

struct pw_module_version;
struct pw_module_asker;

/* Called once, later or at once. With PW_OK `version` is used by who asked, until pw_module_unuse(). */
typedef void (*pw_module_found_fn)(void *context, enum pw_status status, struct pw_module_version *version,
                                   const struct pw_error *err);

/* Folders in order: those of the settings, then the installed one (or the one built beside this daemon). */
PW_MUST_CHECK enum pw_status pw_modules_new(struct pw_daemon *daemon, struct pw_modules **ret_modules, struct pw_error *ret_err);
/* Other folders, from now on: those that the settings have now. */
PW_MUST_CHECK enum pw_status pw_modules_refresh(struct pw_daemon *daemon, struct pw_error *ret_err);
void pw_modules_free(struct pw_modules *modules);
/* Bytes of memory that copies take. */
uint64_t pw_modules_bytes(const struct pw_modules *modules);

/* The version that NAME.so is now. Returns NULL where it was answered at once, else what pw_module_forget() takes till then.
 * Errors: as pw_module_file_read(); PW_LIMIT (so many versions are in use). */
struct pw_module_asker *pw_module_ask(struct pw_daemon *daemon, const char *name, pw_module_found_fn done, void *context);
/* Whoever asked waits no more. */
void pw_module_forget(struct pw_module_asker *asker);
uint64_t pw_module_digest(const struct pw_module_version *version);
void pw_module_unuse(struct pw_daemon *daemon, struct pw_module_version *version);

/* The versions that one program uses; a block of its own, for free() once they are dropped. NULL: none. */
struct pw_module_uses { uint32_t count, capacity; struct pw_module_version *items[]; };
/* The one of module `name`, of `length` bytes; or NULL. */
struct pw_module_version *pw_module_uses_find(const struct pw_module_uses *uses, const char *name, size_t length);
/* The use is theirs now. False: out of memory, it is still the caller's. */
PW_MUST_CHECK bool pw_module_uses_take(struct pw_module_uses **uses, struct pw_module_version *version_take);
void pw_module_uses_drop(struct pw_daemon *daemon, struct pw_module_uses *uses);

/* An executor asks for one. */
void pw_module_request(struct pw_dsession *session, uint64_t id, const Pathways__Wire__ModuleRequest *request);

#endif
