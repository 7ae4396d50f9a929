/* Texts that people and files bring: ids, sizes, durations, numbers, types, config files. */
#include "base/id.h"
#include "base/option.h"
#include "base/size.h"
#include "cli/print/output.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct settings {
        const char *text;
        uint64_t size, duration;
        uint32_t count, mode;
        bool flag;
        struct pw_text_list list;
};
static const struct pw_option options[] = {
        { "text", 't', PW_OPTION_TEXT, offsetof(struct settings, text), "fallback", "TEXT", "Text." },
        { "size", 0, PW_OPTION_SIZE, offsetof(struct settings, size), "1K", "SIZE", "Size." },
        { "duration", 0, PW_OPTION_DURATION, offsetof(struct settings, duration), "1s", "TIME", "Time." },
        { "count", 'n', PW_OPTION_COUNT, offsetof(struct settings, count), "1", "N", "Count." },
        { "mode", 0, PW_OPTION_OCTAL, offsetof(struct settings, mode), "0600", "MODE", "Mode." },
        { "flag", 'f', PW_OPTION_FLAG, offsetof(struct settings, flag), NULL, NULL, "Flag." },
        { "list", 'l', PW_OPTION_LIST, offsetof(struct settings, list), NULL, "ITEM", "Items." },
};
static const struct pw_options table = { options, sizeof options / sizeof options[0], "fuzz" };

static void read_config(const uint8_t *bytes, size_t count)
{
        struct settings settings = { 0 };
        int fd = memfd_create("config", 0);
        char path[64];

        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (fd < 0 || write(fd, bytes, count) != (ssize_t)count)
                return;
        if (pw_options_defaults(&table, &settings, NULL) == PW_OK)
                (void)!pw_options_read(&table, &settings, path, (uint32_t[32]){ 0 }, NULL);
        pw_options_free(&table, &settings);
        close(fd);
}

/* Words are parted by zero bytes. */
static void read_arguments(char *text, size_t count)
{
        struct settings settings = { 0 };
        char *words[16] = { (char *)"fuzz" };
        int operand, word_count = 1;

        for (size_t i = 0; i < count && word_count < 15; i += strlen(text + i) + 1)
                words[word_count++] = text + i;
        if (pw_options_defaults(&table, &settings, NULL) == PW_OK)
                (void)!pw_options_parse(&table, &settings, word_count, words, &operand, NULL);
        pw_options_free(&table, &settings);
}

static void read_values(const char *text)
{
        char again[PW_ID_TEXT_BYTES];
        struct pw_id id, same;
        struct pw_dims dims;
        enum pw_dtype dtype;
        uint64_t number, numbers[4];
        uint32_t number_count;
        struct pw_command_settings settings = { .dtype = "f32", .dims = text };

        if (pw_id_parse(text, &id, NULL) == PW_OK)
                assert(pw_id_parse(pw_id_format(id, again), &same, NULL) == PW_OK && pw_id_equal(id, same));
        (void)!pw_size_parse(text, &number, NULL);
        (void)!pw_duration_parse(text, &number, NULL);
        (void)!pw_numbers_parse("numbers", text, numbers, 4, &number_count, NULL);
        (void)!pw_type_parse(&settings, &dtype, &dims, NULL);
        settings = (struct pw_command_settings){ .dtype = text, .dims = "1" };
        (void)!pw_type_parse(&settings, &dtype, &dims, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
        char text[512];

        if (!count || count >= sizeof text)
                return 0;
        memcpy(text, bytes + 1, count - 1);
        text[count - 1] = 0;
        if (bytes[0] % 3 == 0)
                read_config(bytes + 1, count - 1);
        else if (bytes[0] % 3 == 1)
                read_arguments(text, count);
        else
                read_values(text);
        return 0;
}
