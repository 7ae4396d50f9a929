/* For tests of names: metadata that is late, goes away and comes back, and is used by other hosts. It keeps the contract of
 * store/naming.h and daemon/meta/meta.h.
 */
#ifndef PW_STORE_NAME_LATE_TEST_H
#define PW_STORE_NAME_LATE_TEST_H

#include "store/name.h"

#define LATE_NAMES 4u
#define LATE_PENDING 4096u
#define LATE_BOUND 4096u

extern const char *const late_names[LATE_NAMES];

struct late_name { struct pw_id id; uint64_t version; /* 0: not bound */ };
/* A question; done: its answer is ready. */
struct late_ask { uint64_t token; enum pw_name_ask_kind kind; uint32_t tenant, name; struct pw_id id; bool done;
                  struct pw_name_answer answer; };

struct late {
        uint64_t seed, state, version;
        struct late_name names[2][LATE_NAMES];
        struct late_ask *asks; /* those that are not done behind those that are, in order */
        uint32_t count;
        struct { uint32_t name; struct pw_id id; } *bound; /* all that ever was */
        uint32_t bound_count;
        bool away;
};

void late_open(struct late *late, uint64_t seed);
void late_close(struct late *late);
uint32_t late_dice(struct late *late, uint32_t sides);
/* Something happens. */
void late_turn(struct late *late, struct pw_store *store, uint64_t now_us);
/* It is back, until nothing is asked any more. */
void late_settle(struct late *late, struct pw_store *store, uint64_t now_us);
bool late_was_bound(const struct late *late, const char *name, struct pw_id id);
bool late_is_foreign(struct pw_id id); /* another host's */

#endif
