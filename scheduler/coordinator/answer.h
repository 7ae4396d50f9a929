/* What hosts tell the coordinator of its runs: each is what becomes of a message, see message.h. What changes nothing is PW_EXISTS.
 */
#ifndef PW_SCHEDULER_COORDINATOR_ANSWER_H
#define PW_SCHEDULER_COORDINATOR_ANSWER_H

#include "scheduler/run.h"

struct pw_live;
struct pw_result_live;

/* `host`: which of its program's says so. */
typedef enum pw_status pw_live_hears(struct pw_live *live, uint32_t host, const struct pw_core_message *message,
                                     const struct pw_core_body *body, struct pw_error *ret_err);

/* gather.c */
/* PLACED: where a result is going to be there. Errors: PW_PROTOCOL: it has other places. */
PW_MUST_CHECK pw_live_hears pw_live_placed;
/* Of another host: are these rooms on the devices of its places there, and large enough? Errors: PW_PROTOCOL. */
PW_MUST_CHECK pw_live_hears pw_live_check_rooms;
/* RESERVED: all its rooms there are there. Errors: PW_PROTOCOL: it took over from what is no run of its program; PW_NO_MEMORY. */
PW_MUST_CHECK pw_live_hears pw_live_reserved;
/* DEFERRED: it waits there for what no run will give back: what it has elsewhere is given back. */
pw_live_hears pw_live_deferred;
/* REFUSED, after a RESERVE or an EXPECT. */
pw_live_hears pw_live_refused;
/* start.c */
/* PREPARED: its records there are written, or not. Once they are everywhere it may start, as soon as those of the runs that it
 * reads are, too. Errors: PW_PROTOCOL: it was not asked for. */
PW_MUST_CHECK pw_live_hears pw_live_prepared;
/* run.c */
/* DONE: it is over there; results of which nobody has told by the run's end are errors. */
pw_live_hears pw_live_done;
/* report.c */
/* FAILED: a node did, on that device. */
pw_live_hears pw_live_failed;
/* SPOILED: a result is going to be an error. */
pw_live_hears pw_live_spoiled;
/* result.c */
/* RESULT: nobody writes it there any more. */
pw_live_hears pw_live_result;
/* LOST: it was there, and is not, or not everywhere. Errors: PW_PROTOCOL: it has no such place. */
PW_MUST_CHECK enum pw_status pw_result_lost(struct pw_result_live *result, const struct pw_core_message *message,
                                            const struct pw_core_body *body, struct pw_error *ret_err);
/* A host says something of a result: has it a place of that? Errors: PW_PROTOCOL. */
PW_MUST_CHECK enum pw_status pw_result_check(const struct pw_result_live *result, const struct pw_core_message *message,
                                             struct pw_error *ret_err);
/* Whom LOST is about; NULL: it is gone. */
struct pw_result_live *pw_result_find(const struct pw_scheduler *scheduler, const struct pw_core_message *message);

#endif
