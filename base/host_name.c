/* Names of hosts. */
#include "base/host_name.h"

#include <stddef.h>
#include <strings.h>

static bool is_of_name(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

bool pw_host_name_ok(const char *name)
{
        size_t bytes = 0;

        while (bytes <= PW_HOST_NAME_MAX && is_of_name(name[bytes]))
                bytes++;
        return bytes && bytes <= PW_HOST_NAME_MAX && !name[bytes];
}

bool pw_host_name_equal(const char *a, const char *b) { return !strcasecmp(a, b); }
