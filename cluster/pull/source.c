/* Sources: offers, and what is asked of them. What is to be done about it is in source_next.c. */
#include "cluster/pull/source_private.h"

#include "base/transition.h"

/* --- states ----------------------------------------------------------------------------------------------------------------- */

#define TO(state) (1 + PW_OFFER_##state)
static const uint8_t offer_rules[PW_OFFER_STATES][PW_OFFER_EVENTS] = {
        [PW_OFFER_NONE] = { [PW_OFFER_BEGIN] = TO(PART) },
        [PW_OFFER_PART] = { [PW_OFFER_FILL] = TO(ALL), [PW_OFFER_WITHDRAW] = TO(LEAVING) },
        [PW_OFFER_ALL] = { [PW_OFFER_WITHDRAW] = TO(LEAVING) },
        [PW_OFFER_LEAVING] = { [PW_OFFER_FREE] = TO(NONE) },
};
#undef TO
static const char *const offer_states[] = { "none", "part", "all", "leaving" };
static const char *const offer_events[] = { "begin", "fill", "withdraw", "free" };
static const struct pw_transition_kind offer_kind = { "offer", 1, false, offer_states, offer_events };
_Static_assert(sizeof offer_states / sizeof *offer_states == PW_OFFER_STATES, "each state has a word");
_Static_assert(sizeof offer_events / sizeof *offer_events == PW_OFFER_EVENTS, "each event has a word");

#define TO(state) (1 + PW_SEND_##state)
static const uint8_t send_rules[PW_SEND_STATES][PW_SEND_EVENTS] = {
        [PW_SEND_NONE] = { [PW_SEND_ASK] = TO(WAITING) },
        [PW_SEND_WAITING] = { [PW_SEND_DENY] = TO(REFUSED), [PW_SEND_STAGE] = TO(STAGING), [PW_SEND_SEND] = TO(SENDING),
                              [PW_SEND_STOP] = TO(NONE) },
        [PW_SEND_STAGING] = { [PW_SEND_FILLED] = TO(STAGED), [PW_SEND_DENY] = TO(REFUSED), [PW_SEND_STOP] = TO(STOPPING) },
        [PW_SEND_STAGED] = { [PW_SEND_SEND] = TO(SENDING), [PW_SEND_STOP] = TO(NONE) },
        [PW_SEND_SENDING] = { [PW_SEND_STOP] = TO(STOPPING), [PW_SEND_DENY] = TO(REFUSED), [PW_SEND_REPORT] = TO(NONE) },
        [PW_SEND_STOPPING] = { [PW_SEND_REPORT] = TO(NONE) },
        [PW_SEND_REFUSED] = { [PW_SEND_REPORT] = TO(NONE), [PW_SEND_STOP] = TO(NONE) },
};
#undef TO
static const char *const send_states[] = { "none", "waiting", "staging", "staged", "sending", "stopping", "refused" };
static const char *const send_events[] = { "ask", "deny", "stage", "filled", "send", "stop", "report" };
static const struct pw_transition_kind send_kind = { "send", 2, false, send_states, send_events };
_Static_assert(sizeof send_states / sizeof *send_states == PW_SEND_STATES, "each state has a word");
_Static_assert(sizeof send_events / sizeof *send_events == PW_SEND_EVENTS, "each event has a word");

static void tell(const struct pw_pull_source *source, const struct pw_transition *transition)
{
        if (source->params.observer)
                source->params.observer->tell(source->params.observer->context, transition);
}

bool pw_offer_step(struct pw_pull_source *source, struct pw_offer *offer, enum pw_offer_event event)
{
        enum pw_offer_state from = offer->state;
        uint8_t rule = offer_rules[from][event];

        if (!rule)
                return false;
        offer->state = (enum pw_offer_state)(rule - 1);
        source->leaving += (offer->state == PW_OFFER_LEAVING) - (from == PW_OFFER_LEAVING);
        tell(source, &(struct pw_transition){ .kind = &offer_kind, .id = { offer->number }, .from = (uint8_t)from,
                                              .to = (uint8_t)offer->state, .cause = (uint8_t)event });
        return true;
}

