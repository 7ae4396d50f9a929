/* The store against a model, from a seed: clients that put, share, run, donate, name and die, in any order.
 *
 * After every step nothing that the model still holds may be gone; after each 100 the store proves its invariants and every
 * byte is accounted for; at the end, when everybody has left, nothing is left.
 */
#include "store/model_test.h"

#define SEEDS 12u
#define STEPS 6000u

static void put(struct world *world, struct client *client)
{
        uint32_t object;
        uint64_t old = 0;

        if (client->token || client->held_count == HELD ||
            !model_take_slot(world, client, model_dice(world, ROW_INLINE + 1), &object))
                return;
        world->puts++;
        bool created = model_dice(world, 8) == 0;
        if (!created)
                assert_true(pw_entry_decide(world->objects[object].entry, world->objects[object].generation, PW_OK, 0,
                                            UINT32_MAX, &old));
        model_hold_it(client, object, created);
}

static void seal(struct world *world, struct client *client)
{
        uint64_t old = 0;

        for (uint32_t i = 0; i < client->held_count; i++) {
                struct object *object = &world->objects[client->held[i].object];
                if (!client->held[i].created)
                        continue;
                assert_true(pw_entry_decide(object->entry, object->generation, PW_OK, 0, UINT32_MAX, &old));
                client->held[i].created = false;
                if (pw_word_flags(old) & PW_ENTRY_RING)
                        pw_store_rung(world->store, client->session, world->now_us);
                return;
        }
}

static void drop(struct world *world, struct client *client)
{
        uint32_t i;
        uint64_t old = 0;

        if (!client->held_count)
                return;
        i = model_dice(world, client->held_count);
        struct object *object = &world->objects[client->held[i].object];
        if (client->held[i].created)
                assert_true(pw_entry_decide(object->entry, object->generation, PW_CANCELLED, 0, UINT32_MAX, &old));
        model_publish(client, client->held[i].object, false);
        client->held[i] = client->held[--client->held_count];
}

/* By id, of something that another client holds or held: REF first, then the scan. */
static void open_by_id(struct world *world, struct client *client, bool between)
{
        uint32_t number;
        struct object *object;
        uint64_t word;

        if (!world->object_count || client->held_count == HELD)
                return;
        number = model_dice(world, 2) ? model_dice(world, world->object_count)
                                      : world->object_count - 1 - model_dice(world, pw_min_u64(world->object_count, 40));
        object = &world->objects[number];
        if (!model_names_it(object) || object->final)
                return;
        assert_int_equal(pw_store_reader_add(world->store, object->segment, client->session, NULL),
                         PW_OK); /* it asks for the segment */
        model_publish(client, number, true);
        word = pw_entry_load(object->entry);
        if (pw_word_state(word) == PW_ENTRY_CLOSING) {
                assert_true(between);
                model_read_ring(world, client); /* it waits for the word: the daemon reads the ring in its scan */
                world->reopened++;
        }
        model_hold_it(client, number, false);
        world->opened++;
}

/* One of what the client holds is the run's input, given away or not. */
static void take_input(struct world *world, struct client *client, struct run *run)
{
        uint32_t at = client->held_count ? model_dice(world, client->held_count) : 0;
        uint32_t number = client->held[at].object;
        const struct object *object = &world->objects[number];
        struct pw_object *known;

        if (!client->held_count)
                return;
        known = pw_store_find(world->store, client->session, object->segment, object->slot, object->generation);
        assert_non_null(known);
        run->inputs[run->input_count++] = known;
        if (object->payload && model_dice(world, 2) &&
            pw_store_donate(world->store, client->session, known, run->number, NULL) == PW_OK) {
                run->donates = true;
                run->given = number;
                client->held[at] = client->held[--client->held_count];
                return;
        }
        assert_int_equal(pw_store_hold(world->store, known, (struct pw_owner){ PW_OWNER_RUN, run->number }, NULL), PW_OK);
}

static void claim_results(struct world *world, struct client *client, struct run *run)
{
        for (uint32_t i = 0; i < run->result_count; i++) {
                struct object *object = &world->objects[run->results[i]];
                struct pw_cell cell = pw_cell_object(0, object->segment, object->slot, object->generation);
                void *payload = (void *)(uintptr_t)(run->results[i] + 1);

                assert_int_equal(pw_store_claim(world->store, client->session, cell, run->number, payload, &run->outputs[i], NULL),
                                 PW_OK);
                object->payload = 1;
                model_hold_it(client, run->results[i], false);
        }
}

