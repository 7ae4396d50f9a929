/* Metadata of one host, in the process: an epoch in a file of the state folder, names in a table. */
#include "base/memory.h"
#include "base/table.h"
#include "daemon/meta/kinds.h"
#include "daemon/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>

#define HOST_MAX 65534u

struct entry {
        struct entry *next; /* of the same key */
        struct pw_id id;
        uint64_t version;
        char text[]; /* tenant, 0, name, 0 */
};

struct embedded {
        struct pw_meta base;
        struct pw_table names; /* key of tenant and name -> chain */
        struct pw_hash_secret secret;
        uint64_t version;      /* of the last binding */
        struct pw_name_answer *answers; /* to be told in the next turn */
        uint32_t count, capacity;
};

static uint64_t key_of(const struct embedded *meta, const char *tenant, const char *name)
{
        return pw_hash_pair(&meta->secret, tenant, name);
}

enum { EMPTY = -1, NO_NUMBER = -2 };

/* The number on the one line of a file, up to `max`; EMPTY, or NO_NUMBER where anything else stands in it. */
static enum pw_status read_number(int fd, const char *path, uint32_t max, int64_t *ret_number, struct pw_error *ret_err)
{
        char text[32], *end;
        unsigned long long number;
        ssize_t length = pread(fd, text, sizeof text, 0);

        if (length < 0)
                return pw_error_errno(ret_err, errno, "read %s", path);
        *ret_number = length ? NO_NUMBER : EMPTY;
        if (!length || length == sizeof text || text[0] < '0' || text[0] > '9')
                return PW_OK;
        text[length] = 0;
        errno = 0;
        number = strtoull(text, &end, 10);
        end += *end == '\n';
        if (!errno && number <= max && end == text + length)
                *ret_number = (int64_t)number;
        return PW_OK;
}

/* At least one more than the last, under a lock: daemons with other run dirs may share the folder. */
static enum pw_status next_epoch(const char *state_dir, uint32_t now_s, uint32_t *ret_epoch, struct pw_error *ret_err)
{
        char path[4096], text[32];
        enum pw_status status;
        uint32_t epoch;
        int64_t last;
        int length;
        pw_auto_close int fd = -1;

        snprintf(path, sizeof path, "%s/epoch", state_dir);
        status = pw_own_file(state_dir, "epoch", &fd, ret_err);
        if (status != PW_OK)
                return status;
        if (flock(fd, LOCK_EX) < 0)
                return pw_error_errno(ret_err, errno, "lock %s", path);
        status = read_number(fd, path, UINT32_MAX, &last, ret_err);
        if (status != PW_OK)
                return status;
        if (last == NO_NUMBER)
                return pw_error_set(ret_err, PW_SYSTEM, "%s: holds no number; remove it if no other host ever used this number",
                                    path);
        if (last == UINT32_MAX)
                return pw_error_set(ret_err, PW_LIMIT,
                                    "%s: this host has used up its epochs, as its clock was once far ahead; remove the file when "
                                    "no id of it is in use anywhere",
                                    path);
        if (last == EMPTY)
                last = 0;
        epoch = now_s > last ? now_s : (uint32_t)last + 1;
        length = snprintf(text, sizeof text, "%u\n", epoch);
        if (pwrite(fd, text, (size_t)length, 0) != length || ftruncate(fd, length) < 0 || fsync(fd) < 0)
                return pw_error_errno(ret_err, errno, "write %s", path);
        *ret_epoch = epoch;
        return PW_OK;
}

/* The number in the file `host`, where somebody put one; else 0. */
static enum pw_status read_host(const char *state_dir, uint32_t *ret_host, struct pw_error *ret_err)
{
        char path[4096];
        pw_auto_close int fd = -1;
        enum pw_status status = PW_OK;
        int64_t host = 0;

        snprintf(path, sizeof path, "%s/host", state_dir);
        fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0 && errno != ENOENT)
                return pw_error_errno(ret_err, errno, "open %s", path);
        if (fd >= 0)
                status = read_number(fd, path, HOST_MAX, &host, ret_err);
        if (status != PW_OK)
                return status;
        if (host < 0)
                return pw_error_set(ret_err, PW_SYSTEM, "%s: holds no number of a host, 0 to %u", path, HOST_MAX);
        *ret_host = (uint32_t)host;
        return PW_OK;
}

static enum pw_status embedded_open(const struct pw_meta_params *params, struct pw_meta **ret_meta, struct pw_meta_host *ret_host,
                                    struct pw_error *ret_err)
{
        struct embedded *meta;
        uint32_t host, epoch;
        enum pw_status status = pw_own_folder(params->state_dir, ret_err);

        if (status == PW_OK)
                status = next_epoch(params->state_dir, params->now_s, &epoch, ret_err);
        if (status == PW_OK)
                status = read_host(params->state_dir, &host, ret_err);
        if (status != PW_OK)
                return status;
        meta = calloc(1, sizeof *meta);
        if (!meta)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory for metadata");
        meta->base = (struct pw_meta){ &pw_meta_embedded, params->listener, params->context };
        meta->secret = params->secret;
        *ret_meta = &meta->base;
        *ret_host = (struct pw_meta_host){ .host = host, .epoch = epoch };
        return PW_OK;
}

