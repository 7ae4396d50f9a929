/* Handshakes: states, steps, deadlines. */
#include "daemon/transport/handshake.h"

#include "base/transition.h"
#include "daemon/loop.h"
#include "daemon/transport/socket.h"

#include <event2/event.h>

struct pw_handshake {
        struct pw_list link;
        struct pw_crew_work work;   /* a step; while one is at it the rest is its own, but for link, ended, context and dropped */
        struct pw_transport *transport;
        struct pw_pipe *pipe;
        struct event *event;
        enum pw_handshake_state state;
        uint64_t number, deadline_us;
        bool at_work, dropped;
        pw_handshake_ended *ended;
        void *context;
        enum pw_status status;      /* of the last step */
        struct pw_error err;
        struct pw_error verdict;    /* of a listener: what the answer says; PW_OK: welcome */
        struct pw_greeting own, peer;
        uint8_t bytes[PW_GREETING_MAX]; /* being written or read: */
        uint32_t done, need;
};

/* --- states ----------------------------------------------------------------------------------------------------------------- */

#define TO(state) (1 + PW_HANDSHAKE_##state)

static const uint8_t rules[PW_HANDSHAKE_STATES][PW_HANDSHAKE_EVENTS] = {
        [PW_HANDSHAKE_CONNECTING] = { [PW_HANDSHAKE_PROVE] = TO(PROVING), [PW_HANDSHAKE_REFUSE] = TO(REFUSED) },
        [PW_HANDSHAKE_PROVING] = { [PW_HANDSHAKE_SAY] = TO(SAYING), [PW_HANDSHAKE_HEAR] = TO(HEARING),
                                   [PW_HANDSHAKE_REFUSE] = TO(REFUSED) },
        [PW_HANDSHAKE_SAYING] = { [PW_HANDSHAKE_HEAR] = TO(HEARING), [PW_HANDSHAKE_COME_UP] = TO(UP),
                                  [PW_HANDSHAKE_REFUSE] = TO(REFUSED) },
        [PW_HANDSHAKE_HEARING] = { [PW_HANDSHAKE_SAY] = TO(SAYING), [PW_HANDSHAKE_COME_UP] = TO(UP),
                                   [PW_HANDSHAKE_REFUSE] = TO(REFUSED) },
};

static const char *const states[] = { "connecting", "proving", "saying", "hearing", "up", "refused" };
static const char *const events[] = { "prove", "say", "hear", "come_up", "refuse" };
static const struct pw_transition_kind handshakes = { "handshake", 1, false, states, events };

_Static_assert(sizeof states / sizeof *states == PW_HANDSHAKE_STATES, "each state has a word");
_Static_assert(sizeof events / sizeof *events == PW_HANDSHAKE_EVENTS, "each event has a word");

/* The one setter. False: the event has no meaning in its state. */
static bool step_to(struct pw_handshake *handshake, enum pw_handshake_event event)
{
        const struct pw_observer *observer = handshake->transport->observer;
        uint8_t rule = rules[handshake->state][event];
        enum pw_handshake_state from = handshake->state;

        if (!rule)
                return false;
        handshake->state = (enum pw_handshake_state)(rule - 1);
        if (observer)
                observer->tell(observer->context,
                               &(struct pw_transition){ .kind = &handshakes, .id = { handshake->number }, .from = (uint8_t)from,
                                                        .to = (uint8_t)handshake->state, .cause = (uint8_t)event });
        return true;
}

/* What comes when a step is done. A caller says first, then hears; who listens hears first. */
static enum pw_handshake_event next_event(const struct pw_handshake *handshake)
{
        bool caller = handshake->pipe->caller;

        switch (handshake->state) {
        case PW_HANDSHAKE_CONNECTING: return PW_HANDSHAKE_PROVE;
        case PW_HANDSHAKE_PROVING: return caller ? PW_HANDSHAKE_SAY : PW_HANDSHAKE_HEAR;
        case PW_HANDSHAKE_SAYING:
                if (handshake->verdict.status != PW_OK)
                        return PW_HANDSHAKE_REFUSE;
                return caller ? PW_HANDSHAKE_HEAR : PW_HANDSHAKE_COME_UP;
        case PW_HANDSHAKE_HEARING: return caller ? PW_HANDSHAKE_COME_UP : PW_HANDSHAKE_SAY;
        default: return PW_HANDSHAKE_REFUSE;
        }
}

