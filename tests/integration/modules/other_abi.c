/* The module `other_abi`: as if built against a later version of pathways_module.h. */
#include "pathways_module.h"

static enum pw_status nop(struct pw_task *task)
{
        (void)task;
        return PW_OK;
}

static const struct pw_function functions[] = { PW_FUNCTION(nop, .shape = pw_shape_as_input_0) };

__attribute__((visibility("default"))) extern const struct pw_module pw_module_table;
const struct pw_module pw_module_table = {
        .abi = PW_MODULE_ABI + 1, .function_count = 1, .name = "other_abi", .functions = functions,
};
