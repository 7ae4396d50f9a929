/* Health, from the phase and the states of the executors. */
#include "daemon/http/health.h"

#include "daemon/child/child.h"

#include <stdio.h>

bool pw_health(const struct pw_daemon *daemon, char text[PW_HEALTH_BYTES])
{
        uint32_t ready = 0, down = 0;

        for (uint32_t i = 0; i < daemon->device_count; i++) {
                if (daemon->children.all[i].state == PW_CHILD_READY)
                        ready++;
                else
                        down = i;
        }
        if (daemon->phase >= PW_DRAINING)
                snprintf(text, PW_HEALTH_BYTES, "stopping: no new work is taken\n");
        else if (daemon->phase == PW_STARTING)
                snprintf(text, PW_HEALTH_BYTES, "starting: %u of %u devices are ready\n", ready, daemon->device_count);
        else if (ready < daemon->device_count)
                snprintf(text, PW_HEALTH_BYTES, "%s: %u of %u devices are down, h%u:%u among them\n",
                         ready ? "degraded" : "no device works", daemon->device_count - ready, daemon->device_count, daemon->host,
                         down);
        else
                snprintf(text, PW_HEALTH_BYTES, "ok\n");
        return daemon->phase == PW_SERVING && ready;
}