/* --- steps, on a worker ----------------------------------------------------------------------------------------------------- */

/* Write the greeting, or the answer. */
static enum pw_status say(struct pw_handshake *handshake)
{
        struct pw_pipe *pipe = handshake->pipe;
        size_t bytes = 0;
        enum pw_status status = PW_OK;

        while (status == PW_OK && handshake->done < handshake->need) {
                struct iovec part = { handshake->bytes + handshake->done, handshake->need - handshake->done };

                status = pipe->kind->write(pipe, &part, 1, &bytes, &handshake->err);
                if (status == PW_OK)
                        handshake->done += (uint32_t)bytes;
        }
        return status;
}

/* Is it who he says, and the one that was called? */
static enum pw_status check_name(struct pw_handshake *handshake)
{
        struct pw_pipe *pipe = handshake->pipe;
        const char *name = handshake->peer.name;

        if (!pipe->kind->is_of(pipe, name))
                return pw_error_set(&handshake->err, PW_DENIED, "it says that it is host %s, and its certificate does not", name);
        if (pipe->expected[0] && !pw_host_name_equal(pipe->expected, name))
                return pw_error_set(&handshake->err, PW_DENIED, "host %s answers where %s was called: is the address of %s right?",
                                    name, pipe->expected, pipe->expected);
        return PW_OK;
}

typedef enum pw_status decode_greeting(const uint8_t *bytes, uint32_t count, struct pw_greeting *ret_greeting, uint32_t *ret_need,
                                    struct pw_error *ret_err);

/* Read the greeting, or the answer: no byte of what comes behind it. */
static enum pw_status hear(struct pw_handshake *handshake)
{
        struct pw_pipe *pipe = handshake->pipe;
        decode_greeting *decode = pipe->caller ? pw_greeting_decode_answer : pw_greeting_decode;
        enum pw_status status, reading;
        size_t bytes = 0;

        for (;;) {
                status = decode(handshake->bytes, handshake->done, &handshake->peer, &handshake->need, &handshake->err);
                if (status != PW_NOT_READY)
                        break;
                struct iovec part = { handshake->bytes + handshake->done, handshake->need - handshake->done };

                reading = pipe->kind->read(pipe, &part, 1, &bytes, &handshake->err);
                if (reading != PW_OK)
                        return reading;
                handshake->done += (uint32_t)bytes;
        }
        if (status == PW_OK)
                status = check_name(handshake);
        if (pipe->caller || status == PW_OK)
                return status;
        handshake->verdict = handshake->err; /* that is answered first */
        return PW_OK;
}

static void work_step(struct pw_crew_work *work)
{
        struct pw_handshake *handshake = pw_container_of(work, struct pw_handshake, work);
        struct pw_pipe *pipe = handshake->pipe;

        switch (handshake->state) {
        case PW_HANDSHAKE_CONNECTING: handshake->status = pw_socket_called(pipe->fd, &handshake->err); break;
        case PW_HANDSHAKE_PROVING: handshake->status = pipe->kind->prove(pipe, &handshake->err); break;
        case PW_HANDSHAKE_SAYING: handshake->status = say(handshake); break;
        case PW_HANDSHAKE_HEARING: handshake->status = hear(handshake); break;
        default: break;
        }
}

/* --- between steps, on the loop ----------------------------------------------------------------------------------------------- */

static void free_handshake(struct pw_handshake *handshake)
{
        if (handshake->pipe && !handshake->pipe->caller)
                handshake->transport->incoming_count--;
        pw_list_remove(&handshake->link);
        if (handshake->event)
                event_free(handshake->event);
        pw_pipe_free(handshake->pipe);
        free(handshake);
}

