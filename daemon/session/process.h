/* A process with sessions: one pidfd however many it opens (client/process.c).
 */
#ifndef PW_DAEMON_SESSION_PROCESS_H
#define PW_DAEMON_SESSION_PROCESS_H

#include "base/list.h"

#include <sys/types.h>

struct event;
struct pw_backing;
struct pw_daemon;
struct pw_segment;
struct pw_tenant;

struct pw_ended_session {
        uint32_t number;
        struct pw_tenant *tenant;
        struct pw_segment *own; /* that was granted nothing; NULL: the store knows it */
};

struct pw_process {
        pid_t pid;
        int pidfd;
        struct event *event;
        struct pw_daemon *daemon;
        struct pw_list sessions; /* struct pw_dsession.of_process */
        struct pw_list dying;    /* dead, and not all that its sessions held is gone: in daemon->clients.dying; else alone */
        struct pw_backing *backing; /* where its next session gets memory; NULL: none yet */
        struct pw_ended_session *ended;  /* its ended sessions that the store waits for */
        uint32_t ended_count, ended_capacity;
};

#endif
