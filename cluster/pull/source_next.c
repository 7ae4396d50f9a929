/* Sources: what is to be done, one thing at a time, as their states have it. */
#include "cluster/pull/source_private.h"

static struct pw_pull_source_action say(const struct pw_send *send, enum pw_pull_kind kind, enum pw_status status)
{
        return (struct pw_pull_source_action){ .kind = PW_PULL_SOURCE_SAY, .host = send->host->host,
                                               .message = { .kind = kind, .status = status, .ask = send->ask } };
}

static struct pw_pull_source_action act(const struct pw_send *send, enum pw_pull_source_action_kind kind)
{
        return (struct pw_pull_source_action){ .kind = kind, .host = send->host->host, .stream = send->stream,
                                               .chunk = send->chunk, .slot = send->slot - !!send->slot,
                                               .is_staged = send->slot != 0, .send = send->number, .ask = send->ask,
                                               .place = send->offer ? send->offer->params.place : NULL };
}

/* The first place of the link's reserve that is free, from 1 on; 0: none. */
static uint32_t idle_slot(const struct pw_pull_source *source, const struct pw_asker_host *host)
{
        for (uint32_t slot = 0; slot < source->params.slots; slot++)
                if (!(host->slots >> slot & 1))
                        return slot + 1;
        return 0;
}

static bool stage(struct pw_pull_source *source, struct pw_send *send, struct pw_pull_source_action *ret_action)
{
        send->slot = idle_slot(source, send->host);
        if (!send->slot)
                return false;
        send->host->slots |= UINT32_C(1) << (send->slot - 1);
        send->offer->users++;
        send->uses_room = true;
        pw_send_step(source, send, PW_SEND_STAGE);
        *ret_action = act(send, PW_PULL_SOURCE_STAGE);
        return true;
}

static bool begin(struct pw_pull_source *source, struct pw_send *send, struct pw_pull_source_action *ret_action)
{
        if (send->host->busy[send->stream] >= source->params.sends)
                return false;
        send->host->busy[send->stream]++;
        send->uses_stream = true;
        if (!send->slot) {
                send->offer->users++;
                send->uses_room = true;
        }
        pw_send_step(source, send, PW_SEND_SEND);
        *ret_action = act(send, PW_PULL_SOURCE_SEND);
        return true;
}

static bool next_waiting(struct pw_pull_source *source, struct pw_send *send, struct pw_pull_source_action *ret_action)
{
        if (!pw_offer_has(send->offer, send->chunk)) {
                if (send->told_wait)
                        return false;
                send->told_wait = true;
                *ret_action = say(send, PW_PULL_MSG_WAIT, PW_OK);
                return true;
        }
        return send->offer->params.is_staged ? stage(source, send, ret_action) : begin(source, send, ret_action);
}

static bool next_send(struct pw_pull_source *source, struct pw_send *send, struct pw_pull_source_action *ret_action)
{
        if (send->stop_due) {
                send->stop_due = false;
                *ret_action = act(send, PW_PULL_SOURCE_STOP);
                return true;
        }
        switch (send->state) {
        case PW_SEND_WAITING:
                return next_waiting(source, send, ret_action);
        case PW_SEND_STAGED:
                return begin(source, send, ret_action);
        case PW_SEND_REFUSED:
                *ret_action = say(send, PW_PULL_MSG_REFUSE, send->status);
                pw_send_step(source, send, PW_SEND_REPORT);
                pw_send_forget(source, send);
                return true;
        default:
                return false;
        }
}

static bool next_of_host(struct pw_pull_source *source, struct pw_asker_host *host, struct pw_pull_source_action *ret_action)
{
        struct pw_send *send;

        pw_list_each(&host->sends, send, struct pw_send, of_host)
                if (next_send(source, send, ret_action))
                        return true;
        return false;
}

/* Nobody has its room: what was staged of it may go on without. */
static bool next_of_offer(struct pw_pull_source *source, struct pw_offer *offer, struct pw_pull_source_action *ret_action)
{
        struct pw_send *send;

        if (offer->state != PW_OFFER_LEAVING || offer->users)
                return false;
        pw_list_each(&offer->sends, send, struct pw_send, of_offer) {
                send->offer = NULL;
                pw_list_remove(&send->of_offer);
        }
        *ret_action = (struct pw_pull_source_action){ .kind = PW_PULL_SOURCE_LET_GO, .place = offer->params.place };
        pw_offer_step(source, offer, PW_OFFER_FREE);
        pw_offer_forget(source, offer);
        return true;
}

bool pw_pull_source_next(struct pw_pull_source *source, struct pw_pull_source_action *ret_action)
{
        while (!pw_list_empty(&source->hosts_due)) {
                struct pw_asker_host *host = pw_list_first(&source->hosts_due, struct pw_asker_host, due);

                if (next_of_host(source, host, ret_action))
                        return true;
                pw_list_remove(&host->due);
        }
        while (!pw_list_empty(&source->offers_due)) {
                struct pw_offer *offer = pw_list_first(&source->offers_due, struct pw_offer, due);

                if (next_of_offer(source, offer, ret_action))
                        return true;
                pw_list_remove(&offer->due);
        }
        return false;
}
