/* The daemon of the world: does what the scheduler asks for, counts references, notes what must come out. */
#include "tests/world/world.h"

#include "base/bits.h"
#include "base/memory.h"
#include "scheduler/state.h"

struct world_run *world_find_run(struct world *world, uint64_t number)
{
        struct world_run *run;

        pw_list_each(&world->runs, run, struct world_run, link)
                if (run->number == number)
                        return run;
        return NULL;
}

static struct world_object *object_new(struct world *world)
{
        struct world_object *object = calloc(1, sizeof *object);

        if (!object)
                world_fail(world, "out of memory");
        pw_list_append(&world->objects, &object->link);
        world->object_count++;
        object->held = true;
        object->refs = 1;
        return object;
}

/* Nobody holds any result of a run: it is cancelled. */
static void maybe_cancel(struct world *world, struct world_run *maker)
{
        if (!maker || maker->ended)
                return;
        for (uint32_t i = 0; i < maker->run->result_count; i++)
                if (maker->results[i] && maker->results[i]->refs)
                        return;
        world_log(world, "run %lu: nobody holds its results", (unsigned long)maker->number);
        maker->cancelled = maker->any = true;
        pw_scheduler_cancel(world->scheduler, maker->number, NULL, world->now_us);
}

/* Its host knows; its coordinator may still have to be told. */
static bool is_lost(const struct world *world, struct pw_result *result, uint32_t place)
{
        const struct pw_result_live *live = pw_result_live(result);
        const struct pw_host_result *here = pw_host_result_find(world->scheduler, &live->maker, result->index, live->slot);

        return pw_bits_has(result->lost, place) || (here && pw_bits_has(here->lost, place));
}

/* What lies in the rooms of a result that is ready. */
static void verify(struct world *world, const struct world_object *object)
{
        struct pw_result *result = object->result;

        if (!result || !object->decided || object->status != PW_OK || result->donated)
                return;
        for (uint32_t i = 0; result->value.shard_bytes && i < result->room_count; i++) {
                const uint8_t *room = world_memory(world, result->rooms[i].segment, result->rooms[i].offset);
                const struct pw_room_head *head = (const struct pw_room_head *)room;
                bool differs = head->status != PW_OK || memcmp(head + 1, &object->value, sizeof object->value) != 0;
                if (differs && !is_lost(world, result, i))
                        world_fail(world, "result %u of run %lu is ready, device %u has another value", result->index,
                                   (unsigned long)object->maker->number, result->rooms[i].device);
        }
}

static void unref(struct world *world, struct world_object *object)
{
        struct world_run *maker = object->maker;

        if (--object->refs)
                return;
        verify(world, object);
        for (uint32_t i = 0; maker && i < WORLD_RESULTS; i++)
                if (maker->results[i] == object)
                        maker->results[i] = NULL;
        if (object->result)
                pw_scheduler_result_free(world->scheduler, object->result, world->now_us);
        else
                world->host_free[world->host_free_count++] = object->host_slot;
        pw_list_remove(&object->link);
        world->object_count--;
        free(object);
        maybe_cancel(world, maker);
}

void world_drop(struct world *world, struct world_object *object)
{
        object->held = false;
        unref(world, object);
        world_changed(world);
}

struct world_object *world_put(struct world *world, struct world_program *program, uint32_t input, bool ready)
{
        const struct pw_image *image = program->row->image;
        const struct pw_image_value *value =
                pw_image_value(image, PW_IMAGE_AT(image, struct pw_image_input, image->inputs)[input].value);
        struct world_object *object;

        if (!world->host_free_count)
                return NULL;
        object = object_new(world);
        object->tenant = program->tenant;
        object->host_slot = world->host_free[--world->host_free_count];
        object->value = world_mix(world->seed, world_random(world, UINT32_MAX));
        object->decided = ready;
        object->dtype = value->dtype;
        object->dims = value->dims;
        world->host_values[object->host_slot] = ready ? object->value : 0;
        return object;
}

/* --- runs ---------------------------------------------------------------------------------------------------------------- */

