/* Peers: which of their connections two hosts use. */
#include "cluster/link/peer.h"

#include "base/memory.h"
#include "base/transition.h"

#include <stdlib.h>
#include <string.h>

/* --- states ----------------------------------------------------------------------------------------------------------------- */

#define TO(state) (1 + PW_CALL_##state)

static const uint8_t rules[PW_CALL_STATES][PW_CALL_EVENTS] = {
        [PW_CALL_NONE] = { [PW_CALL_CONNECT] = TO(CONNECTING), [PW_CALL_GREET] = TO(GREETED), [PW_CALL_MEET] = TO(MET) },
        [PW_CALL_CONNECTING] = { [PW_CALL_GREET] = TO(GREETED), [PW_CALL_SHUT] = TO(NONE) },
        [PW_CALL_GREETED] = { [PW_CALL_MEET] = TO(MET), [PW_CALL_SHUT] = TO(NONE) },
        [PW_CALL_MET] = { [PW_CALL_SHUT] = TO(NONE) },
};

static const char *const states[] = { "none", "connecting", "greeted", "met" };
static const char *const events[] = { "connect", "greet", "meet", "shut" };
static const struct pw_transition_kind calls = { "connection", 2, false, states, events };

_Static_assert(sizeof states / sizeof *states == PW_CALL_STATES, "each state has a word");
_Static_assert(sizeof events / sizeof *events == PW_CALL_EVENTS, "each event has a word");

/* The one setter. False: the event has no meaning in its state. */
static bool step(struct pw_peer *peer, struct pw_call *call, enum pw_call_event event)
{
        const struct pw_observer *observer = peer->params.link.observer;
        uint8_t rule = rules[call->state][event];
        enum pw_call_state from = call->state;

        if (!rule)
                return false;
        call->state = (enum pw_call_state)(rule - 1);
        if (observer)
                observer->tell(observer->context,
                               &(struct pw_transition){ .kind = &calls, .id = { peer->params.link.host, call->connection },
                                                        .from = (uint8_t)from, .to = (uint8_t)call->state,
                                                        .cause = (uint8_t)event });
        return true;
}

/* --- life ------------------------------------------------------------------------------------------------------------------- */

enum pw_status pw_peer_new(const struct pw_peer_params *params, struct pw_peer **ret_peer, struct pw_error *ret_err)
{
        struct pw_peer *peer = calloc(1, sizeof *peer);
        enum pw_status status = PW_NO_MEMORY;

        if (!peer)
                return pw_error_set(ret_err, PW_NO_MEMORY, "what is kept of host %s", params->name);
        peer->params = *params;
        status = pw_link_new(&params->link, &peer->link, ret_err);
        if (status == PW_OK)
                *ret_peer = peer;
        else
                free(peer);
        return status;
}

/* It is nobody's any more. False: it was nobody's. */
static bool forget(struct pw_peer *peer, struct pw_call *call, struct pw_call *ret_was)
{
        *ret_was = *call;
        if (!step(peer, call, PW_CALL_SHUT))
                return false;
        *call = (struct pw_call){ .state = call->state };
        return true;
}

/* The port shuts it, unless that is why. */
static void drop(struct pw_peer *peer, struct pw_call *call, bool shut, uint64_t now_us)
{
        struct pw_call was;

        if (!forget(peer, call, &was))
                return;
        if (shut)
                peer->params.port->shut(peer->params.context, was.connection);
        if (was.state == PW_CALL_MET)
                pw_link_break(peer->link, was.met, now_us);
        else if (was.own)
                pw_link_call_failed(peer->link, now_us);
}

void pw_peer_free(struct pw_peer *peer)
{
        if (!peer)
                return;
        for (uint32_t i = 0; i < PW_PEER_CALLS; i++)
                drop(peer, &peer->calls[i], true, 0);
        pw_link_free(peer->link);
        free(peer);
}

static struct pw_call *find(struct pw_peer *peer, uint64_t connection)
{
        for (uint32_t i = 0; i < PW_PEER_CALLS; i++)
                if (peer->calls[i].state != PW_CALL_NONE && peer->calls[i].connection == connection)
                        return &peer->calls[i];
        return NULL;
}

/* A place for one more: a free one, or that of the oldest which has not met. At most one has. */
static struct pw_call *place(struct pw_peer *peer, uint64_t now_us)
{
        struct pw_call *oldest = NULL;

        for (uint32_t i = 0; i < PW_PEER_CALLS; i++) {
                struct pw_call *call = &peer->calls[i];

                if (call->state == PW_CALL_NONE)
                        return call;
                if (call->state != PW_CALL_MET && (!oldest || call->since_us < oldest->since_us))
                        oldest = call;
        }
        drop(peer, oldest, true, now_us);
        return oldest;
}

