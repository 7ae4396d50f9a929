/* Results in memory that the processor does not read: what nobody can read is marked so, and a copy goes with its value. */
#include "store/fetched.h"

#include "store/fixture_test.h"

#define BYTES 4096u
#define APART FIXTURE_APART /* a device of that kind; the next one, too */
#define NEAR 3u             /* one that is not */

/* `daemon` is a session of ann's that is no process, as a freezer is; it has rooms for copies. */
struct host { struct fixture f; struct client *daemon, *ann; struct pw_store_grant futures,
              rooms; struct pw_return_reader returns; };

static void open_host(struct host *h)
{
        fixture_open(&h->f, 64 * PW_MIB);
        h->daemon = fixture_client(&h->f, "ann");
        h->ann = fixture_client(&h->f, "ann");
        h->futures = fixture_grant_futures(&h->f, h->ann, 8);
        h->rooms = fixture_grant(&h->f, h->daemon, BYTES, 4);
        h->returns = fixture_returns(h->daemon, &h->rooms);
}

/* A ready result of ann's, half of it on `device`, half on the next. */
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
        fixture_check(&h->f);
        fixture_clear(&h->f);
        return place;
}

/* What the daemon had copied into room `i`. */
static struct place copy(struct host *h, uint32_t i, uint64_t bytes)
{
        struct place place = fixture_create(h->daemon, h->rooms.first_slot + i);

        place.entry->bytes = bytes;
        place.entry->room_segment = place.segment;
        place.entry->room_offset = h->rooms.room_offset + i * h->rooms.room_bytes;
        fixture_seal(place, PW_OK);
        return place;
}

/* The second shard lies first. */
static const uint64_t offsets[] = { BYTES / 2, 0 };

static enum pw_status fetch(struct host *h, struct place value, struct place with)
{
        enum pw_status status = pw_store_fetched(h->f.store, fixture_known(&h->f, value), fixture_known(&h->f, with), offsets,
                                                 h->f.now_us, NULL);

        fixture_check(&h->f);
        return status;
}

/* With the copy in room `i`, which nobody else holds. */
static struct place fetched(struct host *h, struct place value, uint32_t i)
{
        struct place with = copy(h, i, BYTES);

        assert_int_equal(fetch(h, value, with), PW_OK);
        fixture_drop(&h->f, h->daemon, with);
        fixture_reclaim(&h->f);
        assert_int_equal(fixture_state(with), PW_ENTRY_READY);
        return with;
}

static const struct pw_shard_place *shard_of(struct host *h, struct place place)
{
        return ((const struct pw_shard_list *)(h->f.futures.base + place.entry->room_offset))->shards;
}

static bool is_moving(struct place place) { return pw_word_flags(pw_entry_load(place.entry)) & PW_ENTRY_MOVING; }

static bool is_apart(struct host *h, struct place place) { return pw_store_is_apart(h->f.store, fixture_known(&h->f, place)); }

/* The value, held by ann, goes; its copy with it. */
static void expect_end(struct host *h, struct place value, struct place with)
{
        fixture_drop(&h->f, h->ann, value);
        fixture_reclaim(&h->f);
        assert_int_equal(fixture_only(&h->f, PW_STORE_FREE_RESULT)->payload == value.entry, 1);
        assert_int_equal(value.entry->away, PW_ENTRY_HERE);
        fixture_reclaim(&h->f);
        assert_int_equal(fixture_state(with), PW_ENTRY_FREE);
        assert_int_equal(fixture_returned(&h->returns), with.slot);
}

static void test_fetched(void **state)
{
        struct host h;
        struct place value, near, with;

        (void)state;
        open_host(&h);
        near = result(&h, 1, NEAR);
        assert_false(is_apart(&h, near) || is_moving(near) || near.entry->away);
        value = result(&h, 0, APART);
        assert_true(is_apart(&h, value) && is_moving(value) && value.entry->away == PW_ENTRY_APART);
        assert_int_equal(shard_of(&h, value)[1].segment, 9);

        with = fetched(&h, value, 0);
        assert_false(is_apart(&h, value) || is_moving(value));
        for (uint32_t i = 0; i < 2; i++) {
                assert_int_equal(shard_of(&h, value)[i].segment, with.segment);
                assert_int_equal(shard_of(&h, value)[i].offset, h.rooms.room_offset + offsets[i]);
                assert_int_equal(shard_of(&h, value)[i].device.device, APART + i);
        }
        assert_ptr_equal(pw_object_result(fixture_known(&h.f, value)), value.entry); /* runs read its rooms */
        expect_end(&h, value, with);
        fixture_close(&h.f);
}

/* One device of several is enough. */
static void test_partly_apart(void **state)
{
        struct host h;
        struct place value;

        (void)state;
        open_host(&h);
        value = result(&h, 0, APART - 1);
        assert_true(is_apart(&h, value) && is_moving(value));
        fixture_close(&h.f);
}

