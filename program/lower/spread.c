/* How islands lie in meshes: places sorted by their coordinates and islands, counted once. */
#include "program/lower/spread.h"

#include "base/memory.h"

enum question { CROSSES, ALIKE, IN_EACH_ISLAND };

void pw_spreads_done(struct pw_spreads *spreads) { pw_table_done(&spreads->known); }

/* --- what was answered before ------------------------------------------------------------------------------------------------ */

static uint64_t key_of(const struct pw_spreads *spreads, enum question question, const struct pw_slice_map *a,
                       const struct pw_slice_map *b, uint32_t how)
{
        uint64_t first = (uint64_t)(a - spreads->slices), second = b ? 1 + (uint64_t)(b - spreads->slices) : 0;

        return (uint64_t)question << 48 | first << 32 | second << 16 | how;
}

static bool is_known(const struct pw_spreads *spreads, uint64_t key, bool *ret_answer)
{
        uintptr_t known = (uintptr_t)pw_table_get(&spreads->known, key);

        *ret_answer = known > 1;
        return known;
}

static enum pw_status no_memory(struct pw_error *ret_err) { return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory"); }

static enum pw_status keep(struct pw_spreads *spreads, uint64_t key, bool answer, struct pw_error *ret_err)
{
        return pw_table_put(&spreads->known, key, (void *)(1 + (uintptr_t)answer)) ? PW_OK : no_memory(ret_err);
}

static enum pw_status look(struct pw_spreads *spreads, uint32_t places, struct pw_error *ret_err)
{
        spreads->probes += places;
        if (spreads->probes <= PW_SPREAD_PROBES_MAX)
                return PW_OK;
        return pw_error_set(ret_err, PW_TOO_LARGE,
                            "its transfers, between %u devices here, would take more than %llu looks at who reads whom: make "
                            "several programs of it, or move values between fewer slices",
                            places, (unsigned long long)PW_SPREAD_PROBES_MAX);
}

/* --- sorted keys -------------------------------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
        uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

        return first < second ? -1 : first > second;
}

/* Sort, and keep one of each. Returns how many are left. */
static uint32_t sort_keys(uint64_t *keys, uint32_t count)
{
        uint32_t kept = 0;

        qsort(keys, count, sizeof *keys, compare);
        for (uint32_t i = 0; i < count; i++)
                if (!kept || keys[kept - 1] != keys[i])
                        keys[kept++] = keys[i];
        return kept;
}

static uint32_t island_key(const struct pw_slice_place *at) { return (uint32_t)at->host << 16 | at->island; }

/* --- does somebody read in another island? ------------------------------------------------------------------------------------ */

/* The place that has the coordinates of `place` along axes of these kinds (a bit each), and 0 along the others. */
static uint32_t along(const struct pw_spread_way *way, uint32_t place, uint32_t kinds)
{
        uint32_t coords[PW_MESH_AXES_MAX];

        pw_mesh_coords(way->from->mesh, place, coords);
        for (uint32_t a = 0; a < PW_MESH_AXES_MAX; a++)
                if (!(kinds >> way->axis[a] & 1))
                        coords[a] = 0;
        return pw_mesh_place(way->from->mesh, coords);
}

#define OWN (1u << PW_SPREAD_OWN)
#define EACH (1u << PW_SPREAD_EACH)
#define ANY (1u << PW_SPREAD_ANY)

/* Own coordinates and island, in the upper bits; behind them what of EACH is there. */
static uint64_t group_key(const struct pw_spread_way *way, uint32_t place, const struct pw_slice_place *at)
{
        return (uint64_t)along(way, place, OWN) << 48 | (uint64_t)island_key(at) << 16 | along(way, place, EACH);
}

/* Keys of the groups, places that differ along ALL axes alone, that lie in one island. `mixed`: room for a bool per place. */
static uint32_t list_groups(const struct pw_spread_way *way, uint64_t *ret_keys, bool *mixed)
{
        const struct pw_slice_map *from = way->from;
        uint32_t count = 0;

        for (uint32_t place = 0; place < from->device_count; place++) {
                uint32_t group = along(way, place, OWN | EACH | ANY);
                if (!pw_same_island(&from->places[place], &from->places[group]))
                        mixed[group] = true;
        }
        for (uint32_t place = 0; place < from->device_count; place++)
                if (along(way, place, OWN | EACH | ANY) == place && !mixed[place])
                        ret_keys[count++] = group_key(way, place, &from->places[place]);
        return sort_keys(ret_keys, count);
}

/* Of sorted keys, the upper bits of those that have each coordinate of EACH. Returns how many. */
static uint32_t keep_whole(const struct pw_spread_way *way, uint64_t *keys, uint32_t count)
{
        uint32_t need = 1, met = 0, kept = 0;
        uint64_t last = UINT64_MAX;

        for (uint32_t a = 0; a < PW_MESH_AXES_MAX; a++)
                need *= way->axis[a] == PW_SPREAD_EACH ? way->from->mesh[a] : 1;
        for (uint32_t i = 0; i < count; i++) {
                uint64_t whose = keys[i] >> 16;
                met = whose == last ? met + 1 : 1;
                last = whose;
                if (met == need)
                        keys[kept++] = whose;
        }
        return kept;
}

static bool crosses(const struct pw_spread_way *way, uint64_t *keys, bool *mixed)
{
        const struct pw_slice_map *to = way->to ? way->to : way->from;
        uint32_t count = keep_whole(way, keys, list_groups(way, keys, mixed));

        for (uint32_t place = 0; place < to->device_count; place++) {
                uint64_t own = way->to ? 0 : along(way, place, OWN), key = own << 32 | island_key(&to->places[place]);
                if (!bsearch(&key, keys, count, sizeof key, compare))
                        return true;
        }
        return false;
}

enum pw_status pw_spread_crosses(struct pw_spreads *spreads, const struct pw_spread_way *way, bool *ret_crosses,
                                 struct pw_error *ret_err)
{
        uint32_t count = way->from->device_count, how = 0;
        pw_auto_free uint64_t *keys = NULL;
        pw_auto_free bool *mixed = NULL;
        enum pw_status status;
        uint64_t key;

