/* Clients of the world: they put values, submit runs, let go; and what the daemon makes of that. */
#include "tests/world/client/store.h"

#include "base/memory.h"
#include "scheduler/state.h"
#include "scheduler/taking.h"
#include "store/object.h"

static struct world_object *object_new(struct world *world, const char *tenant)
{
        struct world_object *object = calloc(1, sizeof *object);

        if (!object)
                world_fail(world, "out of memory");
        object->tenant = tenant;
        object->held = true;
        object->refs = 1;
        return object;
}

static void join(struct world *world, struct world_object *object)
{
        pw_list_append(&world->objects, &object->link);
        world->object_count++;
}

/* The store frees it once it knows. */
void world_unref(struct world *world, struct world_object *object)
{
        if (!--object->refs)
                world_verify(world, object);
}

void world_drop(struct world *world, struct world_object *object)
{
        object->held = false;
        if (object->charged_session == world_session(world, object))
                object->charged_session = 0;
        if (pw_store_drop(world->store, world_session(world, object), world_cell(object), world->now_us) != PW_OK)
                world_fail(world, "object %x.%x cannot be dropped", object->segment, object->slot);
        world_unref(world, object);
        world_changed(world);
}

struct world_object *world_put(struct world *world, struct world_program *program, uint32_t input, bool ready)
{
        const struct pw_image *image = program->row->image;
        const struct pw_image_value *value =
                pw_image_value(image, PW_IMAGE_AT(image, struct pw_image_input, image->inputs)[input].value);
        struct world_object *object = object_new(world, program->tenant);

        object->value = world_mix(world->seed, world_random(world, UINT32_MAX));
        object->dtype = value->dtype;
        object->dims = value->dims;
        world_entry_put(world, object);
        join(world, object);
        object->decided = ready && world_entry_seal(world, object, PW_OK);
        return object;
}

/* --- runs ---------------------------------------------------------------------------------------------------------------- */

static void check_place(struct world *world, const struct world_object *object, const struct pw_input_place *place)
{
        if (place->status != object->status || (place->status == PW_OK && (place->host.segment != object->segment ||
                                                                           place->host.bytes != object->bytes)))
                world_fail(world, "object %x.%x does not lie where its client put it", object->segment, object->slot);
}

/* A value that lies in a room may come along as one that lies in its entry: no executor can tell. */
static void located(struct world *world, const struct world_object *object, struct pw_input_place *place)
{
        check_place(world, object, place);
        place->host.is_inline |= world_random(world, 2) != 0;
        memcpy(place->host.value, &object->value, sizeof object->value);
}

/* Does the client give it away? */
static bool gives(struct world *world, const struct world_run *run, uint32_t index)
{
        const struct world_object *object = run->inputs[index];
        uint32_t times = 0;

        for (uint32_t i = 0; i < run->run->input_count; i++)
                times += run->inputs[i] == object;
        return object->held && run->program->donates[index] && times == 1 && world->options.donations >= 0 &&
               (world->options.donations || world_random(world, 3));
}

static void take_input(struct world *world, struct world_run *run, uint32_t index)
{
        struct world_object *object = run->inputs[index];
        const struct pw_cell cell = pw_cell_object(0, object->segment, object->slot, object->generation);
        const struct pw_cell gift = pw_cell_object(PW_RUN_INPUT_DONATED, object->segment, object->slot, object->generation);
        struct pw_input_place *place = &run->run->inputs[index];
        bool given = gives(world, run, index), pending;

        pw_taking_input(world->store, world_session(world, object), run->run, index, given ? gift : cell, world->now_us);
        pending = place->pending;
        object->stored = place->object;
        if (!object->stored || place->result != object->result || pending != (!object->result && !object->decided) ||
            place->donated != (given && object->result))
                world_fail(world, "object %x.%x is not the input that it should be", object->segment, object->slot);
        if (!object->result && !pending)
                located(world, object, place);
        run->pending[index] = pending;
        object->refs++;
        object->refs -= given;
        object->held &= !given;
        run->failed[index] = object->decided && object->status != PW_OK;
}

