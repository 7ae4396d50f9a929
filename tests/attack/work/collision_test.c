/* A client asks for the shapes of a function that ignores its parameters, which it chose so that the question has the same hash as
 * another tenant's question about another function: XXH3 with a seed that everybody can read, the module's digest. Who is given the
 * answer to that question takes rooms of another size for its values. */
#include "tests/attack/attack.h"

#include "base/memory.h"
#include "tests/integration/trace.h"
#include "wire/pathways.pb-c.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MINE 4096u /* elements */
#define THEIRS 61u
#define PARAMS 512u
#define LANES 8
#define STRIPE 64u

/* --- questions as pathwaysd packs them --------------------------------------------------------------------------------------- */

struct question { uint8_t bytes[1024]; size_t count; };

static void ask(struct question *question, const char *function, uint64_t dim, uint32_t inputs, const void *params,
                size_t params_bytes)
{
        Pathways__Wire__Describe describe = PATHWAYS__WIRE__DESCRIBE__INIT;
        Pathways__Wire__Type type = PATHWAYS__WIRE__TYPE__INIT, *types[] = { &type, &type };

        type.dtype = PW_F32;
        type.dims = &dim;
        type.n_dims = 1;
        describe.module = (char *)(uintptr_t)"pw";
        describe.function = (char *)(uintptr_t)function;
        describe.params = (ProtobufCBinaryData){ params_bytes, (uint8_t *)(uintptr_t)params };
        describe.inputs = types;
        describe.n_inputs = inputs;
        describe.output_count = 1;
        question->count = pathways__wire__describe__pack(&describe, question->bytes);
}

static uint64_t digest_of(const char *name)
{
        char path[600];
        struct stat info;
        pw_auto_close int fd = open(it_built(name, path), O_RDONLY | O_CLOEXEC);

        assert_true(fd >= 0 && fstat(fd, &info) == 0);
        void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        assert_true(bytes != MAP_FAILED);
        uint64_t digest = XXH3_64bits(bytes, (size_t)info.st_size);
        munmap(bytes, (size_t)info.st_size);
        return digest;
}

/* --- steering the hash -------------------------------------------------------------------------------------------------------- */

static uint64_t at(const uint8_t *bytes) { return XXH_readLE64(bytes); }

static void add_stripe(uint64_t sums[LANES], const uint8_t *bytes, const uint8_t *secret)
{
        for (int i = 0; i < LANES; i++) {
                uint64_t value = at(bytes + 8 * i), key = value ^ at(secret + 8 * i);

                sums[i ^ 1] += value;
                sums[i] += (key & 0xffffffff) * (key >> 32);
        }
}

/* What the last step makes `hash` of. */
static uint64_t before_avalanche(uint64_t hash)
{
        uint64_t inverse = 0x165667919E3779F9u;

        for (int i = 0; i < 6; i++)
                inverse *= 2 - 0x165667919E3779F9u * inverse;
        hash ^= hash >> 32;
        hash *= inverse;
        return hash ^ hash >> 37;
}

/* Two whole stripes of `params`, which begins at `from` of the question, so that the hash of all of it is `hash`: in neither of
 * them a product counts, so each lane's sum is what is written there, its upper half in the first, its lower half in the second. */
static void steer(struct question *question, size_t from, uint64_t seed, uint64_t hash)
{
        XXH_ALIGN(64) uint8_t secret[XXH_SECRET_DEFAULT_SIZE];
        uint64_t sums[LANES] = { XXH_PRIME32_3, XXH_PRIME64_1, XXH_PRIME64_2, XXH_PRIME64_3,
                                 XXH_PRIME64_4, XXH_PRIME32_2, XXH_PRIME64_5, XXH_PRIME32_1 };
        size_t stripes = (question->count - 1) / STRIPE, first = from / STRIPE + 1;
        uint8_t *high = question->bytes + first * STRIPE, *low = high + STRIPE;

        XXH3_initCustomSecret_scalar(secret, seed);
        for (size_t s = 0; s < stripes; s++)
                if (s != first && s != first + 1)
                        add_stripe(sums, question->bytes + s * STRIPE, secret + 8 * s);
        add_stripe(sums, question->bytes + question->count - STRIPE, secret + sizeof secret - STRIPE - 7);
        for (int i = 0; i < LANES; i++) {
                const uint8_t *keys = secret + 8 * first + 8 * (i ^ 1);
                uint64_t wanted = at(secret + 11 + 8 * i), need;

                if (i == 6)
                        wanted ^= before_avalanche(hash) - question->count * XXH_PRIME64_1;
                if (i == 7)
                        wanted ^= 1;
                need = wanted - sums[i] - (at(keys) & 0xffffffff) - (at(keys + 8) & 0xffffffff00000000u);
                uint64_t up = (need & 0xffffffff00000000u) | (at(keys) & 0xffffffff);
                uint64_t down = (need & 0xffffffff) | (at(keys + 8) & 0xffffffff00000000u);
                memcpy(high + 8 * (i ^ 1), &up, 8);
                memcpy(low + 8 * (i ^ 1), &down, 8);
        }
        assert_true(XXH3_64bits_withSeed(question->bytes, question->count, seed) == hash);
}

