/* Links: states, terms, when to call, to beat and to give up. */
#include "cluster/link/link_private.h"

#include "base/transition.h"

#include <stdlib.h>

#define PAUSE_US 10000u
#define HOLD_US 20000u /* that who decides leaves to the other after a break, at least */
#define ROUNDS 4u      /* or so many round trips */
#define PAUSES 6u      /* the pause between calls doubles so often: 640 ms at most */
#define AWAYS 5u       /* and that between tries of a lease, while it is away: 32 leases at most */

/* --- states ----------------------------------------------------------------------------------------------------------------- */

#define TO(state) (1 + PW_LINK_##state)

static const uint8_t rules[PW_LINK_STATES][PW_LINK_EVENTS] = {
        [PW_LINK_IDLE] = { [PW_LINK_WANT] = TO(CALLING), [PW_LINK_MEET] = TO(UP) },
        [PW_LINK_CALLING] = { [PW_LINK_MEET] = TO(UP), [PW_LINK_GIVE_UP] = TO(AWAY) },
        [PW_LINK_UP] = { [PW_LINK_MEET] = TO(UP), [PW_LINK_BREAK] = TO(CUT), [PW_LINK_GIVE_UP] = TO(AWAY) },
        [PW_LINK_CUT] = { [PW_LINK_MEET] = TO(UP), [PW_LINK_GIVE_UP] = TO(AWAY) },
        [PW_LINK_AWAY] = { [PW_LINK_WANT] = TO(CALLING), [PW_LINK_MEET] = TO(UP) },
};

static const char *const states[] = { "idle", "calling", "up", "cut", "away" };
static const char *const events[] = { "want", "meet", "break", "give_up" };
static const struct pw_transition_kind links = { "link", 2, false, states, events };

_Static_assert(sizeof states / sizeof *states == PW_LINK_STATES, "each state has a word");
_Static_assert(sizeof events / sizeof *events == PW_LINK_EVENTS, "each event has a word");

/* The one setter. False: the event has no meaning in its state. */
static bool step(struct pw_link *link, enum pw_link_event event, uint64_t now_us)
{
        const struct pw_observer *observer = link->params.observer;
        uint8_t rule = rules[link->state][event];
        enum pw_link_state from = link->state;

        if (!rule)
                return false;
        link->state = (enum pw_link_state)(rule - 1);
        if (link->state != from && !link->aways) /* that it is called in between does not bring it nearer */
                link->since_us = now_us;
        if (observer)
                observer->tell(observer->context,
                               &(struct pw_transition){ .kind = &links, .id = { link->params.host, link->term },
                                                        .from = (uint8_t)from, .to = (uint8_t)link->state,
                                                        .cause = (uint8_t)event });
        return true;
}

/* --- life ------------------------------------------------------------------------------------------------------------------- */

enum pw_status pw_link_new(const struct pw_link_params *params, struct pw_link **ret_link, struct pw_error *ret_err)
{
        struct pw_link *link;

        if (params->own == params->host)
                return pw_error_set(ret_err, PW_INVALID, "host %u has no link with itself", params->own);
        link = calloc(1, sizeof *link);
        if (!link)
                return pw_error_set(ret_err, PW_NO_MEMORY, "the link with host %u", params->host);
        link->params = *params;
        link->term = 1;
        link->due_us = UINT64_MAX;
        pw_list_init(&link->kept);
        pw_list_init(&link->waiting);
        link->cursor = &link->kept;
        *ret_link = link;
        return PW_OK;
}

void pw_link_free(struct pw_link *link)
{
        if (!link)
                return;
        pw_link_forget(link);
        free(link);
}

static bool decides(const struct pw_link *link) { return link->params.own < link->params.host; }

/* --- meeting ---------------------------------------------------------------------------------------------------------------- */

void pw_link_want(struct pw_link *link, uint64_t now_us)
{
        if (!step(link, PW_LINK_WANT, now_us))
                return;
        link->wanted_us = link->call_us = now_us;
        link->calls = link->refusals = 0;
        link->calling = false;
}

struct pw_link_stand pw_link_stand(const struct pw_link *link)
{
        return (struct pw_link_stand){ link->term, link->received, link->epoch };
}