static void claim(struct world *world, struct world_run *run, uint32_t index)
{
        struct world_object *object = run->results[index];
        struct pw_error err;

        object->result = run->run->results[index];
        object->maker = run;
        if (pw_taking_result(world->store, world_session(world, object), run->run, index, world_cell(object), &err) != PW_OK)
                world_fail(world, "%s", err.text);
        object->stored = object->result->object;
}

/* After a scan it is known who else holds what was given away. */
static void look(struct world *world, struct world_run *run)
{
        world_reclaim(world);
        pw_taking_scanned(world->store, run->run);
        for (uint32_t i = 0; i < run->run->input_count; i++) {
                const struct pw_input_place *place = &run->run->inputs[i];

                if (place->donated && place->alone != (run->inputs[i]->refs == 1))
                        world_fail(world, "input %u of run %lu is held by %u, and by the store %s", i, (unsigned long)run->number,
                                   run->inputs[i]->refs, place->alone ? "by nobody else" : "by others");
        }
        world_act(world);
}

static struct world_run *run_new(struct world *world, struct world_program *program)
{
        struct world_run *run = calloc(1, sizeof *run);

        if (!run || !(run->run = pw_scheduler_run_new(world->scheduler, program->handle)))
                world_fail(world, "no run");
        run->number = run->run->number;
        run->program = program;
        run->run->deadline_us = world->deadline_us;
        run->any = world->deadline_us != 0;
        world->deadline_us = 0;
        pw_list_append(&world->runs, &run->link);
        world->runs_open++;
        for (uint32_t n = 0; n < 64; n++)
                run->failing |= (uint64_t)(world_random(world, 100) < world->options.fail_percent && !world_random(world, 4)) << n;
        return run;
}

struct world_run *world_submit(struct world *world, struct world_program *program, struct world_object **inputs, bool sequential)
{
        struct world_object *results[WORLD_RESULTS];
        struct world_run *run;

        for (uint32_t i = 0; i < program->row->result_count; i++) { /* slots may have to be asked for */
                results[i] = object_new(world, program->tenant);
                world_entry_claim(world, results[i]);
                join(world, results[i]);
        }
        run = run_new(world, program);
        run->run->sequential = sequential;
        for (uint32_t i = 0; i < run->run->input_count; i++)
                run->inputs[i] = inputs[i];
        for (uint32_t i = 0; i < run->run->input_count; i++)
                take_input(world, run, i);
        for (uint32_t i = 0; i < run->run->result_count; i++) {
                run->results[i] = results[i];
                claim(world, run, i);
        }
        look(world, run);
        world_evaluate(world, run);
        world_log(world, "submit run %lu of %s (program %u)%s", (unsigned long)run->number, program->row->name, program->handle,
                  sequential ? ", sequential" : "");
        pw_scheduler_submit(world->scheduler, run->run, world->now_us);
        world_changed(world);
        return run;
}

void world_look_at_inputs(struct world *world)
{
        struct world_run *run;

        pw_list_each(&world->runs, run, struct world_run, link)
                for (uint32_t i = 0; !run->ended && i < run->run->input_count; i++)
                        if (run->pending[i] && !run->run->inputs[i].pending) {
                                run->pending[i] = false;
                                check_place(world, run->inputs[i], &run->run->inputs[i]);
                        }
}

/* The client seals it, or gives it up. */
void world_input_ready(struct world *world, struct world_run *run, uint32_t input, enum pw_status status)
{
        struct world_object *object = run->inputs[input];

        if (!object->decided) {
                object->decided = true;
                object->status = status;
                object->error_expected = status != PW_OK;
                if (!world_entry_seal(world, object, status))
                        world_fail(world, "object %x.%x was decided by somebody else", object->segment, object->slot);
        }
        world_act(world);
        world_changed(world);
}

void world_cancel(struct world *world, struct world_run *run)
{
        run->cancelled = run->any = true;
        pw_scheduler_cancel(world->scheduler, run->number, "a client", world->now_us);
        world_changed(world);
}
