/* Draining: who takes over, who is told, who waits. */
#include "cluster/drain/drain.h"

#include "base/list.h"
#include "base/memory.h"
#include "base/table.h"
#include "base/transition.h"

#include <stdlib.h>

struct other { uint32_t host; bool is_there, drains; };
struct waiter { struct pw_list link; uint64_t number, until_us; };

struct pw_drain {
        struct pw_drain_params params;
        enum pw_drain_state state;
        uint32_t successor;
        uint64_t held;
        struct pw_table others;  /* by host */
        uint32_t waiter_count;
        struct pw_list waiters;
        struct pw_drain_action *actions;
        uint32_t first, count, capacity;
};

/* --- states ----------------------------------------------------------------------------------------------------------------- */

#define TO(state) (1 + PW_DRAIN_##state)

static const uint8_t rules[PW_DRAIN_STATES][PW_DRAIN_EVENTS] = {
        [PW_DRAIN_NONE] = { [PW_DRAIN_NAME] = TO(DRAINS) },
        [PW_DRAIN_DRAINS] = { [PW_DRAIN_NAME] = TO(DRAINS), [PW_DRAIN_STRAND] = TO(STRANDED), [PW_DRAIN_EMPTY] = TO(DRAINED) },
        [PW_DRAIN_STRANDED] = { [PW_DRAIN_NAME] = TO(DRAINS) },
        [PW_DRAIN_DRAINED] = { [PW_DRAIN_NAME] = TO(DRAINS), [PW_DRAIN_STRAND] = TO(STRANDED), [PW_DRAIN_HELD] = TO(DRAINS) },
};
static const char *const states[] = { "none", "drains", "stranded", "drained" };
static const char *const events[] = { "name", "strand", "empty", "held" };
static const struct pw_transition_kind kind = { "drain", 1, false, states, events };
_Static_assert(sizeof states / sizeof *states == PW_DRAIN_STATES, "each state has a word");
_Static_assert(sizeof events / sizeof *events == PW_DRAIN_EVENTS, "each event has a word");

/* The one setter. False: the event has no meaning in its state. */
static bool step(struct pw_drain *drain, enum pw_drain_event event)
{
        const struct pw_observer *observer = drain->params.observer;
        enum pw_drain_state from = drain->state;
        uint8_t rule = rules[from][event];

        if (!rule)
                return false;
        drain->state = (enum pw_drain_state)(rule - 1);
        if (observer)
                observer->tell(observer->context, &(struct pw_transition){ .kind = &kind, .id = { drain->successor },
                               .from = (uint8_t)from, .to = (uint8_t)drain->state, .cause = (uint8_t)event });
        return true;
}

/* --- life ------------------------------------------------------------------------------------------------------------------- */

enum pw_status pw_drain_new(const struct pw_drain_params *params, struct pw_drain **ret_drain, struct pw_error *ret_err)
{
        struct pw_drain *drain = calloc(1, sizeof *drain);

        if (!drain)
                return pw_error_set(ret_err, PW_NO_MEMORY, "whether this host drains");
        drain->params = *params;
        pw_list_init(&drain->waiters);
        *ret_drain = drain;
        return PW_OK;
}

static void forget_waiter(struct pw_drain *drain, struct waiter *waiter)
{
        pw_list_remove(&waiter->link);
        drain->waiter_count--;
        free(waiter);
}

void pw_drain_free(struct pw_drain *drain)
{
        struct waiter *waiter;
        struct other *other;

        if (!drain)
                return;
        pw_list_each(&drain->waiters, waiter, struct waiter, link)
                forget_waiter(drain, waiter);
        for (uint32_t at = 0; (other = pw_table_next(&drain->others, &at));)
                free(other);
        pw_table_done(&drain->others);
        free(drain->actions);
        free(drain);
}

/* --- actions ---------------------------------------------------------------------------------------------------------------- */

/* Place for word to each host twice, and to each who waits: what one event can bring. */
static bool prepare(struct pw_drain *drain)
{
        if (drain->first == drain->count)
                drain->first = drain->count = 0;
        return pw_grow((void **)&drain->actions, &drain->capacity, drain->count + 2 * drain->others.count + drain->waiter_count + 4,
                       sizeof *drain->actions);
}

