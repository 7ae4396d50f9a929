/* Pulls: states, what others say of them, time. What is to be done about them is in pull_next.c. */
#include "cluster/pull/pull_private.h"

#include "base/transition.h"

#define FAULTS_MAX 3u /* of a source, one after the other */

/* --- states ----------------------------------------------------------------------------------------------------------------- */

#define TO(state) (1 + PW_PULL_##state)

static const uint8_t rules[PW_PULL_STATES][PW_PULL_EVENTS] = {
        [PW_PULL_NONE] = { [PW_PULL_BEGIN] = TO(WANTING) },
        [PW_PULL_WANTING] = { [PW_PULL_NAME] = TO(PULLING), [PW_PULL_FINISH] = TO(WHOLE), [PW_PULL_FAIL] = TO(ENDING),
                              [PW_PULL_CANCEL] = TO(ENDING) },
        [PW_PULL_PULLING] = { [PW_PULL_NAME] = TO(PULLING), [PW_PULL_LOSE] = TO(WANTING), [PW_PULL_FINISH] = TO(WHOLE),
                              [PW_PULL_FAIL] = TO(ENDING), [PW_PULL_CANCEL] = TO(ENDING) },
        [PW_PULL_WHOLE] = { [PW_PULL_CANCEL] = TO(ENDING) },
        [PW_PULL_ENDING] = { [PW_PULL_FREE] = TO(NONE) },
};
static const char *const states[] = { "none", "wanting", "pulling", "whole", "ending" };
static const char *const events[] = { "begin", "name", "lose", "finish", "fail", "cancel", "free" };
static const struct pw_transition_kind kind = { "pull", 1, false, states, events };
_Static_assert(sizeof states / sizeof *states == PW_PULL_STATES, "each state has a word");
_Static_assert(sizeof events / sizeof *events == PW_PULL_EVENTS, "each event has a word");
#undef TO

static void tell(const struct pw_pulls *pulls, const struct pw_transition *transition)
{
        if (pulls->params.observer)
                pulls->params.observer->tell(pulls->params.observer->context, transition);
}

bool pw_pull_step(struct pw_pulls *pulls, struct pw_pull *pull, enum pw_pull_event event)
{
        enum pw_pull_state from = pull->state;
        uint8_t rule = rules[from][event];

        if (!rule)
                return false;
        pull->state = (enum pw_pull_state)(rule - 1);
        tell(pulls, &(struct pw_transition){ .kind = &kind, .id = { pull->number }, .from = (uint8_t)from,
                                             .to = (uint8_t)pull->state, .cause = (uint8_t)event });
        return true;
}

#define TO(state) (1 + PW_ASK_##state)
static const uint8_t ask_rules[PW_ASK_STATES][PW_ASK_EVENTS] = {
        [PW_ASK_NONE] = { [PW_ASK_ASK] = TO(ASKED) },
        [PW_ASK_ASKED] = { [PW_ASK_STOP] = TO(STOPPING), [PW_ASK_REPORT] = TO(NONE) },
        [PW_ASK_STOPPING] = { [PW_ASK_REPORT] = TO(NONE) },
};
static const char *const ask_states[] = { "none", "asked", "stopping" };
static const char *const ask_events[] = { "ask", "stop", "report" };
static const struct pw_transition_kind ask_kind = { "ask", 2, false, ask_states, ask_events };
_Static_assert(sizeof ask_states / sizeof *ask_states == PW_ASK_STATES, "each state has a word");
_Static_assert(sizeof ask_events / sizeof *ask_events == PW_ASK_EVENTS, "each event has a word");
#undef TO

bool pw_pull_ask_step(struct pw_pulls *pulls, struct pw_pull_ask *ask, enum pw_ask_event event)
{
        enum pw_ask_state from = ask->state;
        uint8_t rule = ask_rules[from][event];

        if (!rule)
                return false;
        ask->state = (enum pw_ask_state)(rule - 1);
        ask->pull->in[from]--;
        ask->pull->in[ask->state]++;
        tell(pulls, &(struct pw_transition){ .kind = &ask_kind, .id = { ask->number, ask->chunk }, .from = (uint8_t)from,
                                             .to = (uint8_t)ask->state, .cause = (uint8_t)event });
        return true;
}

