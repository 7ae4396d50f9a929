/* Libraries that are opened when they are asked for: their functions, into a struct of pointers to functions. */
#ifndef PW_BASE_LIBRARY_H
#define PW_BASE_LIBRARY_H

#include <stddef.h>

/* What the library calls it, and where the struct has it. */
struct pw_library_symbol { const char *name; size_t offset; };

/* Find each in `library`, of dlopen(), and put it into the struct at `into`, NULL where there is none.
 * Gives the first one that is missing, or NULL. */
const char *pw_library_find(void *library, const struct pw_library_symbol *symbols, size_t count, void *into);

#endif
