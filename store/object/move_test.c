/* Moving values: results change places, or go into the room of what a client put; who holds them hinders it. */
#include "store/fixture_test.h"

#define BYTES 4096u

struct host { struct fixture f; struct client *ann, *other, *bo; struct pw_store_grant futures,
              rooms; struct pw_return_reader returns; };

static void open_host(struct host *h)
{
        fixture_open(&h->f, 64 * PW_MIB);
        h->ann = fixture_client(&h->f, "ann");
        h->other = fixture_client(&h->f, "ann");
        h->bo = fixture_client(&h->f, "bo");
        h->futures = fixture_grant_futures(&h->f, h->ann, 8);
        h->rooms = fixture_grant(&h->f, h->ann, BYTES, 4);
        h->returns = fixture_returns(h->ann, &h->rooms);
}

/* A ready result of ann's on `device` and the next; its payload is the entry. */
static struct place result(struct host *h, uint32_t i, uint32_t device)
{
        union { struct pw_shard_list list; char space[PW_SHARD_LIST_BYTES(2)]; } two;
        struct place place = fixture_future(&h->f, h->futures.first_slot + i);
        struct pw_object *object;

        assert_int_equal(pw_store_claim(h->f.store, h->ann->session, fixture_cell(place), 1 + i, place.entry, &object, NULL),
                         PW_OK);
        memset(&two, 0, sizeof two);
        two.list = (struct pw_shard_list){ .shard_count = 2, .dtype = PW_U8, .mesh = { 2, 1 }, .dims = { 1, { BYTES } } };
        for (uint32_t j = 0; j < 2; j++)
                two.list.shards[j] = (struct pw_shard_place){ 64, BYTES / 2, 9, { 0, (uint16_t)(device + j) } };
        pw_store_decide(h->f.store, object, &(struct pw_decision){ .status = PW_OK, .list = &two.list, .bytes = BYTES }, 1);
        fixture_clear(&h->f);
        return place;
}

/* What ann put into room `i`. */
static struct place put(struct host *h, uint32_t i, uint64_t bytes)
{
        struct place place = fixture_create(h->ann, h->rooms.first_slot + i);

        place.entry->bytes = bytes;
        place.entry->room_segment = place.segment;
        place.entry->room_offset = h->rooms.room_offset + i * h->rooms.room_bytes;
        fixture_seal(place, PW_OK);
        return place;
}

static const struct pw_shard_place *shard_of(struct host *h, struct place place)
{
        return ((const struct pw_shard_list *)(h->f.futures.base + place.entry->room_offset))->shards;
}

static enum pw_status move(struct host *h, const struct client *who, struct place place, struct place with)
{
        struct pw_object *object = fixture_known(&h->f, place), *other = with.entry ? fixture_known(&h->f, with) : NULL;
        enum pw_status status = pw_store_move_begin(h->f.store, who->session, object, other, NULL);
        uint32_t count;

        if (status == PW_OK) {
                pw_store_scan(h->f.store, &count);
                assert_true(count >= 1);
                assert_true(pw_word_flags(pw_entry_load(place.entry)) & PW_ENTRY_MOVING);
                status = pw_store_move_finish(h->f.store, who->session, object, other, h->f.now_us, NULL);
        }
        assert_false(pw_word_flags(pw_entry_load(place.entry)) & PW_ENTRY_MOVING);
        fixture_check(&h->f);
        return status;
}

static const struct place nowhere = { .entry = NULL };

