/* What goes wrong in a run: causes as executors report them, and the sentence that a result's error says.
 *
 * A run keeps the text of each cause. The error of a result names the cause where it began; a result that was computed from
 * another run's says besides by which input of which run the error came to it, the last step only, so that sentences do not
 * grow along a chain of runs.
 */
#include "scheduler/state.h"

#include "base/error.h"

#include <stdio.h>

#define CAUSES_MAX 16u

static enum pw_status note_cause(struct pw_live *live, const struct pw_cause *cause, const char *text)
{
        struct pw_cause **end = &live->causes;
        uint32_t count = 0;

        for (; *end; end = &(*end)->next, count++)
                if ((*end)->node == cause->node && pw_same_device((*end)->device, cause->device))
                        return PW_EXISTS;
        if (count == CAUSES_MAX)
                return PW_EXISTS;
        *end = calloc(1, sizeof **end);
        if (!*end)
                return PW_NO_MEMORY;
        **end = *cause;
        snprintf((*end)->text, sizeof (*end)->text, "%s", text);
        return PW_OK;
}

enum pw_status pw_live_failed(struct pw_live *live, uint32_t host, const struct pw_core_message *message,
                              const struct pw_core_body *body, struct pw_error *ret_err)
{
        (void)host, (void)ret_err;
        return note_cause(live, &(struct pw_cause){ .node = message->node, .device = message->device, .status = message->status },
                          pw_core_text(body));
}

/* The cause of this failure; else the same on another device of the node, as not every cause is kept; else none. */
static const struct pw_cause *find_cause(const struct pw_live *live, const struct pw_failure *failed)
{
        const struct pw_cause *near = NULL;

        for (const struct pw_cause *cause = live->causes; cause; cause = cause->next) {
                if (cause->node != failed->node || cause->status != failed->status || cause->node == PW_NODE_NONE)
                        continue;
                if (pw_same_device(cause->device, failed->device))
                        return cause;
                near = near ? near : cause;
        }
        return near;
}

/* The first failure that is known counts; the loss of a device only as long as nothing else is known, so that what depends on a
 * function that crashed says so, whatever else was lost with its device. */
enum pw_status pw_live_spoiled(struct pw_live *live, uint32_t host, const struct pw_core_message *message,
                               const struct pw_core_body *body, struct pw_error *ret_err)
{
        struct pw_failure *failed = &pw_result_live(live->run.results[message->result])->failed;

        (void)host, (void)ret_err;
        if (body->text)
                note_cause(live, &(struct pw_cause){ .node = PW_NODE_NONE, .device = message->device, .status = message->status },
                           body->text);
        if (failed->status != PW_OK && (failed->status != PW_DEVICE_LOST || message->status == PW_DEVICE_LOST))
                return PW_EXISTS;
        *failed = (struct pw_failure){ message->status, message->node, message->device };
        return PW_OK;
}

/* That the device was lost. NULL: nothing is known of it. */
static const struct pw_cause *find_loss(const struct pw_live *live, struct pw_device_id device)
{
        const struct pw_cause *cause = live->causes;

        while (cause && !(cause->node == PW_NODE_NONE && pw_same_device(cause->device, device)))
                cause = cause->next;
        return cause;
}

static const char *node_name(const struct pw_live *live, uint32_t node)
{
        const struct pw_image *image = live->program->row.image;

        return node < image->node_count ? pw_image_text(image, pw_image_node(image, node)->name) : live->run.row->name;
}

static const char *verb(enum pw_status status)
{
        switch (status) {
        case PW_CRASHED: return "crashed";
        case PW_OVERRUN: return "wrote past an output";
        case PW_CANCELLED: return "was cancelled";
        case PW_TIME_LIMIT:
        case PW_DEADLINE: return "was ended";
        default: return "failed";
        }
}

/* "digits/gradient failed on device h0:2, run 41: row 7 has no label"; "... crashed (SIGSEGV) on device h0:2, run 41". */
static uint32_t cause_sentence(const struct pw_live *live, const struct pw_cause *cause, struct pw_error *ret_error)
{
        /* Its executor ended; the text is how. */
        bool ended = cause->status == PW_CRASHED || cause->status == PW_TIME_LIMIT || cause->status == PW_DEADLINE;

        if (cause->node == PW_NODE_NONE)
                pw_error_set(ret_error, cause->status, "%s", cause->text);
        else
                pw_error_set(ret_error, cause->status, "%s %s%s%s%s on device h%u:%u, run %lu%s%s", node_name(live, cause->node),
                             verb(cause->status), ended ? " (" : "", ended ? cause->text : "", ended ? ")" : "",
                             cause->device.host, cause->device.device, (unsigned long)live->run.number, ended ? "" : ": ",
                             ended ? "" : cause->text);
        return (uint32_t)strlen(ret_error->text);
}

