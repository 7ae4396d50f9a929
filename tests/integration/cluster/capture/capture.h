/* A network of a test's own, in which daemons on loopback speak with each other, and all that goes over it seen.
 */
#ifndef PW_TESTS_INTEGRATION_CAPTURE_H
#define PW_TESTS_INTEGRATION_CAPTURE_H

#include "tests/integration/harness.h"

#define CAPTURE_PATTERN_BYTES 16
#define CAPTURE_PATTERNS_MAX 8

/* This process, which has one thread, and those that it starts have a network of their own. False: it may not. */
bool capture_network(void);

struct capture {
        const char (*patterns)[CAPTURE_PATTERN_BYTES + 1];
        int count;
        int fd, stop[2];
        struct it_child child;
};
struct capture_seen {
        uint64_t packets, bytes, lost;         /* lost: packets that went by unseen */
        uint64_t seen[CAPTURE_PATTERNS_MAX];   /* packets with that pattern in them */
};

/* From now on; `patterns` is borrowed. */
void capture_begin(struct capture *capture, const char (*patterns)[CAPTURE_PATTERN_BYTES + 1], int count);
void capture_end(struct capture *capture, struct capture_seen *ret_seen);

#endif
