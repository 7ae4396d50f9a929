/* One table: defaults, command line, file, help, manual. */
#include "base/memory.h"
#include "base/option_value.h"
#include "base/size.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct settings {
        const char *run_dir;
        uint64_t host_memory, deadline_us;
        uint32_t islands, socket_mode;
        bool quiet, help;
        struct pw_text_list modules;
};

#define AT(field) offsetof(struct settings, field)
static const struct pw_option items[] = {
        { "run-dir", 'd', PW_OPTION_TEXT, AT(run_dir), NULL, "DIR", "Keep the socket in DIR." },
        { "host-memory", 0, PW_OPTION_SIZE, AT(host_memory), "1GiB", "SIZE", "Host memory. It is shared by all tenants." },
        { "deadline", 0, PW_OPTION_DURATION, AT(deadline_us), "10s", "TIME", "How long to wait." },
        { "islands", 'n', PW_OPTION_COUNT, AT(islands), "1", "N", "Number of islands. 0: one." },
        { "socket-mode", 0, PW_OPTION_OCTAL, AT(socket_mode), "0666", "MODE", "Mode of the socket." },
        { "quiet", 'q', PW_OPTION_FLAG, AT(quiet), "no", NULL, "Say less." },
        { "help", 'h', PW_OPTION_FLAG, AT(help), NULL, NULL, "Print this." },
        { "modules", 'm', PW_OPTION_LIST, AT(modules), "/usr/lib/pathways/modules", "DIR", "Look for modules in DIR." },
};
static const struct pw_options options = { items, pw_array_count(items), "pathwaysd" };

static int set_up(void **state)
{
        struct settings *settings = malloc(sizeof *settings);

        memset(settings, 0xa5, sizeof *settings);
        *state = settings;
        return pw_options_defaults(&options, settings, NULL) != PW_OK;
}

static int tear_down(void **state)
{
        pw_options_free(&options, *state);
        free(*state);
        return 0;
}

static void test_defaults(void **state)
{
        struct settings *settings = *state;

        assert_null(settings->run_dir);
        assert_int_equal(settings->host_memory, PW_GIB);
        assert_int_equal(settings->deadline_us, 10000000);
        assert_int_equal(settings->islands, 1);
        assert_int_equal(settings->socket_mode, 0666);
        assert_false(settings->quiet);
        assert_int_equal(settings->modules.count, 1);
        assert_string_equal(settings->modules.items[0], "/usr/lib/pathways/modules");
}

#define PARSE(settings, ret_operand, ret_err, ...)                                                                     \
        pw_options_parse(&options, (settings), pw_array_count(((char *[]){ "pathwaysd", __VA_ARGS__ })),               \
                         (char *[]){ "pathwaysd", __VA_ARGS__ }, (ret_operand), (ret_err))

static void test_command_line(void **state)
{
        struct settings *settings = *state;
        int operand;

        assert_int_equal(PARSE(settings, &operand, NULL, "--run-dir", "/run/x", "--host-memory=64M", "-n2", "-qd", "/run/y",
                               "--socket-mode", "0600", "-m", "a", "--modules=b", "--deadline=250ms", "--", "--quiet"), PW_OK);
        assert_int_equal(operand, 14);
        assert_string_equal(settings->run_dir, "/run/y");
        assert_int_equal(settings->host_memory, 64 * PW_MIB);
        assert_int_equal(settings->islands, 2);
        assert_int_equal(settings->socket_mode, 0600);
        assert_int_equal(settings->deadline_us, 250000);
        assert_true(settings->quiet);
        assert_int_equal(settings->modules.count, 2);
        assert_string_equal(settings->modules.items[0], "a");
        assert_string_equal(settings->modules.items[1], "b");
}

static void test_operands_end_the_options(void **state)
{
        struct settings *settings = *state;
        int operand;

        assert_int_equal(PARSE(settings, &operand, NULL, "-q", "put", "--help"), PW_OK);
        assert_int_equal(operand, 2);
        assert_false(settings->help);
        assert_int_equal(PARSE(settings, &operand, NULL, "-"), PW_OK);
        assert_int_equal(operand, 1);
        assert_int_equal(PARSE(settings, &operand, NULL, "--quiet=no"), PW_OK);
        assert_int_equal(operand, 2);
        assert_false(settings->quiet);
}

