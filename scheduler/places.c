/* Where the slices of a program lie: their places by host, and the hosts and this host's devices that they have. Worked out once,
 * whatever runs and results there are. */
#include "scheduler/program.h"

/* --- by host ------------------------------------------------------------------------------------------------------------------ */

static uint64_t key(const struct pw_slice_map *map, uint32_t place) { return (uint64_t)map->places[place].host << 32 | place; }

static int by_key(const void *a, const void *b)
{
        uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

        return (left > right) - (left < right);
}

static uint32_t count_hosts(const uint64_t *keys, uint32_t count)
{
        uint32_t hosts = 0;

        for (uint32_t i = 0; i < count; i++)
                hosts += !i || keys[i] >> 32 != keys[i - 1] >> 32;
        return hosts;
}

static void fill_parts(struct pw_program_slice *slice, const uint64_t *keys, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++) {
                slice->places[i] = (uint32_t)keys[i];
                if (!i || keys[i] >> 32 != keys[i - 1] >> 32)
                        slice->parts[slice->part_count++] = (struct pw_program_part){ (uint32_t)(keys[i] >> 32), i, 0 };
                slice->parts[slice->part_count - 1].count++;
        }
}

static bool list_parts(const struct pw_slice_map *map, struct pw_program_slice *slice)
{
        uint64_t *keys = calloc(map->device_count + 1, sizeof *keys);

        for (uint32_t place = 0; keys && place < map->device_count; place++)
                keys[place] = key(map, place);
        if (keys) {
                qsort(keys, map->device_count, sizeof *keys, by_key);
                slice->parts = calloc(count_hosts(keys, map->device_count) + 1, sizeof *slice->parts);
                slice->places = calloc(map->device_count + 1, sizeof *slice->places);
        }
        if (slice->parts && slice->places)
                fill_parts(slice, keys, map->device_count);
        free(keys);
        return slice->parts && slice->places;
}

static int by_host(const void *a, const void *b)
{
        uint32_t left = ((const struct pw_program_part *)a)->host, right = ((const struct pw_program_part *)b)->host;

        return (left > right) - (left < right);
}

const struct pw_program_part *pw_places_of(const struct pw_program_slice *slice, uint32_t host)
{
        struct pw_program_part wanted = { .host = host };

        return bsearch(&wanted, slice->parts, slice->part_count, sizeof *slice->parts, by_host);
}

/* --- hosts -------------------------------------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
        uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

        return (left > right) - (left < right);
}

/* Those of each slice, then without the repeats. */
static bool list_hosts(struct pw_sched_program *program)
{
        struct pw_program_hosts *hosts;
        uint32_t all = 0, count = 0;

        for (uint32_t i = 0; i < program->slice_count; i++)
                all += program->slices[i].part_count;
        hosts = calloc(1, sizeof *hosts + all * sizeof *hosts->numbers);
        if (!hosts)
                return false;
        for (uint32_t i = 0; i < program->slice_count; i++)
                for (uint32_t k = 0; k < program->slices[i].part_count; k++)
                        hosts->numbers[count++] = program->slices[i].parts[k].host;
        qsort(hosts->numbers, count, sizeof *hosts->numbers, by_number);
        for (uint32_t i = 0; i < count; i++)
                if (!i || hosts->numbers[i] != hosts->numbers[hosts->count - 1])
                        hosts->numbers[hosts->count++] = hosts->numbers[i];
        hosts->users = 1;
        program->shared = hosts;
        program->hosts = hosts->numbers;
        program->host_count = hosts->count;
        return true;
}

uint32_t pw_program_host(const struct pw_sched_program *program, uint32_t host)
{
        const uint32_t *found = bsearch(&host, program->hosts, program->host_count, sizeof *program->hosts, by_number);

        return found ? (uint32_t)(found - program->hosts) : UINT32_MAX;
}

/* --- this host ---------------------------------------------------------------------------------------------------------------- */

/* The devices that its slices have here, by number. */
static bool list_devices(struct pw_sched_program *program, uint32_t host)
{
        bool has[PW_DEVICES_MAX] = { false };

        for (uint32_t i = 0; i < program->slice_count; i++) {
                struct pw_program_slice *slice = &program->slices[i];
                const struct pw_program_part *part = pw_places_of(slice, host);

                slice->here_count = part ? part->count : 0;
                for (uint32_t k = 0; k < slice->here_count; k++)
                        has[program->row.slices[i].places[slice->places[part->first + k]].device] = true;
        }
        for (uint32_t number = 0; number < PW_DEVICES_MAX; number++)
                program->device_count += has[number];
        program->devices = calloc(program->device_count + 1, sizeof *program->devices);
        for (uint32_t number = 0, i = 0; program->devices && number < PW_DEVICES_MAX; number++)
                if (has[number])
                        program->devices[i++].number = number;
        return program->devices;
}

/* The places of a slice that are here. */
static bool list_here(struct pw_sched_program *program, uint32_t index, uint32_t host)
{
        const struct pw_slice_map *map = &program->row.slices[index];
        struct pw_program_slice *slice = &program->slices[index];
        const struct pw_program_part *part = pw_places_of(slice, host);

        slice->here = calloc(slice->here_count + 1, sizeof *slice->here);
        for (uint32_t i = 0; slice->here && i < slice->here_count; i++) {
                uint32_t place = slice->places[part->first + i];
                slice->here[i] = (struct pw_program_place){
                        place, (uint32_t)(pw_program_device(program, map->places[place].device) - program->devices) };
        }
        return slice->here;
}

bool pw_places_init(struct pw_sched_program *program, uint32_t host)
{
        for (uint32_t i = 0; i < program->slice_count; i++)
                if (!list_parts(&program->row.slices[i], &program->slices[i]))
                        return false;
        if (!list_hosts(program) || !list_devices(program, host))
                return false;
        for (uint32_t i = 0; i < program->slice_count; i++)
                if (!list_here(program, i, host))
                        return false;
        return true;
}

void pw_places_done(struct pw_sched_program *program)
{
        for (uint32_t i = 0; i < program->slice_count; i++) {
                free(program->slices[i].parts);
                free(program->slices[i].places);
                free(program->slices[i].here);
        }
        free(program->slices);
        free(program->devices);
}

uint64_t pw_places_bytes(const struct pw_sched_program *program)
{
        uint64_t bytes = pw_hosts_bytes(program->shared) + PW_HEAP_BYTES + program->device_count * sizeof *program->devices;

        for (uint32_t i = 0; i < program->slice_count; i++) {
                const struct pw_program_slice *slice = &program->slices[i];
                bytes += sizeof *slice + slice->here_count * sizeof *slice->here + slice->part_count * sizeof *slice->parts +
                        program->row.slices[i].device_count * sizeof *slice->places + 3 * PW_HEAP_BYTES;
        }
        return bytes;
}
