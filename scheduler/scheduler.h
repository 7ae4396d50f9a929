/* Work of one host, decided: devices and islands, slices, runs from submission to end, one total order of gangs per island.
 *
 * Events are calls; effects come out as actions. It holds no descriptor, clock or thread. Inside, each island decides for
 * itself (island.h) and the coordinator splits runs between them (run.h); what passes between the two and between islands is
 * a message (message.h). Within one process most are handed over at once; what the boards have to do with, and all of them in a
 * scheduler that is linked, goes by the same queue of actions and comes back by pw_scheduler_deliver().
 *
 * A run's way. A client writes RUN into its ring (plane/ring.h); the daemon reads it and submits it: the coordinator has it now.
 *
 *   coordinator -> host    EXPECT if inputs are still to come; RESERVE when they are there, or come from runs that were admitted
 *   host -> coordinator    PLACED for each result, then RESERVED: it has all its rooms there, or waits with none. The run is
 *                          admitted when all of its hosts have said so; else they are told to GIVE_BACK (coordinator/gather.c)
 *   coordinator -> host    PREPARE: its records are written to the boards that executors read; PREPARED is the answer; then START
 *   island -> board        gangs in their order, at most W per device that are not done; NOTICE to islands that wait for them
 *   executor -> daemon     how many gangs it has done, in its board; the island knows which these were
 *   host -> coordinator    RESULT: nobody writes it any more; the store makes its entry READY and wakes who waits. Then DONE
 *   coordinator -> host    LET_GO, RELEASE: nobody wants the result, nobody reads it: its rooms go
 *
 * A gang is ordered only when all that it waits for is done or ordered: nodes before it in its run on its own island are; those
 * in `waits`, and a SEND, when NOTICE says so; inputs from other runs, when their writers are ordered in their islands.
 */
#ifndef PW_SCHEDULER_SCHEDULER_H
#define PW_SCHEDULER_SCHEDULER_H

#include "plane/board.h"
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
        bool linked;          /* messages between the cores wait to be delivered, as between hosts; else they are handed over at
                               * once, but for those that boards have to do with */
        uint32_t host, epoch; /* the coordinator's, of all runs that are submitted here */
};
struct pw_scheduler *pw_scheduler_new(const struct pw_scheduler_params *params, struct pw_error *ret_err);
void pw_scheduler_free(struct pw_scheduler *scheduler);
/* The coordinator of another host may ask for its part of runs here, in that epoch. Errors: PW_EXISTS; PW_BUSY: it was given up,
 * and gangs of its runs are still at work here; PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_scheduler_coordinator_add(struct pw_scheduler *scheduler, uint32_t host, uint32_t epoch,
                                                          struct pw_error *ret_err);
/* Another host is given up, `why` is a sentence. Its runs end here, and its results and programs go; runs of this host's clients
 * that have anything there fail with PW_HOST_LOST, as does what is run of their programs later, and results that only that host
 * held are lost. No message of before is believed, nor any until pw_scheduler_coordinator_add() has it back. */
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

struct pw_device_add { uint32_t device, island; const char *kind; uint64_t capacity_bytes; };
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
/* Tells of each tenant whose runs have records of more or fewer bytes than it said before (by 64 KiB at least, or none at all). */
void pw_scheduler_records(struct pw_scheduler *scheduler, void (*changed)(void *context, const char *tenant, int64_t bytes),
                          void *context);
uint64_t pw_scheduler_quota_used(const struct pw_scheduler *scheduler, const char *tenant);
/* Its process ended in gang `seq` of its island (0: in none). Every value that only it held is lost (RESULT_LOST for results that
 * were ready); the gang it was in fails with `status` (PW_CRASHED, PW_TIME_LIMIT) and `text`, how it ended ("SIGSEGV"). What is
 * ordered stays; it runs again after _up. The caller has fed what its board said last (pw_boards_poll) before. */
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