static void fill_place(struct world *world, struct world_run *run, uint32_t index)
{
        struct world_object *object = run->inputs[index];
        struct pw_input_place *place = &run->run->inputs[index];

        place->object = object;
        if (object->result) {
                place->source = PW_INPUT_RESULT;
                place->result = object->result;
                return;
        }
        place->source = PW_INPUT_HOST;
        place->pending = !object->decided;
        place->status = object->status;
        place->is_inline = world_random(world, 2) && object->decided;
        memcpy(place->value, &object->value, sizeof object->value);
        place->segment = WORLD_HOST_SEGMENT;
        place->offset = (uint64_t)object->host_slot * 8;
        place->dtype = object->dtype;
        place->dims = object->dims;
        run->pending[index] = place->pending;
}

/* The client gives its reference away; alone is who then has the only one. */
static void donate(struct world *world, struct world_run *run, uint32_t index)
{
        struct world_object *object = run->inputs[index];
        uint32_t times = 0;

        for (uint32_t i = 0; i < run->run->input_count; i++)
                times += run->inputs[i] == object;
        if (!object->held || !run->program->donates[index] || times != 1 || world->options.donations < 0 ||
            (!world->options.donations && !world_random(world, 3)))
                return;
        object->held = false;
        object->refs--;
        run->run->inputs[index].donated = true;
        run->run->inputs[index].alone = object->refs == 1;
}

struct world_run *world_submit(struct world *world, struct world_program *program, struct world_object **inputs, bool sequential)
{
        struct world_run *run = calloc(1, sizeof *run);

        if (!run || !(run->run = pw_scheduler_run_new(world->scheduler, program->handle)))
                world_fail(world, "no run");
        run->number = run->run->number;
        run->program = program;
        run->run->sequential = sequential;
        run->run->deadline_us = world->deadline_us;
        run->any = world->deadline_us != 0;
        world->deadline_us = 0;
        pw_list_append(&world->runs, &run->link);
        world->runs_open++;
        for (uint32_t n = 0; n < 64; n++)
                run->failing |= (uint64_t)(world_random(world, 100) < world->options.fail_percent && !world_random(world, 4)) << n;
        for (uint32_t i = 0; i < run->run->result_count; i++) {
                run->results[i] = object_new(world);
                run->results[i]->result = run->run->results[i];
                run->results[i]->maker = run;
                run->results[i]->tenant = program->tenant;
                run->run->results[i]->object = run->results[i];
        }
        for (uint32_t i = 0; i < run->run->input_count; i++) {
                run->inputs[i] = inputs[i];
                inputs[i]->refs++;
                run->failed[i] = inputs[i]->decided && inputs[i]->status != PW_OK;
                fill_place(world, run, i);
        }
        for (uint32_t i = 0; i < run->run->input_count; i++)
                donate(world, run, i);
        world_evaluate(world, run);
        world_log(world, "submit run %lu of %s (program %u)%s", (unsigned long)run->number, program->row->name, program->handle,
                  sequential ? ", sequential" : "");
        pw_scheduler_submit(world->scheduler, run->run, world->now_us);
        world_changed(world);
        return run;
}

void world_input_ready(struct world *world, struct world_run *run, uint32_t input, enum pw_status status)
{
        struct world_object *object = run->inputs[input];

        if (!object->decided) {
                object->decided = true;
                object->status = status;
                object->error_expected = status != PW_OK;
                world->host_values[object->host_slot] = object->value;
        }
        run->pending[input] = false;
        if (!run->ended)
                pw_scheduler_input_ready(world->scheduler, run->run, input, object->status, "the put was given up", world->now_us);
        world_changed(world);
}

void world_cancel(struct world *world, struct world_run *run)
{
        run->cancelled = run->any = true;
        pw_scheduler_cancel(world->scheduler, run->number, "a client", world->now_us);
        world_changed(world);
}

/* --- actions ------------------------------------------------------------------------------------------------------------- */