/* --- both sides --------------------------------------------------------------------------------------------------------------- */

static void forge_params(uint8_t params[PARAMS])
{
        struct question mine, theirs;
        uint64_t seed = digest_of("executor/modules/.libs/pw.so");
        const size_t from = 12; /* behind "pw", "nop" and the tag and length of the parameters */

        ask(&theirs, "add", THEIRS, 2, NULL, 0);
        memset(params, 1, PARAMS);
        ask(&mine, "nop", MINE, 1, params, PARAMS);
        assert_memory_equal(mine.bytes + from, params, PARAMS);
        steer(&mine, from, seed, XXH3_64bits_withSeed(theirs.bytes, theirs.count, seed));
        memcpy(params, mine.bytes + from, PARAMS);
}

static int attack_shapes(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_slice *slice = it_slice(session, 1, 0);
        struct pw_program *program = pw_program_new(session, "poison");
        struct pw_value *x = pw_input(program, slice, PW_F32, PW_DIMS(MINE), PW_BROADCAST, 0);
        static uint8_t params[PARAMS];

        forge_params(params);
        pw_result(program, pw_call_with(program, slice, "pw/nop", PW_ARGS(x), PW_BROADCAST,
                                        &(struct pw_call_params){ .params = params, .params_bytes = sizeof params }));
        it_ok(pw_compile(program, IT_ERR));
        if (write(pipe, "p", 1) != 1)
                return 1;
        pw_program_free(program);
        pw_slice_close(slice);
        pw_close(session);
        return 0;
}

/* Its sum has the shape of its terms. */
static int add(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        struct pw_slice *slice = it_slice(session, 1, 0);
        struct pw_program *program = pw_program_new(session, "victim");
        struct pw_value *x = pw_input(program, slice, PW_F32, PW_DIMS(THEIRS), PW_BROADCAST, 0);
        float numbers[THEIRS] = { 1, 2, 3 };
        struct pw_future *input, *result;
        struct pw_info info;
        struct pw_view view;

        (void)pipe;
        pw_result(program, pw_call(program, slice, "pw/add", PW_ARGS(x, x), PW_BROADCAST));
        it_ok(pw_compile(program, IT_ERR));
        it_ok(pw_put(session, numbers, sizeof numbers, &(struct pw_put_params){ .dtype = PW_F32, .dims = PW_DIMS(THEIRS) },
                     &input, IT_ERR));
        it_ok(pw_run(program, PW_FUTURES(input), &result, IT_ERR));
        it_ok(pw_get(result, IT_LONG, &view, IT_ERR));
        it_ok(pw_future_info(result, &info, IT_ERR));
        if (info.dims.dim[0] != THEIRS || view.bytes != sizeof numbers)
                fail_msg("the sum of %u elements has %u: the shape of another tenant's value", THEIRS, (unsigned)info.dims.dim[0]);
        assert_true(((const float *)view.data)[2] == 6);
        pw_view_done(&view);
        pw_unref(result);
        pw_unref(input);
        pw_program_free(program);
        pw_slice_close(slice);
        pw_close(session);
        return 0;
}

static void collide(struct it_host *host)
{
        struct it_child attacker = attack_fork(ATTACK_USER, attack_shapes, host), victim;
        char byte;

        it_read(&attacker, &byte, 1);
        assert_int_equal(it_reap(&attacker, 0), 0);
        victim = attack_fork(ATTACK_VICTIM, add, host);
        assert_int_equal(it_reap(&victim, 0), 0);
        victim = attack_fork(ATTACK_USER, add, host);
        assert_int_equal(it_reap(&victim, 0), 0);
}

int main(void)
{
        return attack_main(&(struct attack){ .name = "collision",
                                             .rule = "answers of shape functions are a tenant's own, and found by the whole "
                                                     "question",
                                             .users = true,
                                             .run = collide });
}
