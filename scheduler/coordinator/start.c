/* A run that has all its rooms: its records are written on all of its hosts, then it starts. */
#include "scheduler/step.h"

#include "base/error.h"

/* Was the input updated in place, on any host? Its rooms there are those of the result. */
static bool took_place(const struct pw_result *input, const struct pw_result *result)
{
        for (uint32_t i = 0; input->room_count == result->room_count && i < result->room_count; i++)
                if (!memcmp(&input->rooms[i], &result->rooms[i], sizeof *result->rooms))
                        return true;
        return false;
}

static void settle_places(struct pw_live *live)
{
        const struct pw_sched_program *program = live->program;

        for (uint32_t i = 0; i < live->run.result_count; i++) {
                struct pw_result *result = live->run.results[i];
                result->room_count = program->row.slices[result->type->value.slice].device_count;
        }
        for (uint32_t i = 0; i < live->run.input_count; i++) {
                const struct pw_input_place *place = &live->run.inputs[i];
                if (program->inputs[i].takes_result && place->source == PW_INPUT_RESULT && place->donated)
                        place->result->donated = took_place(place->result, live->run.results[program->inputs[i].result]);
        }
}

/* False: some host had no memory to say it. */
static bool is_placed(const struct pw_live *live)
{
        for (uint32_t host = 0; host < live->host_count; host++)
                if (live->hosts[host].placed < live->run.result_count)
                        return false;
        return true;
}

static void ask_to_prepare(struct pw_live *live)
{
        for (uint32_t host = 0; host < live->host_count; host++) {
                struct pw_core_message *message = pw_action_core(live->program->scheduler, &live->id, PW_CORE_PREPARE);

                message->slot = live->slot;
                message->host = live->program->hosts[host];
                pw_live_host_step(live, host, PW_LIVE_HOST_PREPARE);
                live->program->scheduler->actions.prepares++;
        }
}

/* It may have been cancelled meanwhile: then its host will hear of that, and nothing of it is started. */
void pw_live_admit(struct pw_live *live)
{
        struct pw_live_input *input;
        bool placed = is_placed(live);

        pw_live_step(live, PW_RUN_RESERVE);
        pw_live_end_gathering(live);
        pw_deadline_admitted(live);
        if (placed)
                settle_places(live);
        pw_inputs_settle(live);
        ask_to_prepare(live);
        for (uint32_t i = 0; i < live->run.result_count; i++)
                pw_list_each(&pw_result_live(live->run.results[i])->waiters, input, struct pw_live_input, link)
                        pw_input_arrived(input);
        if (!placed) {
                live->refused = true;
                pw_live_fail(live, PW_NO_MEMORY, "pathwaysd is out of memory to say where the results are");
        }
}

/* A run that it reads and whose records may yet be refused: an input from there would never come. NULL: none. */
static struct pw_live *unsettled_maker(const struct pw_live *live)
{
        for (uint32_t i = 0; i < live->run.input_count; i++) {
                const struct pw_input_place *place = &live->run.inputs[i];
                if (place->source == PW_INPUT_RESULT && place->result->run && pw_live_unprepared(pw_live_of(place->result->run)))
                        return pw_live_of(place->result->run);
        }
        return NULL;
}

/* In several islands a START comes behind what their boards were told so far. */
static void send_start(struct pw_live *live)
{
        for (uint32_t i = 0; i < live->run.input_count; i++)
                if (pw_input_never_comes(live, i))
                        pw_live_tell_all(live, &(struct pw_core_message){ .kind = PW_CORE_INPUT, .input = i,
                                                                          .status = live->run.inputs[i].result->status }, NULL);
        if (live->program->plan.column_count == 1 && live->host_count == 1) {
                pw_live_tell(live, PW_CORE_START, 0);
                return;
        }
        for (uint32_t host = 0; host < live->host_count; host++) {
                struct pw_core_message *message = pw_action_core(live->program->scheduler, &live->id, PW_CORE_START);

                message->slot = live->slot;
                message->host = live->program->hosts[host];
        }
}

void pw_live_start(struct pw_live *live)
{
        struct pw_live *maker;

        if (live->refused && !live->stopped) {
                live->stopped = true;
                pw_live_tell(live, PW_CORE_STOP, 0);
        }
        if (!live->stopped && (maker = unsettled_maker(live)))
                pw_list_append(&maker->starters, &live->start);
        else if (!live->stopped)
                send_start(live);
        pw_live_starters_go_on(live);
}

void pw_live_starters_go_on(struct pw_live *live)
{
        struct pw_live *reader;

        pw_list_each(&live->starters, reader, struct pw_live, start) {
                pw_list_remove(&reader->start);
                pw_live_start(reader);
        }
}

/* The records of a run are in every board before the first of its gangs is ordered anywhere: an order in one island writes
 * sequence numbers that the others wait for. */
enum pw_status pw_live_prepared(struct pw_live *live, uint32_t host, const struct pw_core_message *message,
                                const struct pw_core_body *body, struct pw_error *ret_err)
{
        if (live->run.state != PW_RUN_ADMITTED)
                return pw_error_set(ret_err, PW_PROTOCOL, "run %lu is not being prepared", (unsigned long)live->run.number);
        if (live->hosts[host].state != PW_LIVE_HOST_PREPARING)
                return PW_EXISTS;
        pw_live_host_step(live, host, PW_LIVE_HOST_ANSWER);
        if (message->status != PW_OK) {
                live->refused = true;
                pw_live_fail(live, message->status, pw_core_text(body));
        }
        if (!pw_live_unprepared(live))
                pw_live_start(live);
        return PW_OK;
}
