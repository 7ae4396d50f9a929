/* A host without a daemon, in shared memory. */
#include "executor/fixture_test.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define BOARD_BYTES (UINT64_C(64) << 20)
#define LATE_US UINT64_C(30)

static void *shared(uint64_t bytes)
{
        void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        assert_ptr_not_equal(map, MAP_FAILED);
        return map;
}

static uint64_t late_us; /* of the tests that are run */

int world_tests_run(const struct CMUnitTest *tests, size_t count)
{
        int failed = 0;

        for (late_us = 0; late_us <= LATE_US; late_us += LATE_US)
                failed += _cmocka_run_group_tests(late_us ? "late devices" : "early devices", tests, count, NULL, NULL);
        return failed;
}

void world_init(struct world *world, uint32_t device_count, uint32_t island_count)
{
        *world = (struct world){ .device_count = device_count, .island_count = island_count,
                                 .collective = pw_collective_kind("host"), .launch_delay_us = late_us };
        world->bells = shared(sizeof *world->bells);
        world->doorbells = shared(4096);
        for (uint32_t i = 0; i < island_count; i++) {
                world->islands[i] = shared(BOARD_BYTES);
                world->arena_top[i] = offsetof(struct pw_island_board, arena);
        }
        for (uint32_t s = 0; s < 2 + device_count; s++)
                world->segments[s] = shared(SEGMENT_BYTES);
        for (uint32_t d = 0; d < device_count; d++) {
                world->boards[d] = shared(sizeof *world->boards[d]);
                world->island_of[d] = (uint16_t)(d * island_count / device_count);
        }
}

void world_kill(struct world *world, uint32_t device)
{
        if (!world->pids[device])
                return;
        kill(world->pids[device], SIGKILL);
        waitpid(world->pids[device], NULL, 0);
        world->pids[device] = 0;
}

void world_done(struct world *world)
{
        for (uint32_t d = 0; d < world->device_count; d++) {
                world_kill(world, d);
                munmap(world->boards[d], sizeof *world->boards[d]);
        }
        for (uint32_t i = 0; i < world->island_count; i++)
                munmap(world->islands[i], BOARD_BYTES);
        for (uint32_t s = 0; s < 2 + world->device_count; s++)
                munmap(world->segments[s], SEGMENT_BYTES);
        munmap(world->bells, sizeof *world->bells);
        munmap(world->doorbells, 4096);
}

/* --- an executor --------------------------------------------------------------------------------------------------------- */

struct pw_launch *world_launch(struct world *world, uint32_t device, const struct pw_device_kind *kind)
{
        struct pw_launch_params params = { .host = WORLD_HOST, .device = device, .island = world->island_of[device],
                                           .device_count = world->device_count,
                                           .island_count = world->island_count, .bells = world->bells, .around = &world->around,
                                           .kind = kind, .collective = world->collective };
        struct pw_device_params device_params = { .number = device, .launch_delay_us = world->launch_delay_us };
        struct pw_error err;

        world->around = world_around(world);
        memcpy(params.boards, world->boards, sizeof params.boards);
        memcpy(params.islands, world->islands, sizeof params.islands);
        return kind->open(&device_params, &params.handle, &err) == PW_OK ? pw_launch_new(&params) : NULL;
}

static void executor(struct world *world, uint32_t device)
{
        struct pw_launch *launch;

        signal(SIGSEGV, SIG_DFL); /* cmocka catches it */
        launch = world_launch(world, device, pw_device_kind("emulated"));
        while (launch) {
                pw_launch_turn(launch);
                pw_launch_wait(launch);
        }
        _exit(1);
}

void world_start(struct world *world, uint32_t device)
{
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (!pid) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                executor(world, device);
        }
        world->pids[device] = pid;
}

void world_start_all(struct world *world)
{
        for (uint32_t d = 0; d < world->device_count; d++)
                world_start(world, d);
}

uint64_t world_room(struct world *world, uint32_t segment, uint64_t bytes)
{
        uint64_t offset = world->segment_top[segment];

        world->segment_top[segment] += pw_round_up(bytes, PW_ROOM_ALIGN);
        assert_true(world->segment_top[segment] <= ROOMS_BYTES);
        return offset;
}

void *world_at(struct world *world, uint32_t segment, uint64_t offset) { return world->segments[segment] + offset; }

