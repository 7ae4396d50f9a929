/* Ranges by two-level segregated fit: constant time, whatever the history. Source: Masmano, Ripoll, Crespo, Real, "TLSF: a new
 * dynamic memory allocator for real-time systems", 2004. The records lie outside of the space: every range, used or free, has a
 * node; neighbours are linked in order of offset, free nodes hang in bins by size, used ones are found by offset. Ranges given
 * back last are kept as they are, by their size: the next take of that size has one at once; any other joins them all first. */
#include "base/range.h"

#include "base/memory.h"
#include "base/table.h"

#include <sys/random.h>

#define SUB_BITS 4u /* 16 bins per doubling */
#define SUB_COUNT (1u << SUB_BITS)
#define BINS_MAX 61u
#define FIT_PROBES 8u    /* ranges of a bin that are looked at before larger ones are cut */
#define KEPT_SIZES 8u
#define KEPT_MAX 8192u  /* ranges */

struct node {
        uint64_t offset, size; /* in units of align */
        struct node *before, *behind; /* neighbours in space */
        struct node *next, *prev;     /* in its bin, or `next` in the spares */
        bool free, kept;
};

/* Nodes are made by the block, more each time: a space of many ranges goes at once. */
#define BLOCK_MAX 64u
struct block { struct block *next; struct node nodes[]; };

/* Ranges of one size that were given back last: still found by offset, in no bin. */
struct kept { uint64_t size; struct node *first; };

struct pw_range {
        uint64_t units, used;
        uint32_t shift;
        struct node *last;          /* the neighbour at the end of the space */
        struct node *spares;        /* nodes to use again */
        struct block *blocks;
        uint32_t block_nodes;       /* of the last one */
        uint64_t block_bytes;       /* of all */
        struct pw_table taken;      /* key_of() its offset -> node */
        uint64_t secret;            /* of those keys */
        uint64_t first_map;         /* doublings with a free range */
        uint32_t sub_maps[BINS_MAX]; /* bins of each doubling with one */
        struct kept kept[KEPT_SIZES];
        uint32_t kept_count;
        struct node *bins[][SUB_COUNT]; /* as many doublings as the space has */
};

/* Clients choose what they keep: not so that the table has them all in one place. One key for each offset: each step has its
 * inverse. */
static uint64_t key_of(const struct pw_range *range, uint64_t offset)
{
        uint64_t key = (offset ^ range->secret) * UINT64_C(0xff51afd7ed558ccd); /* MurmurHash3's finalizer, Appleby */

        return key ^ key >> 32;
}

static void bin_of(uint64_t size, uint32_t *first, uint32_t *sub)
{
        uint32_t log2 = 63 - (uint32_t)__builtin_clzll(size);

        *first = log2 < SUB_BITS ? 0 : log2 - SUB_BITS + 1;
        *sub = (uint32_t)(log2 < SUB_BITS ? size : size >> (log2 - SUB_BITS)) & (SUB_COUNT - 1);
}

static void put_in_bin(struct pw_range *range, struct node *node)
{
        uint32_t first, sub;

        bin_of(node->size, &first, &sub);
        node->free = true;
        node->prev = NULL;
        node->next = range->bins[first][sub];
        if (node->next)
                node->next->prev = node;
        range->bins[first][sub] = node;
        range->sub_maps[first] |= 1u << sub;
        range->first_map |= UINT64_C(1) << first;
}

static void take_from_bin(struct pw_range *range, struct node *node)
{
        uint32_t first, sub;

        bin_of(node->size, &first, &sub);
        if (node->next)
                node->next->prev = node->prev;
        if (node->prev)
                node->prev->next = node->next;
        else
                range->bins[first][sub] = node->next;
        if (!range->bins[first][sub])
                range->sub_maps[first] &= ~(1u << sub);
        if (!range->sub_maps[first])
                range->first_map &= ~(UINT64_C(1) << first);
        node->free = false;
}

static void spare_node(struct pw_range *range, struct node *node)
{
        node->next = range->spares;
        range->spares = node;
}

