/* Running a gang's member. Every path ends with the heads of its outputs written: a value, or the error it is in. */
#include "executor/gang.h"

#include "executor/guard.h"
#include "executor/report.h"
#include "executor/wait.h"

#include <stdio.h>
#include <unistd.h>

static void *room_data(const struct pw_room_head *head) { return (uint8_t *)(uintptr_t)head + PW_ROOM_HEAD; }

/* --- what went wrong ----------------------------------------------------------------------------------------------------- */

static struct pw_room_head fault_of(const struct pw_gang *gang, enum pw_status status)
{
        return (struct pw_room_head){ .seq = gang->seq, .status = status, .cause_node = gang->index,
                                      .cause_device = gang->launch->given.device, .run = gang->view->run };
}

/* The fault begins here: say so. */
static struct pw_room_head cause(const struct pw_gang *gang, enum pw_status status, const char *text)
{
        struct pw_room_head fault = fault_of(gang, status);

        pw_report_cause(gang->launch, &(struct pw_report_about){ gang->view, gang->index, &fault }, text);
        return fault;
}

static uint64_t lost_before(const struct pw_launch *launch, uint32_t device)
{
        uint64_t seq;

        if (device == launch->given.device)
                return pw_wait_load(&launch->board->lost_before[device]);
        seq = pw_wait_load(&launch->given.boards[device]->spoilt_before);
        for (uint32_t i = 0; i < launch->given.island_count; i++)
                seq = pw_max_u64(seq, pw_wait_load(&launch->given.islands[i]->lost_before[device]));
        return seq;
}

/* Is there a value in a room of `device`? If not, *ret_fault says why. */
static bool is_value(const struct pw_gang *gang, const struct pw_room_head *head, uint32_t device, struct pw_room_head *ret_fault)
{
        if (head->seq < lost_before(gang->launch, device)) {
                *ret_fault = fault_of(gang, PW_DEVICE_LOST);
                ret_fault->cause_device = device;
                return false;
        }
        if (head->seal != pw_room_seal(head)) { /* somebody wrote past another room: that device is about to be lost */
                *ret_fault = fault_of(gang, PW_DEVICE_LOST);
                ret_fault->cause_device = device;
                return false;
        }
        if (head->status == PW_OK)
                return true;
        *ret_fault = *head;
        if (head->run != gang->view->run) { /* nodes are known by number within one run only */
                *ret_fault = fault_of(gang, head->status);
                ret_fault->cause_node = PW_NODE_NONE;
                ret_fault->cause_device = head->cause_device;
        }
        return false;
}

/* A loss is the fault of a gang only where no input is in another error: what depends on a function that failed says so. */
static void fault_join(struct pw_room_head *fault, const struct pw_room_head *next)
{
        if (fault->status == PW_OK || (fault->status == PW_DEVICE_LOST && next->status != PW_DEVICE_LOST))
                *fault = *next;
}

/* --- calls --------------------------------------------------------------------------------------------------------------- */

static enum pw_status function_run(struct pw_gang *gang)
{
        struct pw_launch *launch = gang->launch;
        struct pw_task task = gang->node->task; /* a function may spoil its own */
        uint64_t limit = gang->node->image->time_limit_us;
        enum pw_status status;

        launch->text[0] = 0;
        task.error_text = launch->text;
        task.error_text_bytes = sizeof launch->text;
        if (limit)
                atomic_store_explicit(&launch->own->running_since_ns, pw_launch_clock_ns(), memory_order_release);
        status = launch->given.kind->launch(launch->given.handle, gang->node->function, &task);
        if (limit)
                atomic_store_explicit(&launch->own->running_since_ns, 0, memory_order_release);
        launch->text[sizeof launch->text - 1] = 0;
        return status;
}

static uint8_t *output_end(const struct pw_gang *gang, uint32_t index)
{
        return (uint8_t *)gang->node->output_values[index].data + gang->node->output_values[index].bytes;
}

static void guards_set(const struct pw_gang *gang)
{
        for (uint32_t i = 0; i < gang->node->image->output_count; i++)
                pw_guard_set(output_end(gang, i), gang->node->outputs[i].rest);
}

/* The function wrote past output `index`. If it went past the room too, nothing that lies in the device's memory can be trusted:
 * the process ends, and the device is lost as by a crash. */
