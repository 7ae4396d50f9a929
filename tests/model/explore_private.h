/* What the files of the explorer share. Nobody else includes this.
 *
 * explore.c chooses, reduce.c says what need not be chosen, thread.c runs and sleeps, state.c knows what was seen. */
#ifndef PW_MODEL_EXPLORE_PRIVATE_H
#define PW_MODEL_EXPLORE_PRIVATE_H

#include "tests/model/explore.h"

#include <setjmp.h>
#include <stdio.h>
#include <ucontext.h>

#define STACK_BYTES 32768u
#define DEPTH_MAX 4096u
#define REGIONS 28u
#define SLEEP_WORDS 8u

enum thread_status { RUNNABLE, WAITING, SLEEPING, DONE, DEAD };
enum choice_kind { STEP = 0, KILL = 1, TIMEOUT = 2 };

/* What a step reads and writes of what others may see, a bit each: words, who sleeps on them, deaths, and what the model's own
 * checks look at. */
struct access { uint64_t reads, writes; };
#define ACCESS_WORD(region) (UINT64_C(1) << (region))
#define ACCESS_SLEEPERS(region) (UINT64_C(1) << (REGIONS + (region)))
#define ACCESS_DEATH(process) (UINT64_C(1) << (2 * REGIONS + (uint32_t)(process)))
#define ACCESS_DEATHS (UINT64_C(0x7f) << 2 * REGIONS)
#define ACCESS_VIEW (UINT64_C(1) << 63)

/* What each thread does from a state on, in any order. */
struct summary { struct access of[MODEL_THREADS]; };

struct thread {
        const char *name;
        int process;
        bool service, started, timed_out;
        enum thread_status status;
        void (*run)(void *);
        void *context;
        bool (*ready)(void *);
        void *ready_context;
        const volatile void *words[SLEEP_WORDS];
        uint32_t word_count;
        uint64_t history;
        jmp_buf at;
        ucontext_t fresh;
};
struct region {
        const volatile void *memory;
        size_t bytes;
        const volatile void *guard;
        uint64_t published; /* with a guard: its hash when the guard was written last */
};
struct regions { struct region items[REGIONS]; uint32_t count; };
struct choice { uint8_t kind, thread; };

/* A state on the way, and what was chosen there. Threads are bits of `steps` and so on. */
struct depth {
        uint64_t settled, state;
        uint8_t steps, timeouts, kills; /* who may step, or be woken by the time, or stands for a process that may be killed */
        uint8_t todo, done;             /* who is to be chosen here; who was */
        struct choice now;
        struct access access;           /* of what was chosen now */
        uint32_t clock[MODEL_THREADS];  /* of that step: how many of the first ones of each thread happened before it, at least */
        struct summary below;
};

struct explorer {
        const struct model *model;
        bool reduced;
        struct thread threads[MODEL_THREADS];
        uint8_t stacks[MODEL_THREADS][STACK_BYTES] __attribute__((aligned(64)));
        int thread_count, self;
        struct regions words, plain, states, views;
        struct access access;  /* of the step that is being done */
        uint64_t view;         /* hash of what the model's checks look at */
        uint32_t victims, kills, dead; /* processes that may be killed; how many were, and which */
        uint32_t replayed;     /* choices before this one are those of the execution before */
        jmp_buf explorer;
        struct depth *path;
        uint32_t path_count, depth;
        bool is_broken;
        char broken[200];
};
extern struct explorer x;

/* --- state.c ---------------------------------------------------------------------------------------------------------- */

uint64_t pw_mix(uint64_t hash, uint64_t value);
uint64_t pw_mix_bytes(uint64_t hash, const void *memory, size_t bytes);
uint64_t pw_mix_regions(uint64_t hash, const struct regions *regions);
/* Empty memory for another execution; then, after the model has built it, what of it the services have for themselves. */
void pw_state_begin(void);
void pw_state_built(void);
/* Of all memory and threads; never 0. */
uint64_t pw_state(void);
uint64_t pw_state_of_services(uint32_t where);
/* Whose word is it? REGIONS: nobody's that was named. */
uint32_t pw_word_find(const volatile void *place);
/* An operation on a word that was not named: it must have one thread, or no writer. */
void pw_state_unnamed(const volatile void *place, bool writes);

/* Sets of hashes. */
struct seen { uint64_t *hashes; uint32_t *values; uint64_t count, capacity, digest; };
/* Where `hash` has its value: *ret_new says whether it was not there. */
uint32_t *pw_seen_put(struct seen *seen, uint64_t hash, bool *ret_new);
void pw_seen_clear(struct seen *seen);

/* --- thread.c --------------------------------------------------------------------------------------------------------- */

/* Do it. */
void pw_choose(struct choice choice);
bool pw_may_step(const struct thread *thread);

/* --- reduce.c --------------------------------------------------------------------------------------------------------- */

/* The numbers of summaries, from 1. */
uint32_t pw_summary_put(const struct summary *summary);
const struct summary *pw_summary_get(uint32_t number);
void pw_summary_add(struct summary *summary, const struct summary *other);
void pw_summaries_clear(void);
/* At a state that was just reached: one thread to begin with. */
void pw_reduce_first(struct depth *depth);
/* The step chosen at x.depth was done: who must be chosen earlier, too. */
void pw_reduce_step(void);
/* The state of x.depth was seen before, and all that follows on it was explored. */
void pw_reduce_seen(const struct summary *after);

#endif
