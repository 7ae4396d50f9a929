/* Who pulls from whom: members of objects, their states, and which source is named to each. */
#include "cluster/pull/spread.h"

#include "base/list.h"
#include "base/table.h"
#include "base/transition.h"

/* What was reported, by one member. `host`, `number`: of the source. */
struct bar { uint32_t host; uint64_t number; };

struct object {
        struct object *same_key;
        struct pw_list members;    /* in the order in which they came */
        struct pw_id id;
        uint64_t number;           /* of this host's offer; 0: it has none */
        uint64_t came;             /* counts members */
        uint32_t askers;           /* of this host's offer */
};
struct host { struct pw_table members; uint64_t last_number; }; /* by number */

struct member {
        struct pw_list link, due;  /* due: in the core's list, while NAMED is to be said */
        struct object *object;
        struct host *of;
        uint32_t host;
        uint64_t number, serial, round;
        enum pw_member_state state;
        struct member *source;     /* of PULLING; NULL: this host */
        uint32_t askers;
        bool is_out;               /* it failed: it is named to nobody */
        bool is_refused;           /* there is no source for it: it goes once it is told */
        bool answers;              /* its WANT is not answered */
        enum pw_status cause;      /* of what it reported last */
        struct bar *bars;
        uint32_t bar_count, bar_capacity;
};

struct pw_pull_spread {
        struct pw_pull_spread_params params;
        struct pw_table objects, hosts;
        struct pw_list due;
        uint32_t object_count;
};

/* --- states ----------------------------------------------------------------------------------------------------------------- */

#define TO(state) (1 + PW_MEMBER_##state)
static const uint8_t rules[PW_MEMBER_STATES][PW_MEMBER_EVENTS] = {
        [PW_MEMBER_NONE] = { [PW_MEMBER_WANT] = TO(WAITING) },
        [PW_MEMBER_WAITING] = { [PW_MEMBER_NAME] = TO(PULLING), [PW_MEMBER_FILL] = TO(WHOLE), [PW_MEMBER_LEAVE] = TO(NONE) },
        [PW_MEMBER_PULLING] = { [PW_MEMBER_LOSE] = TO(WAITING), [PW_MEMBER_FILL] = TO(WHOLE), [PW_MEMBER_LEAVE] = TO(NONE) },
        [PW_MEMBER_WHOLE] = { [PW_MEMBER_LEAVE] = TO(NONE) },
};
static const char *const states[] = { "none", "waiting", "pulling", "whole" };
static const char *const events[] = { "want", "name", "lose", "fill", "leave" };
static const struct pw_transition_kind kind = { "member", 2, false, states, events };
_Static_assert(sizeof states / sizeof *states == PW_MEMBER_STATES, "each state has a word");
_Static_assert(sizeof events / sizeof *events == PW_MEMBER_EVENTS, "each event has a word");

/* The one setter. False: the event has no meaning in its state. */
static bool step(const struct pw_pull_spread *spread, struct member *member, enum pw_member_event event)
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

/* --- objects ---------------------------------------------------------------------------------------------------------------- */

static uint64_t key_of(const struct pw_pull_spread *spread, struct pw_id id)
{
        return pw_hash(&spread->params.secret, &id, sizeof id);
}

static struct object *find(const struct pw_pull_spread *spread, struct pw_id id)
{
        struct object *object = pw_table_get(&spread->objects, key_of(spread, id));

        while (object && !pw_id_equal(object->id, id))
                object = object->same_key;
        return object;
}

static struct object *object_of(struct pw_pull_spread *spread, struct pw_id id)
{
        struct object *object = find(spread, id);

        if (object)
                return object;
        object = calloc(1, sizeof *object);
        if (!object)
                return NULL;
        object->id = id;
        object->same_key = pw_table_get(&spread->objects, key_of(spread, id));
        pw_list_init(&object->members);
        if (!pw_table_put(&spread->objects, key_of(spread, id), object)) {
                free(object);
                return NULL;
        }
        spread->object_count++;
        return object;
}

/* Nobody has it, nobody wants it: it goes. */
static void settle_object(struct pw_pull_spread *spread, struct object *object)
{
        uint64_t key = key_of(spread, object->id);
        struct object *first = pw_table_get(&spread->objects, key), **at = &first;

        if (object->number || !pw_list_empty(&object->members))
                return;
        while (*at != object)
                at = &(*at)->same_key;
        *at = object->same_key;
        if (first)
                (void)!pw_table_put(&spread->objects, key, first); /* its cell is there */
        else
                pw_table_remove(&spread->objects, key);
        spread->object_count--;
        free(object);
}

