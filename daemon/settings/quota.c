/* --quota: "bo:host=2GiB,device=1GiB,objects=100000,sessions=50", and "*" for every tenant. */
#include "daemon/settings/quota.h"

#include "base/memory.h"
#include "base/size.h"

#include <errno.h>
#include <pwd.h>

static enum pw_status read_count(const char *text, uint64_t *ret_count, struct pw_error *ret_err)
{
        unsigned long long count;
        char *end;

        errno = 0;
        count = strtoull(text, &end, 10);
        if (end == text || *end || *text == '-' || errno || !count)
                return pw_error_set(ret_err, PW_INVALID, "\"%s\" is no number from 1 on", text);
        *ret_count = count;
        return PW_OK;
}

/* "host=2GiB"; "none" lifts what "*" says. `named`: a bit for each that lines of the tenant have named. */
static enum pw_status read_part(char *part, struct pw_quota *quota, uint32_t *named, struct pw_error *ret_err)
{
        const struct { const char *key; uint64_t *field; bool bytes; } keys[] = {
                { "host", &quota->host_bytes, true }, { "device", &quota->device_bytes, true },
                { "objects", &quota->objects, false }, { "sessions", &quota->sessions, false },
        };
        char *value = strchr(part, '=');

        if (value)
                *value++ = 0;
        for (uint32_t i = 0; value && i < pw_array_count(keys); i++) {
                if (strcmp(keys[i].key, part))
                        continue;
                if (*named & UINT32_C(1) << i)
                        return pw_error_set(ret_err, PW_INVALID, "%s is given twice for this tenant", part);
                *named |= UINT32_C(1) << i;
                if (!strcmp(value, "none")) {
                        *keys[i].field = PW_QUOTA_NONE;
                        return PW_OK;
                }
                return keys[i].bytes ? pw_size_parse(value, keys[i].field, ret_err) : read_count(value, keys[i].field, ret_err);
        }
        return pw_error_set(ret_err, PW_INVALID, "\"%s\" is none of host=SIZE, device=SIZE, objects=N, sessions=N", part);
}

bool pw_quota_is_number(const char *tenant, size_t bytes) { return bytes && strspn(tenant, "0123456789") >= bytes; }

/* A tenant is a user: a name without blanks, and no number alone, or nobody would have it. */
static enum pw_status check_tenant(const char *line, struct pw_error *ret_err)
{
        const char *end = strrchr(line, ':');

        if (end && pw_quota_is_number(line, (size_t)(end - line)))
                return pw_error_set(ret_err, PW_INVALID,
                                    "--quota \"%s\": a number is no user's name: write it, or uid-%s for a user that has none",
                                    line, line);
        if (end && end > line && line + strcspn(line, " \t\r\n") >= end)
                return PW_OK;
        return pw_error_set(ret_err, PW_INVALID, "--quota \"%s\": no name of a user stands before the colon, as in bo:host=2GiB",
                            line);
}

static enum pw_status read_line(const char *line, struct pw_quota *quota, uint32_t *named, struct pw_error *ret_err)
{
        pw_auto_free char *copy = strdup(strrchr(line, ':') ? strrchr(line, ':') + 1 : "");
        char *rest = copy;
        enum pw_status status = check_tenant(line, ret_err);
        struct pw_error err;

        if (status != PW_OK)
                return status;
        if (!copy)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");
        while (rest) {
                status = read_part(strsep(&rest, ","), quota, named, &err);

                if (status != PW_OK)
                        return pw_error_set(ret_err, status, "--quota \"%s\": %s, for example bo:host=2GiB,sessions=50", line,
                                            err.text);
        }
        return PW_OK;
}

static bool is_of(const char *line, const char *tenant)
{
        const char *end = strrchr(line, ':');

        return end && (size_t)(end - line) == strlen(tenant) && !strncmp(line, tenant, strlen(tenant));
}

enum pw_status pw_quota_read(const struct pw_text_list *lines, const char *tenant, struct pw_quota *ret_quota,
                             struct pw_error *ret_err)
{
        struct pw_quota quota = { PW_QUOTA_NONE, PW_QUOTA_NONE, PW_QUOTA_NONE, PW_QUOTA_SESSIONS }, ignored;
        const char *const names[] = { "*", tenant };
        enum pw_status status;

