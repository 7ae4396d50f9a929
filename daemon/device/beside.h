/* What an executor takes of its GPU beside the arena, in which rooms lie: context, code, streams, communicators.
 *
 * It is what the driver says that the process has, less the arena. Nothing else tells it apart from what others take: the free
 * memory of a GPU, before and after something is made, is that of all processes, which come and go meanwhile; and of a context
 * there is no before, as who has none cannot ask.
 * The arena is there whoever lives: each executor imports it by a descriptor, the one that made it too. Whether drivers count what
 * is imported they do not say. So it is known where only one of both can be: what the process has is less than the arena, or the
 * GPU has no room for both. An arena that is most of the GPU is always one of them; with a small one there is no figure.
 */
#ifndef PW_DAEMON_DEVICE_BESIDE_H
#define PW_DAEMON_DEVICE_BESIDE_H

#include "daemon/device/gpus.h"

/* Of the device, as it is now. */
struct pw_gpu_arena { pid_t executor; uint64_t bytes; };

/* From what the driver said last. False: it is not known, and *ret_why says why, of its executor. */
bool pw_gpu_beside(const struct pw_gpu_facts *facts, const struct pw_gpu_arena *arena, uint64_t *ret_bytes, const char **ret_why);

#endif
