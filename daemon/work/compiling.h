/* Where the compilations of a tenant stand: what waits, what is at a thread, and what shape functions answered it.
 */
#ifndef PW_DAEMON_WORK_COMPILING_H
#define PW_DAEMON_WORK_COMPILING_H

#include "daemon/session/tenant.h"
#include "daemon/work/compiler.h"
#include "daemon/work/shape/shapes.h"

struct pw_compiling {
        struct pw_compile_lane lane;
        struct pw_list waiting;    /* jobs that have not begun */
        uint32_t begun;
        struct pw_shapes shapes;   /* the thread's that the tenant's work is at */
        uint64_t shapes_bytes;     /* as they were charged */
};

/* NULL: out of memory. Its end: it has none any more. */
struct pw_compiling *pw_compiling_new(void);
bool pw_compiling_busy(const struct pw_compiling *compiling);
/* The tenant's answers of shape functions take so many bytes now. */
void pw_compiling_charge(struct pw_daemon *daemon, struct pw_tenant *tenant, uint64_t shapes_bytes);
/* What shape functions answered is asked again. It is not busy. */
void pw_compiling_forget(struct pw_daemon *daemon, struct pw_tenant *tenant);
void pw_compiling_free(struct pw_compiling *compiling);

#endif
