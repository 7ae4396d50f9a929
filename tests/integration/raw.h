/* A client without the library: a socket, Hello, and requests as fast as they can be written while replies are read.
 */
#ifndef PW_TESTS_INTEGRATION_RAW_H
#define PW_TESTS_INTEGRATION_RAW_H

#include "tests/integration/frame.h"
#include "tests/integration/harness.h"

/* A connected socket, Hello not said; -1: refused by the system. */
int raw_connect(const struct it_host *host);
/* Say Hello and read the answer. Its status; `text`: its sentence. */
enum pw_status raw_hello(int fd, char text[200]);
/* The same as of a library that knows the shared memory in another layout. */
enum pw_status raw_hello_of(int fd, uint32_t layout, char text[200]);

/* `count` requests, filled by `fill`, which gets a zeroed one with its id; each is answered, or the test fails after `limit_us`.
 * Returns how many were answered with PW_OK. Replies come in any order and bring no descriptors. `unread`: return when all are
 * written, or the time is over. `before`: so many of an earlier flood were not read, and are awaited, too. */
struct raw_flood {
        int fd;
        uint32_t count, before;
        void (*fill)(void *context, uint32_t i, Pathways__Wire__Request *request);
        void *context;
        int64_t limit_us;
        bool unread;
};
uint32_t raw_flood(const struct raw_flood *flood);
/* The daemon closes it, whatever is said; what it still sends is read. */
void raw_is_hung_up(int fd);
/* For a flood: each request unbinds a name that is not bound. */
void raw_fill_remove(void *context, uint32_t i, Pathways__Wire__Request *request);

#endif
