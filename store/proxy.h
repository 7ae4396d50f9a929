/* Proxies: what stands on this host for an object of another one that somebody here holds.
 *
 * A proxy is a slot of its tenant's futures segment, and an object of this store as the result of a run is: rings, waits, names,
 * leases and references of sessions work on it, under a cell of this host. Its entry names the id that the object has at its home,
 * and that is what pw_object_id() says. Only the daemon decides it.
 *
 *   PENDING             it is not known yet what it is
 *   READY, MOVING       it is a value, and what it is stands in its list; its bytes are not here. pw_decision.elsewhere
 *   READY               its bytes are here: it holds their replica, an object of this host. pw_store_proxy_back()
 *   ERROR, LOST         as of a result: pw_store_decide(), pw_store_lose()
 *
 * Who watches it (pw_store_watch()) wants its bytes: PW_STORE_FETCH_PROXY asks for them, once for all, and PW_STORE_READY comes
 * when they are here, or when it is in error.
 *
 * It ends by PW_STORE_FREE_PROXY, once: nobody here holds it, and every ring that may have said otherwise was read. From then on
 * pw_store_proxy_find() finds it no more, also before the action is done: whoever wants the object opens it anew. It is not moved,
 * nor given to a run in place: other hosts may hold the object too.
 *
 * Threads: loop thread only.   Blocks: never.
 */
#ifndef PW_STORE_PROXY_H
#define PW_STORE_PROXY_H

#include "store/store.h"

struct pw_proxy_slot {
        uint32_t session;     /* that the slot was granted to, */
        struct pw_cell cell;  /* this one of the futures segment of its tenant */
        struct pw_id home;
        uint64_t number;      /* the caller's, not 0: it comes back with PW_STORE_FREE_PROXY */
};
/* The slot becomes a proxy, PENDING. It has the session's first reference, as any granted slot; pw_store_drop() gives that up.
 * Errors: PW_PROTOCOL (not granted to it, or claimed before), PW_INVALID (number 0). */
PW_MUST_CHECK enum pw_status pw_store_proxy(struct pw_store *store, const struct pw_proxy_slot *slot, struct pw_object **ret_object,
                                            struct pw_error *ret_err);
/* The proxy of that cell; NULL: it is none any more. */
struct pw_object *pw_store_proxy_find(struct pw_store *store, struct pw_cell cell);
/* It is a value, and its bytes are not here. */
bool pw_store_proxy_elsewhere(struct pw_store *store, const struct pw_object *object);
/* Its bytes are here: those of `replica`, an object of the daemon's own in the same tenant that is READY in a room. The proxy holds
 * it from now on. One that is about to be freed gets them too, for who takes a reference meanwhile. Errors: PW_GONE (it is not, or
 * no longer, READY and elsewhere), PW_SHAPE (the replica has other bytes), PW_NO_MEMORY; nothing has changed then. */
PW_MUST_CHECK enum pw_status pw_store_proxy_back(struct pw_store *store, struct pw_object *proxy, struct pw_object *replica,
                                                 uint64_t now_us, struct pw_error *ret_err);
/* What PW_STORE_FETCH_PROXY asked for cannot be had now: who watches is told so; it may be asked for again. */
void pw_store_proxy_unfetched(struct pw_store *store, struct pw_object *object);

#endif
