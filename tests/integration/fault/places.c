/* Places of a traced process. */
#include "tests/integration/fault/places.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#define PLACES_MAX 200000
#define BREAKPOINT 0xcc
#define AT ((void *)offsetof(struct user, regs.rip))

bool it_be_traced(void)
{
        return ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 && raise(SIGSTOP) == 0;
}

/* False: it has ended. */
static bool is_stopped(pid_t pid, int *ret_signal)
{
        int status;

        assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
        *ret_signal = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
        return WIFSTOPPED(status);
}

/* It is stopped, or another thread of it, which nobody traces, met the breakpoint: that ends them all. */
static void ask(long result)
{
        assert_true(result == 0 || errno == ESRCH);
}

/* On by `how`, with the signal that it was stopped for if that is its own. */
static bool go_on(pid_t pid, enum __ptrace_request how, int *signal)
{
        int own = *signal == SIGTRAP || *signal == SIGSTOP ? 0 : *signal;

        ask(ptrace(how, pid, NULL, (void *)(intptr_t)own));
        return is_stopped(pid, signal);
}

void it_places_record(pid_t pid, struct it_places *ret_places)
{
        struct it_places places = { malloc(PLACES_MAX * sizeof *places.instructions), 0 };
        int signal;

        assert_non_null(places.instructions);
        for (bool stopped = is_stopped(pid, &signal); stopped; stopped = go_on(pid, PTRACE_SINGLESTEP, &signal)) {
                assert_true(places.count < PLACES_MAX);
                places.instructions[places.count++] = (uint64_t)ptrace(PTRACE_PEEKUSER, pid, AT, NULL);
        }
        *ret_places = places;
}

void it_places_done(struct it_places *places)
{
        free(places->instructions);
        *places = (struct it_places){ NULL, 0 };
}

/* Past the breakpoint where it stands, and up to it again. */
static bool comes_again(pid_t pid, uint64_t at, long code, int *signal)
{
        bool stopped;

        ask(ptrace(PTRACE_POKETEXT, pid, (void *)at, code));
        stopped = go_on(pid, PTRACE_SINGLESTEP, signal);
        if (!stopped || (uint64_t)ptrace(PTRACE_PEEKUSER, pid, AT, NULL) == at)
                return stopped;
        ask(ptrace(PTRACE_POKETEXT, pid, (void *)at, (code & ~0xffL) | BREAKPOINT));
        do
                stopped = go_on(pid, PTRACE_CONT, signal);
        while (stopped && *signal != SIGTRAP);
        if (stopped)
                ask(ptrace(PTRACE_POKEUSER, pid, AT, at));
        return stopped;
}

bool it_places_reach(pid_t pid, const struct it_places *places, size_t place)
{
        uint64_t at = places->instructions[place];
        long code;
        int signal;
        bool stopped = is_stopped(pid, &signal);

        code = ptrace(PTRACE_PEEKTEXT, pid, (void *)at, NULL);
        for (size_t i = 1; i <= place && stopped; i++) /* it stands at place 0 */
                if (places->instructions[i] == at)
                        stopped = comes_again(pid, at, code, &signal);
        if (stopped)
                ask(ptrace(PTRACE_POKETEXT, pid, (void *)at, code)); /* it may go on */
        return stopped;
}
