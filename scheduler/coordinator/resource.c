/* The resource manager: maps the virtual devices of a slice to the least loaded physical ones.
 *
 * A device's load is how many places of slices it has. Places of the mesh are given out island by island, ascending, and
 * within an island device by device, so that neighbours in the mesh are neighbours in the machine.
 */
#include "scheduler/state.h"

#include "base/error.h"
#include "base/layout.h"
#include "base/size.h"

struct choice {
        struct pw_scheduler *scheduler;
        const struct pw_slice_ask *ask;
        const char *kind;
        uint32_t free[PW_ISLANDS_MAX];   /* devices of that kind that have the memory */
        uint32_t take[PW_ISLANDS_MAX];
        uint32_t total, short_of_memory; /* devices of the kind; of these, too full now */
};

static bool fits(const struct choice *choice, const struct pw_device *device)
{
        return device && !strcmp(device->kind, choice->kind) && device->free >= choice->ask->memory_bytes &&
               (!choice->ask->island || (int32_t)device->island + 1 == choice->ask->island);
}

static void count_devices(struct choice *choice)
{
        for (uint32_t i = 0; i < PW_DEVICES_MAX; i++) {
                const struct pw_device *device = choice->scheduler->devices[i];
                if (!device || strcmp(device->kind, choice->kind) != 0 ||
                    (choice->ask->island && (int32_t)device->island + 1 != choice->ask->island))
                        continue;
                choice->total += device->capacity >= choice->ask->memory_bytes;
                if (fits(choice, device))
                        choice->free[device->island]++;
                else
                        choice->short_of_memory += device->capacity >= choice->ask->memory_bytes;
        }
}

/* One that is not there is behind all that are: it is being started again, and may not come back. */
static uint64_t weight(const struct pw_device *device) { return device->load + (device->up ? 0 : UINT64_C(1) << 32); }

/* The least loaded device of an island that fits and is not in `taken`. */
static struct pw_device *least_loaded(const struct choice *choice, uint32_t island, uint64_t taken)
{
        struct pw_device *best = NULL;

        for (uint32_t i = 0; i < PW_DEVICES_MAX; i++) {
                struct pw_device *device = choice->scheduler->devices[i];
                if (fits(choice, device) && device->island == island && !(taken >> i & 1) &&
                    (!best || weight(device) < weight(best)))
                        best = device;
        }
        return best;
}

/* Load that `count` more places would meet in this island. */
static uint64_t load_of(const struct choice *choice, uint32_t island, uint32_t count)
{
        uint64_t taken = 0, load = 0;

        for (uint32_t i = 0; i < count; i++) {
                const struct pw_device *device = least_loaded(choice, island, taken);
                taken |= UINT64_C(1) << device->number;
                load += weight(device);
        }
        return load;
}

/* The least loaded island that has `count` devices and was not chosen yet; PW_ISLANDS_MAX: none. */
static uint32_t best_island(const struct choice *choice, uint32_t count)
{
        uint32_t best = PW_ISLANDS_MAX;
        uint64_t least = UINT64_MAX;

        for (uint32_t i = 0; i < PW_ISLANDS_MAX; i++) {
                if (choice->take[i] || choice->free[i] < count)
                        continue;
                if (load_of(choice, i, count) < least) {
                        best = i;
                        least = load_of(choice, i, count);
                }
        }
        return best;
}

static bool spread(struct choice *choice)
{
        uint32_t each = choice->ask->device_count / choice->ask->island_count;

        for (uint32_t i = 0; i < choice->ask->island_count; i++) {
                uint32_t island = best_island(choice, each);
                if (island == PW_ISLANDS_MAX)
                        return false;
                choice->take[island] = each;
        }
        return true;
}

/* As few islands as possible: the largest ones, and for the rest the least loaded one that has it. */
static bool pack(struct choice *choice)
{
        uint32_t left = choice->ask->device_count;

        while (left) {
                uint32_t island = best_island(choice, left), largest = 0;
                if (island != PW_ISLANDS_MAX) {
                        choice->take[island] = left;
                        return true;
                }
                for (uint32_t i = 0; i < PW_ISLANDS_MAX; i++)
                        if (!choice->take[i] && choice->free[i] > largest) {
                                largest = choice->free[i];
                                island = i;
                        }
                if (!largest)
                        return false;
                choice->take[island] = largest;
                left -= largest;
        }
        return true;
}

