/* Short ways to slices, values and calls, for tests. Failures fail the test.
 */
#ifndef PW_TESTS_INTEGRATION_TRACE_H
#define PW_TESTS_INTEGRATION_TRACE_H

#include "tests/integration/harness.h"

struct pw_slice *it_slice(struct pw_session *session, uint32_t devices, uint32_t islands);
struct pw_slice *it_mesh(struct pw_session *session, uint32_t rows, uint32_t columns, uint32_t islands);

/* A value of f64 that goes start, start + 1, ... */
struct pw_future *it_put_f64(struct pw_session *session, struct pw_dims dims, double start);
struct pw_future *it_put_scalar(struct pw_session *session, double value);
/* The scalar, or the first element, that the future is ready with. */
double it_get_scalar(struct pw_future *future);
/* Every element must be as in `expected`. */
void it_expect_f64(struct pw_future *future, const double *expected, uint64_t count);
/* A value of `count` elements, all of them the same number; and that a future is such a value. The reference stays the caller's. */
struct pw_future *it_put_same(struct pw_session *session, uint64_t count, double number);
void it_expect_same(struct pw_future *future, uint64_t count, double number);

/* Calls with one f64 argument; output 0. */
struct pw_value *it_grow(struct pw_program *program, struct pw_slice *slice, struct pw_value *value, struct pw_sharding sharding,
                         double by);
struct pw_value *it_sleep(struct pw_program *program, struct pw_slice *slice, struct pw_value *value, struct pw_sharding sharding,
                          uint64_t us);
/* `function` of `value`, broken/fail for example, on shard `shard` only. */
struct pw_value *it_break(struct pw_program *program, struct pw_slice *slice, const char *function, struct pw_value *value,
                          struct pw_sharding sharding, uint64_t shard);
/* A compiled program of one node: the input, split over `slice`, through `function`. */
struct pw_program *it_one_node(struct pw_session *session, struct pw_slice *slice, const char *function, struct pw_dims dims,
                               const struct pw_call_params *params);
struct pw_future *it_run_1(struct pw_program *program, struct pw_future *input);

#endif
