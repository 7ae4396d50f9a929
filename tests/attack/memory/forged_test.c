/* A client says of its own value that it lies elsewhere, or is longer than its room: entries are its memory, and it seals them
 * after the run was submitted. Executors are shared: what lies behind its segment there is other tenants' memory, or none. */
#include "tests/attack/attack.h"

#include "libclient/session.h"
#include "tests/integration/trace.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define DEVICES 8u
#define BYTES (UINT64_C(64) << 10)
#define SECRET 0x5e
#define SECRETS 64u /* values of the victim */

/* --- the victim --------------------------------------------------------------------------------------------------------------- */

static struct pw_program *compile(struct pw_session *session, struct pw_slice *slice)
{
        struct pw_program *program = pw_program_new(session, "forged");
        struct pw_value *x = pw_input(program, slice, PW_U8, PW_DIMS(BYTES), PW_BROADCAST, 0);

        pw_result(program, pw_call(program, slice, "pw/nop", PW_ARGS(x), PW_BROADCAST));
        it_ok(pw_compile(program, IT_ERR));
        return program;
}

static void run_once(struct pw_program *program, struct pw_future *value, uint8_t expected)
{
        struct pw_future *result;
        struct pw_view view;

        it_ok(pw_run(program, PW_FUTURES(value), &result, IT_ERR));
        for (uint32_t device = 0; device < DEVICES; device++) {
                it_ok(pw_get_shard(result, device, IT_LONG, &view, IT_ERR));
                assert_int_equal(view.bytes, BYTES);
                for (uint64_t i = 0; i < BYTES; i++)
                        assert_int_equal(((const uint8_t *)view.data)[i], expected);
                pw_view_done(&view);
        }
        pw_unref(result);
}

/* Its segment is mapped by every executor, just before that of the attacker. */
static int keep_secrets(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_slice *slice = it_slice(session, DEVICES, 0);
        struct pw_program *program = compile(session, slice);
        struct pw_future *secrets[SECRETS];
        static uint8_t secret[BYTES];

        memset(secret, SECRET, sizeof secret);
        for (uint32_t i = 0; i < SECRETS; i++)
                it_ok(pw_put(session, secret, BYTES, NULL, &secrets[i], IT_ERR));
        run_once(program, secrets[0], SECRET);
        if (write(pipe, "r", 1) != 1)
                return 1;
        for (;;) /* until it is killed */
                run_once(program, secrets[0], SECRET);
}

/* --- the attacker ------------------------------------------------------------------------------------------------------------- */

struct claim { uint64_t offset, bytes; uint32_t segment; bool is_inline, behind; /* behind: `offset` counts from the own room */ };

/* As pw_seal(), of an entry that says what it should not. */
static void seal_as(struct pw_future *future, const struct claim *claim)
{
        struct pw_session *session = pw_future_session(future);
        struct pw_entry *entry = future->entry;
        uint64_t old;

        entry->room_offset = claim->offset + (claim->behind ? entry->room_offset : 0);
        entry->room_segment = claim->segment;
        entry->bytes = claim->bytes;
        entry->is_inline = claim->is_inline;
        assert_true(pw_entry_decide(entry, future->generation, PW_OK, 0, UINT32_MAX, &old));
        pw_hint_wake(session->hints, entry, future->segment, future->slot);
        pw_connection_doorbell(session->connection);
}

static void is_not_secret(struct pw_future *result)
{
        struct pw_view view;
        struct pw_error err;

        for (uint32_t device = 0; device < DEVICES; device++) {
                enum pw_status status = pw_get_shard(result, device, IT_LONG, &view, &err);

                if (status != PW_OK) {
                        if (status != PW_PROTOCOL)
                                fail_msg("a forged place ends in %s", err.text);
                        continue;
                }
                for (uint64_t i = 0; i < view.bytes; i++)
                        if (((const uint8_t *)view.data)[i] == SECRET)
                                fail_msg("byte %d of the result is another tenant's", (int)i);
                pw_view_done(&view);
                fail_msg("a value of a forged place was taken");
        }
}

static void submit_and_forge(struct pw_session *session, struct pw_program *program, uint64_t room, const struct claim *claim)
{
        struct pw_future *input, *result;
        void *data;

        it_ok(pw_create(session, room, NULL, &input, &data, IT_ERR));
        memset(data, 1, room);
        it_ok(pw_run(program, PW_FUTURES(input), &result, IT_ERR));
        it_ok(pw_session_fence(session, IT_ERR)); /* the daemon has the record, and waits for the entry */
        seal_as(input, claim);
        is_not_secret(result);
        pw_unref(result);
        pw_unref(input);
}

static int forge(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_slice *slice = it_slice(session, DEVICES, 0);
        struct pw_program *program = compile(session, slice);
        static uint8_t ones[BYTES];
        struct pw_future *honest;
        const struct pw_client_segment *own = session->own;

        (void)pipe;
        memset(ones, 1, sizeof ones);
        it_ok(pw_put(session, ones, BYTES, NULL, &honest, IT_ERR));
        run_once(program, honest, 1);
        for (uint64_t i = 0; i < SECRETS; i++) /* behind its own map lies what was mapped before */
                submit_and_forge(session, program, BYTES,
                                 &(struct claim){ own->map.bytes + own->room_offset + i * BYTES, BYTES, own->number,
                                                  false, false });
        submit_and_forge(session, program, BYTES, &(struct claim){ UINT64_C(1) << 39, BYTES, own->number, false, false });
        submit_and_forge(session, program, BYTES, &(struct claim){ own->map.bytes - 64, BYTES, own->number, false, false });
        submit_and_forge(session, program, BYTES, &(struct claim){ BYTES, BYTES, own->number, false, true });
        submit_and_forge(session, program, 4096, &(struct claim){ 0, BYTES, own->number, false, true });
        submit_and_forge(session, program, BYTES, &(struct claim){ 0, BYTES, own->number + 1, false, true });
        submit_and_forge(session, program, BYTES, &(struct claim){ 0, BYTES, own->number, true, false });
        run_once(program, honest, 1);
        pw_unref(honest);
        pw_program_free(program);
        pw_slice_close(slice);
        pw_close(session);
        return 0;
}

static void run(struct it_host *host)
{
        struct it_child victim = attack_fork(ATTACK_VICTIM, keep_secrets, host);
        char ready;

        it_read(&victim, &ready, 1);
        struct it_child attacker = attack_fork(ATTACK_USER, forge, host);
        int status = it_reap(&attacker, 0);

        assert_int_equal(it_reap(&victim, SIGKILL), 128 + SIGKILL); /* none of its runs failed */
        assert_int_equal(status, 0);
}

int main(void)
{
        return attack_main(&(struct attack){
                .name = "forged",
                .rule = "where an input lies and how long it is comes from what was granted",
                .users = true,
                .run = run,
        });
}
