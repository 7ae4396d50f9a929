/* What a transfer between two layouts is called, and whether there is one: tables to be read. */
#include "program/lower/transfer.h"

#include "base/memory.h"

#include <inttypes.h>

const char *pw_transfer_text(enum pw_transfer_kind kind)
{
        static const char *const texts[] = {
#define TEXT(name, text) text,
                PW_TRANSFER_MAP(TEXT)
#undef TEXT
        };

        return (unsigned)kind < pw_array_count(texts) ? texts[kind] : "?";
}

/* What happens along one axis of the mesh. */
enum move { SAME, CUT, GATHER, EXCHANGE, REDUCE, SCATTER, MOVES };

static enum move axis_move(const struct pw_axis_sharding *from, const struct pw_axis_sharding *to)
{
        static const enum move moves[3][3] = {
                /* to:               broadcast, split,    partial */
                [PW_LAYOUT_BROADCAST] = { SAME,    CUT,      SAME },
                [PW_LAYOUT_SPLIT] =     { GATHER,  EXCHANGE, GATHER },
                [PW_LAYOUT_PARTIAL] =   { REDUCE,  SCATTER,  SAME },
        };

        if (from->layout == PW_LAYOUT_SPLIT && to->layout == PW_LAYOUT_SPLIT && from->dim == to->dim)
                return SAME;
        return moves[from->layout % 3][to->layout % 3];
}

/* All axes at once: the first row names it of which some axis does `one` and some axis one of `others`. CUT alone takes a part of
 * what is there already. */
#define DOES(move) (1u << (move))
#define ANY (DOES(MOVES) - 1)
static const struct { uint32_t one, others; enum pw_transfer_kind kind; } kinds[] = {
        { DOES(SCATTER), ANY, PW_TRANSFER_REDUCE_SCATTER },
        { DOES(REDUCE), DOES(CUT) | DOES(EXCHANGE), PW_TRANSFER_REDUCE_SCATTER },
        { DOES(REDUCE), ANY, PW_TRANSFER_ALL_REDUCE },
        { DOES(EXCHANGE), ANY, PW_TRANSFER_ALL_TO_ALL },
        { DOES(GATHER), DOES(CUT), PW_TRANSFER_ALL_TO_ALL },
        { DOES(GATHER), ANY, PW_TRANSFER_ALL_GATHER },
        { ANY, ANY, PW_TRANSFER_COPY },
};

static enum pw_transfer_kind kind_of(uint32_t moves)
{
        uint32_t i = 0;

        while (!(moves & kinds[i].one) || !(moves & kinds[i].others))
                i++;
        return kinds[i].kind;
}

static bool has_split(const struct pw_sharding *sharding, const uint32_t mesh[PW_MESH_AXES_MAX])
{
        for (uint32_t i = 0; i < PW_MESH_AXES_MAX; i++)
                if (mesh[i] > 1 && sharding->axis[i].layout == PW_LAYOUT_SPLIT)
                        return true;
        return false;
}

enum pw_transfer_kind pw_transfer_between(const struct pw_sharding *from, const uint32_t from_mesh[PW_MESH_AXES_MAX],
                                          const struct pw_sharding *to, const uint32_t to_mesh[PW_MESH_AXES_MAX],
                                          bool same_slice)
{
        uint32_t from_count = pw_mesh_count(from_mesh), to_count = pw_mesh_count(to_mesh);
        uint32_t moves = 0;

        if (!same_slice) {
                if (from_count == 1 && to_count > 1)
                        return has_split(to, to_mesh) ? PW_TRANSFER_SCATTER : PW_TRANSFER_BROADCAST;
                return from_count > 1 && to_count == 1 ? PW_TRANSFER_GATHER : PW_TRANSFER_SEND_RECV;
        }
        for (uint32_t i = 0; i < PW_MESH_AXES_MAX; i++)
                moves |= DOES(from_mesh[i] > 1 ? axis_move(&from->axis[i], &to->axis[i]) : SAME);
        return kind_of(moves);
}

static bool is_partial(const struct pw_sharding *sharding, const struct pw_slice_map *slice, uint32_t axis)
{
        return slice->mesh[axis] > 1 && sharding->axis[axis].layout == PW_LAYOUT_PARTIAL;
}

bool pw_transfer_reduces(const struct pw_transfer_ends *ends, uint32_t axis)
{
        return is_partial(ends->from, ends->from_slice, axis) && !is_partial(ends->to, ends->to_slice, axis);
}

enum pw_status pw_transfer_check(const struct pw_transfer_ends *ends, struct pw_error *ret_err)
{
        for (uint32_t i = 0; i < PW_MESH_AXES_MAX; i++) {
                if (!is_partial(ends->to, ends->to_slice, i))
                        continue;
                if (!is_partial(ends->from, ends->from_slice, i))
                        return pw_error_set(ret_err, PW_SHAPE,
                                            "no transfer makes a value partial over axis %" PRIu32 " of the mesh", i);
                if (ends->from->axis[i].op != ends->to->axis[i].op ||
                    ends->from_slice->mesh[i] != ends->to_slice->mesh[i])
                        return pw_error_set(ret_err, PW_SHAPE,
                                            "what is partial over axis %" PRIu32
                                            " of the mesh stays so only with the same op and as many devices",
                                            i);
        }
        return PW_OK;
}
