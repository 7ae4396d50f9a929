/* Quotas of tenants: what each may have on this host. The store keeps to those of host memory and objects, and says what is used.
 */
#ifndef PW_STORE_QUOTA_H
#define PW_STORE_QUOTA_H

#include "base/error.h"

struct pw_store;

#define PW_STORE_CLAIMS_MAX (1u << 18)    /* names and leases of a tenant */
#define PW_STORE_CLAIMS_OF_ONE_MAX 1024u  /* of an object: they may all go at once, and who asks for it looks at each */

#define PW_QUOTA_NONE UINT64_MAX /* no limit */
#define PW_QUOTA_SESSIONS 16384u /* unless it is said */
struct pw_quota { uint64_t host_bytes, device_bytes, objects, sessions; };

/* From now on, for requests that wait too. What is granted beyond it already stays. */
PW_MUST_CHECK enum pw_status pw_store_quota(struct pw_store *store, const char *tenant, const struct pw_quota *quota,
                                            uint64_t now_us, struct pw_error *ret_err);

/* Bytes of the pages of rooms that it was granted, those included that a living process of an ended session may still write
 * into, or that the system does not have back yet; slots that it was granted and that were not taken back, for a value each. */
struct pw_use { uint64_t host_bytes, objects, kept_bytes; }; /* kept: of the host bytes */
struct pw_use pw_store_use(const struct pw_store *store, const char *tenant);

/* What the daemon keeps because of a tenant, besides its rooms (programs, requests that wait, listings, traces): overhead of host memory,
 * charged to the tenant's quota. To ask comes first, and is left out where something is bounded otherwise and must not fail for lack of
 * memory: the overhead then grows beyond what is free.
 * Errors: PW_NO_SPACE: it does not fit; says who holds the memory and what `what` is. */
PW_MUST_CHECK enum pw_status pw_store_may_keep(struct pw_store *store, const char *tenant, uint64_t bytes, const char *what,
                                               struct pw_error *ret_err);
/* So much more, or less. */
void pw_store_keep(struct pw_store *store, const char *tenant, int64_t bytes);

/* Nothing is charged to it, and no object is in its futures segment. */
bool pw_store_tenant_empty(const struct pw_store *store, const char *tenant);

#endif
