/* A thread that writes a member's file: the loop does not wait for a disk, nor for a file system that does not answer.
 *
 * Of texts that come while one is being written the last is what is written next. The thread is made when it is first needed.
 * Threads: all calls from one.
 */
#ifndef PW_DAEMON_META_REDIS_SAVER_H
#define PW_DAEMON_META_REDIS_SAVER_H

#include "base/error.h"

#include <stdbool.h>

struct pw_redis_saver;

/* Own: *ret_saver is given back with pw_redis_saver_free(). Errors: PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_redis_saver_new(const char *folder, struct pw_redis_saver **ret_saver, struct pw_error *ret_err);
/* Write `text_take`; NULL: remove the file. Own: takes the text.   Blocks: only where no thread can be had. */
void pw_redis_saver_put(struct pw_redis_saver *saver, char *text_take);
/* True: the last one that was tried could not be written, which was not said yet; *ret_err says why. */
bool pw_redis_saver_failed(struct pw_redis_saver *saver, struct pw_error *ret_err);
/* What was put is written first. False: that takes longer than 1 s, and goes on: the folder is still in use. Accepts NULL. */
bool pw_redis_saver_free(struct pw_redis_saver *saver);

#endif