/* --- life ------------------------------------------------------------------------------------------------------------------- */

enum pw_status pw_pulls_new(const struct pw_pulls_params *params, struct pw_pulls **ret_pulls, struct pw_error *ret_err)
{
        struct pw_pulls *pulls;

        if (!params->ahead || params->ahead > PW_PULL_AHEAD_MAX || !params->streams || params->streams > PW_PULL_STREAMS_MAX)
                return pw_error_set(ret_err, PW_INVALID, "pulls of %u chunks ahead over %u streams: 1 to %u, 1 to %u",
                                    params->ahead, params->streams, PW_PULL_AHEAD_MAX, PW_PULL_STREAMS_MAX);
        pulls = calloc(1, sizeof *pulls);
        if (!pulls)
                return pw_error_set(ret_err, PW_NO_MEMORY, "what this host pulls");
        pulls->params = *params;
        pulls->last_ask = params->first_ask;
        pw_list_init(&pulls->all);
        pw_list_init(&pulls->due);
        *ret_pulls = pulls;
        return PW_OK;
}

static uint64_t key_of(const struct pw_pulls *pulls, struct pw_id id)
{
        return pw_hash(&pulls->params.secret, &id, sizeof id);
}

/* Pulls of one key are a chain. False: no memory. */
static bool chain(struct pw_pulls *pulls, struct pw_pull *pull)
{
        pull->same_key = pw_table_get(&pulls->ids, key_of(pulls, pull->id));
        return pw_table_put(&pulls->ids, key_of(pulls, pull->id), pull);
}

static void unchain(struct pw_pulls *pulls, const struct pw_pull *pull)
{
        uint64_t key = key_of(pulls, pull->id);
        struct pw_pull *first = pw_table_get(&pulls->ids, key), **at = &first;

        while (*at && *at != pull)
                at = &(*at)->same_key;
        if (!*at)
                return; /* it never was there, for lack of memory */
        *at = pull->same_key;
        if (first)
                (void)!pw_table_put(&pulls->ids, key, first); /* its cell is there */
        else
                pw_table_remove(&pulls->ids, key);
}

void pw_pull_forget(struct pw_pulls *pulls, struct pw_pull *pull)
{
        unchain(pulls, pull);
        pw_heap_remove(&pulls->times, &pull->time);
        (void)pw_table_remove(&pulls->numbers, pull->number);
        pw_list_remove(&pull->link);
        pw_list_remove(&pull->due);
        free(pull);
}

void pw_pulls_free(struct pw_pulls *pulls)
{
        struct pw_pull *pull;

        if (!pulls)
                return;
        pw_list_each(&pulls->all, pull, struct pw_pull, link)
                pw_pull_forget(pulls, pull);
        pw_table_done(&pulls->ids);
        pw_table_done(&pulls->numbers);
        pw_table_done(&pulls->asks);
        pw_heap_done(&pulls->times);
        free(pulls);
}

static bool is_live(const struct pw_pull *pull) { return pull->state != PW_PULL_ENDING; }
static bool is_under_way(const struct pw_pull *pull) { return pull->state == PW_PULL_WANTING || pull->state == PW_PULL_PULLING; }

struct pw_pull *pw_pull_find(const struct pw_pulls *pulls, struct pw_id id)
{
        struct pw_pull *pull;

        for (pull = pw_table_get(&pulls->ids, key_of(pulls, id)); pull; pull = pull->same_key)
                if (is_live(pull) && pw_id_equal(pull->id, id))
                        return pull;
        return NULL;
}

void pw_pull_touch(struct pw_pulls *pulls, struct pw_pull *pull)
{
        if (pw_list_empty(&pull->due))
                pw_list_append(&pulls->due, &pull->due);
}

/* When it is looked at again. */
static void set_time(struct pw_pulls *pulls, struct pw_pull *pull)
{
        uint64_t at_us = pull->progress_us + pulls->params.deadline_us;

        if (!is_under_way(pull))
                at_us = UINT64_MAX;
        else if (pull->state == PW_PULL_PULLING)
                at_us = pw_min_u64(at_us, pull->heard_us + pulls->params.stall_us);
        pw_heap_move(&pulls->times, &pull->time, at_us);
}

