/* What work/ has: compilations under way, programs that leave boards, runs that were read.
 */
#ifndef PW_DAEMON_WORK_WORK_H
#define PW_DAEMON_WORK_WORK_H

#include "base/list.h"

struct pw_compiler;
struct pw_describe;

struct pw_work {
        struct pw_describe *describe;
        struct pw_compiler *compiler; /* NULL: it has not begun, or is at its end */
        uint64_t next_compilation;
        struct pw_list jobs;          /* compilations under way */
        struct pw_list leaving;       /* places of programs that go back */
        struct pw_list submitted;     /* tenants with runs that were read */
};

static inline void pw_work_init(struct pw_work *work)
{
        pw_list_init(&work->jobs);
        pw_list_init(&work->leaving);
        pw_list_init(&work->submitted);
}

#endif
