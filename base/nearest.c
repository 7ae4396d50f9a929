/* The known word that somebody probably meant. */
#include "base/option.h"

#include "base/memory.h"

#define NAME_MAX_BYTES 63u

/* Edit distance with swaps of neighbours (optimal string alignment); `b` has at most NAME_MAX_BYTES characters. */
static uint32_t distance(const char *a, const char *b)
{
        uint32_t rows[3][NAME_MAX_BYTES + 1];
        size_t a_length = strlen(a), b_length = strlen(b);

        for (size_t j = 0; j <= b_length; j++)
                rows[0][j] = (uint32_t)j;
        for (size_t i = 1; i <= a_length; i++) {
                uint32_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
                row[0] = (uint32_t)i;
                for (size_t j = 1; j <= b_length; j++) {
                        uint64_t best = pw_min_u64(above[j], row[j - 1]) + 1;
                        best = pw_min_u64(best, above[j - 1] + (a[i - 1] != b[j - 1]));
                        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                                best = pw_min_u64(best, two_above[j - 2] + 1);
                        row[j] = (uint32_t)best;
                }
        }
        return rows[a_length % 3][b_length];
}

const char *pw_nearest(const char *word, const char *const *names, uint32_t count)
{
        const char *nearest = NULL;
        size_t length = strlen(word);
        uint32_t bound = length < 4 ? 2 : length < 10 ? 3 : 4; /* a distance below this is near */

        for (uint32_t i = 0; i < count; i++) {
                uint32_t found = strlen(names[i]) > NAME_MAX_BYTES ? UINT32_MAX : distance(word, names[i]);
                if (found >= bound)
                        continue;
                bound = found;
                nearest = names[i];
        }
        return nearest;
}
