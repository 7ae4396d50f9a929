/* The places of what a traced process does, one after each instruction, and a way to bring another such process to one of them.
 *
 * A place is an instruction and how many times it has come by then, so a process that does the same is brought there by a
 * breakpoint: a stop for each time that the instruction comes, in place of one for each instruction before it.
 */
#ifndef PW_TESTS_INTEGRATION_FAULT_PLACES_H
#define PW_TESTS_INTEGRATION_FAULT_PLACES_H

#include "tests/integration/harness.h"

struct it_places { uint64_t *instructions; size_t count; };

/* In the child: from here on it is traced; returns when it is brought on its way. False: tracing is not allowed. */
bool it_be_traced(void);

/* Step a child that is traced to its end, and note where it came by. */
void it_places_record(pid_t pid, struct it_places *ret_places);
void it_places_done(struct it_places *places);

/* Stop a child that is traced before instruction `place` of those noted; false: it ended on another way. */
bool it_places_reach(pid_t pid, const struct it_places *places, size_t place);

#endif
