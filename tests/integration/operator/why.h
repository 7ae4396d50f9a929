/* What tests of `why` share.
 */
#ifndef PW_TESTS_INTEGRATION_OPERATOR_WHY_H
#define PW_TESTS_INTEGRATION_OPERATOR_WHY_H

#include "tests/integration/operator/chain.h"
#include "tests/integration/trace.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static inline uint64_t newest_run(struct it_host *host)
{
        struct pw_listing *runs = it_list(host->session, "runs", NULL);
        uint64_t run = it_rows(runs) ? (uint64_t)it_number(runs, it_rows(runs) - 1, "run") : 0;

        pw_listing_free(runs);
        return run;
}

static inline pid_t executor_of(struct it_host *host, const char *device)
{
        struct pw_listing *devices = it_list(host->session, "devices", NULL);
        pid_t pid = (pid_t)it_number(devices, it_find(devices, "device", device), "pid");

        pw_listing_free(devices);
        return pid;
}

#endif
