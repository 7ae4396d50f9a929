/* The other hosts of the cluster: where this one listens for them, and what it keeps of each.
 *
 * A daemon without --listen has none of this. Else peers are made before metadata is opened, as the address at which they find this
 * host is told there; they begin when it has its number. Connections are in call.h.
 *
 * Threads: loop thread only.
 */
#ifndef PW_DAEMON_PEER_PEERS_H
#define PW_DAEMON_PEER_PEERS_H

#include "cluster/borrow/borrow.h"
#include "cluster/link/hosts.h"
#include "daemon/meta/carry.h"

struct pw_dsession;
struct pw_object;
struct pw_peers;
struct pw_tenant;
struct pw_wait_row;

uint64_t pw_boot_us(void); /* CLOCK_BOOTTIME: a host that slept knows it */

/* Listens, as the settings say. Own: given back with pw_peers_free().
 * Errors: PW_INVALID (no --listen, or what proves this host is missing), PW_UNSUPPORTED, PW_BAD_CONFIG, PW_DENIED, PW_EXISTS,
 * PW_SYSTEM, PW_NO_MEMORY.   Blocks: reads files. */
PW_MUST_CHECK enum pw_status pw_peers_new(struct pw_daemon *daemon, struct pw_peers **ret_peers, struct pw_error *ret_err);
/* Hangs up on all; accepts NULL.   Blocks: until handshakes under way are computed. */
void pw_peers_free(struct pw_peers *peers);
/* Where other hosts find this one. */
const struct pw_text_list *pw_peers_addresses(const struct pw_peers *peers);
/* What metadata tells them: its context is the peers. */
extern const struct pw_meta_hosts pw_peers_hear;

/* What came is acted on, what is to be said is said. True: there was something.   Blocks: never. */
bool pw_peers_turn(struct pw_daemon *daemon);
/* What turns have said to other hosts leaves. After the last turn before the loop looks at sockets, or rests: so what several turns
 * in a row say to a host, an open and the release of what was open before, wakes it once. */
void pw_peers_write(struct pw_daemon *daemon);
/* When the next turn is due, by CLOCK_MONOTONIC; UINT64_MAX: not before the loop hears of something. */
uint64_t pw_peers_next_us(const struct pw_daemon *daemon);
void pw_peers_tick(struct pw_daemon *daemon, uint64_t now_us);

/* Is it time to read what sessions have given back? Other hosts wait for it, and see no rings here: so it is, as often as hosts
 * beat, while something of theirs is held. */
bool pw_peers_want_drops(struct pw_daemon *daemon, uint64_t now_us);
/* A watched object was decided: hosts that borrowed it are told. */
void pw_peers_decided(struct pw_daemon *daemon, struct pw_object *object);

/* A value that came from another host, or was sent there, or did not come: for traces. Times: CLOCK_MONOTONIC. */
struct pw_travelled {
        struct pw_id id;
        const char *tenant;
        uint32_t from, to;       /* from 0: no source was named */
        uint64_t bytes, start_us, end_us;
        enum pw_status status;
        const char *why;         /* a sentence, where it did not come; else "" */
};
typedef void (*pw_travelled_fn)(struct pw_daemon *daemon, const struct pw_travelled *travelled);
/* `told` hears of each from now on, when it is over. */
void pw_peers_travels(struct pw_daemon *daemon, pw_travelled_fn told);

/* Each host that is known, for listings. */
struct pw_host_seen {
        const struct pw_host *host;
        const char *state;       /* of the link */
        uint32_t epoch;          /* the last that is known of */
        uint64_t term, heard_us; /* times: CLOCK_BOOTTIME; 0: never */
        uint64_t since_us;       /* when the link came into that state; 0: it is as it was made */
        uint64_t given_up_us;    /* when it will be, if nothing is heard; 0: nobody waits for it */
        uint64_t round_us;       /* a round trip between the two loops; 0: nothing was sent yet */
        int64_t clock_us;        /* its CLOCK_BOOTTIME is so far ahead of this host's, negative: behind, */
        uint64_t clock_bound_us; /* give or take so much at most; 0: not known yet */
        uint64_t bytes_out, bytes_in; /* of control streams, since this daemon started */
        uint64_t bulk_out, bulk_in;   /* of values, likewise */
};
void pw_peers_each(const struct pw_daemon *daemon, void (*row)(void *context, const struct pw_host_seen *seen), void *context);
/* The number of the other host that "anna", its name, or "h1" means; 0: none that is known. */
uint32_t pw_peers_find(const struct pw_daemon *daemon, const char *text);
/* One of them. False: it is not known here. */
bool pw_peers_see(const struct pw_daemon *daemon, uint32_t number, struct pw_host_seen *ret_seen);

/* --- objects, for listings: borrowing.c ------------------------------------------------------------------------------------- */

struct pw_pulling_seen {
        uint32_t source;     /* the host that its bytes come from; 0: none is named yet, or it is over */
        uint64_t here_bytes;
        uint64_t began_us, came_us; /* CLOCK_BOOTTIME; came_us: of the last chunk, or as began_us */
};
/* What stands between an object of another host and whoever wants it here, for listings. */
struct pw_borrowing_seen {
        enum pw_proxy_state state;
        uint32_t lender;           /* who holds it for this host, or is asked to; 0: nobody */
        bool asks_slot;            /* it is held there, and a slot for it is being made here */
        struct pw_tenant *tenant;  /* whose it is here; NULL: not known yet */
        uint64_t room_token;       /* room for its bytes is waited for (pw_store_room_lack()); 0: it is not */
        uint64_t bytes;            /* of its value; 0: not known, or none */
        bool pulls;
        struct pw_pulling_seen pull;
};
/* False: nobody here has it, or asked for it. `tenant` NULL: of any. */
bool pw_borrowing_see(const struct pw_daemon *daemon, const char *tenant, struct pw_id id, struct pw_borrowing_seen *ret_seen);
/* Opens that are not answered, bytes that are not here: of `session`, or of all (NULL). */
void pw_borrowing_each_wait(const struct pw_daemon *daemon, const struct pw_dsession *session,
                            void (*row)(void *, const struct pw_wait_row *), void *context);

#endif
