/* What the files of pulls share. Nobody else includes this. */
#ifndef PW_CLUSTER_PULL_PULL_PRIVATE_H
#define PW_CLUSTER_PULL_PULL_PRIVATE_H

#include "cluster/pull/pull.h"

#include "base/bits.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/table.h"

#define PW_PULL_ASKS (2 * PW_PULL_AHEAD_MAX) /* those that are stopping besides */

struct pw_pull_ask {
        struct pw_pull *pull;
        uint64_t number, round;  /* round: of the source that was asked */
        enum pw_ask_state state;
        uint32_t source, stream, chunk;
        bool waits;              /* the source said so */
        bool stop_thread;        /* it is to be told to stop; */
        bool stop_source;        /* likewise, also where the thread has reported */
};
/* What the home is to be told, in this order. */
enum {
        PW_PULL_SAYS_WANT = 1, PW_PULL_SAYS_REPORT = 2, PW_PULL_SAYS_WHOLE = 4, PW_PULL_SAYS_HAVE = 8, PW_PULL_SAYS_LEAVE = 16
};

struct pw_pull {
        struct pw_pull *same_key;
        struct pw_list link, due; /* due: in the core's list, while something may be to be done */
        struct pw_heap_item time;
        struct pw_id id;
        enum pw_pull_state state;
        enum pw_status status;    /* why it failed; */
        uint32_t culprit;
        uint32_t home, source;
        uint64_t number, source_number, round;
        uint64_t bytes;
        void *place;
        uint64_t progress_us, heard_us;
        uint32_t chunks, here_count, low; /* low: all below it are here */
        uint32_t faults;                  /* of its source, since a chunk came */
        uint64_t lost_up_to;              /* the last ask before the loss that was counted last */
        uint8_t says;
        enum pw_status report;
        bool is_alone;                    /* the term with its home has ended */
        bool ready_due, failed_told, let_go_told;
        struct pw_pull_ask *asking;            /* its thread receives; the source is asked next */
        uint32_t in[PW_ASK_STATES];       /* asks in each state */
        uint32_t here_told, here_untold;  /* counts: of `here_chunk` */
        uint32_t here_chunk[PW_PULL_ASKS];
        struct pw_pull_ask asks[PW_PULL_ASKS];
        bool fills;              /* chunks are asked for until there are as many as may be */
        _Atomic uint64_t here[];
};

struct pw_pulls {
        struct pw_pulls_params params;
        uint64_t last_ask;
        struct pw_list all, due;
        struct pw_table ids, numbers; /* pulls: by id, chains of one key; by number */
        struct pw_table asks;          /* that threads have, by number */
        struct pw_heap times;
};

/* pull.c: the setters. False: the event has no meaning in its state. */
bool pw_pull_step(struct pw_pulls *pulls, struct pw_pull *pull, enum pw_pull_event event);
bool pw_pull_ask_step(struct pw_pulls *pulls, struct pw_pull_ask *ask, enum pw_ask_event event);
void pw_pull_touch(struct pw_pulls *pulls, struct pw_pull *pull);
void pw_pull_forget(struct pw_pulls *pulls, struct pw_pull *pull);

#endif
