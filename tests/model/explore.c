/* Depth first over choices, with the set of states seen. */
#include "tests/model/explore.h"

#include <errno.h>
#include <linux/futex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <ucontext.h>

#define STACK_BYTES 32768u
#define ARENA_BYTES (8u << 20)
#define DEPTH_MAX 4096u
#define REGIONS 32u
#define SLEEP_WORDS 8u

enum status { RUNNABLE, WAITING, SLEEPING, DONE, DEAD };
enum choice_kind { STEP = 0, KILL = 1, TIMEOUT = 2 };

struct thread {
        const char *name;
        int process;
        bool service, started, timed_out;
        enum status status;
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
struct region { const volatile void *memory; size_t bytes; const volatile void *guard; };
struct depth { uint64_t settled; uint8_t options[3 * MODEL_THREADS]; uint8_t count, next; };

static struct {
        const struct model *model;
        struct thread threads[MODEL_THREADS];
        uint8_t stacks[MODEL_THREADS][STACK_BYTES] __attribute__((aligned(64)));
        int thread_count, self;
        struct region words[REGIONS], plain[REGIONS], states[REGIONS];
        uint32_t word_count, plain_count, state_count, kills;
        uint32_t replayed; /* choices before this one are those of the execution before */
        uint32_t dead; /* processes */
        uint8_t *arena;
        size_t arena_used;
        jmp_buf explorer;
        struct depth *path;
        uint32_t path_count, depth;
        uint64_t *seen; /* hashes; 0: empty */
        uint64_t seen_count, seen_capacity;
        uint64_t ends; /* states at which nothing happens any more */
        bool is_broken;
        char broken[200];
} x;

/* --- memory ---------------------------------------------------------------------------------------------------------- */

void *model_alloc(size_t bytes)
{
        uint8_t *memory = x.arena + x.arena_used;

        bytes = (bytes + 127) & ~(size_t)63; /* the size lies before it */
        if (x.arena_used + bytes + 64 > ARENA_BYTES)
                abort();
        x.arena_used += bytes;
        memset(memory, 0, bytes);
        *(size_t *)(void *)memory = bytes - 64;
        return memory + 64;
}

void *model_realloc(void *memory, size_t bytes)
{
        void *larger = model_alloc(bytes);

        if (memory) {
                size_t old = *(size_t *)(void *)((uint8_t *)memory - 64);
                memcpy(larger, memory, old < bytes ? old : bytes);
        }
        return larger;
}

void model_free(void *memory)
{
        if (memory)
                memset(memory, 0, *(size_t *)(void *)((uint8_t *)memory - 64));
}

char *model_strdup(const char *text) { return strcpy(model_alloc(strlen(text) + 1), text); }

/* --- states ---------------------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
        hash = ((hash + 0x7f4a7c15) ^ value) * UINT64_C(0x9e3779b97f4a7c15); /* the sum: nothing that is read leaves 0 as it is */
        return hash ^ hash >> 29;
}

/* Four chains side by side: it is most of the work. */
static uint64_t mix_bytes(uint64_t hash, const void *memory, size_t bytes)
{
        uint64_t chains[4] = { hash, hash + 1, hash + 2, hash + 3 }, words[4];
        const uint8_t *at = memory;

        for (; bytes >= sizeof words; at += sizeof words, bytes -= sizeof words) {
                memcpy(words, at, sizeof words);
                for (int i = 0; i < 4; i++)
                        chains[i] = mix(chains[i], words[i]);
        }
        memset(words, 0, sizeof words);
        memcpy(words, at, bytes);
        for (int i = 0; i < 4; i++)
                hash = mix(hash, mix(chains[i], words[i]));
        return hash;
}

static uint64_t mix_regions(uint64_t hash, const struct region *regions, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++)
                hash = mix_bytes(hash, (const void *)(uintptr_t)regions[i].memory, regions[i].bytes);
        return hash;
}

