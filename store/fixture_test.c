/* Clients and their memory for tests of the store. */
#include "store/fixture_test.h"

#include <sys/mman.h>

#define CONTROL_BYTES (PW_CONTROL_RINGS_OFFSET + 4 * PW_MIB)
#define ROOM_BYTES (64 * PW_MIB)

/* Zeros that cost nothing until they are touched. */
static uint8_t *zeroed(uint64_t bytes)
{
        void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        assert_true(memory != MAP_FAILED);
        return memory;
}

void fixture_open(struct fixture *fixture, uint64_t capacity_bytes)
{
        struct pw_segment_layout layout = pw_segment_layout(PW_SEGMENT_FUTURES, FIXTURE_SLOTS, FIXTURE_LISTS_BYTES);

        *fixture = (struct fixture){ .now_us = 1000000 };
        fixture->store = pw_store_new(&(struct pw_store_params){ .host = 0, .epoch = 7, .capacity_bytes = capacity_bytes,
                                                                  .apart = UINT64_MAX << FIXTURE_APART });
        fixture->hints = calloc(1, sizeof *fixture->hints);
        fixture->futures_layout = layout;
        fixture->futures = (struct pw_map){ zeroed(layout.bytes), layout.bytes, true };
        assert_non_null(fixture->store);
        assert_non_null(fixture->hints);
        assert_int_equal(pw_store_segment_add(fixture->store,
                                              &(struct pw_store_segment_params){ .segment = FIXTURE_FUTURES, .layout = layout,
                         .tenant = "ann", .map = fixture->futures, .hints = fixture->hints }, NULL), PW_OK);
}

void fixture_close(struct fixture *fixture)
{
        fixture_check(fixture);
        pw_store_free(fixture->store);
        for (uint32_t i = 0; i < fixture->client_count; i++) {
                munmap(fixture->clients[i].control, CONTROL_BYTES);
                munmap(fixture->clients[i].map.base, fixture->clients[i].map.bytes);
        }
        munmap(fixture->futures.base, fixture->futures.bytes);
        free(fixture->hints);
}

static struct client *open_client(struct fixture *fixture, const char *tenant, bool any_tenant)
{
        struct client *client = &fixture->clients[fixture->client_count];
        char name[32];

        assert_true(fixture->client_count < FIXTURE_CLIENTS);
        client->session = ++fixture->client_count;
        client->segment = 10 * client->session;
        client->control = zeroed(CONTROL_BYTES);
        client->layout = pw_segment_layout(PW_SEGMENT_CLIENT, FIXTURE_SLOTS, ROOM_BYTES);
        client->map = (struct pw_map){ zeroed(client->layout.room_offset), client->layout.room_offset, true };
        snprintf(name, sizeof name, "digits[%u]", client->session);
        assert_int_equal(pw_store_session_open(fixture->store,
                                               &(struct pw_store_session_params){ .session = client->session, .tenant = tenant,
                         .client = name, .control = (struct pw_control *)(void *)client->control, .control_bytes = CONTROL_BYTES,
                         .any_tenant = any_tenant, .now_us = fixture->now_us }, NULL), PW_OK);
        assert_int_equal(pw_store_segment_add(fixture->store, &(struct pw_store_segment_params){ .segment = client->segment,
                         .layout = client->layout, .tenant = tenant, .session = client->session, .map = client->map,
                         .hints = fixture->hints }, NULL), PW_OK);
        return client;
}

struct client *fixture_client(struct fixture *fixture, const char *tenant) { return open_client(fixture, tenant, false); }
struct client *fixture_operator(struct fixture *fixture, const char *tenant) { return open_client(fixture, tenant, true); }

/* --- actions ------------------------------------------------------------------------------------------------------------ */

uint32_t fixture_count(const struct fixture *fixture, enum pw_store_action_kind kind)
{
        const struct pw_store_actions *actions = pw_store_actions(fixture->store);
        uint32_t count = 0;

        for (uint32_t i = 0; i < actions->count; i++)
                count += actions->items[i].kind == kind;
        return count;
}

const struct pw_store_action *fixture_only(const struct fixture *fixture, enum pw_store_action_kind kind)
{
        const struct pw_store_actions *actions = pw_store_actions(fixture->store);
        uint32_t i = 0;

        assert_int_equal(fixture_count(fixture, kind), 1);
        while (actions->items[i].kind != kind)
                i++;
        return &actions->items[i];
}

static void settle_names(const struct fixture *fixture)
{
        if (!fixture->is_metadata)
                plain_settle(fixture->store, fixture->now_us);
}

void fixture_settle(struct fixture *fixture)
{
        const struct pw_store_actions *actions = pw_store_actions(fixture->store);

        for (; fixture->settled < actions->count; fixture->settled++) {
                struct pw_store_action action = actions->items[fixture->settled];

                if (action.kind == PW_STORE_PUNCH)
                        pw_store_pages_gone(fixture->store, action.owner, action.bytes, fixture->now_us);
        }
        settle_names(fixture);
}

enum pw_status fixture_name(struct fixture *fixture, const char *tenant, const char *name, struct pw_object *object,
                            struct pw_error *ret_err)
{
        return plain_bind(fixture->store, tenant, name, object, 0, fixture->now_us, ret_err);
}

enum pw_status fixture_unname(struct fixture *fixture, const char *tenant, const char *name, struct pw_error *ret_err)
{
        return plain_remove(fixture->store, tenant, name, fixture->now_us, ret_err);
}

