/* Proxies: their bytes come late or never, others may hold the object elsewhere, and their end is told once. */
#include "store/proxy.h"

#include "store/fixture_test.h"

#define BYTES 4096u
#define NUMBER 77u

/* `daemon` is a session of ann's that is no process, as a freezer is; it has the slots, and rooms for replicas. */
struct host {
        struct fixture f;
        struct client *daemon, *ann;
        struct pw_store_grant futures, rooms;
        struct pw_return_reader returns;
};

static const struct pw_id home = { UINT64_C(3) << 48 | 0x7000012, 0x3f2a, 9 };
static const struct pw_value_type type = { PW_F32, { 2, { 32, 32 } } };

static void open_host(struct host *h)
{
        fixture_open(&h->f, 64 * PW_MIB);
        h->daemon = fixture_client(&h->f, "ann");
        h->ann = fixture_client(&h->f, "ann");
        h->futures = fixture_grant_futures(&h->f, h->daemon, 8);
        h->rooms = fixture_grant(&h->f, h->daemon, BYTES, 4);
        h->returns = fixture_returns(h->daemon, &h->rooms);
}

/* PENDING, and held by ann alone. */
static struct place proxy(struct host *h, uint32_t i)
{
        struct place place = fixture_future(&h->f, h->futures.first_slot + i);
        struct pw_proxy_slot slot = { h->daemon->session, fixture_cell(place), home, NUMBER + i };
        struct pw_object *object;

        assert_int_equal(pw_store_proxy(h->f.store, &slot, &object, NULL), PW_OK);
        assert_ptr_equal(pw_store_proxy_find(h->f.store, slot.cell), object);
        fixture_ref(&h->f, h->ann, place);
        fixture_drop(&h->f, h->daemon, place);
        fixture_check(&h->f);
        return place;
}

static void decide_elsewhere(struct host *h, struct place place)
{
        struct pw_decision decision = { .status = PW_OK, .bytes = BYTES, .elsewhere = &type };

        pw_store_decide(h->f.store, fixture_known(&h->f, place), &decision, h->f.now_us);
        fixture_check(&h->f);
}

/* Of `bytes`, in room `i`. */
static struct place replica(struct host *h, uint32_t i, uint64_t bytes)
{
        struct place place = fixture_create(h->daemon, h->rooms.first_slot + i);

        place.entry->bytes = bytes;
        place.entry->room_segment = place.segment;
        place.entry->room_offset = h->rooms.room_offset + i * h->rooms.room_bytes;
        fixture_seal(place, PW_OK);
        return place;
}

/* The bytes are here, in room 0. */
static struct place back(struct host *h, struct place place)
{
        struct place whole = replica(h, 0, BYTES);

        struct pw_object *object = fixture_known(&h->f, place);

        assert_int_equal(pw_store_proxy_back(h->f.store, object, fixture_known(&h->f, whole), h->f.now_us, NULL), PW_OK);
        fixture_drop(&h->f, h->daemon, whole);
        fixture_check(&h->f);
        return whole;
}

static const struct pw_shard_list *list_of(struct host *h, struct place place)
{
        return (const struct pw_shard_list *)(h->f.futures.base + place.entry->room_offset);
}

static bool is_moving(struct place place) { return pw_word_flags(pw_entry_load(place.entry)) & PW_ENTRY_MOVING; }

