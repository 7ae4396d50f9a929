/* Standard descriptors and signals. */
#include "base/standard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

void pw_standard_begin(void)
{
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
                if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
                        (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY); /* the lowest that is free: this one */
        signal(SIGXFSZ, SIG_IGN);
}