static void act(struct pw_drain *drain, const struct pw_drain_action *action) { drain->actions[drain->count++] = *action; }

bool pw_drain_next(struct pw_drain *drain, struct pw_drain_action *ret_action)
{
        if (drain->first == drain->count)
                return false;
        *ret_action = drain->actions[drain->first++];
        if (drain->first == drain->count)
                drain->first = drain->count = 0;
        return true;
}

enum pw_status pw_drain_explain(const struct pw_drain_action *action, struct pw_error *ret_err)
{
        if (action->status == PW_DEADLINE)
                return pw_error_set(ret_err, PW_DEADLINE, "%lu references of other hosts, names and leases are not taken over yet, "
                                    "perhaps as their values are not ready: it goes on, ask again", (unsigned long)action->held);
        return pw_error_set(ret_err, action->status, "no other host is there that could take over: start one, or end this one, and "
                            "what it has is lost");
}

static void tell_all(struct pw_drain *drain, enum pw_status status)
{
        struct waiter *waiter;

        pw_list_each(&drain->waiters, waiter, struct waiter, link) {
                act(drain, &(struct pw_drain_action){ .kind = PW_DRAIN_TELL, .waiter = waiter->number, .status = status,
                                                      .held = drain->held });
                forget_waiter(drain, waiter);
        }
}

/* --- who takes over --------------------------------------------------------------------------------------------------------- */

static bool can_take_over(const struct other *other) { return other && other->is_there && !other->drains; }

/* The next number above this host's that could, or the first; 0: nobody. */
static uint32_t choose(const struct pw_drain *drain)
{
        uint32_t above = 0, first = 0;
        const struct other *other;

        for (uint32_t at = 0; (other = pw_table_next(&drain->others, &at));) {
                if (!can_take_over(other))
                        continue;
                first = !first || other->host < first ? other->host : first;
                if (other->host > drain->params.own && (!above || other->host < above))
                        above = other->host;
        }
        return above ? above : first;
}

static void say(struct pw_drain *drain, uint32_t host)
{
        act(drain, &(struct pw_drain_action){ .kind = PW_DRAIN_SAY, .host = host, .successor = drain->successor });
}

static void look_at_held(struct pw_drain *drain)
{
        if (!drain->held)
                step(drain, PW_DRAIN_EMPTY);
        if (drain->state == PW_DRAIN_DRAINED)
                tell_all(drain, PW_OK);
}

/* `successor` takes over, or nobody. */
static void name(struct pw_drain *drain, uint32_t successor)
{
        const struct other *other;

        drain->successor = successor;
        if (!successor) {
                step(drain, PW_DRAIN_STRAND);
                tell_all(drain, PW_NOT_FOUND);
                return;
        }
        step(drain, PW_DRAIN_NAME);
        for (uint32_t at = 0; (other = pw_table_next(&drain->others, &at));)
                if (other->is_there)
                        say(drain, other->host);
}

/* It is not to take over any more. */
static void replace(struct pw_drain *drain, uint32_t host)
{
        if (drain->state != PW_DRAIN_NONE && drain->successor == host && prepare(drain))
                name(drain, choose(drain));
}

/* --- who asks --------------------------------------------------------------------------------------------------------------- */

static enum pw_status check(const struct pw_drain *drain, const struct pw_drain_request *request, struct pw_error *ret_err)
{
        const struct other *to = pw_table_get(&drain->others, request->to);
        const struct waiter *waiter;

        if (request->to == drain->params.own)
                return pw_error_set(ret_err, PW_INVALID, "host h%u cannot take over from itself", request->to);
        if (request->to && (!to || !to->is_there))
                return pw_error_set(ret_err, PW_NOT_FOUND, "host h%u is not there: see pathways hosts", request->to);
        if (request->to && to->drains)
                return pw_error_set(ret_err, PW_BUSY, "host h%u drains itself", request->to);
        if (!request->to && !choose(drain))
                return pw_drain_explain(&(struct pw_drain_action){ .status = PW_NOT_FOUND }, ret_err);
        pw_list_each(&drain->waiters, waiter, struct waiter, link)
                if (waiter->number == request->waiter)
                        return pw_error_set(ret_err, PW_EXISTS, "waiter %lu waits already", (unsigned long)request->waiter);
        return PW_OK;
}

