/* Whom the receivers of a transfer read: the rule of base/sources.h, seen from above. */
#include "program/lower/transfer.h"

#include "base/memory.h"
#include "base/sources.h"

/* What the receiver at `place` of the destination reads. Returns how many places; the arrays have room for every
 * source. */
static uint32_t sources_of(const struct pw_transfer_ends *ends, uint32_t place, uint32_t *ret_places,
                           uint32_t *ret_groups)
{
        const struct pw_slice_map *from = ends->from_slice, *to = ends->to_slice;
        struct pw_lie lie = { .dims = *ends->dims, .sharding = *ends->from, .islands = from->islands };
        struct pw_receiver receiver = { .place = ends->same_slice ? place : PW_PLACE_NONE,
                                        .number = place,
                                        .island = to->islands[place],
                                        .flags = ends->in_island ? PW_SOURCES_OWN_ISLAND : 0 };

        memcpy(lie.mesh, from->mesh, sizeof lie.mesh);
        pw_shard_box(ends->dims, ends->to, to->mesh, place, &receiver.wanted);
        pw_sources_part(ends->to, to->mesh, place, &receiver.part, &receiver.part_count);
        return pw_sources(&lie, &receiver, ret_places, ret_groups);
}

/* Add what one receiver reads. Between slices every read counts as one of another device. */
static void add_reach(const struct pw_transfer_ends *ends, uint32_t receiver, const uint32_t *places, uint32_t count,
                      struct pw_reach *reach)
{
        uint32_t island = ends->to_slice->islands[receiver];

        for (uint32_t i = 0; i < count; i++) {
                reach->other_island = reach->other_island || ends->from_slice->islands[places[i]] != island;
                reach->other_device = reach->other_device || !ends->same_slice || places[i] != receiver;
        }
}

/* All islands are one: nobody reads another's. */
static bool in_one_island(const struct pw_transfer_ends *ends)
{
        const struct pw_slice_map *slices[] = { ends->from_slice, ends->to_slice };

        for (uint32_t s = 0; s < pw_array_count(slices); s++)
                for (uint32_t i = 0; i < slices[s]->device_count; i++)
                        if (slices[s]->islands[i] != ends->from_slice->islands[0])
                                return false;
        return true;
}

enum pw_status pw_transfer_reach(const struct pw_transfer_ends *ends, struct pw_reach *ret_reach, uint64_t *looks,
                                 struct pw_error *ret_err)
{
        uint32_t room = ends->from_slice->device_count;
        pw_auto_free uint32_t *places = calloc(room, sizeof *places);
        pw_auto_free uint32_t *groups = calloc(room, sizeof *groups);
        struct pw_reach reach = { false, false };
        bool one_island = in_one_island(ends);

        if (!places || !groups)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");
        for (uint32_t receiver = 0; receiver < ends->to_slice->device_count; receiver++) {
                add_reach(ends, receiver, places, sources_of(ends, receiver, places, groups), &reach);
                *looks += room;
                if (reach.other_device && (reach.other_island || one_island))
                        break;
        }
        *ret_reach = reach;
        return PW_OK;
}

/* The place whose number names the group that `place` is reduced in. */
static uint32_t group_of(const struct pw_transfer_ends *ends, uint32_t place)
{
        uint32_t coords[PW_MESH_AXES_MAX];

        pw_mesh_coords(ends->from_slice->mesh, place, coords);
        for (uint32_t i = 0; i < PW_MESH_AXES_MAX; i++)
                if (pw_transfer_reduces(ends, i))
                        coords[i] = 0;
        return pw_mesh_place(ends->from_slice->mesh, coords);
}

enum pw_status pw_transfer_in_steps(const struct pw_transfer_ends *ends, bool *ret_steps, struct pw_error *ret_err)
{
        const struct pw_slice_map *from = ends->from_slice;
        uint32_t count = from->device_count, islands = 0, groups = 0, pairs = 0;
        bool kept = pw_sharding_has_partial(ends->to, ends->to_slice->mesh);
        pw_auto_free uint32_t *column = calloc(count, sizeof *column); /* the first place of the same island */
        pw_auto_free bool *seen = calloc(count, (size_t)count * sizeof *seen);

        if (!column || !seen)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory");
        for (uint32_t place = 0; place < count; place++) {
                uint32_t group = group_of(ends, place);
                while (from->islands[column[place]] != from->islands[place])
                        column[place]++;
                islands += column[place] == place;
                groups += group == place;
                pairs += !seen[(size_t)group * count + column[place]];
                seen[(size_t)group * count + column[place]] = true;
        }
        *ret_steps = !kept && groups < count && pairs == groups * islands && pairs < count;
        return PW_OK;
}