        for (uint32_t n = 0; n < pw_array_count(names); n++)
                for (uint32_t i = 0; i < lines->count; i++) {
                        uint32_t named = 0; /* pw_quotas_check() has looked for what is given twice */

                        status = read_line(lines->items[i], is_of(lines->items[i], names[n]) ? &quota : &ignored, &named, ret_err);
                        if (status != PW_OK)
                                return status;
                }
        *ret_quota = quota;
        return PW_OK;
}

enum pw_status pw_quotas_check(const struct pw_text_list *lines, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;
        struct pw_quota ignored;

        for (uint32_t i = 0; i < lines->count && status == PW_OK; i++) {
                const char *end = strrchr(lines->items[i], ':');
                size_t tenant_bytes = end ? (size_t)(end - lines->items[i]) + 1 : 0;
                uint32_t named = 0;

                for (uint32_t j = 0; j <= i && status == PW_OK; j++)
                        if (j == i || (tenant_bytes && !strncmp(lines->items[i], lines->items[j], tenant_bytes)))
                                status = read_line(lines->items[j], &ignored, &named, ret_err);
        }
        return status;
}

/* A user to come may have a quota; so may a number that no user has a name for, whose tenant is called "uid-1000". */
static bool is_unknown(const char *user)
{
        char buffer[4096];
        struct passwd entry, *found = NULL;

        return strcmp(user, "*") && (strncmp(user, "uid-", 4) || !pw_quota_is_number(user + 4, strlen(user + 4))) &&
                getpwnam_r(user, &entry, buffer, sizeof buffer, &found) == 0 && !found;
}

/* Has a line before this one the same tenant? */
static bool is_first_of(const struct pw_text_list *lines, uint32_t line, const char *tenant)
{
        for (uint32_t i = 0; i < line; i++)
                if (is_of(lines->items[i], tenant))
                        return false;
        return true;
}

void pw_quotas_look_up(const struct pw_text_list *lines, struct pw_quotas_unknown *unknown)
{
        for (uint32_t i = 0; i < lines->count; i++) {
                const char *end = strrchr(lines->items[i], ':');
                char *tenant = end ? strndup(lines->items[i], (size_t)(end - lines->items[i])) : NULL;

                if (!tenant || !is_first_of(lines, i, tenant) || !is_unknown(tenant)) {
                        free(tenant);
                } else if (unknown->count++ < pw_array_count(unknown->names)) {
                        unknown->names[unknown->count - 1] = tenant;
                } else {
                        free(tenant);
                }
        }
}

void pw_quotas_warn(const struct pw_daemon *daemon, const struct pw_quotas_unknown *unknown)
{
        uint32_t shown = (uint32_t)pw_min_u64(unknown->count, pw_array_count(unknown->names));

        for (uint32_t i = 0; i < shown; i++)
                pw_log(&daemon->log, PW_LOG_WARNING, "quota for a user that does not exist yet user=%s", unknown->names[i]);
        if (unknown->count > shown)
                pw_log(&daemon->log, PW_LOG_WARNING, "quotas for more users that do not exist yet users=%u",
                       unknown->count - shown);
}

void pw_quotas_unknown_done(struct pw_quotas_unknown *unknown)
{
        for (uint32_t i = 0; i < pw_array_count(unknown->names); i++)
                free(unknown->names[i]);
}

enum pw_status pw_quota_apply(struct pw_daemon *daemon, struct pw_tenant *tenant, struct pw_error *ret_err)
{
        enum pw_status status = pw_quota_read(&daemon->settings.quotas, tenant->name, &tenant->quota, ret_err);

        if (status == PW_OK)
                status = pw_store_quota(daemon->store, tenant->name, &tenant->quota, pw_now_us(), ret_err);
        if (status == PW_OK)
                status = pw_scheduler_quota(daemon->scheduler, tenant->name, tenant->quota.device_bytes, ret_err);
        return status;
}

enum pw_status pw_quotas_apply(struct pw_daemon *daemon, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;
        struct pw_tenant *tenant;

        for (uint32_t i = 0; status == PW_OK && (tenant = pw_table_next(&daemon->registry.tenants, &i));)
                status = pw_quota_apply(daemon, tenant, ret_err);
        daemon->loop.more = true; /* who waited may have room now */
        return status;
}

enum pw_status pw_quota_session(const struct pw_tenant *tenant, struct pw_error *ret_err)
{
        if (tenant->sessions < tenant->quota.sessions)
                return PW_OK;
        return pw_error_set(ret_err, PW_LIMIT,
                            "tenant %s has %u sessions, its quota, those included that ended while their process lives: end one, "
                            "or raise --quota", tenant->name, tenant->sessions);
}
