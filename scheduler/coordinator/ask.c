/* What the host of a run is asked for, and what comes of its answers: rooms, records, and that it starts. */
#include "scheduler/step.h"

#include "base/error.h"

/* --- rooms ---------------------------------------------------------------------------------------------------------------- */

static void fill_input(const struct pw_live *live, uint32_t index, struct pw_core_input *ret_input)
{
        const struct pw_input_place *place = &live->run.inputs[index];
        bool is_result = place->source == PW_INPUT_RESULT;

        *ret_input = (struct pw_core_input){ .source = is_result ? PW_SOURCE_RESULT : PW_SOURCE_HOST };
        if (live->inputs[index].status != PW_OK) {
                ret_input->source = PW_SOURCE_ERROR;
                ret_input->status = live->inputs[index].status;
        } else if (is_result) {
                const struct pw_result_live *result = pw_result_live(place->result);
                ret_input->given = place->donated && place->alone && place->result->users == 1;
                ret_input->run = result->maker;
                ret_input->result = place->result->index;
                ret_input->slot = result->slot;
        } else {
                ret_input->is_inline = place->is_inline;
                memcpy(ret_input->value, place->value, place->is_inline ? sizeof place->value : 0);
                ret_input->segment = place->segment;
                ret_input->offset = place->offset;
                ret_input->bytes = place->bytes;
        }
}

enum pw_status pw_live_ask(const struct pw_live *live, enum pw_core_kind kind)
{
        struct pw_scheduler *scheduler = live->program->scheduler;
        struct pw_core_message message = { .kind = kind, .run = live->id, .slot = live->slot, .node = live->run.program,
                                           .from = live->run.sequential };

        for (uint32_t i = 0; i < live->run.input_count; i++)
                fill_input(live, i, &scheduler->asking[i]);
        for (uint32_t i = 0; i < live->run.result_count; i++)
                scheduler->asking_slots[i] = pw_result_live(live->run.results[i])->slot;
        if (kind == PW_CORE_RESERVE)
                message.serial = ++scheduler->asked_count;
        return pw_core_tell(scheduler, &message,
                            &(struct pw_core_body){ .inputs = scheduler->asking, .input_count = live->run.input_count,
                                                    .slots = scheduler->asking_slots, .slot_count = live->run.result_count });
}

/* Its results may be of use to nobody by now: then its host hears of that next. */
static void reserve(struct pw_live *live)
{
        struct pw_error why;

        live->asked = true;
        if (pw_live_ask(live, PW_CORE_RESERVE) != PW_OK) {
                pw_error_set(&why, PW_NO_MEMORY, "pathwaysd is out of memory to ask for rooms of run %lu",
                             (unsigned long)live->run.number);
                (void)pw_live_refused(live, true, why.status, why.text);
        }
        for (uint32_t i = 0; live->asked && i < live->run.result_count; i++)
                pw_result_kept(pw_result_live(live->run.results[i]));
}

/* One that fails does so in its turn, not where it arrives: who waits for its results arrives by that, and so on along a chain of
 * runs. */
void pw_live_arrive(struct pw_live *live)
{
        struct pw_scheduler *scheduler = live->program->scheduler;

        pw_list_remove(&live->link);
        pw_live_step(live, PW_RUN_ARRIVE);
        if (pw_live_fails_by_inputs(live))
                pw_list_append(&scheduler->doomed, &live->link);
        else
                reserve(live);
}

/* Of a turn, each run by its weight; the rest in the next. */
#define FAILED_AT_ONCE 1024u

void pw_doomed_fail(struct pw_scheduler *scheduler)
{
        for (uint64_t done = 0; done < FAILED_AT_ONCE && !pw_list_empty(&scheduler->doomed);) {
                struct pw_live *live = pw_list_first(&scheduler->doomed, struct pw_live, link);

                done += pw_run_weight(&live->run);
                pw_list_remove(&live->link);
                if (live->refusal)
                        pw_live_fail(live, live->refusal->status, live->refusal->text);
                else
                        pw_live_fail_by_inputs(live);
        }
}

static void keep_refusal(struct pw_live *live, enum pw_status status, const char *text)
{
        live->refusal = malloc(sizeof *live->refusal);
        if (live->refusal)
                pw_error_set(live->refusal, status, "%s", text);
}

/* Its host has nothing of it, nor of its results. It fails in its turn, as those do that fail by their inputs. */
enum pw_status pw_live_refused(struct pw_live *live, bool reserved, enum pw_status status, const char *text)
{
        if (!reserved && live->run.state == PW_RUN_WAITING) {
                pw_live_fail(live, status, text);
                return PW_OK;
        }
        if (!reserved || !live->asked || live->run.state != PW_RUN_QUEUED)
                return PW_EXISTS;
        live->asked = false;
        for (uint32_t i = 0; i < live->run.result_count; i++)
                pw_result_live(live->run.results[i])->kept = false;
        keep_refusal(live, status, text);
        if (live->refusal)
                pw_list_append(&live->program->scheduler->doomed, &live->link);
        else
                pw_live_fail(live, status, text);
        return PW_OK;
}

enum pw_status pw_live_placed(struct pw_live *live, uint32_t index, const struct pw_core_body *body, struct pw_error *ret_err)
{
        struct pw_result *result = live->run.results[index];
        const struct pw_program *program = live->program;

