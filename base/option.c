/* Options on the command line. */
#include "base/option_value.h"

#include "base/memory.h"

struct command_line {
        const struct pw_options *options;
        void *settings;
        int argc;
        char **argv;
        int at;     /* the next argument */
        bool *seen; /* per option: given before; a list starts anew at its first */
};

static enum pw_status set_seen(struct command_line *line, const struct pw_option *option, const char *text,
                               struct pw_error *ret_err)
{
        bool *seen = &line->seen[option - line->options->items];
        enum pw_status status = pw_option_set(option, line->settings, text, !*seen, ret_err);

        *seen = true;
        if (status != PW_OK)
                pw_error_prefix(ret_err, "--%s", option->name);
        return status;
}

/* `joined` is the value that stands in the same argument, or NULL. */
static enum pw_status take_value(struct command_line *line, const struct pw_option *option, const char *joined,
                                 struct pw_error *ret_err)
{
        if (joined)
                return set_seen(line, option, joined, ret_err);
        if (option->kind == PW_OPTION_FLAG)
                return set_seen(line, option, "yes", ret_err);
        if (option->kind == PW_OPTION_PERIOD)
                return set_seen(line, option, "1s", ret_err);
        if (line->at == line->argc)
                return pw_error_set(ret_err, PW_INVALID, "--%s needs a value: %s", option->name, option->argument);
        return set_seen(line, option, line->argv[line->at++], ret_err);
}

static enum pw_status unknown(const struct pw_options *options, const char *name, struct pw_error *ret_err)
{
        const char *nearest = pw_option_nearest(options, name);

        if (nearest)
                return pw_error_set(ret_err, PW_INVALID, "there is no option --%.80s; did you mean --%s?", name, nearest);
        return pw_error_set(ret_err, PW_INVALID, "there is no option --%.80s; `%s --help` lists them", name, options->program);
}

/* `word` is what stands behind the two dashes. */
static enum pw_status take_long(struct command_line *line, const char *word, struct pw_error *ret_err)
{
        const char *equals = strchr(word, '=');
        pw_auto_free char *name = equals ? strndup(word, (size_t)(equals - word)) : strdup(word);

        if (!name)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for the name of an option");
        const struct pw_option *option = pw_option_find(line->options, name);
        if (!option)
                return unknown(line->options, name, ret_err);
        return take_value(line, option, equals ? equals + 1 : NULL, ret_err);
}

static const struct pw_option *find_letter(const struct pw_options *options, char letter)
{
        for (uint32_t i = 0; i < options->count; i++)
                if (options->items[i].letter == letter)
                        return &options->items[i];
        return NULL;
}

/* `letters` is what stands behind the one dash: flags, perhaps an option with a value as the last. */
static enum pw_status take_short(struct command_line *line, const char *letters, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;

        for (; *letters && status == PW_OK; letters++) {
                const struct pw_option *option = find_letter(line->options, *letters);
                if (!option)
                        return pw_error_set(ret_err, PW_INVALID, "there is no option -%c; `%s --help` lists them", *letters,
                                            line->options->program);
                if (option->kind != PW_OPTION_FLAG)
                        return take_value(line, option, letters[1] ? letters + 1 : NULL, ret_err);
                status = set_seen(line, option, "yes", ret_err);
        }
        return status;
}

static enum pw_status take_options(struct command_line *line, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;

        while (line->at < line->argc && status == PW_OK) {
                const char *word = line->argv[line->at];
                if (word[0] != '-' || !word[1])
                        break;
                line->at++;
                if (!strcmp(word, "--"))
                        break;
                status = word[1] == '-' ? take_long(line, word + 2, ret_err) : take_short(line, word + 1, ret_err);
        }
        return status;
}

enum pw_status pw_options_parse(const struct pw_options *options, void *settings, int argc, char **argv, int *ret_operand,
                                struct pw_error *ret_err)
{
        struct command_line line = { .options = options, .settings = settings, .argc = argc, .argv = argv, .at = 1 };
        pw_auto_free bool *seen = calloc(options->count + 1, sizeof *seen);

        if (!seen)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory to read the command line");
        line.seen = seen;
        enum pw_status status = take_options(&line, ret_err);
        if (status == PW_OK)
                *ret_operand = line.at;
        return status;
}
