/* Names that FNV-1a cannot tell apart, of two tenants and of one: each is bound, found and removed as if it were alone. */
#include "tests/attack/attack.h"

#include <unistd.h>

/* Searched for: with the tenants' names, uid-65531 and uid-65532, in front they had one key of 64 bits. */
#define ATTACKERS "RIWdRgf9Q8A"
#define VICTIMS "lxQd03zJoaO"
/* Of any tenant. */
#define ONE "8yn0iYCKYHlIj4-BwPqk"
#define OTHER "GReLUrM4wMqfg9yzV3KQ"

static void bind(struct pw_session *session, const char *name, uint32_t value)
{
        struct pw_future *future;

        it_ok(pw_put(session, &value, sizeof value, NULL, &future, IT_ERR));
        it_ok(pw_name(future, name, IT_ERR));
        pw_unref(future);
}

static void has(struct pw_session *session, const char *name, uint32_t value)
{
        struct pw_future *future;
        struct pw_view view;

        it_ok(pw_lookup(session, name, 0, &future, IT_ERR));
        it_ok(pw_get(future, PW_FOREVER, &view, IT_ERR));
        assert_memory_equal(view.data, &value, sizeof value);
        pw_view_done(&view);
        pw_unref(future);
}

static int attack_names(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);

        bind(session, ATTACKERS, 1);
        assert_int_equal(write(pipe, "d", 1), 1);
        pause();
        return 0;
}

static int use_names(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);

        (void)pipe;
        bind(session, VICTIMS, 2);
        has(session, VICTIMS, 2);
        bind(session, ONE, 3);
        bind(session, OTHER, 4);
        has(session, ONE, 3);
        it_ok(pw_unname(session, ONE, IT_ERR));
        has(session, OTHER, 4);
        it_ok(pw_unname(session, OTHER, IT_ERR));
        it_ok(pw_unname(session, VICTIMS, IT_ERR));
        pw_close(session);
        return 0;
}

static int clean_up(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);

        (void)pipe;
        has(session, ATTACKERS, 1);
        it_ok(pw_unname(session, ATTACKERS, IT_ERR));
        pw_close(session);
        return 0;
}

static void run(struct it_host *host)
{
        struct it_child attacker = attack_fork(ATTACK_USER, attack_names, host);
        char byte;

        it_read(&attacker, &byte, 1);
        struct it_child victim = attack_fork(ATTACK_VICTIM, use_names, host);
        assert_int_equal(it_reap(&victim, 0), 0);
        assert_int_equal(it_reap(&attacker, 9), 128 + 9);
        attacker = attack_fork(ATTACK_USER, clean_up, host);
        assert_int_equal(it_reap(&attacker, 0), 0);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "collide",
                                             .rule = "names are compared, tenant and text; their hash has a secret",
                                             .users = true, .run = run });
}
