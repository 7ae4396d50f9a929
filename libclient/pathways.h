/* libpathways: put, get and compute futures through the pathwaysd of this host.
 *
 * Ownership:  handles (session, future, slice, program) are given back with their own call; every such call accepts NULL.
 *             Parameters are borrowed for the call; `ret_` parameters are written only on success. NULL gives PW_INVALID,
 *             except where a comment allows it.
 * Errors:     every fallible call returns enum pw_status and writes *ret_err (may be NULL) only on failure.
 *             Tracing calls return their value, which needs no check, and leave their error in the program:
 *             pw_compile() reports the first one.
 * Threads:    any thread may use any handle at any time; a handle may not be freed while another thread uses it.
 *             Tracing calls on one program come from one thread at a time. No signal handlers, no output.
 * Time:       timeouts are microseconds from now; PW_FOREVER waits until the value is there or the session ends; 0 polls, and so
 *             does what is below 0. In params 0 means the default, and what is below 0 is refused.
 * Sizes:      bytes, 64 bit.
 * Params:     such a struct may grow at its end from release to release, where 0 means as before. So calls that take one, and
 *             pw_future_info(), are inline and pass its size to the library, to pw_..._sized(): an older library refuses with
 *             PW_UNSUPPORTED what it does not know and is not 0, a newer one takes as 0 what is not there.
 */
#ifndef PATHWAYS_H
#define PATHWAYS_H

#include "pathways_types.h"

