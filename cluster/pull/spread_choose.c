/* Which source is named to each member: their states, and who may wait for whom. */
#include "cluster/pull/spread_private.h"

#include "base/transition.h"

/* --- states ----------------------------------------------------------------------------------------------------------------- */

#define TO(state) (1 + PW_MEMBER_##state)
static const uint8_t rules[PW_MEMBER_STATES][PW_MEMBER_EVENTS] = {
        [PW_MEMBER_NONE] = { [PW_MEMBER_WANT] = TO(WAITING), [PW_MEMBER_FILL] = TO(WHOLE) },
        [PW_MEMBER_WAITING] = { [PW_MEMBER_NAME] = TO(PULLING), [PW_MEMBER_FILL] = TO(WHOLE), [PW_MEMBER_LEAVE] = TO(NONE) },
        [PW_MEMBER_PULLING] = { [PW_MEMBER_LOSE] = TO(WAITING), [PW_MEMBER_FILL] = TO(WHOLE), [PW_MEMBER_LEAVE] = TO(NONE) },
        [PW_MEMBER_WHOLE] = { [PW_MEMBER_LEAVE] = TO(NONE) },
};
static const char *const states[] = { "none", "waiting", "pulling", "whole" };
static const char *const events[] = { "want", "name", "lose", "fill", "leave" };
static const struct pw_transition_kind kind = { "member", 2, false, states, events };
_Static_assert(sizeof states / sizeof *states == PW_MEMBER_STATES, "each state has a word");
_Static_assert(sizeof events / sizeof *events == PW_MEMBER_EVENTS, "each event has a word");

bool pw_spread_step(const struct pw_pull_spread *spread, struct pw_spread_member *member, enum pw_member_event event)
{
        enum pw_member_state from = member->state;
        uint8_t rule = rules[from][event];

        if (!rule)
                return false;
        member->state = (enum pw_member_state)(rule - 1);
        if (spread->params.observer)
                spread->params.observer->tell(spread->params.observer->context,
                                              &(struct pw_transition){ .kind = &kind, .id = { member->host, member->number },
                                                                       .from = (uint8_t)from, .to = (uint8_t)member->state,
                                                                       .cause = (uint8_t)event });
        return true;
}

/* --- sources ---------------------------------------------------------------------------------------------------------------- */

#define DEPTH_UNKNOWN (UINT32_MAX / 2) /* somebody between it and a whole value waits */

uint32_t pw_spread_depth(const struct pw_spread_member *member)
{
        uint32_t depth = 0;

        for (; member && member->state == PW_MEMBER_PULLING; member = member->source)
                depth++;
        return member && member->state == PW_MEMBER_WAITING ? depth + DEPTH_UNKNOWN : depth;
}

static bool is_barred(const struct pw_spread_member *member, uint32_t host, uint64_t number)
{
        for (uint32_t i = 0; i < member->bar_count; i++)
                if (member->bars[i].host == host && member->bars[i].number == number)
                        return true;
        return false;
}

/* May it ever be named to `asker`? Only what is whole, or came before it. */
static bool may_be_named(const struct pw_spread_member *source, const struct pw_spread_member *asker)
{
        return source->host != asker->host && !source->is_out && !source->is_refused &&
               (source->state == PW_MEMBER_WHOLE || source->serial < asker->serial) &&
               !is_barred(asker, source->host, source->number);
}

/* The best of those that have a place. `is_any`: there are some that may be named, and had they a place. */
struct choice { bool is_found, is_any; struct pw_spread_member *source; uint32_t depth, askers; };

static void consider(struct choice *choice, struct pw_spread_member *source, uint32_t askers, uint32_t askers_max)
{
        uint32_t depth = pw_spread_depth(source);

        choice->is_any = true;
        if (askers >= askers_max ||
            (choice->is_found && (depth > choice->depth || (depth == choice->depth && askers >= choice->askers))))
                return;
        *choice = (struct choice){ true, true, source, depth, askers };
}

static struct choice choose(const struct pw_pull_spread *spread, const struct pw_spread_member *asker)
{
        struct pw_spread_object *object = asker->object;
        struct choice choice = { .is_found = false };
        struct pw_spread_member *source;

        if (object->number && !is_barred(asker, spread->params.own, object->number))
                consider(&choice, NULL, object->askers, spread->params.askers);
        pw_list_each(&object->members, source, struct pw_spread_member, link)
                if (may_be_named(source, asker))
                        consider(&choice, source, source->askers, spread->params.askers);
        return choice;
}

static uint32_t *askers_of(struct pw_spread_member *member)
{
        return member->source ? &member->source->askers : &member->object->askers;
}

bool pw_spread_lose_source(struct pw_pull_spread *spread, struct pw_spread_member *member)
{
        if (member->state != PW_MEMBER_PULLING)
                return false;
        --*askers_of(member);
        pw_spread_step(spread, member, PW_MEMBER_LOSE);
        member->source = NULL;
        return true;
}

void pw_spread_lose_askers(struct pw_pull_spread *spread, struct pw_spread_object *object, const struct pw_spread_member *source)
{
        struct pw_spread_member *member;

        pw_list_each(&object->members, member, struct pw_spread_member, link)
                if (member->state == PW_MEMBER_PULLING && member->source == source)
                        pw_spread_lose_source(spread, member);
}

static void say(struct pw_pull_spread *spread, struct pw_spread_member *member)
{
        member->round++;
        if (pw_list_empty(&member->due))
                pw_list_append(&spread->due, &member->due);
}

void pw_spread_settle(struct pw_pull_spread *spread, struct pw_spread_object *object)
{
        struct pw_spread_member *member;
        bool again;

        do {
                again = false;
                pw_list_each(&object->members, member, struct pw_spread_member, link) {
                        struct choice choice;

                        if (member->state != PW_MEMBER_WAITING || member->is_refused)
                                continue;
                        choice = choose(spread, member);
                        if (choice.is_found) {
                                member->source = choice.source;
                                ++*askers_of(member);
                                pw_spread_step(spread, member, PW_MEMBER_NAME);
                                say(spread, member);
                        } else if (!choice.is_any) {
                                member->is_refused = true;
                                pw_spread_lose_askers(spread, object, member);
                                say(spread, member);
                                again = true;
                        } else if (member->answers && !member->round) {
                                say(spread, member); /* it is to wait */
                        }
                }
        } while (again);
}
