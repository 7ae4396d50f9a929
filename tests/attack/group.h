/* A memory cgroup for a daemon and its executors.
 */
#ifndef PW_TESTS_ATTACK_GROUP_H
#define PW_TESTS_ATTACK_GROUP_H

#include "tests/integration/harness.h"

struct group { char folder[200]; };

/* The daemon and its executors are in one with this limit, of version 1. False: this system does not let us; nothing is left. */
bool group_make(const struct it_host *host, uint64_t limit_bytes, struct group *ret_group);
bool group_limit(const struct group *group, uint64_t limit_bytes);
uint64_t group_used(const struct group *group);
uint64_t group_peak(const struct group *group);
/* Out of it again: a group is only removed when nobody is in it. */
void group_leave(const struct group *group, const struct it_host *host);

#endif