static uint64_t state(void)
{
        uint64_t hash = mix(x.dead, x.kills);

        hash = mix_regions(mix_regions(hash, x.words, x.word_count), x.plain, x.plain_count);
        for (int i = 0; i < x.thread_count; i++)
                hash = mix(mix(hash, x.threads[i].history), (uint64_t)x.threads[i].status << 2 | (uint64_t)x.threads[i].started << 1 |
                                                             x.threads[i].timed_out);
        return hash ? hash : 1;
}

static bool seen_put(uint64_t hash);

static void seen_grow(void)
{
        uint64_t *old = x.seen, count = x.seen_capacity;

        x.seen_capacity = count ? 2 * count : 1 << 16;
        x.seen = calloc(x.seen_capacity, sizeof *x.seen);
        x.seen_count = 0;
        if (!x.seen)
                abort();
        for (uint64_t i = 0; i < count; i++)
                if (old[i])
                        seen_put(old[i]);
        free(old);
}

/* False: it was there. */
static bool seen_put(uint64_t hash)
{
        if (2 * (x.seen_count + 1) > x.seen_capacity)
                seen_grow();
        for (uint64_t i = hash;; i++) {
                uint64_t *place = &x.seen[i & (x.seen_capacity - 1)];
                if (*place == hash)
                        return false;
                if (*place)
                        continue;
                *place = hash;
                x.seen_count++;
                return true;
        }
}

/* --- threads --------------------------------------------------------------------------------------------------------- */

int model_self(void) { return x.self; }
bool model_dead(int process) { return x.dead >> process & 1; }
bool model_done(int thread) { return x.threads[thread].status == DONE; }
bool model_sleeps(int thread) { return x.threads[thread].status == SLEEPING; }
uint32_t model_kills(void) { return x.kills; }
void model_must(bool holds, const char *text)
{
        if (holds || x.is_broken)
                return;
        x.is_broken = true;
        strncpy(x.broken, text, sizeof x.broken - 1);
}

/* Back to the explorer; returns when this thread was chosen again. */
static void leave(void)
{
        if (!_setjmp(x.threads[x.self].at))
                _longjmp(x.explorer, 1);
}

static bool shared(const volatile void *place)
{
        for (uint32_t i = 0; x.self >= 0 && i < x.word_count; i++)
                if ((uintptr_t)place - (uintptr_t)x.words[i].memory < x.words[i].bytes)
                        return true;
        return false;
}

static void remember(uint64_t value)
{
        if (x.self >= 0)
                x.threads[x.self].history = mix(x.threads[x.self].history, value);
}

void model_point(const volatile void *place)
{
        if (shared(place))
                leave();
}

void model_read(const volatile void *place, uint64_t value)
{
        if (!shared(place))
                return;
        remember(value);
        for (uint32_t i = 0; i < x.plain_count; i++)
                if (x.plain[i].guard == place)
                        x.threads[x.self].history = mix_regions(x.threads[x.self].history, &x.plain[i], 1);
}

void model_settle(uint32_t where, const void *memory, size_t bytes)
{
        uint64_t *cached = &x.path[x.depth].settled;

        /* When a choice is replayed, it settles as it did before. */
        if (memory)
                *cached = mix_bytes(where, memory, bytes);
        else if (x.depth >= x.replayed)
                *cached = mix_regions(mix_bytes(where, x.arena, x.arena_used), x.states, x.state_count);
        x.threads[x.self].history = *cached;
}

void model_wait(bool (*ready)(void *), void *context)
{
        struct thread *thread = &x.threads[x.self];

        thread->ready = ready;
        thread->ready_context = context;
        thread->status = WAITING;
        leave();
        remember(2);
}

static void main_of(void)
{
        struct thread *thread = &x.threads[x.self];

        thread->run(thread->context);
        thread->status = DONE;
        _longjmp(x.explorer, 1);
}

int model_thread(const char *name, int process, bool service, void (*run)(void *), void *context)
{
        if (x.thread_count == MODEL_THREADS)
                abort();
        x.threads[x.thread_count] = (struct thread){ .name = name, .process = process, .service = service, .run = run,
                                                     .context = context, .status = RUNNABLE };
        return x.thread_count++;
}

