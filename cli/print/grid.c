/* Text in columns. All of it is made plain: what rows say may come from anybody. */
#include "cli/print/grid.h"

#include "base/memory.h"
#include "base/text.h"

#define GAP 2u /* 1 where that keeps cells whole */
#define NARROWEST 8u
#define NOTE_INDENT 4u

struct grid_column {
        uint32_t width;
        bool right, whole, marked;
};

struct pw_grid {
        struct grid_column *columns;
        uint32_t column_count;
        char **cells; /* row after row */
        uint32_t cell_count, cell_capacity;
        char **notes; /* a row's, or NULL */
        uint32_t note_capacity;
        uint32_t gap;
        bool colour, headed;
};

struct pw_grid *pw_grid_new(uint32_t columns)
{
        struct pw_grid *grid = calloc(1, sizeof *grid);

        if (!grid)
                return NULL;
        grid->columns = calloc(columns ? columns : 1, sizeof *grid->columns);
        grid->column_count = columns;
        grid->gap = GAP;
        if (!grid->columns) {
                free(grid);
                return NULL;
        }
        return grid;
}

void pw_grid_free(struct pw_grid *grid)
{
        if (!grid)
                return;
        for (uint32_t i = 0; i < grid->cell_count; i++)
                free(grid->cells[i]);
        for (uint32_t i = 0; i < grid->note_capacity; i++)
                free(grid->notes[i]);
        free(grid->cells);
        free(grid->notes);
        free(grid->columns);
        free(grid);
}

bool pw_grid_add(struct pw_grid *grid, const char *text)
{
        struct grid_column *column = &grid->columns[grid->cell_count % grid->column_count];
        char *copy = strdup(text);
        uint32_t length = (uint32_t)strlen(text);

        if (copy)
                pw_text_make_plain(copy);
        if (!copy || !pw_grow((void **)&grid->cells, &grid->cell_capacity, grid->cell_count + 1, sizeof *grid->cells)) {
                free(copy);
                return false;
        }
        grid->cells[grid->cell_count++] = copy;
        if (length > column->width)
                column->width = length;
        return true;
}

bool pw_grid_note(struct pw_grid *grid, const char *text)
{
        uint32_t row = (grid->cell_count - 1) / grid->column_count;

        if (!pw_grow((void **)&grid->notes, &grid->note_capacity, row + 1, sizeof *grid->notes))
                return false;
        char *before = grid->notes[row], *joined = NULL;
        if (asprintf(&joined, "%s%s%s", before ? before : "", before ? "; " : "", text) < 0)
                return false;
        free(before);
        grid->notes[row] = pw_text_make_plain(joined);
        return true;
}

void pw_grid_align_right(struct pw_grid *grid, uint32_t column)
{
        grid->columns[column].right = grid->columns[column].whole = true;
}

void pw_grid_keep_whole(struct pw_grid *grid, uint32_t column)
{
        grid->columns[column].whole = true;
}

void pw_grid_colour(struct pw_grid *grid) { grid->colour = true; }
void pw_grid_headed(struct pw_grid *grid) { grid->headed = true; }
void pw_grid_mark(struct pw_grid *grid, uint32_t column) { grid->columns[column].marked = true; }

static uint32_t total_width(const struct pw_grid *grid)
{
        uint32_t total = 0;

        for (uint32_t c = 0; c < grid->column_count; c++)
                total += grid->columns[c].width + (c ? grid->gap : 0);
        return total;
}

static struct grid_column *widest(struct pw_grid *grid)
{
        struct grid_column *found = NULL;

        for (uint32_t c = 0; c < grid->column_count; c++) {
                struct grid_column *column = &grid->columns[c];
                if (!column->whole && column->width > NARROWEST && (!found || column->width >= found->width))
                        found = column;
        }
        return found;
}

/* The widest column gives way first, so that short cells stay whole. */
static void fit(struct pw_grid *grid, uint32_t width)
{
        if (total_width(grid) > width)
                grid->gap = 1;
        for (uint32_t total = total_width(grid); total > width; total--) {
                struct grid_column *column = widest(grid);
                if (!column)
                        return;
                column->width--;
        }
}

/* A number and its unit stay together. */
static bool is_before_unit(const char *text, size_t blank)
{
        size_t length = strcspn(text + blank + 1, " ,;:)");

        return blank && text[blank - 1] >= '0' && text[blank - 1] <= '9' && length && length <= 3;
}

