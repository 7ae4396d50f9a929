/* Threads beside the loop on which programs are compiled: of each tenant one work at a time, tenants in turn.
 *
 * A work is a step of a compilation. It belongs to its thread from pw_compiler_ask() until `done` is called by the loop, and
 * touches nothing else than its own values, and those of its lane. So who compiles much holds up nobody but himself.
 */
#ifndef PW_DAEMON_WORK_COMPILER_H
#define PW_DAEMON_WORK_COMPILER_H

#include "daemon/daemon.h"

struct pw_compiler;

/* Where the works of a tenant stand. Zeroed but for pw_compile_lane_init(). */
struct pw_compile_lane {
        struct pw_list ready; /* in the compiler's list, or alone */
        struct pw_list todo;  /* struct pw_compile_work.link */
        bool busy;            /* a thread is at one */
};
void pw_compile_lane_init(struct pw_compile_lane *lane);

struct pw_compile_work {
        struct pw_list link;
        struct pw_compile_lane *lane;
        void (*work)(struct pw_compile_work *work); /* on a thread */
        void (*done)(struct pw_compile_work *work); /* then, on the loop */
};

/* A lane for what the daemon itself has done on a thread. */
struct pw_compile_lane *pw_compiler_lane(struct pw_compiler *compiler);
PW_MUST_CHECK enum pw_status pw_compiler_new(struct pw_daemon *daemon, struct pw_compiler **ret_compiler, struct pw_error *ret_err);
/* Own: `work` is kept until its `done` is called. */
void pw_compiler_ask(struct pw_compiler *compiler, struct pw_compile_work *work_keep);
/* Works under way come to their end; nobody's `done` is called any more.   Blocks: as long as they take. */
void pw_compiler_free(struct pw_compiler *compiler);

#endif
