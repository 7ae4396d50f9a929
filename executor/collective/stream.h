/* Copies that do not bring into the cache what they write: of values that do not stay there until they are read.
 */
#ifndef PW_EXECUTOR_COLLECTIVE_STREAM_H
#define PW_EXECUTOR_COLLECTIVE_STREAM_H

#include <stddef.h>

#define PW_STREAM_BYTES (8u << 20) /* from this size of a value on they are worth it */

/* As memcpy(), whatever lies where. What is stored later is seen later. */
void *pw_stream_copy(void *to, const void *from, size_t bytes);

#endif
