/* A tree of maxima over a row of places. */
#include "program/lower/heights.h"

#include "base/memory.h"

bool pw_heights_init(struct pw_heights *heights, uint32_t count)
{
        uint32_t leaves = 1;

        while (leaves < count)
                leaves *= 2;
        *heights = (struct pw_heights){ .most = calloc((size_t)leaves * 4, sizeof *heights->most), .leaves = leaves };
        if (!heights->most)
                return false;
        heights->whole = heights->most + (size_t)leaves * 2;
        return true;
}

void pw_heights_done(struct pw_heights *heights)
{
        free(heights->most);
        *heights = (struct pw_heights){ 0 };
}

static void raise_node(struct pw_heights *heights, uint32_t node, uint64_t height)
{
        heights->most[node] = pw_max_u64(heights->most[node], height);
        heights->whole[node] = pw_max_u64(heights->whole[node], height);
}

void pw_heights_raise(struct pw_heights *heights, uint32_t first, uint32_t last, uint64_t height)
{
        uint32_t low = first + heights->leaves, high = last + heights->leaves + 1;

        for (; low < high; low /= 2, high /= 2) {
                if (low & 1)
                        raise_node(heights, low++, height);
                if (high & 1)
                        raise_node(heights, --high, height);
        }
        for (low = (first + heights->leaves) / 2; low; low /= 2)
                heights->most[low] = pw_max_u64(heights->most[low], height);
        for (high = (last + heights->leaves) / 2; high; high /= 2)
                heights->most[high] = pw_max_u64(heights->most[high], height);
}

uint64_t pw_heights_highest(const struct pw_heights *heights, uint32_t first, uint32_t last)
{
        uint32_t low = first + heights->leaves, high = last + heights->leaves + 1;
        uint64_t highest = 0;

        for (; low < high; low /= 2, high /= 2) {
                if (low & 1)
                        highest = pw_max_u64(highest, heights->most[low++]);
                if (high & 1)
                        highest = pw_max_u64(highest, heights->most[--high]);
        }
        /* Whatever covers more than a part of the span covers its first or its last place. */
        for (low = first + heights->leaves; low; low /= 2)
                highest = pw_max_u64(highest, heights->whole[low]);
        for (high = last + heights->leaves; high; high /= 2)
                highest = pw_max_u64(highest, heights->whole[high]);
        return highest;
}

uint32_t pw_heights_next(const struct pw_heights *heights, uint32_t from, uint64_t height)
{
        uint32_t node = from + heights->leaves;

        if (from >= heights->leaves)
                return from;
        while (heights->most[node] < height) {
                while (node & 1)
                        node /= 2;
                if (!node)
                        return heights->leaves;
                node++;
        }
        while (node < heights->leaves)
                node = heights->most[2 * node] >= height ? 2 * node : 2 * node + 1;
        return node - heights->leaves;
}