static void submit(struct world *world, struct client *client)
{
        struct run *run = &world->runs[world->run_count];

        if (client->token || world->run_count == RUNS || client->held_count + 2 > HELD)
                return;
        memset(run, 0, sizeof *run);
        run->number = ++world->next_run;
        run->result_count = 1 + model_dice(world, 2);
        for (uint32_t i = 0; i < run->result_count; i++) {
                if (model_take_slot(world, client, ROW_FUTURES, &run->results[i]))
                        continue;
                while (i-- > 0)
                        model_publish(client, run->results[i], false); /* never submitted */
                return;
        }
        model_read_ring(world, client); /* in ring order */
        take_input(world, client, run);
        claim_results(world, client, run);
        world->run_count++;
}

static uint32_t holders_of(const struct world *world, uint32_t object)
{
        uint32_t count = 0;

        for (uint32_t c = 0; c < CLIENTS; c++)
                for (uint32_t i = 0; world->clients[c].alive && i < world->clients[c].held_count; i++)
                        count += world->clients[c].held[i].object == object;
        return count;
}

static void decide_results(struct world *world, struct run *run)
{
        union {
                struct pw_shard_list list;
                char space[PW_SHARD_LIST_BYTES(4)];
        } shards = { .list.shard_count = 4 };
        bool fails = run->cancelled || model_dice(world, 4) == 0;

        for (uint32_t i = 0; i < run->result_count; i++)
                pw_store_decide(
                        world->store, run->outputs[i],
                        &(struct pw_decision){ .status = fails ? PW_FAILED : PW_OK, .text = "function a/b failed",
                                               .list = &shards.list, .bytes = 4096 },
                        world->now_us);
}

static void end_run(struct world *world)
{
        struct run run;
        uint32_t i;

        if (!world->run_count)
                return;
        i = model_dice(world, world->run_count);
        if (!world->runs[i].submitted)
                return;
        run = world->runs[i];
        world->runs[i] = world->runs[--world->run_count];
        decide_results(world, &run);
        for (uint32_t j = 0; j < run.input_count; j++)
                pw_store_release(world->store, run.inputs[j], (struct pw_owner){ PW_OWNER_RUN, run.number }, world->now_us);
}

static void turn(struct world *world)
{
        bool closing;

        model_read_all(world);
        closing = pw_store_reclaim_begin(world->store);
        for (uint32_t i = 0; i < CLIENTS; i++)
                if (world->clients[i].alive && model_dice(world, 2))
                        open_by_id(world, &world->clients[i], true);
        model_look(world);
        for (uint32_t i = 0; i < world->run_count; i++) {
                struct run *run = &world->runs[i];
                if (run->donates && !run->submitted) {
                        bool alone = pw_store_donated_alone(world->store, run->inputs[0]);
                        if (holders_of(world, run->given) || world->objects[run->given].proxy)
                                assert_false(alone);
                        world->objects[run->given].final = alone;
                        world->donated += alone;
                }
                run->submitted = true;
        }
        if (closing)
                pw_store_reclaim_finish(world->store, world->now_us);
        model_do_actions(world);
}

static void names(struct world *world, struct client *client)
{
        char name[8];
        struct object *object;
        struct pw_object *known;

        snprintf(name, sizeof name, "n%u", model_dice(world, 8));
        if (model_dice(world, 2) || !client->held_count) {
                if (pw_store_name_find(world->store, "ann", name))
                        assert_int_equal(plain_remove(world->store, "ann", name, world->now_us, NULL), PW_OK);
                return;
        }
        object = &world->objects[client->held[model_dice(world, client->held_count)].object];
        known = pw_store_find(world->store, client->session, object->segment, object->slot, object->generation);
        if (!known)
                return; /* its REF is not read yet */
        if (model_dice(world, 2))
                assert_int_equal(pw_store_lease(world->store, known, world->now_us + model_dice(world, 5000), NULL), PW_OK);
        else
                assert_int_equal(plain_bind(world->store, "ann", name, known, 0, world->now_us, NULL),
                                 pw_store_name_find(world->store, "ann", name) &&
                                                 pw_store_name_find(world->store, "ann", name) != known
                                         ? PW_EXISTS
                                         : PW_OK);
}