static void test_wrong_command_lines(void **state)
{
        struct settings *settings = *state;
        struct pw_error err;
        int operand = -1;

        assert_int_equal(PARSE(settings, &operand, &err, "--host-memroy", "1G"), PW_INVALID);
        assert_string_equal(err.text, "there is no option --host-memroy; did you mean --host-memory?");
        assert_int_equal(PARSE(settings, &operand, &err, "--frobnicate=1"), PW_INVALID);
        assert_string_equal(err.text, "there is no option --frobnicate; `pathwaysd --help` lists them");
        assert_int_equal(PARSE(settings, &operand, &err, "-qx"), PW_INVALID);
        assert_string_equal(err.text, "there is no option -x; `pathwaysd --help` lists them");
        assert_int_equal(PARSE(settings, &operand, &err, "--islands"), PW_INVALID);
        assert_string_equal(err.text, "--islands needs a value: N");
        assert_int_equal(PARSE(settings, &operand, &err, "--islands=-1"), PW_INVALID);
        assert_string_equal(err.text, "--islands: \"-1\" is not a whole number");
        assert_int_equal(PARSE(settings, &operand, &err, "--islands=4294967296"), PW_INVALID);
        assert_int_equal(PARSE(settings, &operand, &err, "--socket-mode=0888"), PW_INVALID);
        assert_int_equal(PARSE(settings, &operand, &err, "--host-memory=12Q"), PW_INVALID);
        assert_int_equal(PARSE(settings, &operand, &err, "--quiet=maybe"), PW_INVALID);
        assert_int_equal(PARSE(settings, &operand, NULL, "--quiet=maybe"), PW_INVALID);
        assert_int_equal(operand, -1);
        assert_int_equal(settings->islands, 1);
}

static uint32_t lines[20]; /* of options in the file that was read last */

/* Reads `text` as a config file; the path in the error is cut off. */
static enum pw_status read_text(struct settings *settings, const char *text, struct pw_error *ret_err)
{
        char path[] = "/tmp/option_test.XXXXXX";
        int fd = mkstemp(path);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
        close(fd);
        enum pw_status status = pw_options_read(&options, settings, path, lines, ret_err);
        unlink(path);
        if (status != PW_OK) {
                assert_memory_equal(ret_err->text, path, strlen(path));
                memmove(ret_err->text, ret_err->text + strlen(path), strlen(ret_err->text + strlen(path)) + 1);
        }
        return status;
}

static void test_file(void **state)
{
        struct settings *settings = *state;
        struct pw_error err;
        int operand;

        assert_int_equal(read_text(settings, "# comment\nrun-dir = /run/z ; inline\n\nhost-memory=2GiB\nquiet = yes\n"
                                             "modules = x\nmodules = y\nislands = 3", &err), PW_OK);
        assert_string_equal(settings->run_dir, "/run/z");
        assert_int_equal(settings->host_memory, 2 * PW_GIB);
        assert_true(settings->quiet);
        assert_int_equal(settings->islands, 3);
        assert_int_equal(settings->modules.count, 2);
        assert_int_equal(lines[pw_option_find(&options, "modules") - items], 7);
        assert_int_equal(lines[pw_option_find(&options, "islands") - items], 8);
        assert_int_equal(lines[pw_option_find(&options, "quiet") - items], 5);
        assert_int_equal(read_text(settings, "  # comment\n\tislands = 4\n   modules = u v \n     host-memory   =\t3GiB\n \n",
                                   &err), PW_OK);
        assert_int_equal(settings->islands, 4);
        assert_int_equal(settings->modules.count, 1);
        assert_string_equal(settings->modules.items[0], "u v");
        assert_int_equal(settings->host_memory, 3 * PW_GIB);
        assert_int_equal(PARSE(settings, &operand, NULL, "--host-memory=1M", "-mz", "--quiet=no"), PW_OK);
        assert_int_equal(settings->host_memory, PW_MIB);
        assert_int_equal(settings->modules.count, 1);
        assert_string_equal(settings->modules.items[0], "z");
        assert_false(settings->quiet);
}

static void test_wrong_files(void **state)
{
        static const struct { const char *text, *expected; } wrong[] = {
                { "quiet = no\nhost-memroy = 1G\n", ":2: unknown key \"host-memroy\"; did you mean \"host-memory\"?" },
                { "frobnicate = 1\n", ":1: unknown key \"frobnicate\"" },
                { "islands = 1\n\nislands = 2\n", ":3: islands is given twice" },
                { "# x\nislands = two\n", ":2: islands: \"two\" is not a whole number" },
                { "quiet\nhost-memroy = 1G\n", ":1: not of the form key = value" },
                { "host-memroy = 1G\nquiet\n", ":1: unknown key \"host-memroy\"; did you mean \"host-memory\"?" },
                { "[main]\nquiet = yes\n", ":1: [main]: there are no sections" },
                { "quiet = yes\n  [main]\n", ":2: [main]: there are no sections" },
                { "islands 4:2\n", ":1: not of the form key = value" },
                { "islands: 4\n", ":1: not of the form key = value" },
                { "modules = x\n  islands\n", ":2: not of the form key = value" },
                { "  islands = 1\n\tislands = 2\n", ":2: islands is given twice" },
        };
        struct settings *settings = *state;
        struct pw_error err;
        char text[4000] = "quiet = yes\nrun-dir = ";

        for (size_t i = 0; i < pw_array_count(wrong); i++) {
                assert_int_equal(read_text(settings, wrong[i].text, &err), PW_BAD_CONFIG);
                assert_string_equal(err.text, wrong[i].expected);
        }
        memset(text + strlen(text), 'x', sizeof text - strlen(text) - 1);
        text[sizeof text - 1] = 0;
        assert_int_equal(read_text(settings, text, &err), PW_BAD_CONFIG);
        assert_string_equal(err.text, ":2: the line is too long");
        assert_int_equal(pw_options_read(&options, settings, "/nonexistent/x.conf", lines, &err), PW_NOT_FOUND);
        assert_int_equal(pw_options_read(&options, settings, "/", lines, &err), PW_BAD_CONFIG);
        assert_int_equal(pw_options_read(&options, settings, "/dev/tty", lines, &err) == PW_OK, 0);
}

