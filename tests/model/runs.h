/* Runs in the world of the models: a record has at most one input and one result.
 */
#ifndef PW_MODEL_RUNS_H
#define PW_MODEL_RUNS_H

#include "tests/model/world.h"

#define RUNS_ROOMS 2u

/* What its checks may look at. */
struct runs_seen {
        bool overwritten;         /* a run has written into the room of a value that was given to it */
        /* how often the room of a result went back; the shard of a result has its number as its offset */
        uint8_t freed[RUNS_ROOMS];
        uint8_t refused;          /* runs whose input was not there */
};
extern struct runs_seen runs_seen;

void runs_begin(void); /* by world_begin() */
/* Slot `slot` of the futures, granted to client `i`, becomes a result that is ready. */
void runs_result(uint32_t i, uint32_t slot);
/* A client publishes a RUN: without input if that is NULL. False: the session ended. */
bool runs_publish(struct world_client *client, const struct pw_future *input, bool donated, const struct pw_future *result);
void runs_free_room(void *payload);
void runs_cancel(uint64_t number);

#endif