static void test_into_a_room_and_out(void **state)
{
        struct host h;
        struct place value, room, copy;

        (void)state;
        open_host(&h);
        value = result(&h, 0, 3);
        room = put(&h, 0, BYTES);
        assert_int_equal(move(&h, h.ann, value, nowhere), PW_OK);
        assert_int_equal(shard_of(&h, value)->device.device, 3);
        assert_int_equal(move(&h, h.ann, value, room), PW_OK);
        assert_int_equal(shard_of(&h, value)->device.device, PW_SHARD_IN_HOST);
        assert_int_equal(shard_of(&h, value)->segment, room.segment);
        assert_int_equal(shard_of(&h, value)->offset, h.rooms.room_offset);
        assert_ptr_equal(fixture_only(&h.f, PW_STORE_FREE_RESULT)->payload, value.entry);
        assert_null(pw_object_result(fixture_known(&h.f, value)));
        fixture_clear(&h.f);
        fixture_drop(&h.f, h.ann, room);
        fixture_reclaim(&h.f);
        assert_int_equal(fixture_state(room), PW_ENTRY_READY); /* the value lies there */
        copy = result(&h, 1, 5);
        assert_int_equal(move(&h, h.ann, value, copy), PW_OK);
        assert_int_equal(shard_of(&h, value)->device.device, 5);
        assert_ptr_equal(pw_object_result(fixture_known(&h.f, value)), copy.entry);
        fixture_drop(&h.f, h.ann, copy);
        fixture_reclaim(&h.f); /* the copy, which has the room now */
        assert_int_equal(fixture_count(&h.f, PW_STORE_FREE_RESULT), 0);
        fixture_reclaim(&h.f); /* and what was put there */
        assert_int_equal(fixture_state(room), PW_ENTRY_FREE);
        assert_int_equal(fixture_returned(&h.returns), room.slot);
        fixture_drop(&h.f, h.ann, value);
        fixture_reclaim(&h.f);
        assert_ptr_equal(fixture_only(&h.f, PW_STORE_FREE_RESULT)->payload, copy.entry);
        fixture_close(&h.f);
}

/* It outlives the session whose room it lies in, and ends with its last holder. */
static void test_outlives_its_mover(void **state)
{
        struct host h;
        struct place value, room;
        struct pw_object_row row;
        char who[80];

        (void)state;
        open_host(&h);
        value = result(&h, 0, 3);
        room = put(&h, 0, BYTES);
        assert_int_equal(fixture_name(&h.f, "ann", "weights", fixture_known(&h.f, value), NULL), PW_OK);
        assert_int_equal(move(&h, h.ann, value, room), PW_OK);
        pw_store_session_end(h.f.store, h.ann->session, true, h.f.now_us);
        fixture_reclaim(&h.f);
        assert_int_equal(fixture_state(value), PW_ENTRY_READY);
        assert_int_equal(fixture_state(room), PW_ENTRY_READY);
        pw_object_row(h.f.store, fixture_known(&h.f, room), &row);
        assert_string_equal(pw_store_charge_text(h.f.store, &row.charge, who, sizeof who), "name weights");
        assert_int_equal(pw_store_free_object(h.f.store, fixture_known(&h.f, room), true, h.f.now_us, NULL),
                         PW_OK); /* not by hand */
        fixture_reclaim(&h.f);
        assert_int_equal(fixture_state(room), PW_ENTRY_READY);
        fixture_check(&h.f);
        fixture_clear(&h.f);
        assert_int_equal(fixture_unname(&h.f, "ann", "weights", NULL), PW_OK);
        assert_true(pw_store_reclaim_begin(h.f.store));
        assert_true(pw_store_reclaim_finish(h.f.store, h.f.now_us)); /* there is more */
        fixture_reclaim(&h.f);
        assert_int_equal(fixture_only(&h.f, PW_STORE_SEGMENT_IDLE)->segment, room.segment);
        fixture_close(&h.f);
}

/* A result, and the room that it may move into. */
static struct pw_object *open_move(struct host *h, struct place *ret_value, struct place *ret_room)
{
        open_host(h);
        *ret_value = result(h, 0, 3);
        *ret_room = put(h, 0, BYTES);
        return fixture_known(&h->f, *ret_value);
}

static void test_who_holds_it(void **state)
{
        struct host h;
        struct place value, room;
        struct pw_object *object;

        (void)state;
        object = open_move(&h, &value, &room);
        fixture_ref(&h.f, h.other, value);
        assert_int_equal(move(&h, h.ann, value, room), PW_BUSY);
        assert_int_equal(move(&h, h.other, value, room), PW_BUSY);
        fixture_drop(&h.f, h.other, value);
        assert_int_equal(move(&h, h.other, value, room), PW_BUSY); /* ann has it */
        fixture_ref(&h.f, h.ann, value);
        assert_int_equal(move(&h, h.ann, value, room), PW_BUSY); /* twice */
        fixture_drop(&h.f, h.ann, value);
        assert_int_equal(pw_store_hold(h.f.store, object, (struct pw_owner){ PW_OWNER_RUN, 7 }, NULL), PW_OK);
        assert_int_equal(move(&h, h.ann, value, room), PW_BUSY);
        pw_store_release(h.f.store, object, (struct pw_owner){ PW_OWNER_RUN, 7 }, h.f.now_us);
        assert_int_equal(move(&h, h.bo, value, room), PW_DENIED);
        assert_int_equal(pw_store_lease(h.f.store, object, UINT64_MAX, NULL), PW_OK);
        assert_int_equal(move(&h, h.ann, value, room), PW_OK);
        fixture_close(&h.f);
}

