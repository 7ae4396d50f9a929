/* The kernels that move parts of arrays, held against what base/ does in this process: the same bits, for parts of any shape, every
 * dtype and op, and any number of threads.
 */
#include "base/half.h"
#include "executor/device/cuda/peer.h"
#include "tests/kernels/kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define SEEDS 6000u
#define ROOM (1u << 20) /* bytes of an array, at most */

/* A part of two arrays, and what is in them. */
struct play {
        uint64_t seed, state;
        enum pw_dtype dtype;
        struct pw_box to_box, from_box, part;
        uint8_t *to, *want, *from; /* where the arrays begin */
};

static uint8_t rooms[3][ROOM + 512] __attribute__((aligned(256)));

static uint32_t draw(struct play *play, uint32_t below) { return (uint32_t)(kernels_random(&play->state) % below); }

/* An array that has the part in it: often no larger than that, so that rows are long. */
static void draw_box(struct play *play, struct pw_box *box, uint32_t most)
{
        *box = play->part;
        for (uint32_t d = 0; d < box->rank; d++) {
                uint32_t before = draw(play, 3) ? 0 : draw(play, most);
                box->start[d] -= before;
                box->size[d] += before + (draw(play, 3) ? 0 : draw(play, most));
        }
}

static void draw_boxes(struct play *play)
{
        static const uint32_t most[PW_RANK_MAX + 1] = { 1, 3000, 90, 20, 8, 4, 3, 3, 2 };
        uint32_t rank = draw(play, PW_RANK_MAX + 1);

        play->part = (struct pw_box){ .rank = rank };
        for (uint32_t d = 0; d < rank; d++) {
                play->part.start[d] = most[rank];
                play->part.size[d] = 1 + draw(play, most[rank]);
                if (most[rank] >= 16 && !draw(play, 3)) /* whole words in a row */
                        play->part.size[d] = (1 + draw(play, most[rank] / 16)) * 16;
        }
        draw_box(play, &play->to_box, most[rank]);
        draw_box(play, &play->from_box, most[rank]);
}

static bool is_nan(enum pw_dtype dtype, const uint8_t *at)
{
        uint16_t half;
        float single;
        double wide;

        memcpy(&half, at, sizeof half);
        switch (dtype) {
        case PW_F16: return (half & 0x7fff) > 0x7c00;
        case PW_BF16: return (half & 0x7fff) > 0x7f80;
        case PW_F32: memcpy(&single, at, sizeof single); return single != single;
        case PW_F64: memcpy(&wide, at, sizeof wide); return wide != wide;
        default: return false;
        }
}

/* Any bytes; among them small numbers, whose sums are less often infinite. Which of two NaNs a processor keeps is up to its
 * compiler: one side has none. */
static void draw_bytes(struct play *play, uint8_t *at, const struct pw_box *box, bool may_be_nan)
{
        uint64_t bytes = pw_box_elements(box) * pw_dtype_bytes(play->dtype), each = pw_dtype_bytes(play->dtype);

        for (uint64_t i = 0; i < bytes; i++)
                at[i] = (uint8_t)draw(play, 256);
        for (uint64_t i = 0; i < bytes; i += each) {
                if (!draw(play, 8))
                        memset(at + i, draw(play, 2) ? 0 : 0xff, each);
                if (!draw(play, 16)) /* what is infinite where it is a float of 16 bits, or large where it is of more */
                        at[i + each - 1] = 0x7c | (uint8_t)(draw(play, 2) << 7);
                if (!may_be_nan && is_nan(play->dtype, at + i))
                        memset(at + i, 0, each);
        }
}

static void draw_play(struct play *play, uint64_t seed)
{
        uint32_t each;

        *play = (struct play){ .seed = seed, .state = seed };
        play->dtype = (enum pw_dtype)(PW_U8 + draw(play, PW_U64));
        each = (uint32_t)pw_dtype_bytes(play->dtype);
        do
                draw_boxes(play);
        while (pw_box_elements(&play->to_box) * each > ROOM || pw_box_elements(&play->from_box) * each > ROOM);
        play->to = rooms[0] + (draw(play, 2) ? 0 : each * draw(play, 16));
        play->want = rooms[1];
        play->from = rooms[2] + (draw(play, 2) ? 0 : each * draw(play, 16));
        draw_bytes(play, play->to, &play->to_box, seed % 2);
        draw_bytes(play, play->from, &play->from_box, !(seed % 2));
        memcpy(play->want, play->to, pw_box_elements(&play->to_box) * each);
}

static void check(struct play *play, const char *kernel)
{
        uint64_t each = pw_dtype_bytes(play->dtype), bytes = pw_box_elements(&play->to_box) * each;
        struct pw_peer_part part;
        const void *args[] = { &play->to, &play->from, &part };
        uint32_t blocks;

        pw_peer_part_init(&part, &play->to_box, &play->from_box, &play->part);
        blocks = draw(play, 2) ? pw_peer_blocks(&part, each) : 1 + draw(play, 9);
        kernels_launch(kernel, args, blocks, draw(play, 2) ? PW_PEER_BLOCK : 1 + draw(play, 70));
        for (uint64_t i = 0; i < bytes; i += each) {
                if (!memcmp(play->to + i, play->want + i, each))
                        continue;
#if !defined(__x86_64__) /* other processors have NaNs of their own */
                if (is_nan(play->dtype, play->to + i) && is_nan(play->dtype, play->want + i))
                        continue;
#endif
                fail_msg("seed %llu: %s gives another element %llu than base/", (unsigned long long)play->seed, kernel,
                         (unsigned long long)(i / each));
        }
}

