/* --tenant: "robert=bo", and "uid-1007=bo" of a user without a name. */
#include "daemon/settings/tenants.h"

#include "base/host_name.h"

#include <string.h>

static size_t user_bytes(const char *line)
{
        size_t bytes = strcspn(line, "=: \t\r\n");

        return line[bytes] == '=' ? bytes : 0;
}

static const char *name_of(const char *line) { return line + user_bytes(line) + 1; }

static enum pw_status check_line(const char *line, struct pw_error *ret_err)
{
        if (!user_bytes(line) || !pw_host_name_ok(name_of(line)))
                return pw_error_set(ret_err, PW_INVALID, "--tenant \"%.200s\": a user of this host and what its tenant is called "
                                    "in the cluster, up to %u letters, digits and \"-._\", for example robert=bo", line,
                                    PW_HOST_NAME_MAX);
        if (!strncmp(name_of(line), "uid-", 4))
                return pw_error_set(ret_err, PW_INVALID, "--tenant \"%.200s\": no tenant of a cluster is called uid-...", line);
        return PW_OK;
}

static enum pw_status check_two(const char *line, const char *before, struct pw_error *ret_err)
{
        if (user_bytes(line) == user_bytes(before) && !strncmp(line, before, user_bytes(line)))
                return pw_error_set(ret_err, PW_INVALID, "--tenant \"%.200s\": its user has a tenant already, \"%.200s\"", line,
                                    before);
        if (!strcmp(name_of(line), name_of(before)))
                return pw_error_set(ret_err, PW_INVALID, "--tenant \"%.200s\": another user has that tenant, \"%.200s\"", line,
                                    before);
        return PW_OK;
}

enum pw_status pw_tenants_check(const struct pw_text_list *lines, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;

        for (uint32_t i = 0; i < lines->count && status == PW_OK; i++) {
                status = check_line(lines->items[i], ret_err);
                for (uint32_t j = 0; j < i && status == PW_OK; j++)
                        status = check_two(lines->items[i], lines->items[j], ret_err);
        }
        return status;
}

const char *pw_tenants_name(const struct pw_text_list *lines, const char *user)
{
        for (uint32_t i = 0; i < lines->count; i++)
                if (user_bytes(lines->items[i]) == strlen(user) && !strncmp(lines->items[i], user, strlen(user)))
                        return name_of(lines->items[i]);
        return NULL;
}

const char *pw_tenants_user(const struct pw_text_list *lines, const char *name, size_t *ret_bytes)
{
        for (uint32_t i = 0; i < lines->count; i++)
                if (!strcmp(name_of(lines->items[i]), name)) {
                        *ret_bytes = user_bytes(lines->items[i]);
                        return lines->items[i];
                }
        return NULL;
}
