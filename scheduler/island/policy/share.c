/* The policy `share`: device time in proportion to the weights of tenants.
 *
 * Stride scheduling (C. A. Waldspurger, W. E. Weihl, Stride Scheduling: Deterministic Proportional-Share Resource Management,
 * MIT/LCS/TM-528, 1995): each tenant has a pass, which grows by the device time that its gangs took over its weight; whose is least
 * comes first. Gangs are ordered long before they are done, so one is charged what those of its tenant took of late when it is
 * ordered, and the rest when it is done. Passes are of an island: a tenant is charged for all of its devices there.
 *
 * The least pass of those that are there is the island's clock. Who comes back is not behind it: there is no credit for having been
 * away. Who took what nobody else wanted is not ahead of it by more than LEAD_NS: so whoever waits is overtaken for so long at
 * most.
 */
#include "scheduler/island/policy/policy.h"

#include "base/memory.h"
#include "base/table.h"
#include "scheduler/island/host_run.h"

#include <stdlib.h>

#define LEAD_NS UINT64_C(10000000000)
#define OF_LATE 8u /* gangs, about */

struct pw_policy_account {
        struct pw_heap_item active; /* by its pass, while it has fragments in the island */
        const struct pw_device_quota *quota;
        uint64_t pass;              /* ns of device time, over the weight */
        uint64_t mean_ns;           /* what a gang of it took of late, on one device */
        uint32_t fragments;
};

struct pw_policy_state {
        struct pw_table accounts; /* by the address of the tenant's quota, which stays */
        struct pw_heap active;
        uint64_t clock;
};

static bool make(struct pw_policy_state **ret_state)
{
        *ret_state = calloc(1, sizeof **ret_state);
        return *ret_state;
}

static void end(struct pw_policy_state *state)
{
        struct pw_policy_account *account;

        for (uint32_t i = 0; state && (account = pw_table_next(&state->accounts, &i));)
                free(account);
        if (state) {
                pw_table_done(&state->accounts);
                pw_heap_done(&state->active);
        }
        free(state);
}

/* NULL: out of memory; its fragment goes with the clock. */
static struct pw_policy_account *account_of(struct pw_policy_state *state, const struct pw_device_quota *quota)
{
        uint64_t key = (uint64_t)(uintptr_t)quota;
        struct pw_policy_account *account = pw_table_get(&state->accounts, key);

        if (account)
                return account;
        account = calloc(1, sizeof *account);
        if (account && pw_table_put(&state->accounts, key, account)) {
                account->quota = quota;
                return account;
        }
        free(account);
        return NULL;
}

static uint64_t over_weight(const struct pw_policy_account *account, uint64_t ns) { return ns / account->quota->weight; }

/* Its pass is another. */
static void move(struct pw_policy_state *state, struct pw_policy_account *account, uint64_t pass)
{
        account->pass = pass;
        if (account->active.place)
                pw_heap_move(&state->active, &account->active, pass);
        if (state->active.count)
                state->clock = pw_max_u64(state->clock, pw_heap_first_key(&state->active));
        if (account->pass <= state->clock + LEAD_NS)
                return;
        account->pass = state->clock + LEAD_NS;
        if (account->active.place)
                pw_heap_move(&state->active, &account->active, account->pass);
}

static void enter(struct pw_policy_state *state, struct pw_fragment *fragment)
{
        struct pw_policy_account *account = account_of(state, fragment->run->program->quota);

        fragment->account = account;
        if (!account || account->fragments++)
                return;
        account->pass = pw_max_u64(account->pass, state->clock);
        if (pw_heap_add(&state->active, &account->active, account->pass))
                move(state, account, account->pass);
}

static void leave(struct pw_policy_state *state, struct pw_fragment *fragment)
{
        if (fragment->account && !--fragment->account->fragments)
                pw_heap_remove(&state->active, &fragment->account->active);
        fragment->account = NULL;
}

static uint64_t turn(const struct pw_policy_state *state, const struct pw_fragment *fragment)
{
        return fragment->account ? fragment->account->pass : state->clock;
}

static void ordered(struct pw_policy_state *state, struct pw_fragment *fragment, struct pw_policy_charge *ret_charge)
{
        struct pw_policy_account *account = fragment->account;

        *ret_charge = (struct pw_policy_charge){ .account = account };
        if (!account)
                return;
        ret_charge->charged = over_weight(account, account->mean_ns);
        move(state, account, account->pass + ret_charge->charged);
}

static void done(struct pw_policy_state *state, const struct pw_policy_charge *charge)
{
        struct pw_policy_account *account = charge->account;
        uint64_t took_ns = pw_min_u64(charge->took_ns, LEAD_NS), pass;

        if (!account)
                return;
        pass = account->pass + over_weight(account, took_ns);
        account->mean_ns = account->mean_ns ? account->mean_ns - account->mean_ns / OF_LATE + took_ns / OF_LATE : took_ns;
        move(state, account, pass > charge->charged ? pass - charge->charged : 0);
}

const struct pw_policy pw_policy_share = { "share", true, make, end, enter, leave, pw_policy_first_come, turn, ordered, done };