/* One is kept ahead: a split does not fail for one refused allocation. */
static void stock(struct pw_range *range)
{
        uint32_t count = (uint32_t)pw_min_u64(2 * (uint64_t)range->block_nodes + 2, BLOCK_MAX);
        struct block *block = range->spares ? NULL : malloc(sizeof *block + count * sizeof block->nodes[0]);

        if (!block)
                return;
        block->next = range->blocks;
        range->blocks = block;
        range->block_nodes = count;
        range->block_bytes += sizeof *block + count * sizeof block->nodes[0];
        while (count)
                spare_node(range, &block->nodes[--count]);
}

static struct node *new_node(struct pw_range *range)
{
        struct node *node;

        stock(range);
        node = range->spares;
        if (!node)
                return NULL;
        range->spares = node->next;
        memset(node, 0, sizeof *node);
        return node;
}

struct pw_range *pw_range_new(uint64_t size, uint64_t align)
{
        uint32_t first, sub;
        struct pw_range *range;
        struct node *node;

        bin_of(pw_max_u64(size / align, 1), &first, &sub);
        range = calloc(1, sizeof *range + (first + 1) * sizeof *range->bins);
        node = range ? new_node(range) : NULL;

        if (!node || !pw_table_prepare(&range->taken)) {
                pw_range_free(range);
                return NULL;
        }
        stock(range);
        /* where there is none yet: keys that can be guessed */
        (void)!getrandom(&range->secret, sizeof range->secret, GRND_NONBLOCK);
        range->shift = (uint32_t)__builtin_ctzll(align);
        range->units = size >> range->shift;
        node->size = range->units;
        range->last = node;
        if (node->size)
                put_in_bin(range, node);
        return range;
}

void pw_range_free(struct pw_range *range)
{
        struct block *block;

        if (!range)
                return;
        while ((block = range->blocks)) {
                range->blocks = block->next;
                free(block);
        }
        pw_table_done(&range->taken);
        free(range);
}

/* The best of the first `looks` ranges of the bin that hold `size`. */
static struct node *find_in_bin(struct node *node, uint64_t size, uint32_t looks)
{
        struct node *best = NULL;

        for (; node && looks; node = node->next, looks--)
                if (node->size >= size && (!best || node->size < best->size))
                        best = node;
        return best;
}

/* From a bin whose every range holds `size`, the smallest such. */
static struct node *find_above(const struct pw_range *range, uint32_t first, uint32_t sub)
{
        uint32_t map;
        uint64_t above;

        map = sub + 1 < SUB_COUNT ? range->sub_maps[first] & (~0u << (sub + 1)) : 0;
        if (map)
                return range->bins[first][__builtin_ctz(map)];
        above = range->first_map & (~UINT64_C(0) << first << 1);
        if (!above)
                return NULL;
        first = (uint32_t)__builtin_ctzll(above);
        return range->bins[first][__builtin_ctz(range->sub_maps[first])];
}

static struct node *find(const struct pw_range *range, uint64_t size)
{
        struct node *node;
        uint32_t first, sub;

        bin_of(size, &first, &sub);
        node = find_in_bin(range->bins[first][sub], size, FIT_PROBES);
        if (!node)
                node = find_above(range, first, sub);
        return node ? node : find_in_bin(range->bins[first][sub], size, UINT32_MAX);
}

/* Cut what is behind `size` off into a free range of its own. */
static bool split(struct pw_range *range, struct node *node, uint64_t size)
{
        struct node *rest;

        if (node->size == size)
                return true;
        rest = new_node(range);
        if (!rest)
                return false;
        rest->offset = node->offset + size;
        rest->size = node->size - size;
        rest->before = node;
        rest->behind = node->behind;
        if (rest->behind)
                rest->behind->before = rest;
        else
                range->last = rest;
        node->behind = rest;
        node->size = size;
        put_in_bin(range, rest);
        return true;
}

static uint64_t units_of(const struct pw_range *range, uint64_t size)
{
        uint64_t mask = (UINT64_C(1) << range->shift) - 1;

        return (size >> range->shift) + ((size & mask) != 0);
}