/* Who takes a reference between begin and finish has it, and the value stays. */
static void test_a_reference_meanwhile(void **state)
{
        struct host h;
        struct place value, room;
        struct pw_object *object;

        (void)state;
        object = open_move(&h, &value, &room);
        assert_int_equal(pw_store_move_begin(h.f.store, h.ann->session, object, fixture_known(&h.f, room), NULL), PW_OK);
        fixture_ref(&h.f, h.other, value);
        assert_int_equal(pw_store_move_finish(h.f.store, h.ann->session, object, fixture_known(&h.f, room), 2, NULL), PW_BUSY);
        assert_int_equal(shard_of(&h, value)->device.device, 3);
        assert_int_equal(fixture_count(&h.f, PW_STORE_FREE_RESULT), 0);
        assert_true(pw_entry_load(value.entry) == pw_word_make(PW_ENTRY_READY, PW_ENTRY_SHARDED, value.generation, PW_OK));
        fixture_close(&h.f);
}

/* The copy goes while others are looked at. Its owner writes what it likes into its own entry, and that changes nothing. */
static void test_a_copy_that_goes_meanwhile(void **state)
{
        struct host h;
        struct place value, room;
        struct pw_object *object, *with;

        (void)state;
        object = open_move(&h, &value, &room);
        with = fixture_known(&h.f, room);
        assert_int_equal(pw_store_move_begin(h.f.store, h.ann->session, object, with, NULL), PW_OK);
        fixture_drop(&h.f, h.ann, room);
        fixture_reclaim(&h.f);
        uint64_t freed = pw_entry_load(room.entry);
        atomic_store(&room.entry->word, pw_word_make(PW_ENTRY_READY, 0, room.generation, PW_OK));
        assert_int_equal(pw_store_move_finish(h.f.store, h.ann->session, object, with, 2, NULL), PW_GONE);
        atomic_store(&room.entry->word, freed);
        assert_int_equal(shard_of(&h, value)->device.device, 3);
        assert_false(pw_word_flags(pw_entry_load(value.entry)) & PW_ENTRY_MOVING);
        fixture_check(&h.f);
        fixture_close(&h.f);
}

static void test_what_cannot_be(void **state)
{
        struct host h;
        struct place value, room, small, far, open;

        (void)state;
        open_host(&h);
        value = result(&h, 0, 3);
        room = put(&h, 0, BYTES);
        small = put(&h, 1, BYTES - 1);
        far = put(&h, 2, BYTES);
        far.entry->room_offset += 4096;
        open = fixture_create(h.ann, h.rooms.first_slot + 3);
        assert_int_equal(move(&h, h.ann, room, value), PW_UNSUPPORTED);
        assert_int_equal(move(&h, h.ann, value, small), PW_SHAPE);
        assert_int_equal(move(&h, h.ann, value, far), PW_SHAPE);
        assert_int_equal(move(&h, h.ann, value, open), PW_NOT_READY);
        assert_int_equal(move(&h, h.ann, value, value), PW_INVALID);
        pw_store_lose(h.f.store, fixture_known(&h.f, value), PW_DEVICE_LOST, "gone", 2);
        assert_int_equal(move(&h, h.ann, value, room), PW_DEVICE_LOST);
        fixture_close(&h.f);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_into_a_room_and_out), cmocka_unit_test(test_outlives_its_mover),
                cmocka_unit_test(test_who_holds_it),        cmocka_unit_test(test_a_reference_meanwhile),
                cmocka_unit_test(test_what_cannot_be),      cmocka_unit_test(test_a_copy_that_goes_meanwhile),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
