/* Replicas: rooms in a tenant's freezer for the bytes of objects of other hosts, until they are whole and their proxies have them.
 *
 * Room is waited for in the queue where puts wait, within the tenant's quota. Who has it writes the bytes, from any threads; it
 * stays until that is done or given up, whatever becomes of the proxy meanwhile. Loop thread only, but for the bytes.
 */
#ifndef PW_DAEMON_MEMORY_FREEZER_REPLICA_H
#define PW_DAEMON_MEMORY_FREEZER_REPLICA_H

#include "base/error.h"

#include "daemon/session/tenant.h"

struct pw_object;
struct pw_replica;

struct pw_replica_want {
        struct pw_tenant *tenant;
        enum pw_freezer_kind kind; /* whose room it is; FETCHED: executors write it */
        uint64_t bytes;    /* of the value; 0 may be */
        uint64_t until_us; /* CLOCK_MONOTONIC; UINT64_MAX: for ever */
        /* Once, later: `err` NULL: there is room. Else why not, and the replica is no more when it returns. */
        void (*room)(void *context, struct pw_replica *replica, const struct pw_error *err);
        void *context;     /* borrowed until then */
};
/* Own: *ret_replica, until it is done, given up, or was told that there is no room. Errors: PW_NO_MEMORY, PW_SYSTEM. */
PW_MUST_CHECK enum pw_status pw_replica_ask(struct pw_daemon *daemon, const struct pw_replica_want *want,
                                            struct pw_replica **ret_replica, struct pw_error *ret_err);
/* Where its bytes are to be written; NULL: there is no room yet. Its pages are there. Good until it is done or given up. */
uint8_t *pw_replica_bytes(const struct pw_replica *replica);
/* By which its room is waited for (pw_store_room_lack()); 0: it has it. */
uint64_t pw_replica_token(const struct pw_replica *replica);
/* All bytes are written, and nobody writes there any more: they are those of `proxy` from now on (pw_store_proxy_back()); that was
 * found by pw_store_proxy_find() in this turn, NULL where it was not. The replica is no more then, whatever is returned. Errors:
 * PW_GONE (nobody wants them), PW_SHAPE, PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_replica_done(struct pw_daemon *daemon, struct pw_replica *replica_take, struct pw_object *proxy,
                                             struct pw_error *ret_err);
/* The same of `object` of this host, a result that is apart (pw_store_fetched()). */
PW_MUST_CHECK enum pw_status pw_replica_fetched(struct pw_daemon *daemon, struct pw_replica *replica_take, struct pw_object *object,
                                                const uint64_t *offsets, struct pw_error *ret_err);
/* Where its room is, once there is one. */
struct pw_replica_place { uint32_t segment; uint64_t offset; };
struct pw_replica_place pw_replica_at(const struct pw_replica *replica);
/* It is not wanted any more; nobody writes there. Where it waits for room, `room` is not called. */
void pw_replica_give_up(struct pw_daemon *daemon, struct pw_replica *replica_take);

#endif