__attribute__((cold, noinline)) static struct pw_room_head overrun(const struct pw_gang *gang, uint32_t index, enum pw_guard_state state)
{
        char text[200];
        struct pw_room_head fault;

        snprintf(text, sizeof text, "output %u is %lu bytes here%s", index, (unsigned long)gang->node->output_values[index].bytes,
                 state == PW_GUARD_PASSED ? ", and what it wrote goes on behind the output's room: the device is lost" : "");
        fault = cause(gang, PW_OVERRUN, text);
        if (state == PW_GUARD_PASSED) {
                atomic_store(&gang->launch->own->spoilt_before, gang->seq);
                _exit(PW_EXIT_OVERRUN);
        }
        return fault;
}

/* False: *ret_fault says which output has something behind it. */
static bool guards_look(const struct pw_gang *gang, struct pw_room_head *ret_fault)
{
        enum pw_guard_state worst = PW_GUARD_WHOLE, state;
        uint32_t at = 0;

        for (uint32_t i = 0; i < gang->node->image->output_count; i++) {
                state = pw_guard_look(output_end(gang, i), gang->node->outputs[i].rest);
                at = state > worst ? i : at;
                worst = state > worst ? state : worst;
        }
        if (worst == PW_GUARD_WHOLE)
                return true;
        *ret_fault = overrun(gang, at, worst);
        return false;
}

/* A module may harm the process as it is loaded, and a function when it first runs. */
static void end_if_detached(const struct pw_gang *gang)
{
        const struct pw_surroundings *around = gang->launch->given.around;

        if (around->detached)
                around->detached(around->context);
}

static void function_find(struct pw_gang *gang)
{
        pw_program_function_find(&gang->launch->programs, gang->view->program, gang->node);
        end_if_detached(gang);
}

static enum pw_status first_run(struct pw_gang *gang)
{
        enum pw_status status = function_run(gang);

        gang->node->tried = true;
        end_if_detached(gang);
        return status;
}

static struct pw_room_head call_run(struct pw_gang *gang)
{
        struct pw_program_node *node = gang->node;
        struct pw_room_head fault = fault_of(gang, PW_OK), next;
        enum pw_status status;

        for (uint32_t i = 0; i < node->image->input_count; i++) {
                const struct pw_room_head *head = pw_run_room(gang->view, &node->inputs[i]);
                if (!is_value(gang, head, gang->launch->given.device, &next))
                        fault_join(&fault, &next);
                node->input_values[i].data = room_data(head);
        }
        if (fault.status != PW_OK)
                return fault;
        if (!node->function && !node->fault)
                function_find(gang);
        if (!node->function)
                return cause(gang, node->fault->status, node->fault->text);
        for (uint32_t i = 0; i < node->image->output_count; i++)
                node->output_values[i].data = room_data(pw_run_room(gang->view, &node->outputs[i]));
        guards_set(gang);
        status = node->tried ? function_run(gang) : first_run(gang);
        if (!guards_look(gang, &next))
                return next;
        if (status == PW_OK)
                return fault_of(gang, PW_OK);
        if (!pw_status_known(status)) /* a function may return any number */
                status = PW_FAILED;
        return cause(gang, status, gang->launch->text[0] ? gang->launch->text : pw_status_text(status));
}

/* --- what receivers do --------------------------------------------------------------------------------------------------- */

static struct pw_room_head assemble(struct pw_gang *gang, const struct pw_program_sources *sources)
{
        const struct pw_program_room *output = &gang->node->outputs[0];
        struct pw_launch *launch = gang->launch;
        struct pw_error err;
        uint64_t moved;
        struct pw_assembly assembly = {
                .to = room_data(pw_run_room(gang->view, output)),
                .to_box = sources->to_box,
                .dtype = pw_image_value(gang->view->program->image, output->value)->dtype,
                .op = gang->node->image->op,
                .sources = sources->sources,
                .group_of = sources->groups,
                .source_count = sources->count,
        };

        if (sources->uncovered && !sources->rest_is_zero)
                return cause(gang, PW_UNSUPPORTED, "nothing that is there makes up this part of the value");
        if (sources->uncovered)
                memset(assembly.to, 0, pw_box_elements(&assembly.to_box) * pw_dtype_bytes(assembly.dtype));
        if (launch->given.collective->assemble(&assembly, &moved, &err) != PW_OK)
                return cause(gang, err.status, err.text);
        launch->given.kind->moved(launch->given.handle, moved);
        return fault_of(gang, PW_OK);
}

/* --- transfers ----------------------------------------------------------------------------------------------------------- */

/* Publish that this member is there, with its shard where that is eager. Returns the status of the shard. */
static enum pw_status send(struct pw_gang *gang, bool cancelled)
{
        const struct pw_program_room *input = &gang->node->inputs[0];
        const struct pw_room_head *head = pw_run_room(gang->view, input);
        struct pw_device_board *own = gang->launch->own;
        struct pw_mark *mark = &own->marks[gang->seq % PW_ORDER_LOG];
        struct pw_room_head fault = fault_of(gang, cancelled ? PW_CANCELLED : PW_OK);