/* A program of a lowered image with its slices, which nobody knows yet. Own: *ret_program, until pw_scheduler_program_install();
 * it
 * takes `image_take`. Errors: PW_NO_MEMORY.   Threads: any; nothing of the scheduler is touched. */
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
/* One of another host's coordinator, whose slices are open there, and what it is called there. Errors: PW_NOT_FOUND: that is not
 * known, pw_scheduler_coordinator_add(); PW_EXISTS; as above. */
struct pw_program_requester { uint32_t coordinator, epoch, program; };
PW_MUST_CHECK enum pw_status pw_scheduler_program_install_for(struct pw_scheduler *scheduler,
                                                              const struct pw_program_requester *requester,
                                                              struct pw_program_row *program_take, struct pw_error *ret_err);
/* Both at once. *ret_program is its number. Own: the scheduler takes `image_take`. */
PW_MUST_CHECK enum pw_status pw_scheduler_program_add(struct pw_scheduler *scheduler, struct pw_image *image_take,
                                                      const struct pw_graph *graph, const char *tenant, uint32_t session,
                                                      uint32_t *ret_program, struct pw_error *ret_err);
/* Goes when its last run has ended. */
void pw_scheduler_program_free(struct pw_scheduler *scheduler, uint32_t program);
struct pw_program_row *pw_scheduler_program(struct pw_scheduler *scheduler, uint32_t program); /* run.h; NULL: none */

/* A run for `program`, with room for its inputs and results; the caller fills inputs[], then submits. NULL: no such program or
 * out
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
/* Before that, where pw_scheduler_counts(): how long gang `index` of the device had it, from 0 on, in the order of the device;
 * what
 * is not said counts as none. */
bool pw_scheduler_counts(const struct pw_scheduler *scheduler);
void pw_scheduler_took(struct pw_scheduler *scheduler, uint32_t device, uint64_t index, uint64_t ns);
/* What was taken of that: gangs done, and the seq of the last of them. */
struct pw_device_done { uint64_t count, seq; };
struct pw_device_done pw_scheduler_done(const struct pw_scheduler *scheduler, uint32_t device);
/* A device says that it had this many bytes of one run alive at once: believed of a run that it takes part in, up to
 * its capacity. */
void pw_scheduler_peak(struct pw_scheduler *scheduler, uint32_t device, uint64_t run, uint64_t bytes);
void pw_scheduler_report(struct pw_scheduler *scheduler, uint32_t device, const struct pw_report *report, uint64_t now_us);
/* What one core says to another, PREPARE apart, with what comes along; NULL: nothing does.
 * Errors, after which nothing has changed, but that a wrong RESERVE is answered: PW_NOT_FOUND (the run has ended, or is of another
 * epoch), PW_EXISTS (said before), PW_CANCELLED (a START), PW_PROTOCOL (it has no part there, or is not so far). */
PW_MUST_CHECK enum pw_status pw_scheduler_deliver(struct pw_scheduler *scheduler, const struct pw_core_message *message,
                                                  const struct pw_core_body *body, uint64_t now_us, struct pw_error *ret_err);
/* A PREPARE is about to be done: what the board of the next island is told, with what is known by now of the run's inputs. Again
 * while there are `*ret_more` islands. Errors: PW_NO_MEMORY, which is to be answered too; those of pw_scheduler_deliver(), which
 * are not. */
PW_MUST_CHECK enum pw_status pw_scheduler_preparing(struct pw_scheduler *scheduler, const struct pw_core_message *prepare,
                                                    struct pw_message *ret_message, bool *ret_more,
                                                    struct pw_error *ret_err);
/* It is done in all of them: PW_OK, or why it could not be, in a sentence. Nothing of a run is ordered before that, and of one that
 * failed nothing ever is: it ends in that error, as do the inputs of runs that read its results. Errors: those of
 * pw_scheduler_deliver(). */
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
/* The count at which device `device` must ring because something can be done then; UINT64_MAX: nothing waits for it. */
uint64_t pw_scheduler_ring_at(const struct pw_scheduler *scheduler, uint32_t device);

#endif
