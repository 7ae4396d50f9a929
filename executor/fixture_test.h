/* For tests of the launch loop: a host without a daemon. Boards, segments and images are made by hand in shared memory, executors
 * are forked processes that run the loop, gangs are ordered by the test.
 */
#ifndef PW_EXECUTOR_FIXTURE_TEST_H
#define PW_EXECUTOR_FIXTURE_TEST_H

#include "executor/launch.h"
#include "plane/hint.h"

#include <sched.h>
#include <sys/types.h>

#define WORLD_HOST 3u               /* its number */
#define HOST_SEGMENT 1u             /* host memory */
#define DEVICE_SEGMENT(device) (2u + (device))
#define ROOMS_BYTES (UINT64_C(64) << 20)   /* of a segment; in the memory of the test their heads lie behind them */
#define SEGMENT_BYTES (ROOMS_BYTES / 4 * 5)

/* --- a host -------------------------------------------------------------------------------------------------------------- */

struct world {
        uint32_t device_count, island_count;
        uint16_t island_of[PW_DEVICES_MAX];
        struct pw_bells *bells;
        struct pw_device_board *boards[PW_DEVICES_MAX];
        struct pw_island_board *islands[PW_ISLANDS_MAX];
        uint8_t *segments[2 + PW_DEVICES_MAX];
        uint64_t segment_top[2 + PW_DEVICES_MAX];
        uint64_t arena_top[PW_ISLANDS_MAX];
        _Atomic uint64_t *doorbells;
        struct pw_surroundings around;
        pid_t pids[PW_DEVICES_MAX];
        const struct pw_collective_kind *collective; /* of executors that are started from here on */
        uint64_t launch_delay_us;                    /* likewise, of their devices: 0, or those of world_tests() */
        uint32_t serial;
        uint64_t runs;
};
/* `device_count` devices, the first `device_count / island_count` of them in island 0, and so on. */
void world_init(struct world *world, uint32_t device_count, uint32_t island_count);
void world_done(struct world *world); /* ends the executors */
/* Run tests of worlds whose devices do at once what is launched, then of such that do it later. Returns how many failed. */
#define world_tests(tests) world_tests_run(tests, pw_array_count(tests))
struct CMUnitTest;
int world_tests_run(const struct CMUnitTest *tests, size_t count);
void world_start(struct world *world, uint32_t device);
void world_start_all(struct world *world);
void world_kill(struct world *world, uint32_t device);
/* What its daemon does for the loops. */
struct pw_surroundings world_around(struct world *world);
/* The loop of a device in this process. Own: pw_launch_free(), and close its device. NULL: it cannot be. */
struct pw_launch *world_launch(struct world *world, uint32_t device, const struct pw_device_kind *kind);
uint64_t world_room(struct world *world, uint32_t segment, uint64_t bytes); /* offset of new room */
/* Wait for what another process does; fails the test after 25 s with what it waited for. */
#define WORLD_UNTIL(condition)                                                                  \
        for (int64_t until_ns = pw_now_ns() + INT64_C(25000000000); !(condition); sched_yield()) \
                if (pw_now_ns() > until_ns)                                                     \
                        fail_msg("not within 25 s: %s", #condition)
/* Wait until `device` is done with `seq` or more; fails the test after 25 s. */
void world_wait(struct world *world, uint32_t device, uint64_t seq);
void *world_at(struct world *world, uint32_t segment, uint64_t offset);
struct pw_report world_report(const struct world *world, uint32_t device); /* the next one; there is one */
void world_no_report(const struct world *world);
struct pw_history world_history(const struct world *world, uint32_t device, uint64_t seq); /* of a gang that was run */

/* --- a program ----------------------------------------------------------------------------------------------------------- */

#define BUILD_MAX 4096u
struct build {
        struct pw_image_value values[BUILD_MAX];
        struct pw_image_node nodes[BUILD_MAX];
        struct pw_image_function functions[16];
        struct pw_image_input inputs[16];
        struct pw_image_result results[64];
        struct { uint32_t devices[PW_DEVICES_MAX], count, mesh[PW_MESH_AXES_MAX]; uint64_t block_bytes; } slices[4];
        uint32_t pool[4 * BUILD_MAX]; /* lists of indexes */
        char text[4 * 65536];         /* texts and params */
        uint32_t value_count, node_count, function_count, input_count, result_count, slice_count, pool_count, text_bytes, seq_count;
};
struct build *build_new(void);
#define WORLD_AFAR UINT32_MAX /* in place of a device's number: one of another host */
uint32_t build_slice(struct build *build, const uint32_t *devices, uint32_t count, uint32_t mesh_second);
uint32_t build_value(struct build *build, uint32_t slice, enum pw_dtype dtype, struct pw_dims dims, struct pw_sharding sharding);
/* A value in the room of another one that is dead by then. */
uint32_t build_value_in(struct build *build, uint32_t room_of, struct pw_sharding sharding);
uint32_t build_input(struct build *build, uint32_t value); /* with its load; returns the node */
struct build_call { const char *function; uint32_t inputs[4], input_count, output; const void *params; uint32_t params_bytes; };
uint32_t build_call(struct build *build, const struct build_call *call); /* "pw/add" */
#define SCALE(f) .function = "pw/scale", .params = &(double){ f }, .params_bytes = 8
struct build_transfer {
        uint32_t from, to;
        enum pw_transfer_phase phase;
        enum pw_op op;
        bool eager;
        uint8_t island_partial;
        uint32_t send_node;
};
uint32_t build_transfer(struct build *build, const struct build_transfer *transfer);
void build_wait(struct build *build, uint32_t node, uint32_t for_node); /* one per node */
uint32_t build_result(struct build *build, uint32_t value); /* the value moves into a room of its own */
/* load -> `function` told to go wrong on `shard` -> all-reduce -> scale: results of the two calls. */
struct build *build_failing(uint32_t device_count, const char *function, uint64_t shard, bool eager);
struct pw_image *build_finish(struct build *build_take);

/* --- runs ------------------------------------------------------------------------------------------------------------------ */

struct program {
        struct world *world;
        struct build *build;
        struct pw_image *image;
        uint32_t island, line, serial; /* where the image is: in the last island, for all of them */
        uint32_t slice_lines[4];
};
void program_init(struct program *program, struct world *world, struct build *build_take);
void program_done(struct program *program);

struct input {
        const void *inline_value; /* up to 24 bytes, or NULL */
        uint64_t bytes;
        struct pw_sharding sharding;
        uint32_t mesh[PW_MESH_AXES_MAX];
        struct pw_run_shard shards[PW_DEVICES_MAX];
        uint32_t shard_count;
        bool in_place;
        enum pw_status status;
};
/* A value of that type in the record itself, as an initializer. */
#define INPUT(variable) { .inline_value = &(variable), .bytes = sizeof(variable), .shard_count = 1, .mesh = { 1 } }
/* One shard of `input->bytes` bytes, in new room of host memory; returns that. */
void *input_in_host(struct input *input, struct world *world);
struct run {
        struct program *program;
        uint64_t number;
        uint32_t lines[PW_ISLANDS_MAX];
        uint64_t blocks[4][PW_DEVICES_MAX];   /* offsets in the device's segment, per slice and place */
        uint64_t results[64][PW_DEVICES_MAX]; /* likewise of heads */
};
void run_init(struct run *run, struct program *program, const struct input *inputs);
struct pw_run_record *run_record(const struct run *run, uint32_t island);
/* Order the gangs of one node, an island after the other. */
void run_order(const struct run *run, uint32_t node);
void run_order_all(const struct run *run);
void run_wait(const struct run *run); /* for everything ordered so far on its world */
const struct pw_room_head *run_head(const struct run *run, uint32_t result, uint32_t place);
const void *run_data(const struct run *run, uint32_t result, uint32_t place);

/* --- what most tests begin with ---------------------------------------------------------------------------------------------- */

extern const struct input input_one; /* 1.0, a double in the record itself */

/* A program in a world of its own, and a run of it. */
struct trial {
        struct world world;
        struct program program;
        struct run run; /* the last of trial_run() */
};
void trial_init(struct trial *trial, uint32_t device_count, uint32_t island_count, struct build *build_take);
/* Its executors run. */
void trial_start(struct trial *trial, uint32_t device_count, uint32_t island_count, struct build *build_take);
/* Order a whole run, and wait for it. */
void trial_run(struct trial *trial, const struct input *inputs);
void trial_done(struct trial *trial);

#endif