/* Its owner hears of it last. */
static void end(struct pw_handshake *handshake, const struct pw_error *why)
{
        struct pw_pipe *pipe = why ? NULL : handshake->pipe;
        struct pw_greeting greeting = handshake->peer;
        struct pw_error reason = why ? *why : (struct pw_error){ .status = PW_OK };
        pw_handshake_ended *ended = handshake->ended;
        void *context = handshake->context;

        (void)step_to(handshake, why ? PW_HANDSHAKE_REFUSE : PW_HANDSHAKE_COME_UP);
        if (why)
                pw_error_prefix(&reason, "%s %s %s", handshake->transport->kind->name, handshake->pipe->caller ? "to" : "from",
                                handshake->pipe->peer);
        if (pipe) {
                handshake->transport->incoming_count -= !pipe->caller;
                handshake->pipe = NULL;
        }
        free_handshake(handshake);
        ended(context, pipe, &greeting, why ? &reason : NULL);
}

static void refuse_late(struct pw_handshake *handshake)
{
        static const char *const missing[] = { "nobody takes the call", "it did not prove who it is", "it does not read",
                                               "it does not say who it is" };
        uint64_t tenths = handshake->transport->handshake_us / 100000;
        struct pw_error why;

        (void)pw_error_set(&why, PW_DEADLINE, "%s within %lu.%lu s", missing[handshake->state], (unsigned long)(tenths / 10),
                           (unsigned long)(tenths % 10));
        end(handshake, &why);
}

static void on_ready(evutil_socket_t fd, short what, void *context);

static void ask_step(struct pw_handshake *handshake)
{
        handshake->at_work = true;
        if (pw_crew_ask(handshake->transport->crew, &handshake->work, &handshake->err) == PW_OK)
                return;
        handshake->at_work = false;
        end(handshake, &(struct pw_error){ .status = handshake->err.status, .text = "there is no thread to look at it" });
}

/* False: out of memory. */
static bool await(struct pw_handshake *handshake)
{
        struct pw_pipe *pipe = handshake->pipe;
        short what = pipe->wants_write ? EV_WRITE : EV_READ;

        return event_assign(handshake->event, handshake->transport->loop->base, pipe->fd, what, on_ready, handshake) == 0 &&
               event_add(handshake->event, NULL) == 0;
}

static void on_ready(evutil_socket_t fd, short what, void *context)
{
        struct pw_handshake *handshake = context;

        (void)fd, (void)what;
        pw_woken(handshake->transport->loop);
        ask_step(handshake);
}

static void prepare_saying(struct pw_handshake *handshake)
{
        const char *name = handshake->transport->host_name;

        handshake->need = handshake->pipe->caller ? pw_greeting_encode(&handshake->own, handshake->bytes)
                                                  : pw_greeting_encode_answer(handshake->verdict.status, name, handshake->bytes);
}

static void work_done(struct pw_crew_work *work)
{
        struct pw_handshake *handshake = pw_container_of(work, struct pw_handshake, work);
        enum pw_handshake_event event;

        handshake->at_work = false;
        if (handshake->dropped) {
                free_handshake(handshake);
        } else if (handshake->status != PW_OK && handshake->status != PW_NOT_READY) {
                end(handshake, &handshake->err);
        } else if (pw_now_us() >= handshake->deadline_us) {
                refuse_late(handshake);
        } else if (handshake->status == PW_NOT_READY) {
                if (!await(handshake))
                        end(handshake, &(struct pw_error){ .status = PW_NO_MEMORY, .text = "out of memory for a handshake" });
        } else if ((event = next_event(handshake)) == PW_HANDSHAKE_REFUSE) {
                end(handshake, &handshake->verdict);
        } else if (event == PW_HANDSHAKE_COME_UP) {
                end(handshake, NULL);
        } else if (step_to(handshake, event)) {
                handshake->done = handshake->need = 0;
                if (handshake->state == PW_HANDSHAKE_SAYING)
                        prepare_saying(handshake);
                ask_step(handshake);
        }
}

