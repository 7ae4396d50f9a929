/* The other side of a session, for unit tests: a thread that answers as pathwaysd does, without store or scheduler.
 *
 * Objects have a count of the session's references; at 0 their slot goes back through its return ring. A run makes its results
 * ready at once: each holds the u64 number of the run, or an error if `fail_runs` is set.
 */
#ifndef PW_LIBCLIENT_FAKE_FAKE_DAEMON_H
#define PW_LIBCLIENT_FAKE_FAKE_DAEMON_H

#include "base/error.h"

#include <stdatomic.h>

/* A sharded value: the bytes of its shards one after the other, each of which gets pages of its own. */
struct fake_value {
        enum pw_dtype dtype;
        struct pw_dims dims;
        uint32_t mesh[PW_MESH_AXES_MAX], shard_count;
        struct pw_sharding sharding;
        uint64_t shard_bytes; /* a page at most */
        const void *data;
};

struct fake_params {
        uint64_t room_bytes; /* all rooms together; what does not fit waits for DROPs, 0: 1 GiB */
        uint32_t future_slots; /* likewise; 0: as many as are asked for */
        bool hold_runs;      /* results stay PENDING until fake_release() */
        bool fail_runs;
        bool sharded;        /* results are i32 [5] over two devices, laid out as */
        struct pw_sharding sharding;
        bool short_shard;    /* the list says less than shard 1 has */
        const struct fake_value *value; /* results are this instead */
        bool unread_rings;           /* rings are not read until fake_listen() */
};
struct fake_daemon;

struct fake_counts {
        _Atomic uint64_t drops, refs, runs, donated, grants, lane_ends, compiles, programs_freed, slices_closed;
        _Atomic uint64_t dropped_unknown; /* DROPs of what nobody held */
        _Atomic uint64_t last_values, last_calls, last_results; /* of the last ProgramCompile */
};

struct fake_daemon *fake_start(const struct fake_params *params);
int fake_client_fd(struct fake_daemon *fake); /* for pw_session_open(); once */
const struct fake_counts *fake_counts(const struct fake_daemon *fake);
/* Decide the results held back. */
void fake_release(struct fake_daemon *fake);
void fake_listen(struct fake_daemon *fake);
/* The devices of these shards, a bit each, are lost for all results. Threads: any, also in a signal handler. */
void fake_lose(struct fake_daemon *fake, uint64_t shards);
/* Close the socket, as if the daemon had died. */
void fake_die(struct fake_daemon *fake);
/* Wait until every ring was read up to what was published before the call. */
void fake_settle(struct fake_daemon *fake);
void fake_stop(struct fake_daemon *fake);

#endif
