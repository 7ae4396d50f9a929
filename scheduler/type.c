/* What a result of a program is, each time it runs: kept once, for all of its runs. */
#include "scheduler/program.h"

#include "base/layout.h"
#include "base/memory.h"
#include "base/size.h"

#define TYPE_BYTES ((int64_t)(sizeof(struct pw_result_type) + PW_HEAP_BYTES))

static uint64_t shard_bytes(const struct pw_result_type *type, uint32_t place)
{
        const struct pw_image_value *value = &type->value;
        struct pw_box box;

        pw_shard_box(&value->dims, &value->sharding, type->mesh, place, &box);
        return pw_box_elements(&box) * pw_dtype_bytes(value->dtype);
}

struct pw_result_type *pw_type_new(const struct pw_image_value *value, const uint32_t mesh[PW_MESH_AXES_MAX])
{
        struct pw_result_type *type = calloc(1, sizeof *type);
        uint64_t first;

        if (!type)
                return NULL;
        type->value = *value;
        memcpy(type->mesh, mesh, sizeof type->mesh);
        type->users = 1;
        /* Cannot overflow: the program was lowered with it. */
        if (pw_dims_bytes(value->dtype, &value->dims, &type->bytes, NULL) != PW_OK)
                type->bytes = 0;
        /* No shard is larger than the first, none smaller than the last: split_box(). */
        first = shard_bytes(type, 0);
        if (first == shard_bytes(type, pw_mesh_count(mesh) - 1))
                type->each_bytes = first;
        return type;
}

uint64_t pw_type_shard_bytes(const struct pw_result_type *type, uint32_t place)
{
        return type->each_bytes ? type->each_bytes : shard_bytes(type, place);
}

void pw_type_leave(struct pw_result_type *type, struct pw_scheduler *scheduler, struct pw_device_quota *quota)
{
        if (!type || --type->users)
                return;
        if (type->outlived)
                pw_quota_records(scheduler, quota, -TYPE_BYTES);
        free(type);
}

void pw_types_leave(struct pw_program *program)
{
        for (uint32_t i = 0; program->types && i < program->row.result_count; i++) {
                struct pw_result_type *type = program->types[i];

                if (type && type->users > 1) {
                        type->outlived = true;
                        pw_quota_records(program->scheduler, program->quota, TYPE_BYTES);
                }
                pw_type_leave(type, program->scheduler, program->quota);
        }
        free(program->types);
}
