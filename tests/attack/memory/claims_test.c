/* A client writes into its own entries that they are ready with an error, with every status that there may be: one of them says
 * that the value is not ready yet, others that the reader's own session has ended. Who reads them waits for ever, or gives its
 * session up. */
#include "tests/attack/attack.h"

#include "libclient/session.h"
#include "tests/integration/operator/command.h"
#include "tests/integration/trace.h"

#include <signal.h>
#include <unistd.h>

#define STATUSES 256u
#define TIMEOUT (IT_SECOND)
#define ELEMENTS 64u

static const enum pw_entry_state states[] = { PW_ENTRY_ERROR, PW_ENTRY_LOST };

/* What a reader may be told: of the value, not of its own wait or session. */
static bool is_typed(enum pw_status status)
{
        return status != PW_OK && status != PW_NOT_READY && status != PW_DAEMON_GONE && status != PW_FORKED &&
                pw_status_known(status);
}

static struct pw_future *claim(struct pw_session *session, enum pw_entry_state state, uint32_t status)
{
        struct pw_put_params params = { .dtype = PW_F32, .dims = PW_DIMS(ELEMENTS) };
        struct pw_future *future;
        void *data;

        it_ok(pw_create(session, ELEMENTS * sizeof(float), &params, &future, &data, IT_ERR));
        atomic_store(&future->entry->word, pw_word_make(state, 0, future->generation, (enum pw_status)status));
        return future;
}

static void expect(const char *what, enum pw_entry_state state, uint32_t claimed, enum pw_status got)
{
        if (!is_typed(got))
                fail_msg("%s of a value in state %d with status %d: %s", what, (int)state, (int)claimed, pw_status_name(got));
}

/* Each of these comes back by itself: who waits for what will never be is ended by the watchdog. */
static void read_claim(struct pw_session *reader, struct pw_future *claimed, enum pw_entry_state state, uint32_t status)
{
        struct pw_future *future;
        struct pw_view view;
        struct pw_error err;

        it_ok(pw_open(reader, pw_future_id(claimed), &future, IT_ERR));
        expect("pw_poll()", state, status, pw_poll(future));
        expect("pw_get()", state, status, pw_get(future, TIMEOUT, &view, &err));
        it_ok(pw_wait(&future, 1, 1, TIMEOUT, NULL, IT_ERR)); /* it is ready, with whatever */
        pw_unref(future);
}

static void run_on_claim(struct pw_program *program, struct pw_future *claimed, enum pw_entry_state state, uint32_t status)
{
        struct pw_future *result;
        struct pw_view view;
        struct pw_error err;

        it_ok(pw_run(program, PW_FUTURES(claimed), &result, IT_ERR));
        expect("result of a run", state, status, pw_get(result, IT_LONG, &view, &err));
        pw_unref(result);
}

static int claim_all(void *context, int pipe)
{
        struct pw_session *session = it_connect(context), *reader = it_connect(context);
        struct pw_slice *slice = it_slice(session, 2, 0);
        struct pw_program *program = pw_program_new(session, "claims");
        char id[PW_ID_TEXT_BYTES] = "";
        struct pw_value *x = pw_input(program, slice, PW_F32, PW_DIMS(ELEMENTS), PW_BROADCAST, 0);

        pw_result(program, pw_call(program, slice, "pw/nop", PW_ARGS(x), PW_BROADCAST));
        it_ok(pw_compile(program, IT_ERR));
        for (size_t i = 0; i < 2; i++)
                for (uint32_t status = 0; status < STATUSES; status++) {
                        struct pw_future *claimed = claim(session, states[i], status);

                        alarm(25);
                        read_claim(reader, claimed, states[i], status);
                        run_on_claim(program, claimed, states[i], status);
                        pw_unref(claimed);
                }
        pw_id_format(pw_future_id(claim(session, PW_ENTRY_ERROR, PW_NOT_READY)), id);
        if (write(pipe, id, sizeof id) != sizeof id)
                return 1;
        alarm(2 * IT_LONG / IT_SECOND);
        pause(); /* until it is killed */
        return 1;
}

static void run(struct it_host *host)
{
        struct it_child attacker = attack_fork(ATTACK_USER, claim_all, host);

        char id[PW_ID_TEXT_BYTES];

        it_read(&attacker, id, sizeof id);
        it_command_expect(host, 1, pw_status_text(PW_PROTOCOL), IT_ARGS("get", id));
        assert_int_equal(it_reap(&attacker, SIGKILL), 128 + SIGKILL);
}

int main(void)
{
        return attack_main(&(struct attack){
                .name = "claims",
                .rule = "an error that a client writes into an entry is a claim: one that no value can be ready with is a breach "
                        "of the protocol",
                .users = true,
                .run = run,
        });
}