static void test_bytes_come(void **state)
{
        struct host h;
        struct place place, whole;
        struct pw_object *object;
        struct pw_object_row row;

        (void)state;
        open_host(&h);
        place = proxy(&h, 0);
        object = fixture_known(&h.f, place);
        assert_true(pw_id_equal(pw_object_id(h.f.store, object), home));
        pw_object_row(h.f.store, object, &row);
        assert_true(pw_id_equal(row.id, home));
        assert_false(pw_store_proxy_elsewhere(h.f.store, object));

        decide_elsewhere(&h, place);
        assert_int_equal(fixture_state(place), PW_ENTRY_READY);
        assert_true(pw_store_proxy_elsewhere(h.f.store, object) && is_moving(place));
        assert_true(place.entry->away == PW_ENTRY_PROXY && pw_id_equal(pw_entry_home(place.entry), home));
        assert_int_equal(place.entry->bytes, BYTES);
        assert_true(pw_dims_equal(&list_of(&h, place)->dims, &type.dims) && list_of(&h, place)->dtype == PW_F32);
        assert_int_equal(list_of(&h, place)->shards[0].device.host, 3);

        whole = back(&h, place);
        assert_false(pw_store_proxy_elsewhere(h.f.store, object) || is_moving(place));
        assert_int_equal(list_of(&h, place)->shards[0].segment, whole.segment);
        assert_int_equal(list_of(&h, place)->shards[0].offset, h.rooms.room_offset);
        assert_int_equal(list_of(&h, place)->shards[0].bytes, BYTES);
        fixture_reclaim(&h.f);
        assert_int_equal(fixture_state(whole), PW_ENTRY_READY); /* the proxy holds it */

        fixture_drop(&h.f, h.ann, place);
        fixture_reclaim(&h.f);
        assert_int_equal(fixture_only(&h.f, PW_STORE_FREE_PROXY)->number, NUMBER);
        assert_null(pw_store_proxy_find(h.f.store, fixture_cell(place)));
        assert_false(place.entry->away || place.entry->label || place.entry->body.home.place);
        fixture_reclaim(&h.f);
        assert_int_equal(fixture_returned(&h.returns), whole.slot);
        fixture_close(&h.f);
}

/* While it is PENDING its last holder lets go: its end is told before it is free, and a late reference gets the error. */
static void test_nobody_waits(void **state)
{
        struct host h;
        struct place place;

        (void)state;
        for (uint32_t late = 0; late < 2; late++) {
                open_host(&h);
                place = proxy(&h, 0);
                fixture_drop(&h.f, h.ann, place);
                assert_non_null(pw_store_proxy_find(h.f.store, fixture_cell(place)));
                fixture_reclaim(&h.f);
                assert_int_equal(fixture_only(&h.f, PW_STORE_FREE_PROXY)->number, NUMBER);
                assert_null(pw_store_proxy_find(h.f.store, fixture_cell(place)));
                assert_int_equal(fixture_state(place), PW_ENTRY_ERROR);
                assert_int_equal(pw_word_error(pw_entry_load(place.entry)), PW_CANCELLED);
                if (late)
                        fixture_ref(&h.f, h.ann, place);
                fixture_reclaim(&h.f);
                assert_int_equal(fixture_state(place), late ? PW_ENTRY_ERROR : PW_ENTRY_FREE);
                if (late)
                        fixture_drop(&h.f, h.ann, place);
                fixture_reclaim(&h.f);
                assert_int_equal(fixture_state(place), PW_ENTRY_FREE);
                assert_int_equal(fixture_count(&h.f, PW_STORE_FREE_PROXY), 1);
                assert_int_equal(fixture_count(&h.f, PW_STORE_CANCEL_RUN), 0);
                fixture_close(&h.f);
        }
}

/* A reference that a ring had keeps it, as does what it is decided to be meanwhile, until that is dropped. */
static void test_reopened(void **state)
{
        struct host h;
        struct place place;
        struct pw_object *object;

        (void)state;
        open_host(&h);
        place = proxy(&h, 0);
        object = fixture_known(&h.f, place);
        fixture_drop(&h.f, h.ann, place);
        assert_true(pw_store_reclaim_begin(h.f.store));
        fixture_ref(&h.f, h.ann, place);
        pw_store_reclaim_finish(h.f.store, h.f.now_us);
        assert_int_equal(fixture_state(place), PW_ENTRY_PENDING);
        assert_int_equal(fixture_count(&h.f, PW_STORE_FREE_PROXY), 0);

        decide_elsewhere(&h, place);
        fixture_drop(&h.f, h.ann, place);
        assert_true(pw_store_reclaim_begin(h.f.store));
        assert_int_equal(fixture_state(place), PW_ENTRY_CLOSING);
        back(&h, place);
        fixture_ref(&h.f, h.ann, place);
        pw_store_reclaim_finish(h.f.store, h.f.now_us);
        assert_int_equal(fixture_state(place), PW_ENTRY_READY);
        assert_false(pw_store_proxy_elsewhere(h.f.store, object) || is_moving(place));
        fixture_check(&h.f);
        fixture_close(&h.f);
}

