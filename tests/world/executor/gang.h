/* A gang as the executors of the world have it, those that do it at once (executor.c) and those that launch it and have it done
 * later (flight.c).
 */
#ifndef PW_TESTS_WORLD_EXECUTOR_GANG_H
#define PW_TESTS_WORLD_EXECUTOR_GANG_H

#include "base/sources.h"
#include "tests/world/client/store.h"
#include "tests/world/executor/kind.h"

struct world_gang {
        struct world *world;
        struct world_executor *self;
        const struct pw_run_record *record;
        const struct pw_image *image;
        const struct pw_image_node *node;
        uint64_t seq;
        uint32_t index;
        struct world_run *run;
};

struct world_shard { uint64_t value; uint32_t status, cause_node; struct pw_device_id cause_device; };

/* gang.c: what it works on */
struct world_gang world_gang_of(struct world *world, struct world_executor *self, const struct pw_order *order, uint64_t seq);
const struct pw_slice_record *world_slice_of(const struct world_gang *gang, uint32_t slice);
struct pw_device_id world_device_id(uint32_t device);
uint32_t world_place_of(const struct pw_slice_record *slice, uint32_t device);
const struct pw_run_input *world_input_of(const struct world_gang *gang, uint32_t index);
const struct pw_run_shard *world_shards_of(const struct world_gang *gang, const struct pw_run_input *input);
/* The room of a value on the device at `place` of its slice. An executor of the world has the head of a room in the room, and the
 * value behind it. */
struct pw_room_head *world_room_of(const struct world_gang *gang, uint32_t index, uint32_t place);
struct world_shard world_read_head(const struct world_gang *gang, const struct pw_room_head *head, uint32_t device);
struct world_shard world_read_value(const struct world_gang *gang, uint32_t value, uint32_t place);
void world_report(const struct world_gang *gang, uint32_t result, const struct world_shard *shard, const char *text);
/* This member's shard of a value: its bytes alone, its head alone (the daemon is told of results in error), both. */
void world_write_bytes(const struct world_gang *gang, uint32_t index, uint64_t bytes);
void world_write_head(const struct world_gang *gang, uint32_t index, const struct world_shard *shard);
void world_write_value(const struct world_gang *gang, uint32_t index, const struct world_shard *shard);

/* executor.c: what members do */
/* Of several errors the first counts; a loss only where there is nothing else. */
bool world_outranks(uint32_t status, uint32_t other);
bool world_cancelled(const struct world_gang *gang);
/* Does the own function fail, where that is not for other reasons an error? */
bool world_is_failing(const struct world_gang *gang);
/* What a call makes of its inputs, before its outputs are told apart; what becomes of that: its function may fail. */
struct world_shard world_call(const struct world_gang *gang);
struct world_shard world_call_ends(const struct world_gang *gang, struct world_shard out);
/* It is what the device is at from now on; it is done. */
void world_gang_begins(const struct world_gang *gang);
void world_gang_ends(const struct world_gang *gang);

/* sources.c: what members of loads and transfers read */
uint32_t world_sender_place(const struct world_gang *gang); /* PW_PLACE_NONE: it is none */
uint32_t world_receiver_place(const struct world_gang *gang); /* likewise */
void world_arrive(const struct world_gang *gang); /* as a sender it says its mark */
/* What they are, all together. False: a sender's mark is not there. */
bool world_sources_read(const struct world_gang *gang, struct world_shard *ret_all);
/* The bytes that lie there, of sources that were found to be values before: all the same, if they still are. */
uint64_t world_sources_take(const struct world_gang *gang, bool *ret_same);
void world_sources_differ(const struct world_gang *gang) __attribute__((noreturn));
/* What has become of them by the end of the copy. PW_OK: what was taken is a value. */
struct world_shard world_sources_again(const struct world_gang *gang);

/* flight.c: what was launched and is not done */
uint32_t world_flights_count(const struct world_executor *self);
enum world_launch {
        WORLD_LAUNCHED,
        WORLD_SAID,  /* not yet: as a sender it has said its mark */
        WORLD_LATER, /* some of what is under way has to be done before */
        WORLD_NEVER, /* it waits for others, or is known to be an error: it is done when nothing is under way */
};
enum world_launch world_flight_launch(const struct world_gang *gang); /* its waits are over */
/* One thing that the device does, or that is seen of it. False: there is none. */
bool world_flight_step(struct world *world, struct world_executor *self);

#endif
