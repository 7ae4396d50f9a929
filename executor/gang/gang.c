/* Running a gang's member. Every path ends with the heads of its outputs written: a value, or the error it is in. */
#include "executor/gang/flight.h"
#include "executor/gang/gang_private.h"

#include "executor/report.h"
#include "executor/wait.h"

static void wait_for_nodes(struct pw_launch *launch, const struct pw_program_wait *waits, uint32_t count,
                           const _Atomic uint64_t *seqs)
{
        for (uint32_t i = 0; i < count; i++) {
                uint64_t seq = pw_wait_load(&seqs[waits[i].seq_index]);
                if (seq)
                        pw_wait_done(launch, waits[i].device, seq);
        }
}

/* The same of the nodes in a list of the image. */
static void wait_for_many(struct pw_exec_gang *gang, uint32_t list, uint32_t count, const _Atomic uint64_t *seqs)
{
        const uint32_t *on = PW_IMAGE_AT(gang->view->program->image, uint32_t, list);
        struct pw_program_wait waits[PW_DEVICES_MAX];

        for (uint32_t i = 0; i < count; i++)
                wait_for_nodes(gang->launch, waits,
                               pw_program_waits_on(&gang->launch->programs, gang->view->program, on[i], waits), seqs);
}

static void wait_for_all(struct pw_exec_gang *gang)
{
        const struct pw_program_node *node = gang->node;

        wait_for_nodes(gang->launch, node->waits, node->wait_count, gang->view->seqs);
        wait_for_nodes(gang->launch, node->behind, node->behind_count, gang->view->ahead_seqs);
        if (!node->has_many_waits)
                return;
        wait_for_many(gang, node->image->waits, node->image->wait_count, gang->view->seqs);
        wait_for_many(gang, node->image->behind, node->image->behind_count, gang->view->ahead_seqs);
}

static void heads_set(const struct pw_exec_gang *gang, const struct pw_room_head *outcome)
{
        struct pw_room_head head = *outcome;

        head.seq = gang->seq;
        head.seal = pw_room_seal(&head);
        for (uint32_t i = 0; i < gang->node->image->output_count; i++)
                *pw_run_room(gang->view, &gang->node->outputs[i]).head = head;
}

void pw_gang_outputs_set(const struct pw_exec_gang *gang, const struct pw_room_head *outcome)
{
        struct pw_report_about about = { gang->view, gang->index, outcome };

        heads_set(gang, outcome);
        for (uint32_t i = 0; outcome->status != PW_OK && i < gang->node->image->output_count; i++)
                pw_report_value(gang->launch, &about, gang->node->outputs[i].value);
}


/* The view's rooms cannot be: nothing of it is read or written, peers and the daemon are told. Who reads a room of this member
 * finds no value there, as it looks at the same record. */
static enum pw_status refuse(struct pw_exec_gang *gang)
{
        struct pw_room_head outcome = pw_gang_cause(gang, gang->view->refused, gang->view->why);
        struct pw_report_about about = { gang->view, gang->index, &outcome };

        if (gang->node->role & PW_ROLE_SENDER && gang->node->image->kind == PW_NODE_TRANSFER)
                pw_gang_mark(gang, &gang->launch->own->marks[gang->seq % PW_ORDER_LOG], &outcome);
        for (uint32_t i = 0; i < gang->node->image->output_count; i++)
                pw_report_value(gang->launch, &about, gang->node->outputs[i].value);
        return outcome.status;
}

/* It is not under way, and those that are come first. */
static enum pw_status conclude(struct pw_exec_gang *gang, const struct pw_room_head *outcome)
{
        if (gang->launch->flights && gang->launch->flights->count)
                pw_flights_settle(gang);
        pw_gang_outputs_set(gang, outcome);
        return outcome->status;
}

static enum pw_status load(struct pw_exec_gang *gang, bool cancelled, bool *ret_launched)
{
        const struct pw_run_input *input = pw_run_input(gang->view, gang->node->image->input_index);
        struct pw_room_head outcome = pw_gang_fault(gang, PW_CANCELLED);
        struct pw_error err;
        enum pw_status status;

