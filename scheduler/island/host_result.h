/* A result as its host has it: its rooms, their writer and readers.
 *
 * Made with its run's RESERVE. Its rooms go when its coordinator has released it, its run and those here that read it are over,
 * and, where they came from a donated input, that is so of the input too. A coordinator releases it behind its readers; one that
 * was given up, or says so too early, does not.
 */
#ifndef PW_SCHEDULER_ISLAND_HOST_RESULT_H
#define PW_SCHEDULER_ISLAND_HOST_RESULT_H

#include "base/list.h"
#include "scheduler/run.h"

struct pw_host_run;

struct pw_host_result {
        struct pw_list link;     /* among the scheduler's, or those that nobody has */
        struct pw_scheduler *scheduler;
        struct pw_run_id run;
        struct pw_requester *requester;  /* the coordinator of that */
        uint32_t index, slot;    /* in the run's results; where its coordinator finds it */
        uint32_t program;
        struct pw_host_run *maker;     /* NULL once it is over */
        struct pw_device_quota *quota; /* of whose run it is; counted there */
        struct pw_result_type *type;
        uint32_t room_count;     /* devices of the slice; 0 before it is placed */
        struct pw_room *rooms;   /* per place, so are */
        uint64_t *seqs;          /* seq of the writer on its device; 0 until ordered */
        uint32_t losses;         /* how often devices of its places were lost since they were written */
        _Atomic uint64_t *lost;  /* these places (base/bits.h) */
        uint32_t islands, ordered; /* masks by number: where its writer has gangs; where they are ordered */
        uint32_t left;           /* members of the writer that are not done */
        uint32_t read_by;        /* inputs of runs that are here */
        struct pw_list readers;  /* fragments that rest until it is ordered, or its maker has passed */
        bool letting_go;         /* nobody wants it but runs that read it */
        bool released;           /* by its coordinator: nobody reads it any more */
        bool donated;            /* its rooms went on to a result of another run */
        bool given;              /* while a run's inputs are read: one of them gives it away */
        /* A result in the room of a donated one, and that one, until nobody writes or reads it any more: a run that is cancelled
         * may end before the run that makes what it was given. */
        struct pw_host_result *source, *heir;
        uint32_t pool;           /* 2^pool rooms */
        struct pw_room room_store[];
};

/* Has it a room of this host at that place? */
bool pw_host_result_is_here(const struct pw_host_result *result, uint32_t place);
/* Of a run that is being reserved. NULL: out of memory. */
struct pw_host_result *pw_host_result_new(struct pw_host_run *run, uint32_t index, uint32_t slot);
/* NULL: it is not here, or released. */
struct pw_host_result *pw_host_result_find(const struct pw_scheduler *scheduler, const struct pw_run_id *run, uint32_t index,
                                           uint32_t slot);
/* One member of its writer is done. */
void pw_host_result_member_done(struct pw_host_result *result);
/* Its maker is over, or one who read it, or who gave it its rooms is gone. */
void pw_host_result_left(struct pw_host_result *result);
void pw_host_results_free(struct pw_scheduler *scheduler); /* all */

/* --- messages to the host; what changes nothing is PW_EXISTS ----------------------------------------------------------------- */

/* LET_GO: its rooms are of use to nobody but runs that read it. */
enum pw_status pw_host_result_let_go(struct pw_host_result *result);
/* RELEASE: nor does any read it any more. */
enum pw_status pw_host_result_release(struct pw_host_result *result);

#endif
