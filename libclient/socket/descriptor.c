/* Whether a descriptor is still what it was. */
#include "libclient/socket/descriptor.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

struct pw_descriptor pw_descriptor_of(int fd_take)
{
        struct stat stat;
        if (fd_take < 0)
                return PW_DESCRIPTOR_NONE;
        if (fstat(fd_take, &stat) < 0) {
                int number = errno;
                close(fd_take);
                errno = number;
                return PW_DESCRIPTOR_NONE;
        }
        return (struct pw_descriptor){ fd_take, stat.st_dev, stat.st_ino };
}

bool pw_descriptor_is_ours(const struct pw_descriptor *descriptor)
{
        struct stat stat;
        return descriptor->fd >= 0 && fstat(descriptor->fd, &stat) == 0 && stat.st_dev == descriptor->device &&
               stat.st_ino == descriptor->inode;
}

void pw_descriptor_close(struct pw_descriptor *descriptor)
{
        if (pw_descriptor_is_ours(descriptor))
                close(descriptor->fd);
        *descriptor = PW_DESCRIPTOR_NONE;
}