static void add(struct region *regions, uint32_t *count, struct region region)
{
        if (*count == REGIONS)
                abort();
        regions[(*count)++] = region;
}

void model_share(const volatile void *memory, size_t bytes) { add(x.words, &x.word_count, (struct region){ memory, bytes, NULL }); }
void model_share_plain(const volatile void *memory, size_t bytes, const volatile void *word)
{
        add(x.plain, &x.plain_count, (struct region){ memory, bytes, word });
}
void model_state(const void *memory, size_t bytes) { add(x.states, &x.state_count, (struct region){ memory, bytes, NULL }); }

/* --- futexes --------------------------------------------------------------------------------------------------------- */

static long sleep_on(struct thread *thread)
{
        thread->status = SLEEPING;
        thread->timed_out = false;
        leave();
        remember(3 + thread->timed_out);
        return thread->timed_out ? -1 : 0;
}

/* Compare and sleep, in one step. */
static long wait_any(const struct futex_waitv *on, uint32_t count)
{
        struct thread *thread = &x.threads[x.self];

        model_point((const volatile void *)(uintptr_t)on[0].uaddr);
        thread->word_count = 0;
        for (uint32_t i = 0; i < count; i++) {
                const volatile uint32_t *word = (const volatile uint32_t *)(uintptr_t)on[i].uaddr;

                bool same = *word == (uint32_t)on[i].val;

                remember(same);
                if (!same)
                        return -1;
                thread->words[thread->word_count++] = word;
        }
        return sleep_on(thread);
}

static long wake(const volatile void *word, uint32_t most)
{
        long woken = 0;

        model_point(word);
        for (int i = 0; i < x.thread_count && woken < (long)most; i++) {
                struct thread *thread = &x.threads[i];
                for (uint32_t j = 0; thread->status == SLEEPING && j < thread->word_count; j++)
                        if (thread->words[j] == word) {
                                thread->status = RUNNABLE;
                                woken++;
                        }
        }
        return woken;
}

long model_syscall(long number, ...)
{
        va_list arguments;
        long result = -1;

        va_start(arguments, number);
        errno = EAGAIN;
        if (number == SYS_futex_waitv) {
                const struct futex_waitv *on = va_arg(arguments, const struct futex_waitv *);
                result = wait_any(on, va_arg(arguments, uint32_t));
        } else if (number == SYS_futex) {
                const volatile void *word = va_arg(arguments, const volatile void *);
                if (va_arg(arguments, int) == FUTEX_WAKE)
                        result = wake(word, va_arg(arguments, uint32_t));
        }
        va_end(arguments);
        return result;
}

/* --- choices --------------------------------------------------------------------------------------------------------- */

static bool may_step(const struct thread *thread)
{
        return thread->status == RUNNABLE || (thread->status == WAITING && thread->ready(thread->ready_context));
}

static void list_options(struct depth *depth)
{
        depth->count = depth->next = 0;
        for (int i = 0; i < x.thread_count; i++)
                if (may_step(&x.threads[i]))
                        depth->options[depth->count++] = (uint8_t)(STEP << 4 | i);
        for (int i = 0; i < x.thread_count; i++) {
                const struct thread *thread = &x.threads[i];
                if (thread->process >= 0 && thread->status < DONE && x.kills < x.model->kills)
                        depth->options[depth->count++] = (uint8_t)(KILL << 4 | i);
                if (thread->status == SLEEPING && x.model->overslept && x.model->overslept())
                        depth->options[depth->count++] = (uint8_t)(TIMEOUT << 4 | i);
        }
}

/* Nothing happens any more, unless somebody is killed. */
static bool at_rest(const struct depth *depth)
{
        for (uint32_t i = 0; i < depth->count; i++)
                if (depth->options[i] >> 4 != KILL)
                        return false;
        return true;
}

