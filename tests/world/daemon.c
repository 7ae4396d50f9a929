/* The daemon of the world: what scheduler and store want done, its turn; notes what comes of results, and what must. */
#include "tests/world/client/claim.h"
#include "tests/world/client/store.h"
#include "tests/world/executor/gang.h"

#include "base/memory.h"
#include "scheduler/state.h"
#include "store/object.h"

struct world_run *world_find_run(struct world *world, uint64_t number)
{
        struct world_run *run;

        pw_list_each(&world->runs, run, struct world_run, link)
                if (run->number == number)
                        return run;
        return NULL;
}

/* --- what comes of results -------------------------------------------------------------------------------------------------- */

/* Its list says where it lies. */
static void check_list(struct world *world, const struct world_object *object)
{
        const struct pw_shard_list *list = world_shard_list(world, object);
        const struct pw_result *result = object->result;
        bool same = list->shard_count == result->room_count;

        for (uint32_t i = 0; same && i < list->shard_count; i++)
                same = list->shards[i].segment == result->rooms[i].segment &&
                       list->shards[i].offset == result->rooms[i].offset &&
                       list->shards[i].device.host == WORLD_HOST && list->shards[i].device.device == result->rooms[i].device;
        if (!same)
                world_fail(world, "the list of result %u of run %lu does not say where it lies", result->index,
                           (unsigned long)object->maker->number);
}

static void decided(struct world *world, struct world_object *object, uint64_t word)
{
        struct world_run *maker = object->maker;

        object->status = pw_word_state(word) == PW_ENTRY_READY ? PW_OK : pw_word_error(word);
        snprintf(object->text, sizeof object->text, "%s", object->status == PW_OK ? "" : world_error_text(world, object));
        object->decided = true;
        if (!object->refs) /* nobody will read it */
                return;
        *(object->status == PW_OK ? &world->good : &world->failed) += 1;
        world_log(world, "result of run %lu: %s %s", (unsigned long)maker->number, pw_status_name(object->status), object->text);
        if (object->status != PW_OK && !object->text[0])
                world_fail(world, "an error of run %lu says nothing", (unsigned long)maker->number);
        world_note_unheld(world, maker);
        object->decided = false;
        maker->any |= object->status == PW_TOO_LARGE || object->status == PW_NO_SPACE || object->status == PW_DEADLINE;
        world_evaluate(world, maker);
        if (!maker->any && object->error_expected != (object->status != PW_OK))
                world_fail(world, "result %u of run %lu is %s (%s)", object->result->index, (unsigned long)maker->number,
                           pw_status_name(object->status), object->text);
        world->judged += !maker->any;
        /* Whoever reads it from now on reads what it is. */
        object->decided = true;
        object->error_expected = object->status != PW_OK;
        object->any = object->error_expected && maker->any;
        if (object->status == PW_OK)
                check_list(world, object);
        world_verify(world, object);
}

static bool lies_on(const struct world_object *object, uint32_t device)
{
        for (uint32_t i = 0; object && object->result && i < object->result->room_count; i++)
                if (object->result->rooms[i].device == device)
                        return true;
        return false;
}

static void lost(struct world *world, struct world_object *object, uint64_t word)
{
        uint64_t died = world->lost_devices;

        while (died && !lies_on(object, (uint32_t)__builtin_ctzll(died)))
                died &= died - 1;
        if (!died)
                world_fail(world, "result %u of run %lu is lost, and no device died where it lies", object->result->index,
                           (unsigned long)object->maker->number);
        object->status = pw_word_error(word);
        object->error_expected = object->any = true;
        snprintf(object->text, sizeof object->text, "%s", world_error_text(world, object));
}

static void gone(struct world *world, struct world_object *object)
{
        struct world_run *maker = object->maker;

        if (object->refs)
                world_fail(world, "object %x.%x is gone, and is held by %u", object->segment, object->slot, object->refs);
        for (uint32_t i = 0; maker && i < WORLD_RESULTS; i++)
                if (maker->results[i] == object)
                        maker->results[i] = NULL;
        world_object_gone(world, object);
        pw_list_remove(&object->link);
        world->object_count--;
        free(object);
}

/* What has come of it, as a client sees it: in its entry. */
static void look_at(struct world *world, struct world_object *object)
{
        uint64_t word = pw_entry_load(object->entry);
        enum pw_entry_state state = pw_word_state(word);

        if (pw_word_generation(word) != object->generation || state < PW_ENTRY_PENDING)
                gone(world, object);
        else if (object->result && !object->decided && state >= PW_ENTRY_READY && state <= PW_ENTRY_LOST)
                decided(world, object, word);
        else if (object->result && object->decided && object->status == PW_OK && state == PW_ENTRY_LOST)
                lost(world, object, word);
}

static void wake(void *context, uint32_t segment, uint32_t slot)
{
        struct world_object *object = world_object_at(context, segment, slot);

        if (object)
                look_at(context, object);
}

