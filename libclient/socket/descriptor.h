/* A descriptor of the library's in a process that may close it behind its back, closefrom(3) above all: its number may be another
 * file's by then. Whoever is about to use the number asks first whether it is still the same file.
 *
 * Files without an inode of their own, eventfds above all, are told from others of another kind only: beside such a one, ask for
 * the socket of the session too.
 */
#ifndef PW_LIBCLIENT_SOCKET_DESCRIPTOR_H
#define PW_LIBCLIENT_SOCKET_DESCRIPTOR_H

#include <stdbool.h>
#include <sys/types.h>

struct pw_descriptor {
        int fd; /* -1: none */
        dev_t device;
        ino_t inode;
};
#define PW_DESCRIPTOR_NONE ((struct pw_descriptor){ .fd = -1 })

struct pw_descriptor pw_descriptor_of(int fd_take); /* none, and errno set: it is closed */
bool pw_descriptor_is_ours(const struct pw_descriptor *descriptor);
void pw_descriptor_close(struct pw_descriptor *descriptor); /* unless the number is another file's; it is none then */

#endif
