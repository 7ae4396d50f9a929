/* Looks at files of modules, by a thread beside the loop: reading one may take long, and so may a file system.
 *
 * Looks are begun in order, one at a time; each is reported once, on the loop thread.
 */
#ifndef PW_DAEMON_MODULE_MODULE_LOOK_H
#define PW_DAEMON_MODULE_MODULE_LOOK_H

#include "base/list.h"
#include "daemon/daemon.h"
#include "daemon/module/module_file.h"

struct pw_module_look {
        struct pw_list link;          /* the looker's, until it is reported */
        struct pw_module_query query; /* what it points to stays until then */
        bool begun;                   /* pw_looker_begun() */
        enum pw_status status;
        struct pw_module_file file;   /* with PW_OK; the descriptor is the look's owner's */
        struct pw_error err;
};

struct pw_looker;

typedef void (*pw_looked_fn)(struct pw_daemon *daemon, struct pw_module_look *look);

PW_MUST_CHECK enum pw_status pw_looker_new(struct pw_daemon *daemon, pw_looked_fn looked, struct pw_looker **ret_looker,
                                           struct pw_error *ret_err);
void pw_looker_ask(struct pw_looker *looker, struct pw_module_look *look_keep);
/* Whoever asks now might want to see what this look has passed already. */
bool pw_looker_begun(struct pw_looker *looker, const struct pw_module_look *look);
/* Looks that are not reported yet never are: each is handed to `drop`, but one that a file system holds, which is never given
 * back. */
void pw_looker_free(struct pw_looker *looker, void (*drop)(struct pw_module_look *look));

#endif
