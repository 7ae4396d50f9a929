/* Slots for proxies (store/proxy.h): asked of the store on behalf of the tenant's freezer, whose session has them until they were
 * handed out. Loop thread only.
 */
#ifndef PW_DAEMON_MEMORY_FREEZER_PROXIES_H
#define PW_DAEMON_MEMORY_FREEZER_PROXIES_H

#include "base/error.h"
#include "base/id.h"

struct pw_daemon;
struct pw_object;
struct pw_tenant;

struct pw_proxy_want {
        struct pw_tenant *tenant;
        struct pw_id home;
        uint64_t number;   /* the caller's, not 0: it comes back with PW_STORE_FREE_PROXY */
        uint64_t until_us; /* CLOCK_MONOTONIC; UINT64_MAX: for ever */
        /* `object`: the proxy, PENDING, held until pw_proxies_handed_out(). NULL: `err` says why not, and the number does not come
         * back. */
        void (*made)(void *context, struct pw_object *object, const struct pw_error *err);
        void *context;     /* borrowed until then */
};
/* PW_OK: `made` is called once, later; not any more where the daemon stops. It waits where the tenant may have no more objects
 * (PW_NO_SPACE in the end). Errors: PW_NO_MEMORY, PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_proxies_make(struct pw_daemon *daemon, const struct pw_proxy_want *want, struct pw_error *ret_err);
/* Who waited for it holds it now; if nobody does, it goes. */
void pw_proxies_handed_out(struct pw_daemon *daemon, struct pw_object *object);

#endif
