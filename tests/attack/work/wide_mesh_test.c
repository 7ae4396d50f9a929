/* Slices whose mesh has more places than 32 bits count, so that their product is a number of devices that there are; programs over
 * them. */
#include "tests/attack/attack.h"

#include "libclient/program/program.h"
#include "libclient/session.h"

static enum pw_status open_mesh(struct pw_session *session, uint32_t devices, uint32_t first, uint32_t second, uint32_t *ret_slice)
{
        uint32_t mesh[] = { first, second };
        Pathways__Wire__SliceOpen open = PATHWAYS__WIRE__SLICE_OPEN__INIT;
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        char kind[] = "";
        struct pw_answer answer;
        enum pw_status status;

        open.device_count = devices;
        open.mesh = mesh;
        open.n_mesh = 2;
        open.kind = kind;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_SLICE_OPEN;
        request.slice_open = &open;
        status = pw_session_call(session, &request, PATHWAYS__WIRE__REPLY__BODY_SLICE, &answer, NULL);
        if (status != PW_OK)
                return status;
        *ret_slice = answer.reply->slice->slice;
        pw_answer_done(&answer);
        return PW_OK;
}

/* What the library would never trace: the slice's number and mesh are put in place of those of an honest one. */
static void compile_over(struct pw_session *session, uint32_t number, uint32_t first, uint32_t second)
{
        struct pw_sharding split = PW_SPLIT(0);
        struct pw_slice *slice;

        it_ok(pw_slice_open(session, &(struct pw_slice_params){ .device_count = 1 }, &slice, IT_ERR));
        slice->number = number;
        slice->mesh[0] = first;
        slice->mesh[1] = second;
        struct pw_program *program = pw_program_new(session, "wide");
        struct pw_value *x = pw_input(program, slice, PW_F32, PW_DIMS(6, 6), PW_BROADCAST, 0);
        pw_result(program, pw_as(pw_as(x, split), (struct pw_sharding)PW_BROADCAST));
        (void)!pw_compile(program, NULL);
        pw_program_free(program);
}

static int widen(void *context, int pipe)
{
        static const uint32_t meshes[][3] = { { 1, 3, 0xAAAAAAABu }, { 1, 0xAAAAAAABu, 3 }, { 2, 65537, 0xFFFF0002u },
                                              { 1, 0, 3 }, { 4, UINT32_MAX, UINT32_MAX }, { 1, 1u << 31, 1u << 31 } };
        uint32_t taken = 0;

        (void)pipe;
        for (uint32_t i = 0; i < sizeof meshes / sizeof *meshes; i++) {
                struct pw_session *session = it_connect(context);
                uint32_t slice;

                if (open_mesh(session, meshes[i][0], meshes[i][1], meshes[i][2], &slice) == PW_OK) {
                        taken++;
                        compile_over(session, slice, meshes[i][1], meshes[i][2]);
                }
                pw_close(session);
        }
        return (int)taken;
}

static void attack(struct it_host *host)
{
        struct it_child child = attack_fork(ATTACK_USER, widen, host);

        assert_int_equal(it_reap(&child, 0), 0);
        pw_listing_free(it_list(host->session, "status", NULL)); /* the daemon is there */
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "wide_mesh", .rule = "the places of a mesh are counted without wrapping",
                                             .run = attack,
                                             .users = true });
}
