/* A host in one process: the scheduler and its boards, executors that follow the boards, a daemon that does the actions.
 *
 * Everything is decided by one seed: who moves next, which functions fail, what dies. Values are one number each: a function
 * mixes the numbers of its inputs, every shard of a value has the same. So a shard that was overwritten too early, or read too
 * early, shows: at the reader, or as a result that is not what the program says.
 *
 * After each event that the scheduler takes part in (all but the steps of executors), pw_scheduler_check() finds nothing. With
 * PW_WORLD_SEEDS, in soak, it is asked after every WORLD_CHECK_RARELY-th.
 *
 * Replay: PW_WORLD_SEED=n runs one seed, with a check after each event; PW_WORLD_TRACE=1 prints what happens. PW_WORLD_SKIP=n
 * leaves the first n seeds of each test out.
 */
#ifndef PW_TESTS_WORLD_H
#define PW_TESTS_WORLD_H

#include "daemon/board/boards.h"
#include "scheduler/scheduler.h"
#include "tests/world/executor/kind.h"
#include "tests/world/seeds.h"

#include <stdio.h>

#define WORLD_DEVICES 64u
#define WORLD_PROGRAMS 12u
#define WORLD_INPUTS 4u
#define WORLD_RESULTS 4u
#define WORLD_HOST_SEGMENTS 1u /* the first number; two segments of each tenant: what its client puts, and its futures */
#define WORLD_HOST 3u /* its number */
#define WORLD_EPOCH 0x6b03d2e1u
#define WORLD_CHECK_RARELY 8u
#define WORLD_TENANTS 4u
#define WORLD_SEGMENTS 100u /* those of devices: WORLD_DEVICES of each tenant */

struct world_program {
        uint32_t handle;          /* 0: none */
        struct pw_program_row *row;
        const char *tenant;
        bool donates[WORLD_INPUTS];
};

/* An object: a value in host memory, or a result. */
struct world_object {
        struct pw_list link;
        struct pw_result *result;
        struct pw_object *stored; /* the store's; NULL: it was not asked yet */
        uint32_t segment, slot, generation;
        struct pw_entry *entry;
        bool is_inline;           /* host: it lies in its entry, else at: */
        uint64_t room_offset, bytes;
        const char *tenant;
        bool held, decided, error_expected;
        bool any;                 /* decided as an error that only some of its shards may have, or lost since */
        uint32_t refs;            /* of runs and of clients */
        bool shared, told;        /* another client has one, and the store was told */
        uint32_t claims;          /* of the references: names' and leases' */
        uint32_t charged_session; /* whom it was transferred to; 0: nobody, or */
        struct world_claim *charged_to; /* a name; NULL: none */
        uint64_t value;           /* what it must be */
        enum pw_status status;
        char text[500];
        struct world_run *maker;
        enum pw_dtype dtype;
        struct pw_dims dims;
};

struct world_run {
        struct pw_list link;
        struct pw_run *run;       /* NULL once it has ended */
        uint64_t number;
        struct world_program *program;
        struct world_object *inputs[WORLD_INPUTS];
        struct world_object *results[WORLD_RESULTS];
        bool placed;              /* its host said where its results are going to be */
        bool refused;             /* its record had no room in a board: nothing of it may be ordered */
        bool ended, cancelled, any;  /* any: a death that it has to do with, a cancel or a deadline: whether its results are errors
                                        cannot be said; their values can */
        bool pending[WORLD_INPUTS], failed[WORLD_INPUTS]; /* failed: it was an error when the run was submitted */
        uint64_t devices;         /* that have begun a gang of it */
        /* the gang ordered last when it was seen to be its tenant's first to wait for windows */
        uint64_t first_since[PW_ISLANDS_MAX];
        uint32_t first_next[PW_ISLANDS_MAX];  /* with this gang */
        uint64_t failing;         /* bit of each node (of 64) whose function is to fail */
};

struct world_executor {
        bool present, at_gang, marked;
        struct world_flights *flights;
        uint32_t device, island;
        uint64_t next, seq;       /* seq: of the gang it is at */
        struct pw_order order;
        uint64_t gangs, began_us; /* began: the one that it is at */
        struct pw_device_board *board;
        uint8_t *memory;          /* so many bytes for each tenant: */
        uint64_t memory_bytes;
};

