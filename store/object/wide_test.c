/* Values of as many shards as there may be, on devices of many hosts. */
#include "store/fixture_test.h"

#define SHARDS_MAX 4096u

static union { struct pw_shard_list list; char space[PW_SHARD_LIST_BYTES(SHARDS_MAX)]; } wide;

static const struct pw_shard_list *decide(struct fixture *f, const struct client *ann, struct place place)
{
        struct pw_decision decision = { .status = PW_OK, .list = &wide.list, .bytes = 1 };
        struct pw_object *object;

        wide.list.shard_count = SHARDS_MAX;
        for (uint32_t i = 0; i < SHARDS_MAX; i++)
                wide.list.shards[i] = (struct pw_shard_place){ 64 * i, 64, 70, { (uint16_t)(i / 8), (uint16_t)(i % 8) } };
        assert_int_equal(pw_store_claim(f->store, ann->session, fixture_cell(place), 1, place.entry, &object, NULL), PW_OK);
        pw_store_decide(f->store, object, &decision, 0);
        assert_int_equal(fixture_state(place), PW_ENTRY_READY);
        return (const void *)(f->futures.base + place.entry->room_offset);
}

/* Each shard is on its device; some are lost, one by one. */
static void test_lost_of_many(void **state)
{
        static const uint32_t gone[] = { 0, 63, 64, 2047, SHARDS_MAX - 1 };
        const struct pw_shard_list *list;
        struct fixture f;
        struct client *ann;
        struct place place;

        (void)state;
        fixture_open(&f, 64 * PW_MIB);
        ann = fixture_client(&f, "ann");
        place = fixture_future(&f, fixture_grant_futures(&f, ann, 1).first_slot);
        list = decide(&f, ann, place);
        for (uint32_t i = 0; i < sizeof gone / sizeof *gone; i++) {
                _Atomic uint64_t lost[PW_BITS_WORDS(SHARDS_MAX)] = { 0 };
                pw_bits_add(lost, gone[i]);
                assert_false(pw_bits_has(pw_shard_list_lost(list), gone[i]));
                pw_store_lose_shards(f.store, fixture_known(&f, place), lost);
                assert_int_equal(list->losses, i + 1);
        }
        for (uint32_t i = 0, next = 0; i < SHARDS_MAX; i++) {
                bool is_gone = next < sizeof gone / sizeof *gone && gone[next] == i;
                assert_int_equal(pw_bits_has(pw_shard_list_lost(list), i), is_gone);
                assert_int_equal(list->shards[i].device.host, i / 8);
                assert_int_equal(list->shards[i].device.device, i % 8);
                next += is_gone;
        }
        fixture_close(&f);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_lost_of_many) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
