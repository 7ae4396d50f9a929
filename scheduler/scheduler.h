/* Work of one host, decided: devices and islands, slices, runs from submission to end, one total order of gangs per island.
 *
 * Events are calls; effects come out as actions (run.h), which scheduler/port.h hands to whom they are for. It holds no descriptor,
 * clock or thread. It has two parts, the *cores*. The *coordinator* (coordinator/live.h) has the runs that clients of this host
 * submit, on whatever hosts they run. The *host* (a core too, island/host_run.h) has the rooms of this host's devices and its
 * islands, which each decide their own order (island/island.h), for any coordinator. Cores, and islands, tell each other messages
 * (message.h). Within one process most are handed over at once. Those of which the boards must hear first go by the queue of
 * actions and come back by pw_scheduler_deliver(); so do those for other hosts, and all in a scheduler that is linked.
 *
 * A run's way. A client writes RUN into its ring (plane/ring.h); the daemon reads it, and pw_scheduler_submit() gives it to the
 * coordinator.
 *
 *   coordinator -> host    EXPECT if inputs are still to come; RESERVE when they are there, or come from runs that were admitted
 *                          (coordinator/ask.c)
 *   host -> coordinator    once it has all of the run's rooms there, till then it waits with none: PLACED for each result, then
 *                          RESERVED (island/admission.c). When all of its hosts have said so the run is *admitted*; a host may
 *                          have to GIVE_BACK its rooms before that (coordinator/gather.c)
 *   coordinator -> host    PREPARE: write the run's records to the boards that executors read. The answer is PREPARED; when all
 *                          hosts have given it, START (coordinator/start.c)
 *   island -> board        gangs in their order, at most W per device that are not done (island/island.c); NOTICE to islands of
 *                          the host that wait for them
 *   executor -> daemon     how many gangs it has done, in its board; the island knows which these were
 *   host -> coordinator    RESULT: all members of the result's writer are done. When all hosts of the result have said so the
 *                          store makes its entry READY, or an error, and wakes who waits (decision.c). DONE: the run is over there
 *   coordinator -> host    LET_GO: only runs that read the result want it. RELEASE: nor do they: its rooms go
 *
 * A gang is ordered only when all that it waits for is ordered. What comes before it in its run on its own island is; nodes in
 * other islands (`waits` of its node, and the SEND of a RECV, board/image.h) when NOTICE says so; inputs from other runs when their
 * writers are ordered in their islands; earlier users of its rooms likewise, except that
 * readers on other devices of a room that is updated in place must be done (island/island.h).
 */
#ifndef PW_SCHEDULER_SCHEDULER_H
#define PW_SCHEDULER_SCHEDULER_H

#include "plane/board/board.h"
#include "program/graph/graph.h"
#include "scheduler/run.h"

struct pw_scheduler;
struct pw_observer;
struct pw_transition_kind;

struct pw_scheduler_params {
        uint32_t ahead;       /* W: gangs ordered ahead per device; 0: 64 */
        const char *policy;   /* "fifo", "share"; NULL: fifo */
        uint64_t admit_us;    /* default deadline of admission; 0: 10 min */
        uint64_t cancelled_us;/* how long members of a cancelled run may go on; 0: 10 s */
        bool linked;          /* for tests: all messages between the cores go by the queue of actions, as those between hosts do */
        uint32_t host, epoch; /* of this host; they are in the id of each run that is submitted here (struct pw_run_id) */
};
struct pw_scheduler *pw_scheduler_new(const struct pw_scheduler_params *params, struct pw_error *ret_err);
void pw_scheduler_free(struct pw_scheduler *scheduler);
/* From now on the coordinator of another host, in that epoch, may have runs here. Errors: PW_EXISTS; PW_BUSY: it was given up, and
 * gangs of its runs are still at work here; PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_scheduler_coordinator_add(struct pw_scheduler *scheduler, uint32_t host, uint32_t epoch,
                                                          struct pw_error *ret_err);
/* Another host is given up, `why` is a sentence. Its runs end here, and its results and programs go; runs of this host's clients
 * that have anything there fail with PW_HOST_LOST, as does what is run of their programs later, and results that only that host
 * held are lost. No message from it is believed, from before either, until pw_scheduler_coordinator_add() has it back. */
