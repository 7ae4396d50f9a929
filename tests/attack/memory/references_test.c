/* One session takes references to one object until a count of them could be used up, which would free what others hold. */
#include "tests/attack/attack.h"

#include "libclient/session.h"

#define REFERENCES ((1u << 24) + 100u)
#define FENCES 1000 /* more than are answered in a turn */

/* Records as no program of the library writes them: without a handle each. */
static int refer(void *context, int pipe)
{
        const struct it_host *host = context;
        struct pw_session *session = it_connect(host);
        struct pw_client_lane *lane;
        struct pw_future *future;
        uint64_t taken = 0;

        (void)pipe;
        it_ok(pw_put(session, "value", 5, NULL, &future, IT_ERR));
        it_ok(pw_lane_get(session, &lane, IT_ERR));
        for (; taken < REFERENCES && pw_lane_await_ring(lane, 1, NULL) == PW_OK; taken++) {
                pw_ring_write(&lane->writer, pw_cell_object(PW_RING_REF, future->segment, future->slot, future->generation));
                pw_lane_publish(lane, false);
        }
        /* What is asked in the turn that reads the record which is too many is still answered: its end comes with the end of the
         * turn. */
        for (int i = 0; i < FENCES && taken == REFERENCES; i++)
                if (pw_session_fence(session, NULL) != PW_OK)
                        taken = 0;
        if (taken == REFERENCES)
                return 1; /* all of them count */
        pw_close(session);
        return 0;
}

static void attack(struct it_host *host)
{
        struct it_child child = attack_fork(ATTACK_USER, refer, host);

        assert_int_equal(it_reap_within(&child, 4 * IT_LONG), 0);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "references",
                                             .rule = "references are counted up to a bound, and refused there",
                                             .run = attack, .users = true });
}
