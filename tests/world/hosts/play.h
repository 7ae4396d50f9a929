/* Four hosts, each a scheduler, with links between them: see hosts_test.c.
 */
#ifndef PW_TESTS_WORLD_HOSTS_PLAY_H
#define PW_TESTS_WORLD_HOSTS_PLAY_H

#include "program/graph/graph_make.h"
#include "scheduler/state.h"

#define PLAY_HOSTS 4u
#define PLAY_FIRST 5u        /* the number of the first host */
#define PLAY_DEVICES 2u      /* of each */
#define PLAY_PROGRAMS 4u
#define PLAY_RUNS 96u
#define PLAY_EPOCH 77u
#define PLAY_KEPT 32u        /* messages that arrived: to come again */

struct play_frame { uint8_t *bytes; size_t length; uint32_t from; };
struct play_link {
        struct play_frame *frames;
        uint32_t count, capacity;
        bool cut;               /* nothing goes through, either way; */
        bool given_up;          /* and who would hear has given the other up */
};
struct play_host {
        struct pw_scheduler *scheduler;
        uint64_t ordered[PLAY_DEVICES], done[PLAY_DEVICES];
};
struct play_program { uint32_t coordinator, handle[PLAY_HOSTS]; struct pw_make_slice slice; };
struct play_run {
        struct pw_run *run;     /* NULL: it has ended */
        struct pw_result *result; /* while the client holds it */
        struct play_program *program;
        uint32_t coordinator;
        uint32_t prepared;      /* hosts, a bit each */
        uint32_t decided;
        bool read;              /* by a later run */
};

struct play {
        uint64_t seed, random, now_us;
        bool falls_out;         /* links are cut */
        bool remote;            /* hosts run programs on others alone, too */
        uint32_t hostile;       /* 1 + a host that says what it likes, of which nothing is expected; 0: none */
        bool slow, refuses, plain; /* plain: runs read no results, so what waits holds no memory where it waits */
        struct play_host hosts[PLAY_HOSTS];
        struct play_link links[PLAY_HOSTS][PLAY_HOSTS];
        struct play_frame kept[PLAY_KEPT];
        uint64_t arrived, again;
        struct play_program programs[PLAY_PROGRAMS];
        struct play_run runs[PLAY_RUNS];
        uint32_t run_count, open;
        uint64_t gave_back, refused, deferred, prepared, cancelled, admitted, lost, met;
};
extern struct play *play;

void play_failed(const char *where, const char *what);
uint32_t play_below(uint32_t limit); /* by chance */

/* play.c */
void play_begin_host(uint32_t at, uint64_t capacity, bool linked);
void play_end(void);
/* What the host's scheduler decided is done, and its invariants hold. */
void play_act(uint32_t at);
void play_turn(uint32_t at);
/* One message. False: there is none. */
bool play_deliver(uint32_t from, uint32_t to);
/* This one, wherever it came from. */
enum pw_status play_take(uint32_t to, const struct play_frame *frame, enum pw_core_kind *ret_kind, struct pw_error *ret_err);
static inline bool play_is_hostile(uint32_t host) { return host - PLAY_FIRST + 1 == play->hostile; } /* by its number */
void play_deliver_again(void); /* one that has arrived */
/* The device does one gang more. False: it has none. */
bool play_step(uint32_t at, uint32_t device);

/* clients.c: a run of some program is submitted, which may read the result of one before; */
void play_submit(void);
struct play_run *play_begin_run(struct play_program *program); /* reads values of its client; still to be submitted */
struct pw_input_place play_host_input(const struct pw_run *run, uint32_t input); /* such a value */
void play_cancel(struct play_run *run); /* if it has not ended */
void play_let_go(struct play_run *run); /* of its result */
void play_tick(void);
bool play_go_on(void); /* till there is nothing more to do now. False: there was nothing */
void play_memory_is_free(uint32_t at);

/* program.c: over some of the hosts. */
void play_begin_program(struct play_program *program); /* by chance */
struct play_shape {
        uint32_t nodes;       /* calls in a row; 0: one, and so much is in its block: */
        uint64_t block_bytes;
        bool apart;           /* on each host a slice, an input and a result of its own */
};
void play_begin_program_over(struct play_program *program, uint32_t hosts, const struct play_shape *shape,
                             struct pw_sharding sharding);
void play_end_program(struct play_program *program);

/* links.c: what is under way is gone; each side hears no more, and gives the other up, now or later; then they may meet again. */
void play_cut(void);
void play_give_up(void);     /* one that has not, of a link that was cut */
void play_give_up_all(void);
void play_meet(void);

#endif