void pw_scheduler_give_up(struct pw_scheduler *scheduler, uint32_t host, const char *why, uint64_t now_us);
/* Is there a policy of that name? Errors: PW_INVALID, which lists them. */
PW_MUST_CHECK enum pw_status pw_policy_check(const char *name, struct pw_error *ret_err);
/* Another default deadline of admission, for runs submitted from now on. */
void pw_scheduler_admit_us(struct pw_scheduler *scheduler, uint64_t admit_us);
struct pw_actions *pw_scheduler_actions(struct pw_scheduler *scheduler); /* run.h; the daemon empties it after each batch */

/* Who is told of each change of the state of a run or a fragment; NULL: nobody. Borrowed until another is set. */
void pw_scheduler_observe(struct pw_scheduler *scheduler, const struct pw_observer *observer);
extern const struct pw_transition_kind pw_run_transitions; /* of those of a run; id[0] is its number */

/* --- devices ---------------------------------------------------------------------------------------------------------- */

struct pw_device_add {
        uint32_t device, island;
        const char *kind;
        uint64_t capacity_bytes;
        bool kernels; /* it runs the form of functions for GPUs */
        bool apart; /* its memory is one arena: segments of all tenants name the same bytes, so no two have rooms in one place */
};
PW_MUST_CHECK enum pw_status pw_scheduler_device_add(struct pw_scheduler *scheduler, const struct pw_device_add *add,
                                                     struct pw_error *ret_err);
/* The memory of a device that one tenant may map: rooms for its runs are placed there. Needed before a slice of the tenant
 * has it. */
PW_MUST_CHECK enum pw_status pw_scheduler_segment(struct pw_scheduler *scheduler, uint32_t device, const char *tenant,
                                                  uint32_t segment, uint64_t bytes, struct pw_error *ret_err);
bool pw_scheduler_has_segment(const struct pw_scheduler *scheduler, uint32_t device, const char *tenant);
/* All of them end, on all devices. False: there is a program of the tenant, or somebody may touch a room there; then all of them
 * stay. */
bool pw_scheduler_segments_end(struct pw_scheduler *scheduler, const char *tenant);
/* How much a tenant may have of all devices together; UINT64_MAX: no limit. A run beyond it waits for its tenant's own rooms. */
PW_MUST_CHECK enum pw_status pw_scheduler_quota(struct pw_scheduler *scheduler, const char *tenant, uint64_t bytes,
                                                struct pw_error *ret_err);
/* Its share of device time where tenants wait for the same devices, in a policy that has shares: from 1 to PW_WEIGHT_MAX. Counts
 * for what is ordered and done from now on. */
#define PW_WEIGHT_MAX 1000u
PW_MUST_CHECK enum pw_status pw_scheduler_weight(struct pw_scheduler *scheduler, const char *tenant, uint32_t weight,
                                                 struct pw_error *ret_err);
/* Calls `changed` for each tenant whose records of runs have grown or shrunk since the last call for it, by `bytes`: by 64 KiB at
 * least, or to nothing. */
void pw_scheduler_records(struct pw_scheduler *scheduler, void (*changed)(void *context, const char *tenant, int64_t bytes),
                          void *context);
uint64_t pw_scheduler_quota_used(const struct pw_scheduler *scheduler, const char *tenant);
/* The device's process ended in gang `seq` of its island (0: in none). Every value that only this device held is lost (action
 * PW_ACT_RESULT_LOST for results that were ready); the gang it was in fails with `status` (PW_CRASHED, PW_TIME_LIMIT) and `text`,
 * how it ended ("SIGSEGV"). What is ordered stays, and runs after _up. The caller has fed what its board said last
 * (pw_boards_poll). */
void pw_scheduler_device_down(struct pw_scheduler *scheduler, uint32_t device, uint64_t seq, enum pw_status status,
                              const char *text, uint64_t now_us);
void pw_scheduler_device_up(struct pw_scheduler *scheduler, uint32_t device, uint64_t now_us);

/* --- slices ----------------------------------------------------------------------------------------------------------- */

struct pw_slice_ask {
        const char *tenant, *kind; /* kind NULL: any */
        uint32_t device_count, mesh[PW_MESH_AXES_MAX], island_count;
        int32_t island; /* 1 + number, 0: any */
        uint64_t memory_bytes;
        uint32_t session;
};
/* Place it on the least loaded devices. Errors: PW_TOO_LARGE, PW_INVALID, PW_NO_SPACE. Own: borrowed until pw_slice_close. */
PW_MUST_CHECK enum pw_status pw_scheduler_slice_open(struct pw_scheduler *scheduler, const struct pw_slice_ask *ask,
                                                     const struct pw_slice_map **ret_slice, struct pw_error *ret_err);