void world_wait(struct world *world, uint32_t device, uint64_t seq)
{
        int64_t deadline = pw_now_ns() + INT64_C(25000000000);

        while (atomic_load(&world->boards[device]->done.seq) < seq) {
                if (pw_now_ns() > deadline)
                        fail_msg("device %u: gang %llu of %llu", device, (unsigned long long)world->boards[device]->done.seq,
                                 (unsigned long long)seq);
                sched_yield();
        }
}

struct pw_report world_report(const struct world *world, uint32_t device)
{
        uint32_t head = atomic_load(&world->boards[device]->report_head);
        struct pw_report report;

        assert_true(pw_report_pop(world->boards[device], &head, &report));
        return report;
}

void world_no_report(const struct world *world)
{
        for (uint32_t d = 0; d < world->device_count; d++)
                assert_int_equal(atomic_load(&world->boards[d]->report_head), atomic_load(&world->boards[d]->report_tail));
}

struct pw_history world_history(const struct world *world, uint32_t device, uint64_t seq)
{
        const struct pw_device_board *board = world->boards[device];

        for (uint64_t i = 0; i < atomic_load(&((struct pw_device_board *)(uintptr_t)board)->history_count); i++)
                if (board->history[i % PW_HISTORY].seq == seq)
                        return board->history[i % PW_HISTORY];
        fail_msg("no history of gang %llu", (unsigned long long)seq);
        return (struct pw_history){ 0 };
}

/* --- runs ---------------------------------------------------------------------------------------------------------------- */

static void *arena_take(struct world *world, uint32_t island, uint64_t bytes, uint32_t *ret_line)
{
        uint64_t offset = world->arena_top[island];

        world->arena_top[island] += pw_round_up(bytes, 64);
        assert_true(world->arena_top[island] <= BOARD_BYTES);
        *ret_line = (uint32_t)(offset / 64);
        return (uint8_t *)world->islands[island] + offset;
}

static void program_slice(struct program *program, uint32_t slice)
{
        struct world *world = program->world;
        uint32_t count = program->build->slices[slice].count;
        struct pw_slice_record *record = arena_take(world, program->island, sizeof *record + count * sizeof record->places[0],
                                                    &program->slice_lines[slice]);

        record->device_count = count;
        memcpy(record->mesh, program->build->slices[slice].mesh, sizeof record->mesh);
        for (uint32_t i = 0; i < count; i++) {
                uint32_t device = program->build->slices[slice].devices[i];
                record->places[i] = device == WORLD_AFAR
                        ? (struct pw_slice_place){ WORLD_HOST + 1, 0, 0 }
                        : (struct pw_slice_place){ WORLD_HOST, world->island_of[device], (uint16_t)device };
        }
}

/* Said here: an executor that lacks one ends, and nobody starts it again. */
static void check_modules(struct world *world, const struct build *build)
{
        struct pw_surroundings around = world_around(world);
        struct pw_error err;
        int fd;

        for (uint32_t i = 0; i < build->function_count; i++) {
                const char *module = build->text + build->functions[i].module;
                if (!strcmp(module, "missing")) /* on purpose */
                        continue;
                if (around.module(around.context, module, 0, &fd, &err) != PW_OK)
                        fail_msg("%s: make it, and say in PW_BUILD where", err.text);
                close(fd);
        }
}

void program_init(struct program *program, struct world *world, struct build *build_take)
{
        check_modules(world, build_take);
        *program = (struct program){ .world = world, .build = build_take, .serial = ++world->serial };
        program->image = build_finish(build_take);
        program->island = world->island_count - 1;
        memcpy(arena_take(world, program->island, program->image->bytes, &program->line), program->image, program->image->bytes);
        for (uint32_t s = 0; s < build_take->slice_count; s++)
                program_slice(program, s);
}

void program_done(struct program *program)
{
        free(program->image);
        free(program->build);
}

/* Room of `bytes` behind what the record has so far; returns its offset. */
static uint32_t record_add(struct pw_run_record *record, const void *from, uint64_t bytes)
{
        uint32_t offset = (uint32_t)pw_round_up(record->bytes, 8);

        record->bytes = offset + (uint32_t)bytes;
        memcpy((uint8_t *)record + offset, from, bytes);
        return offset;
}

