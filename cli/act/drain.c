/* pathways drain. */
#include "base/error.h"
#include "cli/print/output.h"
#include "libclient/listing.h"

enum pw_status pw_command_drain(struct pw_invocation *invocation, struct pw_error *ret_err)
{
        uint64_t timeout_us = invocation->settings.timeout_us;
        Pathways__Wire__Cell cell = pw_cell_text("drained", invocation->operands[0]);
        enum pw_status status = pw_drain_host(invocation->session, invocation->operands[0], invocation->settings.to,
                                              timeout_us > INT64_MAX ? -1 : (int64_t)timeout_us, ret_err);

        if (status == PW_OK && invocation->settings.json)
                status = pw_output_cells(invocation, &cell, 1, ret_err);
        return status;
}
