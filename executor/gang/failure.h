/* What tests of failures share.
 */
#ifndef PW_EXECUTOR_GANG_FAILURE_H
#define PW_EXECUTOR_GANG_FAILURE_H

#include "executor/fixture_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>

#include <cmocka.h>

static const uint32_t devices[] = { 0, 1, 2, 3, 4, 5, 6, 7 };

/* load -> call -> all-reduce of marked shards (`pair`: of shards that are done) -> scale: results of the two calls. */
static inline struct build *build_reduce(bool pair)
{
        struct build *build = build_new();
        uint32_t slice = build_slice(build, devices, 2, 0), values[4];

        for (uint32_t i = 0; i < 4; i++)
                values[i] = build_value(build, slice, PW_F64, PW_SCALAR, i == 1 ? PW_PARTIAL(PW_SUM) : PW_BROADCAST);
        build_input(build, values[0]);
        build_call(build, &(struct build_call){ SCALE(2.0), .inputs = { values[0] }, .input_count = 1, .output = values[1] });
        if (pair) {
                uint32_t send = build_transfer(
                        build, &(struct build_transfer){ .from = values[1], .to = values[2], .phase = PW_PHASE_SEND });
                build_transfer(build, &(struct build_transfer){ .from = values[1], .to = values[2], .phase = PW_PHASE_RECV,
                                                                .send_node = send });
        } else {
                build_transfer(build, &(struct build_transfer){ .from = values[1], .to = values[2] });
        }
        build_call(build, &(struct build_call){ SCALE(2.0), .inputs = { values[2] }, .input_count = 1, .output = values[3] });
        build_result(build, values[1]);
        build_result(build, values[3]);
        return build;
}

static inline void check_lost(const struct run *run, uint32_t result, uint32_t place)
{
        assert_int_equal(run_head(run, result, place)->status, PW_DEVICE_LOST);
        assert_int_equal(run_head(run, result, place)->cause_device.device, 1);
        assert_int_equal(run_head(run, result, place)->cause_device.host, WORLD_HOST);
}

#endif