static void record_inputs(struct pw_run_record *record, const struct input *inputs, uint32_t count)
{
        struct pw_run_input all[16] = { 0 };

        for (uint32_t i = 0; i < count; i++) {
                all[i] = (struct pw_run_input){ .in_place = inputs[i].in_place, .is_inline = inputs[i].inline_value != NULL,
                                                .status = inputs[i].status,
                                                .bytes = inputs[i].bytes, .sharding = inputs[i].sharding,
                                                .shard_count = inputs[i].shard_count };
                memcpy(all[i].mesh, inputs[i].mesh, sizeof all[i].mesh);
                if (inputs[i].inline_value)
                        memcpy(all[i].value, inputs[i].inline_value, inputs[i].bytes);
                all[i].shards = record_add(record, inputs[i].shards, inputs[i].shard_count * sizeof inputs[i].shards[0]);
        }
        record->inputs = record_add(record, all, count * sizeof all[0]);
}

/* Rooms on the devices of the world that a slice has. */
static uint32_t record_list(struct pw_run_record *record, const struct build *build, uint32_t slice, const uint64_t *offsets,
                            uint64_t bytes)
{
        struct pw_run_room rooms[PW_DEVICES_MAX] = { { 0 } };
        uint32_t count = 0;

        for (uint32_t i = 0; i < build->slices[slice].count; i++) {
                uint32_t device = build->slices[slice].devices[i];
                if (device != WORLD_AFAR)
                        rooms[count++] = (struct pw_run_room){ DEVICE_SEGMENT(device), 0, offsets[i], bytes };
        }
        return record_add(record, rooms, count * sizeof rooms[0]);
}

static void record_rooms(struct pw_run_record *record, const struct run *run)
{
        const struct build *build = run->program->build;
        uint32_t lists[64] = { 0 };

        for (uint32_t s = 0; s < build->slice_count; s++)
                lists[s] = record_list(record, build, s, run->blocks[s], build->slices[s].block_bytes);
        record->blocks = record_add(record, lists, sizeof lists);
        for (uint32_t r = 0; r < build->result_count; r++) {
                const struct pw_image_value *value = &build->values[build->results[r].value];
                lists[r] = record_list(record, build, value->slice, run->results[r], pw_room_bytes(value->shard_bytes));
        }
        record->results = record_add(record, lists, sizeof lists);
}

static void take_rooms(struct world *world, const struct build *build, uint32_t slice, uint64_t bytes, uint64_t *ret_offsets)
{
        for (uint32_t i = 0; i < build->slices[slice].count; i++)
                if (build->slices[slice].devices[i] != WORLD_AFAR)
                        ret_offsets[i] = world_room(world, DEVICE_SEGMENT(build->slices[slice].devices[i]), bytes);
}

static void run_rooms(struct run *run)
{
        const struct build *build = run->program->build;
        struct world *world = run->program->world;

        for (uint32_t s = 0; s < build->slice_count; s++)
                take_rooms(world, build, s, build->slices[s].block_bytes, run->blocks[s]);
        for (uint32_t r = 0; r < build->result_count; r++) {
                const struct pw_image_value *value = &build->values[build->results[r].value];
                take_rooms(world, build, value->slice, pw_room_bytes(value->shard_bytes), run->results[r]);
        }
}

void run_init(struct run *run, struct program *program, const struct input *inputs)
{
        struct world *world = program->world;
        const struct build *build = program->build;
        static const uint64_t zeros[BUILD_MAX];
        uint32_t numbers[PW_ISLANDS_MAX];

        *run = (struct run){ .program = program, .number = ++world->runs };
        run_rooms(run);
        for (uint32_t i = 0; i < world->island_count; i++) {
                struct pw_run_record *record = arena_take(world, i, 65536 + build->seq_count * world->island_count * 8,
                                                          &run->lines[i]);
                *record = (struct pw_run_record){ .run = run->number, .image_island = program->island, .image = program->line,
                                                  .image_serial = program->serial,
                                                  .bytes = sizeof *record, .island_count = world->island_count,
                                                  .cancelled_at = UINT32_MAX };
                for (uint32_t k = 0; k < world->island_count; k++)
                        numbers[k] = k;
                record->island_numbers = record_add(record, numbers, world->island_count * sizeof numbers[0]);
                record_inputs(record, inputs, build->input_count);
                record->slices = record_add(record, program->slice_lines, sizeof program->slice_lines);
                record_rooms(record, run);
                record->seqs = record_add(record, zeros, (uint64_t)build->seq_count * world->island_count * 8);
                record->ahead_seqs = record_add(record, zeros, (uint64_t)build->seq_count * world->island_count * 8);
        }
}