bool pw_send_step(struct pw_pull_source *source, struct pw_send *send, enum pw_send_event event)
{
        enum pw_send_state from = send->state;
        uint8_t rule = send_rules[from][event];

        if (!rule)
                return false;
        send->state = (enum pw_send_state)(rule - 1);
        source->in[from]--;
        source->in[send->state]++;
        tell(source, &(struct pw_transition){ .kind = &send_kind, .id = { send->host->host, send->ask }, .from = (uint8_t)from,
                                              .to = (uint8_t)send->state, .cause = (uint8_t)event });
        return true;
}

/* --- life ------------------------------------------------------------------------------------------------------------------- */

enum pw_status pw_pull_source_new(const struct pw_pull_source_params *params, struct pw_pull_source **ret_source,
                                  struct pw_error *ret_err)
{
        struct pw_pull_source *source;

        if (!params->sends || !params->slots || params->slots > PW_PULL_SOURCE_SLOTS_MAX)
                return pw_error_set(ret_err, PW_INVALID, "%u sends of a stream, %u places of a link's reserve", params->sends,
                                    params->slots);
        source = calloc(1, sizeof *source);
        if (!source)
                return pw_error_set(ret_err, PW_NO_MEMORY, "what this host sends");
        source->params = *params;
        source->last_number = params->first_number;
        pw_list_init(&source->offers_due);
        pw_list_init(&source->hosts_due);
        *ret_source = source;
        return PW_OK;
}

void pw_pull_source_free(struct pw_pull_source *source)
{
        struct pw_asker_host *host;
        struct pw_offer *offer;
        struct pw_send *send;

        if (!source)
                return;
        for (uint32_t at = 0; (send = pw_table_next(&source->sends, &at)); at = 0)
                pw_send_forget(source, send);
        for (uint32_t at = 0; (offer = pw_table_next(&source->offers, &at)); at = 0)
                pw_offer_forget(source, offer);
        for (uint32_t at = 0; (host = pw_table_next(&source->hosts, &at));) {
                pw_table_done(&host->asks);
                free(host);
        }
        pw_table_done(&source->sends);
        pw_table_done(&source->offers);
        pw_table_done(&source->hosts);
        free(source);
}

static void touch_host(struct pw_pull_source *source, struct pw_asker_host *host)
{
        if (pw_list_empty(&host->due))
                pw_list_append(&source->hosts_due, &host->due);
}

static void touch_offer(struct pw_pull_source *source, struct pw_offer *offer)
{
        if (pw_list_empty(&offer->due))
                pw_list_append(&source->offers_due, &offer->due);
}

void pw_offer_forget(struct pw_pull_source *source, struct pw_offer *offer)
{
        (void)pw_table_remove(&source->offers, offer->number);
        pw_list_remove(&offer->due);
        free(offer);
}

void pw_send_forget(struct pw_pull_source *source, struct pw_send *send)
{
        struct pw_asker_host *host = send->host;

        if (send->offer) {
                send->offer->users -= send->uses_room;
                touch_offer(source, send->offer);
        }
        if (send->slot)
                host->slots &= ~(UINT32_C(1) << (send->slot - 1));
        host->busy[send->stream] -= send->uses_stream;
        host->count--;
        touch_host(source, host);
        if (pw_table_get(&host->asks, send->ask) == send)
                (void)pw_table_remove(&host->asks, send->ask);
        (void)pw_table_remove(&source->sends, send->number);
        pw_list_remove(&send->of_host);
        pw_list_remove(&send->of_offer);
        source->in[send->state]--;
        free(send);
}

/* --- offers ----------------------------------------------------------------------------------------------------------------- */

enum pw_status pw_pull_source_offer(struct pw_pull_source *source, const struct pw_offer_params *params, uint64_t *ret_number,
                                    struct pw_error *ret_err)
{
        uint64_t chunks = pw_pull_chunks(params->bytes);
        struct pw_offer *offer;

