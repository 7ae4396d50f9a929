/* What daemon/work/submit.c does with a RUN record, over the product's store, and a scheduler that knows one thing: a run whose
 * input is ready makes its result ready. Stands for take_input(), take_result() and pw_submit_*batch() there, and for
 * scheduler/ as far as the store sees it: results are decided, inputs are released, rooms are freed. */
#include "tests/model/runs.h"

#include "daemon/work/submit.h"
#include "scheduler/run.h"
#include "store/object.h"

struct run {
        struct pw_list link;
        uint64_t number;
        struct pw_object *input, *result;
        bool donated, alone, gone, cancelled;
};
static struct { struct pw_list in_flight; uint64_t count; } runs;
struct runs_seen runs_seen;
static struct pw_result rooms[RUNS_ROOMS];

void runs_begin(void)
{
        runs.count = 0;
        pw_list_init(&runs.in_flight);
        memset(&runs_seen, 0, sizeof runs_seen);
        memset(rooms, 0, sizeof rooms);
        model_state(&runs, sizeof runs);
        model_state(rooms, sizeof rooms);
        model_share_plain(&runs_seen, sizeof runs_seen, NULL);
}

static void *room_of(const struct pw_object *object) { return &rooms[object->slot % RUNS_ROOMS]; }
void runs_free_room(void *payload) { ++runs_seen.freed[(struct pw_result *)payload - rooms]; }

static bool decide(struct pw_object *object, enum pw_status status)
{
        _Alignas(struct pw_shard_list) uint8_t memory[PW_SHARD_LIST_BYTES(1)] = { 0 };
        struct pw_shard_list *one = (struct pw_shard_list *)memory;

        one->shard_count = 1;
        one->shards[0].offset = object->slot % RUNS_ROOMS;
        pw_store_decide(world.daemon.store, object,
                        &(struct pw_decision){ .status = status, .text = "cancelled", .list = one, .bytes = 8 }, 0);
        return pw_word_decided(pw_entry_load(pw_object_entry(world.daemon.store, object)));
}

void runs_result(uint32_t i, uint32_t slot)
{
        uint32_t generation = pw_word_generation(pw_map_entry(&world.futures.map, slot)->word);
        struct pw_object *object;

        model_must(pw_store_claim(world.daemon.store, i + 1, pw_cell_object(0, WORLD_FUTURES, slot, generation), ++runs.count,
                                  NULL, &object, NULL) == PW_OK && decide(object, PW_OK), "a result before the start");
        object->payload = room_of(object);
}

/* --- the client ------------------------------------------------------------------------------------------------------------ */

bool runs_publish(struct world_client *client, const struct pw_future *input, bool donated, const struct pw_future *result)
{
        struct pw_ring_writer *writer = &client->lane->writer;

        if (pw_lane_await_ring(client->lane, input ? 4 : 3, NULL) != PW_OK)
                return false;
        pw_ring_write(writer, pw_cell_run(0, input != NULL, 1, 1));
        pw_ring_write(writer, (struct pw_cell){ 0, 0 });
        if (input)
                pw_ring_write(writer,
                              pw_cell_object(donated ? PW_RUN_INPUT_DONATED : 0, input->segment, input->slot, input->generation));
        pw_ring_write(writer, pw_cell_object(0, result->segment, result->slot, result->generation));
        pw_lane_publish(client->lane, true);
        return true;
}

/* --- the daemon ------------------------------------------------------------------------------------------------------------ */

static void take_input(struct pw_dlane *lane, struct run *run, struct pw_cell cell, uint64_t now_us)
{
        struct pw_store *store = world.daemon.store;
        uint32_t session = lane->session->number;
        bool donated = pw_cell_top(cell) & PW_RUN_INPUT_DONATED;
        struct pw_object *object = pw_store_find(store, session, pw_cell_segment(cell), pw_cell_slot(cell),
                                                 pw_cell_generation(cell));

        run->gone = true;
        if (!object || pw_store_unclaimed(store, cell))
                return;
        if (donated && pw_object_result(object) && pw_store_donate(store, session, object, run->number, NULL) == PW_OK)
                run->donated = true;
        else if (pw_store_hold(store, object, (struct pw_owner){ PW_OWNER_RUN, run->number }, NULL) != PW_OK ||
                 (donated && pw_store_drop(store, session, cell, now_us) != PW_OK))
                return;
        run->gone = false;
        run->input = object;
}

uint32_t pw_submit_record(struct pw_dlane *lane, struct pw_cell header, uint32_t left, uint64_t now_us)
{
        uint32_t inputs = pw_cell_run_inputs(header), results = pw_cell_run_results(header);
        struct run *run;

        if (inputs > 1 || results != 1 || 2 + inputs + results > left)
                return 0;
        run = calloc(1, sizeof *run);
        run->number = ++runs.count;
        if (inputs)
                take_input(lane, run, pw_ring_peek(&lane->reader, 2), now_us);
        runs_seen.refused += run->gone;
        pw_list_append(&world.daemon.work.submitted, &run->link);
        if (pw_store_claim(world.daemon.store, lane->session->number, pw_ring_peek(&lane->reader, 2 + inputs), run->number, NULL,
                           &run->result, NULL) != PW_OK)
                return 0;
        run->result->payload = room_of(run->result);
        return 2 + inputs + results;
}

void pw_submit_close_batch(struct pw_daemon *daemon)
{
        if (!world.tenant.scan)
                pw_list_splice(&world.tenant.batch, &daemon->work.submitted);
}

void pw_submit_scanned(struct pw_daemon *daemon, struct pw_tenant *tenant, uint64_t now_us)
{
        struct run *run;

        (void)now_us;
        pw_list_each(&tenant->batch, run, struct run, link) {
                pw_list_remove(&run->link);
                if (run->donated)
                        run->alone = pw_store_donated_alone(daemon->store, run->input);
                pw_list_append(&runs.in_flight, &run->link);
                daemon->loop.more = true;
        }
}

void pw_submit_batch(struct pw_daemon *daemon, uint64_t now_us)
{
        if (!world.tenant.scan)
                pw_submit_scanned(daemon, &world.tenant, now_us);
}

void runs_cancel(uint64_t number)
{
        struct run *run;

        pw_list_each(&runs.in_flight, run, struct run, link)
                if (run->number == number)
                        run->cancelled = true;
        world.daemon.loop.more = true;
}

/* One run more is done, or none whose input is ready is there. */
void pw_scheduler_turn(struct pw_scheduler *scheduler, uint64_t now_us)
{
        struct pw_store *store = world.daemon.store;
        struct run *run;

        (void)scheduler;
        pw_list_each(&runs.in_flight, run, struct run, link) {
                if (run->input && !run->cancelled && !pw_word_decided(pw_entry_load(pw_object_entry(store, run->input))))
                        continue;
                pw_list_remove(&run->link);
                if (run->donated && run->alone && !run->cancelled)
                        runs_seen.overwritten = true;
                decide(run->result, run->cancelled ? PW_CANCELLED : run->gone ? PW_GONE : PW_OK);
                if (run->input)
                        pw_store_release(store, run->input, (struct pw_owner){ PW_OWNER_RUN, run->number }, now_us);
                free(run);
                world.daemon.loop.more = true;
                return;
        }
}
