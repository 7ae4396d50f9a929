/* Another tenant: a user that nothing else runs as. */
#include "tests/integration/other.h"

#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

bool it_alone(const struct it_host *host)
{
        if (geteuid() != 0) {
                it_because("a second tenant is another user, whom only root can become");
                return true;
        }
        assert_int_equal(chmod(host->folder, 0711), 0);
        return false;
}

/* The kernel forgets at such a change that the child dies with its parent. */
struct pw_session *it_connect_as_other(const struct it_host *host, unsigned group)
{
        gid_t groups[] = { group };

        assert_int_equal(setgroups(group ? 1 : 0, groups), 0);
        assert_int_equal(setresgid(IT_OTHER, IT_OTHER, IT_OTHER), 0);
        assert_int_equal(setresuid(IT_OTHER, IT_OTHER, IT_OTHER), 0);
        assert_int_equal(prctl(PR_SET_PDEATHSIG, SIGKILL), 0);
        return it_connect(host);
}
