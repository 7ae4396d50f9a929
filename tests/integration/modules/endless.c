/* The module `endless`: an executor that loads it is in that for ever, and the describer is not. `nop` copies;
 * its time limit, 50 ms, is not for that. */
#include "pathways_module.h"

#include <fcntl.h>
#include <unistd.h>

__attribute__((constructor)) static void begin(void)
{
        char line[4096];
        int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
        ssize_t bytes = fd < 0 ? 0 : read(fd, line, sizeof line);

        close(fd);
        while (bytes > 0 && !memmem(line, (size_t)bytes, "describe", 8))
                pause();
}

static enum pw_status nop(struct pw_task *task)
{
        memcpy(pw_task_out(task, 0), pw_task_in(task, 0), task->outputs[0].bytes);
        return PW_OK;
}

PW_MODULE("endless", PW_FUNCTION(nop, .shape = pw_shape_as_input_0, .time_limit_us = 50000));
