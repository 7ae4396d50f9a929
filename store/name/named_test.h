/* What tests of names and leases share: an object of ann's, which bo is there beside.
 */
#ifndef PW_STORE_NAME_NAMED_TEST_H
#define PW_STORE_NAME_NAMED_TEST_H

#include "store/fixture_test.h"

struct named { struct fixture f; struct client *ann, *bo; struct place place; struct pw_object *object; };

static inline void open_named(struct named *n)
{
        fixture_open(&n->f, 64 * PW_MIB);
        n->ann = fixture_client(&n->f, "ann");
        n->bo = fixture_client(&n->f, "bo");
        n->place = fixture_put(n->ann, fixture_grant(&n->f, n->ann, 4096, 4).first_slot);
        n->object = fixture_known(&n->f, n->place);
}

static inline void assert_gone(struct named *n)
{
        fixture_reclaim(&n->f);
        assert_true(fixture_state(n->place) < PW_ENTRY_PENDING);
}

static inline void assert_there(struct named *n)
{
        fixture_reclaim(&n->f);
        assert_int_equal(fixture_state(n->place), PW_ENTRY_READY);
}

static inline enum pw_status name_until(struct named *n, const char *name, uint64_t until_us)
{
        return plain_bind(n->f.store, "ann", name, n->object, until_us, n->f.now_us, NULL);
}

#endif
