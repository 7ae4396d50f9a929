/* What a coordinator of another host asks for, and that cannot be: it is answered, typed, and nothing is kept of it. */
#include "tests/world/hosts/play.h"

#include "program/lower/lower.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define PEER 0u  /* the host whose coordinator asks, */
#define ASKED 1u /* and who is asked */
#define PROGRAMS 3u

static uint64_t serial;

static struct pw_scheduler *asked(void) { return play->hosts[ASKED].scheduler; }

/* Programs of the peer, which give a value: of one like it; of a large one and one like it; of two like it. */
static void begin(void)
{
        static struct play one; /* large */

        one = (struct play){ .seed = 1, .random = 1 };
        play = &one;
        for (uint32_t at = 0; at < PLAY_HOSTS; at++)
                play_begin_host(at, 1 << 16, true);
        for (uint32_t p = 0; p < PROGRAMS; p++) {
                play->programs[p].coordinator = PEER;
                play_begin_program_over(&play->programs[p], 1u << PEER | 1u << ASKED,
                                        &(struct play_shape){ .nodes = !p, .block_bytes = p == 1 ? 8192 : 512 },
                                        (struct pw_sharding)PW_SPLIT(0));
        }
}

static enum pw_status say(struct pw_core_message said, const struct pw_core_body *body)
{
        struct pw_error err;

        said.host = PLAY_FIRST + ASKED;
        said.run.coordinator = PLAY_FIRST + PEER;
        said.run.epoch = PLAY_EPOCH;
        return pw_scheduler_deliver(asked(), &said, body, (struct pw_arrival){ PLAY_FIRST + PEER, play->now_us }, &err);
}

/* PW_OK: it is here; else why it was refused. Its result has that slot too. */
static enum pw_status reserve_of(uint32_t p, uint64_t number, uint32_t slot, const struct pw_core_input *inputs)
{
        const struct pw_actions *actions = pw_scheduler_actions(asked());
        struct pw_core_body body = { .inputs = inputs, .input_count = p ? 2 : 1, .slots = &slot, .slot_count = 1 };
        struct pw_core_message said = { .kind = PW_CORE_RESERVE, .program = play->programs[p].handle[PEER],
                                        .how = PW_RESERVE_SHARED, .serial = ++serial, .slot = slot, .run.number = number };
        const struct pw_core_message *last;

        (void)say(said, &body);
        pw_scheduler_turn(asked(), play->now_us);
        last = actions->count ? &actions->items[actions->count - 1].core : NULL;
        return last && last->kind == PW_CORE_REFUSED ? last->status : PW_OK;
}

static const struct pw_core_input small = { .source = PW_SOURCE_HOST, .is_inline = true };

static enum pw_status reserve(uint64_t number, uint32_t slot) { return reserve_of(0, number, slot, &small); }

static enum pw_status prepare(uint64_t number, uint32_t slot)
{
        struct pw_core_message said = { .kind = PW_CORE_PREPARE, .slot = slot, .host = PLAY_FIRST + ASKED,
                                        .run = { PLAY_FIRST + PEER, PLAY_EPOCH, number } };
        enum pw_status status = PW_OK;
        struct pw_error err;
        bool more = true;

        while (more && status == PW_OK)
                status = pw_scheduler_preparing(asked(), &said, &(struct pw_message){ 0 }, &more, &err);
        return status == PW_OK ? pw_scheduler_prepared(asked(), &said, PW_OK, NULL, play->now_us, &err) : status;
}

static enum pw_status say_of(enum pw_core_kind kind, uint64_t number, uint32_t slot)
{
        return say((struct pw_core_message){ .kind = kind, .slot = slot, .run.number = number }, NULL);
}

static enum pw_status give_back(uint64_t number, uint32_t slot, uint64_t of_serial)
{
        return say((struct pw_core_message){ .kind = PW_CORE_GIVE_BACK, .slot = slot, .serial = of_serial, .run.number = number },
                   NULL);
}

