/* How a host comes to its place: who answers, is it the cluster's, which number. */
#include "daemon/meta/redis/redis_private.h"

#include <stdio.h>
#include <sys/random.h>

static void on_password(void *context, const struct pw_redis_said *said)
{
        if (said->error)
                pw_redis_hear(context, said);
}

static void on_incarnation(void *context, const struct pw_redis_said *said)
{
        struct pw_redis *redis = context;

        if (said->error || said->cut)
                pw_redis_hear(redis, said);
        else
                snprintf(redis->theirs, sizeof redis->theirs, "%s", said->count ? said->words[0] : "");
}

/* An answer that nobody gave in these words. */
static void hear_word(struct pw_redis *redis, const char *word)
{
        pw_redis_hear(redis, &(struct pw_redis_said){ .count = 1, .words = &word });
}

static void hear_error(struct pw_redis *redis, const char *error)
{
        pw_redis_hear(redis, &(struct pw_redis_said){ .error = error });
}

/* Said once, until it is no longer so. */
static void note_evicts(struct pw_redis *redis, bool evicts)
{
        struct pw_error why;

        if (evicts && !redis->evicts_told) {
                pw_error_set(&why, PW_NO_SPACE,
                             "Redis at %s: throws keys away when its memory is full, so a name could be bound twice; set its "
                             "maxmemory-policy to noeviction",
                             redis->address);
                pw_redis_tell(redis, PW_META_TROUBLE, &why);
        }
        redis->evicts_told = evicts;
}

static void on_memory(void *context, const struct pw_redis_said *said)
{
        struct pw_redis_server server;

        if (said->error || said->cut || !said->count)
                return; /* a user that may not ask is told so when it comes */
        pw_redis_server_read(said->words[0], &server);
        note_evicts(context, server.evicts);
}

void pw_redis_look_at_memory(struct pw_redis *redis)
{
        struct pw_redis_args args = { 2, false, { "INFO", "memory" } };

        if (pw_redis_wire_ask(redis->wire, &args, on_memory, redis) != PW_OK)
                redis->beats = UINT32_MAX - 1; /* with the next one */
}

static void on_info(void *context, const struct pw_redis_said *said)
{
        struct pw_redis *redis = context;
        struct pw_redis_server server;

        if (redis->wanted)
                return;
        if (said->error || said->cut) {
                pw_redis_hear(redis, said);
                return;
        }
        pw_redis_server_read(said->count ? said->words[0] : "", &server);
        if (!*server.run) {
                hear_error(redis, "INFO without a run id");
                return;
        }
        if (server.read_only) {
                hear_error(redis, "READONLY");
                return;
        }
        note_evicts(redis, server.evicts);
        snprintf(redis->run, sizeof redis->run, "%s", server.run);
        if (pw_redis_member_step(&redis->member, PW_REDIS_GREET, pw_now_us()))
                pw_redis_join(redis);
}

static enum pw_status ask_password(struct pw_redis *redis)
{
        struct pw_redis_args args = { 1, false, { "AUTH" } };

        if (!redis->password)
                return PW_OK;
        if (redis->user)
                pw_redis_arg(&args, redis->user);
        pw_redis_arg(&args, redis->password);
        return pw_redis_wire_ask(redis->wire, &args, on_password, redis);
}

void pw_redis_up(void *context)
{
        struct pw_redis *redis = context;
        struct pw_redis_args incarnation = { 3, false, { "HGET", redis->keys[0], "incarnation" } }, info = { 1, false, { "INFO" } };
        enum pw_status status = ask_password(redis);

        if (status == PW_OK)
                status = pw_redis_wire_ask(redis->wire, &incarnation, on_incarnation, redis);
        if (status == PW_OK)
                status = pw_redis_wire_ask(redis->wire, &info, on_info, redis);
        if (status != PW_OK)
                pw_redis_stuck(redis, status);
}

/* --- joining ----------------------------------------------------------------------------------------------------------------- */

void pw_redis_name_keys(struct pw_redis *redis, uint64_t incarnation)
{
        snprintf(redis->keys[0], sizeof redis->keys[0], "pathways:{%s}", redis->cluster);
        snprintf(redis->keys[1], sizeof redis->keys[1], "pathways:{%s}:%016llx", redis->cluster, (unsigned long long)incarnation);
        snprintf(redis->number, sizeof redis->number, "%u", redis->state.number);
        snprintf(redis->fence, sizeof redis->fence, "%u %016llx %llu", redis->host.epoch, (unsigned long long)redis->instance,
                 (unsigned long long)redis->serial);
}

