/* A function that goes wrong beside one that does not, over the same devices: what the first harms, and what it must not.
 */
#ifndef PW_TESTS_INTEGRATION_SCENE_H
#define PW_TESTS_INTEGRATION_SCENE_H

#include "tests/integration/trace.h"

struct it_scene {
        struct it_host *host;
        struct pw_slice *slice;
        struct pw_program *bad, *good;
        struct pw_future *input;
};

void it_scene_end(struct it_scene *scene);
/* The future ends with `status`, and a sentence with each of the texts, separated by '|'. */
void it_fails_with(struct pw_future *future, enum pw_status status, const char *texts);
/* All devices are ready, after as many restarts in all; an executor that was ended is back within a second. */
void it_back_within_a_second(struct pw_session *session, int restarts, int64_t since_us);
/* For it_until(): as many devices as *context says are in a function; no run is in flight. */
bool it_are_running(const struct pw_listing *gangs, void *context);
bool it_rests(const struct pw_listing *status, void *context);
/* One input, a scalar, which is its result after `us`. */
struct pw_program *it_sleeper(struct pw_session *session, struct pw_slice *slice, uint64_t us);

#endif
