/* A run in the islands of this host: a part in each.
 */
#ifndef PW_SCHEDULER_ISLAND_PART_H
#define PW_SCHEDULER_ISLAND_PART_H

#include "scheduler/program.h"

struct pw_island;
struct pw_host_run;

enum pw_part_state {
        PW_PART_RESERVED = 1, /* it begins here: its run waits for rooms, or has them */
        PW_PART_RECORDED,     /* its record was handed out to be written, */
        PW_PART_PREPARED,     /* is written, or cannot be; those of its run's other parts may not be yet */
        PW_PART_STARTED,      /* gangs of it may be ordered */
        PW_PART_LEFT,         /* it had started, and all its devices are done with it */
        PW_PART_STATES
};
/* What changes it: pw_part_step(). */
enum pw_part_event { PW_PART_RECORD = 0, PW_PART_ANSWER, PW_PART_START, PW_PART_LEAVE, PW_PART_EVENTS };

enum pw_part_wait { PW_WAIT_NOTHING = 0, PW_WAIT_INPUT, PW_WAIT_NOTICE, PW_WAIT_WINDOW, PW_WAIT_STEP, PW_WAIT_ROOM };

struct pw_part {                 /* a run in one island */
        /* among the island's woken ones, those at the front of its lines, or who rests until something comes */
        struct pw_list link;
        struct pw_host_run *run;
        const struct pw_plan_island *plan;
        struct pw_island *island;
        uint32_t column, next;   /* next: of the plan's gangs */
        enum pw_part_state state; /* pw_part_step() */
        uint64_t key;            /* the policy's, once it has started: who comes first of its tenant's */
        struct pw_policy_account *account; /* the policy's, of its tenant; NULL: none */
        uint64_t turn_key;       /* the policy's, while it has its tenant's turn */
        uint64_t open;           /* devices that still have a gang of it to come */
        uint32_t devices_left;   /* devices that are not done with it */
        enum pw_part_wait wait;  /* why its next gang is not ordered, when it was looked at last */
        uint32_t wait_for;       /* the input, the column or the chain */
        uint32_t *noticed;       /* per column: gangs of nodes below this are ordered there */
        struct pw_list behind;   /* parts that rest until this one has got on: their runs took over blocks of its run */
        /* Waiting for windows, see line.h. */
        struct pw_stand *stands; /* per device of the plan */
        uint64_t stands_at;      /* devices of its next gang; 0: it stands in no line */
        uint32_t lines_ahead, turns_ahead; /* devices at which others of its tenant, or of others, come first */
        bool has_turn;
        uint64_t stand_seq;      /* the gang ordered last when it came to its lines */
        struct pw_device *parked;/* at the front, and this device's window was closed */
};

/* part.c */
extern const uint8_t pw_part_rules[PW_PART_STATES][PW_PART_EVENTS]; /* next states; 0: that cannot be */
/* The part has left `count` devices more. */
void pw_part_left(struct pw_part *part, uint32_t count);
/* Nothing more is ordered on the devices of `mask`: it leaves them when they have done what they were given. */
void pw_part_leave(struct pw_part *part, uint64_t mask);

/* ready.c: what keeps a part's next gang from being ordered, windows aside */
enum pw_part_wait pw_part_look(struct pw_part *part, const struct pw_gang *gang);
/* It is looked at again when what it waits for, part->wait, comes; till then it costs nothing. */
void pw_part_rest(struct pw_part *part);
/* What it rests for may be there, or it has come: its island looks at it in its next turn. */
void pw_part_wake(struct pw_part *part);
void pw_parts_wake(struct pw_list *resting); /* all of them */
/* A gang of it was ordered, or passed over: who rests until then is woken. */
void pw_part_got_on(struct pw_part *part);
/* Its next node may be dispatched. */
void pw_host_run_stepped(struct pw_host_run *run);

#endif
