/* Metadata of one host, where nobody else binds anything: whatever is asked is done. */
#include "store/name/plain_test.h"

#include <stdio.h>

void plain_settle(struct pw_store *store, uint64_t now_us)
{
        struct pw_name_ask ask;

        while (pw_store_name_next(store, &ask)) {
                pw_store_name_asked(store, ask.token);
                pw_store_name_answered(store, &(struct pw_name_answer){ .token = ask.token, .outcome = PW_NAMED_OK, .id = ask.id },
                                       now_us);
        }
}

/* What the last one was told. */
static enum pw_status outcome(struct pw_store *store, enum pw_status status, uint64_t now_us, struct pw_error *ret_err)
{
        struct pw_name_told told = { .status = status };

        plain_settle(store, now_us);
        while (pw_store_name_told(store, &told))
                if (ret_err)
                        snprintf(ret_err->text, sizeof ret_err->text, "%s", told.text);
        return told.status;
}

enum pw_status plain_bind(struct pw_store *store, const char *tenant, const char *name, struct pw_object *object,
                          uint64_t until_us, uint64_t now_us, struct pw_error *ret_err)
{
        struct pw_name_request request = { .tenant = tenant, .name = name, .now_us = now_us };
        enum pw_status status = pw_store_name_bind(store, &request, object, until_us, ret_err);

        return status == PW_OK ? outcome(store, status, now_us, ret_err) : status;
}

enum pw_status plain_remove(struct pw_store *store, const char *tenant, const char *name, uint64_t now_us, struct pw_error *ret_err)
{
        struct pw_name_request request = { .tenant = tenant, .name = name, .now_us = now_us };
        enum pw_status status = pw_store_name_remove(store, &request, ret_err);

        return status == PW_OK ? outcome(store, status, now_us, ret_err) : status;
}