static bool choose(struct choice *choice)
{
        if (!choice->ask->island_count)
                return pack(choice);
        return spread(choice);
}

static void take_places(const struct choice *choice, struct pw_slice_live *slice)
{
        uint32_t place = 0;

        for (uint32_t island = 0; island < PW_ISLANDS_MAX; island++) {
                uint64_t taken = 0;
                for (uint32_t i = 0; i < choice->take[island]; i++)
                        taken |= UINT64_C(1) << least_loaded(choice, island, taken)->number;
                for (; taken; taken &= taken - 1, place++) {
                        struct pw_device *device = choice->scheduler->devices[__builtin_ctzll(taken)];
                        ((struct pw_slice_place *)slice->map.places)[place] = (struct pw_slice_place){
                                (uint16_t)choice->scheduler->host, (uint16_t)island, (uint16_t)device->number };
                        slice->map.memory = (struct pw_slice_memory){ device->kind, device->range != NULL };
                        slice->map.kernels = device->kernels;
                        device->load++;
                }
        }
}

static bool has_one_kind(const struct pw_scheduler *scheduler)
{
        const char *kind = NULL;
        bool one = true;

        for (uint32_t i = 0; i < PW_DEVICES_MAX; i++) {
                if (!scheduler->devices[i])
                        continue;
                one = one && (!kind || !strcmp(kind, scheduler->devices[i]->kind));
                kind = scheduler->devices[i]->kind;
        }
        return one;
}

static enum pw_status refuse(const struct choice *choice, struct pw_error *ret_err)
{
        const struct pw_slice_ask *ask = choice->ask;
        char size[16];

        if (choice->total >= ask->device_count && choice->short_of_memory)
                return pw_error_set(ret_err, PW_NO_SPACE, "slice of %u devices: %u of %u devices have less than %s free",
                                    ask->device_count, choice->short_of_memory, choice->total,
                                    pw_size_format(ask->memory_bytes, size));
        if (ask->island_count > 1 && choice->total >= ask->device_count)
                return pw_error_set(ret_err, PW_TOO_LARGE,
                                    "slice of %u devices over %u islands: fewer islands have %u devices each", ask->device_count,
                                    ask->island_count, ask->device_count / ask->island_count);
        return pw_error_set(ret_err, PW_TOO_LARGE, "slice of %u devices: there are %u%s%s%s%s", ask->device_count, choice->total,
                            ask->kind ? " of kind " : "", ask->kind ? ask->kind : "",
                            ask->memory_bytes ? " with that much memory" : ask->island ? " in that island" : "",
                            ask->kind || has_one_kind(choice->scheduler) ? "" :
                                                                           " of one kind, which a slice is of");
}

static enum pw_status check_ask(const struct pw_slice_ask *ask, struct pw_error *ret_err)
{
        if (!ask->device_count)
                return pw_error_set(ret_err, PW_INVALID, "a slice of 0 devices");
        if (!pw_mesh_possible(ask->mesh))
                return pw_error_set(ret_err, PW_INVALID, "a mesh with an axis behind one that has no size");
        if (ask->mesh[0] && pw_mesh_count(ask->mesh) != ask->device_count)
                return pw_error_set(ret_err, PW_INVALID, "a mesh of %u devices for a slice of %u", pw_mesh_count(ask->mesh),
                                    ask->device_count);
        if (ask->island_count && ask->device_count % ask->island_count)
                return pw_error_set(ret_err, PW_INVALID, "%u devices cannot be spread evenly over %u islands", ask->device_count,
                                    ask->island_count);
        if (ask->island && ask->island_count > 1)
                return pw_error_set(ret_err, PW_INVALID, "a slice in one given island and over %u", ask->island_count);
        return PW_OK;
}

