/* What an example itself finds wrong, said as libpathways says what it finds.
 */
#ifndef EXAMPLES_FAILURE_H
#define EXAMPLES_FAILURE_H

#include "pathways.h"

#include <stdio.h>

static inline enum pw_status failure(struct pw_error *err, enum pw_status status, const char *what, const char *why)
{
        err->status = status;
        snprintf(err->text, sizeof err->text, "%s: %s", what, why);
        return status;
}

#endif
