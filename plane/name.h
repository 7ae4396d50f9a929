/* Names of a tenant, for its clients to read: one that this host keeps is found here without asking the daemon.
 *
 * The table lies in the tenant's futures segment, between entries and lists; the daemon writes it, one thread, and any number of
 * clients read. A cell is a line. It says how often it was changed, twice for each change: who read it while that was odd, or saw
 * another number afterwards, has read nothing (Boehm, "Can Seqlocks Get Along With Programming Language Memory Models?", 2012).
 * A name stands in one of PW_NAME_WAYS cells. What is not here may be bound all the same, as it is too long, or its cells are
 * taken, or another host keeps it: the daemon knows.
 */
#ifndef PW_PLANE_NAME_H
#define PW_PLANE_NAME_H

#include "plane/ring.h"

#define PW_NAME_CELLS 16384u
#define PW_NAME_WAYS 8u
#define PW_NAME_CELL_LETTERS 48u

struct pw_name_cell {
        _Alignas(64) _Atomic uint64_t changed; /* times 32 | generation 32 */
        _Atomic uint64_t place;                /* segment 24 | slot 24, as in an object's cell of a ring */
        _Atomic uint64_t letters[PW_NAME_CELL_LETTERS / 8]; /* zeros behind them; all zero: free */
};
_Static_assert(sizeof(struct pw_name_cell) == 64, "a line");

#define PW_NAMES_BYTES (PW_NAME_CELLS * sizeof(struct pw_name_cell))

/* Of PW_NAME_CELLS each; `name` is a text. */

/* It is bound to what stands there; it is not in the table yet. False: it has no place here. */
bool pw_names_put(struct pw_name_cell *cells, const char *name, struct pw_cell object);
/* It is not bound any more. Accepts one that is not here. */
void pw_names_remove(struct pw_name_cell *cells, const char *name);
/* Where what it is bound to stands on this host. False: it is not here, or it is being changed.   Threads: any. */
bool pw_names_find(const struct pw_name_cell *cells, const char *name, struct pw_cell *ret_object);

#endif
