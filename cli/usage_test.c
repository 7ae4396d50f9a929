/* The table of subcommands holds together. */
#include "cli/usage.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void every_command_says_what_it_does(void **state)
{
        (void)state;
        for (uint32_t i = 0; i < pw_command_count; i++) {
                const struct pw_command *command = &pw_commands[i];
                struct pw_command_settings settings;
                struct pw_error error;
                assert_true(command->help[strlen(command->help) - 1] == '.');
                assert_true(command->operands_max >= command->operands_min);
                assert_non_null(strstr(command->options.program, command->name));
                assert_int_equal(pw_options_defaults(&command->options, &settings, &error), PW_OK);
                pw_options_free(&command->options, &settings);
        }
}

static void every_command_takes_the_common_options(void **state)
{
        static const char *const names[] = { "socket", "json", "help" };

        (void)state;
        for (uint32_t i = 0; i < pw_command_count; i++) {
                const struct pw_options *options = &pw_commands[i].options;
                assert_true(options->count >= 3);
                for (uint32_t c = 0; c < 3; c++)
                        assert_string_equal(options->items[options->count - 3 + c].name, names[c]);
        }
}

static void a_wrong_name_is_answered_with_the_nearest(void **state)
{
        const struct pw_command *command;
        struct pw_error error;

        (void)state;
        assert_int_equal(pw_usage_find("objects", &command, &error), PW_OK);
        assert_string_equal(command->name, "objects");
        assert_int_equal(pw_usage_find("memroy", &command, &error), PW_INVALID);
        assert_non_null(strstr(error.text, "did you mean memory?"));
        assert_int_equal(pw_usage_find("xyzzyxyzzy", &command, &error), PW_INVALID);
        assert_non_null(strstr(error.text, "--help"));
}

static void help_fits_80_columns(void **state)
{
        char *text = NULL;
        size_t bytes;
        FILE *out = open_memstream(&text, &bytes);

        (void)state;
        assert_non_null(out);
        pw_usage_print(out);
        for (uint32_t i = 0; i < pw_command_count; i++)
                pw_options_help(&pw_commands[i].options, out);
        fclose(out);
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
                if (strlen(line) > 80)
                        fail_msg("%zu columns: %s", strlen(line), line);
        free(text);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_command_says_what_it_does),
                cmocka_unit_test(every_command_takes_the_common_options),
                cmocka_unit_test(a_wrong_name_is_answered_with_the_nearest),
                cmocka_unit_test(help_fits_80_columns),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