static void test_lost(void **state)
{
        struct host h;
        struct place place, whole;
        struct pw_object *object;

        (void)state;
        open_host(&h);
        for (uint32_t closing = 0; closing < 2; closing++) {
                place = proxy(&h, closing);
                object = fixture_known(&h.f, place);
                decide_elsewhere(&h, place);
                if (closing) {
                        fixture_drop(&h.f, h.ann, place);
                        assert_true(pw_store_reclaim_begin(h.f.store));
                }
                pw_store_lose(h.f.store, object, PW_HOST_LOST, "host h3 was lost", h.f.now_us);
                if (closing) {
                        fixture_ref(&h.f, h.ann, place);
                        pw_store_reclaim_finish(h.f.store, h.f.now_us);
                }
                assert_true(pw_entry_load(place.entry) ==
                            pw_word_make(PW_ENTRY_LOST, PW_ENTRY_SHARDED, place.generation, PW_HOST_LOST));
                assert_string_equal(h.f.futures.base + place.entry->body.loss.offset, "host h3 was lost");
                assert_true(pw_id_equal(pw_entry_home(place.entry), home));
                whole = replica(&h, closing, BYTES);
                assert_int_equal(pw_store_proxy_back(h.f.store, object, fixture_known(&h.f, whole), h.f.now_us, NULL), PW_GONE);
                fixture_check(&h.f);
        }
        fixture_close(&h.f);
}

/* An error has its text, and the id at home. */
static void test_failed(void **state)
{
        struct host h;
        struct place place;

        (void)state;
        open_host(&h);
        place = proxy(&h, 0);
        pw_store_decide(h.f.store, fixture_known(&h.f, place),
                        &(struct pw_decision){ .status = PW_FAILED, .text = "function a/b failed" }, h.f.now_us);
        assert_int_equal(pw_word_error(pw_entry_load(place.entry)), PW_FAILED);
        assert_string_equal(h.f.futures.base + place.entry->room_offset, "function a/b failed");
        assert_true(place.entry->away == PW_ENTRY_PROXY && pw_id_equal(pw_entry_home(place.entry), home));
        fixture_close(&h.f);
}

static void test_other_bytes(void **state)
{
        struct host h;
        struct place place, whole;

        (void)state;
        open_host(&h);
        place = proxy(&h, 0);
        whole = replica(&h, 0, BYTES);
        assert_int_equal(pw_store_proxy_back(h.f.store, fixture_known(&h.f, place), fixture_known(&h.f, whole), 0, NULL), PW_GONE);
        decide_elsewhere(&h, place);
        whole = replica(&h, 1, BYTES - 1);
        assert_int_equal(pw_store_proxy_back(h.f.store, fixture_known(&h.f, place), fixture_known(&h.f, whole), 0, NULL), PW_SHAPE);
        assert_true(is_moving(place));
        whole = replica(&h, 3, BYTES);
        assert_int_equal(pw_store_proxy_back(h.f.store, fixture_known(&h.f, place), fixture_known(&h.f, whole), 0, NULL), PW_OK);
        whole = replica(&h, 2, BYTES);
        assert_int_equal(pw_store_proxy_back(h.f.store, fixture_known(&h.f, place), fixture_known(&h.f, whole), 0, NULL), PW_GONE);
        fixture_close(&h.f);
}

/* Other hosts may hold it: it is not moved, nor is a run its only holder. */
static void test_stays(void **state)
{
        struct host h;
        struct place place;
        struct pw_object *object;
        struct pw_error err;

        (void)state;
        open_host(&h);
        place = proxy(&h, 0);
        object = fixture_known(&h.f, place);
        decide_elsewhere(&h, place);
        assert_int_equal(pw_store_move_begin(h.f.store, h.ann->session, object, NULL, &err), PW_BUSY);
        assert_non_null(strstr(err.text, "another host"));
        back(&h, place);
        assert_int_equal(pw_store_move_begin(h.f.store, h.ann->session, object, NULL, NULL), PW_BUSY);
        assert_int_equal(pw_store_donate(h.f.store, h.ann->session, object, 5, NULL), PW_OK);
        assert_false(pw_store_donated_alone(h.f.store, object));
        assert_false(pw_word_flags(pw_entry_load(place.entry)) & PW_ENTRY_DONATED);
        pw_store_release(h.f.store, object, (struct pw_owner){ PW_OWNER_RUN, 5 }, 0);
        fixture_reclaim(&h.f);
        fixture_close(&h.f);
}

