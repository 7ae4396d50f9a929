/* Two values of one option: are they the same, exchange them, as text. */
#include "base/option.h"

#include "base/memory.h"
#include "base/size.h"

#include <inttypes.h>

static const void *peek(const struct pw_option *option, const void *settings)
{
        return (const char *)settings + option->offset;
}

static bool same_text(const char *a, const char *b)
{
        return a && b ? !strcmp(a, b) : a == b;
}

static bool same_list(const struct pw_text_list *a, const struct pw_text_list *b)
{
        for (uint32_t i = 0; i < a->count && i < b->count; i++)
                if (strcmp(a->items[i], b->items[i]))
                        return false;
        return a->count == b->count;
}

static size_t value_bytes(enum pw_option_kind kind)
{
        switch (kind) {
        case PW_OPTION_TEXT: return sizeof(char *);
        case PW_OPTION_SIZE:
        case PW_OPTION_PERIOD:
        case PW_OPTION_DURATION: return sizeof(uint64_t);
        case PW_OPTION_COUNT:
        case PW_OPTION_OCTAL: return sizeof(uint32_t);
        case PW_OPTION_FLAG: return sizeof(bool);
        case PW_OPTION_LIST: return sizeof(struct pw_text_list);
        }
        return 0;
}

bool pw_option_same(const struct pw_option *option, const void *settings, const void *others)
{
        const void *a = peek(option, settings), *b = peek(option, others);

        if (option->kind == PW_OPTION_TEXT)
                return same_text(*(const char *const *)a, *(const char *const *)b);
        if (option->kind == PW_OPTION_LIST)
                return same_list(a, b);
        return !memcmp(a, b, value_bytes(option->kind));
}

void pw_option_swap(const struct pw_option *option, void *settings, void *others)
{
        char kept[sizeof(struct pw_text_list)], *a = (char *)settings + option->offset, *b = (char *)others + option->offset;
        size_t bytes = value_bytes(option->kind);

        memcpy(kept, a, bytes);
        memcpy(a, b, bytes);
        memcpy(b, kept, bytes);
}

static void format_list(const struct pw_text_list *list, char *text, size_t text_bytes)
{
        size_t used = 0;

        *text = 0;
        for (uint32_t i = 0; i < list->count && used < text_bytes; i++)
                used += (size_t)snprintf(text + used, text_bytes - used, "%s%s", i ? ", " : "", list->items[i]);
}

char *pw_option_format(const struct pw_option *option, const void *settings, char *text, size_t text_bytes)
{
        const void *value = peek(option, settings);
        char small[16];

        switch (option->kind) {
        case PW_OPTION_TEXT:
                snprintf(text, text_bytes, "%s", *(const char *const *)value ? *(const char *const *)value : "");
                break;
        case PW_OPTION_SIZE: snprintf(text, text_bytes, "%s", pw_size_format(*(const uint64_t *)value, small)); break;
        case PW_OPTION_PERIOD:
        case PW_OPTION_DURATION: snprintf(text, text_bytes, "%s", pw_duration_format(*(const uint64_t *)value, small)); break;
        case PW_OPTION_COUNT: snprintf(text, text_bytes, "%" PRIu32, *(const uint32_t *)value); break;
        case PW_OPTION_OCTAL: snprintf(text, text_bytes, "0%" PRIo32, *(const uint32_t *)value); break;
        case PW_OPTION_FLAG: snprintf(text, text_bytes, "%s", *(const bool *)value ? "yes" : "no"); break;
        case PW_OPTION_LIST: format_list(value, text, text_bytes); break;
        }
        return text;
}