enum pw_status pw_pull_begin(struct pw_pulls *pulls, const struct pw_pull_request *request, struct pw_pull **ret_pull,
                             struct pw_error *ret_err)
{
        uint64_t chunks = pw_pull_chunks(request->bytes);
        struct pw_pull *pull;

        if (!request->bytes || chunks > UINT32_MAX)
                return pw_error_set(ret_err, chunks ? PW_TOO_LARGE : PW_INVALID, "a pull of %lu bytes",
                                    (unsigned long)request->bytes);
        if (pw_pull_find(pulls, request->id))
                return pw_error_set(ret_err, PW_EXISTS, "a pull of this object is under way");
        pull = calloc(1, sizeof *pull + PW_BITS_WORDS(chunks) * sizeof pull->here[0]);
        if (!pull)
                return pw_error_set(ret_err, PW_NO_MEMORY, "a pull of %lu bytes", (unsigned long)request->bytes);
        *pull = (struct pw_pull){ .id = request->id, .home = request->home, .number = request->number, .bytes = request->bytes,
                                  .place = request->place, .chunks = (uint32_t)chunks, .progress_us = request->now_us,
                                  .heard_us = request->now_us, .says = PW_PULL_SAYS_WANT };
        pull->in[PW_ASK_NONE] = PW_PULL_ASKS;
        pw_list_init(&pull->due);
        pw_list_append(&pulls->all, &pull->link);
        for (uint32_t i = 0; i < PW_PULL_ASKS; i++)
                pull->asks[i].pull = pull;
        if (!chain(pulls, pull) || !pw_table_put(&pulls->numbers, pull->number, pull) ||
            !pw_heap_add(&pulls->times, &pull->time, UINT64_MAX)) {
                pw_pull_forget(pulls, pull);
                return pw_error_set(ret_err, PW_NO_MEMORY, "a pull of %lu bytes", (unsigned long)request->bytes);
        }
        pw_pull_step(pulls, pull, PW_PULL_BEGIN);
        set_time(pulls, pull);
        pw_pull_touch(pulls, pull);
        *ret_pull = pull;
        return PW_OK;
}

/* --- asks ------------------------------------------------------------------------------------------------------------------- */

/* What was asked of its source is not wanted; the threads keep their ranges until they report. */
static void stop_asks(struct pw_pulls *pulls, struct pw_pull *pull)
{
        for (uint32_t i = 0; i < PW_PULL_ASKS; i++) {
                struct pw_pull_ask *ask = &pull->asks[i];

                if (!pw_pull_ask_step(pulls, ask, PW_ASK_STOP))
                        continue;
                ask->stop_thread = ask->stop_source = true;
        }
}

/* It ends: what is done next is LET_GO, when no thread has its room. */
static void end(struct pw_pulls *pulls, struct pw_pull *pull, enum pw_pull_event event, bool is_told)
{
        if (!pw_pull_step(pulls, pull, event))
                return;
        stop_asks(pulls, pull);
        pull->says = pull->says & PW_PULL_SAYS_WANT || !is_told ? 0 : PW_PULL_SAYS_LEAVE;
        set_time(pulls, pull);
        pw_pull_touch(pulls, pull);
}

static void fail(struct pw_pulls *pulls, struct pw_pull *pull, enum pw_status status, uint32_t host, bool is_told)
{
        pull->status = status;
        pull->culprit = host;
        end(pulls, pull, PW_PULL_FAIL, is_told);
}

void pw_pull_cancel(struct pw_pulls *pulls, struct pw_pull *pull) { end(pulls, pull, PW_PULL_CANCEL, !pull->is_alone); }

void pw_pull_renewed(struct pw_pulls *pulls, struct pw_pull *pull, uint32_t home)
{
        if (pull->state != PW_PULL_WHOLE || !pull->is_alone)
                return;
        pull->home = home;
        pull->is_alone = false;
        pull->says = PW_PULL_SAYS_HAVE;
        pw_pull_touch(pulls, pull);
}

