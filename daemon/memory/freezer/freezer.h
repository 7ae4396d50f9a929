/* A freezer of a tenant: a producer that is no process. It has a session and a segment in the store, and only the daemon can
 * write the memfd of that; everybody else gets it read-only, as any other. What the daemon makes for a tenant lies there: frozen
 * puts (frozen.h), replicas of what other hosts have (replica.h). A second one has what executors fetch from their devices
 * (memory/fetch/): these write it, so nothing else lies there. Loop thread only.
 */
#ifndef PW_DAEMON_MEMORY_FREEZER_FREEZER_H
#define PW_DAEMON_MEMORY_FREEZER_FREEZER_H

#include "daemon/session/tenant.h"
#include "plane/control.h"
#include "plane/segment.h"
#include "store/object.h"
#include "store/store.h"

struct pw_segment;

/* A lane asks for one room, and for one slot, at a time. */
struct pw_freezer {
        struct pw_daemon *daemon;
        struct pw_tenant *tenant;
        enum pw_freezer_kind kind;
        uint32_t session;  /* in the store */
        struct pw_segment *segment; /* the daemon has all of it mapped */
        struct pw_map control;
        uint32_t users;    /* who have a lane, or a slot of it that is PENDING: it stays */
        bool busy[PW_LANES_MAX];
        struct pw_list queue; /* of turns that wait for a lane */
};

/* The turn of one user, who gets a lane now or once somebody gives one back. */
struct pw_freezer_turn {
        struct pw_list link; /* in the queue; else alone */
        uint32_t lane;       /* PW_LANES_MAX: none yet */
        void (*begin)(struct pw_freezer_turn *turn); /* it has its lane; once */
};

/* The tenant's of that kind, made where it has none. Errors: PW_NO_MEMORY, PW_SYSTEM, PW_LIMIT (segment numbers are used up). */
PW_MUST_CHECK enum pw_status pw_freezer_of(struct pw_daemon *daemon, struct pw_tenant *tenant, enum pw_freezer_kind kind,
                                           struct pw_freezer **ret_freezer, struct pw_error *ret_err);
/* A lane for one user. Errors: PW_LIMIT; the text says that `what` wait for room. */
PW_MUST_CHECK enum pw_status pw_freezer_take_lane(struct pw_freezer *freezer, const char *what, uint32_t *ret_lane,
                                                  struct pw_error *ret_err);
void pw_freezer_give_lane(struct pw_freezer *freezer, uint32_t lane);
/* begin() is called in here where a lane is free. The turn stays where it is until pw_freezer_leave(), with a lane or without. */
void pw_freezer_enter(struct pw_freezer *freezer, struct pw_freezer_turn *turn);
void pw_freezer_leave(struct pw_freezer *freezer, struct pw_freezer_turn *turn);
/* A room of one value was granted to the freezer: a PENDING object in it, held until pw_freezer_let_go(); `action` is the answer
 * of the store. Errors: the answer's; PW_NOT_READY (it was taken back for others meanwhile, or there is none yet: ask again),
 * PW_NO_MEMORY. */
PW_MUST_CHECK enum pw_status pw_freezer_begin(struct pw_daemon *daemon, struct pw_freezer *freezer,
                                              const struct pw_store_action *action, struct pw_object **ret_object,
                                              struct pw_error *ret_err);
/* A claim of the daemon's own of what is being made in a slot or room of the freezer's session: whoever frees the object by force
 * meanwhile, it stays. */
PW_MUST_CHECK enum pw_status pw_freezer_hold(struct pw_daemon *daemon, struct pw_object *object, struct pw_error *ret_err);
/* It is made: that claim goes, and the first reference of the freezer's session, if that has it still. */
void pw_freezer_let_go(struct pw_daemon *daemon, struct pw_object *object);
/* Out of PENDING, as `described` says if the status is PW_OK. */
void pw_freezer_decide(struct pw_daemon *daemon, struct pw_object *object, const struct pw_described *described,
                       enum pw_status status);
/* The tenant's freezers take no more values, but those that have users: each goes when nothing is left in it. The next user makes
 * another. */
void pw_freezer_end(struct pw_daemon *daemon, struct pw_tenant *tenant);
void pw_freezer_free(struct pw_freezer *freezer);
struct pw_backing *pw_freezer_backing(const struct pw_freezer *freezer);

#endif
