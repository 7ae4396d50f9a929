/* The strict reader. */
#include "tests/integration/operator/exposition.h"

#include "tests/integration/harness.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAMILIES_MAX 128
#define SERIES_MAX 4096
#define NAME_BYTES 128
#define SERIES_BYTES 256

struct reader {
        unsigned line;
        char family[NAME_BYTES], type[16]; /* of the family that is under way */
        bool has_help, has_type, has_sample;
        char families[FAMILIES_MAX][NAME_BYTES];
        char series[SERIES_MAX][SERIES_BYTES];
        unsigned family_count, series_count;
        double bucket, bucket_bound; /* the last ones of a histogram */
};

static char problem[600];

static const char *wrong(const struct reader *reader, const char *what, const char *line)
{
        snprintf(problem, sizeof problem, "line %u, %s: %.300s", reader->line, what, line);
        return problem;
}

static size_t name_length(const char *text, bool colon)
{
        size_t length = 0;

        while (isalpha((unsigned char)text[length]) || text[length] == '_' || (colon && text[length] == ':') ||
               (length && isdigit((unsigned char)text[length])))
                length++;
        return length;
}

static bool known_type(const char *type)
{
        return !strcmp(type, "counter") || !strcmp(type, "gauge") || !strcmp(type, "histogram");
}

/* A family ends where the next begins. */
static const char *end_family(const struct reader *reader)
{
        if (!reader->family[0])
                return NULL;
        if (!reader->has_help || !reader->has_type || !reader->has_sample)
                return wrong(reader, "before it a family ends without HELP, TYPE or a sample", reader->family);
        if (!strcmp(reader->type, "histogram") && !isinf(reader->bucket_bound))
                return wrong(reader, "before it a histogram ends without +Inf", reader->family);
        return NULL;
}

static const char *begin_family(struct reader *reader, const char *name)
{
        const char *bad = end_family(reader);

        if (bad)
                return bad;
        for (unsigned i = 0; i < reader->family_count; i++)
                if (!strcmp(reader->families[i], name))
                        return wrong(reader, "a family comes twice", name);
        if (reader->family_count == FAMILIES_MAX)
                return wrong(reader, "too many families", name);
        strcpy(reader->families[reader->family_count++], name);
        strcpy(reader->family, name);
        reader->has_help = reader->has_type = reader->has_sample = false;
        reader->bucket = 0;
        reader->bucket_bound = -1;
        return NULL;
}

/* "# HELP name text" or "# TYPE name type"; no other comments are written. */
static const char *comment(struct reader *reader, const char *line)
{
        bool help = !strncmp(line, "# HELP ", 7);
        const char *at = line + 7, *bad = NULL;
        size_t length = name_length(at, true);
        char name[NAME_BYTES];

        if (!help && strncmp(line, "# TYPE ", 7) != 0)
                return wrong(reader, "neither HELP nor TYPE", line);
        if (!length || length >= sizeof name || at[length] != ' ' || !at[length + 1])
                return wrong(reader, "no name, or nothing behind it", line);
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        if (strcmp(name, reader->family) != 0)
                bad = begin_family(reader, name);
        if (bad)
                return bad;
        if (reader->has_sample || (help ? reader->has_help : reader->has_type))
                return wrong(reader, "too late, or twice", line);
        if (help) {
                reader->has_help = true;
                return NULL;
        }
        if (!known_type(at + length + 1))
                return wrong(reader, "no such type", line);
        strcpy(reader->type, at + length + 1);
        reader->has_type = true;
        length = strlen(name);
        if (!strcmp(reader->type, "counter") && (length < 7 || strcmp(name + length - 6, "_total")))
                return wrong(reader, "a counter's name ends in _total", line);
        return NULL;
}

/* Behind '{'. NULL: not well formed; else what comes behind '}'. */
static const char *labels(const char *at)
{
        for (;;) {
                size_t length = name_length(at, false);

                if (!length || at[length] != '=' || at[length + 1] != '"')
                        return NULL;
                for (at += length + 2; *at != '"'; at++) {
                        if (!*at || (*at == '\\' && !strchr("\\\"n", *++at)))
                                return NULL;
                }
                at++;
                if (*at == '}')
                        return at + 1;
                if (*at++ != ',')
                        return NULL;
        }
}

