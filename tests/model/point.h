/* What the code under test calls while it is explored: points between its operations on shared words, memory that is gone with
 * the execution, the kernel's futexes, and the socket. Included before everything else in each of its files.
 */
#ifndef PW_MODEL_POINT_H
#define PW_MODEL_POINT_H

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Before an operation on a word: if it is shared, another thread may run first. */
void model_point(const volatile void *place);
/* After it: what was read of it; that it was written. */
void model_read(const volatile void *place, uint64_t value);
void model_wrote(const volatile void *place);

void *model_alloc(size_t bytes); /* zeroed, on lines */
void *model_realloc(void *memory, size_t bytes);
void model_free(void *memory); /* cleared, so that equal states are equal; not used again */
char *model_strdup(const char *text);
long model_syscall(long number, ...); /* futexes only */
/* The client's socket and what guards it; in world.c. */
ssize_t model_send(int fd, const void *bytes, size_t count);
int model_trylock(pthread_mutex_t *lock);
int model_lock(pthread_mutex_t *lock);
int model_unlock(pthread_mutex_t *lock);

#ifndef PW_MODEL_EXPLORER /* of the explorer itself these are the real ones */
#define malloc(bytes) model_alloc(bytes)
#define calloc(count, bytes) model_alloc((count) * (bytes))
#define aligned_alloc(line, bytes) model_alloc(bytes)
#define realloc(memory, bytes) model_realloc(memory, bytes)
#undef strdup
#define strdup(text) model_strdup(text)
#define free(memory) model_free(memory)
#define syscall(...) model_syscall(__VA_ARGS__)
#define send(fd, bytes, count, flags) model_send(fd, bytes, count)
#define pthread_mutex_trylock(lock) model_trylock(lock)
#define pthread_mutex_lock(lock) model_lock(lock)
#define pthread_mutex_unlock(lock) model_unlock(lock)
#define clock_gettime(clock, at) model_time(at)
#define sched_getaffinity(pid, bytes, set) model_affinity(set)
static inline int model_affinity(cpu_set_t *set) { memset(set, 0, sizeof *set); CPU_SET(0, set); return 0; }
static inline int model_time(struct timespec *at) { *at = (struct timespec){ 1, 0 }; return 0; }
#endif

#endif
