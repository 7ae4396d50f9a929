/* For tests of the store: metadata that does what it is asked, at once.
 */
#ifndef PW_STORE_NAME_PLAIN_TEST_H
#define PW_STORE_NAME_PLAIN_TEST_H

#include "store/name.h"

/* Bind or remove a name, and have the answer. Others that are told meanwhile are forgotten. */
enum pw_status plain_bind(struct pw_store *store, const char *tenant, const char *name, struct pw_object *object,
                          uint64_t until_us, uint64_t now_us, struct pw_error *ret_err);
enum pw_status plain_remove(struct pw_store *store, const char *tenant, const char *name, uint64_t now_us,
                            struct pw_error *ret_err);
/* All that is asked is done. */
void plain_settle(struct pw_store *store, uint64_t now_us);

#endif