/* --- life ------------------------------------------------------------------------------------------------------------------- */

static struct pw_pipe *make_pipe(struct pw_transport *transport, const struct pw_handshake_params *params)
{
        struct pw_pipe *pipe = transport->kind->make(transport->own);

        if (!pipe)
                return NULL;
        pipe->kind = transport->kind;
        pipe->transport = transport;
        pipe->fd = params->fd_take;
        pipe->caller = pipe->wants_write = params->greeting != NULL;
        if (params->expected)
                memcpy(pipe->expected, params->expected, strlen(params->expected) + 1);
        pw_address_format(params->peer, pipe->peer, sizeof pipe->peer);
        return pipe;
}

enum pw_status pw_handshake_begin(struct pw_transport *transport, const struct pw_handshake_params *params,
                                  struct pw_handshake **ret_handshake, struct pw_error *ret_err)
{
        struct pw_handshake *handshake = calloc(1, sizeof *handshake);
        struct event *event = handshake ? event_new(transport->loop->base, params->fd_take, EV_READ, on_ready, handshake) : NULL;

        if (!event || !(handshake->pipe = make_pipe(transport, params))) {
                if (event)
                        event_free(event);
                free(handshake);
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory for a handshake");
        }
        handshake->event = event;
        handshake->transport = transport;
        handshake->work.work = work_step;
        handshake->work.done = work_done;
        handshake->ended = params->ended;
        handshake->context = params->context;
        handshake->state = params->greeting ? PW_HANDSHAKE_CONNECTING : PW_HANDSHAKE_PROVING;
        if (params->greeting)
                handshake->own = *params->greeting;
        else
                transport->incoming_count++;
        handshake->number = ++transport->handshake_count;
        handshake->deadline_us = pw_now_us() + transport->handshake_us;
        pw_list_append(&transport->handshakes, &handshake->link);
        if (!await(handshake)) {
                handshake->pipe->fd = -1;
                free_handshake(handshake);
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory for a handshake");
        }
        *ret_handshake = handshake;
        return PW_OK;
}

void pw_handshakes_drop(struct pw_transport *transport, const void *context)
{
        struct pw_handshake *handshake;

        pw_list_each(&transport->handshakes, handshake, struct pw_handshake, link) {
                if (handshake->context != context)
                        continue;
                handshake->dropped = true;
                if (!handshake->at_work)
                        free_handshake(handshake);
        }
}

void pw_handshakes_refuse_oldest(struct pw_transport *transport)
{
        struct pw_handshake *handshake;
        struct pw_error why;

        pw_list_each(&transport->handshakes, handshake, struct pw_handshake, link) {
                if (handshake->at_work || handshake->pipe->caller)
                        continue;
                (void)pw_error_set(&why, PW_LIMIT, "it has not proved who it is, and %u others want to", transport->incoming_count);
                end(handshake, &why);
                return;
        }
}

/* Who is told may drop others, so each look begins anew. */
void pw_handshakes_turn(struct pw_transport *transport, uint64_t now_us)
{
        struct pw_list *node = transport->handshakes.next;

        while (node != &transport->handshakes) {
                struct pw_handshake *handshake = pw_list_item(node, struct pw_handshake, link);

                if (handshake->deadline_us > now_us)
                        return;
                node = node->next;
                if (handshake->at_work) /* which ends soon, and is judged then */
                        continue;
                refuse_late(handshake);
                node = transport->handshakes.next;
        }
}

uint64_t pw_handshakes_next_us(const struct pw_transport *transport)
{
        struct pw_list *node = transport->handshakes.next;

        while (node != &transport->handshakes && pw_list_item(node, struct pw_handshake, link)->at_work)
                node = node->next;
        return node == &transport->handshakes ? UINT64_MAX : pw_list_item(node, struct pw_handshake, link)->deadline_us;
}

void pw_handshakes_free(struct pw_transport *transport)
{
        while (!pw_list_empty(&transport->handshakes))
                free_handshake(pw_list_first(&transport->handshakes, struct pw_handshake, link));
}
