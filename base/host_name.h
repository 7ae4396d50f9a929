/* Names of hosts and of clusters: they are shown, they are parts of keys, and certificates have them.
 *
 * Threads: any.   Blocks: never.
 */
#ifndef PW_BASE_HOST_NAME_H
#define PW_BASE_HOST_NAME_H

#include <stdbool.h>

#define PW_HOST_NAME_MAX 64u /* bytes, without the 0 behind them: as many as Linux lets a host name have */

/* 1 to PW_HOST_NAME_MAX letters, digits, '.', '-', '_'. */
bool pw_host_name_ok(const char *name);
/* The same, but for the case of letters. */
bool pw_host_name_equal(const char *a, const char *b);

#endif