        if (!cancelled && is_value(gang, head, gang->launch->given.device, &fault) && gang->node->image->eager) {
                uint64_t bytes = pw_image_value(gang->view->program->image, input->value)->shard_bytes;
                memcpy(mark->value, room_data(head), pw_min_u64(bytes, sizeof mark->value));
        }
        mark->status = fault.status;
        if (fault.status == PW_OK) {
                mark->at_ns = pw_launch_device_ns(gang->launch);
        } else {
                mark->cause_node = fault.cause_node;
                mark->cause_device = fault.cause_device;
        }
        atomic_store(&mark->seq, gang->seq);
        pw_bells_ring(gang->launch->given.bells, &gang->launch->given.bells->sleepers[gang->launch->given.device].bits,
                      gang->members);
        return fault.status;
}

/* Was what the sender wrote before `seq` lost while it was copied from its room? A function may have written there meanwhile. */
static bool lost_meanwhile(const struct pw_gang *gang, uint32_t device, uint64_t seq, struct pw_room_head *ret_fault)
{
        if (device == gang->launch->given.device || lost_before(gang->launch, device) <= seq)
                return false;
        *ret_fault = fault_of(gang, PW_DEVICE_LOST);
        ret_fault->cause_device = device;
        return true;
}

/* The shard at `place`, of a sender of this gang. */
static bool receive_marked(struct pw_gang *gang, uint32_t place, uint32_t device, const void **ret_data,
                           struct pw_room_head *ret_fault)
{
        struct pw_launch *launch = gang->launch;
        const struct pw_mark *mark = &launch->given.boards[device]->marks[gang->seq % PW_ORDER_LOG];
        const struct pw_room_head *head;
        struct pw_error err;

        pw_wait_for(launch, &mark->seq, gang->seq, &launch->given.bells->sleepers[device].bits);
        if (mark->status != PW_OK) {
                *ret_fault = fault_of(gang, mark->status);
                ret_fault->cause_node = mark->cause_node;
                ret_fault->cause_device = mark->cause_device;
                return false;
        }
        gang->came_ns = pw_max_u64(gang->came_ns, mark->at_ns);
        if (gang->node->image->eager) {
                *ret_data = mark->value;
                return true;
        }
        if (pw_run_room_at(gang->view, &launch->segments, &gang->node->inputs[0], place, &head, &err) != PW_OK) {
                *ret_fault = cause(gang, err.status, err.text);
                return false;
        }
        *ret_data = room_data(head);
        return true;
}

/* The shard at `place` whose sender is done: in its room, own or of another island. */
static bool receive_done(struct pw_gang *gang, uint32_t place, uint32_t device, const void **ret_data,
                         struct pw_room_head *ret_fault)
{
        const struct pw_room_head *head;
        struct pw_error err;

        if (pw_run_room_at(gang->view, &gang->launch->segments, &gang->node->inputs[0], place, &head, &err) != PW_OK) {
                *ret_fault = cause(gang, err.status, err.text);
                return false;
        }
        *ret_data = room_data(head);
        return is_value(gang, head, device, ret_fault);
}

/* Are the sources that were copied from rooms of other devices still values? A mark says so of the time of this gang. */
static struct pw_room_head look_again(const struct pw_gang *gang, const struct pw_room_head *outcome)
{
        const struct pw_program_sources *sources = &gang->node->sources;
        const struct pw_program_slice *slice = &gang->view->program->slices[gang->node->image->source_slice];
        bool done = gang->node->image->phase == PW_PHASE_RECV;
        struct pw_room_head fault;

        for (uint32_t i = 0; i < sources->count && outcome->status == PW_OK && !gang->node->image->eager; i++) {
                uint32_t device = slice->devices[sources->places[i]];
                const struct pw_room_head *head = (const void *)((const uint8_t *)sources->sources[i].data - PW_ROOM_HEAD);
                if (done ? !is_value(gang, head, device, &fault) : lost_meanwhile(gang, device, gang->seq, &fault))
                        return fault;
        }
        return *outcome;
}

static struct pw_room_head receive(struct pw_gang *gang)
{
        const struct pw_program_sources *sources = &gang->node->sources;
        const struct pw_program_slice *slice = &gang->view->program->slices[gang->node->image->source_slice];
        struct pw_room_head fault = fault_of(gang, PW_OK), next;

