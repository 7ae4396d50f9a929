/* Values in memory of devices that the processor does not read, on their way to host memory: for gets, and for other hosts.
 *
 * Of a value one fetch is under way. It holds the value, waits for a room where puts wait, within the tenant's quota, and has the
 * executors of the devices copy what a reader needs: of shards that hold the same one. Then the value holds the copy
 * (store/fetched.h). Whoever asks meanwhile waits with the others; a fetch goes on when nobody waits any more.
 *
 * Loop thread only.
 */
#ifndef PW_DAEMON_MEMORY_FETCH_FETCH_H
#define PW_DAEMON_MEMORY_FETCH_FETCH_H

#include "daemon/session/output.h"
#include "daemon/wait.h"

struct pw_object;

/* Of a session: answered once, by pw_session_reply...(), now or later, at until_us at the latest. */
void pw_fetch_request(struct pw_dsession *session, uint64_t id, struct pw_object *object, uint64_t until_us);
/* Of the daemon itself: `done` comes once, later: `err` NULL: it is fetched. The object is held until then, by the fetch. Errors:
 * PW_NO_MEMORY, PW_SYSTEM, PW_DEVICE_LOST. */
struct pw_fetch_taker { void (*done)(void *context, const struct pw_error *err); void *context; };
PW_MUST_CHECK enum pw_status pw_fetch_for(struct pw_daemon *daemon, struct pw_object *object, const struct pw_fetch_taker *taker,
                                          struct pw_error *ret_err);

/* An executor says what it has copied, and is told what else there is. */
void pw_fetch_report(struct pw_dsession *session, uint64_t id, const Pathways__Wire__FetchReport *report);
/* Its process has ended: what it was to copy is lost. */
void pw_fetches_executor_down(struct pw_daemon *daemon, uint32_t device);

/* Who is told of each that was fetched, for traces. */
struct pw_fetched_value { const char *object, *tenant; uint64_t bytes, start_us, end_us; };
void pw_fetches_told(struct pw_daemon *daemon, void (*told)(struct pw_daemon *daemon, const struct pw_fetched_value *value));
/* What keeps the bytes of `object`. False: nobody has them fetched. */
struct pw_fetch_seen {
        struct pw_tenant *tenant;
        uint64_t room_token, bytes; /* room for so many is waited for (pw_store_room_lack()); 0: it is not */
        uint64_t since_us;
        uint32_t device;            /* else this one has not copied its part yet */
};
bool pw_fetch_see(const struct pw_daemon *daemon, const struct pw_object *object, struct pw_fetch_seen *ret_seen);

void pw_fetches_session_end(struct pw_dsession *session);
uint64_t pw_fetches_next_us(const struct pw_daemon *daemon);
void pw_fetches_tick(struct pw_daemon *daemon, uint64_t now_us);
void pw_fetches_each_wait(struct pw_daemon *daemon, const struct pw_dsession *session,
                          void (*row)(void *context, const struct pw_wait_row *row), void *context);
void pw_fetches_done(struct pw_daemon *daemon);

#endif
