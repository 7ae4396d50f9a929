/* Threads beside the loop, for what a transport has to compute and for what blocks: a few workers that take what is asked in turn,
 * and guests, which have a thread of their own.
 */
#ifndef PW_DAEMON_TRANSPORT_CREW_H
#define PW_DAEMON_TRANSPORT_CREW_H

#include "base/error.h"
#include "base/list.h"

struct pw_crew;
struct pw_loop;

struct pw_crew_work {
        struct pw_list link;
        struct pw_crew *crew;
        void (*work)(struct pw_crew_work *work); /* on a thread */
        void (*done)(struct pw_crew_work *work); /* then, on the loop */
};

/* No thread is made before something is asked. Errors: PW_NO_MEMORY, PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_crew_new(struct pw_loop *loop, struct pw_crew **ret_crew, struct pw_error *ret_err);
/* Have it done. Own: `work` is kept until its `done` is called. Errors: PW_SYSTEM: there is no thread, nor can one be had. */
PW_MUST_CHECK enum pw_status pw_crew_ask(struct pw_crew *crew, struct pw_crew_work *work_keep, struct pw_error *ret_err);
/* The same on a thread of its own, for what may take long. */
PW_MUST_CHECK enum pw_status pw_crew_ask_guest(struct pw_crew *crew, struct pw_crew_work *work_keep, struct pw_error *ret_err);
/* Works under way come to their end; nobody's `done` is called any more. Accepts NULL.   Blocks: as long as they take. */
void pw_crew_free(struct pw_crew *crew);

#endif