static enum pw_status reduce(const struct play *play, enum pw_op op)
{
        return pw_box_reduce(play->want, &play->to_box, play->from, &play->from_box, &play->part, play->dtype, op);
}

static void test_copies(void **state)
{
        (void)state;
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
                struct play play;
                draw_play(&play, seed);
                pw_box_copy(play.want, &play.to_box, play.from, &play.from_box, &play.part, pw_dtype_bytes(play.dtype));
                check(&play, pw_peer_copy(pw_dtype_bytes(play.dtype)));
        }
}

static void test_reductions(void **state)
{
        uint32_t seen[PW_U64 + 1][PW_PROD + 1] = { 0 };
        (void)state;

        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
                struct play play;
                draw_play(&play, seed);
                enum pw_op op = (enum pw_op)draw(&play, PW_PROD + 1);
                const char *kernel = pw_peer_reduce(play.dtype, op);
                assert_int_equal(reduce(&play, op), kernel ? PW_OK : PW_UNSUPPORTED);
                if (kernel)
                        check(&play, kernel);
                seen[play.dtype][op]++;
        }
        for (uint32_t dtype = PW_U8; dtype <= PW_U64; dtype++)
                for (uint32_t op = PW_SUM; op <= PW_PROD; op++)
                        assert_in_range(seen[dtype][op], 10, SEEDS);
}

/* Every 16-bit float with some partners, in one row. */
static void test_halves(void **state)
{
        static const uint16_t partners[] = { 0, 0x3c00, 0x0001, 0x7bff, 0x8000, 0xfc00, 0x1234, 0x7f80, 0x8001 };
        struct play play = { .to_box = { .rank = 1, .size = { 0x10000 } } };
        (void)state;

        play.from_box = play.part = play.to_box;
        for (uint32_t run = 0; run < 8 * sizeof partners / sizeof *partners; run++) {
                enum pw_op op = (enum pw_op)(run % 4);
                play.dtype = run / 4 % 2 ? PW_F16 : PW_BF16;
                play.to = rooms[0];
                play.want = rooms[1];
                play.from = rooms[2];
                for (uint32_t i = 0; i < 0x10000; i++) {
                        ((uint16_t *)(void *)play.to)[i] = (uint16_t)i;
                        uint16_t *partner = (uint16_t *)(void *)play.from + i;
                        *partner = (uint16_t)(partners[run / 8] + 7 * (i / 8));
                        if (is_nan(play.dtype, play.to + 2 * i) && is_nan(play.dtype, (uint8_t *)partner))
                                *partner = 0;
                }
                memcpy(play.want, play.to, 0x20000);
                assert_int_equal(reduce(&play, op), PW_OK);
                check(&play, pw_peer_reduce(play.dtype, op));
        }
}

static void test_what_there_is_not(void **state)
{
        (void)state;
        assert_null(pw_peer_copy(3));
        assert_null(pw_peer_copy(16));
        assert_null(pw_peer_reduce(PW_OPAQUE, PW_SUM));
        assert_null(pw_peer_reduce(PW_BOOL, PW_SUM));
        assert_null(pw_peer_reduce((enum pw_dtype)(PW_U64 + 1), PW_SUM));
        assert_null(pw_peer_reduce(PW_F32, (enum pw_op)(PW_PROD + 1)));
}

/* All kernels that are named are in the code that a GPU is given. */
static void test_code(void **state)
{
        const char *ptx = pw_peer_code.image;
        char text[200];
        (void)state;

        assert_int_equal(ptx[pw_peer_code.bytes - 1], 0);
        assert_int_equal(strlen(ptx) + 1, pw_peer_code.bytes);
        for (uint32_t dtype = PW_OPAQUE; dtype <= PW_U64; dtype++)
                for (uint32_t op = PW_SUM; op <= PW_PROD; op++) {
                        const char *names[] = { pw_peer_copy(pw_dtype_bytes((enum pw_dtype)dtype)),
                                                pw_peer_reduce((enum pw_dtype)dtype, (enum pw_op)op) };
                        for (uint32_t i = 0; i < 2; i++) {
                                snprintf(text, sizeof text, ".entry %s(", names[i] ? names[i] : "");
                                if (names[i] && !strstr(ptx, text))
                                        fail_msg("no %s", text);
                        }
                }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_copies), cmocka_unit_test(test_reductions),         cmocka_unit_test(test_halves),
                cmocka_unit_test(test_code),   cmocka_unit_test(test_what_there_is_not),
        };

        kernels_open("libpw_fake_kernels.so");
        return cmocka_run_group_tests(tests, NULL, NULL);
}
