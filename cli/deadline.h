/* Deadlines of a subcommand: what --timeout leaves of the time, for each of the things that it waits for one after the other.
 */
#ifndef PW_CLI_DEADLINE_H
#define PW_CLI_DEADLINE_H

#include "pathways.h"

#include <time.h>

static inline int64_t pw_cli_now_us(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* PW_FOREVER where that is too long to be told. */
static inline int64_t pw_cli_end_us(uint64_t timeout_us)
{
        int64_t start_us = pw_cli_now_us();

        return timeout_us < (uint64_t)(PW_FOREVER - start_us) ? start_us + (int64_t)timeout_us : PW_FOREVER;
}

/* At least 0, which looks once. */
static inline int64_t pw_cli_left_us(int64_t end_us)
{
        int64_t now_us = pw_cli_now_us();

        if (end_us == PW_FOREVER)
                return PW_FOREVER;
        return end_us > now_us ? end_us - now_us : 0;
}

#endif
