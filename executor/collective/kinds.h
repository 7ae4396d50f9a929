/* The kinds, each in a file of its name; only kinds.c reads this. */
#ifndef PW_EXECUTOR_COLLECTIVE_KINDS_H
#define PW_EXECUTOR_COLLECTIVE_KINDS_H

#include "executor/collective/collective.h"

extern const struct pw_collective_kind pw_collective_host, pw_collective_nccl;

/* host.c: of all kinds whose sources can be read. */
enum pw_status pw_collective_assemble(const struct pw_assembly *assembly, uint64_t *ret_moved, struct pw_error *ret_err);

#endif