static struct pw_host_run *find(uint64_t number, uint32_t slot)
{
        return pw_requester_find_run(asked(), &(struct pw_run_id){ PLAY_FIRST + PEER, PLAY_EPOCH, number }, slot);
}

static void found(void *context, const char *where, const char *problem)
{
        (void)context;
        fail_msg("%s: %s", where, problem);
}

/* The peer is given up, and nothing of it stays. */
static void finish(void)
{
        pw_scheduler_check(asked(), found, NULL);
        pw_actions_clear(pw_scheduler_actions(asked()));
        pw_scheduler_give_up(asked(), PLAY_FIRST + PEER, "it was not heard of", play->now_us);
        for (uint32_t n = 0; n < 4; n++) {
                pw_scheduler_turn(asked(), play->now_us);
                pw_actions_clear(pw_scheduler_actions(asked()));
                for (uint32_t d = 0; d < PLAY_DEVICES; d++)
                        (void)pw_scheduler_progress(asked(), d, asked()->devices[d]->ordered, play->now_us);
        }
        pw_actions_clear(pw_scheduler_actions(asked()));
        pw_scheduler_check(asked(), found, NULL);
        play_memory_is_free(ASKED);
        for (uint32_t p = 0; p < PROGRAMS; p++)
                play->programs[p].handle[ASKED] = 0; /* it went with the peer */
        play_end();
}

/* Boards know runs by their numbers: each is one run's, and small enough. So is a number in the queue. */
static void test_numbers(void **state)
{
        struct pw_core_body body = { .inputs = &small, .input_count = 1, .slots = (uint32_t[]){ 56 }, .slot_count = 1 };
        struct pw_core_message said = { .kind = PW_CORE_RESERVE, .slot = 56, .run.number = 1006 };

        (void)state;
        begin();
        assert_int_equal(reserve(1000, 50), PW_OK);
        assert_int_equal(reserve(1000, 51), PW_PROTOCOL);
        assert_int_equal(reserve(UINT64_C(1) << 47, 52), PW_PROTOCOL);
        assert_int_equal(reserve((UINT64_C(1) << 47) - 1, 53), PW_OK);
        said.program = play->programs[0].handle[PEER];
        said.serial = ++serial;
        said.arrival = asked()->arrivals + 1;
        assert_int_equal(say(said, &body), PW_PROTOCOL);
        assert_non_null(find(1000, 50));
        assert_null(find(1000, 51));
        assert_ptr_equal(pw_host_find(asked(), find(1000, 50)->number), find(1000, 50));
        finish();
}

/* A result that was released lets its slot go, once: who has it later keeps it. */
static void test_slot_is_anothers(void **state)
{
        uint64_t first;

        (void)state;
        begin();
        assert_int_equal(reserve(1000, 50), PW_OK);
        first = serial;
        assert_int_equal(say_of(PW_CORE_RELEASE, 1000, 50), PW_OK);
        {
                uint32_t slot = 50;
                struct pw_core_body body = { .inputs = &small, .input_count = 1, .slots = &slot, .slot_count = 1 };
                struct pw_core_message said = { .kind = PW_CORE_RESERVE, .program = play->programs[0].handle[PEER],
                                                .serial = ++serial, .slot = 51, .run.number = 1001 };
                assert_int_equal(say(said, &body), PW_OK);
        }
        assert_int_equal(give_back(1000, 50, first), PW_OK);
        assert_int_equal(say_of(PW_CORE_RELEASE, 1001, 50), PW_OK);
        finish();
}