/* Any kind: the one with most devices that fit. */
static const char *any_kind(struct pw_scheduler *scheduler, const struct pw_slice_ask *ask)
{
        const char *best = "";
        uint32_t most = 0;

        for (uint32_t i = 0; i < PW_DEVICES_MAX; i++) {
                struct choice choice = { .scheduler = scheduler, .ask = ask };
                uint32_t count = 0;
                if (!scheduler->devices[i])
                        continue;
                choice.kind = scheduler->devices[i]->kind;
                for (uint32_t d = 0; d < PW_DEVICES_MAX; d++)
                        count += fits(&choice, scheduler->devices[d]);
                if (count > most || !most) {
                        most = count;
                        best = choice.kind;
                }
        }
        return best;
}

static struct pw_slice_live *slice_new(const struct pw_slice_ask *ask)
{
        struct pw_slice_live *slice = calloc(1, sizeof *slice);

        if (!slice)
                return NULL;
        slice->map.device_count = ask->device_count;
        memcpy(slice->map.mesh, ask->mesh, sizeof slice->map.mesh);
        if (!slice->map.mesh[0])
                slice->map.mesh[0] = ask->device_count;
        slice->map.places = calloc(ask->device_count, sizeof *slice->map.places);
        slice->session = ask->session;
        slice->open = true;
        if (slice->map.places)
                return slice;
        pw_slice_destroy(slice);
        return NULL;
}

enum pw_status pw_scheduler_slice_open(struct pw_scheduler *scheduler, const struct pw_slice_ask *ask,
                                       const struct pw_slice_map **ret_slice, struct pw_error *ret_err)
{
        struct choice choice = { .scheduler = scheduler, .ask = ask };
        enum pw_status status = check_ask(ask, ret_err);
        struct pw_slice_live *slice;

        if (status != PW_OK)
                return status;
        choice.kind = ask->kind ? ask->kind : any_kind(scheduler, ask);
        count_devices(&choice);
        if (!choose(&choice))
                return refuse(&choice, ret_err);
        slice = slice_new(ask);
        if (slice)
                slice->map.id = pw_scheduler_number(&scheduler->slices, &scheduler->slice_number);
        if (!slice || !pw_table_put(&scheduler->slices, slice->map.id, slice)) {
                pw_slice_destroy(slice);
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a slice");
        }
        slice->serial = ++scheduler->serial_count;
        take_places(&choice, slice);
        *ret_slice = &slice->map;
        return PW_OK;
}

const struct pw_slice_map *pw_scheduler_slice(struct pw_scheduler *scheduler, uint32_t id)
{
        struct pw_slice_live *slice = pw_table_get(&scheduler->slices, id);

        return slice && slice->open ? &slice->map : NULL;
}

void pw_slice_destroy(struct pw_slice_live *slice)
{
        if (!slice)
                return;
        free((void *)slice->map.places);
        free(slice);
}

static void maybe_end(struct pw_scheduler *scheduler, struct pw_slice_live *slice)
{
        if (slice->open || slice->users)
                return;
        for (uint32_t i = 0; i < slice->map.device_count; i++)
                scheduler->devices[slice->map.places[i].device]->load--;
        pw_table_remove(&scheduler->slices, slice->map.id);
        pw_slice_destroy(slice);
}

void pw_slice_use(struct pw_slice_live *slice) { slice->users++; }

const struct pw_slice_map *pw_scheduler_slice_hold(struct pw_scheduler *scheduler, uint32_t id)
{
        struct pw_slice_live *slice = pw_table_get(&scheduler->slices, id);

        if (!slice || !slice->open)
                return NULL;
        pw_slice_use(slice);
        return &slice->map;
}

void pw_scheduler_slice_let_go(struct pw_scheduler *scheduler, uint32_t id) { pw_slice_unuse(scheduler, id); }

void pw_slice_unuse(struct pw_scheduler *scheduler, uint32_t id)
{
        struct pw_slice_live *slice = pw_table_get(&scheduler->slices, id);

        if (!slice)
                return;
        slice->users--;
        maybe_end(scheduler, slice);
}

void pw_scheduler_slice_close(struct pw_scheduler *scheduler, uint32_t id)
{
        struct pw_slice_live *slice = pw_table_get(&scheduler->slices, id);

        if (!slice || !slice->open)
                return;
        slice->open = false;
        maybe_end(scheduler, slice);
}
