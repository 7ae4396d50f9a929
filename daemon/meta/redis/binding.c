/* The bindings of this host, as the server had them last: put back where it may have lost them, and renewed before they end. */
#include "daemon/meta/redis/redis_private.h"

#include <inttypes.h>
#include <stdio.h>

#define RENEW_US (PW_REDIS_DAY_MS * 1000 / 4)

/* --- as texts ---------------------------------------------------------------------------------------------------------------- */

char *pw_redis_id_format(struct pw_id id, struct pw_name_keeper keeper, char text[PW_REDIS_ID_BYTES])
{
        snprintf(text, PW_REDIS_ID_BYTES, "%u %u %016" PRIx64 "%08x%08x", (unsigned)keeper.host, (unsigned)keeper.epoch, id.place,
                 (unsigned)id.epoch, (unsigned)id.generation);
        return text;
}

bool pw_redis_id_parse(const char *text, struct pw_id *ret_id, struct pw_name_keeper *ret_keeper)
{
        unsigned host, host_epoch, epoch, generation;
        uint64_t place;

        if (sscanf(text, "%u %u %16" SCNx64 "%8x%8x", &host, &host_epoch, &place, &epoch, &generation) != 5 || !host)
                return false;
        *ret_id = (struct pw_id){ place, epoch, generation };
        *ret_keeper = (struct pw_name_keeper){ host, host_epoch };
        if (host == pw_id_host(*ret_id) && host_epoch == epoch)
                ret_keeper->host = ret_keeper->epoch = 0;
        return true;
}

char *pw_redis_key_of(const char *tenant_and_name)
{
        const char *name = tenant_and_name + strlen(tenant_and_name) + 1;
        char *key = malloc(3 * strlen(tenant_and_name) + strlen(name) + 2), *at = key;

        if (!key)
                return NULL;
        for (const char *c = tenant_and_name; *c; c++) {
                if (*c == '/' || *c == '%')
                        at += sprintf(at, "%%%02X", (unsigned)*c);
                else
                        *at++ = *c;
        }
        *at++ = '/';
        strcpy(at, name);
        return key;
}

/* --- the table --------------------------------------------------------------------------------------------------------------- */

static uint64_t key_of(const struct pw_redis *redis, const char *text)
{
        return pw_hash_pair(&redis->secret, text, text + strlen(text) + 1);
}

static size_t bytes_of(const char *text)
{
        size_t tenant_bytes = strlen(text) + 1;

        return tenant_bytes + strlen(text + tenant_bytes) + 1;
}

static struct pw_redis_binding *find(const struct pw_redis *redis, const char *text)
{
        struct pw_redis_binding *binding = pw_table_get(&redis->bindings, key_of(redis, text));

        while (binding && memcmp(binding->text, text, bytes_of(text)) != 0)
                binding = binding->next;
        return binding;
}

static void drop(struct pw_redis *redis, struct pw_redis_binding *binding)
{
        uint64_t key = key_of(redis, binding->text);
        struct pw_redis_binding *first = pw_table_get(&redis->bindings, key), **at = &first;

        while (*at != binding)
                at = &(*at)->next;
        *at = binding->next;
        if (first)
                (void)!pw_table_put(&redis->bindings, key, first); /* its cell is there */
        else
                pw_table_remove(&redis->bindings, key);
        pw_list_remove(&binding->link);
        free(binding);
}

/* Without memory the binding is not renewed: it ends a day later. */
static struct pw_redis_binding *add(struct pw_redis *redis, const char *text)
{
        size_t bytes = bytes_of(text);
        struct pw_redis_binding *binding = calloc(1, sizeof *binding + bytes);
        uint64_t key = key_of(redis, text);

        if (!binding)
                return NULL;
        memcpy(binding->text, text, bytes);
        binding->next = pw_table_get(&redis->bindings, key);
        if (!pw_table_put(&redis->bindings, key, binding)) {
                free(binding);
                return NULL;
        }
        binding->kept_us = pw_now_us();
        pw_list_append(&redis->kept, &binding->link);
        return binding;
}

void pw_redis_binding_note(struct pw_redis *redis, const struct pw_redis_ask *ask)
{
        enum pw_name_outcome outcome = ask->answer.outcome;
        struct pw_redis_binding *binding = find(redis, ask->text);
        bool ours = (ask->kind == PW_NAME_BIND || ask->kind == PW_NAME_TAKE) && outcome == PW_NAMED_OK;

        redis->version = pw_max_u64(redis->version, ask->answer.version);
        if (ours && (binding || (binding = add(redis, ask->text)))) {
                binding->id = ask->answer.id;
                binding->version = ask->answer.version;
        }
        if (ask->kind == PW_NAME_UNBIND && outcome <= PW_NAMED_NOT_FOUND && binding && pw_id_equal(binding->id, ask->id))
                drop(redis, binding);
}

void pw_redis_bindings_done(struct pw_redis *redis)
{
        struct pw_redis_binding *binding;

        pw_list_each(&redis->kept, binding, struct pw_redis_binding, link)
                free(binding);
        pw_table_done(&redis->bindings);
}

/* --- parts ------------------------------------------------------------------------------------------------------------------- */

