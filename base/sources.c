/* The sources of a receiver: parts along split axes, replicas along broadcast axes, contributions along partial axes. */
#include "base/sources.h"

#include <string.h>

static bool has_layout(const struct pw_value_layout *layout, uint32_t axis, enum pw_layout how)
{
        return layout->mesh[axis] > 1 && layout->sharding.axis[axis].layout == how;
}

/* The next coordinates along the axes of `how`, row-major; false behind the last, where they are 0 again. */
static bool step(const struct pw_value_layout *layout, enum pw_layout how, uint32_t coords[PW_MESH_AXES_MAX])
{
        for (uint32_t a = PW_MESH_AXES_MAX; a-- > 0;) {
                if (!has_layout(layout, a, how))
                        continue;
                if (++coords[a] < layout->mesh[a])
                        return true;
                coords[a] = 0;
        }
        return false;
}

static bool is_near(const struct pw_value_layout *layout, const struct pw_receiver *receiver, uint32_t place)
{
        return !layout->places || pw_same_island(&layout->places[place], &receiver->at);
}

static bool side_by_side(const struct pw_value_layout *layout, uint32_t a, uint32_t b)
{
        return !layout->places || pw_same_island(&layout->places[a], &layout->places[b]);
}

static bool replica_in_island(const struct pw_value_layout *layout, const struct pw_receiver *receiver,
                              const uint32_t replica[PW_MESH_AXES_MAX])
{
        uint32_t coords[PW_MESH_AXES_MAX];
        bool inside = true;

        memcpy(coords, replica, sizeof coords);
        do
                inside = inside && is_near(layout, receiver, pw_mesh_place(layout->mesh, coords));
        while (step(layout, PW_LAYOUT_PARTIAL, coords));
        return inside;
}

/* Set the coordinates along the broadcast axes. */
static void choose_replica(const struct pw_value_layout *layout, const struct pw_receiver *receiver,
                           uint32_t coords[PW_MESH_AXES_MAX])
{
        uint32_t own[PW_MESH_AXES_MAX], preferred[PW_MESH_AXES_MAX], number = receiver->number;

        if (receiver->place != PW_PLACE_NONE)
                pw_mesh_coords(layout->mesh, receiver->place, own);
        memcpy(preferred, coords, sizeof preferred);
        for (uint32_t a = PW_MESH_AXES_MAX; a-- > 0;) {
                if (!has_layout(layout, a, PW_LAYOUT_BROADCAST))
                        continue;
                preferred[a] = receiver->place != PW_PLACE_NONE ? own[a] : number % layout->mesh[a];
                number /= layout->mesh[a];
        }
        if (!replica_in_island(layout, receiver, preferred)) {
                do {
                        if (replica_in_island(layout, receiver, coords))
                                return;
                } while (step(layout, PW_LAYOUT_BROADCAST, coords));
        }
        memcpy(coords, preferred, sizeof preferred);
}

/* One place of each island stands for its sum: the receiver's own, else the one that its number gives. */
static uint32_t keep_one_of_each_island(const struct pw_value_layout *layout, const struct pw_receiver *receiver, uint32_t *places,
                                        uint32_t count)
{
        uint32_t kept = 0;

        for (uint32_t i = 0; i < count; i++) {
                uint32_t first = places[i], same = 1, chosen = first, pick;
                bool met = false;
                for (uint32_t k = 0; k < kept && !met; k++)
                        met = side_by_side(layout, places[k], first);
                if (met)
                        continue;
                for (uint32_t k = i + 1; k < count; k++)
                        same += side_by_side(layout, places[k], first);
                pick = receiver->number % same;
                for (uint32_t k = i; k < count; k++) {
                        if (!side_by_side(layout, places[k], first))
                                continue;
                        if (places[k] == receiver->place || !pick--)
                                chosen = places[k];
                        if (places[k] == receiver->place)
                                break;
                }
                places[kept++] = chosen;
        }
        return kept;
}

/* The contributions of one replica of one part that `receiver` reads, in rank order. */
static uint32_t contributions(const struct pw_value_layout *layout, const struct pw_receiver *receiver,
                              uint32_t coords[PW_MESH_AXES_MAX], uint32_t *ret_places)
{
        bool own_island = receiver->flags & PW_SOURCES_OWN_ISLAND;
        uint32_t count = 0, kept = 0;

        do {
                uint32_t place = pw_mesh_place(layout->mesh, coords);
                if (!own_island || is_near(layout, receiver, place))
                        ret_places[count++] = place;
        } while (step(layout, PW_LAYOUT_PARTIAL, coords));
        if (receiver->flags & PW_SOURCES_REDUCED)
                count = keep_one_of_each_island(layout, receiver, ret_places, count);
        if (own_island || receiver->part_count <= 1)
                return count;
        for (uint32_t i = receiver->part; i < count; i += receiver->part_count)
                ret_places[kept++] = ret_places[i];
        return kept;
}

uint32_t pw_sources(const struct pw_value_layout *layout, const struct pw_receiver *receiver, uint32_t *ret_places,
                    uint32_t *ret_groups)
{
        uint32_t part[PW_MESH_AXES_MAX] = { 0 }, count = 0, group = 0;

        if (!pw_box_elements(&receiver->wanted))
                return 0;
        do {
                uint32_t coords[PW_MESH_AXES_MAX], found;
                struct pw_box box, common;
                pw_shard_box(&layout->dims, &layout->sharding, layout->mesh, pw_mesh_place(layout->mesh, part), &box);
                if (!pw_box_meet(&box, &receiver->wanted, &common))
                        continue;
                memcpy(coords, part, sizeof coords);
                choose_replica(layout, receiver, coords);
                found = contributions(layout, receiver, coords, ret_places + count);
                for (uint32_t i = 0; i < found; i++)
                        ret_groups[count++] = group;
                group += found > 0;
        } while (step(layout, PW_LAYOUT_SPLIT, part));
        return count;
}

void pw_sources_part(const struct pw_sharding *sharding, const uint32_t mesh[PW_MESH_AXES_MAX], uint32_t place, uint32_t *ret_part,
                     uint32_t *ret_part_count)
{
        uint32_t coords[PW_MESH_AXES_MAX];

        pw_mesh_coords(mesh, place, coords);
        *ret_part = 0;
        *ret_part_count = 1;
        for (uint32_t a = 0; a < PW_MESH_AXES_MAX; a++) {
                if (mesh[a] <= 1 || sharding->axis[a].layout != PW_LAYOUT_PARTIAL)
                        continue;
                *ret_part = *ret_part * mesh[a] + coords[a];
                *ret_part_count *= mesh[a];
        }
}
