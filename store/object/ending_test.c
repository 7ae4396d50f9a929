/* Ends in parts: what is done at once, what others see meanwhile, and that all is done at the end. */
#include "store/account/quota.h"
#include "store/fixture_test.h"
#include "store/parts.h"

#define MANY 4000u /* twice as many are more than a part */
#define PART 4096u

struct host {
        struct fixture f;
        struct client *ann, *ann2;
        struct place own[MANY], others[MANY]; /* ann's; ann2's, to which ann refers too */
};

static void open_host(struct host *h)
{
        struct pw_store_grant own, others;

        fixture_open(&h->f, 64 * PW_MIB);
        h->ann = fixture_client(&h->f, "ann");
        h->ann2 = fixture_client(&h->f, "ann");
        own = fixture_grant(&h->f, h->ann, 64, MANY);
        others = fixture_grant(&h->f, h->ann2, 64, MANY);
        for (uint32_t i = 0; i < MANY; i++) {
                h->own[i] = fixture_put(h->ann, own.first_slot + i);
                h->others[i] = fixture_put(h->ann2, others.first_slot + i);
                fixture_ref(&h->f, h->ann, h->others[i]);
        }
}

static uint32_t count_refs(struct host *h, uint32_t refs)
{
        uint32_t count = 0;

        for (uint32_t i = 0; i < MANY; i++)
                count += fixture_known(&h->f, h->others[i])->refs == refs;
        return count;
}

static uint32_t count_state(const struct place *places, enum pw_entry_state state)
{
        uint32_t count = 0;

        for (uint32_t i = 0; i < MANY; i++)
                count += fixture_state(places[i]) == state;
        return count;
}

/* No part does more than it may, and between two of them everything adds up. */
static uint32_t all_parts(struct host *h)
{
        uint32_t parts = 0;
        bool more = true;

        for (; more; parts++) {
                if (!pw_store_reclaim_begin(h->f.store))
                        break;
                assert_true(count_state(h->own, PW_ENTRY_CLOSING) + count_state(h->others, PW_ENTRY_CLOSING) <= PART);
                fixture_check(&h->f);
                more = pw_store_reclaim_finish(h->f.store, h->f.now_us);
                fixture_check(&h->f);
                fixture_terms(&h->f);
        }
        return parts;
}

static void test_session(void **state)
{
        static struct host h;

        (void)state;
        for (int dead = 0; dead < 2; dead++) {
                open_host(&h);
                pw_store_session_end(h.f.store, h.ann->session, dead, h.f.now_us);
                assert_true(count_refs(&h, 2) > MANY / 2); /* its claims are still there, for the most part */
                fixture_check(&h.f);
                for (uint32_t i = 0; i < MANY; i++)
                        fixture_drop(&h.f, h.ann2, h.others[i]);
                assert_int_equal(fixture_count(&h.f, PW_STORE_SEGMENT_IDLE), 0);
                assert_true(all_parts(&h) > 1);
                assert_int_equal(fixture_terms(&h.f).used, 0);
                if (!dead)
                        pw_store_session_dead(h.f.store, h.ann->session, h.f.now_us);
                assert_int_equal(fixture_only(&h.f, PW_STORE_SEGMENT_IDLE)->segment, h.ann->segment);
                fixture_close(&h.f);
        }
}

/* The process is known to be dead while the end is under way: the segment goes only after it. */
static void test_dead_meanwhile(void **state)
{
        static struct host h;

        (void)state;
        open_host(&h);
        pw_store_session_end(h.f.store, h.ann->session, false, h.f.now_us);
        pw_store_session_dead(h.f.store, h.ann->session, h.f.now_us);
        assert_int_equal(fixture_count(&h.f, PW_STORE_SEGMENT_IDLE), 0);
        assert_true(all_parts(&h) > 0);
        assert_int_equal(count_refs(&h, 1), MANY);
        assert_int_equal(fixture_only(&h.f, PW_STORE_SEGMENT_IDLE)->segment, h.ann->segment);
        fixture_remove(&h.f, h.ann->segment);
        fixture_close(&h.f);
}

/* A segment that is taken away meanwhile: what is left of the end is done first. */
static void test_segment_removed(void **state)
{
        static struct host h;

        (void)state;
        open_host(&h);
        pw_store_session_end(h.f.store, h.ann->session, true, h.f.now_us);
        fixture_remove(&h.f, h.ann->segment);
        assert_int_equal(count_refs(&h, 1), MANY);
        fixture_close(&h.f);
}

