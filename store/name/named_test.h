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

/* What ann's name is bound to: the store says it, and shared memory says the same. */
static inline struct pw_object *named_found(struct named *n, const char *name)
{
        const uint8_t *cells = n->f.futures.base + n->f.futures_layout.names_offset;
        struct pw_object *object = pw_store_name_find(n->f.store, "ann", name);
        struct pw_cell cell = { 0 };

        assert_int_equal(pw_names_find((const struct pw_name_cell *)cells, name, &cell), object != NULL);
        if (object)
                assert_true(cell.a == pw_object_cell(object).a && cell.b == pw_object_cell(object).b);
        return object;
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
