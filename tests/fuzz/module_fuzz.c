/* The table that a module exports: any counts, names that are missing, functions that are not there. */
#include "executor/program/module.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>
#include <stdlib.h>

#define FUNCTIONS 16u

static enum pw_status run(struct pw_task *task) { (void)task; return PW_OK; }
static enum pw_status shape(struct pw_shape_task *task) { (void)task; return PW_OK; }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t count)
{
        static const char *const names[] = { "mine", NULL, "", "mine/too" };
        struct fuzz_bytes bytes = { data, count };
        uint8_t head = (uint8_t)fuzz_take(&bytes, 1);
        uint32_t there = head % FUNCTIONS;
        struct pw_function *functions = calloc(there + 1, sizeof *functions); /* none behind the last */
        struct pw_code code = { NULL, NULL, 0 };
        struct pw_module table = { (uint32_t)fuzz_take(&bytes, 1), there, names[head >> 6], functions, &code, 0 };
        struct pw_error err;

        if (!functions)
                return 0;
        for (uint32_t i = 0; i < there; i++) {
                uint8_t kind = (uint8_t)fuzz_take(&bytes, 1);

                functions[i] = (struct pw_function){ .name = names[kind & 3], .run = kind & 4 ? NULL : run,
                                                     .shape = kind & 8 ? NULL : shape, .cuda = kind & 16 ? run : NULL,
                                                     .in_place = kind >> 4, .fault_count = kind >> 7 };
        }
        code = (struct pw_code){ names[head & 3], head & 4 ? data : NULL, head & 8 };
        table.code_count = head & 1;
        if (head & 0x20) {
                table.functions = NULL;
                table.function_count = (uint32_t)fuzz_take(&bytes, 4);
        } else if (head & 0x10) {
                table.function_count = UINT32_MAX - there;
        }
        if (pw_module_check(&table, "mine", &err) == PW_OK)
                for (uint32_t i = 0; i < table.function_count; i++)
                        assert(table.functions[i].name && (table.functions[i].run || table.functions[i].cuda) &&
                               table.functions[i].shape && !table.functions[i].fault_count);
        free(functions);
        return 0;
}