static void resume(int number)
{
        struct thread *thread = &x.threads[number];

        x.self = number;
        thread->status = RUNNABLE;
        if (!_setjmp(x.explorer)) {
                if (thread->started)
                        _longjmp(thread->at, 1);
                thread->started = true;
                getcontext(&thread->fresh);
                thread->fresh.uc_stack.ss_sp = x.stacks[number];
                thread->fresh.uc_stack.ss_size = STACK_BYTES;
                makecontext(&thread->fresh, main_of, 0);
                setcontext(&thread->fresh);
        }
        x.self = -1;
}

static void kill_process(int process)
{
        x.kills++;
        x.dead |= 1u << process;
        for (int i = 0; i < x.thread_count; i++)
                if (x.threads[i].process == process && x.threads[i].status < DONE)
                        x.threads[i].status = DEAD;
}

static void choose(uint8_t option)
{
        int number = option & 15;

        switch (option >> 4) {
        case STEP:
                resume(number);
                break;
        case KILL:
                kill_process(x.threads[number].process);
                break;
        default:
                x.threads[number].timed_out = true;
                x.threads[number].status = RUNNABLE;
        }
        if (x.model->step)
                x.model->step();
}

static void check_end(void)
{
        x.ends++;
        for (int i = 0; i < x.thread_count; i++)
                model_must(x.threads[i].status >= DONE || x.threads[i].service, "a thread waits for ever");
        if (x.model->end)
                x.model->end();
}

/* One execution: along the path, then on by first choices, until a state that was seen, or the end. */
static void execute(void)
{
        x.thread_count = 0;
        x.word_count = x.plain_count = x.state_count = x.kills = x.dead = 0;
        x.arena_used = 0;
        memset(x.stacks, 0, sizeof x.stacks);
        x.self = -1;
        x.replayed = x.path_count ? x.path_count - 1 : 0;
        x.model->begin();
        for (x.depth = 0; !x.is_broken; x.depth++) {
                struct depth *depth = &x.path[x.depth];
                if (x.depth == x.path_count) {
                        if (!seen_put(state()))
                                return;
                        list_options(depth);
                        if (at_rest(depth))
                                check_end();
                        if (!depth->count)
                                return;
                        if (++x.path_count == DEPTH_MAX)
                                model_must(false, "an execution does not end");
                }
                choose(depth->options[depth->next]);
        }
}

/* The next path: the last choice with an alternative left takes it. */
static bool backtrack(void)
{
        while (x.path_count && x.path[x.path_count - 1].next + 1 == x.path[x.path_count - 1].count)
                x.path_count--;
        if (!x.path_count)
                return false;
        x.path[x.path_count - 1].next++;
        return true;
}

static void print_path(void)
{
        static const char *const kinds[] = { "", " killed", " timed out" };

        printf("  %s: %s\n  choices:", x.model->name, x.broken);
        for (uint32_t i = 0; i < x.path_count; i++) {
                uint8_t option = x.path[i].options[x.path[i].next];
                printf(" %s%s", x.threads[option & 15].name, kinds[option >> 4]);
        }
        printf("\n");
}

bool model_explore(const struct model *model, bool loud)
{
        uint64_t executions = 0;

        x.model = model;
        x.is_broken = false;
        x.ends = 0;
        x.path_count = 0;
        if (!x.arena)
                x.arena = malloc(ARENA_BYTES);
        if (!x.path)
                x.path = calloc(DEPTH_MAX + 1, sizeof *x.path);
        if (!x.arena || !x.path)
                abort();
        do {
                execute();
                executions++;
        } while (!x.is_broken && backtrack());
        model_must(x.ends, "no execution comes to an end");
        if (x.is_broken && loud)
                print_path();
        printf("%-10s %8llu states %9llu executions  %s\n", model->name, (unsigned long long)x.seen_count,
               (unsigned long long)executions, x.is_broken ? x.broken : "holds");
        free(x.seen);
        x.seen = NULL;
        x.seen_count = x.seen_capacity = 0;
        return !x.is_broken;
}
