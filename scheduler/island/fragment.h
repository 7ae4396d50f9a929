/* A run in the islands of this host: a fragment in each.
 */
#ifndef PW_SCHEDULER_ISLAND_FRAGMENT_H
#define PW_SCHEDULER_ISLAND_FRAGMENT_H

#include "scheduler/program.h"

struct pw_island;
struct pw_host_run;

enum pw_fragment_state {
        PW_FRAGMENT_RESERVED = 1, /* it begins here: its run waits for rooms, or has them */
        PW_FRAGMENT_RECORDED,     /* its record was handed out to be written, */
        PW_FRAGMENT_PREPARED,     /* is written, or cannot be; those of its run's other fragments may not be yet */
        PW_FRAGMENT_STARTED,      /* gangs of it may be ordered */
        PW_FRAGMENT_LEFT,         /* it had started, and all its devices are done with it */
        PW_FRAGMENT_STATES
};
/* What changes it: pw_fragment_step(). */
enum pw_fragment_event { PW_FRAGMENT_RECORD = 0, PW_FRAGMENT_ANSWER, PW_FRAGMENT_START, PW_FRAGMENT_LEAVE, PW_FRAGMENT_EVENTS };

enum pw_fragment_wait { PW_WAIT_NOTHING = 0, PW_WAIT_INPUT, PW_WAIT_NOTICE, PW_WAIT_WINDOW, PW_WAIT_STEP, PW_WAIT_ROOM };

struct pw_fragment {                 /* a run in one island */
        /* among the island's woken ones, those at the front of its lines, or who rests until something comes */
        struct pw_list link;
        struct pw_host_run *run;
        const struct pw_plan_island *plan;
        struct pw_island *island;
        uint32_t column, next;   /* next: of the plan's gangs */
        enum pw_fragment_state state; /* pw_fragment_step() */
        uint64_t key;            /* the policy's, once it has started: who comes first of its tenant's */
        struct pw_policy_account *account; /* the policy's, of its tenant; NULL: none */
        uint64_t turn_key;       /* the policy's, while it has its tenant's turn */
        uint64_t open;           /* devices that still have a gang of it to come */
        uint32_t device_count, devices_left; /* that have gangs of it; of them, those that are not done with it */
        enum pw_fragment_wait wait;  /* why its next gang is not ordered, when it was looked at last */
        uint32_t wait_for;       /* the input, the column or the chain */
        uint32_t *noticed;       /* per column: gangs of nodes below this are ordered there */
        struct pw_list behind;   /* fragments that rest until this one has got on: their runs took over blocks of its run */
        /* Waiting for windows, see line.h. */
        struct pw_stand *stands; /* per device of the plan */
        uint64_t stands_at;      /* devices of its next gang; 0: it stands in no line */
        uint32_t lines_ahead, turns_ahead; /* devices at which others of its tenant, or of others, come first */
        bool has_turn;
        uint64_t stand_seq;      /* the gang ordered last when it came to its lines */
        struct pw_device *parked;/* at the front, and this device's window was closed */
};

/* fragment.c */
extern const uint8_t pw_fragment_rules[PW_FRAGMENT_STATES][PW_FRAGMENT_EVENTS]; /* next states; 0: that cannot be */
/* The fragment has left `count` devices more. */
void pw_fragment_left(struct pw_fragment *fragment, uint32_t count);
/* Nothing more is ordered on the devices of `mask`: it leaves them when they have done what they were given. */
void pw_fragment_leave(struct pw_fragment *fragment, uint64_t mask);

/* ready.c: what keeps a fragment's next gang from being ordered, but for windows */
enum pw_fragment_wait pw_fragment_check(struct pw_fragment *fragment, const struct pw_gang *gang);
/* It is looked at again when what it waits for, fragment->wait, comes; till then it costs nothing. */
void pw_fragment_rest(struct pw_fragment *fragment);
/* What it rests for may be there, or it has come: its island looks at it in its next turn. */
void pw_fragment_wake(struct pw_fragment *fragment);
void pw_fragments_wake(struct pw_list *resting); /* all of them */
/* A gang of it was ordered, or passed over: who rests until then is woken. */
void pw_fragment_got_on(struct pw_fragment *fragment);
/* Its next node may be dispatched. */
void pw_host_run_stepped(struct pw_host_run *run);

#endif