/* The place is ours, and our names for it are those of the server from now on. */
static void enter(struct pw_redis *redis, const struct pw_redis_said *said)
{
        uint64_t now_us = pw_now_us();
        struct pw_redis_state *state = &redis->state;

        state->incarnation = strtoull(redis->keys[1] + strlen(redis->keys[0]) + 1, NULL, 16);
        state->number = (uint32_t)strtoul(said->words[1], NULL, 10);
        state->epoch = state->confirmed = (uint32_t)strtoul(said->words[2], NULL, 10);
        redis->save = true;
        redis->host = (struct pw_meta_host){ state->number, state->epoch, state->incarnation };
        pw_redis_name_keys(redis, state->incarnation);
        redis->member.settled_us = now_us + strtoull(said->words[3], NULL, 10) * 1000;
        if (pw_redis_member_step(&redis->member, PW_REDIS_ENTER, now_us)) {
                redis->changes = redis->beat_overruled = 0;
                pw_redis_table_read(redis);
        }
}

/* The next start is to be above the epoch that this host's number has there, or to ask for another number. */
static void note_refusal(struct pw_redis *redis, enum pw_redis_word word, const struct pw_redis_said *said)
{
        if (word == PW_REDIS_EPOCH && said->count == 2) {
                redis->state.epoch = (uint32_t)pw_max_u64(redis->state.epoch, strtoull(said->words[1], NULL, 10));
                redis->save = true;
        }
        if (word == PW_REDIS_LOST) {
                redis->state.number = 0;
                redis->save = false;
                pw_redis_saver_put(redis->saver, NULL);
        }
}

static void on_join(void *context, const struct pw_redis_said *said)
{
        struct pw_redis *redis = context;
        enum pw_redis_word word = pw_redis_hear(redis, said);

        note_refusal(redis, word, said);
        if (word != PW_REDIS_OK || redis->wanted)
                return;
        if (said->count != 4)
                hear_error(redis, "JOIN without an answer");
        else
                enter(redis, said);
}

/* A cluster that is founded has a random name; a new host asks for a place in the one that is there. */
static const char *prepare_newcomer(struct pw_redis *redis)
{
        uint64_t incarnation = strtoull(redis->theirs, NULL, 16);

        if (redis->new_cluster && getrandom(&incarnation, sizeof incarnation, 0) == sizeof incarnation && incarnation) {
                pw_redis_name_keys(redis, incarnation);
                return "found";
        }
        pw_redis_name_keys(redis, incarnation);
        return "new";
}

void pw_redis_join(struct pw_redis *redis)
{
        char epoch[12], instance[20], serial[24], lease[24], confirmed[12], version[24];
        bool member = redis->state.number;
        const char *mode = "member";
        char where[PW_REDIS_WHERE_BYTES];
        struct pw_redis_args args = { .count = 0 };
        enum pw_status status;

        redis->reading = false;
        if (!member && !redis->new_cluster && !*redis->theirs) {
                hear_word(redis, "EMPTY");
                return;
        }
        pw_redis_name_keys(redis, redis->state.incarnation);
        if (!member)
                mode = prepare_newcomer(redis);
        snprintf(epoch, sizeof epoch, "%u", member ? redis->host.epoch : redis->first_epoch);
        snprintf(instance, sizeof instance, "%016llx", (unsigned long long)redis->instance);
        snprintf(serial, sizeof serial, "%llu", (unsigned long long)redis->serial);
        snprintf(lease, sizeof lease, "%llu", (unsigned long long)(redis->member.lease_us / 1000));
        snprintf(confirmed, sizeof confirmed, "%u", redis->state.confirmed);
        snprintf(version, sizeof version, "%llu", (unsigned long long)redis->version);
        pw_redis_arg(&args, redis->keys[0]);
        pw_redis_arg(&args, redis->keys[1]);
        pw_redis_arg(&args, redis->keys[1] + strlen(redis->keys[0]) + 1);
        for (uint32_t i = 0; i < 10; i++)
                pw_redis_arg(&args, (const char *[]){ redis->run, redis->number, epoch, instance, serial, lease, redis->name,
                                                      pw_redis_where_format(redis->own_address, redis->successor, where), mode,
                                                      confirmed }[i]);
        pw_redis_arg(&args, version);
        status = pw_redis_wire_run(redis->wire, PW_REDIS_JOIN, &args, on_join, redis);
        if (status != PW_OK)
                pw_redis_stuck(redis, status);
}
