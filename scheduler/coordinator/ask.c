/* What hosts are asked for: a run that is to come, or its rooms. */
#include "scheduler/step.h"

#include "base/error.h"

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
                ret_input->is_inline = place->host.is_inline;
                memcpy(ret_input->value, place->host.value, place->host.is_inline ? sizeof place->host.value : 0);
                ret_input->segment = place->host.segment;
                ret_input->offset = place->host.offset;
                ret_input->bytes = place->host.bytes;
        }
}

/* Its inputs as they are known. */
static struct pw_core_body fill_body(const struct pw_live *live)
{
        struct pw_scheduler *scheduler = live->program->scheduler;

        for (uint32_t i = 0; i < live->run.input_count; i++)
                fill_input(live, i, &scheduler->asking[i]);
        for (uint32_t i = 0; i < live->run.result_count; i++)
                scheduler->asking_slots[i] = pw_result_live(live->run.results[i])->slot;
        return (struct pw_core_body){ .inputs = scheduler->asking, .input_count = live->run.input_count,
                                      .slots = scheduler->asking_slots, .slot_count = live->run.result_count };
}

/* Without memory for it, that it never fits is seen when it arrives. */
void pw_live_expect(const struct pw_live *live)
{
        for (uint32_t host = 0; host < live->host_count && live->run.state == PW_RUN_WAITING; host++) {
                struct pw_core_body body = fill_body(live);

                (void)pw_core_tell(live->program->scheduler,
                                   &(struct pw_core_message){ .kind = PW_CORE_EXPECT, .run = live->id, .slot = live->slot,
                                                              .host = live->program->hosts[host], .program = live->run.program },
                                   &body);
        }
}

enum pw_status pw_live_ask(const struct pw_live *live, uint32_t host, uint32_t how)
{
        struct pw_core_body body = fill_body(live);

        return pw_core_tell(live->program->scheduler,
                            &(struct pw_core_message){ .kind = PW_CORE_RESERVE, .run = live->id, .slot = live->slot,
                                                       .host = live->program->hosts[host], .program = live->run.program, .how = how,
                                                       .serial = live->hosts[host].serial, .arrival = live->hosts[host].arrival },
                            &body);
}

/* One that fails does so in its turn, not where it arrives: who waits for its results arrives by that, and so on along a chain of
 * runs. */
void pw_live_arrive(struct pw_live *live)
{
        pw_list_remove(&live->link);
        pw_live_step(live, PW_RUN_ARRIVE);
        if (pw_live_fails_by_inputs(live))
                pw_list_append(&live->program->scheduler->doomed, &live->link);
        else
                pw_live_begin_gathering(live);
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

/* Its results may be of use to nobody by now: then its hosts hear of that next. */
void pw_live_doom(struct pw_live *live, enum pw_status status, const char *text)
{
        if (live->refusal || live->run.state != PW_RUN_QUEUED || !pw_list_empty(&live->link)) /* it fails by its inputs */
                return;
        keep_refusal(live, status, text);
        pw_live_give_back(live);
        pw_live_end_gathering(live);
        if (live->refusal)
                pw_list_append(&live->program->scheduler->doomed, &live->link);
        else
                pw_live_fail(live, status, text);
}