static void test_what_cannot_be(void **state)
{
        struct host h;
        struct client *bo;
        struct pw_store_grant rooms;
        struct place value, near, small, other;

        (void)state;
        open_host(&h);
        value = result(&h, 0, APART);
        near = result(&h, 1, NEAR);
        small = copy(&h, 0, BYTES - 1);
        bo = fixture_client(&h.f, "bo");
        rooms = fixture_grant(&h.f, bo, BYTES, 1);
        other = fixture_create(bo, rooms.first_slot);
        other.entry->bytes = BYTES;
        other.entry->room_segment = other.segment;
        other.entry->room_offset = rooms.room_offset;
        fixture_seal(other, PW_OK);
        assert_int_equal(fetch(&h, near, copy(&h, 1, BYTES)), PW_GONE);
        assert_int_equal(fetch(&h, value, small), PW_SHAPE);
        assert_int_equal(fetch(&h, value, other), PW_SHAPE);
        assert_true(is_apart(&h, value) && is_moving(value));
        assert_int_equal(shard_of(&h, value)[0].segment, 9);
        fetched(&h, value, 2);
        assert_int_equal(fetch(&h, value, copy(&h, 3, BYTES)), PW_GONE); /* it has one */
        fixture_close(&h.f);
}

/* The device goes: before, and when there is a copy, which goes with the value. */
static void test_loss(void **state)
{
        struct host h;
        struct place value, with;

        (void)state;
        for (uint32_t late = 0; late < 2; late++) {
                open_host(&h);
                value = result(&h, 0, APART);
                if (late)
                        with = fetched(&h, value, 0);
                pw_store_lose(h.f.store, fixture_known(&h.f, value), PW_DEVICE_LOST, "device h0:40 is lost", h.f.now_us);
                assert_int_equal(fixture_state(value), PW_ENTRY_LOST);
                assert_false(is_apart(&h, value) || is_moving(value));
                fixture_check(&h.f);
                if (late)
                        expect_end(&h, value, with);
                else
                        assert_int_equal(fetch(&h, value, copy(&h, 0, BYTES)), PW_GONE);
                fixture_close(&h.f);
        }
}

static enum pw_status move(struct host *h, struct place place, struct place with)
{
        struct pw_object *object = fixture_known(&h->f, place), *other = fixture_known(&h->f, with);
        enum pw_status status = pw_store_move_begin(h->f.store, h->ann->session, object, other, NULL);
        uint32_t count;

        assert_int_equal(status, PW_OK);
        pw_store_scan(h->f.store, &count);
        status = pw_store_move_finish(h->f.store, h->ann->session, object, other, h->f.now_us, NULL);
        fixture_check(&h->f);
        return status;
}

/* Each copy goes with the place that it is of, whichever of the two values has one. */
static void test_exchange(void **state)
{
        struct host h;
        struct place left, right, copies[2];

        (void)state;
        for (uint32_t which = 0; which < 4; which++) {
                open_host(&h);
                left = result(&h, 0, APART);
                right = result(&h, 1, APART + 2);
                if (which & 1)
                        copies[0] = fetched(&h, left, 0);
                if (which & 2)
                        copies[1] = fetched(&h, right, 1);
                assert_int_equal(move(&h, left, right), PW_OK);
                assert_int_equal(shard_of(&h, left)[0].device.device, APART + 2);
                assert_int_equal(is_moving(left), !(which & 2));
                assert_int_equal(is_moving(right), !(which & 1));
                fixture_drop(&h.f, h.ann, right);
                fixture_reclaim(&h.f);
                fixture_reclaim(&h.f);
                if (which & 1)
                        assert_int_equal(fixture_state(copies[0]), PW_ENTRY_FREE);
                if (which & 2)
                        assert_int_equal(fixture_state(copies[1]), PW_ENTRY_READY);
                fixture_check(&h.f);
                fixture_close(&h.f);
        }
}

/* With one that the processor reads: both ways. */
static void test_exchange_of_kinds(void **state)
{
        struct host h;
        struct place value, near, with;

        (void)state;
        open_host(&h);
        value = result(&h, 0, APART);
        near = result(&h, 1, NEAR);
        with = fetched(&h, value, 0);
        assert_int_equal(move(&h, value, near), PW_OK);
        assert_false(is_apart(&h, value) || is_moving(value) || is_moving(near));
        assert_true(value.entry->away == PW_ENTRY_HERE && near.entry->away == PW_ENTRY_APART);
        assert_int_equal(move(&h, value, near), PW_OK);
        assert_true(value.entry->away == PW_ENTRY_APART && near.entry->away == PW_ENTRY_HERE);
        expect_end(&h, value, with);
        fixture_close(&h.f);
}

/* Into the room of what a client put: it is as any value then, and its copy goes. */
static void test_to_host_memory(void **state)
{
        struct host h;
        struct pw_store_grant rooms;
        struct place value, with, room;

        (void)state;
        open_host(&h);
        value = result(&h, 0, APART);
        with = fetched(&h, value, 0);
        rooms = fixture_grant(&h.f, h.ann, BYTES, 1);
        room = fixture_create(h.ann, rooms.first_slot);
        room.entry->bytes = BYTES;
        room.entry->room_segment = room.segment;
        room.entry->room_offset = rooms.room_offset;
        fixture_seal(room, PW_OK);
        assert_int_equal(move(&h, value, room), PW_OK);
        assert_false(is_apart(&h, value) || is_moving(value) || value.entry->away);
        assert_int_equal(shard_of(&h, value)[0].device.device, PW_SHARD_IN_HOST);
        fixture_reclaim(&h.f);
        assert_int_equal(fixture_state(with), PW_ENTRY_FREE);
        fixture_close(&h.f);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_fetched), cmocka_unit_test(test_partly_apart), cmocka_unit_test(test_what_cannot_be),
                cmocka_unit_test(test_loss), cmocka_unit_test(test_exchange), cmocka_unit_test(test_exchange_of_kinds),
                cmocka_unit_test(test_to_host_memory),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