/* `node` takes in the one behind it. */
static void join_behind(struct pw_range *range, struct node *node)
{
        struct node *behind = node->behind;

        node->size += behind->size;
        node->behind = behind->behind;
        if (node->behind)
                node->behind->before = node;
        else
                range->last = node;
        spare_node(range, behind);
}

/* Among the free ranges, joined with its neighbours. */
static void make_free(struct pw_range *range, struct node *node)
{
        pw_table_remove(&range->taken, key_of(range, node->offset));
        if (node->behind && node->behind->free) {
                take_from_bin(range, node->behind);
                join_behind(range, node);
        }
        if (node->before && node->before->free) {
                node = node->before;
                take_from_bin(range, node);
                join_behind(range, node);
        }
        put_in_bin(range, node);
}

/* --- ranges given back last ---------------------------------------------------------------------------------------------- */

static struct kept *kept_of(struct pw_range *range, uint64_t size)
{
        struct kept *empty = NULL;

        for (uint32_t i = 0; i < KEPT_SIZES; i++) {
                if (range->kept[i].size == size)
                        return &range->kept[i];
                if (!empty && !range->kept[i].first) /* the first: sizes that are in use are found soon */
                        empty = &range->kept[i];
        }
        if (empty)
                empty->size = size;
        return empty;
}

void pw_range_join(struct pw_range *range)
{
        for (uint32_t i = 0; i < KEPT_SIZES; i++) {
                struct node *node;

                while ((node = range->kept[i].first)) {
                        range->kept[i].first = node->next;
                        node->kept = false;
                        make_free(range, node);
                }
        }
        range->kept_count = 0;
}

/* False: it goes to the free ones. */
static bool keep(struct pw_range *range, struct node *node)
{
        struct kept *kept = range->kept_count < KEPT_MAX ? kept_of(range, node->size) : NULL;

        if (!kept)
                return false;
        node->kept = true;
        node->next = kept->first;
        kept->first = node;
        range->kept_count++;
        return true;
}

static bool take_kept(struct pw_range *range, uint64_t size, uint64_t *ret_offset)
{
        struct kept *kept = range->kept_count ? kept_of(range, size) : NULL;
        struct node *node = kept ? kept->first : NULL;

        if (!node)
                return false;
        kept->first = node->next;
        node->kept = false;
        range->kept_count--;
        range->used += size;
        *ret_offset = node->offset << range->shift;
        return true;
}

bool pw_range_take(struct pw_range *range, uint64_t size, uint64_t *ret_offset)
{
        uint64_t units = units_of(range, size);
        struct node *node;

        if (!units) { /* an empty range lies anywhere */
                *ret_offset = 0;
                return true;
        }
        if (units > range->units) /* no bin may be so high */
                return false;
        if (take_kept(range, units, ret_offset))
                return true;
        pw_range_join(range);
        node = find(range, units);
        if (!node || !pw_table_put(&range->taken, key_of(range, node->offset), node))
                return false;
        take_from_bin(range, node);
        if (!split(range, node, units)) {
                pw_table_remove(&range->taken, key_of(range, node->offset));
                put_in_bin(range, node);
                return false;
        }
        stock(range);
        range->used += units;
        *ret_offset = node->offset << range->shift;
        return true;
}

void pw_range_give(struct pw_range *range, uint64_t offset, uint64_t size)
{
        struct node *node = units_of(range, size) ? pw_table_get(&range->taken, key_of(range, offset >> range->shift)) : NULL;

        if (!node || node->kept)
                return;
        range->used -= node->size;
        if (!keep(range, node))
                make_free(range, node);
}

uint64_t pw_range_used(const struct pw_range *range)
{
        return range->used << range->shift;
}

uint64_t pw_range_heap_bytes(const struct pw_range *range)
{
        return range->block_bytes + ((uint64_t)range->taken.capacity + range->taken.old_capacity) * sizeof *range->taken.cells;
}
