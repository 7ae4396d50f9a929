/* What hosts tell the coordinator of its runs: each is what becomes of a message, see message.h. What changes nothing is PW_EXISTS.
 */
#ifndef PW_SCHEDULER_COORDINATOR_ANSWER_H
#define PW_SCHEDULER_COORDINATOR_ANSWER_H

#include "scheduler/run.h"

struct pw_live;
struct pw_result_live;

/* ask.c */
/* PLACED: where a result is going to be. Errors: PW_PROTOCOL: it has other places. */
PW_MUST_CHECK enum pw_status pw_live_placed(struct pw_live *live, uint32_t result, const struct pw_core_body *body,
                                            struct pw_error *ret_err);
/* RESERVED: all its rooms are there. */
enum pw_status pw_live_reserved(struct pw_live *live);
/* REFUSED, after a RESERVE or an EXPECT. */
enum pw_status pw_live_refused(struct pw_live *live, bool reserve, enum pw_status status, const char *text);
/* PREPARED: its record there is written, or not. Once all are its fragments may start, as soon as those of the runs that it
 * reads are, too. Errors: PW_PROTOCOL: it was not asked for. */
PW_MUST_CHECK enum pw_status pw_live_prepared(struct pw_live *live, uint32_t island, enum pw_status status, const char *text,
                                              struct pw_error *ret_err);
/* run.c */
/* DONE: it is over there; `nodes` of its gangs were to be ordered, `nodes_ordered` were. */
void pw_live_done(struct pw_live *live, uint32_t nodes, uint32_t nodes_ordered);
/* report.c */
/* FAILED: a node did, on that device. */
enum pw_status pw_live_cause(struct pw_live *live, uint32_t node, struct pw_device_id device, enum pw_status status,
                             const char *text);
/* SPOILED: a result is going to be an error. `text`: of the loss of the device; or NULL. */
enum pw_status pw_live_spoiled(struct pw_live *live, uint32_t result, const struct pw_core_message *message, const char *text);
/* result.c */
/* RESULT: nobody writes it any more. */
enum pw_status pw_live_result(struct pw_live *live, uint32_t result);
/* LOST: it was there, and is not, or not everywhere. Errors: PW_PROTOCOL: it has no such place. */
PW_MUST_CHECK enum pw_status pw_result_lost(struct pw_result_live *result, const struct pw_core_message *message, const char *text,
                                            struct pw_error *ret_err);
/* Whom LOST is about; NULL: it is gone. */
struct pw_result_live *pw_result_find(const struct pw_scheduler *scheduler, const struct pw_core_message *message);

#endif