/* Memory of this host, results of others, of a run that may yet give its rooms back, of another shape; one that is given twice. */
static void test_inputs(void **state)
{
        struct pw_core_input of_host = { .source = PW_SOURCE_HOST, .segment = 1, .bytes = 2048 };
        struct pw_core_input of_none = { .source = PW_SOURCE_ERROR, .status = PW_NOT_READY };
        struct pw_core_input of_run = { .source = PW_SOURCE_RESULT, .run = { PLAY_FIRST + PEER, PLAY_EPOCH, 1000 }, .slot = 50 };
        struct pw_core_input two[2] = { small, of_run }, wrong[2] = { of_run, small }, given[2] = { of_run, of_run };

        (void)state;
        begin();
        assert_int_equal(reserve(1000, 50), PW_OK);
        assert_int_equal(reserve_of(0, 1001, 51, &of_host), PW_UNSUPPORTED);
        assert_int_equal(reserve_of(0, 1001, 51, &of_none), PW_PROTOCOL);
        assert_int_equal(reserve_of(0, 1001, 51, &of_run), PW_PROTOCOL);
        assert_int_equal(prepare(1000, 50), PW_OK);
        pw_actions_clear(pw_scheduler_actions(asked()));
        assert_int_equal(reserve_of(1, 1001, 51, wrong), PW_PROTOCOL);
        given[0].given = given[1].given = true;
        assert_int_equal(reserve_of(2, 1001, 51, given), PW_PROTOCOL);
        pw_actions_clear(pw_scheduler_actions(asked()));
        given[0].given = false;
        assert_int_equal(reserve_of(2, 1003, 53, given), PW_OK);
        assert_int_equal(reserve_of(1, 1002, 52, two), PW_OK);
        assert_non_null(find(1002, 52));
        assert_null(find(1001, 51));
        finish();
}

/* What it reads is its own coordinator's. */
static void test_of_another_coordinator(void **state)
{
        struct pw_core_input of_run = { .source = PW_SOURCE_RESULT, .run = { PLAY_FIRST + PEER, PLAY_EPOCH, 1000 }, .slot = 50 };

        (void)state;
        begin();
        assert_int_equal(reserve(1000, 50), PW_OK);
        assert_int_equal(prepare(1000, 50), PW_OK);
        find(1000, 50)->results[0]->requester = asked()->own; /* for once */
        pw_actions_clear(pw_scheduler_actions(asked()));
        assert_int_equal(reserve_of(0, 1001, 51, &of_run), PW_PROTOCOL);
        find(1000, 50)->results[0]->requester = find(1000, 50)->requester;
        finish();
}

/* Who reads a result keeps it, whatever its coordinator says of it. */
static void test_released_early(void **state)
{
        struct pw_core_input of_run = { .source = PW_SOURCE_RESULT, .run = { PLAY_FIRST + PEER, PLAY_EPOCH, 1000 }, .slot = 50 };
        struct pw_host_result *result;

        (void)state;
        begin();
        assert_int_equal(reserve(1000, 50), PW_OK);
        assert_int_equal(prepare(1000, 50), PW_OK);
        result = find(1000, 50)->results[0];
        pw_actions_clear(pw_scheduler_actions(asked()));
        assert_int_equal(reserve_of(0, 1001, 51, &of_run), PW_OK);
        assert_int_equal(say_of(PW_CORE_RELEASE, 1000, 50), PW_OK);
        assert_int_equal(say_of(PW_CORE_STOP, 1000, 50), PW_OK);
        assert_null(find(1000, 50));
        assert_non_null(result->type);
        assert_int_equal(prepare(1001, 51), PW_OK);
        assert_int_equal(say_of(PW_CORE_STOP, 1001, 51), PW_OK);
        assert_null(result->type);
        finish();
}