struct world_options {
        uint32_t islands, devices_per_island, ahead;
        uint32_t tenants; /* 0: one */
        const char *policy; /* NULL: fifo */
        uint64_t capacity;
        bool apart; /* memories of devices are one arena each, for all tenants */
        int donations; /* 0: by chance, 1: always, -1: never */
        uint32_t fail_percent, death_per_mille, cancel_per_mille, deadline_percent, sequential_percent;
        uint32_t judged_percent; /* of the results of several seeds so many are known beforehand, at least */
        uint64_t arena_bytes; /* of each board, for images and records; 0: enough */
        bool slow_messages;
        bool rich; /* functions of several outputs, in place of any argument; parts of replicas, replicas of parts */
};

struct world {
        uint64_t seed, state;
        struct world_options options;
        bool trace;
        enum world_kind kind;     /* of all devices */
        struct pw_scheduler *scheduler;
        struct pw_store *store;
        struct world_client *clients[WORLD_TENANTS]; /* store.c */
        struct world_other *others; /* share.c */
        struct pw_list claims;    /* claim.c */
        struct world_metadata *metadata;
        uint32_t requests_open;   /* about names: they are still to be answered */
        uint64_t token;           /* of requests for room */
        uint64_t lost_devices;    /* that ever died */
        struct pw_boards *host;
        struct pw_island_board *boards[PW_ISLANDS_MAX];
        struct world_executor executors[WORLD_DEVICES];
        uint32_t device_count;
        uint64_t now_us;
        const char *tenant;       /* of the programs that are made next */
        uint64_t deadline_us;     /* of the next run that is submitted; 0: none of its own */
        uint64_t ending;          /* devices whose process the scheduler wants to be ended */
        struct world_program programs[WORLD_PROGRAMS];
        struct pw_list objects, runs;
        uint32_t object_count, runs_open;
        struct world_passing *passing;
        struct world_link *link;  /* link.c */
        struct world_states *states; /* states.c */
        uint32_t check_every, acts, changes; /* of what happened to the scheduler, world_changed() */
        uint64_t ahead[WORLD_FLIGHT_KINDS]; /* gangs that were launched behind others that were under way */
        uint64_t deaths, ended, failed, good, passed_over, refused;
        uint64_t unprepared;      /* runs that were refused */
        uint64_t judged;          /* results of which it was known beforehand whether they are errors */
};