        /* Where the input lies is final only now that its load is ordered. */
        status = pw_run_place_input(gang->view, &gang->launch->segments, gang->node->image->input_index, &err);
        if (status == PW_PROTOCOL) {
                pw_run_refuse(gang->view, &err);
                return refuse(gang);
        }
        if (status != PW_OK)
                pw_launch_die(gang->launch, &err);
        if (input->in_place) /* who reads it looks at its head */
                return *ret_launched = pw_flight_pass(gang), PW_OK;
        if (input->status != PW_OK)
                outcome = pw_gang_fault(gang, input->status);
        else if (!cancelled)
                outcome = pw_gang_load(gang, input, ret_launched);
        return *ret_launched ? PW_OK : conclude(gang, &outcome);
}

static enum pw_status transfer(struct pw_exec_gang *gang, bool cancelled, bool *ret_launched)
{
        struct pw_room_head outcome = pw_gang_fault(gang, PW_CANCELLED);
        struct pw_launch *launch = gang->launch;
        enum pw_status sent = PW_OK;

        if (gang->node->role == PW_ROLE_SENDER && pw_flight_send(gang))
                return *ret_launched = true, PW_OK;
        if (gang->node->role & PW_ROLE_SENDER) {
                if (launch->flights && !pw_gang_joint_may(gang))
                        pw_flights_until(launch, pw_run_room(gang->view, &gang->node->inputs[0]).head);
                sent = pw_gang_send(gang, cancelled);
        }
        if (!(gang->node->role & PW_ROLE_RECEIVER))
                return sent;
        if (!cancelled)
                outcome = pw_gang_receive(gang, ret_launched);
        return *ret_launched ? PW_OK : conclude(gang, &outcome);
}

/* A process before this one ended in this gang, and the daemon has marked it: nothing of it runs, its outputs are in error. */
static enum pw_status fail(struct pw_exec_gang *gang, enum pw_status status)
{
        const struct pw_image_node *image = gang->node->image;
        struct pw_room_head outcome = pw_gang_fault(gang, status);

        if (image->kind == PW_NODE_LOAD && pw_run_input(gang->view, image->input_index)->in_place)
                return status;
        if (gang->node->role & PW_ROLE_RECEIVER)
                pw_gang_outputs_set(gang, &outcome);
        return status;
}

static enum pw_status call(struct pw_exec_gang *gang, bool cancelled)
{
        struct pw_room_head outcome = cancelled ? pw_gang_fault(gang, PW_CANCELLED) : pw_gang_call(gang);

        pw_gang_outputs_set(gang, &outcome);
        return outcome.status;
}

/* The same on a device that does it later. */
static enum pw_status launch_call(struct pw_exec_gang *gang, bool *ret_launched)
{
        struct pw_room_head outcome;

        *ret_launched = pw_flight_launch(gang, &outcome);
        return *ret_launched ? PW_OK : conclude(gang, &outcome);
}

enum pw_status pw_gang_run(struct pw_exec_gang *gang, bool *ret_launched)
{
        _Atomic uint32_t *cancelled_at = (_Atomic uint32_t *)&gang->view->record->cancelled_at;
        struct pw_launch *launch = gang->launch;
        bool cancelled, failed;

        *ret_launched = false;
        wait_for_all(gang);
        cancelled = gang->index >= atomic_load_explicit(cancelled_at, memory_order_acquire); /* it may have waited for long */
        failed = pw_wait_load(&launch->own->failed.seq) == gang->seq;
        if (launch->flights && (gang->view->refused != PW_OK || failed || cancelled ||
                                gang->node->image->phase == PW_PHASE_PARTS)) /* all of it happens here and now */
                pw_flights_settle(gang);
        if (gang->view->refused != PW_OK)
                return refuse(gang);
        pw_run_account(gang->view, gang->node);
        if (gang->node->image->kind != PW_NODE_CALL)
                launch->row++;
        if (failed)
                return fail(gang, (enum pw_status)atomic_load(&launch->own->failed.status));
        switch (gang->node->image->kind) {
        case PW_NODE_TRANSFER: return transfer(gang, cancelled, ret_launched);
        case PW_NODE_LOAD: return load(gang, cancelled, ret_launched);
        default: return launch->flights && !cancelled ? launch_call(gang, ret_launched) : call(gang, cancelled);
        }
}
