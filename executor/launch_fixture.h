/* What tests of launches share.
 */
#ifndef PW_EXECUTOR_LAUNCH_FIXTURE_H
#define PW_EXECUTOR_LAUNCH_FIXTURE_H

#include "executor/fixture_test.h"
#include "executor/program/program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const uint32_t devices[] = { 0, 1, 2, 3, 4, 5, 6, 7 };

#endif
