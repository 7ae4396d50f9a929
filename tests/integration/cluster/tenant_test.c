/* Tenants of a cluster: whose objects they are is said by a name, which --tenant gives a user where users differ between hosts. */
#include "tests/integration/cluster/cluster.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One person, who has a tenant of one name on two hosts; on the third one, the name of his user is another tenant's. */
static void a_tenant_is_known_by_its_name(void **state)
{
        const struct passwd *user = getpwuid(geteuid());
        struct cluster *cluster = *state;
        struct pw_future *made, *opened;
        struct pw_listing *listing;
        char line[2][100];

        if (!user) {
                it_skip("the user of this test has no name");
                return;
        }
        snprintf(line[0], sizeof line[0], "%s=ann", user->pw_name);
        snprintf(line[1], sizeof line[1], "somebody=%s", user->pw_name);
        cluster->linked = true;
        cluster->tenants[0] = cluster->tenants[1] = line[0];
        cluster->tenants[2] = line[1];
        for (int i = 0; i < 3; i++)
                cluster_start(cluster, i, i == 0);
        cluster_meet(cluster);
        it_ok(pw_put(cluster->hosts[0].session, "value", 5, NULL, &made, IT_ERR));
        it_ok(pw_open(cluster->hosts[1].session, pw_future_id(made), &opened, IT_ERR));
        listing = it_list(cluster->hosts[1].session, "owners", NULL);
        assert_string_equal(it_text(listing, 0, "tenant"), "ann");
        pw_listing_free(listing);
        pw_unref(opened);
        it_fails(pw_open(cluster->hosts[2].session, pw_future_id(made), &opened, IT_ERR), PW_DENIED, "see --tenant");
        pw_unref(made);
}

/* Who is not named is called as his user: another tenant than Ann, and her objects are not his to know of. */
static void another_tenant_has_nothing(void **state)
{
        const struct passwd *user = getpwuid(geteuid());
        struct cluster *cluster = *state;
        struct pw_future *made, *opened;
        char line[100];

        if (!user) {
                it_skip("the user of this test has no name");
                return;
        }
        snprintf(line, sizeof line, "%s=ann", user->pw_name);
        cluster->linked = true;
        cluster->tenants[0] = line;
        for (int i = 0; i < 2; i++)
                cluster_start(cluster, i, i == 0);
        cluster_meet(cluster);
        it_ok(pw_put(cluster->hosts[0].session, "value", 5, NULL, &made, IT_ERR));
        it_fails(pw_open(cluster->hosts[1].session, pw_future_id(made), &opened, IT_ERR), PW_GONE, "gone");
        pw_unref(made);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                CLUSTER_TEST(a_tenant_is_known_by_its_name),
                CLUSTER_TEST(another_tenant_has_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
