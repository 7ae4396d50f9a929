/* Pulls: what is to be done, one thing at a time, as their states have it. */
#include "cluster/pull/pull_private.h"

static struct pw_pulls_action say(const struct pw_pull *pull, uint32_t host, struct pw_pull_message message)
{
        return (struct pw_pulls_action){ .kind = PW_PULLS_SAY, .host = host, .place = pull->place, .message = message };
}

static bool next_here(struct pw_pull *pull, struct pw_pulls_action *ret_action)
{
        if (pull->here_told == pull->here_untold)
                return false;
        *ret_action = (struct pw_pulls_action){ .kind = PW_PULLS_HERE, .place = pull->place,
                                                .chunk = pull->here_chunk[pull->here_told++ % PW_PULL_ASKS] };
        return true;
}

/* What is not wanted: the source first, so that it counts less before it is asked for more. */
static bool next_stop(struct pw_pull *pull, struct pw_pulls_action *ret_action)
{
        for (uint32_t i = 0; i < PW_PULL_ASKS; i++) {
                struct pw_pull_ask *ask = &pull->asks[i];

                if (ask->stop_source) {
                        ask->stop_source = false;
                        *ret_action = say(pull, ask->source, (struct pw_pull_message){ .kind = PW_PULL_MSG_STOP,
                                                                                        .ask = ask->number });
                        return true;
                }
                if (ask->stop_thread) {
                        ask->stop_thread = false;
                        *ret_action = (struct pw_pulls_action){ .kind = PW_PULLS_STOP, .host = ask->source,
                                                                .stream = ask->stream, .chunk = ask->chunk,
                                                                .ask = ask->number, .place = pull->place };
                        return true;
                }
        }
        return false;
}

static bool next_say(struct pw_pull *pull, struct pw_pulls_action *ret_action)
{
        struct pw_pull_message message = { .number = pull->number };
        uint8_t first = pull->says & (uint8_t)-pull->says;

        if (first == PW_PULL_SAYS_LEAVE && !pull->round)
                return false; /* a WANT may wait for a credit, and LEAVE would be there before it */
        pull->says ^= first;
        switch (first) {
        case PW_PULL_SAYS_WANT:
        case PW_PULL_SAYS_HAVE:
                message.kind = first == PW_PULL_SAYS_WANT ? PW_PULL_MSG_WANT : PW_PULL_MSG_HAVE;
                message.id = pull->id;
                break;
        case PW_PULL_SAYS_REPORT:
                message.kind = PW_PULL_MSG_REPORT;
                message.round = pull->round;
                message.status = pull->report;
                break;
        case PW_PULL_SAYS_WHOLE: message.kind = PW_PULL_MSG_WHOLE; break;
        case PW_PULL_SAYS_LEAVE: message.kind = PW_PULL_MSG_LEAVE; break;
        default: return false;
        }
        *ret_action = say(pull, pull->home, message);
        return true;
}

static bool is_out(const struct pw_pull *pull, uint32_t chunk)
{
        for (uint32_t i = 0; i < PW_PULL_ASKS; i++)
                if (pull->asks[i].state != PW_ASK_NONE && pull->asks[i].chunk == chunk)
                        return true;
        return false;
}

/* The first chunk that is neither here nor in a thread's hands; `chunks`: none. */
static uint32_t next_chunk(struct pw_pull *pull)
{
        uint32_t chunk;

        while (pull->low < pull->chunks && pw_bits_has(pull->here, pull->low))
                pull->low++;
        for (chunk = pull->low; chunk < pull->chunks; chunk++)
                if (!pw_bits_has(pull->here, chunk) && !is_out(pull, chunk))
                        break;
        return chunk;
}

static struct pw_pull_ask *idle_ask(struct pw_pull *pull)
{
        for (uint32_t i = 0; i < PW_PULL_ASKS; i++)
                if (pull->asks[i].state == PW_ASK_NONE)
                        return &pull->asks[i];
        return NULL;
}

/* So many are asked for at once that half of them come meanwhile: source and puller wake for several. */
static bool asks_more(struct pw_pull *pull, uint32_t ahead)
{
        uint32_t asked = pull->in[PW_ASK_ASKED];

        if (asked <= ahead / 2)
                pull->fills = true;
        if (asked >= ahead)
                pull->fills = false;
        return pull->fills;
}

