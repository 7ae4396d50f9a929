/* pathwaysd: the one place with a loop. It turns I/O into events for store and scheduler, which decide, and their actions into
 * I/O (effect.c).
 *
 * One thread owns everything here: no locks. Nothing in the loop blocks; what is slow goes to other threads (memory/worker.c for
 * pages, work/compiler.c). A callback never frees the object that called it: sessions end at the end of a turn.
 *
 * A turn (pw_turn(), loop/turn.c), one step after the other:
 *   - the rings in which clients wrote something are read (sockets are looked at between turns); runs are kept for the third step;
 *   - the boards are read: how many gangs executors have done, and what went wrong;
 *   - entries of objects that lost their last reference are swapped to CLOSING; then the rings of who may refer to them are read
 *     once more (a scan, client/scan.c); what nobody refers to is freed, and the runs are submitted;
 *   - each island orders what it can (pw_scheduler_turn());
 *   - what store and scheduler want done is done (pw_effects()): boards are written, executors rung, waiting clients woken;
 *   - deadlines that are due are acted on. If nothing came in all this the loop yields while runs are under way, then sleeps.
 */
#ifndef PW_DAEMON_DAEMON_H
#define PW_DAEMON_DAEMON_H

#include "base/hash.h"
#include "base/log.h"
#include "base/log_limit.h"
#include "daemon/board/boards.h"
#include "daemon/child/children.h"
#include "daemon/client/clients.h"
#include "daemon/counters.h"
#include "daemon/inspect/inspection.h"
#include "daemon/loop.h"
#include "daemon/memory/memory.h"
#include "daemon/meta/carried.h"
#include "daemon/session/registry.h"
#include "daemon/settings/environment.h"
#include "daemon/settings/settings.h"
#include "daemon/work/work.h"
#include "plane/board/board.h"
#include "scheduler/scheduler.h"
#include "store/store.h"

struct pw_closer;
struct pw_gpus;
struct pw_http;
struct pw_meta;
struct pw_modules;
struct pw_peers;
struct pw_reload;

enum pw_daemon_phase { PW_STARTING = 0, PW_SERVING, PW_DRAINING, PW_STOPPING };

struct pw_daemon {
        struct pw_settings settings;
        struct pw_environment environment;
        int argc;                 /* the command line, for when the config file is read again; borrowed */
        char **argv;
        struct pw_reload *reload; /* NULL: nobody asked for one */
        int64_t operators;        /* the group whose members may see and touch what is of every tenant; -1: none */
        struct pw_log log;
        struct pw_log_limits complaints; /* complaint.h */
        struct pw_hash_secret hash_secret; /* of keys of what clients choose */
        enum pw_daemon_phase phase;
        uint32_t host, epoch;
        uint64_t started_us;
        uint32_t device_count;
        char *run_dir, *state_dir, *socket_path;
        int lock_fd;              /* of the run dir */
        struct pw_counters counters;

        /* who decides */
        struct pw_store *store;
        struct pw_scheduler *scheduler;
        struct pw_meta *meta;
        struct pw_peers *peers;   /* NULL: this host is of no cluster */
        struct pw_carried carried; /* how it stands with metadata */

        /* what each folder has: the struct is in a header there */
        struct pw_loop loop;
        struct pw_registry registry;
        struct pw_clients clients;
        struct pw_memory memory;
        struct pw_work work;
        struct pw_children children;
        struct pw_inspection inspection;
        struct pw_boards *boards;
        struct pw_modules *modules;
        struct pw_gpus *gpus;     /* NULL: this host has none */
        struct pw_http *http;     /* NULL: not asked for */
        const char *http_address; /* where it listens; "": nowhere */
        struct pw_closer *closer; /* NULL: nothing had to be closed on another thread so far */
        bool may_be_sent_files;   /* the system cannot refuse descriptors that clients send (SO_PASSRIGHTS) */
};

/* Build everything up to a listening socket and started executors. Own: *ret_daemon is given back with pw_daemon_free().
 * Errors: PW_EXISTS (a living daemon has the run dir, or another host this one's place in its cluster), PW_UNSUPPORTED (kernel),
 * PW_SYSTEM, PW_INVALID, PW_NO_SPACE, PW_CANCELLED (told to stop while it waited).
 * Blocks: of a host that is new in its cluster until metadata has given it a number. */
PW_MUST_CHECK enum pw_status pw_daemon_new(struct pw_settings *settings_take, int argc, char **argv, struct pw_daemon **ret_daemon,
                                           struct pw_error *ret_err);
/* Serve until SIGTERM or SIGINT, then drain and stop. */
void pw_daemon_run(struct pw_daemon *daemon);
void pw_daemon_free(struct pw_daemon *daemon);

#endif
