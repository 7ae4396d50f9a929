/* What is written on the command line: objects, dims, dtypes, lists of numbers. */
#include "base/error.h"
#include "base/memory.h"
#include "cli/print/output.h"

#include <errno.h>

enum pw_status pw_operand_open(struct pw_invocation *invocation, const char *operand, int64_t wait_us,
                               struct pw_future **ret_future, struct pw_error *ret_err)
{
        struct pw_id id;

        if (pw_id_parse(operand, &id, NULL) == PW_OK)
                return pw_open(invocation->session, id, ret_future, ret_err);
        return pw_lookup(invocation->session, operand, wait_us, ret_future, ret_err);
}

enum pw_status pw_numbers_parse(const char *what, const char *text, uint64_t *items, uint32_t max, uint32_t *ret_count,
                                struct pw_error *ret_err)
{
        uint32_t count = 0;
        const char *rest = text;

        while (*rest) {
                char *end = NULL;
                errno = 0;
                uint64_t item = *rest >= '0' && *rest <= '9' ? strtoull(rest, &end, 0) : 0;
                if (!end || errno || (*end && (*end != ',' || !end[1])))
                        return pw_error_set(ret_err, PW_INVALID, "%s: \"%.80s\" is no list of numbers like 4,4", what, text);
                if (count == max)
                        return pw_error_set(ret_err, PW_INVALID, "%s: at most %u numbers, got \"%.80s\"", what, max, text);
                items[count++] = item;
                rest = *end ? end + 1 : end;
        }
        *ret_count = count;
        return PW_OK;
}

static enum pw_status dtype_parse(const char *text, enum pw_dtype *ret_dtype, struct pw_error *ret_err)
{
#define PW_DTYPE_NAME(name, number, bytes, text) text,
        static const char *const names[] = { PW_DTYPE_MAP(PW_DTYPE_NAME) };
#undef PW_DTYPE_NAME

        for (uint32_t i = 0; i < pw_array_count(names); i++)
                if (!strcmp(text, names[i])) {
                        *ret_dtype = (enum pw_dtype)i;
                        return PW_OK;
                }
        return pw_error_set(ret_err, PW_INVALID, "--dtype %.40s: it is one of bool, u8, u16, u32, u64, i8, i32, i64, f16, bf16, "
                            "f32, f64 and opaque", text);
}

enum pw_status pw_type_parse(const struct pw_command_settings *settings, enum pw_dtype *ret_dtype, struct pw_dims *ret_dims,
                             struct pw_error *ret_err)
{
        enum pw_status status = dtype_parse(settings->dtype, ret_dtype, ret_err);

        *ret_dims = (struct pw_dims){ 0 };
        if (status != PW_OK || !settings->dims)
                return status;
        return pw_numbers_parse("--dims", settings->dims, ret_dims->dim, PW_RANK_MAX, &ret_dims->rank, ret_err);
}

enum pw_status pw_sharding_parse(const char *option, const char *text, struct pw_sharding *ret_sharding, struct pw_error *ret_err)
{
        static const struct { const char *text; enum pw_op op; } ops[] = {
                { "partial:sum", PW_SUM }, { "partial:max", PW_MAX }, { "partial:min", PW_MIN }, { "partial:prod", PW_PROD },
        };

        *ret_sharding = PW_BROADCAST;
        if (!strcmp(text, "broadcast"))
                return PW_OK;
        if (!strncmp(text, "split:", 6) && text[6] >= '0' && text[6] < '0' + PW_RANK_MAX && !text[7]) {
                *ret_sharding = PW_SPLIT((uint8_t)(text[6] - '0'));
                return PW_OK;
        }
        for (uint32_t i = 0; i < pw_array_count(ops); i++)
                if (!strcmp(text, ops[i].text)) {
                        *ret_sharding = PW_PARTIAL(ops[i].op);
                        return PW_OK;
                }
        return pw_error_set(ret_err, PW_INVALID, "%s %.40s: write broadcast, split:DIM or partial:sum, :max, :min, :prod", option,
                            text);
}