static void decide(struct world *world, const struct pw_action *action)
{
        struct world_object *object = action->result->object;

        if (!object)
                return;
        if (object->decided)
                world_fail(world, "a result of run %lu is decided twice", (unsigned long)object->maker->number);
        object->status = action->status;
        snprintf(object->text, sizeof object->text, "%s", action->text ? action->text : "");
        *(action->status == PW_OK ? &world->good : &world->failed) += 1;
        world_log(world, "result of run %lu: %s %s", (unsigned long)object->maker->number, pw_status_name(action->status),
                  object->text);
        if (action->status != PW_OK && !object->text[0])
                world_fail(world, "an error of run %lu says nothing", (unsigned long)object->maker->number);
        object->maker->any |= action->status == PW_TOO_LARGE || action->status == PW_NO_SPACE || action->status == PW_DEADLINE;
        world_evaluate(world, object->maker);
        if (!object->maker->any && object->error_expected != (action->status != PW_OK))
                world_fail(world, "result %u of run %lu is %s (%s)", action->result->index, (unsigned long)object->maker->number,
                           pw_status_name(action->status), object->text);
        world->judged += !object->maker->any;
        /* Whoever reads it from now on reads what it is. */
        object->decided = true;
        object->error_expected = action->status != PW_OK;
        object->any = object->error_expected && object->maker->any;
        verify(world, object);
}

static bool lies_on(const struct world_object *object, uint32_t device)
{
        for (uint32_t i = 0; object && object->result && i < object->result->room_count; i++)
                if (object->result->rooms[i].device == device)
                        return true;
        return false;
}

static void lose(struct world *world, const struct pw_action *action)
{
        struct world_object *object = action->result->object;

        if (!object)
                return;
        object->status = action->status;
        if (!lies_on(object, action->device))
                world_fail(world, "result %u of run %lu is lost with device %u, where it does not lie", action->result->index,
                           (unsigned long)object->maker->number, action->device);
        object->error_expected = object->any = true;
        snprintf(object->text, sizeof object->text, "%s", action->text);
}

static void end_run(struct world *world, struct pw_run *ended)
{
        struct world_run *run = world_find_run(world, ended->number);

        if (!run || run->ended)
                world_fail(world, "run %lu ends twice", (unsigned long)ended->number);
        for (uint32_t i = 0; i < ended->result_count; i++)
                if (run->results[i] && !run->results[i]->decided)
                        world_fail(world, "run %lu ends with result %u undecided", (unsigned long)run->number, i);
        run->ended = true;
        run->run = NULL;
        world->runs_open--;
        world->ended++;
        world_log(world, "run %lu ended", (unsigned long)run->number);
}

/* Its input is the run's no longer: it may be freed. */
static void release(struct world *world, const struct pw_action *action)
{
        struct world_run *run = world_find_run(world, action->run->number);

        for (uint32_t i = 0; run && i < WORLD_INPUTS; i++)
                if (run->inputs[i] == action->object) {
                        world_evaluate(world, run);
                        run->inputs[i] = NULL;
                        break;
                }
        unref(world, action->object);
}

static void refused(struct world *world, const struct pw_run *run)
{
        struct world_run *found = world_find_run(world, run->number);

        found->refused = true;
        world->unprepared++;
        world_log(world, "run %lu is refused", (unsigned long)run->number);
}

static void check_orders(struct world *world, const struct pw_message *message, const struct pw_order_item *items)
{
        for (uint32_t i = 0; i < message->order_count; i++)
                if (world_find_run(world, items[i].run)->refused)
                        world_fail(world, "a gang of run %lu is ordered, which has no record", (unsigned long)items[i].run);
}

static enum pw_status apply(struct world *world, const struct pw_message *message, struct pw_error *ret_err)
{
        struct pw_message_pools pools = pw_actions_pools(pw_scheduler_actions(world->scheduler));

        if (message->kind == PW_MSG_ORDER)
                check_orders(world, message, pools.orders + message->first_order);
        return pw_boards_apply(world->host, message, &pools, ret_err);
}

