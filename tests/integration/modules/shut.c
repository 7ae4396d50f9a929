/* The module `shut`: where it is loaded to be run, it closes all descriptors of its process, the way to the daemon among them. */
#include "pathways_module.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void shut(void)
{
        char line[200] = "";
        int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
        ssize_t bytes = fd < 0 ? -1 : read(fd, line, sizeof line - 1);

        for (ssize_t i = 0; i < bytes; i++)
                line[i] = line[i] ? line[i] : ' ';
        if (!strstr(line, "--describe")) /* who only asks for its shapes goes on */
                close_range(0, ~0U, 0);
        else
                close(fd);
}

static enum pw_status pass(struct pw_task *task)
{
        memcpy(pw_task_out(task, 0), pw_task_in(task, 0), task->outputs[0].bytes);
        return PW_OK;
}

static enum pw_status same_as_input(struct pw_shape_task *task)
{
        task->outputs[0].dtype = task->inputs[0].dtype;
        task->outputs[0].dims = task->inputs[0].dims;
        return PW_OK;
}

PW_MODULE("shut", PW_FUNCTION(pass, .shape = same_as_input));
