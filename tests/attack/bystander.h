/* Somebody else on the host: a tenant that works all the time, and notes how long the longest of each kind of call took.
 */
#ifndef PW_TESTS_ATTACK_BYSTANDER_H
#define PW_TESTS_ATTACK_BYSTANDER_H

#include "tests/integration/harness.h"

#define BYSTANDER_USER 65530u
#define BYSTANDER_BOUND_US 50000 /* what a call may take; judged at it_slack() times that */

struct bystander;

/* Own: the caller ends it with bystander_end(). Returns once it has done each kind of call once. */
struct bystander *bystander_begin(const struct it_host *host);
/* Wait until it has done each kind of call once more, whatever else goes on. Fails the test after 25 s. */
void bystander_round(struct bystander *bystander);
/* Let it finish, print a line for each kind of call that took longer than the bound, and fail the test if one took it_slack() times
 * as long, had another result than it should, or was never done. */
void bystander_end(struct bystander *bystander);

#endif