/* Those that it was made of were decided before, and may not have been looked at. */
static void look_at_results(struct world *world, const struct world_run *run)
{
        struct world_object *object;
        bool all = false;

        for (uint32_t i = 0; i < run->run->input_count; i++)
                all |= !run->inputs[i]->decided && pw_word_decided(pw_entry_load(run->inputs[i]->entry));
        if (all)
                pw_list_each(&world->objects, object, struct world_object, link)
                        look_at(world, object);
        for (uint32_t i = 0; i < run->run->result_count; i++)
                if (run->results[i])
                        look_at(world, run->results[i]);
}

static void run_ended(void *context, struct pw_run *ended, enum pw_status outcome, uint64_t now_us)
{
        struct world *world = context;
        struct world_run *run = world_find_run(world, ended->number);

        (void)outcome;
        (void)now_us;
        if (!run || run->ended)
                world_fail(world, "run %lu ends twice", (unsigned long)ended->number);
        look_at_results(world, run);
        for (uint32_t i = 0; i < ended->result_count; i++)
                if (run->results[i] && !run->results[i]->decided)
                        world_fail(world, "run %lu ends with result %u undecided", (unsigned long)run->number, i);
        run->ended = true;
        run->run = NULL;
        for (uint32_t i = 0; i < ended->input_count; i++) {
                world_unref(world, run->inputs[i]);
                run->inputs[i] = NULL;
        }
        world->runs_open--;
        world->ended++;
        world_log(world, "run %lu ended", (unsigned long)run->number);
}

/* --- the port -------------------------------------------------------------------------------------------------------------- */

static void refused(struct world *world, uint64_t run)
{
        struct world_run *found = world_find_run(world, run);

        found->refused = true;
        world->unprepared++;
        world_log(world, "run %lu is refused", (unsigned long)run);
}

static void check_orders(struct world *world, const struct pw_message *message, const struct pw_order_item *items)
{
        for (uint32_t i = 0; i < message->order_count; i++)
                if (world_find_run(world, items[i].run)->refused)
                        world_fail(world, "a gang of run %lu is ordered, which has no record", (unsigned long)items[i].run);
}

static enum pw_status board(void *context, const struct pw_message *message, const struct pw_message_pools *pools,
                            struct pw_error *ret_err)
{
        struct world *world = context;
        enum pw_status status;

        if (message->kind == PW_MSG_ORDER)
                check_orders(world, message, pools->orders + message->first_order);
        status = pw_boards_apply(world->host, message, pools, ret_err);
        if (status != PW_OK && (message->kind != PW_MSG_PREPARE || !world->options.arena_bytes))
                world_fail(world, "%s", ret_err->text);
        if (status != PW_OK)
                refused(world, message->run.run);
        return status;
}

/* The board may have room for the image by now. */
static void place_image(struct world *world, struct pw_program_row *row)
{
        uint64_t bytes;

        if (!row->place.bytes && pw_boards_image_reserve(world->host, row, &bytes, NULL) == PW_OK)
                pw_boards_image_fill(world->host, row);
}

static void end_member(void *context, uint32_t device, uint64_t seq, enum pw_status status, const char *text)
{
        struct world *world = context;
        struct world_executor *self = &world->executors[device];
        const struct pw_order *order = &world->boards[self->island]->log[seq % PW_ORDER_LOG];

        (void)status;
        (void)text;
        if (atomic_load(&self->board->running) == seq && world_gang_of(world, self, order, seq).node->kind == PW_NODE_CALL)
                world->ending |= UINT64_C(1) << device;
}

static void program_ended(void *context, struct pw_program_row *program)
{
        struct world *world = context;
        struct pw_image_place place = pw_boards_image_detach(world->host, program);

        pw_boards_image_give(world->host, &place);
}

static void send_core(void *context, const struct pw_core_message *message, const struct pw_core_frame *frame, uint64_t now_us)
{
        (void)now_us;
        world_send(context, message, frame);
}

static void room(void *context, const struct pw_store_action *action) { world_room(context, action); }
static void pages(void *context, const struct pw_store_action *action) { world_pages(context, action); }
/* Nobody but the scheduler watches objects here. */
static void decided_for_others(void *context, struct pw_object *object) { (void)context, (void)object; }

static void proxy(void *context, const struct pw_store_action *action)
{
        world_fail(context, "proxy %lu, of no host", (unsigned long)action->number);
}
static void drain(void *context) { (void)context; } /* what clients say is read at once */

static void segment_left(void *context, uint32_t segment, enum pw_store_action_kind how)
{
        struct world *world = context;
        struct pw_store_leaving leaving;

        if (how != PW_STORE_SEGMENT_IDLE)
                world_fail(world, "segment %u is quiet, and its process is dead", segment);
        leaving = pw_store_segment_remove(world->store, segment);
        pw_store_pages_gone(world->store, leaving.owner, leaving.bytes, world->now_us);
}

static void end_session(void *context, uint32_t session, const char *text)
{
        world_fail(context, "session %u is to be ended: %s", session, text);
}