#ifdef __cplusplus
#include <initializer_list>
extern "C" {
#endif

#define PW_FOREVER INT64_MAX

struct pw_session; /* one attached process */
struct pw_future;  /* an object as this holder names it, ready or not */
struct pw_slice;   /* virtual devices with a mesh shape */
struct pw_program; /* a traced graph of sharded computations */
struct pw_value;   /* a value inside a program; owned by its program */
struct pw_stage;   /* calls of a program that share a quota; owned by its program */

/* --- session ------------------------------------------------------------------------------------------------------ */

/* Attach to the daemon at `socket`. NULL: $PATHWAYS_SOCKET, then $XDG_RUNTIME_DIR/pathways/pathwaysd.sock, then
 * /run/pathways/pathwaysd.sock.
 * Errors:  PW_DAEMON_GONE (nobody answers there), PW_PROTOCOL (versions), PW_LIMIT, PW_DENIED,
 *          PW_NOT_READY, PW_NOT_FOUND and PW_EXISTS (the host waits for its number in its cluster),
 *          PW_INVALID, PW_NO_MEMORY, PW_SYSTEM.   Blocks: up to 10 s. */
PW_MUST_CHECK enum pw_status pw_connect(const char *socket, struct pw_session **ret_session, struct pw_error *ret_err);

/* End the session: its references go, its waits end with PW_DAEMON_GONE. Futures of it may still be passed to pw_unref(). */
void pw_close(struct pw_session *session);

/* --- objects ------------------------------------------------------------------------------------------------------ */

enum pw_put_flags {
        PW_PUT_FROZEN =
                1, /* nobody can change the bytes from then on, not even this process: copied where only the daemon writes */
};
struct pw_put_params {
        enum pw_dtype dtype;  /* PW_OPAQUE: bytes without dims */
        struct pw_dims dims;  /* of the value; their product times the element must be its bytes, unless opaque */
        int64_t timeout_us;   /* how long to wait for room; 0 means the default, 30 s; PW_FOREVER allowed */
        uint64_t flags;       /* enum pw_put_flags */
};

/* Copy `bytes` bytes into the store. `params` may be NULL. bytes 0 makes an empty object (data may be NULL).
 * Own:     on PW_OK the caller holds *ret_future, one reference, given back with pw_unref().
 * Errors:  PW_TOO_LARGE (can never fit), PW_NO_SPACE (after the timeout; the text says who holds the space), PW_SHAPE,
 *          PW_DAEMON_GONE.   Blocks: only for room.   System calls: none in room that the daemon
 *          gave the session ahead.
 * Frozen:  the daemon is asked, and copies the value; until the call returns it takes its room twice. */
PW_MUST_CHECK enum pw_status pw_put_sized(struct pw_session *session, const void *data, uint64_t bytes,
                                          const struct pw_put_params *params, size_t params_bytes, struct pw_future **ret_future,
                                          struct pw_error *ret_err);
static inline PW_MUST_CHECK enum pw_status pw_put(struct pw_session *session, const void *data, uint64_t bytes,
                                                  const struct pw_put_params *params, struct pw_future **ret_future,
                                                  struct pw_error *ret_err)
{
        return pw_put_sized(session, data, bytes, params, sizeof(struct pw_put_params), ret_future, ret_err);
}

/* Like pw_put(), but hands out the room to be written in place: until pw_seal() the future is not ready.
 * *ret_data is writable until pw_seal() or pw_abort(), aligned to 64 bytes. Not frozen: PW_UNSUPPORTED. */
PW_MUST_CHECK enum pw_status pw_create_sized(struct pw_session *session, uint64_t bytes, const struct pw_put_params *params,
                                             size_t params_bytes, struct pw_future **ret_future, void **ret_data,
                                             struct pw_error *ret_err);
static inline PW_MUST_CHECK enum pw_status pw_create(struct pw_session *session, uint64_t bytes,
                                                     const struct pw_put_params *params, struct pw_future **ret_future,
                                                     void **ret_data, struct pw_error *ret_err)
{
        return pw_create_sized(session, bytes, params, sizeof(struct pw_put_params), ret_future, ret_data, ret_err);
}
/* Make a created future ready. Errors: PW_INVALID (not created, or sealed already), PW_DAEMON_GONE. */
PW_MUST_CHECK enum pw_status pw_seal(struct pw_future *future, struct pw_error *ret_err);
/* Make a created future ready with PW_CANCELLED; the caller still holds its reference. Errors: as pw_seal(). */
PW_MUST_CHECK enum pw_status pw_abort(struct pw_future *future, struct pw_error *ret_err);

/* What pw_get() hands out: read-only bytes, good until pw_view_done(). */
struct pw_view {
        const void *data; /* NULL only if bytes is 0 */
        uint64_t bytes;
        void *keep; /* the library's */
        enum pw_dtype dtype;
        struct pw_dims dims; /* rank 1, {bytes}, for opaque */
};

/* Wait until `future` is ready and map its value read-only. A split value is gathered into memory of the process, a partial
 * one reduced; any other is not copied. A view delays the end of the object.
 * Own:     *ret_view is given back with pw_view_done(), also after pw_unref(future).
 * Errors:  PW_DEADLINE, PW_NOT_READY (timeout 0), PW_DAEMON_GONE, or the error that the future is ready with. */
PW_MUST_CHECK enum pw_status pw_get(struct pw_future *future, int64_t timeout_us, struct pw_view *ret_view,
                                    struct pw_error *ret_err);
/* The same for one shard of a sharded value (shard 0 of any other); never copies. Errors: besides, PW_INVALID (no such shard). */
PW_MUST_CHECK enum pw_status pw_get_shard(struct pw_future *future, uint32_t shard, int64_t timeout_us,
                                          struct pw_view *ret_view, struct pw_error *ret_err);
/* Give a view back; done once, *view may be handed in again without effect. Accepts NULL. */
void pw_view_done(struct pw_view *view);

/* Wait until at least `need` of `count` futures are ready (with a value or with an error). need == count: all; 1: any.
 * *ret_ready_count (may be NULL) is written in every case. Errors: PW_DEADLINE, PW_INVALID, PW_DAEMON_GONE. */
PW_MUST_CHECK enum pw_status pw_wait(struct pw_future *const *futures, size_t count, size_t need, int64_t timeout_us,
                                     size_t *ret_ready_count, struct pw_error *ret_err);
/* For programs with an event loop: a descriptor that poll(2) finds readable while pw_notified() has something to say. It is the
 * session's, and only to be polled. Errors: PW_SYSTEM, PW_DAEMON_GONE. */
PW_MUST_CHECK enum pw_status pw_session_fd(struct pw_session *session, int *ret_fd, struct pw_error *ret_err);
/* Have pw_notified() hand `future` out, once, when it is ready. Takes a reference of its own through the handle.
 * Errors: PW_NO_MEMORY, PW_SYSTEM, PW_DAEMON_GONE. */
PW_MUST_CHECK enum pw_status pw_notify(struct pw_future *future, struct pw_error *ret_err);
/* The next future that is ready, of those that were given to pw_notify(). Never blocks.
 * Own:     the reference that pw_notify() took is the caller's. Errors: PW_NOT_READY (none now), PW_DAEMON_GONE (none any more). */
PW_MUST_CHECK enum pw_status pw_notified(struct pw_session *session, struct pw_future **ret_future, struct pw_error *ret_err);
/* PW_OK: ready with a value. PW_NOT_READY. Else the status of the error that it is ready with. */
enum pw_status pw_poll(struct pw_future *future);

/* Take one more reference through the same handle; returns `future`. */
struct pw_future *pw_ref(struct pw_future *future);
/* Give one reference back; the last one lets the object go. Accepts NULL. Never fails, never blocks. */
void pw_unref(struct pw_future *future);

struct pw_id pw_future_id(const struct pw_future *future);
/* "h0.3/3f2a.7.12": host.epoch/segment.slot.generation, the latter three in hexadecimal: a piece of shared memory, and the place in
 * it where the object is described; the generation counts the objects that have had this place. Returns `text`. */
char *pw_id_format(struct pw_id id, char text[PW_ID_TEXT_BYTES]);
/* Read what pw_id_format() writes. Errors: PW_INVALID (it is no id). */
PW_MUST_CHECK enum pw_status pw_id_parse(const char *text, struct pw_id *ret_id, struct pw_error *ret_err);

/* Take a reference to an object of the same tenant, that is of this user, by id. The daemon is asked only for memory that this
 * process has not seen yet, for an object that is just ending, donated or moved, and for one of another host: then it asks that
 * host, for up to 30 s.
 * Own:     on PW_OK the caller holds *ret_future, one reference.
 * Errors:  PW_GONE, PW_NOT_FOUND (of another tenant, too); of another host: PW_HOST_LOST, PW_DEADLINE. */
PW_MUST_CHECK enum pw_status pw_open(struct pw_session *session, struct pw_id id, struct pw_future **ret_future,
                                     struct pw_error *ret_err);

/* The same of `count` ids at once: those of other hosts are asked for together, so that their round trips are one. An id may
 * come twice: two references.
 * Own:     on PW_OK the caller holds ret_futures[0 .. count - 1], one reference each; else none.
 * Errors:  of the first that cannot be opened; PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_open_all(struct pw_session *session, const struct pw_id *ids, size_t count,
                                         struct pw_future **ret_futures, struct pw_error *ret_err);

struct pw_info {
        struct pw_id id;
        enum pw_status status; /* PW_NOT_READY, PW_OK, or the error it is ready with */
        uint64_t bytes;        /* of the whole value */
        enum pw_dtype dtype;
        struct pw_dims dims;
        uint32_t shard_count;
        struct pw_sharding sharding;
};
/* What is known of a future now, without waiting. Errors: PW_DAEMON_GONE. */
PW_MUST_CHECK enum pw_status pw_future_info_sized(struct pw_future *future, struct pw_info *ret_info, size_t info_bytes,
                                                  struct pw_error *ret_err);
