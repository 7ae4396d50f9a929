/* pathwaysd: options, then the daemon. */
#include "base/standard.h"
#include "daemon/daemon.h"
#include "daemon/http/metric.h"

#include <malloc.h>
#include <stdio.h>

static int fail(const struct pw_error *err)
{
        fprintf(stderr, "pathwaysd: %s\n", err->text);
        return err->status == PW_INVALID || err->status == PW_BAD_CONFIG ? 2 : 1;
}

/* Whatever is large is mapped, and goes back to the system when it is freed: by default that bound grows to 32 MiB with the first
 * one that is freed, and what a compilation had stays in the heap as holes. */
#define MAPPED_BYTES (128 * 1024)

int main(int argc, char **argv)
{
        struct pw_settings settings;
        struct pw_daemon *daemon;
        struct pw_error err;
        bool refused;

        pw_standard_begin();
        mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
        if (pw_settings_load(&settings, argc, argv, &err) != PW_OK)
                return fail(&err);
        if (settings.help || settings.version || settings.help_mdoc || settings.metrics_mdoc) {
                if (settings.version)
                        printf("pathwaysd %s\n", PACKAGE_VERSION);
                else if (settings.help_mdoc)
                        pw_options_mdoc(&pw_settings_options, stdout);
                else if (settings.metrics_mdoc)
                        pw_metrics_mdoc(stdout);
                else
                        pw_options_help(&pw_settings_options, stdout);
                pw_settings_done(&settings);
                return 0;
        }
        if (pw_daemon_new(&settings, argc, argv, &daemon, &err) != PW_OK) {
                pw_settings_done(&settings);
                return err.status == PW_CANCELLED ? 0 : fail(&err);
        }
        pw_daemon_run(daemon);
        refused = daemon->carried.refused;
        err = daemon->children.refused;
        pw_daemon_free(daemon);
        return err.status == PW_OK ? refused : fail(&err);
}
