/* Metadata of one host, in the process: an epoch in a file of the state folder, names in a table. */
#include "base/memory.h"
#include "base/table.h"
#include "daemon/meta/kinds.h"
#include "daemon/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

#define HOST_MAX 65534u

struct entry {
        struct entry *next; /* of the same key */
        struct pw_id id;
        char *tenant, *name;
};

struct embedded {
        struct pw_meta base;
        struct pw_table names; /* key of tenant and name -> chain */
        struct pw_hash_secret secret;
};

static uint64_t key_of(const struct embedded *meta, const char *tenant, const char *name)
{
        return pw_hash_pair(&meta->secret, tenant, name);
}

static enum pw_status make_folders(const char *path, struct pw_error *ret_err)
{
        pw_auto_free char *copy = strdup(path);

        if (!copy)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory for %s", path);
        for (char *at = copy + 1; *at; at++) {
                if (*at != '/')
                        continue;
                *at = 0;
                if (mkdir(copy, 0755) < 0 && errno != EEXIST)
                        return pw_error_errno(ret_err, errno, "mkdir %s", copy);
                *at = '/';
        }
        if (mkdir(copy, 0700) < 0 && errno != EEXIST)
                return pw_error_errno(ret_err, errno, "mkdir %s", copy);
        return PW_OK;
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
        enum pw_status status = make_folders(params->state_dir, ret_err);

        if (status == PW_OK)
                status = next_epoch(params->state_dir, params->now_s, &epoch, ret_err);
        if (status == PW_OK)
                status = read_host(params->state_dir, &host, ret_err);
        if (status != PW_OK)
                return status;
        meta = calloc(1, sizeof *meta);
        if (!meta)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory for metadata");
        meta->base.kind = &pw_meta_embedded;
        meta->secret = params->secret;
        *ret_meta = &meta->base;
        *ret_host = (struct pw_meta_host){ .host = host, .epoch = epoch };
        return PW_OK;
}

static void free_entry(struct entry *entry)
{
        free(entry->tenant);
        free(entry->name);
        free(entry);
}

static void embedded_close(struct pw_meta *base)
{
        struct embedded *meta = pw_container_of(base, struct embedded, base);
        struct entry *entry;

        for (uint32_t i = 0; (entry = pw_table_next(&meta->names, &i));) {
                while (entry) {
                        struct entry *next = entry->next;

                        free_entry(entry);
                        entry = next;
                }
        }
        pw_table_done(&meta->names);
        free(meta);
}

static struct entry *find_entry(const struct embedded *meta, const char *tenant, const char *name)
{
        struct entry *entry = pw_table_get(&meta->names, key_of(meta, tenant, name));

        while (entry && (strcmp(entry->tenant, tenant) || strcmp(entry->name, name)))
                entry = entry->next;
        return entry;
}

static void embedded_bind(struct pw_meta *base, const char *tenant, const char *name, struct pw_id id)
{
        struct embedded *meta = pw_container_of(base, struct embedded, base);
        uint64_t key = key_of(meta, tenant, name);
        struct entry *entry = find_entry(meta, tenant, name);

        if (entry) {
                entry->id = id;
                return;
        }
        entry = calloc(1, sizeof *entry);
        if (!entry)
                return; /* a suggestion is lost, the store has the name */
        *entry = (struct entry){ pw_table_get(&meta->names, key), id, strdup(tenant), strdup(name) };
        if (!entry->tenant || !entry->name || !pw_table_put(&meta->names, key, entry))
                free_entry(entry);
}

static void embedded_unbind(struct pw_meta *base, const char *tenant, const char *name, struct pw_id id)
{
        struct embedded *meta = pw_container_of(base, struct embedded, base);
        uint64_t key = key_of(meta, tenant, name);
        struct entry *found = find_entry(meta, tenant, name), *first = pw_table_get(&meta->names, key);

        if (!found || !pw_id_equal(found->id, id))
                return;
        for (struct entry **at = &first; *at; at = &(*at)->next) {
                if (*at == found) {
                        *at = found->next;
                        break;
                }
        }
        if (first)
                pw_table_put(&meta->names, key, first);
        else
                pw_table_remove(&meta->names, key);
        free_entry(found);
}

static enum pw_status embedded_find(struct pw_meta *base, const char *tenant, const char *name, struct pw_id *ret_id)
{
        struct entry *entry = find_entry(pw_container_of(base, struct embedded, base), tenant, name);

        if (!entry)
                return PW_NOT_FOUND;
        *ret_id = entry->id;
        return PW_OK;
}

const struct pw_meta_kind pw_meta_embedded = {
        .name = "embedded",
        .open = embedded_open,
        .close = embedded_close,
        .bind = embedded_bind,
        .unbind = embedded_unbind,
        .find = embedded_find,
};