/* PW_OK: none that is known of. */
static enum pw_status input_error(const struct pw_live *live, uint32_t index)
{
        const struct pw_input_place *place = &live->run.inputs[index];

        if (live->inputs[index].status != PW_OK || place->source != PW_INPUT_RESULT)
                return live->inputs[index].status;
        return pw_status_error(place->result->status) ? place->result->status : pw_result_live(place->result)->failed.status;
}

/* The error came with an input: its own sentence, then the way here. The input may not have been decided yet. */
static uint32_t input_sentence(const struct pw_live *live, uint32_t index, enum pw_status status, struct pw_error *ret_error)
{
        struct pw_result *input = live->run.inputs[index].source == PW_INPUT_RESULT ? live->run.inputs[index].result : NULL;
        const char *text = live->inputs[index].text ? live->inputs[index].text : pw_status_text(status);
        uint32_t length = (uint32_t)strlen(text);
        struct pw_error of_input;

        if (input && input->error) {
                of_input = *input->error;
                length = pw_result_live(input)->sentence;
        } else if (input && input->run && pw_result_live(input)->failed.status != PW_OK) {
                length = pw_result_sentence(pw_result_live(input), &of_input);
        } else {
                pw_error_set(&of_input, status, "%s", text);
        }
        length = length < 400 ? length : 400;
        pw_error_set(ret_error, of_input.status, "%.*s (input %u of run %lu, %s)", (int)length, of_input.text, index,
                     (unsigned long)live->run.number, live->run.row->name);
        return length;
}

uint32_t pw_result_sentence(const struct pw_result_live *result, struct pw_error *ret_error)
{
        const struct pw_live *live = pw_live_of(result->result.run);
        const struct pw_image *image = live->program->row.image;
        const struct pw_cause *cause = find_cause(live, &result->failed);
        const struct pw_cause *loss = find_loss(live, result->failed.device);
        uint32_t node = result->failed.node;

        if (cause)
                return cause_sentence(live, cause, ret_error);
        if (node < image->node_count && pw_image_node(image, node)->kind == PW_NODE_LOAD &&
            input_error(live, pw_image_node(image, node)->input_index) != PW_OK)
                return input_sentence(live, pw_image_node(image, node)->input_index, result->failed.status, ret_error);
        if (result->failed.status == PW_DEVICE_LOST && loss)
                return cause_sentence(live, loss, ret_error);
        for (uint32_t i = 0; i < live->run.input_count; i++)
                if (input_error(live, i) == result->failed.status)
                        return input_sentence(live, i, result->failed.status, ret_error);
        for (cause = live->causes; cause; cause = cause->next)
                if (cause->node != PW_NODE_NONE)
                        return cause_sentence(live, cause, ret_error);
        pw_error_set(ret_error, result->failed.status, "%s of run %lu: %s", live->run.row->name, (unsigned long)live->run.number,
                     pw_status_text(result->failed.status));
        return (uint32_t)strlen(ret_error->text);
}

/* The first input in error that the result is computed from; all of them: none is. */
static uint32_t failed_input(const struct pw_live *live, uint32_t result)
{
        uint32_t index = 0;

        while (index < live->run.input_count && index < 64 &&
               (live->inputs[index].status == PW_OK || !(live->program->plan.results[result].needs >> index & 1)))
                index++;
        return index < 64 ? index : live->run.input_count;
}

bool pw_live_fails_by_inputs(const struct pw_live *live)
{
        bool none = true;

        for (uint32_t i = 0; none && i < live->run.input_count; i++)
                none = live->inputs[i].status == PW_OK;
        for (uint32_t i = 0; !none && i < live->run.result_count; i++)
                none = live->run.results[i]->status == PW_NOT_READY && failed_input(live, i) == live->run.input_count;
        return !none;
}

void pw_live_fail_by_inputs(struct pw_live *live)
{
        struct pw_error error;

        for (uint32_t i = 0; i < live->run.result_count; i++) {
                struct pw_result_live *result = pw_result_live(live->run.results[i]);
                uint32_t input = failed_input(live, i);
                if (result->result.status != PW_NOT_READY)
                        continue;
                result->sentence = input_sentence(live, input, live->inputs[input].status, &error);
                pw_result_decide(result, error.status, error.text);
        }
        pw_live_over(live);
}