/* Is it somebody, and something, that this side can go on with? */
static enum pw_status check(const struct pw_link *link, const struct pw_link_peer *peer, struct pw_error *ret_err)
{
        uint32_t host = link->params.host;
        bool known = peer->epoch == link->epoch, same = known && peer->stand.met == link->params.own_epoch;

        if (!peer->epoch || peer->epoch < link->epoch)
                return pw_error_set(ret_err, PW_PROTOCOL, "host %u says epoch %u, and had %u before: an earlier pathwaysd", host,
                                    peer->epoch, link->epoch);
        if (known && peer->instance != link->instance)
                return pw_error_set(ret_err, PW_EXISTS, "another process says that it is host %u in epoch %u: a machine that was "
                                    "cloned, or a state dir that two use; give one a state dir of its own", host, peer->epoch);
        if (!peer->stand.term)
                return pw_error_set(ret_err, PW_PROTOCOL, "host %u says no term", host);
        if (!decides(link) && peer->stand.term < link->term)
                return pw_error_set(ret_err, PW_BUSY, "host %u was given up while it was called: call again", host);
        if (same && peer->stand.term == link->term && peer->stand.received > link->sent)
                return pw_error_set(ret_err, PW_PROTOCOL, "host %u says that it has frame %lu, of %lu", host,
                                    (unsigned long)peer->stand.received, (unsigned long)link->sent);
        if (same && peer->stand.term < link->term && (link->acked || link->received))
                return pw_error_set(ret_err, PW_BUSY, "host %u said where it stands in term %lu before the two met in term %lu: "
                                    "call again", host, (unsigned long)peer->stand.term, (unsigned long)link->term);
        return PW_OK;
}

enum pw_status pw_link_meet(struct pw_link *link, const struct pw_link_peer *peer, uint64_t now_us, struct pw_link_met *ret_met,
                            struct pw_error *ret_err)
{
        enum pw_status status = check(link, peer, ret_err);
        bool met = link->state == PW_LINK_UP || link->state == PW_LINK_CUT;
        bool restarted = link->epoch && peer->epoch != link->epoch;
        bool ended = met && (restarted || peer->stand.term > link->term);

        if (status != PW_OK)
                return status;
        *ret_met = (struct pw_link_met){ .ended_term = ended ? link->term : 0, .restarted = ended && restarted };
        if (ended)
                pw_link_forget(link);
        else if (met && peer->stand.term == link->term && peer->stand.met == link->params.own_epoch)
                pw_link_acknowledge(link, peer->stand.received);
        link->since_us = ended ? now_us : link->since_us;
        link->timed = 0; /* what was written on another connection says nothing of this one */
        if (peer->instance != link->instance) /* it may be another machine */
                link->clock = (struct pw_link_clock){ .count = 0 };
        link->term = pw_max_u64(link->term, peer->stand.term);
        link->epoch = peer->epoch;
        link->instance = peer->instance;
        link->cursor = &link->kept;
        link->heard_us = link->wrote_us = now_us;
        link->calls = link->refusals = link->aways = 0;
        link->calling = false;
        link->pressed = true;
        link->due_us = now_us; /* what was received, and the window */
        ret_met->connection = ++link->connection;
        step(link, PW_LINK_MEET, now_us);
        return PW_OK;
}

static uint64_t hold_us(const struct pw_link *link)
{
        return pw_min_u64(link->params.beat_us, pw_max_u64(HOLD_US, ROUNDS * link->round_us));
}

void pw_link_break(struct pw_link *link, uint64_t connection, uint64_t now_us)
{
        if (connection != link->connection || !step(link, PW_LINK_BREAK, now_us))
                return;
        link->cursor = &link->kept;
        link->call_us = now_us + (decides(link) ? hold_us(link) : 0);
}

static void call_failed(struct pw_link *link, bool refused, uint64_t now_us)
{
        if (link->state == PW_LINK_UP)
                return;
        link->calling = false;
        link->call_us = now_us + ((uint64_t)PAUSE_US << pw_min_u64(link->calls, PAUSES));
        link->calls++;
        link->refusals = refused ? link->refusals + 1 : 0;
}

