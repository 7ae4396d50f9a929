/* Listings between hosts.
 */
#ifndef PW_DAEMON_INSPECT_LIST_PEER_H
#define PW_DAEMON_INSPECT_LIST_PEER_H

#include <stdbool.h>

struct pw_daemon;

/* Makes those that other hosts ask for, and traces. */
extern const struct pw_page_maker pw_list_for_hosts;
bool pw_list_is_here(const struct pw_daemon *daemon, const char *text); /* the name or number of this host */

#endif