/* The last blank at or before `width` that is neither in a command, `so`, nor before a unit; 0: none. */
static size_t last_blank(const char *text, size_t width)
{
        size_t found = 0;
        bool quoted = false;

        for (size_t i = 0; i <= width; i++) {
                quoted ^= text[i] == '`';
                if (text[i] == ' ' && !quoted && !is_before_unit(text, i))
                        found = i;
        }
        return found;
}

/* How much of `text` stands on a line of `width`: up to the last blank, so that what is copied is whole; else up to behind a comma
 * or slash, else all that fits. */
static size_t line_length(const char *text, size_t width)
{
        size_t length = strlen(text), blank;

        if (length <= width)
                return length;
        blank = last_blank(text, width);
        if (blank > width / 4)
                return blank;
        for (size_t i = width; i > width / 2; i--)
                if (strchr(" ,/", text[i - 1]) || text[i] == ' ')
                        return i;
        return width;
}

static size_t without_blanks(const char *text, size_t length)
{
        while (length && text[length - 1] == ' ')
                length--;
        return length;
}

#define PLAIN "\033[0m"
#define BOLD "\033[1m"

/* How a word is shown: "" as it is. */
static const char *colour_of(const char *word, size_t length)
{
        static const struct { const char *words, *colour; } colours[] = {
                { " ready running done yes ", "\033[32m" },
                { " pending waiting queued starting ordered cancelled closing ", "\033[33m" },
                { " error lost failed down backoff ", "\033[31m" },
        };
        char padded[24];

        if (length + 3 > sizeof padded)
                return "";
        snprintf(padded, sizeof padded, " %.*s ", (int)length, word);
        for (size_t i = 0; i < pw_array_count(colours); i++)
                if (strstr(colours[i].words, padded))
                        return colours[i].colour;
        return "";
}

static void put_padded(FILE *out, const struct grid_column *column, const char *text, size_t length, const char *colour)
{
        int pad = (int)(column->width - length);

        fprintf(out, "%*s%s%.*s%s%*s", column->right ? pad : 0, "", colour, (int)length, text, *colour ? PLAIN : "",
                column->right ? 0 : pad, "");
}

/* One line of a row; `rest` moves on. False: nothing was left. */
static bool print_line(const struct pw_grid *grid, const char **rest, bool heading, FILE *out)
{
        uint32_t last = 0;
        bool any = false;

        for (uint32_t c = 0; c < grid->column_count; c++)
                if (*rest[c]) {
                        last = c;
                        any = true;
                }
        for (uint32_t c = 0; any && c <= last; c++) {
                struct grid_column column = grid->columns[c];
                size_t length = line_length(rest[c], column.width), shown = without_blanks(rest[c], length);
                if (c == last && !column.right)
                        column.width = (uint32_t)shown;
                fprintf(out, "%*s", c ? (int)grid->gap : 0, "");
                const char *colour = !grid->colour ? "" : heading ? BOLD : column.marked ? colour_of(rest[c], shown) : "";
                put_padded(out, &column, rest[c], shown, colour);
                rest[c] += length;
                while (*rest[c] == ' ')
                        rest[c]++;
        }
        if (any)
                fputc('\n', out);
        return any;
}

/* Of a sentence no command is cut, so that it can be copied: one that is longer than the line stands out of it. */
static size_t sentence_length(const char *text, size_t width)
{
        const char *end = *text == '`' ? strchr(text + 1, '`') : NULL;
        size_t length = end ? (size_t)(end - text) + 1 + strcspn(end, " ") - 1 : 0;

        if (length > width)
                return length;
        length = strlen(text) > width ? last_blank(text, width) : 0;
        return length ? length : line_length(text, width);
}

void pw_text_print(const char *text, uint32_t indent, uint32_t width, FILE *out)
{
        while (*text) {
                size_t length = sentence_length(text, width > indent + NARROWEST ? width - indent : NARROWEST);
                fprintf(out, "%*s%.*s\n", (int)indent, "", (int)without_blanks(text, length), text);
                text += length;
                text += strspn(text, " ");
        }
}

void pw_grid_print(struct pw_grid *grid, uint32_t width, FILE *out)
{
        pw_auto_free const char **rest = calloc(grid->column_count, sizeof *rest);

        if (!rest)
                return;
        fit(grid, width);
        for (uint32_t first = 0; first + grid->column_count <= grid->cell_count; first += grid->column_count) {
                for (uint32_t c = 0; c < grid->column_count; c++)
                        rest[c] = grid->cells[first + c];
                while (print_line(grid, rest, !first && grid->headed, out))
                        ;
                uint32_t row = first / grid->column_count;
                if (row < grid->note_capacity && grid->notes[row])
                        pw_text_print(grid->notes[row], NOTE_INDENT, width, out);
        }
}
