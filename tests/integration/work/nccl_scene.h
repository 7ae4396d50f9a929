/* GPUs of the fake driver that reduce by the fake NCCL.
 */
#ifndef PW_TESTS_INTEGRATION_WORK_NCCL_SCENE_H
#define PW_TESTS_INTEGRATION_WORK_NCCL_SCENE_H

#include "tests/integration/folder.h"
#include "tests/integration/gpus.h"
#include "tests/integration/scene.h"
#include "tests/integration/trace.h"

#define NCCL_ELEMENTS 12u

extern struct it_gpus nccl_gpus; /* of the daemon that was begun last */

/* A daemon of these devices and this NCCL, NULL: the fake one, with `conf`; `more` is one option, or NULL. */
struct it_host *nccl_begin_with(void **state, const char *devices, const char *conf, const char *nccl, const char *more);
struct it_host *nccl_begin(void **state, const char *conf, const char *nccl); /* of four */
struct it_host *nccl_begin_slow(void **state, const char *devices); /* whose work takes its time; it has a trace */
void nccl_end(struct it_host *host);
/* What each device holds, through `function`, and summed `times` times. */
struct pw_program *nccl_reducer(struct it_host *host, struct pw_slice *slice, const char *function, uint32_t times);
/* Takes `result`: it is `times` 1, 2, 3 and so on. */
void nccl_expect_sum(struct pw_future *result, double times);

/* One sum over all devices. */
struct nccl_scene { struct it_host *host; struct pw_slice *slice; struct pw_program *program; struct pw_future *input; };
struct nccl_scene nccl_scene_over(struct it_host *host, uint32_t devices);
struct nccl_scene nccl_scene_begin(void **state, const char *conf, const char *nccl);
void nccl_scene_close(struct nccl_scene *scene); /* the daemon stays */
void nccl_scene_end(struct nccl_scene *scene);
void nccl_expect_right(const struct nccl_scene *scene); /* over four devices */
void nccl_expect_fails(const struct nccl_scene *scene, enum pw_status status, const char *texts);
/* What is said of the only program's all-reduce. */
void nccl_expect_way(const struct nccl_scene *scene, const char *way);
/* Stop the executor of the device in this row of their listing: it is, at the return. it_signal_executor() has it go on. */
void nccl_stop(const struct it_host *host, size_t device);
/* How often the executors called `function`, by a fake NCCL with the line "trace = trace". */
int nccl_calls_of(const char *function);

#endif
