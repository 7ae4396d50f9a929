/* Policies: which of a tenant's fragments comes first, and whose gang an island orders next where fragments of several tenants wait
 * for the windows of the same devices (line.h).
 *
 * A policy has state of its own in each island. It gives each turn that a tenant takes a key: at each device the turn with the
 * least key comes first, of equal ones the one that was taken first. Keys stay while a turn lasts and are the same at all of its
 * devices, so whatever a policy says, turns are in one order and nobody waits in a circle. Whoever is alone there has the devices,
 * without a turn.
 *
 * To add a kind: NAME.c with a `const struct pw_policy`, its name at the end of this header, a line each in policy.c and
 * scheduler/local.mk; its word in the help of --policy (daemon/settings/settings.c), in pathwaysd(8) and in pathways.conf(5).
 * tests/world plays each policy there is.
 */
#ifndef PW_SCHEDULER_ISLAND_POLICY_POLICY_H
#define PW_SCHEDULER_ISLAND_POLICY_POLICY_H

#include <stdbool.h>
#include <stdint.h>

struct pw_fragment;
struct pw_policy_state;   /* a policy's own, of one island */
struct pw_policy_account; /* likewise, of a tenant there */

/* What a gang was counted with on one device, from its order until it is done there. */
struct pw_policy_charge { struct pw_policy_account *account; uint64_t charged, took_ns; };

/* All slots are filled. */
struct pw_policy {
        const char *name;
        bool counts; /* `ordered` and `done` are to be called */
        /* False: out of memory. What a policy without state keeps is NULL. */
        bool (*make)(struct pw_policy_state **ret_state);
        void (*end)(struct pw_policy_state *state);
        /* A fragment comes into the island, and leaves it: all that was ordered of it is done. */
        void (*enter)(struct pw_policy_state *state, struct pw_fragment *fragment);
        void (*leave)(struct pw_policy_state *state, struct pw_fragment *fragment);
        /* Of its tenant's fragments the one with the least key comes first. No two in an island have the same, and it stays the
         * same. */
        uint64_t (*key)(const struct pw_fragment *fragment);
        /* The key of the turn that its tenant takes with this fragment. */
        uint64_t (*turn)(const struct pw_policy_state *state, const struct pw_fragment *fragment);
        /* A gang of it was ordered on one device; later, in the order of the device, it is done: charge->took_ns is how long it had
         * it. */
        void (*ordered)(struct pw_policy_state *state, struct pw_fragment *fragment, struct pw_policy_charge *ret_charge);
        void (*done)(struct pw_policy_state *state, const struct pw_policy_charge *charge);
};

extern const struct pw_policy pw_policy_fifo, pw_policy_share;

/* NULL: none. */
const struct pw_policy *pw_policy_find(const char *name);
const struct pw_policy *pw_policy_at(uint32_t index);
/* First come is who was admitted first: a run over several islands comes by message, and one that was admitted behind it and has
 * this island alone may be here already. */
uint64_t pw_policy_first_come(const struct pw_fragment *fragment);

#endif