/* --- sources ---------------------------------------------------------------------------------------------------------------- */

#define DEPTH_UNKNOWN (UINT32_MAX / 2) /* somebody between it and a whole value waits */

static uint32_t depth_of(const struct member *member)
{
        uint32_t depth = 0;

        for (; member && member->state == PW_MEMBER_PULLING; member = member->source)
                depth++;
        return member && member->state == PW_MEMBER_WAITING ? depth + DEPTH_UNKNOWN : depth;
}

static bool is_barred(const struct member *member, uint32_t host, uint64_t number)
{
        for (uint32_t i = 0; i < member->bar_count; i++)
                if (member->bars[i].host == host && member->bars[i].number == number)
                        return true;
        return false;
}

/* May it ever be named to `asker`? Only what is whole, or came before it. */
static bool may_be_named(const struct member *source, const struct member *asker)
{
        return source->host != asker->host && !source->is_out && !source->is_refused &&
               (source->state == PW_MEMBER_WHOLE || source->serial < asker->serial) &&
               !is_barred(asker, source->host, source->number);
}

/* The best of those that have a place. `is_any`: there are some that may be named, and had they a place. */
struct choice { bool is_found, is_any; struct member *source; uint32_t depth, askers; };

static void consider(struct choice *choice, struct member *source, uint32_t askers, uint32_t askers_max)
{
        uint32_t depth = depth_of(source);

        choice->is_any = true;
        if (askers >= askers_max ||
            (choice->is_found && (depth > choice->depth || (depth == choice->depth && askers >= choice->askers))))
                return;
        *choice = (struct choice){ true, true, source, depth, askers };
}

static struct choice choose(const struct pw_pull_spread *spread, const struct member *asker)
{
        struct object *object = asker->object;
        struct choice choice = { .is_found = false };
        struct member *source;

        if (object->number && !is_barred(asker, spread->params.own, object->number))
                consider(&choice, NULL, object->askers, spread->params.askers);
        pw_list_each(&object->members, source, struct member, link)
                if (may_be_named(source, asker))
                        consider(&choice, source, source->askers, spread->params.askers);
        return choice;
}

static uint32_t *askers_of(struct member *member)
{
        return member->source ? &member->source->askers : &member->object->askers;
}

/* It has no source now. False: it had none. */
static bool lose_source(struct pw_pull_spread *spread, struct member *member)
{
        if (member->state != PW_MEMBER_PULLING)
                return false;
        --*askers_of(member);
        step(spread, member, PW_MEMBER_LOSE);
        member->source = NULL;
        return true;
}

static void lose_askers(struct pw_pull_spread *spread, struct object *object, const struct member *source)
{
        struct member *member;

        pw_list_each(&object->members, member, struct member, link)
                if (member->state == PW_MEMBER_PULLING && member->source == source)
                        lose_source(spread, member);
}

static void say(struct pw_pull_spread *spread, struct member *member)
{
        member->round++;
        if (pw_list_empty(&member->due))
                pw_list_append(&spread->due, &member->due);
}

/* Who waits gets a source, in the order in which they came; who cannot get one any more goes. */
static void settle(struct pw_pull_spread *spread, struct object *object)
{
        struct member *member;
        bool again;

        do {
                again = false;
                pw_list_each(&object->members, member, struct member, link) {
                        struct choice choice;

                        if (member->state != PW_MEMBER_WAITING || member->is_refused)
                                continue;
                        choice = choose(spread, member);
                        if (choice.is_found) {
                                member->source = choice.source;
                                ++*askers_of(member);
                                step(spread, member, PW_MEMBER_NAME);
                                say(spread, member);
                        } else if (!choice.is_any) {
                                member->is_refused = true;
                                lose_askers(spread, object, member);
                                say(spread, member);
                                again = true;
                        } else if (member->answers && !member->round) {
                                say(spread, member); /* it is to wait */
                        }
                }
        } while (again);
}

/* --- members ---------------------------------------------------------------------------------------------------------------- */

