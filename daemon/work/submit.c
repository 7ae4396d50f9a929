/* RUN records: inputs are looked up and held, results claimed, runs collected for the end of the turn. */
#include "daemon/work/submit.h"

#include "base/memory.h"
#include "daemon/peer/draining.h"
#include "daemon/session/complaint.h"
#include "daemon/session/lane.h"
#include "scheduler/taking.h"
#include "store/object.h"

#include <stdio.h>

#define BATCH_MAX 4096u /* runs of a tenant in a turn, each by its weight */

/* The record cannot be: the session will end. */
static uint32_t refuse(const struct pw_dlane *lane, const char *why)
{
        pw_complain(lane->session->daemon, lane->session->tenant->uid, "run refused client=%s reason=\"%s\"", lane->session->client,
                    why);
        return 0;
}

static bool take_result(struct pw_dlane *lane, struct pw_run *run, uint32_t i, struct pw_cell cell)
{
        struct pw_error err;

        return pw_taking_result(lane->session->daemon->store, lane->session->number, run, i, cell, &err) == PW_OK ||
               refuse(lane, err.text);
}

/* The record says how long from now; 0: the default. */
static uint64_t deadline(uint64_t us, uint64_t now_us)
{
        return us ? us > UINT64_MAX - now_us ? UINT64_MAX : now_us + us : 0;
}

/* It has runs for the next batch; not while its scan goes on. */
static void enlist(struct pw_daemon *daemon, struct pw_tenant *tenant)
{
        if (!tenant->scan && pw_list_empty(&tenant->of_submitted) && !pw_list_empty(&tenant->submitted))
                pw_list_append(&daemon->work.submitted, &tenant->of_submitted);
}

/* The program named by the record, if the session may run it. */
static struct pw_program_row *program_of(struct pw_dlane *lane, struct pw_cell header)
{
        if (!pw_table_get(&lane->session->programs, (uint32_t)header.b))
                return NULL;
        return pw_scheduler_program(lane->session->daemon->scheduler, (uint32_t)header.b);
}

uint32_t pw_submit_record(struct pw_dlane *lane, struct pw_cell header, uint32_t left, uint64_t now_us)
{
        struct pw_daemon *daemon = lane->session->daemon;
        struct pw_program_row *row = program_of(lane, header);
        uint32_t inputs = pw_cell_run_inputs(header), results = pw_cell_run_results(header);
        struct pw_run *run;

        if (2 + inputs + results > left || !row || inputs != row->input_count || results != row->result_count)
                return refuse(lane, !row ? "no such program of the session" : "not as many inputs and results as the program has");
        run = pw_scheduler_run_new(daemon->scheduler, row->program);
        if (!run)
                return refuse(lane, "pathwaysd is out of memory");
        run->client = row->client; /* the session may end before the run */
        run->sequential = pw_cell_run_flags(header) & PW_RUN_SEQUENTIAL;
        run->deadline_us = deadline(pw_ring_peek(&lane->reader, 1).a, now_us);
        for (uint32_t i = 0; i < inputs; i++)
                pw_taking_input(daemon->store, lane->session->number, run, i, pw_ring_peek(&lane->reader, 2 + i), now_us);
        pw_list_append(&lane->session->tenant->submitted, &run->link); /* it waits for the scan */
        enlist(daemon, lane->session->tenant);
        daemon->counters.runs_in_flight++;
        lane->session->tenant->runs++;
        for (uint32_t i = 0; i < results; i++) {
                if (take_result(lane, run, i, pw_ring_peek(&lane->reader, 2 + inputs + i)))
                        continue;
                pw_scheduler_cancel(daemon->scheduler, run->number, "pathwaysd, as its record cannot be", now_us);
                return 0;
        }
        return 2 + inputs + results;
}

void pw_submit_tenant_init(struct pw_tenant *tenant)
{
        pw_list_init(&tenant->submitted);
        pw_list_init(&tenant->batch);
        pw_list_init(&tenant->of_submitted);
}

void pw_submit_close_batch(struct pw_daemon *daemon)
{
        struct pw_tenant *tenant;

        pw_list_each(&daemon->work.submitted, tenant, struct pw_tenant, of_submitted) {
                if (tenant->scan) {
                        pw_list_remove(&tenant->of_submitted);
                        continue;
                }
                for (uint64_t taken = 0; taken < BATCH_MAX && !pw_list_empty(&tenant->submitted);) {
                        struct pw_run *first = pw_list_first(&tenant->submitted, struct pw_run, link);

                        taken += pw_run_weight(first);
                        pw_list_remove(&first->link);
                        pw_list_append(&tenant->batch, &first->link);
                }
        }
}

/* Results that its record named wrongly are nobody's: they go with the run, whose session has ended for that. */
static void let_unclaimed_go(struct pw_daemon *daemon, const struct pw_run *run, uint64_t now_us)
{
        const uint64_t number = run->number;
        bool any = false;

        for (uint32_t i = 0; i < run->result_count; i++)
                if (!run->results[i]->object) {
                        pw_scheduler_result_free(daemon->scheduler, run->results[i], now_us);
                        any = true;
                }
        if (any)
                pw_scheduler_cancel(daemon->scheduler, number, "pathwaysd: a result in its record is not one of its client's",
                                    now_us);
}

static void submit(struct pw_daemon *daemon, struct pw_run *run, uint64_t now_us)
{
        bool is_done;
        uint32_t successor = pw_draining_successor(daemon, daemon->host, &is_done);
        char who[64];

        pw_list_remove(&run->link);
        pw_taking_scanned(daemon->store, run);
        pw_scheduler_submit(daemon->scheduler, run, now_us);
        let_unclaimed_go(daemon, run, now_us);
        if (daemon->phase >= PW_DRAINING) /* no new work, while runs in flight go on */
                pw_scheduler_cancel(daemon->scheduler, run->number, "pathwaysd, which is about to end", now_us);
        else if (successor) {
                snprintf(who, sizeof who, "this host, which drains: run it on h%u", successor);
                pw_scheduler_cancel(daemon->scheduler, run->number, who, now_us);
        }
}

void pw_submit_scanned(struct pw_daemon *daemon, struct pw_tenant *tenant, uint64_t now_us)
{
        while (!pw_list_empty(&tenant->batch))
                submit(daemon, pw_list_first(&tenant->batch, struct pw_run, link), now_us);
        enlist(daemon, tenant);
}

void pw_submit_batch(struct pw_daemon *daemon, uint64_t now_us)
{
        struct pw_tenant *tenant;
        struct pw_list due; /* who has more comes into the next */

        pw_list_init(&due);
        pw_list_splice(&due, &daemon->work.submitted);
        while (!pw_list_empty(&due)) {
                tenant = pw_list_first(&due, struct pw_tenant, of_submitted);
                pw_list_remove(&tenant->of_submitted);
                if (!tenant->scan)
                        pw_submit_scanned(daemon, tenant, now_us);
        }
}