/* Who may not wait gets what was let go before it asked, though its turn has not come yet. */
static void test_let_go_before(void **state)
{
        const struct pw_quota quota = { PW_QUOTA_NONE, PW_QUOTA_NONE, 2 * MANY, PW_QUOTA_NONE };
        static struct host h;
        struct pw_room_request ask;

        (void)state;
        open_host(&h);
        assert_int_equal(pw_store_quota(h.f.store, "ann", &quota, h.f.now_us, NULL), PW_OK);
        for (uint32_t i = 0; i < MANY; i++) {
                fixture_drop(&h.f, h.ann2, h.others[i]);
                h.others[i].segment = 0;
        }
        pw_store_session_end(h.f.store, h.ann->session, true, h.f.now_us);
        ask = fixture_ask(&h.f, h.ann2, 0, 1);
        ask.deadline_us = h.f.now_us;
        pw_store_room_request(h.f.store, &ask);
        pw_store_tick(h.f.store, h.f.now_us);
        assert_int_equal(fixture_count(&h.f, PW_STORE_REFUSE), 0);
        fixture_reclaim(&h.f);
        fixture_reclaim(&h.f);
        assert_int_equal(fixture_count(&h.f, PW_STORE_GRANT), 1);
        fixture_close(&h.f);
}

/* An extent that ends alone: the others of its lane stay. */
static void test_extent(void **state)
{
        struct fixture f;
        struct client *ann;
        struct pw_store_grant one, two;

        (void)state;
        fixture_open(&f, 64 * PW_MIB);
        ann = fixture_client(&f, "ann");
        one = fixture_grant(&f, ann, 4096, 4);
        two = fixture_grant(&f, ann, 4096, 4);
        fixture_put(ann, one.first_slot);
        pw_store_extent_end(f.store, &one, f.now_us);
        pw_store_extent_end(f.store, &one, f.now_us); /* again */
        pw_store_extent_end(f.store, &(struct pw_store_grant){ .extent = two.extent, .serial = one.serial },
                            f.now_us); /* of an earlier one */
        assert_int_equal(pw_store_use(f.store, "ann").objects, 1 + 4);
        assert_int_equal(pw_word_state(pw_entry_load(pw_map_entry(&ann->map, one.first_slot + 1))), PW_ENTRY_TAKEN);
        assert_int_equal(pw_word_state(pw_entry_load(pw_map_entry(&ann->map, two.first_slot))), PW_ENTRY_FREE);
        fixture_check(&f);
        fixture_close(&f);
}

struct holes { uint64_t offsets[8], bytes[8]; uint32_t count; };

static void note_hole(void *context, uint64_t offset, uint64_t bytes)
{
        struct holes *holes = context;

        assert_true(holes->count < 8);
        holes->offsets[holes->count] = offset;
        holes->bytes[holes->count++] = bytes;
}

/* Behind what was granted nothing is, of entries and of rooms; as long as the session lives nobody asks. */
static void test_holes(void **state)
{
        struct fixture f;
        struct client *ann, *other;
        struct holes holes = { .count = 0 };
        struct place places[3];
        uint64_t base;

        (void)state;
        fixture_open(&f, 64 * PW_MIB);
        ann = fixture_client(&f, "ann");
        other = fixture_client(&f, "ann");
        base = ann->layout.room_offset;
        for (uint32_t i = 0; i < 3; i++)
                places[i] = fixture_put(ann, fixture_grant(&f, ann, PW_MIB << i, 1).first_slot);
        pw_store_each_hole(f.store, ann->segment, note_hole, &holes);
        assert_int_equal(holes.count, 0);
        fixture_ref(&f, other, places[0]);
        fixture_ref(&f, other, places[2]);
        pw_store_session_end(f.store, ann->session, true, f.now_us);
        for (int i = 0; i < 4; i++)
                fixture_reclaim(&f);
        pw_store_each_hole(f.store, ann->segment, note_hole, &holes);
        assert_int_equal(holes.count, 2); /* what is idle between them is not one */
        assert_int_equal(holes.offsets[0], 4096); /* of the entries one page is in use */
        assert_int_equal(holes.bytes[0], base - 4096);
        assert_int_equal(holes.offsets[1], base + 7 * PW_MIB);
        assert_int_equal(holes.offsets[1] + holes.bytes[1], ann->layout.bytes);
        fixture_close(&f);
}

/* Where frozen values come: while the daemon puts them there too, but for the entries of those that are about to come. */
static void test_holes_frozen(void **state)
{
        struct fixture f;
        struct client *ann;
        struct holes holes = { .count = 0 };
        uint64_t base;

        (void)state;
        fixture_open(&f, 64 * PW_MIB);
        ann = fixture_client(&f, "ann");
        base = ann->layout.room_offset;
        pw_segment_of(f.store, ann->segment)->frozen = true;
        (void)fixture_put(ann, fixture_grant(&f, ann, PW_MIB, 1).first_slot);
        pw_store_each_hole(f.store, ann->segment, note_hole, &holes);
        assert_int_equal(holes.count, 2);
        assert_int_equal(holes.offsets[0], 4096 + PW_LANES_MAX * sizeof(struct pw_entry));
        assert_int_equal(holes.offsets[0] + holes.bytes[0], base);
        assert_int_equal(holes.offsets[1], base + PW_MIB);
        fixture_close(&f);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_session), cmocka_unit_test(test_dead_meanwhile), cmocka_unit_test(test_segment_removed),
                cmocka_unit_test(test_let_go_before), cmocka_unit_test(test_extent), cmocka_unit_test(test_holes),
                cmocka_unit_test(test_holes_frozen),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
