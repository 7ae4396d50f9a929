/* wait: until objects are ready. */
#include "base/error.h"
#include "base/memory.h"
#include "cli/deadline.h"
#include "cli/print/output.h"

static enum pw_status find_all(struct pw_invocation *invocation, struct pw_future **futures, int64_t end_us,
                               struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;

        for (uint32_t i = 0; status == PW_OK && i < invocation->operand_count; i++) {
                int64_t wait_us = invocation->settings.wait ? pw_cli_left_us(end_us) : 0;
                status = pw_operand_open(invocation, invocation->operands[i], wait_us, &futures[i], ret_err);
        }
        return status;
}

static const char *state_of(enum pw_status status)
{
        return status == PW_OK ? "ready" : status == PW_NOT_READY ? "pending" : "error";
}

static enum pw_status print_states(struct pw_invocation *invocation, struct pw_future **futures, uint32_t *ret_errors,
                                   struct pw_error *ret_err)
{
        uint32_t count = invocation->operand_count, errors = 0;
        struct state { Pathways__Wire__Row row; Pathways__Wire__Cell cells[3], *cell_pointers[3]; };
        pw_auto_free struct state *states = calloc(count, sizeof *states);
        pw_auto_free Pathways__Wire__Row **rows = calloc(count, sizeof *rows);
        Pathways__Wire__Listing listing = PATHWAYS__WIRE__LISTING__INIT;

        if (!states || !rows)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for %u rows", count);
        for (uint32_t i = 0; i < count; i++) {
                enum pw_status status = pw_poll(futures[i]);
                errors += status != PW_OK && status != PW_NOT_READY;
                states[i].cells[0] = pw_cell_text("what", invocation->operands[i]);
                states[i].cells[1] = pw_cell_text("state", state_of(status));
                states[i].cells[2] = pw_cell_text("status", pw_status_name(status));
                for (uint32_t c = 0; c < 3; c++)
                        states[i].cell_pointers[c] = &states[i].cells[c];
                states[i].row = (Pathways__Wire__Row)PATHWAYS__WIRE__ROW__INIT;
                states[i].row.cells = states[i].cell_pointers;
                states[i].row.n_cells = 3;
                rows[i] = &states[i].row;
        }
        listing.rows = rows;
        listing.n_rows = count;
        *ret_errors = errors;
        return pw_output_rows(invocation, &invocation->command->form, &listing, ret_err);
}

static enum pw_status wait_for(struct pw_invocation *invocation, struct pw_future **futures, int64_t end_us,
                               struct pw_error *ret_err)
{
        uint32_t count = invocation->operand_count, errors = 0;
        struct pw_error waited = { 0 };
        enum pw_status status = pw_wait(futures, count, invocation->settings.any ? 1 : count, pw_cli_left_us(end_us), NULL,
                                        &waited),
                       printed;

        if (status != PW_OK && status != PW_DEADLINE && status != PW_NOT_READY)
                return pw_error_set(ret_err, status, "%s", waited.text);
        printed = print_states(invocation, futures, &errors, ret_err);
        if (printed != PW_OK)
                return printed;
        if (status != PW_OK)
                return pw_error_set(ret_err, PW_DEADLINE, "wait: the deadline passed");
        if (errors)
                return pw_error_set(ret_err, PW_FAILED, "wait: %u of %u %s in error", errors, count, errors == 1 ? "is" : "are");
        return PW_OK;
}

enum pw_status pw_command_wait(struct pw_invocation *invocation, struct pw_error *ret_err)
{
        pw_auto_free struct pw_future **futures = calloc(invocation->operand_count, sizeof *futures);
        int64_t end_us = pw_cli_end_us(invocation->settings.timeout_us);
        enum pw_status status;

        if (!futures)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for %u objects", invocation->operand_count);
        status = find_all(invocation, futures, end_us, ret_err);
        if (status == PW_OK)
                status = wait_for(invocation, futures, end_us, ret_err);
        for (uint32_t i = 0; i < invocation->operand_count; i++)
                pw_unref(futures[i]);
        return status;
}