        for (uint32_t i = 0; i < sources->count; i++) {
                uint32_t place = sources->places[i], device = slice->devices[place];
                bool done = gang->node->image->phase == PW_PHASE_RECV || device == gang->launch->given.device;
                const void **data = &sources->sources[i].data;
                if (!(done ? receive_done : receive_marked)(gang, place, device, data, &next))
                        fault_join(&fault, &next);
        }
        if (gang->came_ns)
                gang->launch->given.kind->not_before(gang->launch->given.handle, gang->came_ns);
        if (fault.status == PW_OK)
                fault = assemble(gang, sources);
        return look_again(gang, &fault);
}

/* --- loads --------------------------------------------------------------------------------------------------------------- */

/* How the input lies, and at which place the own device has a part of it. */
static uint32_t input_lie(const struct pw_gang *gang, const struct pw_run_input *input, struct pw_lie *ret_lie)
{
        const struct pw_run_shard *shards = PW_RUN_AT(gang->view->record, struct pw_run_shard, input->shards);
        const struct pw_image_value *to = pw_image_value(gang->view->program->image, gang->node->outputs[0].value);
        uint32_t place = PW_PLACE_NONE;

        *ret_lie = (struct pw_lie){ .dims = to->dims, .sharding = input->sharding };
        memcpy(ret_lie->mesh, input->mesh, sizeof ret_lie->mesh);
        for (uint32_t i = 0; !input->is_inline && i < input->shard_count; i++)
                if (shards[i].device == gang->launch->given.device)
                        place = i;
        return place;
}

/* The sources of a load are kept for inputs that lie like the last one. */
static enum pw_status load_sources(struct pw_gang *gang, const struct pw_run_input *input, struct pw_error *ret_err)
{
        struct pw_program_node *node = gang->node;
        struct pw_program *program = gang->view->program;
        struct pw_lie lie;
        uint32_t place = input_lie(gang, input, &lie);
        struct pw_program_wanted wanted = {
                .lie = &lie,
                .to = pw_image_value(program->image, node->outputs[0].value),
                .to_slice = &program->slices[node->image->slice],
                .own_place = place,
                .island = gang->launch->given.island,
                .op = node->image->op,
        };

        if (node->load_known && node->load_place == place && !memcmp(lie.mesh, node->load_lie.mesh, sizeof lie.mesh) &&
            !memcmp(&lie.sharding, &node->load_lie.sharding, sizeof lie.sharding))
                return PW_OK;
        node->load_known = false;
        if (pw_program_sources_find(program, &wanted, &node->sources, ret_err) != PW_OK)
                return ret_err->status;
        node->load_known = true;
        node->load_lie = lie;
        node->load_place = place;
        return PW_OK;
}

static bool load_shard(struct pw_gang *gang, const struct pw_run_shard *shard, const void **ret_data, struct pw_room_head *ret_fault)
{
        struct pw_launch *launch = gang->launch;
        struct pw_error err;
        uint8_t *base;

        if (shard->device != PW_NODE_NONE && shard->seq)
                pw_wait_done(launch, shard->device, shard->seq);
        if (pw_segments_base(&launch->segments, shard->segment, &base, &err) != PW_OK) {
                *ret_fault = cause(gang, err.status, err.text);
                return false;
        }
        *ret_data = base + shard->offset;
        if (shard->device == PW_NODE_NONE)
                return true;
        *ret_data = base + shard->offset + PW_ROOM_HEAD;
        return is_value(gang, (const struct pw_room_head *)(base + shard->offset), shard->device, ret_fault);
}

/* Is a shard that was copied from a room of another device still a value? */
static bool load_look_again(const struct pw_gang *gang, const struct pw_run_shard *shard, const void *data, struct pw_room_head *ret_fault)
{
        if (shard->device == PW_NODE_NONE || shard->device == gang->launch->given.device)
                return true;
        return is_value(gang, (const void *)((const uint8_t *)data - PW_ROOM_HEAD), shard->device, ret_fault);
}

static struct pw_room_head load_run(struct pw_gang *gang, const struct pw_run_input *input)
{
        const struct pw_run_shard *shards = PW_RUN_AT(gang->view->record, struct pw_run_shard, input->shards);
        const struct pw_program_sources *sources = &gang->node->sources;
        struct pw_room_head fault = fault_of(gang, PW_OK), next;
        struct pw_error err;