static const char *bucket(struct reader *reader, const char *line, double value)
{
        const char *le = strstr(line, "le=\"");
        double bound = le ? strtod(le + 4, NULL) : -1;

        if (!le || bound <= reader->bucket_bound || value < reader->bucket)
                return wrong(reader, "buckets do not rise", line);
        reader->bucket = value;
        reader->bucket_bound = bound;
        return NULL;
}

/* What may stand behind the name of the family. */
static const char *suffix_of(struct reader *reader, const char *line, size_t length, double value)
{
        size_t family = strlen(reader->family);
        char suffix[16];

        if (length < family || strncmp(line, reader->family, family) != 0 || length - family >= sizeof suffix)
                return wrong(reader, "a sample of another family", line);
        snprintf(suffix, sizeof suffix, "%.*s", (int)(length - family), line + family);
        if (strcmp(reader->type, "histogram") != 0)
                return *suffix ? wrong(reader, "a sample of another family", line) : NULL;
        if (!strcmp(suffix, "_bucket"))
                return bucket(reader, line, value);
        if (!strcmp(suffix, "_count"))
                return value == reader->bucket ? NULL : wrong(reader, "count and last bucket differ", line);
        return strcmp(suffix, "_sum") ? wrong(reader, "no such sample of a histogram", line) : NULL;
}

static const char *sample(struct reader *reader, const char *line)
{
        size_t length = name_length(line, true);
        const char *at = line + length, *bad;
        char *end;
        double value;

        if (!reader->has_help || !reader->has_type)
                return wrong(reader, "HELP and TYPE come first", line);
        if (*at == '{' && !(at = labels(at + 1)))
                return wrong(reader, "labels", line);
        if (*at != ' ' || at - line >= SERIES_BYTES)
                return wrong(reader, "no value", line);
        for (unsigned i = 0; i < reader->series_count; i++)
                if (!strncmp(reader->series[i], line, (size_t)(at - line)) && !reader->series[i][at - line])
                        return wrong(reader, "a series comes twice", line);
        if (reader->series_count == SERIES_MAX)
                return wrong(reader, "too many series", line);
        snprintf(reader->series[reader->series_count++], SERIES_BYTES, "%.*s", (int)(at - line), line);
        value = strtod(at + 1, &end);
        if (end == at + 1 || *end || isspace((unsigned char)at[1]))
                return wrong(reader, "the value is no number", line);
        if (strcmp(reader->type, "gauge") != 0 && !(value >= 0))
                return wrong(reader, "less than nothing was counted", line);
        bad = suffix_of(reader, line, length, value);
        reader->has_sample = true;
        return bad;
}

const char *exposition_check(const char *text)
{
        struct reader *reader = calloc(1, sizeof *reader);
        const char *bad = NULL;
        char line[1024];

        assert_non_null(reader);
        while (*text && !bad) {
                size_t length = strcspn(text, "\n");

                reader->line++;
                snprintf(line, sizeof line, "%.*s", (int)length, text);
                if (text[length] != '\n' || length >= sizeof line)
                        bad = wrong(reader, "too long, or not ended", line);
                else
                        bad = *line == '#' ? comment(reader, line) : sample(reader, line);
                text += length + 1;
        }
        if (!bad && !reader->family_count)
                bad = wrong(reader, "nothing there", "");
        if (!bad)
                bad = end_family(reader);
        free(reader);
        return bad;
}

double exposition_value(const char *text, const char *series)
{
        size_t length = strlen(series);

        for (const char *line = text; line; line = strchr(line, '\n')) {
                line += *line == '\n';
                if (!strncmp(line, series, length) && line[length] == ' ')
                        return strtod(line + length + 1, NULL);
        }
        fail_msg("there is no %s in\n%s", series, text);
        return 0;
}
