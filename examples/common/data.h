/* Rows of features and a class each, read from a file of comma-separated numbers.
 */
#ifndef EXAMPLES_DATA_H
#define EXAMPLES_DATA_H

#include <stddef.h>
#include <stdint.h>

struct data {
        float *images;   /* [rows, features], scaled to at most 1, a constant 1 as the last feature */
        uint8_t *labels; /* [rows] */
        size_t rows, features, classes;
        size_t train_rows; /* the first rows; the last fifth is for the test */
};

/* Read `path`, CSV or gzipped CSV: on each line features, then the class, a whole number below 256.
 * Returns 0, or -1 with a sentence in `error`. */
int data_read(const char *path, struct data *ret_data, char *error, size_t error_bytes);
void data_done(struct data *data);

#endif