/* Its source is not asked any more, and the home is told why. */
static void lose_source(struct pw_pulls *pulls, struct pw_pull *pull, enum pw_status status)
{
        if (!pw_pull_step(pulls, pull, PW_PULL_LOSE))
                return;
        stop_asks(pulls, pull);
        pull->says |= PW_PULL_SAYS_REPORT;
        pull->report = status;
        set_time(pulls, pull);
        pw_pull_touch(pulls, pull);
}

/* --- threads ---------------------------------------------------------------------------------------------------------------- */

static void arrived(struct pw_pulls *pulls, struct pw_pull *pull, uint32_t chunk, uint64_t now_us)
{
        pw_bits_add(pull->here, chunk);
        pull->here_count++;
        pull->faults = 0;
        pull->progress_us = pull->heard_us = now_us;
        pull->here_chunk[pull->here_untold++ % PW_PULL_ASKS] = chunk;
        if (pull->here_count < pull->chunks || !pw_pull_step(pulls, pull, PW_PULL_FINISH))
                return;
        pull->says = pull->is_alone ? 0 : PW_PULL_SAYS_WHOLE;
        pull->ready_due = true;
}

/* Whose fault it was is known only of those that were not told to stop. A stream that breaks loses all that was asked over it: what
 * was asked before the loss that counted last is of that one. */
static void missed(struct pw_pulls *pulls, struct pw_pull *pull, const struct pw_pull_ask *ask, enum pw_status status)
{
        bool is_wrong = status == PW_PROTOCOL, counts = is_wrong || ask->number > pull->lost_up_to;

        if (pull->state != PW_PULL_PULLING || ask->round != pull->round)
                return;
        if (status == PW_DEADLINE) {
                lose_source(pulls, pull, status);
                return;
        }
        if (counts && !is_wrong)
                pull->lost_up_to = pulls->last_ask;
        if (counts && ++pull->faults >= FAULTS_MAX)
                lose_source(pulls, pull, is_wrong ? PW_PROTOCOL : PW_SYSTEM);
}

void pw_pulls_reported(struct pw_pulls *pulls, uint64_t number, enum pw_status status, uint64_t now_us)
{
        struct pw_pull_ask *ask = pw_table_remove(&pulls->asks, number);
        struct pw_pull *pull;
        bool was_asked;

        if (!ask)
                return;
        pull = ask->pull;
        was_asked = ask->state == PW_ASK_ASKED;
        pw_pull_ask_step(pulls, ask, PW_ASK_REPORT);
        ask->stop_thread = false;
        if (status == PW_OK)
                arrived(pulls, pull, ask->chunk, now_us);
        else if (was_asked) {
                ask->stop_source = status != PW_PROTOCOL; /* it may send it yet, over another stream */
                pull->heard_us = now_us; /* it is asked again, and has as long to answer that */
                missed(pulls, pull, ask, status);
        }
        set_time(pulls, pull);
        pw_pull_touch(pulls, pull);
}

/* --- other hosts ------------------------------------------------------------------------------------------------------------ */

static void named(struct pw_pulls *pulls, struct pw_pull *pull, const struct pw_pull_message *message, uint64_t now_us)
{
        bool is_over;

        if (message->round <= pull->round)
                return;
        pull->round = message->round;
        is_over = message->status != PW_OK && message->status != PW_NOT_READY; /* the home knows it no more */
        if (!is_under_way(pull)) { /* now it may leave */
                if (is_over)
                        pull->says = pull->state == PW_PULL_WHOLE ? PW_PULL_SAYS_HAVE : 0;
                pw_pull_touch(pulls, pull);
                return;
        }
        pull->says &= (uint8_t)~PW_PULL_SAYS_REPORT; /* of an earlier round */
        if (is_over) {
                fail(pulls, pull, message->status, pull->home, false);
                return;
        }
        stop_asks(pulls, pull);
        if (message->status == PW_OK) {
                pw_pull_step(pulls, pull, PW_PULL_NAME);
                pull->source = message->source;
                pull->source_number = message->source_number;
                pull->heard_us = now_us;
                pull->faults = 0;
        } else {
                pw_pull_step(pulls, pull, PW_PULL_LOSE);
        }
        set_time(pulls, pull);
        pw_pull_touch(pulls, pull);
}

