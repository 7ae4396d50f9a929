/* Listings between hosts.
 */
#ifndef PW_DAEMON_INSPECT_LIST_PEER_H
#define PW_DAEMON_INSPECT_LIST_PEER_H

/* Makes those that other hosts ask for. */
extern const struct pw_page_maker pw_list_for_hosts;

#endif
