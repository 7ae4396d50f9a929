/* A timerfd on the loop. */
#include "daemon/alarm.h"

#include <errno.h>
#include <event2/event.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* Waking is all: what is due is found by the turn that follows. */
static void on_alarm(evutil_socket_t fd, short what, void *context)
{
        struct pw_alarm *alarm = context;
        uint64_t times;

        (void)what;
        (void)!read(fd, &times, sizeof times);
        alarm->set_us = UINT64_MAX;
}

enum pw_status pw_alarm_init(struct pw_alarm *alarm, struct event_base *base, struct pw_error *ret_err)
{
        *alarm = (struct pw_alarm){ .fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC), .set_us = UINT64_MAX };
        if (alarm->fd < 0)
                return pw_error_errno(ret_err, errno, "timerfd_create");
        alarm->event = event_new(base, alarm->fd, EV_READ | EV_PERSIST, on_alarm, alarm);
        if (!alarm->event || event_add(alarm->event, NULL) < 0)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for its alarm");
        return PW_OK;
}

void pw_alarm_done(struct pw_alarm *alarm)
{
        if (alarm->event)
                event_free(alarm->event);
        if (alarm->fd > 0)
                close(alarm->fd);
}

void pw_alarm_set(struct pw_alarm *alarm, uint64_t at_us)
{
        struct itimerspec at = { .it_interval = { 0, 0 } };

        /* What comes earlier stays: that costs a look when it goes off, and most often it is set anew before. */
        if (alarm->set_us <= at_us && (at_us != UINT64_MAX || alarm->set_us == UINT64_MAX))
                return;
        alarm->set_us = at_us;
        if (at_us != UINT64_MAX) {
                at.it_value.tv_sec = (time_t)(at_us / 1000000);
                at.it_value.tv_nsec = (long)(at_us % 1000000) * 1000 + 1; /* all zero would mean never */
        }
        timerfd_settime(alarm->fd, TFD_TIMER_ABSTIME, &at, NULL);
}
