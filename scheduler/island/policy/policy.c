/* The kinds of policies, and the plain one: tenants in turn, whatever they ask for. */
#include "scheduler/island/policy/policy.h"

#include "base/error.h"
#include "scheduler/island/host_run.h"
#include "scheduler/scheduler.h"

#include <stdio.h>

static const struct pw_policy *const kinds[] = { &pw_policy_fifo, &pw_policy_share };

const struct pw_policy *pw_policy_at(uint32_t index) { return index < pw_array_count(kinds) ? kinds[index] : NULL; }

const struct pw_policy *pw_policy_find(const char *name)
{
        for (uint32_t i = 0; i < pw_array_count(kinds); i++)
                if (!strcmp(kinds[i]->name, name))
                        return kinds[i];
        return NULL;
}

enum pw_status pw_policy_check(const char *name, struct pw_error *ret_err)
{
        char names[200] = "";
        size_t used = 0;

        if (pw_policy_find(name))
                return PW_OK;
        for (uint32_t i = 0; i < pw_array_count(kinds) && used < sizeof names; i++)
                used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", kinds[i]->name);
        return pw_error_set(ret_err, PW_INVALID, "--policy \"%.80s\": there are only %s", name, names);
}

uint64_t pw_policy_first_come(const struct pw_fragment *fragment) { return fragment->run->admission; }

/* --- fifo ------------------------------------------------------------------------------------------------------------------- */

static bool make_nothing(struct pw_policy_state **ret_state)
{
        *ret_state = NULL;
        return true;
}

static void end_nothing(struct pw_policy_state *state) { (void)state; }

static void no_account(struct pw_policy_state *state, struct pw_fragment *fragment)
{
        (void)state;
        (void)fragment;
}

/* Turns come as they are taken. */
static uint64_t same_turn(const struct pw_policy_state *state, const struct pw_fragment *fragment)
{
        (void)state;
        (void)fragment;
        return 0;
}

static void charge_nothing(struct pw_policy_state *state, struct pw_fragment *fragment, struct pw_policy_charge *ret_charge)
{
        (void)state;
        (void)fragment;
        *ret_charge = (struct pw_policy_charge){ 0 };
}

static void count_nothing(struct pw_policy_state *state, const struct pw_policy_charge *charge)
{
        (void)state;
        (void)charge;
}

const struct pw_policy pw_policy_fifo = { "fifo", false, make_nothing, end_nothing, no_account, no_account, pw_policy_first_come,
                                          same_turn, charge_nothing, count_nothing };
