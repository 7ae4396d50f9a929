/* A redis-server of a test's own, on a Unix socket in a folder of its own.
 */
#ifndef PW_TESTS_CONFORMANCE_SERVER_H
#define PW_TESTS_CONFORMANCE_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

struct server {
        char folder[64];
        char address[96];  /* as --metadata takes it */
        pid_t pid;         /* 0: it does not run */
};

/* False: there is no redis-server on this machine. */
bool server_is_there(void);
/* Make the folder, and start the server with further arguments, up to a NULL; it listens when this returns. The test fails where it
 * does not start. */
void server_begin(struct server *server, const char *const *args);
void server_start(struct server *server, const char *const *args); /* the same in a folder that is there */
/* SIGKILL, and waited for. */
void server_kill(struct server *server);
/* It is killed, and its folder removed. */
void server_end(struct server *server);
/* Ask by a connection of its own, which is closed again; the answer as text, an array's items one a line. Blocks. */
void server_ask(const struct server *server, char *ret_answer, size_t answer_bytes, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

#endif