/* The board may have room for the image by now. */
static void place_image(struct world *world, struct pw_program_row *row)
{
        uint64_t bytes;

        if (!row->place.bytes && pw_boards_image_reserve(world->host, row, &bytes, NULL) == PW_OK)
                pw_boards_image_fill(world->host, row);
}

enum pw_status world_prepare(struct world *world, const struct pw_core_message *prepare, struct pw_error *ret_err)
{
        struct pw_actions *actions = pw_scheduler_actions(world->scheduler);
        enum pw_status status;
        struct pw_run *run = pw_scheduler_run(world->scheduler, prepare->run.number);
        struct pw_message message;
        struct pw_error err;

        if (run)
                place_image(world, run->row);
        status = pw_scheduler_preparing(world->scheduler, prepare, &message, &err);
        if (status == PW_EXISTS || status == PW_NOT_FOUND || status == PW_PROTOCOL)
                return pw_error_set(ret_err, status, "%s", err.text);
        if (status == PW_OK) {
                status = apply(world, &message, &err);
                pw_actions_give_back(actions, &message);
        }
        if (status != PW_OK && !world->options.arena_bytes)
                world_fail(world, "%s", err.text);
        if (status != PW_OK)
                refused(world, run);
        return pw_scheduler_prepared(world->scheduler, prepare, status, status == PW_OK ? NULL : err.text, world->now_us, ret_err);
}

static void forget_program(struct world *world, const struct pw_action *action)
{
        struct pw_image_place place = pw_boards_image_detach(world->host, action->program);

        pw_boards_image_give(world->host, &place);
}

static void work_off(struct world *world)
{
        struct pw_actions *actions = pw_scheduler_actions(world->scheduler);
        struct pw_error err;

        for (uint32_t i = 0; i < actions->count; i++) {
                struct pw_action action = actions->items[i];

                switch (action.kind) {
                case PW_ACT_PROGRAM_ENDED:
                        forget_program(world, &action);
                        __attribute__((fallthrough));
                case PW_ACT_BOARD:
                        if (apply(world, &action.message, &err) != PW_OK)
                                world_fail(world, "%s", err.text);
                        break;
                case PW_ACT_CORE: world_send(world, &action); break;
                case PW_ACT_RESULT: decide(world, &action); break;
                case PW_ACT_RESULT_LOST: lose(world, &action); break;
                case PW_ACT_RELEASE: release(world, &action); break;
                case PW_ACT_END_MEMBER:
                        if (atomic_load(&world->executors[action.device].board->running) == action.seq)
                                world->ending |= UINT64_C(1) << action.device;
                        break;
                case PW_ACT_RUN_ENDED: end_run(world, action.run); break;
                case PW_ACT_SHARDS_LOST:
                case PW_ACT_UNHELD: break;
                }
        }
        pw_actions_clear(actions);
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
        work_off(world);
        do {
                pw_scheduler_turn(world->scheduler, world->now_us);
                world_check_passing(world);
                work_off(world);
        } while (!pw_scheduler_next_us(world->scheduler));
        look_at_order(world);
        world_changed(world);
}

void world_hush(struct world *world)
{
        world_daemon(world);
        while (!world_link_empty(world)) {
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
        pw_list_each(&world->runs, run, struct world_run, link)
                run->any |= !run->ended && is_touched(run, device);
        pw_boards_poll(world->host, world->scheduler, world->now_us);
        pw_scheduler_device_down(world->scheduler, device, seq, PW_CRASHED, "SIGKILL", world->now_us);
        work_off(world);
        if (seq && atomic_load(&self->board->failed.seq) != seq)
                world_fail(world, "gang %lu, in which device %u died, is to run again", (unsigned long)seq, device);
        /* Heads stay as they are; values do not: whoever takes one for good reads something else. */
        for (uint64_t at = 8; at < world_tenant_count(world) * self->memory_bytes / 8; at++)
                if (at % 16 >= 8)
                        memset(self->memory + at * 8, 0x5a, 8);
        self->at_gang = self->marked = false;
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