void pw_link_call_failed(struct pw_link *link, uint64_t now_us) { call_failed(link, false, now_us); }

bool pw_link_call_refused(struct pw_link *link, uint32_t addresses, uint64_t now_us)
{
        call_failed(link, true, now_us);
        return link->state == PW_LINK_CUT && link->refusals >= addresses && pw_link_give_up(link, now_us);
}

/* --- time ------------------------------------------------------------------------------------------------------------------- */

static bool is_alive(const struct pw_link *link) { return link->state != PW_LINK_IDLE && link->state != PW_LINK_AWAY; }

enum pw_link_state pw_link_seen(const struct pw_link *link)
{
        bool is_wanted = !pw_list_empty(&link->kept) || !pw_list_empty(&link->waiting);

        return link->state == PW_LINK_CALLING && link->aways && !is_wanted ? PW_LINK_AWAY : link->state;
}

uint64_t pw_link_ends_us(const struct pw_link *link)
{
        return is_alive(link) ? pw_max_u64(link->heard_us, link->wanted_us) + link->params.lease_us : UINT64_MAX;
}

static bool is_choked(const struct pw_link *link) { return link->kept_bytes > link->params.kept_bytes_max; }

bool pw_link_give_up(struct pw_link *link, uint64_t now_us)
{
        if (!step(link, PW_LINK_GIVE_UP, now_us))
                return false;
        pw_link_forget(link);
        link->term++;
        link->again_us = now_us + (link->params.lease_us << pw_min_u64(link->aways, AWAYS));
        link->aways++;
        return true;
}

static enum pw_link_due give_up(struct pw_link *link, uint64_t read_us, struct pw_error *ret_why)
{
        if (is_choked(link))
                (void)!pw_error_set(ret_why, PW_HOST_LOST, "host %u took none of %lu bytes", link->params.host,
                                    (unsigned long)link->kept_bytes);
        else
                (void)!pw_error_set(ret_why, PW_HOST_LOST, "host %u was not heard for %lu ms", link->params.host,
                                    (unsigned long)((read_us - pw_max_u64(link->heard_us, link->wanted_us)) / 1000));
        return pw_link_give_up(link, read_us) ? PW_LINK_GAVE_UP : PW_LINK_NOTHING;
}

/* When something is to be written, of a link that is up. */
static uint64_t says_us(const struct pw_link *link)
{
        return pw_min_u64(link->due_us, link->wrote_us + link->params.beat_us);
}

/* Frames say it too, where there are some to be written. */
static enum pw_link_due say(struct pw_link *link, uint64_t read_us)
{
        if (read_us < says_us(link))
                return PW_LINK_NOTHING;
        link->pressed = true;
        if (!pw_link_next(link))
                return PW_LINK_BEAT;
        link->due_us = UINT64_MAX;
        return read_us < link->wrote_us + link->params.beat_us ? PW_LINK_NOTHING : PW_LINK_BEAT;
}

enum pw_link_due pw_link_turn(struct pw_link *link, uint64_t read_us, struct pw_error *ret_why)
{
        if (link->state == PW_LINK_AWAY && read_us >= link->again_us)
                pw_link_want(link, read_us);
        if (!is_alive(link))
                return PW_LINK_NOTHING;
        if (is_choked(link) || read_us >= pw_link_ends_us(link))
                return give_up(link, read_us, ret_why);
        if (link->state == PW_LINK_UP)
                return say(link, read_us);
        if (link->calling || read_us < link->call_us)
                return PW_LINK_NOTHING;
        link->calling = true;
        return PW_LINK_CALL;
}

uint64_t pw_link_next_us(const struct pw_link *link)
{
        uint64_t lease_us = pw_link_ends_us(link);

        if (!is_alive(link))
                return link->state == PW_LINK_AWAY ? link->again_us : UINT64_MAX;
        if (is_choked(link))
                return 0;
        if (link->state == PW_LINK_UP)
                return pw_min_u64(lease_us, says_us(link));
        return link->calling ? lease_us : pw_min_u64(lease_us, link->call_us);
}
