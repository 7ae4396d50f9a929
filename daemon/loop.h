/* What the loop knows of itself: what wakes it, and whether there is more to do.
 */
#ifndef PW_DAEMON_LOOP_H
#define PW_DAEMON_LOOP_H

#include "base/list.h"
#include "daemon/alarm.h"

#include <stdbool.h>

struct event;
struct event_base;
struct pw_daemon;

struct pw_loop {
        struct event_base *base;
        struct pw_alarm alarm;    /* at the nearest deadline of all: timer.h */
        struct event *signals[3];
        uint64_t watchdog_us;     /* when systemd is told that the loop turns; UINT64_MAX: nobody asks */
        /* Do what store and scheduler want done by now (effect.c): for who cannot go on before. True: there was something. */
        bool (*settle)(struct pw_daemon *daemon, uint64_t now_us);
        uint64_t woken_us;        /* when the first event since the loop slept was taken; 0: none yet */
        uint64_t polled_us;       /* all that sockets had by then was read */
        uint64_t ticked_us;       /* when deadlines were last looked at */
        uint64_t stuck_until_us;  /* actions that found no memory are tried again; UINT64_MAX: there are none */
        uint64_t trim_us;         /* when the heap is trimmed: loop/heap.h; UINT64_MAX: nobody asked */
        uint64_t stop_at_us;      /* while draining: when runs in flight are cut off; else UINT64_MAX */
        struct pw_list sending;   /* sessions whose socket may take more without saying so: session/output.h; */
        uint64_t send_again_us;   /* that is tried then */
        struct pw_list held;      /* sessions that have more than one thing to be told in this turn */
        uint64_t write_count;     /* of pw_outputs_write() */
        const char *doing;        /* what took longest in this turn, as far as is known; NULL: nothing special */
        bool more;                /* something was left to do in this turn */
};

static inline void pw_loop_init(struct pw_loop *loop)
{
        loop->watchdog_us = loop->stuck_until_us = loop->trim_us = loop->stop_at_us = UINT64_MAX;
        pw_list_init(&loop->sending);
        pw_list_init(&loop->held);
        loop->write_count = 1;
}

uint64_t pw_now_us(void); /* CLOCK_MONOTONIC */

/* Much may have been freed: the heap is trimmed a second after the first who says so, for all until then. */
static inline void pw_heap_freed(struct pw_loop *loop)
{
        if (loop->trim_us == UINT64_MAX)
                loop->trim_us = pw_now_us() + 1000000u;
}

/* An event is taken: the turn that it belongs to began now, if the loop slept before. */
static inline void pw_woken(struct pw_loop *loop)
{
        if (!loop->woken_us)
                loop->woken_us = pw_now_us();
}

#endif
