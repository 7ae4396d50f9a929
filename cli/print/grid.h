/* Text in columns, as wide as asked for at most: a cell that is too long goes on in the next line.
 */
#ifndef PW_CLI_PRINT_GRID_H
#define PW_CLI_PRINT_GRID_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct pw_grid;

struct pw_grid *pw_grid_new(uint32_t columns); /* NULL: out of memory */
void pw_grid_free(struct pw_grid *grid);
/* The next cell, row after row; `text` is copied. False when out of memory. */
bool pw_grid_add(struct pw_grid *grid, const char *text);
/* A line of its own under the row of the last cell, indented. False when out of memory. */
bool pw_grid_note(struct pw_grid *grid, const char *text);
/* Such columns are never made narrower than their widest cell. */
void pw_grid_align_right(struct pw_grid *grid, uint32_t column);
void pw_grid_keep_whole(struct pw_grid *grid, uint32_t column);
/* Bold headings, and words that say how things are ("ready", "failed") in green, yellow or red in the columns marked. */
void pw_grid_colour(struct pw_grid *grid);
void pw_grid_mark(struct pw_grid *grid, uint32_t column);
/* The first row is headings. */
void pw_grid_headed(struct pw_grid *grid);
/* Lines of at most `width` columns, unless the narrow columns alone need more. */
void pw_grid_print(struct pw_grid *grid, uint32_t width, FILE *out);

/* Text of at most `width` columns a line, each begins with `indent` blanks. */
void pw_text_print(const char *text, uint32_t indent, uint32_t width, FILE *out);

#endif
