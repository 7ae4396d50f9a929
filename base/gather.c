/* Gathering a range: it is cut into boxes, of which each lies in a row where it goes; of each the shards bring their parts. */
#include "base/gather.h"

#include "base/memory.h"

/* What a shard is to the whole: the first to bring its part, one to be added to it, or one more copy. */
enum role { ROLE_COPY, ROLE_REDUCE, ROLE_NONE };

static enum role role_of(const struct pw_gather *gather, uint32_t place, enum pw_op *ret_op)
{
        uint32_t coords[PW_MESH_AXES_MAX];
        enum role role = ROLE_COPY;

        pw_mesh_coords(gather->mesh, place, coords);
        for (uint32_t axis = 0; axis < PW_MESH_AXES_MAX; axis++) {
                const struct pw_axis_sharding *of_axis = &gather->sharding.axis[axis];

                if (coords[axis] == 0 || of_axis->layout == PW_LAYOUT_SPLIT)
                        continue;
                if (of_axis->layout == PW_LAYOUT_BROADCAST)
                        return ROLE_NONE;
                role = ROLE_REDUCE;
                *ret_op = (enum pw_op)of_axis->op;
        }
        return role;
}

/* The part of `box` that the shard has. */
static enum pw_status bring(const struct pw_gather *gather, uint32_t place, const struct pw_box *box, uint8_t *to,
                            struct pw_error *ret_err)
{
        enum pw_op op = PW_SUM;
        enum role role = role_of(gather, place, &op);
        struct pw_box own, part;
        const uint8_t *data;
        enum pw_status status;

        pw_shard_box(&gather->dims, &gather->sharding, gather->mesh, place, &own);
        if (role == ROLE_NONE || !pw_box_meet(&own, box, &part))
                return PW_OK;
        status = gather->shard(gather->context, place, &own, &data, ret_err);
        if (status != PW_OK)
                return status;
        if (role == ROLE_COPY) {
                pw_box_copy(to, box, data, &own, &part, gather->element_bytes);
                return PW_OK;
        }
        status = pw_box_reduce(to, box, data, &own, &part, gather->dtype, op);
        return status == PW_OK ? status : pw_error_set(ret_err, status, "a partial value of %s has no reduction",
                                                       pw_dtype_text(gather->dtype));
}

static enum pw_status fill(const struct pw_gather *gather, const struct pw_box *box, uint8_t *to, struct pw_error *ret_err)
{
        uint32_t count = pw_mesh_count(gather->mesh);
        enum pw_status status = PW_OK;

        for (uint32_t place = 0; status == PW_OK && place < count; place++)
                status = bring(gather, place, box, to, ret_err);
        return status;
}

/* The box that begins at element `first` and goes on as long as it can within `count`: rows of one axis, whole in those behind. */
static uint64_t next_box(const struct pw_dims *dims, uint64_t first, uint64_t count, struct pw_box *ret_box)
{
        uint64_t row = 1; /* elements of a row of `axis` */
        uint64_t rest, rows;
        uint32_t axis = dims->rank;

        *ret_box = (struct pw_box){ .rank = dims->rank };
        for (uint32_t i = dims->rank; i-- > 0;) {
                if (first % row || row > count)
                        break;
                axis = i;
                if (first % (row * dims->dim[i]) || row * dims->dim[i] > count || !i)
                        break;
                row *= dims->dim[i];
        }
        memcpy(ret_box->size, dims->dim, dims->rank * sizeof dims->dim[0]);
        if (axis == dims->rank)
                return 1; /* of rank 0: its one element */
        rest = first / row;
        ret_box->start[axis] = rest % dims->dim[axis];
        rows = pw_min_u64(dims->dim[axis] - ret_box->start[axis], count / row);
        ret_box->size[axis] = rows;
        rest /= dims->dim[axis];
        for (uint32_t i = axis; i-- > 0; rest /= dims->dim[i]) {
                ret_box->start[i] = rest % dims->dim[i];
                ret_box->size[i] = 1;
        }
        return rows * row;
}

enum pw_status pw_gather_range(const struct pw_gather *gather, uint64_t first, uint64_t count, void *to, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;
        struct pw_box box;
        uint64_t elements;

        for (uint8_t *at = to; status == PW_OK && count; first += elements, count -= elements) {
                elements = next_box(&gather->dims, first, count, &box);
                status = fill(gather, &box, at, ret_err);
                at += elements * gather->element_bytes;
        }
        return status;
}

bool pw_sharding_is_whole(const struct pw_sharding *sharding, const uint32_t mesh[PW_MESH_AXES_MAX])
{
        for (uint32_t axis = 0; axis < PW_MESH_AXES_MAX; axis++)
                if (mesh[axis] > 1 && sharding->axis[axis].layout != PW_LAYOUT_BROADCAST)
                        return false;
        return true;
}
