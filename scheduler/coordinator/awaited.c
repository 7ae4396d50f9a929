/* Runs by the objects that they wait for, and which tenant's are told next. */
#include "scheduler/coordinator/awaited.h"

#include "base/error.h"
#include "scheduler/state.h"
#include "scheduler/taking.h"

#define TOLD_MAX 256u /* runs in a turn, each by its weight */
#define TOLD_OF_TENANT 32u /* of those, before another tenant's */

/* In the scheduler's table; or, decided, in the list of its tenant's whose runs are told. It goes with the last of them. */
struct pw_awaited {
        struct pw_list decided, inputs; /* inputs: struct pw_live_input */
        struct pw_object *object;
        struct pw_device_quota *quota;
};

static struct pw_awaited *awaited_of(struct pw_live *live, struct pw_object *object)
{
        struct pw_scheduler *scheduler = live->program->scheduler;
        struct pw_awaited *awaited = pw_table_get(&scheduler->awaited, (uintptr_t)object);

        if (awaited || !(awaited = malloc(sizeof *awaited)))
                return awaited;
        if (!pw_table_put(&scheduler->awaited, (uintptr_t)object, awaited)) {
                free(awaited);
                return NULL;
        }
        awaited->object = object;
        awaited->quota = pw_live_quota(live);
        pw_list_init(&awaited->inputs);
        pw_list_init(&awaited->decided);
        return awaited;
}

/* Its place in the table may be another's by now: of an object that was made where this one was. */
static void free_awaited(struct pw_scheduler *scheduler, struct pw_awaited *awaited)
{
        if (pw_table_get(&scheduler->awaited, (uintptr_t)awaited->object) == awaited)
                pw_table_remove(&scheduler->awaited, (uintptr_t)awaited->object);
        pw_list_remove(&awaited->decided);
        free(awaited);
}

bool pw_awaited_add(struct pw_live *live, uint32_t index)
{
        struct pw_live_input *input = &live->inputs[index];

        input->awaited = awaited_of(live, live->run.inputs[index].object);
        if (input->awaited)
                pw_list_append(&input->awaited->inputs, &input->link);
        return input->awaited;
}

/* It waits for it no longer. */
static void leave(struct pw_live_input *input)
{
        struct pw_awaited *awaited = input->awaited;

        input->awaited = NULL;
        pw_list_remove(&input->link);
        if (pw_list_empty(&awaited->inputs))
                free_awaited(input->live->program->scheduler, awaited);
}

void pw_awaited_forget(struct pw_live *live)
{
        for (uint32_t i = 0; i < live->run.input_count; i++)
                if (live->inputs[i].awaited)
                        leave(&live->inputs[i]);
}

void pw_awaited_decided(struct pw_scheduler *scheduler, struct pw_object *object)
{
        struct pw_awaited *awaited = pw_table_remove(&scheduler->awaited, (uintptr_t)object);

        if (!awaited)
                return;
        pw_list_append(&awaited->quota->decided, &awaited->decided);
        if (pw_list_empty(&awaited->quota->telling))
                pw_list_append(&scheduler->telling, &awaited->quota->telling);
}

/* Returns the weight of its run that was told. */
static uint64_t tell_one(struct pw_scheduler *scheduler, struct pw_store *store, struct pw_awaited *awaited, uint64_t now_us)
{
        struct pw_live_input *input = pw_list_first(&awaited->inputs, struct pw_live_input, link);
        struct pw_live *live = input->live;
        uint32_t index = (uint32_t)(input - live->inputs);
        struct pw_input_place *place = &live->run.inputs[index];
        const struct pw_object *object = awaited->object;
        uint64_t told = pw_run_weight(&live->run);

        leave(input);
        pw_taking_locate(store, object, place);
        pw_scheduler_input_ready(scheduler, &live->run, index, place->status, pw_status_text(place->status), now_us);
        return told;
}

void pw_awaited_tell(struct pw_scheduler *scheduler, struct pw_store *store, uint64_t now_us)
{
        for (uint64_t told = 0; told < TOLD_MAX && !pw_list_empty(&scheduler->telling);) {
                struct pw_device_quota *quota = pw_list_first(&scheduler->telling, struct pw_device_quota, telling);
                uint64_t end = told + TOLD_OF_TENANT;

                while (told < end && !pw_list_empty(&quota->decided))
                        told += tell_one(scheduler, store, pw_list_first(&quota->decided, struct pw_awaited, decided), now_us);
                pw_list_remove(&quota->telling);
                if (!pw_list_empty(&quota->decided))
                        pw_list_append(&scheduler->telling, &quota->telling);
        }
}

void pw_scheduler_each_waiting(const struct pw_scheduler *scheduler, const struct pw_object *object,
                               void (*row)(void *, const struct pw_run *, uint32_t), void *context)
{
        const struct pw_awaited *awaited = pw_table_get(&scheduler->awaited, (uintptr_t)object);
        struct pw_live_input *input;

        if (awaited)
                pw_list_each(&awaited->inputs, input, struct pw_live_input, link)
                        row(context, &input->live->run, (uint32_t)(input - input->live->inputs));
}

void pw_awaited_done(struct pw_scheduler *scheduler)
{
        struct pw_device_quota *quota;
        struct pw_awaited *awaited;

        for (uint32_t i = 0; (quota = pw_table_next(&scheduler->quotas, &i));)
                pw_list_each(&quota->decided, awaited, struct pw_awaited, decided)
                        free(awaited);
        for (uint32_t i = 0; (awaited = pw_table_next(&scheduler->awaited, &i));)
                free(awaited);
        pw_table_done(&scheduler->awaited);
}