        if (!params->bytes || chunks > UINT32_MAX)
                return pw_error_set(ret_err, chunks ? PW_TOO_LARGE : PW_INVALID, "an offer of %lu bytes",
                                    (unsigned long)params->bytes);
        offer = calloc(1, sizeof *offer + (params->is_whole ? 0 : PW_BITS_WORDS(chunks) * sizeof offer->here[0]));
        if (!offer || !pw_table_put(&source->offers, source->last_number + 1, offer)) {
                free(offer);
                return pw_error_set(ret_err, PW_NO_MEMORY, "an offer of %lu bytes", (unsigned long)params->bytes);
        }
        offer->params = *params;
        offer->number = ++source->last_number;
        offer->chunks = (uint32_t)chunks;
        pw_list_init(&offer->due);
        pw_list_init(&offer->sends);
        pw_offer_step(source, offer, PW_OFFER_BEGIN);
        if (params->is_whole)
                pw_offer_step(source, offer, PW_OFFER_FILL);
        *ret_number = offer->number;
        return PW_OK;
}

void pw_pull_source_have(struct pw_pull_source *source, uint64_t number, uint32_t chunk)
{
        struct pw_offer *offer = pw_table_get(&source->offers, number);
        struct pw_send *send;

        if (!offer || offer->state != PW_OFFER_PART || chunk >= offer->chunks || pw_bits_has(offer->here, chunk))
                return;
        pw_bits_add(offer->here, chunk);
        if (++offer->here_count == offer->chunks)
                pw_offer_step(source, offer, PW_OFFER_FILL);
        pw_list_each(&offer->sends, send, struct pw_send, of_offer)
                if (send->chunk == chunk)
                        touch_host(source, send->host);
}

void pw_pull_source_withdraw(struct pw_pull_source *source, uint64_t number, enum pw_status status)
{
        struct pw_offer *offer = pw_table_get(&source->offers, number);
        struct pw_send *send;

        if (!offer || !pw_offer_step(source, offer, PW_OFFER_WITHDRAW))
                return;
        pw_list_each(&offer->sends, send, struct pw_send, of_offer) {
                touch_host(source, send->host);
                if (send->state != PW_SEND_WAITING) {
                        send->stop_due = send->uses_room; /* the sooner the room is free */
                        continue;
                }
                send->status = status;
                pw_send_step(source, send, PW_SEND_DENY);
        }
        touch_offer(source, offer);
}

/* --- threads ---------------------------------------------------------------------------------------------------------------- */

static void leave_room(struct pw_pull_source *source, struct pw_send *send)
{
        if (!send->offer)
                return;
        send->offer->users -= send->uses_room;
        send->uses_room = false;
        touch_offer(source, send->offer);
}

void pw_pull_source_staged(struct pw_pull_source *source, uint64_t number, enum pw_status status)
{
        struct pw_send *send = pw_table_get(&source->sends, number);

        if (!send)
                return;
        touch_host(source, send->host);
        leave_room(source, send);
        send->stop_due = false;
        if (pw_send_step(source, send, PW_SEND_REPORT)) { /* it was stopped */
                pw_send_forget(source, send);
                return;
        }
        if (status == PW_OK) {
                pw_send_step(source, send, PW_SEND_FILLED);
                return;
        }
        send->status = pw_status_told(status);
        pw_send_step(source, send, PW_SEND_DENY);
}

void pw_pull_source_sent(struct pw_pull_source *source, uint64_t number, enum pw_status status)
{
        struct pw_send *send = pw_table_get(&source->sends, number);

        if (!send)
                return;
        send->stop_due = false;
        if (status == PW_CANCELLED && pw_send_step(source, send, PW_SEND_DENY)) {
                leave_room(source, send);
                touch_host(source, send->host);
        } else if (pw_send_step(source, send, PW_SEND_REPORT)) {
                pw_send_forget(source, send);
        }
}

/* --- other hosts ------------------------------------------------------------------------------------------------------------ */

static struct pw_asker_host *host_of(struct pw_pull_source *source, uint32_t number)
{
        struct pw_asker_host *host = pw_table_get(&source->hosts, number);

