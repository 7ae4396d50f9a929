/* `pathways trace` around what a test does. */
#include "tests/integration/operator/recording.h"

#include <signal.h>
#include <stdio.h>

static bool somebody_traces(const struct pw_listing *status, void *context)
{
        (void)context;
        return it_number(status, 0, "traces") == 1;
}

struct it_command it_recording_begin(struct it_host *host, char path[120])
{
        struct it_command command;

        snprintf(path, 120, "%s/trace.json", host->folder);
        command = it_command_start(host, IT_ARGS("trace", "--seconds", "1h", "-o", path));
        it_until(host->session, "status", somebody_traces, NULL);
        return command;
}

struct it_chrome it_recording_end(struct it_command *command, const char *path)
{
        struct it_chrome chrome;

        assert_int_equal(it_command_end(command, SIGINT), 0);
        if (!it_chrome_read(path, &chrome))
                fail_msg("%s", chrome.problem);
        assert_int_equal(chrome.lost, 0);
        return chrome;
}
