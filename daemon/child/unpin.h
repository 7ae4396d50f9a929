/* Pages of clients that executors may have registered with their devices (executor/program/pins.h): they are asked to let go of
 * them before the pages are given back.
 *
 * An executor says in its board whether it has any, and they are in files that it was given: others need not wait for it, whatever
 * keeps it. What it is asked has a number that counts up, over all executors, and it answers with the number up to which it has
 * done so; one whose process has ended has let go of all.
 */
#ifndef PW_DAEMON_CHILD_UNPIN_H
#define PW_DAEMON_CHILD_UNPIN_H

#include "base/table.h"

struct pw_child;
struct pw_daemon;

struct pw_unpin_pages { uint64_t file, offset, bytes; }; /* file: as pw_memfd_file() says */
#define PW_UNPIN_MOST 64u
#define PW_UNPIN_FILES 65536u

/* Of one executor. */
struct pw_child_unpins {
        uint64_t asked, told, answered; /* numbers: the last, the last that it has heard of, up to which it has let go */
        struct pw_table files;          /* that its process was given; */
        bool any_file;                  /* more than are told apart: it is asked of all */
        bool all;                       /* more than there is room for: of everything */
        uint32_t count;                 /* not told yet: */
        struct pw_unpin_pages pages[PW_UNPIN_MOST];
};

/* The executor of `device` is given this file, pages of which it may register. */
void pw_child_unpin_may(struct pw_daemon *daemon, uint32_t device, uint64_t file);
/* What was asked, and whom: a bit for each device. */
struct pw_unpin_asked { uint64_t number, devices; };
/* Ask each executor that may have any of them to let go; number 0: nobody has. */
struct pw_unpin_asked pw_children_unpin(struct pw_daemon *daemon, const struct pw_unpin_pages *pages);
/* Have all who were asked let go? */
bool pw_children_unpinned(const struct pw_daemon *daemon, const struct pw_unpin_asked *asked);
/* An executor says that it has, up to `upto`, and is about to hear what else it is asked. */
const struct pw_child_unpins *pw_child_unpinned(struct pw_daemon *daemon, uint32_t device, uint64_t upto);
void pw_child_unpin_told(struct pw_daemon *daemon, uint32_t device); /* it was */
void pw_child_unpin_none(struct pw_child *child); /* its process has ended */

#endif