/* world.c */
void world_init(struct world *world, uint64_t seed, const struct world_options *options);
void world_done(struct world *world);
void world_forget_runs(struct world *world); /* that ended, which nothing names any more */
uint32_t world_random(struct world *world, uint32_t below);
void world_log(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
void world_fail(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
static inline uint64_t world_mix(uint64_t a, uint64_t b)
{
        a = (a ^ b) * UINT64_C(0x9e3779b97f4a7c15);
        return a ^ a >> 29;
}

/* The memory of an idle device has only this many bytes. */
void world_shrink(struct world *world, uint32_t device, uint64_t bytes);

static inline uint32_t world_tenant_count(const struct world *world) { return world->options.tenants ? world->options.tenants : 1; }
extern const char *const world_tenants[WORLD_TENANTS]; /* their names */
static inline uint32_t world_segment_device(uint32_t segment) { return (segment - WORLD_SEGMENTS) % WORLD_DEVICES; }
/* A place in a device's segment of a tenant. */
static inline uint8_t *world_memory(struct world *world, uint32_t segment, uint64_t offset)
{
        struct world_executor *executor = &world->executors[world_segment_device(segment)];

        return executor->memory + (world->options.apart ? 0 : (segment - WORLD_SEGMENTS) / WORLD_DEVICES) * executor->memory_bytes +
               offset;
}

/* states.c: changes of states (base/transition.h), which world_log() has too */
void world_states_open(struct world *world);
void world_states_close(struct world *world);
void world_states_print(const struct world *world); /* the last ones, to stderr */
/* Since the last such call, or the beginning, states have changed in these steps, a line each, and no others. */
void world_expect(struct world *world, const char *lines);
/* Lines of a run that has a fragment in island 0 alone: until its host queues it; its gangs may be ordered; nothing is left. */
#define WORLD_ASKS(run) "run=" run " from=waiting to=queued cause=arrive\n" "host_run=" run " from=idle to=queued cause=queue\n"
#define WORLD_STARTS(run)                                                                                              \
        "host_run=" run " from=queued to=reserved cause=place\n" "run=" run " from=queued to=admitted cause=reserve\n" \
        "fragment=" run ".0 from=reserved to=recorded cause=record\n"                                                   \
        "fragment=" run ".0 from=recorded to=prepared cause=answer\n"                                                   \
        "fragment=" run ".0 from=prepared to=started cause=start\n"
#define WORLD_ENDS(run)                                                                                                \
        "fragment=" run ".0 from=started to=left cause=leave\n" "host_run=" run " from=reserved to=idle cause=done\n"      \
        "run=" run " from=admitted to=ended cause=done\n"

/* rules/passing.c */
struct world_passing *world_passing_new(void); /* free() ends it */
/* After a turn whose actions are not worked off: what was ordered passes nobody who waits, but where it may. */
void world_check_passing(struct world *world);

/* link.c */
struct world_link *world_link_new(void); /* NULL: out of memory */
void world_link_free(struct world_link *link);
bool world_link_empty(const struct world *world);
bool world_link_carries(const struct world *world, uint64_t run); /* a message of `run` is on its way */
void world_link_lose(struct world *world); /* what is on its way never arrives */
/* From one core to another. */
void world_send(struct world *world, const struct pw_core_message *message, const struct pw_core_frame *with);
/* Of those on their way some arrive, or all. */
void world_deliver(struct world *world, bool all);

/* daemon.c */
void world_daemon(struct world *world);               /* one turn of its loop */
void world_act(struct world *world);                  /* what scheduler and store want done */
/* A message of a core arrives from that host. Errors: as pw_deciders_hear(): it came before, or there is no such run. */
enum pw_status world_hear(struct world *world, uint32_t from, const struct pw_core_message *message,
                          const struct pw_core_body *body, struct pw_error *ret_err);
struct world_run *world_submit(struct world *world, struct world_program *program, struct world_object **inputs, bool sequential);
struct world_object *world_put(struct world *world, struct world_program *program, uint32_t input, bool ready);
void world_drop(struct world *world, struct world_object *object);
void world_share(struct world *world, struct world_object *object);   /* another client takes a reference, where it can; */
void world_unshare(struct world *world, struct world_object *object); /* it drops it; */
void world_other_dies(struct world *world); /* or a tenant's such client ends with all that it holds */
void world_input_ready(struct world *world, struct world_run *run, uint32_t input, enum pw_status status);
void world_cancel(struct world *world, struct world_run *run);
void world_kill(struct world *world, uint32_t device);
void world_check(struct world *world);
/* Something happened to the scheduler: its invariants must hold. */
void world_changed(struct world *world);
/* Turn after turn until the cores have nothing to say to each other; */
void world_hush(struct world *world);
/* until nothing moves. */
void world_settle(struct world *world);
struct world_run *world_find_run(struct world *world, uint64_t number);

/* executor.c */
bool world_step(struct world *world, uint32_t device); /* false: it waits */

/* program.c */
void world_make_program(struct world *world, struct world_program *program);
void world_make_all_reduce(struct world *world, struct world_program *program, uint32_t devices, uint32_t islands);
/* `nodes` calls on one device, on i32 [elements]; the input is donated. */
void world_make_chain(struct world *world, struct world_program *program, const char *name, uint32_t nodes, uint64_t elements);
/* Of one input: result 0 by a call, result 1 by another, result 2 of the input and result 0; result 3 of another input, on a device
 * of its own. */
void world_make_fork(struct world *world, struct world_program *program);
/* Over two devices: result 0 lies as the input does, so that it may be one in place; result 1 is read by each device in the room
 * where the other's input lies that does not stay in place. */
void world_make_relay(struct world *world, struct world_program *program, uint64_t elements);
void world_make_readers(struct world *world, struct world_program *makes, struct world_program *updates);
/* 2 to 4 stages on slices in any islands, with quotas of 1 to 3, and 1 to 3 microbatches. */
void world_make_pipeline(struct world *world, struct world_program *program);
/* What the results must be, and whether a failing function reaches them. */
void world_evaluate(struct world *world, struct world_run *run);
#endif