struct pw_run_record *run_record(const struct run *run, uint32_t island)
{
        return pw_board_line(run->program->world->islands[island], run->lines[island]);
}

void *input_in_host(struct input *input, struct world *world)
{
        uint64_t offset = world_room(world, HOST_SEGMENT, input->bytes);

        input->shard_count = input->mesh[0] = 1;
        input->shards[0] = (struct pw_run_shard){ .segment = HOST_SEGMENT, .device = PW_SHARD_IN_HOST, .offset = offset,
                                                  .bytes = input->bytes };
        return world_at(world, HOST_SEGMENT, offset);
}

static uint64_t members_of(const struct run *run, uint32_t slice, uint32_t island)
{
        const struct build *build = run->program->build;
        uint64_t members = 0;

        for (uint32_t i = 0; i < build->slices[slice].count; i++)
                if (build->slices[slice].devices[i] != WORLD_AFAR &&
                    run->program->world->island_of[build->slices[slice].devices[i]] == island)
                        members |= UINT64_C(1) << build->slices[slice].devices[i];
        return members;
}

void run_order(const struct run *run, uint32_t node)
{
        const struct pw_image_node *image = pw_image_node(run->program->image, node);
        struct world *world = run->program->world;

        for (uint32_t island = 0; island < world->island_count; island++) {
                uint64_t members = image->phase == PW_PHASE_SEND ? 0 : members_of(run, image->slice, island), seq;
                if (image->kind == PW_NODE_TRANSFER && image->phase != PW_PHASE_RECV)
                        members |= members_of(run, image->source_slice, island);
                if (!members)
                        continue;
                seq = atomic_load(&world->islands[island]->head) + 1;
                for (uint32_t k = 0; image->seq_slot != PW_NO_SEQ && k < world->island_count; k++) {
                        _Atomic uint64_t *seqs = PW_RUN_AT(run_record(run, k), _Atomic uint64_t, run_record(run, k)->seqs);
                        atomic_store(&seqs[image->seq_slot * world->island_count + island], seq);
                }
                pw_order_append(world->islands[island], (struct pw_order){ run->lines[island], node, members });
                pw_bells_ring(world->bells, &world->bells->order_sleepers[island].bits, members);
        }
}

void run_order_all(const struct run *run)
{
        for (uint32_t n = 0; n < run->program->image->node_count; n++)
                run_order(run, n);
}

void run_wait(const struct run *run)
{
        struct world *world = run->program->world;

        for (uint32_t d = 0; d < world->device_count; d++) {
                struct pw_island_board *board = world->islands[world->island_of[d]];
                uint64_t seq = atomic_load(&board->head);
                while (seq && !(board->log[seq % PW_ORDER_LOG].members >> d & 1))
                        seq--;
                world_wait(world, d, seq);
        }
}

/* Where a result lies, and among the heads of its segment its head. */
static uint8_t *result_at(const struct run *run, uint32_t result, uint32_t place, bool head)
{
        const struct build *build = run->program->build;
        uint32_t slice = build->values[build->results[result].value].slice;
        uint64_t offset = run->results[result][place];

        return world_at(run->program->world, DEVICE_SEGMENT(build->slices[slice].devices[place]),
                        head ? ROOMS_BYTES + pw_room_head_at(offset) : offset);
}

const struct pw_room_head *run_head(const struct run *run, uint32_t result, uint32_t place)
{
        return (const struct pw_room_head *)result_at(run, result, place, true);
}

const void *run_data(const struct run *run, uint32_t result, uint32_t place) { return result_at(run, result, place, false); }

/* --- what most tests begin with ------------------------------------------------------------------------------------------ */

const struct input input_one = { .inline_value = &(const double){ 1.0 }, .bytes = sizeof(double), .shard_count = 1, .mesh = { 1 } };

void trial_init(struct trial *trial, uint32_t device_count, uint32_t island_count, struct build *build_take)
{
        world_init(&trial->world, device_count, island_count);
        program_init(&trial->program, &trial->world, build_take);
}

void trial_start(struct trial *trial, uint32_t device_count, uint32_t island_count, struct build *build_take)
{
        trial_init(trial, device_count, island_count, build_take);
        world_start_all(&trial->world);
}

void trial_run(struct trial *trial, const struct input *inputs)
{
        run_init(&trial->run, &trial->program, inputs);
        run_order_all(&trial->run);
        run_wait(&trial->run);
}

void trial_done(struct trial *trial)
{
        world_done(&trial->world);
        program_done(&trial->program);
}
