/* The options of a device as the daemon writes them. */
#include "executor/attach.h"

#include <errno.h>
#include <stdio.h>

static enum pw_status number_parse(const char *key, const char *text, uint64_t *ret_number, struct pw_error *ret_err)
{
        char *end;

        errno = 0;
        *ret_number = strtoull(text, &end, 10);
        if (errno || end == text || *end)
                return pw_error_set(ret_err, PW_PROTOCOL, "device option %s=%s: not a number", key, text);
        return PW_OK;
}

static enum pw_status option_parse(const char *key, const char *value, struct pw_device_options *options, struct pw_error *ret_err)
{
        struct { const char *key; uint64_t *number; } numbers[] = {
                { "capacity", &options->params.capacity_bytes },
                { "launch_delay_us", &options->params.launch_delay_us },
                { "copy_bandwidth", &options->params.copy_bandwidth },
                { "apart", &options->params.apart },
                { "ordinal", &options->params.ordinal },
                { "nccl_off", &options->collective.off },
                { "nccl_nvls", &options->collective.nvls },
                { "nccl_channels", &options->collective.channels },
        };

        if (!strcmp(key, "kind"))
                snprintf(options->kind, sizeof options->kind, "%s", value);
        if (!strcmp(key, "library"))
                snprintf(options->params.library, sizeof options->params.library, "%s", value);
        if (!strcmp(key, "nccl_library"))
                snprintf(options->collective.library, sizeof options->collective.library, "%s", value);
        for (uint32_t i = 0; i < pw_array_count(numbers); i++)
                if (!strcmp(key, numbers[i].key))
                        return number_parse(key, value, numbers[i].number, ret_err);
        return PW_OK;
}

enum pw_status pw_device_options_parse(const char *text, struct pw_device_options *ret_options, struct pw_error *ret_err)
{
        struct pw_device_options options = { .kind = "" };
        pw_auto_free char *copy = strdup(text);
        char *rest = copy, *word;

        if (!copy)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for the options of a device");
        while ((word = strsep(&rest, "\n"))) {
                char *value = strchr(word, '=');
                enum pw_status status;
                if (!value)
                        continue;
                *value++ = 0;
                status = option_parse(word, value, &options, ret_err);
                if (status != PW_OK)
                        return status;
        }
        if (!options.kind[0])
                return pw_error_set(ret_err, PW_PROTOCOL, "device options \"%s\" name no kind", text);
        *ret_options = options;
        return PW_OK;
}
