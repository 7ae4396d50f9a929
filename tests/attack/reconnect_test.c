/* One process that attaches and hangs up, again and again: each session that ended counts until the process is dead, so it is refused before
 * the daemon is out of maps; who comes afterwards is served, and once it is dead its user is, too. */
#include "tests/attack/attack.h"
#include "tests/integration/raw.h"

#include <unistd.h>

#define QUOTA 2000u /* 16,384 unless it is said */

static int reconnect(void *context, int pipe)
{
        uint32_t count = (uint32_t)it_environment("PW_RECONNECTS", QUOTA + 200), i = 0;
        enum pw_status status = PW_OK;
        char text[200];

        for (; i < count && status == PW_OK; i++) {
                int fd = raw_connect(context);

                assert_true(fd >= 0);
                status = raw_hello(fd, text);
                close(fd);
        }
        if (status != PW_LIMIT)
                fail_msg("%u times attached, then: %d %s", i, (int)status, text);
        assert_int_equal(write(pipe, "d", 1), 1);
        pause();
        return 0;
}

static int attach(void *context, int pipe)
{
        (void)pipe;
        pw_close(it_connect(context));
        return 0;
}

static bool is_clean(const struct pw_listing *check, void *context)
{
        (void)context;
        return it_rows(check) == 0;
}

static void run(struct it_host *host)
{
        struct it_child child = attack_fork(ATTACK_USER, reconnect, host);
        char byte;

        it_read(&child, &byte, 1);
        struct it_child other = attack_fork(ATTACK_VICTIM, attach, host);
        assert_int_equal(it_reap(&other, 0), 0);
        assert_int_equal(it_reap(&child, 9), 128 + 9);
        other = attack_fork(ATTACK_USER, attach, host);
        assert_int_equal(it_reap(&other, 0), 0);
        it_until(host->session, "check", is_clean, NULL); /* the pages of so many sessions go back one after the other */
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "reconnect", .rule = "a session that ended counts until its process is dead",
                                             .args = IT_ARGS("--devices", "emulated:2", "--host-memory", "512MiB", "--device-memory", "16MiB",
                                                             "--quota", "*:sessions=2000"),
                                             .users = true, .alone = true, .run = run });
}