static void test_nearest(void **state)
{
        static const char *const names[] = { "host-memory", "device-memory", "devices", "run-dir" };

        (void)state;
        assert_string_equal(pw_nearest("device", names, 4), "devices");
        assert_string_equal(pw_nearest("rundir", names, 4), "run-dir");
        assert_string_equal(pw_nearest("urn-dir", names, 4), "run-dir");
        assert_string_equal(pw_nearest("ba", (const char *const[]){ "ab" }, 1), "ab");
        assert_null(pw_nearest("zebra", names, 4));
        assert_null(pw_nearest("", names, 4));
        assert_null(pw_nearest("x", NULL, 0));
        assert_null(pw_nearest("a-word-that-is-much-longer-than-any-name-of-an-option-or-key-could-be", names, 4));
}

/* What `print` writes, to be freed. */
static char *text_of(void (*print)(const struct pw_options *, FILE *))
{
        char *text;
        size_t bytes;
        FILE *out = open_memstream(&text, &bytes);

        print(&options, out);
        fclose(out);
        return text;
}

static void test_help_and_manual(void **state)
{
        pw_auto_free char *help = text_of(pw_options_help);
        pw_auto_free char *mdoc = text_of(pw_options_mdoc);

        (void)state;
        assert_non_null(strstr(help, "  -d, --run-dir DIR       Keep the socket in DIR.\n"));
        assert_non_null(strstr(help, "      --host-memory SIZE  Host memory. It is shared by all tenants. Default:\n"
                                     "                          1GiB.\n"));
        assert_non_null(strstr(help, "  -q, --quiet             Say less.\n"));
        assert_non_null(strstr(mdoc, ".It Fl d , Fl \\-run-dir Ar DIR\nKeep the socket in DIR.\n"));
        assert_non_null(strstr(mdoc, "Number of islands.\n0: one.\nDefault: 1\n"));
        assert_non_null(strstr(mdoc, "Say less.\n.It"));
        assert_non_null(strstr(mdoc, "Host memory.\nIt is shared by all tenants.\nDefault: 1GiB\n"));
}

/* Every kind of option: what differs is seen, told and exchanged, and nothing else. */
static void test_changes(void **state)
{
        static const char *const before[] = { "", "1 GiB", "10 s", "1", "0666", "no", "no", "/usr/lib/pathways/modules" };
        static const char *const after[] = { "/run", "2 GiB", "20 s", "3", "0600", "yes", "yes", "/a, /b" };
        char *argv[] = { (char *)"x", (char *)"--run-dir=/run", (char *)"--host-memory=2GiB", (char *)"--deadline=20s",
                         (char *)"--islands=3",
                         (char *)"--socket-mode=600", (char *)"-qh", (char *)"--modules=/a", (char *)"--modules=/b", NULL };
        struct settings *settings = *state, others;
        char text[80];
        int operand;

        assert_int_equal(pw_options_defaults(&options, &others, NULL), PW_OK);
        for (uint32_t i = 0; i < options.count; i++)
                assert_true(pw_option_same(&items[i], settings, &others));
        assert_int_equal(pw_options_parse(&options, &others, 9, argv, &operand, NULL), PW_OK);
        for (uint32_t i = 0; i < options.count; i++) {
                assert_false(pw_option_same(&items[i], settings, &others));
                assert_string_equal(pw_option_format(&items[i], settings, text, sizeof text), before[i]);
                assert_string_equal(pw_option_format(&items[i], &others, text, sizeof text), after[i]);
        }
        for (uint32_t i = 0; i < options.count; i++) {
                pw_option_swap(&items[i], settings, &others);
                assert_string_equal(pw_option_format(&items[i], settings, text, sizeof text), after[i]);
                assert_string_equal(pw_option_format(&items[i], &others, text, sizeof text), before[i]);
        }
        assert_string_equal(pw_option_format(&items[7], settings, text, 4), "/a,");
        pw_options_free(&options, &others);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_defaults, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_command_line, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_operands_end_the_options, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_wrong_command_lines, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_file, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_wrong_files, set_up, tear_down),
                cmocka_unit_test_setup_teardown(test_changes, set_up, tear_down),
                cmocka_unit_test(test_nearest),
                cmocka_unit_test(test_help_and_manual),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
