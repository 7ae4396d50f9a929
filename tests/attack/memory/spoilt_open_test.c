/* A client writes into the entry of its own object that the daemon is about to free it, and waits. Who opens it has the daemon
 * look: it finds an error there, at once, and the client is ended. */
#include "tests/attack/attack.h"

#include "libclient/session.h"

#include <signal.h>
#include <unistd.h>

static int spoil(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_future *future;
        struct pw_id id;
        uint64_t word;

        it_ok(pw_put(session, "sixty-four bytes that do not lie in the entry, as they are too many", 64, NULL, &future, IT_ERR));
        id = pw_future_id(future);
        word = pw_entry_load(future->entry);
        atomic_store(&future->entry->word, (word & ~UINT64_C(15)) | PW_ENTRY_CLOSING);
        assert_int_equal(pw_word_state(pw_entry_load(future->entry)), PW_ENTRY_CLOSING);
        if (write(pipe, &id, sizeof id) != sizeof id)
                return 1;
        for (;;) /* until it is killed */
                pause();
}

static void run(struct it_host *host)
{
        struct it_child attacker = attack_fork(ATTACK_USER, spoil, host);
        struct pw_session *session = it_connect(host);
        struct pw_future *future;
        struct pw_view view;
        struct pw_id id;

        it_read(&attacker, &id, sizeof id);
        it_ok(pw_open(session, id, &future, IT_ERR));
        assert_int_equal(pw_get(future, IT_LONG, &view, NULL), PW_PROTOCOL);
        pw_unref(future);
        it_reap(&attacker, SIGKILL);
        pw_close(session);
}

int main(void)
{
        return attack_main(&(struct attack){
                .name = "spoilt_open",
                .rule = "who opens an object waits for the daemon, not for what its maker wrote",
                .run = run,
        });
}