static inline PW_MUST_CHECK enum pw_status pw_future_info(struct pw_future *future, struct pw_info *ret_info,
                                                          struct pw_error *ret_err)
{
        return pw_future_info_sized(future, ret_info, sizeof(struct pw_info), ret_err);
}

/* --- names and leases --------------------------------------------------------------------------------------------- */

/* Bind `name` (1 to 255 printable ASCII characters, no space) of the tenant to the object; the name holds a reference of its own
 * and outlives the session. Errors: PW_EXISTS (it names another object), PW_DENIED (another tenant's object),
 * PW_INVALID, PW_GONE. */
PW_MUST_CHECK enum pw_status pw_name(struct pw_future *future, const char *name, struct pw_error *ret_err);
/* Unbind `name`: the reference that it holds goes. Errors: PW_NOT_FOUND. */
PW_MUST_CHECK enum pw_status pw_unname(struct pw_session *session, const char *name, struct pw_error *ret_err);
/* Take a reference to the object that `name` is bound to, waiting for it to be bound.
 * Own:     on PW_OK the caller holds *ret_future, one reference.
 * Errors:  PW_NOT_FOUND (timeout 0), PW_DEADLINE, PW_NOT_READY (timeout 0: metadata is away, another host may have bound it),
 *          PW_UNSUPPORTED (another host has bound it, the text says which, and this one deals with no other); where another host
 *          has bound it what pw_open() says of its object. */
