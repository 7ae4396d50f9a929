/* The last runs that ended: what listings tell of them. Texts are copied, as program and session may be gone. */
#include "scheduler/state.h"

static void copy(char *to, size_t bytes, const char *text)
{
        size_t length = text ? strnlen(text, bytes - 1) : 0;

        memcpy(to, text ? text : "", length);
        to[length] = 0;
}

static enum pw_status outcome(const struct pw_run *run)
{
        if (run->cancelled)
                return PW_CANCELLED;
        for (uint32_t i = 0; i < run->result_count; i++)
                if (run->results[i]->status != PW_OK)
                        return run->results[i]->status;
        return PW_OK;
}

/* The sentence of a result that ended as the run did: results may end in different ways. */
static const char *error_text(const struct pw_run *run, enum pw_status outcome)
{
        for (uint32_t i = 0; i < run->result_count; i++)
                if (run->results[i]->status == outcome && run->results[i]->error)
                        return run->results[i]->error->text;
        return NULL;
}

static void count(struct pw_run_counts *counts, enum pw_status outcome)
{
        if (outcome == PW_OK)
                counts->done++;
        else if (outcome == PW_CANCELLED)
                counts->cancelled++;
        else
                counts->failed++;
}

struct pw_run_counts pw_scheduler_run_counts(const struct pw_scheduler *scheduler)
{
        struct pw_run_counts counts = scheduler->counts;

        counts.waiting_room = scheduler->queue_count;
        counts.waiting_input = pw_numbers_count(&scheduler->runs) - scheduler->queue_count - scheduler->admitted_count;
        return counts;
}

enum pw_status pw_ended_note(struct pw_live *live, uint32_t nodes, uint32_t nodes_ordered)
{
        struct pw_scheduler *scheduler = live->program->scheduler;
        struct pw_ended *ended = &scheduler->ended[scheduler->ended_count++ % PW_ENDED_RUNS];

        ended->number = live->run.number;
        ended->submitted_us = live->run.submitted_us;
        ended->ended_us = scheduler->now_us;
        ended->outcome = outcome(&live->run);
        count(&scheduler->counts, ended->outcome);
        ended->nodes = nodes;
        ended->nodes_ordered = nodes_ordered;
        if (ended->of != live->run.program) { /* else the same stands there from a run before */
                ended->of = live->run.program;
                copy(ended->program, sizeof ended->program, live->run.row->name);
                copy(ended->tenant, sizeof ended->tenant, live->run.row->tenant);
                copy(ended->client, sizeof ended->client, live->run.client);
        }
        copy(ended->error, sizeof ended->error, ended->outcome == PW_OK ? NULL : error_text(&live->run, ended->outcome));
        return ended->outcome;
}

void pw_ended_row(const struct pw_ended *ended, struct pw_run_row *ret_row)
{
        *ret_row = (struct pw_run_row){ .number = ended->number, .submitted_us = ended->submitted_us, .ended_us = ended->ended_us,
                                        .program = ended->program, .tenant = ended->tenant,
                                        .client = ended->client[0] ? ended->client : NULL, .state = PW_RUN_ENDED,
                                        .outcome = ended->outcome, .error = ended->error, .nodes = ended->nodes,
                                        .nodes_ordered = ended->nodes_ordered };
}
