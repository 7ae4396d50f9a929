/* Names that are bound, where clients of their tenant read them. */
#include "store/name/name_private.h"

void pw_name_publish(struct pw_store *store, const struct pw_naming *naming, bool is_bound)
{
        const struct pw_object *object = naming->ref->object;
        const struct segment *futures = pw_segment_of(store, object->segment)->tenant->futures;
        struct pw_name_cell *cells;

        if (!futures || !futures->map.base || futures->layout.names_offset == futures->layout.room_offset)
                return;
        cells = (struct pw_name_cell *)(futures->map.base + futures->layout.names_offset);
        if (is_bound)
                (void)!pw_names_put(cells, naming->name, pw_object_cell(object)); /* no place: the daemon is asked */
        else
                pw_names_remove(cells, naming->name);
}
