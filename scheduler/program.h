/* A compiled program as the scheduler keeps it: its plan (program/image/plan.h), and the memory that a run takes. */
#ifndef PW_SCHEDULER_PROGRAM_H
#define PW_SCHEDULER_PROGRAM_H

#include "program/image/plan.h"
#include "scheduler/island/device.h"

struct pw_scheduler;
struct pw_requester;
struct pw_island;

struct pw_program_input { bool takes_result; uint32_t result; }; /* donated: its load writes the room of this result */

/* One of this host's devices that its slices have. Its index in the program stands for it everywhere here: of other hosts' devices
 * only the slices know. */
struct pw_program_device {
        uint32_t number;         /* on this host */
        struct pw_device *device;
        struct pw_rooms *rooms;
        uint64_t bytes;          /* of blocks and results, nothing in place */
};

/* A place of a slice that is on this host. */
struct pw_program_place { uint32_t place, device; }; /* device: index in the program's devices */

/* Places of a slice on one host: `count` of the slice's `places`, from `first` on. */
struct pw_program_part { uint32_t host, first, count; };

struct pw_program_slice {
        uint64_t serial;                 /* 0: not in use by this program yet */
        struct pw_program_place *here;   /* ascending by place */
        uint32_t here_count, part_count;
        struct pw_program_part *parts;   /* of its hosts, ascending by number */
        uint32_t *places;                /* all of it, by host, then ascending */
};

/* Hosts of a program, ascending. users: it, and the types of its results. */
struct pw_program_hosts {
        uint32_t users;
        bool outlived;                   /* the program is gone, and its tenant is charged for them */
        uint32_t count, numbers[];
};

/* bytes: on each device, whole lines; first_here: of `here` of its slice, counted over all blocks. */
struct pw_program_block { uint32_t slice, chain, first_here; uint64_t bytes; };

/* Runs that took over one another's block: those of the slices (chain 0), that of a stage (chain 1 + stage). See chain.c. */
struct pw_sched_chain {
        uint32_t blocks, limit;  /* there are; may be */
        bool used;               /* it has any bytes */
        struct pw_list last;     /* struct pw_hold of runs whose blocks nobody took over yet, as they were admitted */
};

struct pw_sched_program {
        struct pw_program_row row;
        struct pw_scheduler *scheduler;
        struct pw_device_quota *quota;       /* of its tenant */
        struct pw_requester *requester;              /* its coordinator, */
        uint32_t asked_as;                   /* and its number there, where that is another host's */
        uint32_t host_runs;                  /* runs of it that this host has */
        uint32_t listers;                    /* that go on with it: it stays */
        struct pw_plan plan;
        struct pw_program_input *inputs;
        struct pw_result_type **types;       /* of its results */
        struct pw_program_slice *slices;
        struct pw_program_block *blocks;     /* as in the image */
        struct pw_sched_chain *chains;
        uint32_t slice_count, block_count, chain_count;
        uint32_t here_count;                 /* of all blocks */
        struct pw_program_device *devices;   /* by number */
        uint32_t device_count;
        struct pw_program_hosts *shared;     /* those that have devices of its slices; */
        const uint32_t *hosts;               /* their numbers, ascending */
        uint32_t host_count, lost_host;      /* 1 + one of them that was given up; 0: none was */
        uint64_t memory_members;             /* of them, those of which a run takes memory: a bit of this host each */
        uint32_t record_bytes;               /* of a run's record, but for the shards of its inputs; 0: not known yet */
        struct pw_queue queue;               /* runs that are not admitted, but for those whose inputs may bring room */
        struct pw_list idle_runs, idle_host_runs; /* records to be used again */
        uint32_t idle_run_count, idle_host_run_count;
        struct pw_list link;                 /* among the ended ones */
        struct pw_list of_all;               /* of the scheduler's */
};

static inline struct pw_sched_program *pw_program_of(struct pw_program_row *row) { return row->own; }
static inline const struct pw_image_node *pw_program_node(const struct pw_sched_program *program, uint32_t node)
{
        return pw_image_node(program->row.image, node);
}
static inline const struct pw_image_value *pw_program_result_value(const struct pw_sched_program *program, uint32_t result)
{
        const struct pw_image *image = program->row.image;
        return pw_image_value(image, (PW_IMAGE_AT(image, struct pw_image_result, image->results) + result)->value);
}
/* Which of its hosts that is; UINT32_MAX: none of them. */
uint32_t pw_program_host(const struct pw_sched_program *program, uint32_t host);
struct pw_program_device *pw_program_device(const struct pw_sched_program *program, uint32_t number); /* NULL: not one of its */
/* A room of its tenant's on one of its devices. */
struct pw_room pw_program_room(const struct pw_sched_program *program, const struct pw_program_device *device, uint64_t offset,
                               uint64_t bytes);
bool pw_program_is_in(const struct pw_sched_program *program, const struct pw_island *island); /* has it a device there? */

/* places.c: the places of its slices, by host, and which hosts these are; `host`: this one. False: out of memory. */
bool pw_places_init(struct pw_sched_program *program, uint32_t host);
void pw_places_done(struct pw_sched_program *program); /* but for its hosts: pw_types_leave() */
uint64_t pw_places_bytes(const struct pw_sched_program *program);
/* Those of one host; NULL: it has none. */
const struct pw_program_part *pw_places_of(const struct pw_program_slice *slice, uint32_t host);

/* type.c: of a value of the program, on its slice; one use, its maker's. NULL: out of memory. */
struct pw_result_type *pw_type_new(const struct pw_sched_program *program, const struct pw_image_value *value);
static inline struct pw_result_type *pw_type_use(struct pw_result_type *type)
{
        type->users++;
        return type;
}
/* One use less, of a result of that tenant's; the last one frees it. */
void pw_type_leave(struct pw_result_type *type, struct pw_scheduler *scheduler, struct pw_device_quota *quota);
/* Those of its results, and its hosts; what is left of them is its tenant's from now on. */
void pw_types_leave(struct pw_sched_program *program);
uint64_t pw_hosts_bytes(const struct pw_program_hosts *hosts);
/* Is everything that was lost of a value held in another place of it? `lost`: places, base/bits.h. */
bool pw_type_lives_on(const struct pw_result_type *type, uint32_t place_count, const _Atomic uint64_t *lost);
uint64_t pw_type_shard_bytes(const struct pw_result_type *type, uint32_t place);

/* chain.c: fill chains. False: out of memory. */
bool pw_chain_init(struct pw_sched_program *program);
/* Free it once it is freed by its owner and no run is left. */
void pw_program_maybe_end(struct pw_sched_program *program);
void pw_program_destroy(struct pw_sched_program *program);

#endif