static void end_client(struct world *world, struct client *client)
{
        bool dead = model_dice(world, 2);

        if (!dead)
                model_read_ring(world, client);
        client->alive = false;
        if (client->token)
                pw_store_room_cancel(world->store, client->token);
        world->old[world->old_count].segment = client->segment;
        world->old[world->old_count++].entries = client->entries;
        if (!dead)
                world->ended[world->ended_count++] = client->session;
        pw_store_session_end(world->store, client->session, dead, world->now_us);
        model_do_actions(world);
        model_free_client_memory(client);
}

static void found(void *context, const char *where, const char *problem)
{
        (void)context;
        print_error("%s: %s\n", where, problem);
}

static void check(struct world *world)
{
        struct pw_memory_terms terms;

        model_check_held(world);
        assert_int_equal(pw_store_check(world->store, found, NULL), 0);
        pw_store_terms(world->store, &terms);
        assert_int_equal(terms.unaccounted, 0);
}

static void populated(struct world *world)
{
        uint64_t token;

        if (!world->populate_count)
                return;
        token = world->populate[0].token;
        memmove(world->populate, world->populate + 1, --world->populate_count * sizeof *world->populate);
        pw_store_populated(world->store, token, model_dice(world, 20) ? PW_OK : model_dice(world, 2) ? PW_SYSTEM : PW_NO_SPACE,
                           world->now_us);
        model_do_actions(world);
}

/* Pages that were given up are given back, some or all of one punch. */
static void punched(struct world *world)
{
        uint64_t bytes;

        if (!world->punch_count)
                return;
        bytes = world->punches[0].bytes;
        if (model_dice(world, 4) == 0)
                bytes = bytes / 2;
        world->punches[0].bytes -= bytes;
        pw_store_pages_gone(world->store, world->punches[0].owner, bytes, world->now_us);
        if (!world->punches[0].bytes)
                memmove(world->punches, world->punches + 1, --world->punch_count * sizeof world->punches[0]);
        model_do_actions(world);
}

static void step(struct world *world)
{
        struct client *client = &world->clients[model_dice(world, CLIENTS)];
        uint32_t what = model_dice(world, 100);

        world->now_us += model_dice(world, 100);
        if (!client->alive) {
                if (what < 30)
                        model_open_client(world, client);
        } else if (what < 35) {
                put(world, client);
        } else if (what < 58) {
                drop(world, client);
        } else if (what < 64) {
                open_by_id(world, client, false);
        } else if (what < 74) {
                submit(world, client);
        } else if (what < 78) {
                seal(world, client);
        } else if (what < 82) {
                names(world, client);
        } else if (what < 83 && model_dice(world, 6) == 0) {
                end_client(world, client);
        } else if (what < 84 && !client->token && model_dice(world, 3) == 0) {
                model_read_ring(world, client);
                pw_store_lane_end(world->store, client->session, client->lane_now, world->now_us);
                memset(client->rows[client->lane_now], 0, sizeof client->rows[client->lane_now]);
                client->lane_now = model_dice(world, LANES);
        } else if (what < 85 && world->ended_count) {
                pw_store_session_dead(world->store, world->ended[--world->ended_count], world->now_us);
        } else if (what < 90) {
                end_run(world);
        } else if (what < 94) {
                model_proxy(world, client);
        }
        model_do_actions(world);
        if (model_dice(world, 4) == 0)
                turn(world);
        if (model_dice(world, 2))
                populated(world);
        if (model_dice(world, 2))
                punched(world);
        if (pw_store_next_us(world->store) <= world->now_us)
                pw_store_tick(world->store, world->now_us);
        model_do_actions(world);
}

static void left_ref(void *context, const struct pw_ref_row *row)
{
        (void)context;
        print_error("  claim of %u %llu: %u\n", row->owner_kind, (unsigned long long)row->owner_number, row->count);
}

static bool left(void *context, const struct pw_object_row *row)
{
        char id[PW_ID_TEXT_BYTES];

        (void)context;
        print_error("%s is left: state %u, %u references, known %d\n", pw_id_format(row->id, id),
                    (unsigned)pw_word_state(row->word), row->refs, row->object != NULL);
        if (row->object)
                pw_object_each_ref(row->object, left_ref, NULL);
        return true;
}