/* What a source says of an ask that was not told to stop. */
static void of_ask(struct pw_pulls *pulls, uint32_t host, const struct pw_pull_message *message, uint64_t now_us)
{
        struct pw_pull_ask *ask = pw_table_get(&pulls->asks, message->ask);

        if (!ask || ask->source != host || ask->state != PW_ASK_ASKED)
                return;
        if (message->kind == PW_PULL_MSG_REFUSE) {
                lose_source(pulls, ask->pull, message->status);
                return;
        }
        ask->waits = true;
        ask->pull->heard_us = now_us;
        set_time(pulls, ask->pull);
}

enum pw_status pw_pulls_receive(struct pw_pulls *pulls, uint32_t host, const struct pw_pull_message *message, uint64_t now_us,
                                struct pw_error *ret_err)
{
        struct pw_pull *pull = pw_table_get(&pulls->numbers, message->number);

        switch (message->kind) {
        case PW_PULL_MSG_NAMED:
                if (pull && pull->home == host)
                        named(pulls, pull, message, now_us);
                return PW_OK;
        case PW_PULL_MSG_WAIT:
        case PW_PULL_MSG_REFUSE:
                of_ask(pulls, host, message, now_us);
                return PW_OK;
        default:
                return pw_error_set(ret_err, PW_PROTOCOL, "host %u says to a puller what is for others, kind %u", host,
                                    message->kind);
        }
}

void pw_pulls_met(struct pw_pulls *pulls, uint32_t host, uint64_t now_us)
{
        struct pw_pull *pull;

        pw_list_each(&pulls->all, pull, struct pw_pull, link) {
                if (pull->state != PW_PULL_PULLING || pull->source != host)
                        continue;
                pull->faults = 0;
                pull->heard_us = now_us;
                set_time(pulls, pull);
        }
}

void pw_pulls_ended(struct pw_pulls *pulls, uint32_t host)
{
        struct pw_pull *pull;

        pw_list_each(&pulls->all, pull, struct pw_pull, link) {
                if (pull->home == host) {
                        pull->is_alone = true;
                        pull->says = 0;
                        pw_pull_touch(pulls, pull);
                        if (is_under_way(pull))
                                fail(pulls, pull, PW_HOST_LOST, host, false);
                } else if (pull->state == PW_PULL_PULLING && pull->source == host) {
                        lose_source(pulls, pull, PW_HOST_LOST);
                }
                for (uint32_t i = 0; i < PW_PULL_ASKS; i++)
                        if (pull->asks[i].source == host)
                                pull->asks[i].stop_source = false; /* it knows */
        }
}

/* --- time ------------------------------------------------------------------------------------------------------------------- */

/* Is something asked of its source, which has not said that it waits for it itself? */
static bool is_owed(const struct pw_pull *pull)
{
        for (uint32_t i = 0; i < PW_PULL_ASKS; i++)
                if (pull->asks[i].state == PW_ASK_ASKED && !pull->asks[i].waits)
                        return true;
        return false;
}

void pw_pulls_turn(struct pw_pulls *pulls, uint64_t now_us)
{
        while (pw_heap_first_key(&pulls->times) <= now_us) {
                struct pw_pull *pull = pw_container_of(pw_heap_first(&pulls->times), struct pw_pull, time);

                if (now_us >= pull->progress_us + pulls->params.deadline_us)
                        fail(pulls, pull, PW_DEADLINE, pull->state == PW_PULL_PULLING ? pull->source : pull->home, true);
                else if (is_owed(pull))
                        lose_source(pulls, pull, PW_DEADLINE);
                else
                        pull->heard_us = now_us;
                set_time(pulls, pull);
                pw_pull_touch(pulls, pull);
        }
}

uint64_t pw_pulls_next_us(const struct pw_pulls *pulls) { return pw_heap_first_key(&pulls->times); }