/* Who watches it hears when its bytes are here, and somebody is asked for them, once. */
static void test_watched(void **state)
{
        struct host h;
        struct place place;
        struct pw_object *object;

        (void)state;
        open_host(&h);
        for (uint32_t late = 0; late < 2; late++) {
                place = proxy(&h, late);
                object = fixture_known(&h.f, place);
                fixture_clear(&h.f);
                if (!late)
                        assert_false(pw_store_watch(h.f.store, object));
                decide_elsewhere(&h, place);
                assert_false(pw_store_watch(h.f.store, object));
                assert_false(pw_store_watch(h.f.store, object));
                assert_int_equal(fixture_only(&h.f, PW_STORE_FETCH_PROXY)->number, NUMBER + late);
                assert_int_equal(fixture_count(&h.f, PW_STORE_READY), 0);
                if (late)
                        pw_store_lose(h.f.store, object, PW_HOST_LOST, "host h3 was lost", h.f.now_us);
                else
                        back(&h, place);
                assert_ptr_equal(fixture_only(&h.f, PW_STORE_READY)->object, object);
                assert_true(pw_store_watch(h.f.store, object));
        }
        place = proxy(&h, 2);
        decide_elsewhere(&h, place);
        fixture_clear(&h.f);
        for (uint32_t asked = 1; asked <= 2; asked++) {
                assert_false(pw_store_watch(h.f.store, fixture_known(&h.f, place)));
                assert_int_equal(fixture_count(&h.f, PW_STORE_FETCH_PROXY), asked);
                pw_store_proxy_unfetched(h.f.store, fixture_known(&h.f, place));
                assert_int_equal(fixture_count(&h.f, PW_STORE_READY), asked);
        }
        fixture_close(&h.f);
}

/* It outlives the session that its slot was granted to, and does without a number nothing. */
static void test_its_session_ends(void **state)
{
        struct host h;
        struct place place, other;
        struct pw_proxy_slot slot;
        struct pw_object *object;

        (void)state;
        open_host(&h);
        place = proxy(&h, 0);
        decide_elsewhere(&h, place);
        other = fixture_future(&h.f, h.futures.first_slot + 1);
        slot = (struct pw_proxy_slot){ h.daemon->session, fixture_cell(other), home, 0 };
        assert_int_equal(pw_store_proxy(h.f.store, &slot, &object, NULL), PW_INVALID);
        slot.number = 1;
        slot.session = h.ann->session;
        assert_int_equal(pw_store_proxy(h.f.store, &slot, &object, NULL), PW_PROTOCOL);
        slot = (struct pw_proxy_slot){ h.daemon->session, fixture_cell(place), home, 1 };
        assert_int_equal(pw_store_proxy(h.f.store, &slot, &object, NULL), PW_PROTOCOL);
        back(&h, place);
        pw_store_session_end(h.f.store, h.daemon->session, true, h.f.now_us);
        fixture_reclaim(&h.f);
        assert_int_equal(fixture_state(place), PW_ENTRY_READY);
        fixture_drop(&h.f, h.ann, place);
        for (uint32_t i = 0; i < 3; i++)
                fixture_reclaim(&h.f);
        assert_int_equal(fixture_count(&h.f, PW_STORE_FREE_PROXY), 1);
        assert_int_equal(fixture_count(&h.f, PW_STORE_SEGMENT_IDLE), 1);
        fixture_remove(&h.f, h.daemon->segment);
        fixture_close(&h.f);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_bytes_come), cmocka_unit_test(test_nobody_waits), cmocka_unit_test(test_reopened),
                cmocka_unit_test(test_lost),       cmocka_unit_test(test_failed),       cmocka_unit_test(test_other_bytes),
                cmocka_unit_test(test_stays),      cmocka_unit_test(test_watched),      cmocka_unit_test(test_its_session_ends),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
