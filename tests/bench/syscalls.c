/* Counting the system calls of a thread, by the kernel's syscall user dispatch: a call made while `selector` says so becomes a
 * SIGSYS, whose handler counts it and makes it.
 */
#include "tests/bench/bench.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <ucontext.h>

#if defined(__x86_64__) && defined(PR_SET_SYSCALL_USER_DISPATCH)

/* A handler of a signal has no other place for them. */
static volatile char selector = SYSCALL_DISPATCH_FILTER_ALLOW;
static volatile uint64_t counted;

static void on_sigsys(int number, siginfo_t *info, void *context)
{
        greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
        register long r10 __asm__("r10") = regs[REG_R10];
        register long r8 __asm__("r8") = regs[REG_R8];
        register long r9 __asm__("r9") = regs[REG_R9];
        long result;

        (void)number;
        (void)info;
        selector = SYSCALL_DISPATCH_FILTER_ALLOW;
        counted = counted + 1;
        __asm__ volatile("syscall"
                         : "=a"(result)
                         : "a"(regs[REG_RAX]), "D"(regs[REG_RDI]), "S"(regs[REG_RSI]), "d"(regs[REG_RDX]), "r"(r10), "r"(r8),
                           "r"(r9)
                         : "rcx", "r11", "memory");
        regs[REG_RAX] = result;
}

bool pw_syscalls_begin(void)
{
        struct sigaction action = { .sa_sigaction = on_sigsys, .sa_flags = SA_SIGINFO };

        counted = 0;
        return !sigaction(SIGSYS, &action, NULL) && !prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &selector);
}

void pw_syscalls_mark(void)
{
        selector = SYSCALL_DISPATCH_FILTER_BLOCK;
}

uint64_t pw_syscalls_end(void)
{
        selector = SYSCALL_DISPATCH_FILTER_ALLOW;
        prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0);
        return counted;
}

#else

bool pw_syscalls_begin(void)
{
        return false;
}

void pw_syscalls_mark(void)
{
}

uint64_t pw_syscalls_end(void)
{
        return 0;
}

#endif
