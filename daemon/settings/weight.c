/* --weight: "bo=4", and "*=2" for every tenant. */
#include "daemon/settings/weight.h"

#include "base/memory.h"
#include "daemon/settings/quota.h"
#include "scheduler/scheduler.h"

#include <ctype.h>

/* A user's name has no '=', blank or colon. */
static size_t tenant_bytes(const char *line)
{
        size_t bytes = strcspn(line, "=: \t\r\n");

        return line[bytes] == '=' ? bytes : 0;
}

static enum pw_status read_line(const char *line, uint32_t *ret_weight, struct pw_error *ret_err)
{
        size_t bytes = tenant_bytes(line);
        unsigned long weight = 0;
        char *end = NULL;

        if (bytes && isdigit((unsigned char)line[bytes + 1]))
                weight = strtoul(line + bytes + 1, &end, 10);
        if (!end || *end || weight < 1 || weight > PW_WEIGHT_MAX)
                return pw_error_set(ret_err, PW_INVALID,
                                    "--weight \"%.200s\": a user and a number from 1 to %u, for example bo=4", line, PW_WEIGHT_MAX);
        if (pw_quota_is_number(line, bytes))
                return pw_error_set(ret_err, PW_INVALID, "--weight \"%.200s\": a number is no user's name: write it, or uid-%.200s "
                                    "for a user that has none", line, line);
        *ret_weight = (uint32_t)weight;
        return PW_OK;
}

static bool is_of(const char *line, const char *tenant, size_t bytes)
{
        return tenant_bytes(line) == bytes && !strncmp(line, tenant, bytes);
}

enum pw_status pw_weights_check(const struct pw_text_list *lines, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;
        uint32_t ignored;

        for (uint32_t i = 0; i < lines->count && status == PW_OK; i++) {
                status = read_line(lines->items[i], &ignored, ret_err);
                for (uint32_t j = 0; j < i && status == PW_OK; j++)
                        if (is_of(lines->items[j], lines->items[i], tenant_bytes(lines->items[i])))
                                status = pw_error_set(ret_err, PW_INVALID,
                                                      "--weight \"%.200s\": its tenant has a weight already, \"%.200s\"",
                                                      lines->items[i], lines->items[j]);
        }
        return status;
}

enum pw_status pw_weight_apply(struct pw_daemon *daemon, const struct pw_tenant *tenant, struct pw_error *ret_err)
{
        const struct pw_text_list *lines = &daemon->settings.weights;
        const char *const names[] = { "*", tenant->name };
        enum pw_status status = PW_OK;
        uint32_t weight = 1;

        for (uint32_t n = 0; n < pw_array_count(names); n++)
                for (uint32_t i = 0; i < lines->count && status == PW_OK; i++)
                        if (is_of(lines->items[i], names[n], strlen(names[n])))
                                status = read_line(lines->items[i], &weight, ret_err);
        return status == PW_OK ? pw_scheduler_weight(daemon->scheduler, tenant->name, weight, ret_err) : status;
}

enum pw_status pw_weights_apply(struct pw_daemon *daemon, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;
        struct pw_tenant *tenant;

        for (uint32_t i = 0; status == PW_OK && (tenant = pw_table_next(&daemon->registry.tenants, &i));)
                status = pw_weight_apply(daemon, tenant, ret_err);
        return status;
}
