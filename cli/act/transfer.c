/* pathways transfer. */
#include "base/error.h"
#include "cli/print/output.h"

#include <string.h>

/* "digits[4411]", or the words of "pid 4411" and "name weights". */
static enum pw_status read_owner(const struct pw_invocation *invocation, char *owner, size_t bytes, struct pw_error *ret_err)
{
        const char *first = invocation->operands[1];
        bool is_word = !strcmp(first, "pid") || !strcmp(first, "name");
        int length;

        if (invocation->operand_count != 2 + (uint32_t)is_word)
                return pw_error_set(ret_err, PW_INVALID, "transfer: the new owner is CLIENT[PID], `pid N` or `name NAME`");
        length = snprintf(owner, bytes, "%s%s%s", first, is_word ? " " : "", is_word ? invocation->operands[2] : "");
        if (length < 0 || (size_t)length >= bytes)
                return pw_error_set(ret_err, PW_INVALID, "transfer: no owner has a name of %d bytes", length);
        return PW_OK;
}

enum pw_status pw_command_transfer(struct pw_invocation *invocation, struct pw_error *ret_err)
{
        struct pw_future *future = NULL;
        char owner[300], text[PW_ID_TEXT_BYTES];
        enum pw_status status = read_owner(invocation, owner, sizeof owner, ret_err);

        if (status == PW_OK)
                status = pw_operand_open(invocation, invocation->operands[0], 0, &future, ret_err);
        if (status == PW_OK)
                status = pw_transfer(future, owner, ret_err);
        if (status == PW_OK && invocation->settings.json) {
                Pathways__Wire__Cell cell = pw_cell_text("id", pw_id_format(pw_future_id(future), text));
                status = pw_output_cells(invocation, &cell, 1, ret_err);
        }
        pw_unref(future);
        return status;
}
