/* Rows of features and a class each. */
#include "examples/common/data.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define LINE_BYTES 65536

static int count_fields(const char *line)
{
        int count = 1;

        for (const char *c = line; *c; c++)
                count += *c == ',';
        return count;
}

/* One line becomes one row: its features unscaled, the constant, its class. */
static int parse_line(struct data *data, char *line, char *error, size_t error_bytes)
{
        float *row = data->images + data->rows * data->features;
        char *rest = line, *end;

        for (size_t f = 0; f + 1 < data->features; f++, rest = end + 1) {
                row[f] = strtof(rest, &end);
                if (end == rest || *end != ',' || !isfinite(row[f])) {
                        snprintf(error, error_bytes, "line %zu, field %zu is no number, or too few follow", data->rows + 1, f + 1);
                        return -1;
                }
        }
        row[data->features - 1] = 1;
        unsigned long label = strtoul(rest, &end, 10);
        if (end == rest || *end || label > 255) {
                snprintf(error, error_bytes, "line %zu: the last field is not a class from 0 to 255", data->rows + 1);
                return -1;
        }
        data->labels[data->rows++] = (uint8_t)label;
        if (label >= data->classes)
                data->classes = label + 1;
        return 0;
}

static int make_room(struct data *data, size_t *capacity)
{
        if (data->rows < *capacity)
                return 0;
        size_t larger = *capacity ? *capacity * 2 : 1024;
        float *images = reallocarray(data->images, larger, data->features * sizeof *images);
        if (images)
                data->images = images;
        uint8_t *labels = realloc(data->labels, larger);
        if (labels)
                data->labels = labels;
        if (!images || !labels)
                return -1;
        *capacity = larger;
        return 0;
}

static int read_lines(gzFile file, struct data *data, char *error, size_t error_bytes)
{
        static char line[LINE_BYTES];
        size_t capacity = 0;

        while (gzgets(file, line, sizeof line)) {
                line[strcspn(line, "\r\n")] = 0;
                if (!*line)
                        continue;
                if (!data->features)
                        data->features = (size_t)count_fields(line); /* the class is no feature, the constant is one */
                if (make_room(data, &capacity)) {
                        snprintf(error, error_bytes, "out of memory");
                        return -1;
                }
                if (parse_line(data, line, error, error_bytes))
                        return -1;
        }
        return 0;
}

/* By the largest number in the rows for training: 16 for the digits. */
static void scale(struct data *data)
{
        float largest = 0;

        for (size_t row = 0; row < data->train_rows; row++)
                for (size_t f = 0; f + 1 < data->features; f++)
                        largest = fmaxf(largest, fabsf(data->images[row * data->features + f]));
        for (size_t row = 0; row < data->rows && largest > 0; row++)
                for (size_t f = 0; f + 1 < data->features; f++)
                        data->images[row * data->features + f] /= largest;
}

int data_read(const char *path, struct data *ret_data, char *error, size_t error_bytes)
{
        struct data data = { 0 };
        gzFile file;

        errno = 0;
        file = gzopen(path, "rb");
        if (!file) {
                snprintf(error, error_bytes, "it cannot be opened: %s", strerror(errno ? errno : ENOMEM));
                return -1;
        }
        int result = read_lines(file, &data, error, error_bytes);
        gzclose(file);
        if (!result && data.rows < 10) {
                snprintf(error, error_bytes, "%zu rows are too few", data.rows);
                result = -1;
        }
        if (result) {
                data_done(&data);
                return result;
        }
        data.train_rows = data.rows - (data.rows + 4) / 5;
        scale(&data);
        *ret_data = data;
        return 0;
}

void data_done(struct data *data)
{
        free(data->images);
        free(data->labels);
        *data = (struct data){ 0 };
}
