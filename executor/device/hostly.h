/* What the kinds share whose functions run on the processor.
 */
#ifndef PW_EXECUTOR_DEVICE_HOSTLY_H
#define PW_EXECUTOR_DEVICE_HOSTLY_H

#include "executor/device/device.h"

/* Run it here and now, with these services and between its guards. */
void pw_hostly_run(const struct pw_device_call *call, const struct pw_task_services *services, struct pw_device_end *ret_end);
/* Set to 0 what the call says is to be. */
void pw_hostly_zero(const struct pw_device_call *call);

/* Services of GPUs, refused with a sentence. */
enum pw_status pw_hostly_launch(struct pw_task *task, const struct pw_kernel *kernel);
enum pw_status pw_hostly_copy(struct pw_task *task, void *to, const void *from, uint64_t bytes);

#endif