        if (live->run.state != PW_RUN_QUEUED || result->room_count)
                return PW_EXISTS;
        if (body->room_count != program->row.slices[result->type->value.slice].device_count)
                return pw_error_set(ret_err, PW_PROTOCOL, "result %u of run %lu lies in %u places", index,
                                    (unsigned long)live->run.number, body->room_count);
        result->room_count = body->room_count;
        memcpy(result->rooms, body->rooms, body->room_count * sizeof *result->rooms);
        for (uint32_t i = 0; i < program->row.input_count; i++) {
                const struct pw_input_place *place = &live->run.inputs[i];
                if (!program->inputs[i].takes_result || program->inputs[i].result != index || place->source != PW_INPUT_RESULT ||
                    !place->donated)
                        continue;
                /* It was in place: its rooms are those of the result. */
                place->result->donated = place->result->room_count == result->room_count &&
                                         !memcmp(place->result->rooms, result->rooms, sizeof *result->rooms);
        }
        return PW_OK;
}

/* --- records and the start --------------------------------------------------------------------------------------------------- */

static void ask_to_prepare(struct pw_live *live)
{
        for (uint32_t c = 0; c < live->program->plan.column_count; c++) {
                uint32_t island = live->program->plan.columns[c].island;

                pw_action_core(live->program->scheduler, &live->id, island, PW_CORE_PREPARE)->slot = live->slot;
                live->unprepared |= 1u << island;
                live->program->scheduler->actions.prepares++;
        }
}

/* It may have been cancelled meanwhile: then its host will hear of that, and nothing of it is started. */
enum pw_status pw_live_reserved(struct pw_live *live)
{
        struct pw_live_input *input;
        bool unsaid = false;

        if (live->run.state != PW_RUN_QUEUED)
                return PW_EXISTS;
        pw_live_step(live, PW_RUN_RESERVE);
        pw_deadline_admitted(live);
        ask_to_prepare(live);
        for (uint32_t i = 0; i < live->run.result_count; i++) {
                unsaid |= !live->run.results[i]->room_count;
                pw_list_each(&pw_result_live(live->run.results[i])->waiters, input, struct pw_live_input, link)
                        pw_input_arrived(input);
        }
        if (unsaid) {
                live->refused = true;
                pw_live_fail(live, PW_NO_MEMORY, "pathwaysd is out of memory to say where the results are");
        }
        return PW_OK;
}

/* A run that it reads and whose records may yet be refused: an input from there would never come. NULL: none. */
static struct pw_live *unsettled_maker(const struct pw_live *live)
{
        for (uint32_t i = 0; i < live->run.input_count; i++) {
                const struct pw_input_place *place = &live->run.inputs[i];
                if (place->source == PW_INPUT_RESULT && place->result->run && pw_live_of(place->result->run)->unprepared)
                        return pw_live_of(place->result->run);
        }
        return NULL;
}

static void tell_input(struct pw_live *live, uint32_t input)
{
        pw_core_tell(live->program->scheduler,
                     &(struct pw_core_message){ .kind = PW_CORE_INPUT, .status = live->run.inputs[input].result->status,
                                                .node = input, .run = live->id, .slot = live->slot }, NULL);
}

/* In several islands a START comes behind what their boards were told so far. */
static void send_starts(struct pw_live *live)
{
        uint32_t columns = live->program->plan.column_count, island;

        for (uint32_t i = 0; i < live->run.input_count; i++)
                if (pw_input_never_comes(live, i))
                        tell_input(live, i);
        for (uint32_t c = 0; c < columns; c++) {
                if (!live->program->plan.columns[c].members)
                        continue;
                island = live->program->plan.columns[c].island;
                if (columns == 1)
                        pw_core_tell(live->program->scheduler,
                                     &(struct pw_core_message){ .kind = PW_CORE_START, .island = island, .run = live->id,
                                                                .slot = live->slot }, NULL);
                else
                        pw_action_core(live->program->scheduler, &live->id, island, PW_CORE_START)->slot = live->slot;
        }
}

static void start(struct pw_live *live)
{
        struct pw_live *maker, *reader;

        if (live->refused && !live->stopped) {
                live->stopped = true;
                pw_live_tell(live, PW_CORE_STOP, 0);
        }
        if (!live->stopped && (maker = unsettled_maker(live)))
                pw_list_append(&maker->starters, &live->start);
        else if (!live->stopped)
                send_starts(live);
        pw_list_each(&live->starters, reader, struct pw_live, start) {
                pw_list_remove(&reader->start);
                start(reader);
        }
}

/* The records of a run are in every board before the first of its gangs is ordered anywhere: an order in one island writes
 * sequence numbers that the others wait for. */
enum pw_status pw_live_prepared(struct pw_live *live, uint32_t island, enum pw_status status, const char *text,
                                struct pw_error *ret_err)
{
        uint32_t islands = 0;

        if (live->run.state != PW_RUN_ADMITTED || island >= PW_ISLANDS_MAX || !(live->unprepared >> island & 1)) {
                for (uint32_t c = 0; c < live->program->plan.column_count; c++)
                        islands |= 1u << live->program->plan.columns[c].island;
                if (live->run.state == PW_RUN_ADMITTED && island < PW_ISLANDS_MAX && islands >> island & 1)
                        return PW_EXISTS;
                return pw_error_set(ret_err, PW_PROTOCOL, "run %lu is not being prepared in island %u",
                                    (unsigned long)live->run.number, island);
        }
        live->unprepared &= ~(1u << island);
        if (status != PW_OK) {
                live->refused = true;
                pw_live_fail(live, status, text);
        }
        if (!live->unprepared)
                start(live);
        return PW_OK;
}