/* Everybody leaves: nothing is left. */
static void close_world(struct world *world)
{
        struct pw_memory_terms terms;

        while (world->populate_count)
                populated(world);
        for (uint32_t i = 0; i < CLIENTS; i++)
                if (world->clients[i].alive)
                        end_client(world, &world->clients[i]);
        while (world->ended_count)
                pw_store_session_dead(world->store, world->ended[--world->ended_count], world->now_us);
        turn(world);
        while (world->run_count)
                end_run(world);
        for (uint32_t i = 0; i < 8; i++) {
                char name[8];
                snprintf(name, sizeof name, "n%u", i);
                if (pw_store_name_find(world->store, "ann", name))
                        assert_int_equal(plain_remove(world->store, "ann", name, world->now_us, NULL), PW_OK);
        }
        pw_store_tick(world->store, world->now_us += 100000);
        while (world->populate_count)
                populated(world);
        for (int i = 0; i < 4; i++)
                turn(world);
        while (world->punch_count)
                punched(world);
        check(world);
        pw_store_each_object(world->store, left, NULL);
        pw_store_terms(world->store, &terms);
        assert_int_equal(terms.used, 0);
        assert_int_equal(terms.idle, 0);
        assert_int_equal(terms.letting_go, 0);
        assert_int_equal(world->old_count, 0);
        for (uint32_t i = 0; i < world->object_count; i++)
                assert_int_not_equal(world->objects[i].payload, 1);
        pw_store_free(world->store);
        free(world->objects);
        free(world->hints);
        free(world->futures.base);
}

static void one_seed(uint64_t seed)
{
        struct world *world = malloc(sizeof *world);

        print_message("seed %llu\n", (unsigned long long)seed);
        model_open_world(world, seed);
        for (uint32_t i = 0; i < STEPS; i++) {
                step(world);
                model_check_held(world);
                if (i % 100 == 0)
                        check(world);
        }
        print_message("puts %llu grants %llu looks %llu refusals %llu opened %llu reopened %llu payloads %llu cancels %llu donated "
                      "%llu proxies %llu backed %llu\n",
                      (unsigned long long)world->puts, (unsigned long long)world->grants, (unsigned long long)world->looks,
                      (unsigned long long)world->refusals, (unsigned long long)world->opened, (unsigned long long)world->reopened,
                      (unsigned long long)world->freed_payloads, (unsigned long long)world->cancels,
                      (unsigned long long)world->donated, (unsigned long long)world->proxies, (unsigned long long)world->backed);
        close_world(world);
        free(world);
}

static void test_model(void **state)
{
        (void)state;
        for (uint64_t seed = 1; seed <= SEEDS; seed++)
                one_seed(seed);
}

/* A slot of the kind, at once: nothing else wants any. */
static uint32_t have_slot(struct world *world, struct client *client, uint32_t row)
{
        uint32_t object;

        while (!model_take_slot(world, client, row, &object)) {
                model_do_actions(world);
                while (world->punch_count)
                        punched(world);
                populated(world);
                assert_int_equal(client->token, 0);
        }
        return object;
}

/* Threads come and go: what their lanes were granted serves the next ones. Far more slots than there are. */
static void test_lanes_end(void **state)
{
        struct world *world = malloc(sizeof *world);
        struct client *client = &world->clients[0];
        uint64_t old = 0;

        (void)state;
        model_open_world(world, 3);
        for (uint32_t i = 0; i < 1000; i++) {
                for (uint32_t row = 0; row < ROWS; row++) {
                        uint32_t object = have_slot(world, client, row);

                        if (row != ROW_FUTURES)
                                assert_true(pw_entry_decide(world->objects[object].entry, world->objects[object].generation, PW_OK,
                                                            0, 1, &old));
                        model_publish(client, object, false);
                }
                model_read_ring(world, client);
                pw_store_lane_end(world->store, client->session, 0, world->now_us);
                memset(client->rows[0], 0, sizeof client->rows[0]);
                assert_true(pw_store_reclaim_begin(world->store));
                pw_store_reclaim_finish(world->store, world->now_us);
                model_do_actions(world);
        }
        check(world);
        close_world(world);
        free(world);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_model), cmocka_unit_test(test_lanes_end) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
