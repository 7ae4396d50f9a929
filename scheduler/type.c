/* What a result of a program is, each time it runs: kept once, for all of its runs. */
#include "scheduler/program.h"

#include "base/layout.h"
#include "base/memory.h"
#include "base/size.h"

static int64_t type_bytes(const struct pw_result_type *type) { return (int64_t)(sizeof *type + PW_HEAP_BYTES); }

uint64_t pw_hosts_bytes(const struct pw_program_hosts *hosts)
{
        return sizeof *hosts + hosts->count * sizeof *hosts->numbers + PW_HEAP_BYTES;
}

static void hosts_leave(struct pw_program_hosts *hosts, struct pw_scheduler *scheduler, struct pw_device_quota *quota)
{
        if (--hosts->users)
                return;
        if (hosts->outlived)
                pw_quota_records(scheduler, quota, -(int64_t)pw_hosts_bytes(hosts));
        free(hosts);
}

static uint64_t shard_bytes(const struct pw_result_type *type, uint32_t place)
{
        const struct pw_image_value *value = &type->value;
        struct pw_box box;

        pw_shard_box(&value->dims, &value->sharding, type->mesh, place, &box);
        return pw_box_elements(&box) * pw_dtype_bytes(value->dtype);
}

struct pw_result_type *pw_type_new(const struct pw_sched_program *program, const struct pw_image_value *value)
{
        struct pw_result_type *type = calloc(1, sizeof *type);
        const struct pw_slice_map *map = &program->row.slices[value->slice];
        uint64_t first;

        if (!type)
                return NULL;
        type->value = *value;
        memcpy(type->mesh, map->mesh, sizeof type->mesh);
        type->memory = map->memory;
        type->users = 1;
        type->slice_hosts = program->slices[value->slice].part_count;
        type->hosts = program->shared;
        type->hosts->users++;
        /* Cannot overflow: the program was lowered with it. */
        if (pw_dims_bytes(value->dtype, &value->dims, &type->bytes, NULL) != PW_OK)
                type->bytes = 0;
        /* No shard is larger than the first, none smaller than the last: split_box(). */
        first = shard_bytes(type, 0);
        if (first == shard_bytes(type, pw_mesh_count(map->mesh) - 1))
                type->each_bytes = first;
        return type;
}

uint64_t pw_type_shard_bytes(const struct pw_result_type *type, uint32_t place)
{
        return type->each_bytes ? type->each_bytes : shard_bytes(type, place);
}

bool pw_type_lives_on(const struct pw_result_type *type, uint32_t place_count, const _Atomic uint64_t *lost)
{
        for (uint32_t i = 0; i < place_count; i++)
                if (pw_living_replica(&type->value.sharding, type->mesh, i, lost) == UINT32_MAX)
                        return false;
        return true;
}

void pw_type_leave(struct pw_result_type *type, struct pw_scheduler *scheduler, struct pw_device_quota *quota)
{
        if (!type || --type->users)
                return;
        if (type->outlived)
                pw_quota_records(scheduler, quota, -type_bytes(type));
        hosts_leave(type->hosts, scheduler, quota);
        free(type);
}

void pw_types_leave(struct pw_sched_program *program)
{
        for (uint32_t i = 0; program->types && i < program->row.result_count; i++) {
                struct pw_result_type *type = program->types[i];

                if (type && type->users > 1) {
                        type->outlived = true;
                        pw_quota_records(program->scheduler, program->quota, type_bytes(type));
                }
                pw_type_leave(type, program->scheduler, program->quota);
        }
        free(program->types);
        if (!program->shared)
                return;
        if (program->shared->users > 1) {
                program->shared->outlived = true;
                pw_quota_records(program->scheduler, program->quota, (int64_t)pw_hosts_bytes(program->shared));
        }
        hosts_leave(program->shared, program->scheduler, program->quota);
}
