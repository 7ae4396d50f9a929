/* What the daemon takes from its environment, read once at the start; nothing else reads it. A variable that makes no sense
 * is named in the log and not used: it is nobody's order, unlike an option.
 */
#ifndef PW_DAEMON_SETTINGS_ENVIRONMENT_H
#define PW_DAEMON_SETTINGS_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

struct pw_environment {
        const char *runtime_dir, *state_home, *home; /* absolute, else NULL */
        const char *cuda_cache;                      /* where executors' CUDA drivers keep what they compile; absolute, else NULL */
        const char *notify_socket;                   /* systemd's, absolute or abstract ('@'); else NULL */
        uint64_t watchdog_us;                        /* systemd wants to hear from this process that often; 0: it does not */
        bool journal;                                /* standard error is the journal's: lines begin with their level */
        char odd[7][20];                             /* names of what makes no sense, "" from the end of the list on */
};

void pw_environment_read(struct pw_environment *environment);

#endif