PW_MUST_CHECK enum pw_status pw_lookup(struct pw_session *session, const char *name, int64_t timeout_us,
                                       struct pw_future **ret_future, struct pw_error *ret_err);
/* A further reference, which belongs to no session and ends `ttl_us` microseconds from now. Errors: PW_INVALID, PW_GONE. */
PW_MUST_CHECK enum pw_status pw_lease(struct pw_future *future, int64_t ttl_us, struct pw_error *ret_err);
/* Charge the object to another owner of its tenant, named as listings do: "digits[4411]" or "pid 4411", an attached process, or
 * "name weights", a name that is bound to it. A process that does not hold it yet holds it from then on, with one reference: the
 * next reference that it takes to the object is this one. The caller keeps its own.
 * Errors: PW_NOT_FOUND (no such process or name in its tenant), PW_EXISTS (the name is bound to another object), PW_DONATED_USE,
 * PW_DENIED, PW_INVALID, PW_GONE. */
PW_MUST_CHECK enum pw_status pw_transfer(struct pw_future *future, const char *to, struct pw_error *ret_err);

/* --- devices ------------------------------------------------------------------------------------------------------ */

struct pw_slice_params {
        uint32_t device_count;                /* of the whole mesh */
        const char *kind;                     /* "emulated", "cpu", "cuda"; NULL: any, one kind for the whole slice */
        uint32_t mesh[PW_MESH_AXES_MAX];      /* product is device_count; {0}: one axis */
        uint32_t island_count;                /* 0: as few as possible; k: spread evenly over k islands */
        int32_t island;                       /* 1 + the number of the one island to use; 0: any */
        uint64_t memory_bytes;                /* free memory that each device must have; 0: any */
};

/* Ask for virtual devices; they are shared with others. Errors: PW_TOO_LARGE (more than there are, with the numbers),
 * PW_INVALID, PW_LIMIT (a session has 65536 at most), PW_NO_SPACE. */
PW_MUST_CHECK enum pw_status pw_slice_open_sized(struct pw_session *session, const struct pw_slice_params *params,
                                                 size_t params_bytes, struct pw_slice **ret_slice, struct pw_error *ret_err);
static inline PW_MUST_CHECK enum pw_status pw_slice_open(struct pw_session *session, const struct pw_slice_params *params,
                                                         struct pw_slice **ret_slice, struct pw_error *ret_err)
{
        return pw_slice_open_sized(session, params, sizeof(struct pw_slice_params), ret_slice, ret_err);
}
/* Runs and compiled programs on it go on. */
void pw_slice_close(struct pw_slice *slice);
uint32_t pw_slice_device_count(const struct pw_slice *slice);

/* --- memories ----------------------------------------------------------------------------------------------------- */

struct pw_relocate_params {
        struct pw_slice *slice;      /* to its devices; NULL: to host memory */
        struct pw_sharding sharding; /* its shards there; in host memory it is whole */
        int64_t timeout_us;          /* for the value, for room, for the copy; 0 means the default, 30 s; PW_FOREVER allowed */
};

/* Move the value to another memory, once it is ready; what it takes where it was is free then. `params` NULL: to host memory.
 * Nobody may read it meanwhile: no other session or run holds it, and this process holds it through *future alone, without views,
 * and does nothing else with that handle during the call. Names and leases may hold it. The result of a run keeps its id. The id of
 * what a client put says where it lies: after a move to devices *future is another object, with another id, and the old one is
 * unref'd.
 * Own:     *future stays the caller's, on failure unchanged and where it was.
 * Errors:  PW_BUSY (the text says who holds it), PW_NO_SPACE, PW_TOO_LARGE, PW_DEADLINE, PW_DENIED (another tenant's), PW_INVALID,
 *          PW_SHAPE, PW_DAEMON_GONE, or the error that it is ready with.   Blocks: for room, and while it is copied. */
PW_MUST_CHECK enum pw_status pw_relocate_sized(struct pw_future **future, const struct pw_relocate_params *params,
                                               size_t params_bytes, struct pw_error *ret_err);
static inline PW_MUST_CHECK enum pw_status pw_relocate(struct pw_future **future, const struct pw_relocate_params *params,
                                                       struct pw_error *ret_err)
{
        return pw_relocate_sized(future, params, sizeof(struct pw_relocate_params), ret_err);
}