/* --- meeting ---------------------------------------------------------------------------------------------------------------- */

static bool decides(const struct pw_peer *peer) { return peer->params.link.own < peer->params.link.host; }

static void say(struct pw_peer *peer, const struct pw_call *call, bool met)
{
        struct pw_hello hello = *peer->params.own;

        hello.met = met;
        hello.peer.stand = pw_link_stand(peer->link);
        peer->params.port->say(peer->params.context, call->connection, &hello);
}

void pw_peer_connected(struct pw_peer *peer, uint64_t connection, uint64_t now_us)
{
        struct pw_call *call = find(peer, connection);

        if (!call || !step(peer, call, PW_CALL_GREET))
                return;
        call->since_us = now_us;
        say(peer, call, false);
}

/* The one that was theirs before, and own calls under way, which would only take its place. */
static void shut_others(struct pw_peer *peer, const struct pw_call *met, uint64_t now_us)
{
        for (uint32_t i = 0; i < PW_PEER_CALLS; i++) {
                struct pw_call *call = &peer->calls[i];

                if (call != met && (call->own || call->state == PW_CALL_MET))
                        drop(peer, call, true, now_us);
        }
}

static enum pw_status meet(struct pw_peer *peer, struct pw_call *call, const struct pw_hello *hello, uint64_t now_us,
                           struct pw_error *ret_err)
{
        struct pw_link_met met;
        enum pw_status status = pw_link_meet(peer->link, &hello->peer, now_us, &met, ret_err);

        if (status != PW_OK)
                return status;
        shut_others(peer, call, now_us);
        call->met = met.connection;
        step(peer, call, PW_CALL_MEET);
        peer->params.port->met(peer->params.context, peer, &met);
        if (decides(peer))
                say(peer, call, true);
        return PW_OK;
}

static enum pw_status check(const struct pw_peer *peer, const struct pw_call *call, const struct pw_hello *hello,
                            const char *proven, struct pw_error *ret_err)
{
        enum pw_status status = pw_hello_check(peer->params.own, hello, proven, ret_err);

        if (status != PW_OK)
                return status;
        if (hello->host != peer->params.link.host)
                return pw_error_set(ret_err, PW_EXISTS, "host %s says that it has number %u; who was called is host %u, %s",
                                    hello->name, hello->host, peer->params.link.host, peer->params.name);
        if (strcmp(hello->name, peer->params.name))
                return pw_error_set(ret_err, PW_EXISTS, "host %u is %s here, and says that it is %s: a state dir that was copied; "
                                    "give each host one of its own", hello->host, peer->params.name, hello->name);
        if (call->state != PW_CALL_GREETED && call->state != PW_CALL_NONE)
                return pw_error_set(ret_err, PW_PROTOCOL, "host %s says twice who it is", hello->name);
        if (hello->met && (decides(peer) || call->state == PW_CALL_NONE))
                return pw_error_set(ret_err, PW_PROTOCOL, "host %s has met before it was told whom", hello->name);
        return PW_OK;
}

enum pw_status pw_peer_hello(struct pw_peer *peer, uint64_t connection, const struct pw_hello *hello, const char *proven,
                             uint64_t now_us, struct pw_error *ret_err)
{
        struct pw_call none = { .connection = connection }, *call = find(peer, connection);
        enum pw_status status = check(peer, call ? call : &none, hello, proven, ret_err);

        if (status != PW_OK && call)
                drop(peer, call, true, now_us);
        else if (status != PW_OK)
                peer->params.port->shut(peer->params.context, connection);
        if (status != PW_OK)
                return status;
        if (!call) {
                call = place(peer, now_us);
                *call = (struct pw_call){ .connection = connection, .since_us = now_us };
                step(peer, call, PW_CALL_GREET);
                if (!decides(peer))
                        say(peer, call, false);
        }
        if (decides(peer) || hello->met)
                status = meet(peer, call, hello, now_us, ret_err);
        if (status != PW_OK)
                drop(peer, call, true, now_us);
        return status;
}

enum pw_status pw_peer_head(struct pw_peer *peer, uint64_t connection, const struct pw_link_head *head, uint64_t now_us,
                            struct pw_error *ret_err)
{
        struct pw_call *call = find(peer, connection);
        enum pw_status status;

        if (!call)
                return pw_error_set(ret_err, PW_GONE, "that connection with host %s is over", peer->params.name);
        if (call->state == PW_CALL_MET)
                status = pw_link_receive(peer->link, call->met, head, now_us, ret_err);
        else
                status = pw_error_set(ret_err, PW_PROTOCOL, "host %s sends before it has met", peer->params.name);
        if (status == PW_PROTOCOL)
                drop(peer, call, true, now_us);
        return status;
}

