/* Options from a config file: `key = value` lines, comments behind # or ;, read by inih. */
#include "base/option_value.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <sys/stat.h>

#define CONFIG_MAX_BYTES (1 << 20)

struct config_file {
        const struct pw_options *options;
        void *settings;
        uint32_t *lines; /* per option: of its last value in this file; 0: none */
        FILE *stream;
        int line;           /* that inih has been given last */
        int error_line;     /* of the first error that was found in a key or value */
        enum pw_status status;
        struct pw_error error; /* the sentence of that one, without file and line */
        bool cut;              /* the line is longer than inih's buffer */
};

/* inih reads sections, and "key: value": both are mistakes here. */
static enum pw_status check_line(struct config_file *file, const char *text)
{
        const char *first = text + strspn(text, " \t\r\n\xef\xbb\xbf");
        size_t key = strcspn(first, "=:");

        if (!*first || *first == '#' || *first == ';')
                return PW_OK;
        if (*first == '[')
                return pw_error_set(&file->error, PW_BAD_CONFIG, "%.*s: there are no sections", (int)strcspn(first, "\r\n"), first);
        if (first[key] != '=')
                return pw_error_set(&file->error, PW_BAD_CONFIG, "not of the form key = value");
        return PW_OK;
}

/* Blanks before a key do not count; to inih they would mean that the line goes on with the one before. */
static void drop_blanks(char *text)
{
        size_t blanks = strspn(text, " \t\r\v\f");

        memmove(text, text + blanks, strlen(text + blanks) + 1);
}

/* inih's handlers are not told the line; so lines are counted where they are read. */
static char *read_line(char *text, int bytes, void *user)
{
        struct config_file *file = user;

        if (file->cut || file->status != PW_OK || !fgets(text, bytes, file->stream))
                return NULL;
        file->line++;
        file->cut = !strchr(text, '\n') && !feof(file->stream);
        if (file->cut)
                return NULL;
        drop_blanks(text);
        file->status = check_line(file, text);
        if (file->status != PW_OK)
                file->error_line = file->line;
        return file->status == PW_OK ? text : NULL;
}

static enum pw_status set_key(struct config_file *file, const char *key, const char *value)
{
        const struct pw_option *option = pw_option_find(file->options, key);

        if (!option) {
                const char *nearest = pw_option_nearest(file->options, key);
                return pw_error_set(&file->error, PW_BAD_CONFIG, "unknown key \"%.80s\"%s%s%s", key,
                                    nearest ? "; did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
        }
        uint32_t *line = &file->lines[option - file->options->items];
        if (*line && option->kind != PW_OPTION_LIST)
                return pw_error_set(&file->error, PW_BAD_CONFIG, "%s is given twice", key);
        enum pw_status status = pw_option_set(option, file->settings, value, !*line, &file->error);
        *line = (uint32_t)file->line;
        if (status == PW_OK || status == PW_NO_MEMORY)
                return status;
        return pw_error_set(&file->error, PW_BAD_CONFIG, "%s: %s", key, file->error.text);
}

/* Returns 0 on an error, as inih wants it; inih may go on, and only the first error counts. */
static int handle_key(void *user, const char *section, const char *key, const char *value)
{
        struct config_file *file = user;

        if (file->status != PW_OK)
                return 0;
        (void)section; /* there are none */
        file->status = set_key(file, key, value);
        if (file->status != PW_OK)
                file->error_line = file->line;
        return file->status == PW_OK;
}

/* `first` is what ini_parse_stream() returned: the line of the first error, 0, or less than 0 for no memory. */
static enum pw_status judge(const struct config_file *file, int first, const char *path, struct pw_error *ret_err)
{
        if (ferror(file->stream))
                return pw_error_errno(ret_err, errno, "read %s", path);
        if (first < 0)
                return pw_error_set(ret_err, PW_NO_MEMORY, "%s: no memory to read it", path);
        if (file->status != PW_OK && (!first || file->error_line <= first))
                return pw_error_set(ret_err, file->status, "%s:%d: %s", path, file->error_line, file->error.text);
        if (first)
                return pw_error_set(ret_err, PW_BAD_CONFIG, "%s:%d: not of the form key = value", path, first);
        if (file->cut)
                return pw_error_set(ret_err, PW_BAD_CONFIG, "%s:%d: the line is too long", path, file->line);
        return PW_OK;
}

/* Reading a FIFO or a terminal waits for a writer: only what ends by itself is read. */
static enum pw_status open_config(const char *path, FILE **ret_stream, struct pw_error *ret_err)
{
        int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        struct stat stat;

        if (fd < 0 && errno == ENOENT)
                return pw_error_set(ret_err, PW_NOT_FOUND, "config file %s: there is no such file", path);
        if (fd < 0)
                return pw_error_errno(ret_err, errno, "open config file %s", path);
        if (fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode) || stat.st_size > CONFIG_MAX_BYTES) {
                close(fd);
                return pw_error_set(ret_err, PW_BAD_CONFIG, "config file %s: it is no regular file of at most %d KiB", path,
                                    CONFIG_MAX_BYTES / 1024);
        }
        *ret_stream = fdopen(fd, "re");
        if (*ret_stream)
                return PW_OK;
        close(fd);
        return pw_error_set(ret_err, PW_NO_MEMORY, "%s: no memory to read it", path);
}

enum pw_status pw_options_read(const struct pw_options *options, void *settings, const char *path, uint32_t *ret_lines,
                               struct pw_error *ret_err)
{
        struct config_file file = { .options = options, .settings = settings, .lines = ret_lines };

        memset(ret_lines, 0, options->count * sizeof *ret_lines);
        enum pw_status status = open_config(path, &file.stream, ret_err);
        if (status != PW_OK)
                return status;
        int first = ini_parse_stream(read_line, &file, handle_key, &file);
        status = judge(&file, first, path, ret_err);
        fclose(file.stream);
        return status;
}