/* --- programs ----------------------------------------------------------------------------------------------------- */

/* Start a trace. `name`: "module/step", for people. Out of memory makes a program that fails in pw_compile(). */
struct pw_program *pw_program_new(struct pw_session *session, const char *name);
/* Its values and stages end with it; its runs go on. Accepts NULL. */
void pw_program_free(struct pw_program *program);

enum pw_input_flags {
        PW_DONATED = 1, /* the run may update it in place: whoever runs the program gives its reference away */
};

/* An input of the program, in order of the calls: dims are those of the whole value. */
struct pw_value *pw_input(struct pw_program *program, struct pw_slice *slice, enum pw_dtype dtype, struct pw_dims dims,
                          struct pw_sharding sharding, unsigned flags);

/* The same value in another sharding: a transfer, where one is needed. */
struct pw_value *pw_as(struct pw_value *value, struct pw_sharding sharding);
#define PW_AS(value, sharding) pw_as((value), (sharding))
/* The same value on another slice: a transfer. */
struct pw_value *pw_move(struct pw_value *value, struct pw_slice *slice, struct pw_sharding sharding);

/* A stage of a pipeline: the calls that name it in their params share `quota` credits, at least 1. All are on one slice. A call
 * whose outputs others read takes a credit before it starts, in the order of the trace, and gives it back when the last of those
 * readers, often a transfer, is done; so at most `quota` outputs of the stage are in flight and take room, over all microbatches
 * of a run, and over the runs of the program that overlap. `name`: for people. A result of the program takes no credit. */
struct pw_stage *pw_stage(struct pw_program *program, const char *name, uint32_t quota);

#define PW_OUTPUTS_MAX 256

struct pw_call_params {
        const void *params;   /* a blob that every shard of the function reads; copied */
        uint64_t params_bytes;
        uint32_t output_count;                          /* 0 means 1 */
        const struct pw_sharding *output_shardings;     /* of outputs 1.. ; output 0 has pw_call_with()'s */
        uint64_t time_limit_us;                         /* 0: the function's own */
        struct pw_stage *stage;                         /* whose credits it takes; NULL: it is in none */
};

/* One node: `function` ("module/name") over every device of `slice`. Arguments arrive as they lie, except that partial ones
 * are completed to broadcast. Returns output 0. */
struct pw_value *pw_call_sized(struct pw_program *program, struct pw_slice *slice, const char *function,
                               struct pw_value *const *args, size_t arg_count, struct pw_sharding sharding,
                               const struct pw_call_params *params, size_t params_bytes);
static inline struct pw_value *pw_call_with(struct pw_program *program, struct pw_slice *slice, const char *function,
                                            struct pw_value *const *args, size_t arg_count, struct pw_sharding sharding,
                                            const struct pw_call_params *params)
{
        return pw_call_sized(program, slice, function, args, arg_count, sharding, params, sizeof(struct pw_call_params));
}
/* Output `index` of the call that returned `output0`. */
struct pw_value *pw_output(struct pw_value *output0, uint32_t index);

/* Make `value` a result of the program, in order of the calls. */
void pw_result(struct pw_program *program, struct pw_value *value);

/* Check and lower the program. Idempotent; nothing can be traced after it.
 * Errors: PW_BAD_PROGRAM, PW_SHAPE, PW_BAD_MODULE, PW_NOT_FOUND, PW_TOO_LARGE, PW_LIMIT (8190 inputs and results together, as many
 *         as a run takes; 16384 programs of a session), PW_CRASHED and PW_TIME_LIMIT (of a shape function): the text names the
 *         call and why. */
PW_MUST_CHECK enum pw_status pw_compile(struct pw_program *program, struct pw_error *ret_err);

uint32_t pw_program_input_count(const struct pw_program *program);
uint32_t pw_program_result_count(const struct pw_program *program);
/* Peak of one run on each device of its slices, known before it starts: results, what lies between, and inputs that are brought
 * there or into their layout. Bytes.
 * Errors: PW_INVALID (not compiled yet), PW_DAEMON_GONE. */
PW_MUST_CHECK enum pw_status pw_program_peak(struct pw_program *program, uint64_t *ret_bytes, struct pw_error *ret_err);