/* --- names ------------------------------------------------------------------------------------------------------------------- */

static bool is_of(const struct entry *entry, const char *tenant, const char *name)
{
        return !strcmp(entry->text, tenant) && !strcmp(entry->text + strlen(tenant) + 1, name);
}

static struct entry *find_entry(const struct embedded *meta, const char *tenant, const char *name)
{
        struct entry *entry = pw_table_get(&meta->names, key_of(meta, tenant, name));

        while (entry && !is_of(entry, tenant, name))
                entry = entry->next;
        return entry;
}

/* NULL: out of memory. */
static const struct entry *add_entry(struct embedded *meta, const struct pw_name_ask *ask)
{
        size_t tenant_bytes = strlen(ask->tenant) + 1, name_bytes = strlen(ask->name) + 1;
        struct entry *entry = malloc(sizeof *entry + tenant_bytes + name_bytes);
        uint64_t key = key_of(meta, ask->tenant, ask->name);

        if (!entry)
                return NULL;
        *entry = (struct entry){ .next = pw_table_get(&meta->names, key), .id = ask->id, .version = meta->version + 1 };
        memcpy(entry->text, ask->tenant, tenant_bytes);
        memcpy(entry->text + tenant_bytes, ask->name, name_bytes);
        if (!pw_table_put(&meta->names, key, entry)) {
                free(entry);
                return NULL;
        }
        meta->version++;
        return entry;
}

static void remove_entry(struct embedded *meta, const struct pw_name_ask *ask, struct entry *entry)
{
        uint64_t key = key_of(meta, ask->tenant, ask->name);
        struct entry *first = pw_table_get(&meta->names, key), **at = &first;

        while (*at != entry)
                at = &(*at)->next;
        *at = entry->next;
        if (first)
                (void)!pw_table_put(&meta->names, key, first); /* its cell is there */
        else
                pw_table_remove(&meta->names, key);
        free(entry);
}

/* Done at once, told in the next turn. */
static enum pw_status embedded_submit(struct pw_meta *base, const struct pw_name_ask *ask)
{
        struct embedded *meta = pw_container_of(base, struct embedded, base);
        struct entry *entry = find_entry(meta, ask->tenant, ask->name);
        const struct entry *bound = entry;
        struct pw_name_answer *answer;

        if (!pw_grow((void **)&meta->answers, &meta->capacity, meta->count + 1, sizeof *meta->answers))
                return PW_NO_MEMORY;
        if (!bound && ask->kind == PW_NAME_BIND && !(bound = add_entry(meta, ask)))
                return PW_NO_MEMORY;
        answer = &meta->answers[meta->count++];
        *answer = (struct pw_name_answer){ .token = ask->token, .outcome = PW_NAMED_NOT_FOUND };
        if (!bound)
                return PW_OK;
        answer->outcome = ask->kind == PW_NAME_RESOLVE || pw_id_equal(bound->id, ask->id) ? PW_NAMED_OK : PW_NAMED_TAKEN;
        answer->id = bound->id;
        answer->version = bound->version;
        if (ask->kind == PW_NAME_UNBIND && answer->outcome == PW_NAMED_OK)
                remove_entry(meta, ask, entry);
        return PW_OK;
}

/* --- turns -------------------------------------------------------------------------------------------------------------------- */

/* What is asked meanwhile is answered in the next turn, or by close(). */
static bool embedded_turn(struct pw_meta *base)
{
        struct embedded *meta = pw_container_of(base, struct embedded, base);
        struct pw_name_answer *answers = meta->answers;
        uint32_t count = meta->count;

        meta->answers = NULL;
        meta->count = meta->capacity = 0;
        for (uint32_t i = 0; i < count; i++)
                base->listener->answered(base->context, &answers[i]);
        free(answers);
        return count;
}

static uint64_t embedded_next_us(const struct pw_meta *base)
{
        return pw_container_of(base, const struct embedded, base)->count ? 0 : UINT64_MAX;
}

/* The names go with their host: what was done is as if it had not been. */
static void embedded_close(struct pw_meta *base)
{
        struct embedded *meta = pw_container_of(base, struct embedded, base);
        struct entry *entry;

        for (uint32_t i = 0; i < meta->count; i++)
                base->listener->answered(base->context, &(struct pw_name_answer){ .token = meta->answers[i].token,
                                                                                   .outcome = PW_NAMED_AWAY });
        free(meta->answers);
        for (uint32_t i = 0; (entry = pw_table_next(&meta->names, &i));) {
                while (entry) {
                        struct entry *next = entry->next;

                        free(entry);
                        entry = next;
                }
        }
        pw_table_done(&meta->names);
        free(meta);
}

static void embedded_look(struct pw_meta *base) { (void)base; } /* there are no others */

static void embedded_drains(struct pw_meta *base, uint32_t successor) { (void)base, (void)successor; } /* likewise */

const struct pw_meta_kind pw_meta_embedded = {
        .name = "embedded",
        .open = embedded_open,
        .close = embedded_close,
        .submit = embedded_submit,
        .turn = embedded_turn,
        .look = embedded_look,
        .drains = embedded_drains,
        .next_us = embedded_next_us,
};