const struct pw_slice_map *pw_scheduler_slice(struct pw_scheduler *scheduler, uint32_t id); /* NULL: none */
/* The same, and it stays as it is until it is let go, closed or not: for who compiles a program over it. */
const struct pw_slice_map *pw_scheduler_slice_hold(struct pw_scheduler *scheduler, uint32_t id);
void pw_scheduler_slice_let_go(struct pw_scheduler *scheduler, uint32_t id);
void pw_scheduler_slice_close(struct pw_scheduler *scheduler, uint32_t id); /* programs that use it keep it */

/* --- programs and runs -------------------------------------------------------------------------------------------------- */

/* A program of a lowered image with its slices, which nobody knows yet. Own: *ret_program, until pw_scheduler_program_install(); it
 * takes `image_take`. Errors: PW_NO_MEMORY; PW_INVALID: a slice that names devices which no host has.   Threads: any; nothing of
 * the scheduler is touched. */
struct pw_program_of { const char *tenant; uint32_t session, host; }; /* host: whose part of it is planned */
PW_MUST_CHECK enum pw_status pw_program_make(struct pw_image *image_take, const struct pw_slice_map *slices,
                                             const struct pw_program_of *of,
                                             struct pw_program_row **ret_program, struct pw_error *ret_err);
uint64_t pw_program_bytes(const struct pw_program_row *program); /* of memory, its image and plan, about */
void pw_program_unmake(struct pw_program_row *program); /* one that was never installed; accepts NULL */
/* From now on it can be run; program_take->program is its number. Its slices are held by the caller.
 * Errors: PW_NOT_FOUND (a slice), PW_INVALID, PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_scheduler_program_install(struct pw_scheduler *scheduler, struct pw_program_row *program_take,
                                                          struct pw_error *ret_err);
/* The same for the coordinator of another host, where its slices are open: `requester` says which one, and the program's number
 * there. Errors: PW_NOT_FOUND (see pw_scheduler_coordinator_add()), PW_EXISTS, and as above. */
struct pw_program_requester { uint32_t coordinator, epoch, program; };
PW_MUST_CHECK enum pw_status pw_scheduler_program_install_for(struct pw_scheduler *scheduler,
                                                              const struct pw_program_requester *requester,
                                                              struct pw_program_row *program_take, struct pw_error *ret_err);
/* Make a program and install it. *ret_program is its number. Own: the scheduler takes `image_take`. */
PW_MUST_CHECK enum pw_status pw_scheduler_program_add(struct pw_scheduler *scheduler, struct pw_image *image_take,
                                                      const struct pw_graph *graph, const char *tenant, uint32_t session,
                                                      uint32_t *ret_program, struct pw_error *ret_err);
/* Goes when its last run has ended. */
void pw_scheduler_program_free(struct pw_scheduler *scheduler, uint32_t program);
struct pw_program_row *pw_scheduler_program(struct pw_scheduler *scheduler, uint32_t program); /* run.h; NULL: none */

/* A run for `program`, with room for its inputs and results; the caller fills inputs[], then submits. NULL: no such program, or out
 * of memory. */
struct pw_run *pw_scheduler_run_new(struct pw_scheduler *scheduler, uint32_t program);
/* Decide about it, or let it wait: never fails; what is wrong makes its results errors (actions RESULT). Own: the scheduler's. */
void pw_scheduler_submit(struct pw_scheduler *scheduler, struct pw_run *run, uint64_t now_us);
/* A host input of `run` that was pending is ready (its place is filled in) or in error. */
void pw_scheduler_input_ready(struct pw_scheduler *scheduler, struct pw_run *run, uint32_t input, enum pw_status status,
                              const char *text, uint64_t now_us);
struct pw_run *pw_scheduler_run(struct pw_scheduler *scheduler, uint64_t run); /* under way; NULL: there is none */
/* Its results become errors now, which name `by`, a client (NULL: nobody holds them any more). No gang of it is ordered from here
 * on; rooms stay, letting go, until the devices have done what was ordered. */
void pw_scheduler_cancel(struct pw_scheduler *scheduler, uint64_t run, const char *by, uint64_t now_us);
/* Nobody holds any result of `run` that is still to come. It is cancelled, now or once nobody holds what has come of it either. */
void pw_scheduler_unheld(struct pw_scheduler *scheduler, uint64_t run, uint64_t now_us);
/* The object of this result is gone (store's FREE_RESULT): its rooms are free once nobody uses them. */
void pw_scheduler_result_free(struct pw_scheduler *scheduler, struct pw_result *result, uint64_t now_us);

