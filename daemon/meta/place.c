/* A host that waits for its number. */
#include "daemon/meta/place.h"

#include "daemon/alarm.h"
#include "daemon/meta/meta.h"

#include <event2/event.h>

enum pw_status pw_place_await(struct pw_daemon *daemon, struct pw_error *ret_err)
{
        while (!daemon->epoch) {
                if (daemon->carried.refused)
                        return pw_error_set(ret_err, daemon->carried.why.status, "%s", daemon->carried.why.text);
                if (daemon->phase >= PW_DRAINING)
                        return pw_error_set(ret_err, PW_CANCELLED, "stopped before this host had a number in its cluster");
                if (pw_meta_turn(daemon->meta))
                        continue;
                pw_alarm_set(&daemon->loop.alarm, pw_meta_next_us(daemon->meta));
                event_base_loop(daemon->loop.base, EVLOOP_ONCE);
        }
        return PW_OK;
}

enum pw_status pw_place_explain(const struct pw_daemon *daemon, struct pw_error *ret_err)
{
        const struct pw_carried *carried = &daemon->carried;

        return pw_error_set(ret_err, carried->why.status != PW_OK ? carried->why.status : PW_NOT_READY,
                            "host %s waits for its number in cluster %s%s%s", carried->host_name, carried->cluster,
                            carried->why.status != PW_OK ? ": " : "", carried->why.status != PW_OK ? carried->why.text : "");
}