        if (host)
                return host;
        host = calloc(1, sizeof *host);
        if (!host || !pw_table_put(&source->hosts, number, host)) {
                free(host);
                return NULL;
        }
        host->host = number;
        pw_list_init(&host->due);
        pw_list_init(&host->sends);
        return host;
}

static enum pw_status asked(struct pw_pull_source *source, struct pw_asker_host *host, const struct pw_pull_message *message,
                            struct pw_error *ret_err)
{
        struct pw_offer *offer = pw_table_get(&source->offers, message->source_number);
        bool is_there = offer && offer->state != PW_OFFER_LEAVING && pw_id_equal(offer->params.id, message->id);
        struct pw_send *send;

        if (message->ask <= host->last_ask || host->count >= PW_PULL_SOURCE_ASKS_MAX ||
            (is_there && message->chunk >= offer->chunks))
                return pw_error_set(ret_err, PW_PROTOCOL, "host %u asks for chunk %u by number %lu, after %lu, of %u asks",
                                    host->host, message->chunk, (unsigned long)message->ask, (unsigned long)host->last_ask,
                                    host->count);
        send = calloc(1, sizeof *send);
        if (!send || !pw_table_put(&source->sends, source->last_send + 1, send)) {
                free(send);
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for what host %u asks for", host->host);
        }
        *send = (struct pw_send){ .host = host, .offer = is_there ? offer : NULL, .number = ++source->last_send,
                                  .ask = message->ask, .stream = message->stream, .chunk = message->chunk };
        pw_list_append(&host->sends, &send->of_host);
        pw_list_init(&send->of_offer);
        host->count++;
        source->in[PW_SEND_NONE]++;
        if (!pw_table_put(&host->asks, send->ask, send)) {
                pw_send_forget(source, send);
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for what host %u asks for", host->host);
        }
        host->last_ask = send->ask;
        if (is_there)
                pw_list_append(&offer->sends, &send->of_offer);
        pw_send_step(source, send, PW_SEND_ASK);
        send->status = PW_GONE;
        if (!is_there)
                pw_send_step(source, send, PW_SEND_DENY);
        touch_host(source, host);
        return PW_OK;
}

/* It is not wanted: it is over, or when its thread has reported. */
static void stop(struct pw_pull_source *source, struct pw_send *send)
{
        if (!pw_send_step(source, send, PW_SEND_STOP))
                return;
        if (send->state == PW_SEND_NONE) {
                pw_send_forget(source, send);
                return;
        }
        (void)pw_table_remove(&send->host->asks, send->ask);
        send->stop_due = true;
        touch_host(source, send->host);
}

enum pw_status pw_pull_source_receive(struct pw_pull_source *source, uint32_t host, const struct pw_pull_message *message,
                                      struct pw_error *ret_err)
{
        struct pw_asker_host *asker = host_of(source, host);
        struct pw_send *send;

        if (!asker)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for what host %u asks for", host);
        switch (message->kind) {
        case PW_PULL_MSG_ASK:
                return asked(source, asker, message, ret_err);
        case PW_PULL_MSG_STOP:
                send = pw_table_get(&asker->asks, message->ask);
                if (send)
                        stop(source, send);
                return PW_OK;
        default:
                return pw_error_set(ret_err, PW_PROTOCOL, "host %u asks a source for what is for others, kind %u", host,
                                    message->kind);
        }
}

void pw_pull_source_ended(struct pw_pull_source *source, uint32_t host)
{
        struct pw_asker_host *asker = pw_table_get(&source->hosts, host);
        struct pw_send *send;

        if (!asker)
                return;
        pw_list_each(&asker->sends, send, struct pw_send, of_host)
                stop(source, send);
}

struct pw_pull_source_counts pw_pull_source_count(const struct pw_pull_source *source)
{
        return (struct pw_pull_source_counts){ source->offers.count, source->leaving, source->in[PW_SEND_WAITING],
                                               source->in[PW_SEND_STAGING], source->in[PW_SEND_STAGED],
                                               source->in[PW_SEND_SENDING], source->in[PW_SEND_STOPPING],
                                               source->in[PW_SEND_REFUSED] };
}