/* It has started, and may have read it. */
static void test_input_is_late(void **state)
{
        struct pw_core_input of_run = { .source = PW_SOURCE_RESULT, .run = { PLAY_FIRST + PEER, PLAY_EPOCH, 1000 }, .slot = 50 };
        struct pw_core_message said = { .kind = PW_CORE_INPUT, .status = PW_FAILED, .slot = 51, .run.number = 1001 };

        (void)state;
        begin();
        assert_int_equal(reserve(1000, 50), PW_OK);
        assert_int_equal(prepare(1000, 50), PW_OK);
        pw_actions_clear(pw_scheduler_actions(asked()));
        assert_int_equal(reserve_of(0, 1001, 51, &of_run), PW_OK);
        assert_int_equal(prepare(1001, 51), PW_OK);
        said.status = PW_NOT_READY;
        assert_int_equal(say(said, NULL), PW_PROTOCOL);
        said.status = PW_FAILED;
        assert_int_equal(say_of(PW_CORE_START, 1001, 51), PW_OK);
        assert_int_equal(say(said, NULL), PW_EXISTS);
        assert_int_equal(find(1001, 51)->inputs[0].status, PW_OK);
        finish();
}

/* Stopped when its writer was ordered in one island of two: what a device loses of it nobody is told. */
static void test_lost_when_half_written(void **state)
{
        (void)state;
        begin();
        assert_int_equal(reserve(1000, 50), PW_OK);
        assert_int_equal(prepare(1000, 50), PW_OK);
        assert_int_equal(say_of(PW_CORE_START, 1000, 50), PW_OK);
        pw_island_turn(asked()->islands[0]);
        assert_int_equal(say((struct pw_core_message){ .kind = PW_CORE_CANCEL, .unread = 1, .slot = 50, .run.number = 1000 }, NULL),
                         PW_OK);
        assert_true(pw_scheduler_progress(asked(), 0, asked()->devices[0]->ordered, play->now_us));
        assert_null(find(1000, 50));
        pw_scheduler_device_down(asked(), 0, 0, PW_CRASHED, "SIGKILL", play->now_us);
        finish();
}

/* The first that took over the blocks of another: its number, at the slot of that name. */
static uint64_t reserve_behind(void)
{
        static const struct pw_core_input two[2] = { { .source = PW_SOURCE_HOST, .is_inline = true },
                                                     { .source = PW_SOURCE_HOST, .is_inline = true } };

        for (uint64_t number = 100; number < 150; number++) {
                assert_int_equal(reserve_of(1, number, (uint32_t)number, two), PW_OK);
                pw_actions_clear(pw_scheduler_actions(asked()));
                if (find(number, (uint32_t)number)->ahead_count)
                        return number;
        }
        fail();
        return 0;
}

/* Who took over is prepared behind the one ahead, which else might give its blocks back beneath it. */
static void test_prepared_before_the_one_ahead(void **state)
{
        uint64_t behind, ahead;

        (void)state;
        begin();
        behind = reserve_behind();
        ahead = find(behind, (uint32_t)behind)->holds[0].ahead->id.number;
        assert_int_equal(prepare(behind, (uint32_t)behind), PW_PROTOCOL);
        assert_false(find(behind, (uint32_t)behind)->recorded);
        assert_int_equal(prepare(ahead, (uint32_t)ahead), PW_OK);
        assert_int_equal(prepare(behind, (uint32_t)behind), PW_OK);
        finish();
}

/* One was stopped, or both, and they give back what one took over from the other. */
static void test_stopped_and_given_back(void **state)
{
        (void)state;
        for (uint32_t stopped = 1; stopped < 4; stopped++) {
                uint64_t behind, ahead;

                begin();
                behind = reserve_behind();
                ahead = find(behind, (uint32_t)behind)->holds[0].ahead->id.number;
                if (stopped & 1)
                        assert_int_equal(say_of(PW_CORE_STOP, ahead, (uint32_t)ahead), PW_OK);
                if (stopped & 2)
                        assert_int_equal(say_of(PW_CORE_STOP, behind, (uint32_t)behind), PW_OK);
                finish();
        }
}

