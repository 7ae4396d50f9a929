/* Where what was decided is done: all that scheduler and store want of what is around them goes through one table of functions.
 * `daemon/effect.c` fills it with boards, processes and memory, `tests/world` with its own. What the two want of each other (a
 * result decided, a reference released, a run that nobody holds results of) is done here, in the order in which it was said.
 */
#ifndef PW_SCHEDULER_PORT_H
#define PW_SCHEDULER_PORT_H

#include "scheduler/run.h"
#include "store/store.h"

struct pw_scheduler;

/* All slots are filled. None of them calls pw_deciders_act(); what they tell scheduler and store is acted on behind all that waits
 * by then. Texts, messages and actions are borrowed for the call. */
struct pw_port {
        /* --- of the scheduler */
        /* `message` is on its way to the core that it is for: pw_deciders_hear(), now or later. `frame`: the same with what comes
         * along, of a message for another host, and of each in a scheduler that is linked; else its bytes are NULL. A link between
         * hosts goes here, in daemon/effect.c: it carries `frame`, and gives what arrives to pw_core_decode(), then
         * pw_deciders_hear(), with the host at its other end. tests/world/link.c is one. It tells the scheduler of a host that it
         * meets by pw_scheduler_coordinator_add(), of one that it gives up by pw_scheduler_give_up(): tests/world/hosts/links.c.
         * Bytes of values do not go here: nothing carries them yet. */
        void (*send)(void *context, const struct pw_core_message *message, const struct pw_core_frame *frame, uint64_t now_us);
        /* Do what it says on the boards. Errors: those of pw_boards_apply(). Of PREPARE they are the answer; PW_NO_MEMORY of
         * another message: it is done later, and what is behind it too. It tells the scheduler nothing: `message` lies in its
         * queue. */
        enum pw_status (*board)(void *context, const struct pw_message *message, const struct pw_message_pools *pools,
                                struct pw_error *ret_err);
        /* End the process of `device` if it is in gang `seq`. */
        void (*end_member)(void *context, uint32_t device, uint64_t seq, enum pw_status status, const char *text);
        void (*run_ended)(void *context, struct pw_run *run, enum pw_status outcome, uint64_t now_us); /* it is freed next */
        /* It is freed next, and the boards are told; called again where those found no memory. */
        void (*program_ended)(void *context, struct pw_program_row *program);

        /* --- of the store */
        void (*wake)(void *context, uint32_t segment, uint32_t slot);         /* who sleeps on that entry */
        void (*room)(void *context, const struct pw_store_action *action);    /* GRANT, LOOK_AGAIN or REFUSE: answer a request */
        void (*pages)(void *context, const struct pw_store_action *action);   /* POPULATE or PUNCH, then tell the store */
        void (*proxy)(void *context, const struct pw_store_action *action);   /* FREE_PROXY or FETCH_PROXY */
        void (*decided)(void *context, struct pw_object *object);             /* READY: the scheduler has heard of it */
        void (*drain)(void *context);                                         /* read every ring, and each DROP as it comes */
        /* SEGMENT_IDLE: it is to be removed; SEGMENT_QUIET: its map may go. */
        void (*segment_left)(void *context, uint32_t segment, enum pw_store_action_kind how);
        void (*end_session)(void *context, uint32_t session, const char *text);
};

/* Those of one host, with what is around them. */
struct pw_deciders {
        struct pw_scheduler *scheduler;
        struct pw_store *store;
        const struct pw_port *port;
        void *context; /* the port's */
};

/* Act on every action of both queues until both are empty. *ret_stuck: one of the scheduler's found no memory; it and what is
 * behind it are left for another call, in their order. True: there was one. */
bool pw_deciders_act(const struct pw_deciders *deciders, uint64_t now_us, bool *ret_stuck);
/* A message of a core has arrived: PREPARE is done on the boards and answered, all else is pw_scheduler_deliver()'s.
 * Errors: as there. */
PW_MUST_CHECK enum pw_status pw_deciders_hear(const struct pw_deciders *deciders, const struct pw_core_message *message,
                                              const struct pw_core_body *body, struct pw_arrival arrival,
                                              struct pw_error *ret_err);

#endif