        if (load_sources(gang, input, &err) != PW_OK)
                return cause(gang, err.status, err.text);
        for (uint32_t i = 0; i < sources->count; i++) {
                if (input->is_inline)
                        sources->sources[i].data = input->value;
                else if (!load_shard(gang, &shards[sources->places[i]], &sources->sources[i].data, &next))
                        fault_join(&fault, &next);
        }
        if (fault.status == PW_OK)
                fault = assemble(gang, sources);
        for (uint32_t i = 0; i < sources->count && !input->is_inline && fault.status == PW_OK; i++)
                if (!load_look_again(gang, &shards[sources->places[i]], sources->sources[i].data, &next))
                        fault = next;
        return fault;
}

/* --- a gang -------------------------------------------------------------------------------------------------------------- */

static void wait_for_nodes(struct pw_launch *launch, const struct pw_program_wait *waits, uint32_t count, const _Atomic uint64_t *seqs)
{
        for (uint32_t i = 0; i < count; i++) {
                uint64_t seq = pw_wait_load(&seqs[waits[i].seq_index]);
                if (seq)
                        pw_wait_done(launch, waits[i].device, seq);
        }
}

static void outputs_set(struct pw_gang *gang, const struct pw_room_head *outcome)
{
        const struct pw_program_node *node = gang->node;
        struct pw_report_about about = { gang->view, gang->index, outcome };
        struct pw_room_head head = *outcome;

        head.seq = gang->seq;
        head.seal = pw_room_seal(&head);
        for (uint32_t i = 0; i < node->image->output_count; i++) {
                *pw_run_room(gang->view, &node->outputs[i]) = head;
                if (outcome->status != PW_OK)
                        pw_report_value(gang->launch, &about, node->outputs[i].value);
        }
}

static enum pw_status load(struct pw_gang *gang, bool cancelled)
{
        const struct pw_run_input *input = pw_run_input(gang->view, gang->node->image->input_index);
        struct pw_room_head outcome = fault_of(gang, PW_CANCELLED);
        struct pw_error err;

        /* Where the input lies is final only now that its load is ordered. */
        if (pw_run_place_input(gang->view, &gang->launch->segments, gang->node->image->input_index, &err) != PW_OK)
                pw_launch_die(gang->launch, &err);
        if (input->in_place)
                return PW_OK; /* who reads it looks at its head */
        if (input->status != PW_OK)
                outcome = fault_of(gang, input->status);
        else if (!cancelled)
                outcome = load_run(gang, input);
        outputs_set(gang, &outcome);
        return outcome.status;
}

static enum pw_status transfer(struct pw_gang *gang, bool cancelled)
{
        struct pw_room_head outcome = fault_of(gang, PW_CANCELLED);
        enum pw_status sent = PW_OK;

        if (gang->node->part & PW_PART_SENDER)
                sent = send(gang, cancelled);
        if (!(gang->node->part & PW_PART_RECEIVER))
                return sent;
        if (!cancelled)
                outcome = receive(gang);
        outputs_set(gang, &outcome);
        return outcome.status;
}

/* A process before this one ended in this gang, and the daemon has marked it: nothing of it runs, its outputs are in error. */
static enum pw_status fail(struct pw_gang *gang, enum pw_status status)
{
        const struct pw_image_node *image = gang->node->image;
        struct pw_room_head outcome = fault_of(gang, status);

        if (image->kind == PW_NODE_LOAD && pw_run_input(gang->view, image->input_index)->in_place)
                return status;
        if (gang->node->part & PW_PART_RECEIVER)
                outputs_set(gang, &outcome);
        return status;
}

static enum pw_status call(struct pw_gang *gang, bool cancelled)
{
        struct pw_room_head outcome = cancelled ? fault_of(gang, PW_CANCELLED) : call_run(gang);

        outputs_set(gang, &outcome);
        return outcome.status;
}

enum pw_status pw_gang_run(struct pw_gang *gang)
{
        _Atomic uint32_t *cancelled_at = (_Atomic uint32_t *)&gang->view->record->cancelled_at;
        bool cancelled = gang->index >= atomic_load_explicit(cancelled_at, memory_order_acquire);
        struct pw_device_board *own = gang->launch->own;

        wait_for_nodes(gang->launch, gang->node->waits, gang->node->wait_count, gang->view->seqs);
        wait_for_nodes(gang->launch, gang->node->behind, gang->node->behind_count, gang->view->ahead_seqs);
        pw_run_account(gang->view, gang->node);
        if (pw_wait_load(&own->failed.seq) == gang->seq)
                return fail(gang, (enum pw_status)atomic_load(&own->failed.status));
        switch (gang->node->image->kind) {
        case PW_NODE_TRANSFER: return transfer(gang, cancelled);
        case PW_NODE_LOAD: return load(gang, cancelled);
        default: return call(gang, cancelled);
        }
}