static const struct pw_port port = {
        .send = send_core,
        .board = board,
        .end_member = end_member,
        .run_ended = run_ended,
        .program_ended = program_ended,
        .wake = wake,
        .room = room,
        .pages = pages,
        .proxy = proxy,
        .decided = decided_for_others,
        .drain = drain,
        .segment_left = segment_left,
        .end_session = end_session,
};

static struct pw_deciders deciders_of(struct world *world)
{
        return (struct pw_deciders){ world->scheduler, world->store, &port, world };
}

enum pw_status world_hear(struct world *world, uint32_t from, const struct pw_core_message *message,
                          const struct pw_core_body *body, struct pw_error *ret_err)
{
        struct pw_run *run = pw_scheduler_run(world->scheduler, message->run.number);
        struct pw_deciders deciders = deciders_of(world);

        if (run && message->kind == PW_CORE_PREPARE)
                place_image(world, run->row);
        return pw_deciders_hear(&deciders, message, body, (struct pw_arrival){ from, world->now_us }, ret_err);
}

void world_act(struct world *world)
{
        struct pw_deciders deciders = deciders_of(world);
        bool stuck;

        pw_deciders_act(&deciders, world->now_us, &stuck);
        world_look_at_inputs(world);
        if (stuck)
                world_fail(world, "a board has no memory");
        if (++world->acts % world->check_every == 0)
                world_check_holders(world);
}

static void look_at_order(struct world *world)
{
        for (uint32_t i = 0; i < world->device_count; i++)
                if (world->executors[i].next > atomic_load(&world->boards[world->executors[i].island]->head) + 1)
                        world_fail(world, "device %u is ahead of its island", i);
}

void world_daemon(struct world *world)
{
        pw_boards_poll(world->host, world->scheduler, world->now_us);
        do
                pw_scheduler_tick(world->scheduler, world->now_us);
        while (pw_deadlines_next_us(world->scheduler) <= world->now_us); /* in parts, in turns that have nothing else to do */
        world_deliver(world, false);
        world_read_some(world);
        world_claims_turn(world);
        world_reclaim(world);
        world_act(world);
        do {
                pw_scheduler_turn(world->scheduler, world->now_us);
                world_check_passing(world);
                world_act(world);
        } while (!pw_scheduler_next_us(world->scheduler));
        look_at_order(world);
        world_changed(world);
}

void world_hush(struct world *world)
{
        world_daemon(world);
        while (!world_link_empty(world) || pw_store_reclaims(world->store) || world_unread(world)) {
                world_deliver(world, true);
                world_daemon(world);
        }
}

void world_settle(struct world *world)
{
        bool moved = true;

        while (moved) {
                moved = false;
                world_hush(world);
                for (uint32_t i = 0; i < world->device_count; i++)
                        while (world_step(world, i))
                                moved = true;
        }
}

/* Has the device begun a gang of the run, or do inputs of it lie there? What is ordered and not begun its next process does. */
static bool is_touched(const struct world_run *run, uint32_t device)
{
        for (uint32_t i = 0; i < run->run->input_count; i++)
                if (lies_on(run->inputs[i], device))
                        return true;
        return run->devices >> device & 1;
}

/* The process of a device ends: what it was at fails, its memory is gone. Another one goes on. */
void world_kill(struct world *world, uint32_t device)
{
        struct world_executor *self = &world->executors[device];
        uint64_t seq = atomic_load(&self->board->running);
        struct world_run *run;

        world_log(world, "device %u dies in gang %lu", device, (unsigned long)seq);
        world->deaths++;
        world->lost_devices |= UINT64_C(1) << device;
        pw_list_each(&world->runs, run, struct world_run, link)
                run->any |= !run->ended && is_touched(run, device);
        pw_boards_poll(world->host, world->scheduler, world->now_us);
        pw_scheduler_device_down(world->scheduler, device, seq, PW_CRASHED, "SIGKILL", world->now_us);
        world_act(world);
        if (seq && atomic_load(&self->board->failed.seq) != seq)
                world_fail(world, "gang %lu, in which device %u died, is to run again", (unsigned long)seq, device);
        /* Heads stay as they are; values do not: whoever takes one for good reads something else. */
        for (uint64_t at = 8; at < world_tenant_count(world) * self->memory_bytes / 8; at++)
                if (at % 16 >= 8)
                        memset(self->memory + at * 8, 0x5a, 8);
        self->at_gang = self->marked = false;
        world_flights_lose(self->flights);
        self->next = atomic_load(&self->board->done.seq) + 1;
        pw_scheduler_device_up(world->scheduler, device, world->now_us);
        world_changed(world);
}

static void found(void *context, const char *where, const char *problem)
{
        world_fail(context, "%s: %s", where, problem);
}

void world_changed(struct world *world)
{
        if (++world->changes % world->check_every == 0)
                world_check(world);
}

void world_check(struct world *world) { pw_scheduler_check(world->scheduler, found, world); }