static void forget(struct pw_pull_spread *spread, struct member *member)
{
        struct object *object = member->object;

        lose_source(spread, member);
        step(spread, member, PW_MEMBER_LEAVE);
        lose_askers(spread, object, member);
        (void)pw_table_remove(&member->of->members, member->number);
        pw_list_remove(&member->link);
        pw_list_remove(&member->due);
        free(member->bars);
        free(member);
}

static enum pw_status want(struct pw_pull_spread *spread, uint32_t host, const struct pw_pull_message *message,
                           struct pw_error *ret_err)
{
        struct host *of = pw_table_get(&spread->hosts, host);
        struct object *object;
        struct member *member;

        if (!of) {
                of = calloc(1, sizeof *of);
                if (!of || !pw_table_put(&spread->hosts, host, of)) {
                        free(of);
                        return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for what host %u pulls", host);
                }
        }
        if (message->number <= of->last_number)
                return pw_error_set(ret_err, PW_PROTOCOL, "host %u wants to pull by number %lu, after %lu", host,
                                    (unsigned long)message->number, (unsigned long)of->last_number);
        object = object_of(spread, message->id);
        member = object ? calloc(1, sizeof *member) : NULL;
        if (!member || !pw_table_put(&of->members, message->number, member)) {
                free(member);
                if (object)
                        settle_object(spread, object);
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for what host %u pulls", host);
        }
        *member = (struct member){ .object = object, .of = of, .host = host, .number = message->number,
                                   .serial = ++object->came, .answers = true, .cause = PW_GONE };
        of->last_number = message->number;
        pw_list_init(&member->due);
        pw_list_append(&object->members, &member->link);
        step(spread, member, PW_MEMBER_WANT);
        settle(spread, object);
        return PW_OK;
}

/* A source failed: it is barred for who says so; on another host it is out for all. */
static enum pw_status report(struct pw_pull_spread *spread, struct member *member, const struct pw_pull_message *message,
                             struct pw_error *ret_err)
{
        struct member *source = member->source;

        if (message->round > member->round)
                return pw_error_set(ret_err, PW_PROTOCOL, "host %u reports a source that was never named to it", member->host);
        if (message->round < member->round || member->state != PW_MEMBER_PULLING)
                return PW_OK; /* it has another one by now */
        if (!pw_grow((void **)&member->bars, &member->bar_capacity, member->bar_count + 1, sizeof *member->bars))
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for what host %u reports", member->host);
        member->bars[member->bar_count++] = (struct bar){ source ? source->host : spread->params.own,
                                                          source ? source->number : member->object->number };
        member->cause = message->status;
        lose_source(spread, member);
        if (source) {
                source->is_out = true;
                lose_askers(spread, member->object, source);
        }
        settle(spread, member->object);
        return PW_OK;
}

static void fill(struct pw_pull_spread *spread, struct member *member)
{
        if (member->is_refused)
                return; /* it goes */
        lose_source(spread, member);
        if (step(spread, member, PW_MEMBER_FILL))
                member->is_out = false;
        settle(spread, member->object);
}

static void leave(struct pw_pull_spread *spread, struct member *member)
{
        struct object *object = member->object;

        forget(spread, member);
        settle(spread, object);
        settle_object(spread, object);
}

enum pw_status pw_pull_spread_receive(struct pw_pull_spread *spread, uint32_t host, const struct pw_pull_message *message,
                                      struct pw_error *ret_err)
{
        struct host *of = pw_table_get(&spread->hosts, host);
        struct member *member = of ? pw_table_get(&of->members, message->number) : NULL;

        if (message->kind == PW_PULL_MSG_WANT)
                return want(spread, host, message, ret_err);
        if (!pw_pull_is_for_home(message->kind))
                return pw_error_set(ret_err, PW_PROTOCOL, "host %u says to a home what is for others, kind %u", host,
                                    message->kind);
        if (!member)
                return PW_OK; /* it was told that there is no source */
        if (message->kind == PW_PULL_MSG_REPORT)
                return report(spread, member, message, ret_err);
        if (message->kind == PW_PULL_MSG_WHOLE)
                fill(spread, member);
        else
                leave(spread, member);
        return PW_OK;
}

