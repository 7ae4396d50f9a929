/* The kinds, each in a file of its name; only kinds.c reads this. */
#ifndef PW_EXECUTOR_COLLECTIVE_KINDS_H
#define PW_EXECUTOR_COLLECTIVE_KINDS_H

#include "executor/collective/collective.h"

extern const struct pw_collective_kind pw_collective_host;

#endif