void fixture_remove(struct fixture *fixture, uint32_t segment)
{
        struct pw_store_leaving leaving = pw_store_segment_remove(fixture->store, segment);

        pw_store_pages_gone(fixture->store, leaving.owner, leaving.bytes, fixture->now_us);
}

void fixture_clear(struct fixture *fixture)
{
        fixture_settle(fixture);
        pw_store_actions_clear(pw_store_actions(fixture->store));
        fixture->settled = 0;
}

/* --- room --------------------------------------------------------------------------------------------------------------- */

struct pw_room_request fixture_ask(struct fixture *fixture, const struct client *client, uint64_t bytes, uint32_t count)
{
        return (struct pw_room_request){ .token = ++fixture->token, .session = client->session, .inline_only = !bytes,
                                         .size_class = bytes ? pw_size_class(bytes) : 0, .count = count, .need_bytes = bytes,
                                         .now_us = fixture->now_us, .deadline_us = fixture->now_us + 1000000 };
}

static struct pw_store_grant granted(struct fixture *fixture, const struct pw_room_request *ask)
{
        struct pw_store_grant grant;

        pw_store_room_request(fixture->store, ask);
        fixture_settle(fixture);
        if (fixture_count(fixture, PW_STORE_POPULATE))
                pw_store_populated(fixture->store, ask->token, PW_OK, fixture->now_us);
        assert_true(fixture_only(fixture, PW_STORE_GRANT)->token == ask->token);
        grant = fixture_only(fixture, PW_STORE_GRANT)->grant;
        fixture_clear(fixture);
        return grant;
}

struct pw_store_grant fixture_grant(struct fixture *fixture, const struct client *client, uint64_t bytes, uint32_t count)
{
        struct pw_room_request ask = fixture_ask(fixture, client, bytes, count);

        return granted(fixture, &ask);
}

struct pw_store_grant fixture_grant_futures(struct fixture *fixture, const struct client *client, uint32_t count)
{
        struct pw_room_request ask = fixture_ask(fixture, client, 0, count);

        ask.inline_only = false;
        ask.futures = true;
        return granted(fixture, &ask);
}

struct pw_return_reader fixture_returns(const struct client *client, const struct pw_store_grant *grant)
{
        uint32_t capacity = 1;

        while (capacity < grant->slot_count)
                capacity <<= 1;
        return (struct pw_return_reader){ .ring = (struct pw_return_ring *)(void *)(client->control + grant->return_ring),
                                          .mask = capacity - 1 };
}

uint32_t fixture_returned(struct pw_return_reader *reader)
{
        uint32_t slot;

        return pw_return_take(reader, &slot) ? slot : UINT32_MAX;
}

/* --- objects ------------------------------------------------------------------------------------------------------------ */

struct place fixture_create(struct client *client, uint32_t slot)
{
        struct place place = { client->segment, slot, 0, pw_map_entry(&client->map, slot) };

        assert_true(pw_entry_take(place.entry, &place.generation));
        return place;
}

struct place fixture_put(struct client *client, uint32_t slot)
{
        struct place place = fixture_create(client, slot);

        fixture_seal(place, PW_OK);
        return place;
}

struct place fixture_future(struct fixture *fixture, uint32_t slot)
{
        struct pw_entry *entry = pw_map_entry(&fixture->futures, slot);

        assert_int_equal(pw_word_state(pw_entry_load(entry)), PW_ENTRY_PENDING);
        return (struct place){ FIXTURE_FUTURES, slot, pw_word_generation(pw_entry_load(entry)), entry };
}

void fixture_seal(struct place place, enum pw_status status)
{
        uint64_t old;

        assert_true(pw_entry_decide(place.entry, place.generation, status, 0, UINT32_MAX, &old));
}

struct pw_cell fixture_cell(struct place place)
{
        return pw_cell_object(PW_RING_DROP, place.segment, place.slot, place.generation);
}

void fixture_drop(struct fixture *fixture, const struct client *client, struct place place)
{
        assert_int_equal(pw_store_drop(fixture->store, client->session, fixture_cell(place), fixture->now_us), PW_OK);
}

void fixture_ref(struct fixture *fixture, const struct client *client, struct place place)
{
        assert_int_equal(pw_store_ref(fixture->store, client->session, fixture_cell(place), fixture->now_us), PW_OK);
}

struct pw_object *fixture_known(struct fixture *fixture, struct place place)
{
        struct pw_object *object = pw_store_find(fixture->store, 0, place.segment, place.slot, place.generation);

        assert_non_null(object);
        return object;
}

enum pw_entry_state fixture_state(struct place place)
{
        uint64_t word = pw_entry_load(place.entry);

        return pw_word_generation(word) == place.generation ? pw_word_state(word) : PW_ENTRY_FREE;
}

void fixture_reclaim(struct fixture *fixture)
{
        settle_names(fixture);
        if (pw_store_reclaim_begin(fixture->store))
                pw_store_reclaim_finish(fixture->store, fixture->now_us);
        fixture_settle(fixture);
}

static void complain(void *context, const char *where, const char *problem)
{
        (void)context;
        print_error("%s: %s\n", where, problem);
}

void fixture_check(struct fixture *fixture)
{
        assert_int_equal(pw_store_check(fixture->store, complain, NULL), 0);
}

struct pw_memory_terms fixture_terms(struct fixture *fixture)
{
        struct pw_census census = { .next = 0 };
        struct pw_memory_terms terms;

        while (pw_store_census(fixture->store, &census, 1)) {
        }
        pw_store_terms(fixture->store, &terms);
        assert_int_equal(terms.unaccounted, 0);
        return terms;
}