/* Bindings in one question. They are found again by their text: meanwhile they may end. */
struct part {
        struct pw_redis *redis;
        bool put;
        uint32_t count;
        char *texts[PW_REDIS_PART];
        struct pw_id ids[PW_REDIS_PART];
};

static void free_part(struct part *part)
{
        for (uint32_t i = 0; part && i < part->count; i++)
                free(part->texts[i]);
        free(part);
}

/* Somebody else's binding is older than ours, or ours is gone. */
static void lost(struct part *part, uint32_t i, const char *id_text, const char *version)
{
        struct pw_redis *redis = part->redis;
        struct pw_redis_binding *binding = i < part->count ? find(redis, part->texts[i]) : NULL;
        struct pw_name_keeper keeper;
        struct pw_id id;

        if (!binding || !pw_id_equal(binding->id, part->ids[i]))
                return;
        if (!pw_redis_id_parse(id_text, &id, &keeper))
                return; /* it is put back when this host joins next; a server that throws keys away was complained of */
        pw_redis_tell_changed(redis, part->texts[i], id, strtoull(version, NULL, 10));
        drop(redis, binding);
}

static void on_part(void *context, const struct pw_redis_said *said)
{
        struct part *part = context;
        struct pw_redis *redis = part->redis;

        if (pw_redis_hear(redis, said) == PW_REDIS_OK) {
                for (uint32_t i = 1; i + 2 < said->count; i += 3)
                        lost(part, (uint32_t)strtoul(said->words[i], NULL, 10), said->words[i + 1], said->words[i + 2]);
                if (part->put && redis->member.owed)
                        redis->member.owed--;
        }
        free_part(part);
}

struct texts { char ids[PW_REDIS_PART][PW_REDIS_ID_BYTES], versions[PW_REDIS_PART][24], *keys[PW_REDIS_PART]; };

/* The first that are not renewed since `before_us`, as many as a question takes; they go to the end. NULL: no memory. */
static struct part *take_part(struct pw_redis *redis, struct texts *texts, uint64_t before_us, uint64_t now_us)
{
        struct part *part = calloc(1, sizeof *part);
        struct pw_redis_binding *binding;

        if (!part)
                return NULL;
        part->redis = redis;
        pw_list_each(&redis->kept, binding, struct pw_redis_binding, link) {
                uint32_t i = part->count;

                if (i == PW_REDIS_PART || binding->kept_us > before_us)
                        break;
                part->texts[i] = malloc(bytes_of(binding->text));
                texts->keys[i] = part->texts[i] ? pw_redis_key_of(binding->text) : NULL;
                if (!texts->keys[i]) {
                        free(part->texts[i]);
                        break;
                }
                memcpy(part->texts[i], binding->text, bytes_of(binding->text));
                part->ids[i] = binding->id;
                pw_redis_id_format(binding->id, pw_redis_own(redis), texts->ids[i]);
                snprintf(texts->versions[i], sizeof texts->versions[i], "%" PRIu64, binding->version);
                part->count++;
                binding->kept_us = now_us;
                pw_list_remove(&binding->link);
                pw_list_append(&redis->kept, &binding->link);
        }
        return part;
}

static enum pw_status send_part(struct pw_redis *redis, struct part *part, struct texts *texts)
{
        struct pw_redis_args args;
        enum pw_status status;

        pw_redis_args_begin(redis, &args);
        pw_redis_arg(&args, part->put ? "put" : "keep");
        for (uint32_t i = 0; i < part->count; i++) {
                pw_redis_arg(&args, texts->keys[i]);
                pw_redis_arg(&args, texts->ids[i]);
                pw_redis_arg(&args, texts->versions[i]);
        }
        status = pw_redis_wire_run(redis->wire, PW_REDIS_NAMES, &args, on_part, part);
        for (uint32_t i = 0; i < part->count; i++)
                free(texts->keys[i]);
        return status;
}

/* False: there are no more. */
static bool do_part(struct pw_redis *redis, bool put, uint64_t before_us, uint64_t now_us)
{
        pw_auto_free struct texts *texts = malloc(sizeof *texts);
        struct part *part = texts ? take_part(redis, texts, before_us, now_us) : NULL;
        enum pw_status status = PW_NO_MEMORY;

        if (part) {
                part->put = put;
                status = part->count ? send_part(redis, part, texts) : PW_OK;
        }
        if (status == PW_OK && part && part->count) {
                redis->member.owed += put;
                return part->count == PW_REDIS_PART;
        }
        free_part(part);
        if (status != PW_OK)
                pw_redis_stuck(redis, status);
        return false;
}

/* Each once: those that were asked about have a later time. */
static void do_all(struct pw_redis *redis, bool put)
{
        uint64_t now_us = pw_now_us();

        while (do_part(redis, put, now_us - 1, now_us)) {
        }
}

void pw_redis_bindings_put(struct pw_redis *redis)
{
        do_all(redis, true);
}

void pw_redis_bindings_check(struct pw_redis *redis)
{
        do_all(redis, false);
}

void pw_redis_bindings_renew(struct pw_redis *redis, uint64_t now_us)
{
        const struct pw_redis_binding *first = pw_list_first(&redis->kept, struct pw_redis_binding, link);

        if (!pw_list_empty(&redis->kept) && first->kept_us + RENEW_US <= now_us)
                do_part(redis, false, now_us - RENEW_US, now_us);
}
