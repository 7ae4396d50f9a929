/* Metadata in Redis: the kind. */
#include "daemon/meta/redis/redis_private.h"

#include "daemon/own_file.h"

#include <stdio.h>

#define MEMORY_BEATS 16u /* half a minute, with the lease of daemons */

/* --- what is heard ----------------------------------------------------------------------------------------------------------- */

/* The gravest thing that was heard since the last turn is what is done. */
static void want(struct pw_redis *redis, enum pw_redis_act act, enum pw_redis_word word, const struct pw_redis_said *said)
{
        if (act <= PW_REDIS_TELL || act <= redis->wanted)
                return;
        redis->wanted = act;
        pw_redis_explain(word, redis->joined, said, redis->address, &redis->why);
}

enum pw_redis_word pw_redis_hear(struct pw_redis *redis, const struct pw_redis_said *said)
{
        enum pw_redis_word word = pw_redis_word(said);

        if (word != PW_REDIS_CUT) /* who ended the connection says why */
                want(redis, pw_redis_act(word, redis->state.number), word, said);
        return word;
}

void pw_redis_stuck(struct pw_redis *redis, enum pw_status status)
{
        if (redis->wanted >= PW_REDIS_HOLD)
                return;
        redis->wanted = PW_REDIS_HOLD;
        pw_error_set(&redis->why, status, "Redis at %s: %s", redis->address,
                     status == PW_NO_MEMORY ? "no memory to ask it" : "the connection ended");
}

static void on_down(void *context, const char *why)
{
        struct pw_redis *redis = context;

        if (redis->wanted >= PW_REDIS_CALL_ANEW)
                return;
        redis->wanted = PW_REDIS_CALL_ANEW;
        pw_error_set(&redis->why, PW_NOT_READY, "Redis at %s: %s; it is called again and again, see that it runs there",
                     redis->address, why);
}

void pw_redis_args_begin(const struct pw_redis *redis, struct pw_redis_args *ret_args)
{
        ret_args->count = 0;
        ret_args->over = false;
        pw_redis_arg(ret_args, redis->keys[0]);
        pw_redis_arg(ret_args, redis->keys[1]);
        pw_redis_arg(ret_args, redis->keys[1] + strlen(redis->keys[0]) + 1);
        pw_redis_arg(ret_args, redis->run);
        pw_redis_arg(ret_args, redis->number);
        pw_redis_arg(ret_args, redis->fence);
}

/* --- what is done about it --------------------------------------------------------------------------------------------------- */

/* Nothing can be asked for now. A host that has not joined waits, and says why once; one that has says each kind of reason once: it
 * may be refused for another one, when it calls again, than it was hung up on for. */
static void tell_away(struct pw_redis *redis)
{
        uint64_t reason = UINT64_C(1) << redis->why.status % 64;

        pw_redis_names_refuse(redis);
        if (!redis->joined) {
                if (strcmp(redis->waits, redis->why.text) != 0)
                        pw_redis_tell(redis, PW_META_WAITS, &redis->why);
                snprintf(redis->waits, sizeof redis->waits, "%s", redis->why.text);
                redis->away = true;
                return;
        }
        if (!redis->away)
                redis->reasons = 0;
        if (!(redis->reasons & reason))
                pw_redis_tell(redis, PW_META_AWAY, &redis->why);
        redis->reasons |= reason;
        redis->away = true;
}

static void act(struct pw_redis *redis, uint64_t now_us)
{
        enum pw_redis_act wanted = redis->wanted;

        redis->wanted = 0;
        if (wanted == PW_REDIS_JOIN_ANEW && pw_redis_member_step(&redis->member, PW_REDIS_AGAIN, now_us)) {
                tell_away(redis);
                redis->serial++;
                pw_redis_join(redis);
                return;
        }
        pw_redis_wire_cut(redis->wire);
        redis->wanted = 0; /* what was under way has nothing to say any more */
        redis->reading = false;
        tell_away(redis);
        if (wanted == PW_REDIS_GIVE_UP) {
                if (pw_redis_member_step(&redis->member, PW_REDIS_REFUSE, now_us))
                        pw_redis_tell(redis, PW_META_REFUSED, &redis->why);
        } else {
                pw_redis_member_broke(&redis->member, wanted != PW_REDIS_CALL_ANEW, now_us);
        }
}

