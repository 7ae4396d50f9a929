/* A tenant of this host: by default a Unix user. It has a futures segment and a hint page, and memory on devices.
 */
#ifndef PW_DAEMON_SESSION_TENANT_H
#define PW_DAEMON_SESSION_TENANT_H

#include "daemon/daemon.h"
#include "daemon/session/listers.h"
#include "daemon/session/speakers.h"
#include "store/account/quota.h"

#include <sys/types.h>

struct pw_segment;

/* Catching up on lanes (lane.c): the round in which it was seen last what is there to be read, and the tenant's runs when nothing
 * of it could be read; UINT64_MAX: it was not tried yet. */
struct pw_catching { uint64_t round, runs; };

/* The last of its scans of which nothing more could be read, and the runs that it had then. */
struct pw_settled { uint64_t scan, runs; };

/* What its sessions count at it, counted again: tally.h. */
struct pw_tally { uint64_t connections, unread_bytes, kept_bytes, begun_bytes; };

struct pw_tenant;

enum pw_freezer_kind { PW_FREEZER_FROZEN, PW_FREEZER_FETCHED, PW_FREEZERS }; /* memory/freezer/freezer.h */

/* Tenants for those below who have no client of one: a table of who keeps tenants. */
struct pw_tenancy {
        /* The tenant of that name, made where nobody of it is here; it stays until leave(). Errors: PW_DENIED (this host has no
         * such user), PW_NO_MEMORY, PW_SYSTEM.   Blocks: on the system's table of users. */
        enum pw_status (*enter)(struct pw_daemon *daemon, const char *name, struct pw_tenant **ret_tenant,
                                struct pw_error *ret_err);
        void (*leave)(struct pw_daemon *daemon, struct pw_tenant *tenant);
};

struct pw_tenant {
        uid_t uid;
        bool begun;
        char *name;
        int hints_fd;
        struct pw_hint_page *hints;
        struct pw_recounting *recounting; /* NULL: the dead left nothing on it */
        struct pw_segment *futures;
        uint32_t connections;   /* those that did not say Hello, and executors, too */
        uint32_t strangers;     /* that did not say Hello */
        uint32_t sessions;      /* attached clients, and those that ended whose process lives and has not left */
        uint32_t asks;          /* requests that other hosts are to answer */
        uint32_t segments, backings; /* of memory */
        struct pw_backing_line *line;   /* where works on its memory wait for the worker */
        uint64_t measured_bytes; /* of its hint page, its futures segment and heads, for overhead.c: told to the store */
        uint64_t runs;          /* that they submitted */
        struct pw_catching catching; /* on all its lanes */
        uint64_t scans;         /* at all its lanes, to catch up */
        struct pw_settled settled;
        struct pw_dlane *catcher; /* that goes on to catch up in the next round; NULL: none */
        uint64_t part_round, behind; /* the round that `part` is of; the last one in which that was not enough */
        uint32_t part;          /* of its lanes that may still be read in it */
        uint64_t scan;          /* that goes on over several turns: scan.h; 0: none does */
        struct pw_list scanning, scan_next; /* sessions it waits for; that are to be in the next */
        struct pw_list of_scanning; /* in daemon->clients.scanning, or alone */
        struct pw_list submitted, batch; /* runs that were read, and those whose scan is under way */
        struct pw_list of_submitted; /* in daemon->work.submitted, or alone */
        uint64_t unread_bytes;  /* of replies that its clients have not taken: output.c */
        uint64_t begun_bytes;   /* of large frames that they began to send: input.c */
        struct pw_freezer *freezers[PW_FREEZERS]; /* NULL: nobody needed one */
        uint32_t fetches;       /* requests of its sessions for values of devices, that wait */
        uint32_t fetched;       /* its values that are on their way from devices */
        struct pw_segment *devices[PW_DEVICES_MAX]; /* NULL: it had no slice */
        struct pw_quota quota;
        struct pw_compiling *compiling; /* program.h */
        struct pw_speakers speakers;
        struct pw_listers listers; /* listings that its sessions asked for */
        struct pw_tally tally;  /* of the last `check` */
};

#endif