struct pw_run_params {
        int64_t deadline_us; /* from submission until its last function is done. After it the run fails, and executors that are
                              * still in a function of it are ended. 0: none, but it fails if it has no room on its devices
                              * after 10 min (pathwaysd --admit-deadline) */
        uint32_t priority;   /* reserved: 0 */
        uint32_t sequential; /* not 0: dispatch node after node instead of in parallel: to compare with */
};

/* Submit a run of the program, and return without waiting for it. `inputs`: one future per pw_input(), in order. `ret_results`:
 * room for one future per pw_result(), the caller holds a reference to each. An input may be pw_donate(&f): the run takes over the
 * reference that f holds. On PW_OK f is set to NULL, before the results are written: so f may be where one of them goes. On failure
 * it is as before.
 * Errors: PW_INVALID, PW_SHAPE, PW_DONATED_USE, PW_NO_SPACE (no slots for the results; it does not wait for any if only this
 *         thread could give some back, with pw_unref()), PW_LIMIT, PW_DAEMON_GONE; what goes wrong later makes the results ready
 *         with an error.
 * Blocks: when the ring is full, and for slots for the results: up to its deadline, 10 min if it has none.
 * System calls: none while slots last and the daemon is awake. */
PW_MUST_CHECK enum pw_status pw_run_sized(struct pw_program *program, struct pw_future *const *inputs, size_t input_count,
                                          const struct pw_run_params *params, size_t params_bytes, struct pw_future **ret_results,
                                          struct pw_error *ret_err);
static inline PW_MUST_CHECK enum pw_status pw_run_with(struct pw_program *program, struct pw_future *const *inputs,
                                                       size_t input_count, const struct pw_run_params *params,
                                                       struct pw_future **ret_results, struct pw_error *ret_err)
{
        return pw_run_sized(program, inputs, input_count, params, sizeof(struct pw_run_params), ret_results, ret_err);
}
/* Cancel the run that makes `future`: all of its results that are not ready become so with PW_CANCELLED, and the text says who
 * cancelled it. What has begun goes on to its end, unseen. A run that is done stays as it is. The caller keeps its references.
 * Errors: PW_INVALID (no run makes it), PW_GONE, PW_DAEMON_GONE. */
PW_MUST_CHECK enum pw_status pw_cancel(struct pw_future *future, struct pw_error *ret_err);
/* As an input of pw_run(): the reference that *future holds when pw_run() is called is given to the run. What pw_donate() returns
 * is no future: it says where the variable is. All other calls refuse it (PW_INVALID); pw_ref() and pw_unref() of it do nothing.
 * Accepts NULL, as no future. */
struct pw_future *pw_donate(struct pw_future **future);

#ifndef __cplusplus
#define PW_COUNT_OF(type, ...) (sizeof((type[]){ __VA_ARGS__ }) / sizeof(type))
#define PW_ARGS(...) (struct pw_value *const[]){ __VA_ARGS__ }, PW_COUNT_OF(struct pw_value *, __VA_ARGS__)
#define PW_FUTURES(...) (struct pw_future *const[]){ __VA_ARGS__ }, PW_COUNT_OF(struct pw_future *, __VA_ARGS__)
#else
extern "C++" template <typename... Things> char (&PW_THINGS(Things...))[sizeof...(Things)]; /* for its size alone */
#define PW_ARGS(...) std::initializer_list<pw_value *>{ __VA_ARGS__ }.begin(), sizeof(PW_THINGS(__VA_ARGS__))
#define PW_FUTURES(...) std::initializer_list<pw_future *>{ __VA_ARGS__ }.begin(), sizeof(PW_THINGS(__VA_ARGS__))
#endif
#define PW_NO_FUTURES (struct pw_future *const *)NULL, (size_t)0
#define PW_NO_ARGS (struct pw_value *const *)NULL, (size_t)0
/* pw_call(program, slice, "module/function", PW_ARGS(a, b), sharding) */
#define pw_call(program, slice, function, args_and_count, ...)                                                         \
        pw_call_with((program), (slice), (function), args_and_count, __VA_ARGS__, NULL)
/* pw_run(program, PW_FUTURES(a, b), &result, &err) */
#define pw_run(program, inputs_and_count, ret_results, ret_err)                                                        \
        pw_run_with((program), inputs_and_count, NULL, (ret_results), (ret_err))

#ifdef __cplusplus
}
#endif
#endif