/* What was changed since the last beat, by whoever did it. */
static void on_beat(void *context, const struct pw_redis_said *said)
{
        struct pw_redis *redis = context;
        uint64_t version, overruled;

        if (pw_redis_hear(redis, said) != PW_REDIS_OK || said->count != 4 || redis->member.state != PW_REDIS_IN)
                return;
        if (strtoull(said->words[1], NULL, 10) != redis->changes)
                pw_redis_table_read(redis);
        version = strtoull(said->words[2], NULL, 10);
        if (version != redis->beat_version)
                pw_redis_tell(redis, PW_META_BOUND, NULL);
        redis->beat_version = version;
        overruled = strtoull(said->words[3], NULL, 10);
        if (overruled != redis->beat_overruled)
                pw_redis_bindings_check(redis);
        redis->beat_overruled = overruled;
}

static void beat(struct pw_redis *redis, uint64_t now_us)
{
        struct pw_redis_args args;
        enum pw_status status;
        char lease[24];

        pw_redis_member_beat(&redis->member, now_us);
        pw_redis_args_begin(redis, &args);
        snprintf(lease, sizeof lease, "%llu", (unsigned long long)(redis->member.lease_us / 1000 + PW_REDIS_DAY_MS));
        pw_redis_arg(&args, lease);
        status = pw_redis_wire_run(redis->wire, PW_REDIS_BEAT, &args, on_beat, redis);
        if (status != PW_OK)
                pw_redis_stuck(redis, status);
        if (redis->member.state != PW_REDIS_IN)
                return;
        pw_redis_bindings_renew(redis, now_us);
        if (++redis->beats < MEMORY_BEATS)
                return;
        redis->beats = 0;
        pw_redis_look_at_memory(redis);
}

static void settle(struct pw_redis *redis, uint64_t now_us)
{
        if (!pw_redis_member_step(&redis->member, PW_REDIS_SETTLE, now_us))
                return;
        if (!redis->joined)
                pw_redis_tell(redis, PW_META_JOINED, NULL);
        else if (redis->away)
                pw_redis_tell(redis, PW_META_BACK, NULL);
        redis->joined = true;
        redis->away = false;
        pw_redis_names_send(redis);
}

static void call(struct pw_redis *redis, uint64_t now_us)
{
        struct pw_error err;
        enum pw_status status;

        redis->serial++;
        redis->theirs[0] = 0;
        if (!pw_redis_member_step(&redis->member, PW_REDIS_CALL, now_us))
                return;
        status = pw_redis_wire_call(redis->wire, &err);
        if (status != PW_OK)
                on_down(redis, err.text);
}

static void silent(struct pw_redis *redis)
{
        redis->wanted = PW_REDIS_CALL_ANEW;
        pw_error_set(&redis->why, PW_DEADLINE, "Redis at %s: has not answered for %llu ms; see whether it is stopped or overloaded",
                     redis->address, (unsigned long long)(redis->member.lease_us / 1000));
}

static bool do_due(struct pw_redis *redis, uint64_t now_us)
{
        switch (pw_redis_member_due(&redis->member, pw_redis_wire_since_us(redis->wire), now_us)) {
        case PW_REDIS_DUE_CALL:
                call(redis, now_us);
                return true;
        case PW_REDIS_DUE_CUT:
                silent(redis);
                return true;
        case PW_REDIS_DUE_BEAT:
                beat(redis, now_us);
                return true;
        case PW_REDIS_DUE_SETTLE:
                settle(redis, now_us);
                return true;
        case PW_REDIS_DUE_NOTHING:
                break;
        }
        return false;
}

static void save(struct pw_redis *redis)
{
        struct pw_error err;
        char *text;

        redis->save = false;
        if (!redis->state.number)
                return;
        if (pw_redis_state_text(&redis->state, pw_redis_table_next, redis, &text, &err) == PW_OK)
                pw_redis_saver_put(redis->saver, text);
        else
                pw_redis_tell(redis, PW_META_TROUBLE, &err);
}

/* That the state was not written is noticed in a later turn: each beat is one. */
static void look_at_saver(struct pw_redis *redis)
{
        struct pw_error err;

        if (redis->save)
                save(redis);
        if (pw_redis_saver_failed(redis->saver, &err))
                pw_redis_tell(redis, PW_META_TROUBLE, &err);
}

