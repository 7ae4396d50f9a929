/* Tables of functions that those below are handed: what they have to tell those above. */
#include "daemon/loop/calls.h"

#include "daemon/client/client.h"
#include "daemon/client/observer.h"
#include "daemon/memory/fetch/fetch.h"
#include "daemon/work/shape/describe.h"

#include <unistd.h>

static enum pw_status connect_child(struct pw_daemon *daemon, int fd_take, pid_t pid, struct pw_error *ret_err)
{
        struct pw_dsession *session;

        return pw_session_new(daemon, fd_take, pid, geteuid(), &session, ret_err);
}

const struct pw_child_calls pw_child_calls = { .connect = connect_child,
                                               .describer_up = pw_describe_up,
                                               .describer_detached = pw_describe_detached,
                                               .describer_down = pw_describe_down,
                                               .executor_down = pw_fetches_executor_down };

void pw_fetched_value(struct pw_daemon *daemon, const struct pw_fetched_value *value)
{
        daemon->clients.observer->moved(daemon, &(struct pw_moved){ .object = value->object, .to = "host memory, to be read",
                                                                    .client = "pathwaysd", .tenant = value->tenant,
                                                                    .bytes = value->bytes, .start_us = value->start_us,
                                                                    .end_us = value->end_us });
}