enum pw_status pw_drain_begin(struct pw_drain *drain, const struct pw_drain_request *request, struct pw_error *ret_err)
{
        enum pw_status status = check(drain, request, ret_err);
        struct waiter *waiter = status == PW_OK ? calloc(1, sizeof *waiter) : NULL;
        const struct other *now = pw_table_get(&drain->others, drain->successor);

        if (status != PW_OK)
                return status;
        if (!waiter || !prepare(drain)) {
                free(waiter);
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory to wait until this host has drained");
        }
        *waiter = (struct waiter){ .number = request->waiter, .until_us = request->until_us };
        pw_list_append(&drain->waiters, &waiter->link);
        drain->waiter_count++;
        drain->held = request->held;
        name(drain, request->to ? request->to : can_take_over(now) ? now->host : choose(drain));
        look_at_held(drain);
        return PW_OK;
}

void pw_drain_forget(struct pw_drain *drain, uint64_t number)
{
        struct waiter *waiter;

        pw_list_each(&drain->waiters, waiter, struct waiter, link)
                if (waiter->number == number)
                        forget_waiter(drain, waiter);
}

/* --- what happens ----------------------------------------------------------------------------------------------------------- */

enum pw_status pw_drain_met(struct pw_drain *drain, uint32_t host, struct pw_error *ret_err)
{
        struct other *other = pw_table_get(&drain->others, host);

        if (!other) {
                other = calloc(1, sizeof *other);
                if (!other || !pw_table_put(&drain->others, host, other)) {
                        free(other);
                        return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for host h%u", host);
                }
        }
        if (!prepare(drain))
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for what host h%u is told", host);
        *other = (struct other){ .host = host, .is_there = true };
        if (drain->state == PW_DRAIN_STRANDED)
                name(drain, choose(drain));
        else if (drain->state != PW_DRAIN_NONE)
                say(drain, host);
        return PW_OK;
}

void pw_drain_ended(struct pw_drain *drain, uint32_t host)
{
        struct other *other = pw_table_get(&drain->others, host);

        if (!other)
                return;
        other->is_there = false;
        replace(drain, host);
}

void pw_drain_heard(struct pw_drain *drain, uint32_t host)
{
        struct other *other = pw_table_get(&drain->others, host);

        if (!other)
                return;
        other->drains = true;
        replace(drain, host);
}

void pw_drain_held(struct pw_drain *drain, uint64_t count)
{
        if (drain->state == PW_DRAIN_NONE || !prepare(drain))
                return;
        drain->held = count;
        if (count)
                step(drain, PW_DRAIN_HELD);
        look_at_held(drain);
}

void pw_drain_turn(struct pw_drain *drain, uint64_t now_us)
{
        struct waiter *waiter;

        if (!prepare(drain))
                return;
        pw_list_each(&drain->waiters, waiter, struct waiter, link) {
                if (waiter->until_us > now_us)
                        continue;
                act(drain, &(struct pw_drain_action){ .kind = PW_DRAIN_TELL, .waiter = waiter->number, .status = PW_DEADLINE,
                                                      .held = drain->held });
                forget_waiter(drain, waiter);
        }
}

uint64_t pw_drain_next_us(const struct pw_drain *drain)
{
        uint64_t at_us = UINT64_MAX;
        const struct waiter *waiter;

        pw_list_each(&drain->waiters, waiter, struct waiter, link)
                at_us = pw_min_u64(at_us, waiter->until_us);
        return at_us;
}

enum pw_drain_state pw_drain_state(const struct pw_drain *drain) { return drain->state; }
uint32_t pw_drain_successor(const struct pw_drain *drain) { return drain->state == PW_DRAIN_NONE ? 0 : drain->successor; }