static bool redis_turn(struct pw_meta *base)
{
        struct pw_redis *redis = pw_container_of(base, struct pw_redis, base);
        uint64_t now_us = pw_now_us();
        bool any = redis->wanted;

        if (redis->wanted)
                act(redis, now_us);
        any |= do_due(redis, now_us);
        if (redis->wanted)
                act(redis, now_us);
        look_at_saver(redis);
        pw_redis_wire_write(redis->wire);
        return pw_redis_tell_all(redis) || any;
}

static uint64_t redis_next_us(const struct pw_meta *base)
{
        const struct pw_redis *redis = pw_container_of(base, const struct pw_redis, base);

        if (redis->wanted || redis->save || pw_redis_has_told(redis))
                return 0;
        return pw_redis_member_next_us(&redis->member, pw_redis_wire_since_us(redis->wire));
}

static void redis_look(struct pw_meta *base)
{
        pw_redis_member_hurry(&pw_container_of(base, struct pw_redis, base)->member, pw_now_us());
}

/* What it joins with later says the same. */
static void redis_drains(struct pw_meta *base, uint32_t successor)
{
        struct pw_redis *redis = pw_container_of(base, struct pw_redis, base);

        redis->successor = successor;
        if (redis->member.state == PW_REDIS_IN && !redis->wanted)
                pw_redis_table_say_own(redis);
}

static enum pw_status redis_submit(struct pw_meta *base, const struct pw_name_ask *ask)
{
        return pw_redis_names_submit(pw_container_of(base, struct pw_redis, base), ask);
}

/* --- life -------------------------------------------------------------------------------------------------------------------- */

static void free_all(struct pw_redis *redis)
{
        pw_redis_wire_free(redis->wire);
        pw_redis_telling_done(redis);
        pw_redis_names_done(redis);
        pw_redis_bindings_done(redis);
        pw_redis_table_done(redis);
        if (!pw_redis_saver_free(redis->saver))
                redis->state.lock_fd = -1; /* for as long as this process lives nobody else is to have the folder */
        pw_redis_state_close(&redis->state);
        free(redis->address);
        free(redis->cluster);
        free(redis->name);
        free(redis->machine);
        free(redis->own_address);
        free(redis->user);
        free(redis->password);
        free(redis);
}

/* What waited was not done; of what was under way nobody knows, but who closes asks no more: it is AWAY too. */
static void redis_close(struct pw_meta *base)
{
        struct pw_redis *redis = pw_container_of(base, struct pw_redis, base);
        struct pw_redis_ask *ask;

        pw_redis_names_refuse(redis);
        pw_redis_wire_cut(redis->wire);
        pw_list_each(&redis->answered, ask, struct pw_redis_ask, link)
                if (ask->answer.outcome == PW_NAMED_UNKNOWN)
                        ask->answer.outcome = PW_NAMED_AWAY;
        free_all(redis);
}

static enum pw_status check(const struct pw_meta_cluster *cluster, struct pw_error *ret_err)
{
        if (!pw_host_name_ok(cluster->name) || !pw_host_name_ok(cluster->host_name) || !pw_host_name_ok(cluster->machine))
                return pw_error_set(ret_err, PW_INVALID,
                                    "cluster \"%s\", host \"%s\", machine \"%s\": each has 1 to %u letters, digits and \"-._\"",
                                    cluster->name, cluster->host_name, cluster->machine, PW_HOST_NAME_MAX);
        if (!*cluster->own_address || strpbrk(cluster->own_address, " \t\n") || strlen(cluster->own_address) > PW_HOST_ADDRESS_MAX)
                return pw_error_set(ret_err, PW_INVALID, "address of this host \"%s\": has blanks, or not 1 to %u bytes",
                                    cluster->own_address, PW_HOST_ADDRESS_MAX);
        if (cluster->lease_us < 100000 || cluster->lease_us > 3600000000)
                return pw_error_set(ret_err, PW_INVALID, "a lease of %llu us: it has from 0.1 s to an hour",
                                    (unsigned long long)cluster->lease_us);
        return PW_OK;
}

static bool copy(const char *text, char **ret_copy)
{
        return !text || (*ret_copy = strdup(text));
}

