/* For tests: run an image on virtual devices with real bytes, and evaluate its graph directly, to compare the two.
 *
 * Every element is an i32, sums wrap around, so the order of reductions does not matter. Functions are those of
 * pw_sim_function(): each output element depends on elements all over the inputs, but of the input that is updated in
 * place only on the element at the same place.
 */
#ifndef PW_TESTS_PROGRAM_ROOMS_SIM_H
#define PW_TESTS_PROGRAM_ROOMS_SIM_H

#include "program/image/image.h"
#include "program/lower/lower.h"

struct pw_sim_task {
        const int32_t *inputs[PW_TASK_ARGS_MAX];
        int32_t *outputs[PW_TASK_ARGS_MAX];
        uint64_t input_counts[PW_TASK_ARGS_MAX], output_counts[PW_TASK_ARGS_MAX];
        uint32_t input_count, output_count;
        uint32_t in_place; /* as in pw_function */
};
void pw_sim_function(const struct pw_sim_task *task);

/* A value in shards, per place. */
struct pw_sim_layout {
        struct pw_dims dims;
        struct pw_sharding sharding;
        const struct pw_slice_map *slice;
        int32_t **shards; /* per place */
};
/* The whole value, malloc'ed: parts put together, what is partial reduced; of replicas the one that place `replica` has. */
int32_t *pw_sim_gather(const struct pw_sim_layout *layout, uint32_t replica);
/* Elements of the shard at `place`, resp. of the whole. */
uint64_t pw_sim_count(const struct pw_sim_layout *layout, uint32_t place);
uint64_t pw_sim_whole_count(const struct pw_dims *dims);

/* Element i of input `input`. */
static inline int32_t pw_sim_input(uint32_t input, uint64_t i)
{
        return (int32_t)(input * 1000003u + (uint32_t)i * 7919u + 1u);
}

/* Evaluate without rooms: the whole of each result, malloc'ed array of malloc'ed arrays. */
int32_t **pw_sim_direct(const struct pw_graph *graph);

struct pw_sim_params {
        const struct pw_image *image;
        const struct pw_graph *graph; /* its slices */
        const bool *updates_in_place; /* per input: whether a donated one is the run's alone */
        uint64_t seed;                /* of the interleaving */
};
/* Run the image: devices go on in an order of chance that keeps each device's own order and the waits. Compare the
 * results with `expected`. Returns NULL, or what is wrong. */
const char *pw_sim_run(const struct pw_sim_params *params, int32_t *const *expected);

static inline uint32_t pw_sim_random(uint64_t *state)
{
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        return (uint32_t)(*state >> 33);
}

#endif
