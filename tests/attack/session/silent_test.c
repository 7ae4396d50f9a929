/* 1,100 connections that say nothing, to a daemon with 1,024 descriptors: others attach, and operators do. Then as many users as
 * there may be, one after the other, each of whom attaches and leaves: none stays. */
#include "tests/attack/attack.h"
#include "tests/integration/raw.h"

#include <sys/resource.h>
#include <unistd.h>

#define USERS_FROM 70000u

static int say_nothing(void *context, int pipe)
{
        struct rlimit limit = { 4096, 4096 };
        uint32_t count = (uint32_t)it_environment("PW_SILENT", 1100);

        (void)!setrlimit(RLIMIT_NOFILE, &limit);
        for (uint32_t i = 0; i < count; i++)
                (void)raw_connect(context);
        assert_int_equal(write(pipe, "d", 1), 1);
        pause();
        return 0;
}

static int attach(void *context, int pipe)
{
        char text[200];
        int fd = raw_connect(context);

        (void)pipe;
        assert_true(fd >= 0);
        if (raw_hello(fd, text) != PW_OK)
                fail_msg("not attached: %s", text);
        close(fd);
        return 0;
}

static void run(struct it_host *host)
{
        struct it_child silent = attack_fork(ATTACK_USER, say_nothing, host);
        uint32_t users = (uint32_t)it_environment("PW_USERS", 500);
        char byte;

        it_read(&silent, &byte, 1);
        pw_close(it_connect(host)); /* an operator */
        struct it_child other = attack_fork(ATTACK_VICTIM, attach, host);
        assert_int_equal(it_reap(&other, 0), 0);
        assert_int_equal(it_reap(&silent, 9), 128 + 9);
        for (uint32_t i = 0; i < users; i++) {
                other = attack_fork(USERS_FROM + i, attach, host);
                assert_int_equal(it_reap(&other, 0), 0);
        }
        pw_close(it_connect(host));
}

static int run_main(void)
{
        struct rlimit limit = { 1024, 1024 };

        if (!attack_is_shared() && setrlimit(RLIMIT_NOFILE, &limit) < 0)
                return 1;
        return attack_main(&(struct attack){ .name = "silent",
                                             .rule = "10 s for Hello, a bound of those that did not say it, tenants end, a "
                                                     "reserve for operators",
                                             .users = true, .alone = true, .run = run });
}

int main(void) { return run_main(); }
