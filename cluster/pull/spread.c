/* Who pulls from whom: objects, their members, and what these say. */
#include "cluster/pull/spread_private.h"

/* --- objects ---------------------------------------------------------------------------------------------------------------- */

static uint64_t key_of(const struct pw_pull_spread *spread, struct pw_id id)
{
        return pw_hash(&spread->params.secret, &id, sizeof id);
}

static struct pw_spread_object *find(const struct pw_pull_spread *spread, struct pw_id id)
{
        struct pw_spread_object *object = pw_table_get(&spread->objects, key_of(spread, id));

        while (object && !pw_id_equal(object->id, id))
                object = object->same_key;
        return object;
}

static struct pw_spread_object *object_of(struct pw_pull_spread *spread, struct pw_id id)
{
        struct pw_spread_object *object = find(spread, id);

        if (object)
                return object;
        object = calloc(1, sizeof *object);
        if (!object)
                return NULL;
        object->id = id;
        object->cause = PW_GONE;
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
static void settle_object(struct pw_pull_spread *spread, struct pw_spread_object *object)
{
        uint64_t key = key_of(spread, object->id);
        struct pw_spread_object *first = pw_table_get(&spread->objects, key), **at = &first;

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

/* --- members ---------------------------------------------------------------------------------------------------------------- */

static void forget(struct pw_pull_spread *spread, struct pw_spread_member *member)
{
        struct pw_spread_object *object = member->object;

        pw_spread_lose_source(spread, member);
        pw_spread_step(spread, member, PW_MEMBER_LEAVE);
        pw_spread_lose_askers(spread, object, member);
        (void)pw_table_remove(&member->of->members, member->number);
        pw_list_remove(&member->link);
        pw_list_remove(&member->due);
        free(member->bars);
        free(member);
}

static struct pw_spread_host *host_of(struct pw_pull_spread *spread, uint32_t number)
{
        struct pw_spread_host *of = pw_table_get(&spread->hosts, number);

        if (of)
                return of;
        of = calloc(1, sizeof *of);
        if (of && pw_table_put(&spread->hosts, number, of))
                return of;
        free(of);
        return NULL;
}

/* One more of `object`, which has no state yet. NULL: no memory. */
static struct pw_spread_member *join(struct pw_spread_host *of, uint32_t host, struct pw_spread_object *object, uint64_t number)
{
        struct pw_spread_member *member = calloc(1, sizeof *member);

        if (!member || !pw_table_put(&of->members, number, member)) {
                free(member);
                return NULL;
        }
        *member = (struct pw_spread_member){ .object = object, .of = of, .host = host, .number = number,
                                             .serial = ++object->came, .cause = PW_GONE };
        of->last_number = pw_max_u64(of->last_number, number);
        pw_list_init(&member->due);
        pw_list_append(&object->members, &member->link);
        return member;
}

static enum pw_status no_memory(uint32_t host, struct pw_error *ret_err)
{
        return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for what host %u pulls", host);
}

static enum pw_status want(struct pw_pull_spread *spread, uint32_t host, const struct pw_pull_message *message,
                           struct pw_error *ret_err)
{
        struct pw_spread_host *of = host_of(spread, host);
        struct pw_spread_object *object;
        struct pw_spread_member *member;

        if (!of)
                return no_memory(host, ret_err);
        if (message->number <= of->last_number)
                return pw_error_set(ret_err, PW_PROTOCOL, "host %u wants to pull by number %lu, after %lu", host,
                                    (unsigned long)message->number, (unsigned long)of->last_number);
        object = object_of(spread, message->id);
        member = object ? join(of, host, object, message->number) : NULL;
        if (!member) {
                if (object)
                        settle_object(spread, object);
                return no_memory(host, ret_err);
        }
        member->answers = true;
        pw_spread_step(spread, member, PW_MEMBER_WANT);
        pw_spread_settle(spread, object);
        return PW_OK;
}

/* What this host does not offer, nobody asks for here. */
static enum pw_status have(struct pw_pull_spread *spread, uint32_t host, const struct pw_pull_message *message,
                           struct pw_error *ret_err)
{
        struct pw_spread_object *object = find(spread, message->id);
        struct pw_spread_host *of = host_of(spread, host);
        struct pw_spread_member *member;

        if (!of)
                return no_memory(host, ret_err);
        if (pw_table_get(&of->members, message->number))
                return pw_error_set(ret_err, PW_PROTOCOL, "host %u has an object by number %lu, by which it pulls", host,
                                    (unsigned long)message->number);
        if (!object || !object->number)
                return PW_OK;
        member = join(of, host, object, message->number);
        if (!member)
                return no_memory(host, ret_err);
        pw_spread_step(spread, member, PW_MEMBER_FILL);
        pw_spread_settle(spread, object);
        return PW_OK;
}

/* A source failed: it is barred for who says so; on another host it is out for all. */
static enum pw_status report(struct pw_pull_spread *spread, struct pw_spread_member *member, const struct pw_pull_message *message,
                             struct pw_error *ret_err)
{
        struct pw_spread_member *source = member->source;

        if (message->round > member->round)
                return pw_error_set(ret_err, PW_PROTOCOL, "host %u reports a source that was never named to it", member->host);
        if (message->round < member->round || member->state != PW_MEMBER_PULLING)
                return PW_OK; /* it has another one by now */
        if (!pw_grow((void **)&member->bars, &member->bar_capacity, member->bar_count + 1, sizeof *member->bars))
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for what host %u reports", member->host);
        member->bars[member->bar_count++] = (struct pw_spread_bar){ source ? source->host : spread->params.own,
                                                          source ? source->number : member->object->number };
        if (!source)
                member->cause = message->status;
        pw_spread_lose_source(spread, member);
        if (source) {
                source->is_out = true;
                pw_spread_lose_askers(spread, member->object, source);
        }
        pw_spread_settle(spread, member->object);
        return PW_OK;
}

static void fill(struct pw_pull_spread *spread, struct pw_spread_member *member)
{
        if (member->is_refused)
                return; /* it goes */
        pw_spread_lose_source(spread, member);
        if (pw_spread_step(spread, member, PW_MEMBER_FILL))
                member->is_out = false;
        pw_spread_settle(spread, member->object);
}

static void leave(struct pw_pull_spread *spread, struct pw_spread_member *member)
{
        struct pw_spread_object *object = member->object;

        forget(spread, member);
        pw_spread_settle(spread, object);
        settle_object(spread, object);
}

enum pw_status pw_pull_spread_receive(struct pw_pull_spread *spread, uint32_t host, const struct pw_pull_message *message,
                                      struct pw_error *ret_err)
{
        struct pw_spread_host *of = pw_table_get(&spread->hosts, host);
        struct pw_spread_member *member = of ? pw_table_get(&of->members, message->number) : NULL;

        if (message->kind == PW_PULL_MSG_WANT)
                return want(spread, host, message, ret_err);
        if (message->kind == PW_PULL_MSG_HAVE)
                return have(spread, host, message, ret_err);
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
        struct pw_spread_host *of = pw_table_get(&spread->hosts, host);
        struct pw_spread_member *member;

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
        struct pw_spread_object *object = object_of(spread, id);

        if (!object)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for who pulls an object");
        if (object->number)
                pw_spread_lose_askers(spread, object, NULL); /* of what was offered before */
        object->number = number;
        pw_spread_settle(spread, object);
        return PW_OK;
}

void pw_pull_spread_withdraw(struct pw_pull_spread *spread, struct pw_id id, enum pw_status status)
{
        struct pw_spread_object *object = find(spread, id);

        if (!object || !object->number)
                return;
        object->number = 0;
        object->cause = status;
        pw_spread_lose_askers(spread, object, NULL);
        pw_spread_settle(spread, object);
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
        struct pw_spread_object *object;
        struct pw_spread_host *host;
        struct pw_spread_member *member;

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
        struct pw_spread_member *member;
        struct pw_pull_message message = { .kind = PW_PULL_MSG_NAMED };

        if (pw_list_empty(&spread->due))
                return false;
        member = pw_list_first(&spread->due, struct pw_spread_member, due);
        pw_list_remove(&member->due);
        message.number = member->number;
        message.round = member->round;
        message.status = member->state == PW_MEMBER_PULLING ? PW_OK : PW_NOT_READY;
        if (member->is_refused)
                message.status = member->object->number ? member->cause : member->object->cause;
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
        struct pw_spread_host *host;
        struct pw_spread_member *member;

        for (uint32_t at = 0; (host = pw_table_next(&spread->hosts, &at));)
                for (uint32_t i = 0; (member = pw_table_next(&host->members, &i));) {
                        struct pw_pull_spread_row one = { member->object->id, member->host, spread->params.own, member->number,
                                                          member->object->number, member->state, pw_spread_depth(member),
                                                          member->askers };

                        if (member->source) {
                                one.source = member->source->host;
                                one.source_number = member->source->number;
                        }
                        row(context, &one);
                }
}

uint32_t pw_pull_spread_objects(const struct pw_pull_spread *spread) { return spread->object_count; }
