/* pathways cancel. */
#include "base/error.h"
#include "base/memory.h"
#include "cli/print/form.h"
#include "cli/print/output.h"

#include <errno.h>

static enum pw_status cancel_run(struct pw_invocation *invocation, struct pw_error *ret_err)
{
        const char *text = invocation->operands[1];
        unsigned long long run;
        char *end;

        errno = 0;
        run = strtoull(text, &end, 10);
        if (errno || end == text || *end || !run)
                return pw_error_set(ret_err, PW_INVALID, "cancel: %s is not the number of a run", text);
        return pw_cancel_run(invocation->session, run, ret_err);
}

static enum pw_status cancel_object(struct pw_invocation *invocation, struct pw_error *ret_err)
{
        const char *what = invocation->operands[0];
        struct pw_future *future;
        enum pw_status status;
        struct pw_id id;

        if (pw_id_parse(what, &id, NULL) == PW_OK)
                return pw_cancel_object(invocation->session, id, ret_err);
        status = pw_lookup(invocation->session, what, 0, &future, ret_err);
        if (status != PW_OK)
                return status;
        status = pw_cancel(future, ret_err);
        pw_unref(future);
        return status;
}

enum pw_status pw_command_cancel(struct pw_invocation *invocation, struct pw_error *ret_err)
{
        bool run = !strcmp(invocation->operands[0], "run");
        Pathways__Wire__Cell cell = pw_cell_text("cancelled", invocation->operands[run]);
        enum pw_status status;

        if (invocation->operand_count != 1 + (uint32_t)run)
                return pw_error_set(ret_err, PW_INVALID, "cancel: takes an id, a name or `run N`");
        status = run ? cancel_run(invocation, ret_err) : cancel_object(invocation, ret_err);
        if (status == PW_OK && invocation->settings.json)
                status = pw_output_cells(invocation, &cell, 1, ret_err);
        return status;
}
