/* Params structs of another size. */
#include "libclient/params.h"

#include "base/memory.h"
#include "pathways.h"

PW_PARAMS_END(struct pw_put_params, flags);
PW_PARAMS_END(struct pw_slice_params, memory_bytes);
PW_PARAMS_END(struct pw_relocate_params, timeout_us);
PW_PARAMS_END(struct pw_call_params, stage);
PW_PARAMS_END(struct pw_run_params, sequential);

enum pw_status pw_params_convert(const struct pw_params *params, struct pw_error *ret_err)
{
        const uint8_t *given = params->given;
        for (size_t i = params->own_bytes; i < params->bytes; i++)
                if (given[i])
                        return pw_error_set(ret_err, PW_UNSUPPORTED,
                                            "%s: its params are %zu bytes, of which this library knows %zu, and byte %zu is not 0: "
                                            "use the library that came with the header, or leave that field 0",
                                            params->call, params->bytes, params->own_bytes, i);
        memset(params->own, 0, params->own_bytes);
        memcpy(params->own, given, pw_min_u64(params->bytes, params->own_bytes));
        return PW_OK;
}
