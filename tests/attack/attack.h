/* An attack: what one tenant's program may do to a daemon, its executors and other tenants, and what must hold meanwhile.
 *
 * Each attack is a program, NAME_test.c, whose main() is attack_main(&attack). By itself it starts a private daemon; with
 * PW_ATTACK_SOCKET (and PW_ATTACK_PID, the daemon's, and PW_ATTACK_USER) it attacks that one, as together_test has all of them do
 * at once.
 * While an attack goes on a bystander, another tenant (bystander.h), puts, gets, runs, compiles and asks for `status`; by itself an
 * attack is judged by how long any of that took. Afterwards nothing may be left behind: it_host_clean().
 */
#ifndef PW_TESTS_ATTACK_ATTACK_H
#define PW_TESTS_ATTACK_ATTACK_H

#include "tests/integration/harness.h"

#define ATTACK_USER 65531u    /* who attacks: no operator, nothing else runs as it; beside others each is a user of its own */
#define ATTACK_VICTIM 65532u  /* whom it attacks, where one is needed besides the bystander */

struct attack {
        const char *name;             /* of the file, without _test.c */
        const char *rule;             /* what holds, a sentence */
        const char *const *args;      /* IT_ARGS() for a daemon of its own; NULL: as it_setup() */
        bool users;                   /* needs root, to become other users */
        bool alone;                   /* not beside others: needs a daemon with its own `args`, or ends it */
        bool unwatched;               /* no bystander: it is about something else than its times */
        /* The whole attack, in this process: host->session is an operator's (the test's own) session. Fails by cmocka's
         * assertions. */
        void (*run)(struct it_host *host);
        uint32_t seconds;             /* watchdog: the program ends itself after that; 0: 120 */
};

/* Own: `attack` is borrowed. Returns an exit status; 77: skipped, said why. */
int attack_main(const struct attack *attack);

/* Others attack the same daemon at this time. */
bool attack_is_shared(void);
/* A child that is `user` of no group from its first line, and runs `work`: as it_fork(). Without root it stays who it is. */
struct it_child attack_fork(unsigned user, int (*work)(void *context, int pipe), void *context);
/* In such a child: the number that it ends with if an assertion of cmocka fails is another than 0, so assertions may be used. */

/* What the system says of a process: bytes of its private memory (Private_Clean + Private_Dirty of smaps_rollup, so with memfds
 * that nobody else maps), of what it has in no file (Anonymous), of all shared memory that the host's memfds hold (Shmem of
 * /proc/meminfo); 0 where it cannot be read, and under the address sanitizer, which keeps what is freed. */
uint64_t attack_private_bytes(pid_t pid);
uint64_t attack_anonymous_bytes(pid_t pid);
uint64_t attack_shmem_bytes(void);
/* Bytes of all memfds that a daemon has open. */
uint64_t attack_memfd_bytes(pid_t pid);
/* Processor time that the first thread of a process has had, a daemon's loop, in us; to the us. */
uint64_t attack_loop_us(pid_t pid);
/* Processor time that a process has used, in us. */
uint64_t attack_cpu_us(pid_t pid);
/* Processes whose parent is `parent`; returns how many, at most `most`. */
uint32_t attack_children(pid_t parent, pid_t *pids, uint32_t most);

#endif
