/* What the files of spreading share. Nobody else includes this. */
#ifndef PW_CLUSTER_PULL_SPREAD_PRIVATE_H
#define PW_CLUSTER_PULL_SPREAD_PRIVATE_H

#include "cluster/pull/spread.h"

#include "base/list.h"
#include "base/table.h"

/* What was reported, by one member. `host`, `number`: of the source. */
struct pw_spread_bar { uint32_t host; uint64_t number; };

struct pw_spread_object {
        struct pw_spread_object *same_key;
        struct pw_list members;    /* in the order in which they came */
        struct pw_id id;
        uint64_t number;           /* of this host's offer; 0: it has none, */
        enum pw_status cause;      /* for this reason */
        uint64_t came;             /* counts members */
        uint32_t askers;           /* of this host's offer */
};
struct pw_spread_host { struct pw_table members; uint64_t last_number; }; /* members: by number */

struct pw_spread_member {
        struct pw_list link, due;  /* due: in the core's list, while NAMED is to be said */
        struct pw_spread_object *object;
        struct pw_spread_host *of;
        uint32_t host;
        uint64_t number, serial, round;
        enum pw_member_state state;
        struct pw_spread_member *source; /* of PULLING; NULL: this host */
        uint32_t askers;
        bool is_out;               /* it failed: it is named to nobody */
        bool is_refused;           /* there is no source for it: it goes once it is told */
        bool answers;              /* its WANT is not answered */
        enum pw_status cause;      /* of what it reported of this host last */
        struct pw_spread_bar *bars;
        uint32_t bar_count, bar_capacity;
};

struct pw_pull_spread {
        struct pw_pull_spread_params params;
        struct pw_table objects, hosts;
        struct pw_list due;
        uint32_t object_count;
};

/* spread_choose.c */
/* The one setter. False: the event has no meaning in its state. */
bool pw_spread_step(const struct pw_pull_spread *spread, struct pw_spread_member *member, enum pw_member_event event);
/* Sends between it and a whole value. */
uint32_t pw_spread_depth(const struct pw_spread_member *member);
/* It has no source now. False: it had none. */
bool pw_spread_lose_source(struct pw_pull_spread *spread, struct pw_spread_member *member);
/* `source` is that of nobody now; NULL: this host. */
void pw_spread_lose_askers(struct pw_pull_spread *spread, struct pw_spread_object *object, const struct pw_spread_member *source);
/* Who waits gets a source, in the order in which they came; who cannot get one any more goes. */
void pw_spread_settle(struct pw_pull_spread *spread, struct pw_spread_object *object);

#endif