static void init_lists(struct pw_redis *redis)
{
        for (uint32_t i = 0; i < pw_array_count(redis->fixed); i++)
                pw_list_init(&redis->fixed[i].link);
        pw_list_init(&redis->told);
        pw_list_init(&redis->answered);
        pw_list_init(&redis->untold);
        pw_list_init(&redis->asking);
        pw_list_init(&redis->kept);
}

static struct pw_redis *new_redis(const struct pw_meta_params *params)
{
        const struct pw_meta_cluster *cluster = params->cluster;
        struct pw_redis *redis = calloc(1, sizeof *redis);

        if (!redis)
                return NULL;
        redis->base = (struct pw_meta){ &pw_meta_redis, params->listener, params->context };
        redis->secret = params->secret;
        redis->instance = cluster->instance;
        redis->new_cluster = cluster->new_cluster;
        redis->first_epoch = params->now_s;
        redis->state.lock_fd = -1;
        init_lists(redis);
        pw_redis_member_init(&redis->member, cluster->lease_us, cluster->observer);
        if (copy(cluster->address, &redis->address) && copy(cluster->name, &redis->cluster) &&
            copy(cluster->host_name, &redis->name) && copy(cluster->machine, &redis->machine) &&
            copy(cluster->own_address, &redis->own_address) &&
            copy(cluster->user, &redis->user) && copy(cluster->password, &redis->password))
                return redis;
        free_all(redis);
        return NULL;
}

/* The epoch is used only once it is known after a crash, too. */
static enum pw_status save_first(const struct pw_redis *redis, struct pw_error *ret_err)
{
        char *text;
        enum pw_status status = pw_redis_state_text(&redis->state, pw_redis_table_next, (void *)(uintptr_t)redis, &text, ret_err);

        if (status != PW_OK)
                return status;
        status = pw_redis_state_write(redis->state.folder, text, ret_err);
        free(text);
        return status;
}

/* Who was in the cluster has its number and another epoch at once. */
static enum pw_status start(struct pw_redis *redis, const struct pw_meta_params *params, struct pw_error *ret_err)
{
        struct pw_redis_state *state = &redis->state;
        enum pw_status status = pw_own_folder(params->state_dir, ret_err);

        if (status != PW_OK)
                return status;
        state->cluster = redis->cluster;
        state->host = redis->name;
        state->machine = redis->machine;
        status = pw_redis_state_open(state, params->state_dir, pw_redis_table_known, redis, ret_err);
        if (status == PW_OK)
                status = pw_redis_saver_new(params->state_dir, &redis->saver, ret_err);
        if (status != PW_OK || !state->number)
                return status;
        if (state->epoch == UINT32_MAX)
                return pw_error_set(ret_err, PW_LIMIT,
                                    "%s: this host has used up its epochs, as its clock was once far ahead; remove the file "
                                    "\"cluster\" there, and start it under another name",
                                    params->state_dir);
        state->epoch = params->now_s > state->epoch ? params->now_s : state->epoch + 1;
        redis->host = (struct pw_meta_host){ state->number, state->epoch, state->incarnation };
        redis->joined = true;
        return save_first(redis, ret_err);
}

static enum pw_status redis_open(const struct pw_meta_params *params, struct pw_meta **ret_meta, struct pw_meta_host *ret_host,
                                 struct pw_error *ret_err)
{
        enum pw_status status = params->cluster ? check(params->cluster, ret_err)
                                                : pw_error_set(ret_err, PW_INVALID, "metadata redis: no cluster is named");
        struct pw_redis_wire_params wire;
        struct pw_redis *redis;

        if (status != PW_OK)
                return status;
        redis = new_redis(params);
        if (!redis)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory for metadata");
        wire = (struct pw_redis_wire_params){ params->cluster->loop, redis->address, params->cluster->plaintext, pw_redis_up,
                                              on_down, redis };
        status = pw_redis_wire_new(&wire, &redis->wire, ret_err);
        if (status == PW_OK)
                status = start(redis, params, ret_err);
        if (status != PW_OK) {
                free_all(redis);
                return status;
        }
        pw_redis_name_keys(redis, redis->state.incarnation);
        *ret_meta = &redis->base;
        *ret_host = redis->host;
        return PW_OK;
}

const struct pw_meta_kind pw_meta_redis = {
        .name = "redis",
        .open = redis_open,
        .close = redis_close,
        .submit = redis_submit,
        .turn = redis_turn,
        .look = redis_look,
        .drains = redis_drains,
        .next_us = redis_next_us,
};