/* --- what comes back from the executors of this host (daemon/board/ reads the boards) --------------------------------------- */

/* False: the device cannot have done as many, or had done more; nothing is taken of it. */
bool pw_scheduler_progress(struct pw_scheduler *scheduler, uint32_t device, uint64_t done_count, uint64_t now_us);
/* Where pw_scheduler_counts(), before pw_scheduler_progress(): how long the device took for its gang `index`; its gangs count from
 * 0 in their order. A time that is not said counts as none. */
bool pw_scheduler_counts(const struct pw_scheduler *scheduler);
void pw_scheduler_took(struct pw_scheduler *scheduler, uint32_t device, uint64_t index, uint64_t ns);
/* How much pw_scheduler_progress() was told and believed: gangs done, and the seq of the last of them. */
struct pw_device_done { uint64_t count, seq; };
struct pw_device_done pw_scheduler_done(const struct pw_scheduler *scheduler, uint32_t device);
/* A device says that it had this many bytes of one run alive at once: believed of a run that it takes part in, up to
 * its capacity. */
void pw_scheduler_peak(struct pw_scheduler *scheduler, uint32_t device, uint64_t run, uint64_t bytes);
void pw_scheduler_report(struct pw_scheduler *scheduler, uint32_t device, const struct pw_report *report, uint64_t now_us);
/* A message of one core has arrived at the other, any but PREPARE; `body`: what comes along, NULL: nothing does.
 * Errors, after which nothing has changed (a wrong RESERVE is answered all the same): PW_NOT_FOUND (the run has ended, or is of
 * another epoch), PW_EXISTS (said before), PW_CANCELLED (a START of a run that was stopped), PW_PROTOCOL (it is not for who said
 * it to say, or the run has no part there, or has not come so far). */
PW_MUST_CHECK enum pw_status pw_scheduler_deliver(struct pw_scheduler *scheduler, const struct pw_core_message *message,
                                                  const struct pw_core_body *body, struct pw_arrival arrival,
                                                  struct pw_error *ret_err);
/* May host `from` say this, here? pw_scheduler_deliver() asks; of a PREPARE it is asked before the next two. Errors: PW_NOT_FOUND,
 * PW_PROTOCOL. */
PW_MUST_CHECK enum pw_status pw_scheduler_may_say(const struct pw_scheduler *scheduler, uint32_t from,
                                                  const struct pw_core_message *message, struct pw_error *ret_err);
/* A PREPARE has arrived: *ret_message is what to tell the board of the next island, with what is known by now of the run's inputs.
 * To be called again while *ret_more. Errors: PW_NO_MEMORY, which is to be answered too; those of pw_scheduler_deliver(), which
 * are not. */
PW_MUST_CHECK enum pw_status pw_scheduler_preparing(struct pw_scheduler *scheduler, const struct pw_core_message *prepare,
                                                    struct pw_message *ret_message, bool *ret_more,
                                                    struct pw_error *ret_err);
/* The boards of all its islands were told: PW_OK, or why one could not do it, in a sentence. No gang of a run is ordered before
 * that. If it failed none ever is: the run ends in that error, which runs that read its results find in their inputs. Errors: those
 * of pw_scheduler_deliver(). */
PW_MUST_CHECK enum pw_status pw_scheduler_prepared(struct pw_scheduler *scheduler, const struct pw_core_message *prepare,
                                                   enum pw_status status, const char *text, uint64_t now_us,
                                                   struct pw_error *ret_err);
/* Order what can be ordered, in one batch per island. The daemon calls it once per turn, after all events,
 * and once more where prepares were answered meanwhile. */
void pw_scheduler_turn(struct pw_scheduler *scheduler, uint64_t now_us);
/* Is a run deferred until a session, name or lease lets go of room? */
bool pw_scheduler_waits_for_holders(const struct pw_scheduler *scheduler);
/* Next deadline; UINT64_MAX: none; 0: work is left for another turn, now. */
uint64_t pw_scheduler_next_us(const struct pw_scheduler *scheduler);
void pw_scheduler_tick(struct pw_scheduler *scheduler, uint64_t now_us);
/* The number of gangs done at which device `device` must ring, as more can be ordered then; UINT64_MAX: nothing waits for it. */
uint64_t pw_scheduler_ring_at(const struct pw_scheduler *scheduler, uint32_t device);

#endif
