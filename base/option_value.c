/* The value of one option. */
#include "base/option_value.h"

#include "base/memory.h"
#include "base/size.h"

#include <inttypes.h>

#define NAMES_MAX 128u

static void *field_of(const struct pw_option *option, void *settings)
{
        return (char *)settings + option->offset;
}

static void clear_list(struct pw_text_list *list)
{
        for (uint32_t i = 0; i < list->count; i++)
                free(list->items[i]);
        free(list->items);
        *list = (struct pw_text_list){ 0 };
}

static enum pw_status set_text(const char **field, const char *text, struct pw_error *ret_err)
{
        char *copy = strdup(text);

        if (!copy)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a text of %zu bytes", strlen(text));
        free((char *)*field);
        *field = copy;
        return PW_OK;
}

static enum pw_status add_item(struct pw_text_list *list, const char *text, struct pw_error *ret_err)
{
        char *copy = strdup(text);
        char **items = copy ? reallocarray(list->items, list->count + 1, sizeof *items) : NULL;

        if (!items) {
                free(copy);
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a list of %" PRIu32 " texts", list->count + 1);
        }
        items[list->count++] = copy;
        list->items = items;
        return PW_OK;
}

static enum pw_status set_number(uint32_t *field, const char *text, int base, struct pw_error *ret_err)
{
        char *end;
        bool digits = *text >= '0' && *text <= '9';
        unsigned long long number = digits ? strtoull(text, &end, base) : 0;

        if (!digits || *end)
                return pw_error_set(ret_err, PW_INVALID, "\"%.80s\" is not %s number", text, base == 8 ? "an octal" : "a whole");
        if (number > UINT32_MAX)
                return pw_error_set(ret_err, PW_INVALID, "%.80s is above %" PRIu32, text, UINT32_MAX);
        *field = (uint32_t)number;
        return PW_OK;
}

static enum pw_status set_flag(bool *field, const char *text, struct pw_error *ret_err)
{
        bool yes = !strcmp(text, "yes") || !strcmp(text, "true");

        if (!yes && strcmp(text, "no") && strcmp(text, "false"))
                return pw_error_set(ret_err, PW_INVALID, "\"%.80s\" is neither yes nor no", text);
        *field = yes;
        return PW_OK;
}

enum pw_status pw_option_set(const struct pw_option *option, void *settings, const char *text, bool first,
                             struct pw_error *ret_err)
{
        void *field = field_of(option, settings);

        switch (option->kind) {
        case PW_OPTION_TEXT: return set_text(field, text, ret_err);
        case PW_OPTION_SIZE: return pw_size_parse(text, field, ret_err);
        case PW_OPTION_DURATION:
        case PW_OPTION_PERIOD: return pw_duration_parse(text, field, ret_err);
        case PW_OPTION_COUNT: return set_number(field, text, 10, ret_err);
        case PW_OPTION_OCTAL: return set_number(field, text, 8, ret_err);
        case PW_OPTION_FLAG: return set_flag(field, text, ret_err);
        case PW_OPTION_LIST:
                if (first)
                        clear_list(field);
                return add_item(field, text, ret_err);
        }
        return pw_error_set(ret_err, PW_INVALID, "option %s has no kind", option->name);
}

static void set_zero(const struct pw_option *option, void *settings)
{
        void *field = field_of(option, settings);

        switch (option->kind) {
        case PW_OPTION_TEXT: *(const char **)field = NULL; break;
        case PW_OPTION_SIZE:
        case PW_OPTION_DURATION:
        case PW_OPTION_PERIOD: *(uint64_t *)field = 0; break;
        case PW_OPTION_COUNT:
        case PW_OPTION_OCTAL: *(uint32_t *)field = 0; break;
        case PW_OPTION_FLAG: *(bool *)field = false; break;
        case PW_OPTION_LIST: *(struct pw_text_list *)field = (struct pw_text_list){ 0 }; break;
        }
}

enum pw_status pw_options_defaults(const struct pw_options *options, void *settings, struct pw_error *ret_err)
{
        for (uint32_t i = 0; i < options->count; i++)
                set_zero(&options->items[i], settings);
        for (uint32_t i = 0; i < options->count; i++) {
                const struct pw_option *option = &options->items[i];
                enum pw_status status = PW_OK;
                if (option->fallback)
                        status = pw_option_set(option, settings, option->fallback, true, ret_err);
                if (status != PW_OK) {
                        pw_error_prefix(ret_err, "default of %s", option->name);
                        return status;
                }
        }
        return PW_OK;
}

void pw_options_free(const struct pw_options *options, void *settings)
{
        for (uint32_t i = 0; i < options->count; i++) {
                const struct pw_option *option = &options->items[i];
                if (option->kind == PW_OPTION_TEXT)
                        free(*(char **)field_of(option, settings));
                else if (option->kind == PW_OPTION_LIST)
                        clear_list(field_of(option, settings));
                set_zero(option, settings);
        }
}

const struct pw_option *pw_option_find(const struct pw_options *options, const char *name)
{
        for (uint32_t i = 0; i < options->count; i++)
                if (!strcmp(options->items[i].name, name))
                        return &options->items[i];
        return NULL;
}

const char *pw_option_nearest(const struct pw_options *options, const char *name)
{
        const char *names[NAMES_MAX];
        uint32_t count = options->count < NAMES_MAX ? options->count : NAMES_MAX;

        for (uint32_t i = 0; i < count; i++)
                names[i] = options->items[i].name;
        return pw_nearest(name, names, count);
}