/* A thread receives before its source is asked. */
static bool next_receive(struct pw_pulls *pulls, struct pw_pull *pull, struct pw_pulls_action *ret_action)
{
        uint32_t chunk;
        struct pw_pull_ask *ask;

        if (pull->state != PW_PULL_PULLING || !asks_more(pull, pulls->params.ahead) || !pull->in[PW_ASK_NONE])
                return false;
        chunk = next_chunk(pull);
        ask = idle_ask(pull);
        if (chunk == pull->chunks || !ask)
                return false;
        if (!pw_table_put(&pulls->asks, pulls->last_ask + 1, ask)) {
                pw_heap_move(&pulls->times, &pull->time, 0); /* no memory: again with the next turn */
                return false;
        }
        *ask = (struct pw_pull_ask){ .pull = pull, .number = pulls->last_ask + 1, .round = pull->round,
                                .source = pull->source, .chunk = chunk,
                                .stream = (uint32_t)((pulls->last_ask + 1) % pulls->params.streams) };
        pulls->last_ask++;
        pw_pull_ask_step(pulls, ask, PW_ASK_ASK);
        pull->asking = ask;
        *ret_action = (struct pw_pulls_action){ .kind = PW_PULLS_RECEIVE, .host = ask->source, .stream = ask->stream,
                                                .chunk = chunk, .ask = ask->number, .place = pull->place };
        return true;
}

static bool next_ask(struct pw_pull *pull, struct pw_pulls_action *ret_action)
{
        const struct pw_pull_ask *ask = pull->asking;

        if (!ask)
                return false;
        pull->asking = NULL;
        *ret_action = say(pull, ask->source, (struct pw_pull_message){ .kind = PW_PULL_MSG_ASK, .id = pull->id,
                                                                        .source_number = pull->source_number,
                                                                        .ask = ask->number, .stream = ask->stream,
                                                                        .chunk = ask->chunk });
        return true;
}

/* What is told to those here. */
static bool next_told(struct pw_pull *pull, struct pw_pulls_action *ret_action)
{
        *ret_action = (struct pw_pulls_action){ .place = pull->place, .status = pull->status, .host = pull->culprit };
        if (pull->ready_due) {
                pull->ready_due = false;
                ret_action->kind = PW_PULLS_READY;
                return true;
        }
        if (pull->state != PW_PULL_ENDING)
                return false;
        if (pull->status != PW_OK && !pull->failed_told) {
                pull->failed_told = true;
                ret_action->kind = PW_PULLS_FAILED;
                return true;
        }
        if (pull->in[PW_ASK_NONE] != PW_PULL_ASKS || pull->let_go_told)
                return false;
        pull->let_go_told = true;
        pull->place = NULL;
        ret_action->kind = PW_PULLS_LET_GO;
        return true;
}

bool pw_pulls_next(struct pw_pulls *pulls, struct pw_pulls_action *ret_action)
{
        while (!pw_list_empty(&pulls->due)) {
                struct pw_pull *pull = pw_list_first(&pulls->due, struct pw_pull, due);

                if (next_ask(pull, ret_action) || next_here(pull, ret_action) || next_stop(pull, ret_action) ||
                    next_say(pull, ret_action) || next_receive(pulls, pull, ret_action) || next_told(pull, ret_action))
                        return true;
                pw_list_remove(&pull->due);
                if (pull->let_go_told && !pull->says) {
                        pw_pull_step(pulls, pull, PW_PULL_FREE);
                        pw_pull_forget(pulls, pull);
                }
        }
        return false;
}

void pw_pull_row(const struct pw_pull *pull, struct pw_pull_row *ret_row)
{
        *ret_row = (struct pw_pull_row){ .id = pull->id, .place = pull->place, .state = pull->state, .home = pull->home,
                                         .is_alone = pull->is_alone,
                                         .source = pull->source, .number = pull->number, .source_number = pull->source_number,
                                         .bytes = pull->bytes, .chunks = pull->chunks, .chunks_here = pull->here_count,
                                         .asked = pull->in[PW_ASK_ASKED], .stopping = pull->in[PW_ASK_STOPPING],
                                         .progress_us = pull->progress_us };
}

void pw_pulls_each(const struct pw_pulls *pulls, void (*row)(void *, const struct pw_pull_row *), void *context)
{
        struct pw_pull_row one;
        struct pw_pull *pull;

        pw_list_each(&pulls->all, pull, struct pw_pull, link) {
                pw_pull_row(pull, &one);
                row(context, &one);
        }
}