void pw_peer_closed(struct pw_peer *peer, uint64_t connection, uint64_t now_us)
{
        struct pw_call *call = find(peer, connection);

        if (call)
                drop(peer, call, false, now_us);
}

/* --- frames ----------------------------------------------------------------------------------------------------------------- */

void pw_peer_want(struct pw_peer *peer, uint64_t now_us) { pw_link_want(peer->link, now_us); }

enum pw_status pw_peer_send(struct pw_peer *peer, struct pw_link_frame *frame_take, uint64_t now_us, struct pw_error *ret_err)
{
        return pw_link_send(peer->link, frame_take, now_us, ret_err);
}

static const struct pw_call *met(const struct pw_peer *peer)
{
        for (uint32_t i = 0; i < PW_PEER_CALLS; i++)
                if (peer->calls[i].state == PW_CALL_MET)
                        return &peer->calls[i];
        return NULL;
}

bool pw_peer_next(const struct pw_peer *peer, uint64_t now_us, struct pw_peer_writing *ret_writing)
{
        const struct pw_call *call = met(peer);
        const struct pw_link_frame *frame = call ? pw_link_next(peer->link) : NULL;

        if (!call || (!frame && !peer->beat))
                return false;
        *ret_writing = (struct pw_peer_writing){ call->connection, pw_link_head(peer->link, frame, now_us), frame };
        return true;
}

void pw_peer_wrote(struct pw_peer *peer, const struct pw_peer_writing *writing, uint64_t now_us)
{
        peer->beat = false;
        pw_link_wrote(peer->link, writing->frame, &writing->head, now_us);
}

/* --- time ------------------------------------------------------------------------------------------------------------------- */

static void call_it(struct pw_peer *peer, uint64_t now_us)
{
        struct pw_call *call = place(peer, now_us);

        *call = (struct pw_call){ .connection = peer->params.port->connect(peer->params.context, peer), .own = true,
                                  .since_us = now_us };
        step(peer, call, PW_CALL_CONNECT);
}

static void give_up(struct pw_peer *peer, const struct pw_error *why, uint64_t now_us)
{
        for (uint32_t i = 0; i < PW_PEER_CALLS; i++)
                drop(peer, &peer->calls[i], true, now_us);
        peer->beat = false;
        peer->params.port->gave_up(peer->params.context, peer, why);
}

void pw_peer_give_up(struct pw_peer *peer, const struct pw_error *why, uint64_t now_us)
{
        if (pw_link_give_up(peer->link, now_us))
                give_up(peer, why, now_us);
}

/* Who connects and says nothing, or does not answer, has a lease for it. */
static bool is_late(const struct pw_peer *peer, const struct pw_call *call, uint64_t now_us)
{
        return call->state != PW_CALL_NONE && call->state != PW_CALL_MET &&
               now_us >= call->since_us + peer->params.link.lease_us;
}

void pw_peer_refused(struct pw_peer *peer, uint64_t connection, uint32_t addresses, uint64_t now_us)
{
        struct pw_call *call = find(peer, connection), was;
        struct pw_error why;

        if (!call || !forget(peer, call, &was) || !pw_link_call_refused(peer->link, addresses, now_us))
                return;
        (void)!pw_error_set(&why, PW_HOST_LOST, "host %u has ended: nobody listens at its address", peer->params.link.host);
        give_up(peer, &why, now_us);
}

void pw_peer_turn(struct pw_peer *peer, uint64_t read_us)
{
        struct pw_error why;

        for (uint32_t i = 0; i < PW_PEER_CALLS; i++)
                if (is_late(peer, &peer->calls[i], read_us))
                        drop(peer, &peer->calls[i], true, read_us);
        switch (pw_link_turn(peer->link, read_us, &why)) {
        case PW_LINK_CALL: call_it(peer, read_us); break;
        case PW_LINK_BEAT: peer->beat = true; break;
        case PW_LINK_GAVE_UP: give_up(peer, &why, read_us); break;
        case PW_LINK_NOTHING: break;
        }
}

uint64_t pw_peer_next_us(const struct pw_peer *peer)
{
        uint64_t next_us = pw_link_next_us(peer->link);

        for (uint32_t i = 0; i < PW_PEER_CALLS; i++)
                if (peer->calls[i].state == PW_CALL_CONNECTING || peer->calls[i].state == PW_CALL_GREETED)
                        next_us = pw_min_u64(next_us, peer->calls[i].since_us + peer->params.link.lease_us);
        return next_us;
}
