/* What is asked about names, on its way to the server and back. */
#include "daemon/meta/redis/redis_private.h"

#include <stdio.h>

static void send_first(struct pw_redis *redis, struct pw_redis_asked *asked);

static const char *name_of(const char *tenant_and_name)
{
        return tenant_and_name + strlen(tenant_and_name) + 1;
}

/* The first is answered, and the next one's turn. */
static void answer(struct pw_redis_ask *ask, enum pw_name_outcome outcome)
{
        struct pw_redis_asked *asked = ask->of;
        struct pw_redis *redis = ask->redis;

        ask->answer.outcome = outcome;
        pw_list_remove(&ask->link);
        pw_list_append(&redis->answered, &ask->link);
        if (!pw_list_empty(&asked->asks))
                return;
        pw_table_remove(&redis->asked, asked->key);
        pw_list_remove(&asked->link);
        free(asked);
}

/* "HOST EPOCH ID", version: what the name is bound to. */
static bool read_binding(const struct pw_redis_said *said, struct pw_name_answer *answer)
{
        if (said->count < 3 || !pw_redis_id_parse(said->words[1], &answer->id, &answer->keeper))
                return false;
        answer->version = strtoull(said->words[2], NULL, 10);
        return true;
}

/* What was not done is AWAY; what may have been, as the connection ended or nobody knows what went wrong, UNKNOWN. */
static enum pw_name_outcome outcome_of(struct pw_redis_ask *ask, enum pw_redis_word word, const struct pw_redis_said *said)
{
        if (word == PW_REDIS_NOT_FOUND)
                return PW_NAMED_NOT_FOUND;
        if (word == PW_REDIS_OK || word == PW_REDIS_TAKEN) {
                if (!read_binding(said, &ask->answer))
                        return PW_NAMED_UNKNOWN;
                return word == PW_REDIS_OK ? PW_NAMED_OK : PW_NAMED_TAKEN;
        }
        return word == PW_REDIS_CUT || word == PW_REDIS_STRANGE ? PW_NAMED_UNKNOWN : PW_NAMED_AWAY;
}

static void on_name(void *context, const struct pw_redis_said *said)
{
        struct pw_redis_ask *ask = context;
        struct pw_redis_asked *asked = ask->of;
        struct pw_redis *redis = ask->redis;
        bool last = asked->asks.next == asked->asks.prev;

        asked->sent = false;
        ask->answer.outcome = outcome_of(ask, pw_redis_hear(redis, said), said);
        pw_redis_binding_note(redis, ask);
        answer(ask, ask->answer.outcome);
        if (!last && redis->member.state == PW_REDIS_IN && !redis->wanted)
                send_first(redis, asked);
}

static void send_first(struct pw_redis *redis, struct pw_redis_asked *asked)
{
        static const char *const kinds[] = { [PW_NAME_BIND] = "bind", [PW_NAME_UNBIND] = "unbind", [PW_NAME_RESOLVE] = "resolve",
                                             [PW_NAME_TAKE] = "take" };
        struct pw_redis_ask *ask = pw_list_first(&asked->asks, struct pw_redis_ask, link);
        pw_auto_free char *key = pw_redis_key_of(ask->text);
        char id[PW_REDIS_ID_BYTES], from[PW_REDIS_ID_BYTES];
        struct pw_redis_args args;
        enum pw_status status = PW_NO_MEMORY;

        pw_redis_args_begin(redis, &args);
        pw_redis_arg(&args, kinds[ask->kind]);
        pw_redis_arg(&args, key);
        pw_redis_arg(&args, pw_redis_id_format(ask->id, pw_redis_own(redis), id));
        if (ask->kind == PW_NAME_TAKE)
                pw_redis_arg(&args, pw_redis_id_format(ask->id, ask->from, from));
        if (key)
                status = pw_redis_wire_run(redis->wire, PW_REDIS_NAME, &args, on_name, ask);
        asked->sent = status == PW_OK;
        if (status != PW_OK)
                pw_redis_stuck(redis, status);
}

void pw_redis_names_send(struct pw_redis *redis)
{
        struct pw_redis_asked *asked;

        pw_list_each(&redis->asking, asked, struct pw_redis_asked, link)
                if (!asked->sent)
                        send_first(redis, asked);
}

void pw_redis_names_refuse(struct pw_redis *redis)
{
        struct pw_redis_asked *asked;

        pw_list_each(&redis->asking, asked, struct pw_redis_asked, link) {
                struct pw_redis_ask *first = pw_list_first(&asked->asks, struct pw_redis_ask, link);
                bool keep = asked->sent;

                while (keep ? asked->asks.prev != &first->link : true) {
                        struct pw_redis_ask *ask = pw_list_item(asked->asks.prev, struct pw_redis_ask, link);
                        bool last = asked->asks.next == asked->asks.prev;

                        answer(ask, PW_NAMED_AWAY);
                        if (last)
                                break;
                }
        }
}

/* --- asking ------------------------------------------------------------------------------------------------------------------ */

static struct pw_redis_ask *new_ask(struct pw_redis *redis, const struct pw_name_ask *asks)
{
        size_t tenant_bytes = strlen(asks->tenant) + 1, name_bytes = strlen(asks->name) + 1;
        struct pw_redis_ask *ask = malloc(sizeof *ask + tenant_bytes + name_bytes);

        if (!ask)
                return NULL;
        *ask = (struct pw_redis_ask){ .redis = redis, .kind = asks->kind, .id = asks->id, .from = asks->from,
                                      .answer = { .token = asks->token } };
        pw_list_init(&ask->link);
        memcpy(ask->text, asks->tenant, tenant_bytes);
        memcpy(ask->text + tenant_bytes, asks->name, name_bytes);
        return ask;
}

/* NULL: out of memory. */
static struct pw_redis_asked *asked_of(struct pw_redis *redis, const struct pw_redis_ask *ask)
{
        uint64_t key = pw_hash_pair(&redis->secret, ask->text, name_of(ask->text));
        struct pw_redis_asked *asked = pw_table_get(&redis->asked, key);

        if (asked || !(asked = calloc(1, sizeof *asked)))
                return asked;
        if (!pw_table_put(&redis->asked, key, asked)) {
                free(asked);
                return NULL;
        }
        asked->key = key;
        pw_list_init(&asked->asks);
        pw_list_append(&redis->asking, &asked->link);
        return asked;
}

enum pw_status pw_redis_names_submit(struct pw_redis *redis, const struct pw_name_ask *asks)
{
        struct pw_redis_ask *ask = new_ask(redis, asks);

        if (!ask)
                return PW_NO_MEMORY;
        if (redis->away || redis->member.state == PW_REDIS_OUT) {
                ask->answer.outcome = PW_NAMED_AWAY;
                pw_list_append(&redis->answered, &ask->link);
                return PW_OK;
        }
        ask->of = asked_of(redis, ask);
        if (!ask->of) {
                free(ask);
                return PW_NO_MEMORY;
        }
        pw_list_append(&ask->of->asks, &ask->link);
        if (redis->member.state == PW_REDIS_IN && !redis->wanted && !ask->of->sent)
                send_first(redis, ask->of);
        return PW_OK;
}

void pw_redis_names_done(struct pw_redis *redis)
{
        pw_table_done(&redis->asked);
}
