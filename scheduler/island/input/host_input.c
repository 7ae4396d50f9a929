/* What a run reads on its host, as its coordinator names it. The coordinator of this host is believed; another one names what is
 * its own alone, and that stays as long as the run. */
#include "scheduler/state.h"

#include "base/error.h"
#include "base/size.h"

/* One in host memory. */
static void take_value(const struct pw_core_input *from, struct pw_host_input *ret_input)
{
        ret_input->is_inline = from->is_inline;
        if (from->is_inline)
                memcpy(ret_input->value, from->value, sizeof ret_input->value);
        ret_input->segment = from->segment;
        ret_input->offset = from->offset;
        ret_input->bytes = from->bytes;
}

/* False: it reads a result that is not here. */
static bool take_inputs(struct pw_host_run *run, const struct pw_core_body *body)
{
        struct pw_scheduler *scheduler = run->program->scheduler;
        bool all = true;

        for (uint32_t i = 0; i < body->input_count; i++) {
                const struct pw_core_input *from = &body->inputs[i];
                struct pw_host_input *input = &run->inputs[i];

                input->result = NULL;
                input->status = from->status;
                input->given = from->given;
                input->in_place = input->takes = false;
                if (from->source != PW_SOURCE_RESULT) {
                        take_value(from, input);
                        continue;
                }
                input->result = pw_host_result_find(scheduler, &from->run, from->result, from->slot);
                if (input->result)
                        input->result->read_by++;
                else
                        all = false;
        }
        return all;
}

/* --- those that another host names ------------------------------------------------------------------------------------------ */

static bool is_of_peer(const struct pw_host_run *run) { return run->requester != run->program->scheduler->own; }

static enum pw_status check_result(const struct pw_host_run *run, uint32_t index, struct pw_error *ret_why)
{
        const struct pw_image *image = run->program->row.image;
        const struct pw_image_input *input = PW_IMAGE_AT(image, struct pw_image_input, image->inputs) + index;
        const struct pw_image_value *want = pw_image_value(image, input->value);
        const struct pw_host_result *result = run->inputs[index].result;
        unsigned long number = (unsigned long)run->id.number;

        if (result->requester != run->requester)
                return pw_error_set(ret_why, PW_PROTOCOL, "input %u of run %lu of host %u is a result of host %u", index, number,
                                    run->id.coordinator, result->run.coordinator);
        if (result->maker && !result->maker->recorded)
                return pw_error_set(ret_why, PW_PROTOCOL, "input %u of run %lu comes from run %lu, which is not admitted", index,
                                    number, (unsigned long)result->run.number);
        if (result->type->value.dtype != want->dtype || !pw_dims_equal(&result->type->value.dims, &want->dims))
                return pw_error_set(ret_why, PW_PROTOCOL, "input %u of run %lu is not what its program was compiled for", index,
                                    number);
        return PW_OK;
}

/* A value in memory of this host is for its own coordinator to name. */
static enum pw_status check_input(const struct pw_host_run *run, uint32_t index, struct pw_error *ret_why)
{
        const struct pw_host_input *input = &run->inputs[index];

        if (!pw_core_status(input->status))
                return pw_error_set(ret_why, PW_PROTOCOL, "input %u of run %lu is an error that is none", index,
                                    (unsigned long)run->id.number);
        if (input->result)
                return check_result(run, index, ret_why);
        if (input->status != PW_OK || input->is_inline)
                return PW_OK;
        return pw_error_set(ret_why, PW_UNSUPPORTED,
                            "input %u of run %lu is a value in memory of host %u: none above %zu bytes goes to another host",
                            index, (unsigned long)run->id.number, run->id.coordinator, sizeof input->value);
}

/* And each is given away once. */
static enum pw_status check_inputs(const struct pw_host_run *run, struct pw_error *ret_why)
{
        enum pw_status status = PW_OK;

        for (uint32_t i = 0; i < run->program->row.input_count && status == PW_OK; i++) {
                struct pw_host_result *result = run->inputs[i].given ? run->inputs[i].result : NULL;

                status = check_input(run, i, ret_why);
                if (result && result->given && status == PW_OK)
                        status = pw_error_set(ret_why, PW_PROTOCOL, "input %u of run %lu is given away twice", i,
                                              (unsigned long)run->id.number);
                if (result)
                        result->given = true;
        }
        for (uint32_t i = 0; i < run->program->row.input_count; i++)
                if (run->inputs[i].result)
                        run->inputs[i].result->given = false;
        return status;
}

enum pw_status pw_host_inputs_take(struct pw_host_run *run, const struct pw_core_body *body, struct pw_error *ret_why)
{
        bool all = take_inputs(run, body);

        if (!all)
                return pw_error_set(ret_why, PW_PROTOCOL, "run %lu reads a result that is not here", (unsigned long)run->id.number);
        return is_of_peer(run) ? check_inputs(run, ret_why) : PW_OK;
}

void pw_host_inputs_leave(struct pw_host_run *run)
{
        for (uint32_t i = 0; i < run->program->row.input_count; i++) {
                struct pw_host_result *result = run->inputs[i].result;

                if (!result)
                        continue;
                run->inputs[i].result = NULL;
                if (!--result->read_by && result->released)
                        pw_host_result_left(result);
        }
}
