/* Probes files of modules, by a thread beside the loop: reading one may take long, and so may a file system.
 *
 * Probes are begun in order, one at a time; each is reported once, on the loop thread.
 */
#ifndef PW_DAEMON_MODULE_MODULE_PROBE_H
#define PW_DAEMON_MODULE_MODULE_PROBE_H

#include "base/list.h"
#include "daemon/daemon.h"
#include "daemon/module/module_file.h"

struct pw_module_probe {
        struct pw_list link;          /* the prober's, until it is reported */
        struct pw_module_query query; /* what it points to stays until then */
        bool begun;                   /* pw_prober_begun() */
        enum pw_status status;
        struct pw_module_file file;   /* with PW_OK; the descriptor is the probe's owner's */
        struct pw_error err;
};

struct pw_prober;

typedef void (*pw_probed_fn)(struct pw_daemon *daemon, struct pw_module_probe *probe);

PW_MUST_CHECK enum pw_status pw_prober_new(struct pw_daemon *daemon, pw_probed_fn probed, struct pw_prober **ret_prober,
                                           struct pw_error *ret_err);
void pw_prober_ask(struct pw_prober *prober, struct pw_module_probe *probe_keep);
/* Whoever asks now might want to see what this probe has passed already. */
bool pw_prober_begun(struct pw_prober *prober, const struct pw_module_probe *probe);
/* Probes that are not reported yet never are: each is handed to `drop`, but one that a file system holds, which is never given
 * back. */
void pw_prober_free(struct pw_prober *prober, void (*drop)(struct pw_module_probe *probe));

#endif
