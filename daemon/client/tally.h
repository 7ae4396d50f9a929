/* What is counted at a tenant, counted again from its sessions, for `pathways check`: what a session counts there it takes back
 * when it ends. A figure that stays behind would refuse others of its user, a little more each time, until the daemon ends. Loop
 * thread only.
 */
#ifndef PW_DAEMON_CLIENT_TALLY_H
#define PW_DAEMON_CLIENT_TALLY_H

struct pw_daemon;

/* Each tenant's figure that is not the sum of its sessions' is one call. */
void pw_tally_each(struct pw_daemon *daemon, void (*found)(void *context, const char *where, const char *problem), void *context);

#endif