void pw_pull_spread_ended(struct pw_pull_spread *spread, uint32_t host)
{
        struct host *of = pw_table_get(&spread->hosts, host);
        struct member *member;

        if (!of)
                return;
        for (uint32_t at = 0; (member = pw_table_next(&of->members, &at)); at = 0)
                leave(spread, member);
        pw_table_done(&of->members);
        of->members = (struct pw_table){ .cells = NULL };
}

/* --- this host -------------------------------------------------------------------------------------------------------------- */

enum pw_status pw_pull_spread_offer(struct pw_pull_spread *spread, struct pw_id id, uint64_t number, struct pw_error *ret_err)
{
        struct object *object = object_of(spread, id);

        if (!object)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for who pulls an object");
        if (object->number)
                return pw_error_set(ret_err, PW_EXISTS, "it is offered already, by number %lu", (unsigned long)object->number);
        object->number = number;
        settle(spread, object);
        return PW_OK;
}

void pw_pull_spread_withdraw(struct pw_pull_spread *spread, struct pw_id id)
{
        struct object *object = find(spread, id);

        if (!object || !object->number)
                return;
        object->number = 0;
        lose_askers(spread, object, NULL);
        settle(spread, object);
        settle_object(spread, object);
}

/* --- life ------------------------------------------------------------------------------------------------------------------- */

enum pw_status pw_pull_spread_new(const struct pw_pull_spread_params *params, struct pw_pull_spread **ret_spread,
                                  struct pw_error *ret_err)
{
        struct pw_pull_spread *spread;

        if (!params->askers)
                return pw_error_set(ret_err, PW_INVALID, "sources without askers");
        spread = calloc(1, sizeof *spread);
        if (!spread)
                return pw_error_set(ret_err, PW_NO_MEMORY, "who pulls from whom");
        spread->params = *params;
        pw_list_init(&spread->due);
        *ret_spread = spread;
        return PW_OK;
}

void pw_pull_spread_free(struct pw_pull_spread *spread)
{
        struct object *object;
        struct host *host;
        struct member *member;

        if (!spread)
                return;
        for (uint32_t at = 0; (host = pw_table_next(&spread->hosts, &at));) {
                for (uint32_t i = 0; (member = pw_table_next(&host->members, &i)); i = 0) {
                        object = member->object;
                        forget(spread, member);
                        settle_object(spread, object);
                }
                pw_table_done(&host->members);
                free(host);
        }
        for (uint32_t at = 0; (object = pw_table_next(&spread->objects, &at)); at = 0) {
                object->number = 0;
                settle_object(spread, object);
        }
        pw_table_done(&spread->objects);
        pw_table_done(&spread->hosts);
        free(spread);
}

/* --- what is to be done ----------------------------------------------------------------------------------------------------- */

bool pw_pull_spread_next(struct pw_pull_spread *spread, struct pw_pull_spread_action *ret_action)
{
        struct member *member;
        struct pw_pull_message message = { .kind = PW_PULL_MSG_NAMED };

        if (pw_list_empty(&spread->due))
                return false;
        member = pw_list_first(&spread->due, struct member, due);
        pw_list_remove(&member->due);
        message.number = member->number;
        message.round = member->round;
        message.status = member->is_refused ? member->cause : member->state == PW_MEMBER_PULLING ? PW_OK : PW_NOT_READY;
        if (message.status == PW_OK) {
                message.source = member->source ? member->source->host : spread->params.own;
                message.source_number = member->source ? member->source->number : member->object->number;
        }
        *ret_action = (struct pw_pull_spread_action){ member->host, member->answers, message };
        member->answers = false;
        if (member->is_refused)
                leave(spread, member);
        return true;
}

void pw_pull_spread_each(const struct pw_pull_spread *spread, void (*row)(void *, const struct pw_pull_spread_row *), void *context)
{
        struct host *host;
        struct member *member;

        for (uint32_t at = 0; (host = pw_table_next(&spread->hosts, &at));)
                for (uint32_t i = 0; (member = pw_table_next(&host->members, &i));) {
                        struct pw_pull_spread_row one = { member->object->id, member->host, spread->params.own, member->number,
                                                          member->object->number, member->state, depth_of(member),
                                                          member->askers };

                        if (member->source) {
                                one.source = member->source->host;
                                one.source_number = member->source->number;
                        }
                        row(context, &one);
                }
}

uint32_t pw_pull_spread_objects(const struct pw_pull_spread *spread) { return spread->object_count; }
