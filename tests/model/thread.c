/* Threads as coroutines, their steps and what a step reads and writes, and the kernel's futexes. */
#include "tests/model/explore_private.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdarg.h>

int model_self(void) { return x.self; }
bool model_done(int thread) { return x.threads[thread].status == DONE; }
uint32_t model_kills(void) { return x.kills; }

bool model_dead(int process)
{
        if (x.self >= 0)
                x.access.reads |= ACCESS_DEATH(process);
        return x.dead >> process & 1;
}

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

/* --- operations --------------------------------------------------------------------------------------------------------- */

static void remember(uint64_t value)
{
        if (x.self >= 0)
                x.threads[x.self].history = pw_mix(x.threads[x.self].history, value);
}

void model_point(const volatile void *place)
{
        if (x.self >= 0 && pw_word_find(place) < REGIONS)
                leave();
}

void model_see(const volatile void *place)
{
        uint32_t region = x.self >= 0 ? pw_word_find(place) : REGIONS;

        if (region < REGIONS)
                x.access.reads |= ACCESS_WORD(region);
}

void model_read(const volatile void *place, uint64_t value)
{
        uint32_t region = x.self >= 0 ? pw_word_find(place) : REGIONS;

        if (region == REGIONS) {
                if (x.self >= 0)
                        pw_state_unnamed(place, false);
                return;
        }
        x.access.reads |= ACCESS_WORD(region);
        remember(value);
        for (uint32_t i = 0; i < x.plain.count; i++)
                if (x.plain.items[i].guard == place)
                        remember(x.plain.items[i].published);
}

void model_wrote(const volatile void *place)
{
        uint32_t region = x.self >= 0 ? pw_word_find(place) : REGIONS;

        if (region == REGIONS) {
                if (x.self >= 0)
                        pw_state_unnamed(place, true);
                return;
        }
        x.access.writes |= ACCESS_WORD(region);
        for (uint32_t i = 0; i < x.plain.count; i++) {
                struct region *plain = &x.plain.items[i];
                if (plain->guard == place)
                        plain->published = pw_mix_bytes(1, (const void *)(uintptr_t)plain->memory, plain->bytes);
        }
}

void model_settle(uint32_t where, const void *memory, size_t bytes)
{
        uint64_t *cached = &x.path[x.depth].settled;

        /* When a choice is replayed, it settles as it did before. */
        if (memory)
                *cached = pw_mix_bytes(where, memory, bytes);
        else if (x.depth >= x.replayed)
                *cached = pw_state_of_services(where);
        x.threads[x.self].history = *cached;
}

void model_wait(bool (*ready)(void *), void *context)
{
        struct thread *thread = &x.threads[x.self];

        thread->ready = ready;
        thread->ready_context = context;
        thread->status = WAITING;
        leave();
        ready(context); /* what it looks at was read */
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

/* --- futexes -------------------------------------------------------------------------------------------------------------- */

static uint64_t sleepers(const volatile void *word)
{
        uint32_t region = pw_word_find(word);

        return region < REGIONS ? ACCESS_SLEEPERS(region) : 0;
}

static uint64_t sleepers_of(const struct thread *thread)
{
        uint64_t of = 0;

        for (uint32_t i = 0; i < thread->word_count; i++)
                of |= sleepers(thread->words[i]);
        return of;
}

static long sleep_on(struct thread *thread)
{
        thread->status = SLEEPING;
        thread->timed_out = false;
        x.access.writes |= sleepers_of(thread);
        leave();
        x.access.reads |= sleepers_of(thread) | (x.model->overslept ? ACCESS_VIEW : 0);
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

                model_see(word);
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
        *(woken ? &x.access.writes : &x.access.reads) |= sleepers(word);
        remember(5 + (uint64_t)woken);
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

/* --- steps ------------------------------------------------------------------------------------------------------------------ */

bool pw_may_step(const struct thread *thread)
{
        return thread->status == RUNNABLE || (thread->status == WAITING && thread->ready(thread->ready_context));
}

static void resume(int number)
{
        struct thread *thread = &x.threads[number];

        if (thread->process >= 0 && x.victims >> thread->process & 1)
                x.access.reads |= ACCESS_DEATH(thread->process);
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
        x.access.writes |= ACCESS_DEATH(process);
        x.kills++;
        x.dead |= 1u << process;
        for (int i = 0; i < x.thread_count; i++)
                if (x.threads[i].process == process && x.threads[i].status < DONE)
                        x.threads[i].status = DEAD;
}

/* A sleep ends because overslept() said that it may, which looks at deaths and at what the checks see. */
static void time_out(struct thread *thread)
{
        x.access.reads |= ACCESS_VIEW | ACCESS_DEATHS;
        x.access.writes |= sleepers_of(thread);
        thread->timed_out = true;
        thread->status = RUNNABLE;
}

void pw_choose(struct choice choice)
{
        uint64_t view;

        x.access = (struct access){ 0 };
        if (choice.kind == STEP)
                resume(choice.thread);
        else if (choice.kind == KILL)
                kill_process(x.threads[choice.thread].process);
        else
                time_out(&x.threads[choice.thread]);
        view = pw_mix_regions(1, &x.views);
        if (view != x.view)
                x.access.writes |= ACCESS_VIEW;
        x.view = view;
        if (x.model->step)
                x.model->step();
}
