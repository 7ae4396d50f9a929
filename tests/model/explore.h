/* The explorer: runs a model again and again until every order of its threads' steps was seen that can make a difference.
 *
 * A model makes shared memory and threads (coroutines) in begin(). Between two operations on a shared word any thread may go on;
 * a thread of a process may be killed there; who sleeps on a futex may be woken by its timeout. Each execution replays the
 * choices of the one before up to the last one that has an alternative left.
 *
 * What is left out: an execution ends where it reaches a state that was seen, and steps that do not depend on each other are done
 * in one order only (reduce.c). A state is the shared memory and, of each thread, the history of all that it read from it:
 * threads are deterministic, so equal states have equal futures. What a thread has of its own follows from its history;
 * model_settle() replaces a history by just that. States are kept as hashes of 64 bits. A state that comes again on the way on
 * which it came is a failure: somebody goes round for ever.
 */
#ifndef PW_MODEL_EXPLORE_H
#define PW_MODEL_EXPLORE_H

#include "tests/model/point.h"

#define MODEL_THREADS 6

struct model {
        const char *name, *what;
        void (*begin)(void);
        void (*step)(void);  /* after each step: what must always hold */
        void (*end)(void);   /* no thread can go on: what must hold then */
        uint32_t kills;      /* processes killed in one execution, at most */
        bool (*overslept)(void); /* whether a sleep may end by itself now; NULL: never */
};

struct model_found {
        uint64_t states, executions;
        uint64_t ends, views; /* different states in which it ended; different things that its checks saw */
        uint64_t digest;      /* of both */
};
/* Explore all of it. `reduced`: leave out orders that make no difference. False: something did not hold; it was printed, with the
 * choices that led to it. */
bool model_explore(const struct model *model, bool reduced, struct model_found *ret_found);

/* --- in begin() --- */
/* `process` < 0: it is never killed. A service may wait for ever. Returns its number. */
int model_thread(const char *name, int process, bool service, void (*run)(void *), void *context);
/* Words: operations on them are points. What only one thread uses, or what never changes, need not be shared. */
void model_share(const volatile void *memory, size_t bytes);
/* Bytes that are read beside the words: by whoever has just read `word`. NULL: by the model's own checks alone. */
void model_share_plain(const volatile void *memory, size_t bytes, const volatile void *word);
/* What the model's checks look at of the words. */
void model_check_sees(const volatile void *word, size_t bytes);
/* What is allocated from here on is the thread's own; < 0: it is not. Services never look at it. */
void model_alloc_for(int thread);
/* Memory of services that was not allocated. */
void model_state(const void *memory, size_t bytes);

/* --- in a thread --- */
int model_self(void);
/* What the calling thread does from here on follows from its place (`where`), the shared memory, and `memory`; for a service (NULL)
 * from all that was allocated and that model_state() named. What it read is forgotten. */
void model_settle(uint32_t where, const void *memory, size_t bytes);
/* Let others go first, until ready(context), which looks at words by model_see() and at deaths only. Once it is true it stays so
 * until the caller goes on. */
void model_wait(bool (*ready)(void *), void *context);

/* --- anywhere --- */
bool model_dead(int process);
bool model_done(int thread);
/* A word is looked at without a point. */
void model_see(const volatile void *place);
uint32_t model_kills(void);
void model_must(bool holds, const char *text);

#endif
