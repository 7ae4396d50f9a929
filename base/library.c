/* Symbols of libraries. */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

const char *pw_library_find(void *library, const struct pw_library_symbol *symbols, size_t count, void *into)
{
        const char *missing = NULL;

        for (size_t i = 0; i < count; i++) {
                void *found = dlsym(library, symbols[i].name);

                /* POSIX has the two kinds of pointers of one size; ISO C has no conversion. */
                memcpy((char *)into + symbols[i].offset, &found, sizeof found);
                if (!found && !missing)
                        missing = symbols[i].name;
        }
        return missing;
}