        for (uint32_t a = 0; a < PW_MESH_AXES_MAX; a++)
                how = how << 2 | way->axis[a];
        key = key_of(spreads, CROSSES, way->from, way->to, how);
        if (is_known(spreads, key, ret_crosses))
                return PW_OK;
        status = look(spreads, count + (way->to ? way->to->device_count : 0), ret_err);
        if (status != PW_OK)
                return status;
        keys = calloc((size_t)count + 1, sizeof *keys);
        mixed = calloc((size_t)count + 1, sizeof *mixed);
        if (!keys || !mixed)
                return no_memory(ret_err);
        *ret_crosses = crosses(way, keys, mixed);
        return keep(spreads, key, *ret_crosses, ret_err);
}

/* --- slices side by side ------------------------------------------------------------------------------------------------------ */

static bool alike(const struct pw_slice_map *a, const struct pw_slice_map *b)
{
        if (a->device_count != b->device_count)
                return false;
        for (uint32_t i = 0; i < PW_MESH_AXES_MAX; i++)
                if (a->mesh[i] != b->mesh[i] && (a->mesh[i] > 1 || b->mesh[i] > 1))
                        return false;
        for (uint32_t place = 0; place < a->device_count; place++)
                if (!pw_same_island(&a->places[place], &b->places[place]))
                        return false;
        return true;
}

enum pw_status pw_spread_alike(struct pw_spreads *spreads, const struct pw_slice_map *a, const struct pw_slice_map *b,
                               bool *ret_alike, struct pw_error *ret_err)
{
        uint64_t key = key_of(spreads, ALIKE, a, b, 0);
        enum pw_status status;

        *ret_alike = a == b;
        if (a == b || is_known(spreads, key, ret_alike))
                return PW_OK;
        status = look(spreads, a->device_count, ret_err);
        if (status != PW_OK)
                return status;
        *ret_alike = alike(a, b);
        return keep(spreads, key, *ret_alike, ret_err);
}

/* --- reductions in steps ------------------------------------------------------------------------------------------------------ */

static bool in_each_island(const struct pw_slice_map *slice, uint32_t reduced, uint64_t *keys)
{
        uint32_t count = slice->device_count, groups = count, pairs, islands;

        for (uint32_t a = 0; a < PW_MESH_AXES_MAX; a++)
                groups /= reduced >> a & 1 ? slice->mesh[a] : 1;
        for (uint32_t place = 0; place < count; place++) {
                uint32_t coords[PW_MESH_AXES_MAX];
                pw_mesh_coords(slice->mesh, place, coords);
                for (uint32_t a = 0; a < PW_MESH_AXES_MAX; a++)
                        coords[a] = reduced >> a & 1 ? 0 : coords[a];
                keys[place] = (uint64_t)pw_mesh_place(slice->mesh, coords) << 32 | island_key(&slice->places[place]);
        }
        pairs = sort_keys(keys, count);
        for (uint32_t i = 0; i < pairs; i++)
                keys[i] &= UINT32_MAX;
        islands = sort_keys(keys, pairs);
        return groups < count && pairs == groups * islands && pairs < count;
}

enum pw_status pw_spread_in_each_island(struct pw_spreads *spreads, const struct pw_slice_map *slice, uint32_t reduced,
                                        bool *ret_so, struct pw_error *ret_err)
{
        uint64_t key = key_of(spreads, IN_EACH_ISLAND, slice, NULL, reduced);
        pw_auto_free uint64_t *keys = NULL;
        enum pw_status status;

        if (is_known(spreads, key, ret_so))
                return PW_OK;
        status = look(spreads, slice->device_count, ret_err);
        if (status != PW_OK)
                return status;
        keys = calloc((size_t)slice->device_count + 1, sizeof *keys);
        if (!keys)
                return no_memory(ret_err);
        *ret_so = in_each_island(slice, reduced, keys);
        return keep(spreads, key, *ret_so, ret_err);
}