/* Its only host: it waits for no other one, and is given back with its coordinator. */
static void test_alone(void **state)
{
        struct pw_core_body body = { .inputs = &small, .input_count = 1, .slots = (uint32_t[]){ 50 }, .slot_count = 1 };
        struct pw_core_message said = { .kind = PW_CORE_RESERVE, .slot = 50, .run.number = 1000 };

        (void)state;
        begin();
        said.program = play->programs[0].handle[PEER];
        said.serial = ++serial;
        assert_int_equal(say(said, &body), PW_OK);
        pw_scheduler_turn(asked(), play->now_us);
        assert_int_equal(find(1000, 50)->state, PW_HOST_RUN_RESERVED);
        finish();
}

/* A program with a slice of this one place, as the peer names it. */
static enum pw_status install(struct pw_slice_place place, struct pw_error *ret_err)
{
        struct pw_program_requester peer = { PLAY_FIRST + PEER, PLAY_EPOCH, 1000 };
        struct pw_slice_map map = { .id = 1, .mesh = { 1 }, .device_count = 1, .places = &place };
        struct pw_slice_place good = { PLAY_FIRST + ASKED, 0, 0 };
        struct pw_graph *graph = pw_graph_new("row");
        struct pw_image *image = NULL;
        struct pw_program_row *row;
        enum pw_status status;
        uint32_t input;

        map.places = &good;
        assert_true(pw_graph_add_slice(graph, &map));
        map.places = &place;
        input = pw_make_input(graph, 0, PW_DIMS(64), (struct pw_sharding)PW_BROADCAST, 0);
        assert_true(pw_graph_add_result(graph, PW_MAKE_CALL(graph, 0, "m/like0", PW_BROADCAST, input)));
        assert_int_equal(pw_graph_check(graph, ret_err), PW_OK);
        assert_int_equal(pw_make_shapes(graph, ret_err), PW_OK);
        assert_int_equal(pw_lower(graph, &image, ret_err), PW_OK);
        pw_graph_free(graph);
        status = pw_program_make(image, &map, &(struct pw_program_of){ "t", 0, PLAY_FIRST + ASKED }, &row, ret_err);
        if (status != PW_OK) {
                free(image);
                return status;
        }
        status = pw_scheduler_program_install_for(asked(), &peer, row, ret_err);
        if (status != PW_OK)
                pw_program_unmake(row);
        return status;
}

/* Devices that no host has, that this one has not, or has elsewhere. */
static void test_places(void **state)
{
        static const struct { struct pw_slice_place place; const char *text; } wrong[] = {
                { { PLAY_FIRST + ASKED, 0, PW_DEVICES_MAX },
                  "slice 0, place 0: device 64 in island 0 of host 6; a host has 64 devices in 16 islands at most" },
                { { PLAY_FIRST + PEER, PW_ISLANDS_MAX, 0 },
                  "slice 0, place 0: device 0 in island 16 of host 5; a host has 64 devices in 16 islands at most" },
                { { PLAY_FIRST + ASKED, 0, PLAY_DEVICES }, "program row: there is no device h6:2" },
                { { PLAY_FIRST + ASKED, 1, 0 }, "program row: device h6:0 is in island 0, not in 1" },
        };
        struct pw_error err;

        (void)state;
        begin();
        for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
                assert_int_equal(install(wrong[i].place, &err), PW_INVALID);
                assert_string_equal(err.text, wrong[i].text);
        }
        assert_int_equal(install((struct pw_slice_place){ PLAY_FIRST + ASKED, 1, 1 }, &err), PW_OK);
        finish();
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_numbers), cmocka_unit_test(test_slot_is_anothers),
                                            cmocka_unit_test(test_inputs), cmocka_unit_test(test_of_another_coordinator),
                                            cmocka_unit_test(test_released_early), cmocka_unit_test(test_input_is_late),
                                            cmocka_unit_test(test_lost_when_half_written), cmocka_unit_test(test_places),
                                            cmocka_unit_test(test_prepared_before_the_one_ahead),
                                            cmocka_unit_test(test_stopped_and_given_back), cmocka_unit_test(test_alone) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
