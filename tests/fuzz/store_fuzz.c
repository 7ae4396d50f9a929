/* A store between a client that writes anything into its rings and its entries, and one that keeps to the protocol: the store
 * stays true to itself, and the other's value stays what it was. */
#include "store/fixture_test.h"
#include "tests/fuzz/fuzz.h"

#include <assert.h>

#define SLOTS 8u
#define FUTURES 4u

struct hostile {
        struct fixture fixture;
        struct client *client, *other;
        struct pw_store_grant rooms, futures;
        struct place kept; /* the other's */
        uint64_t run;
        bool ended, dead, mended; /* mended: dead, and reclaimed since */
};

static struct pw_cell any_cell(struct fuzz_bytes *bytes)
{
        static const uint32_t segments[] = { 0, FIXTURE_FUTURES, 10, 20, 30, 0xffffff };
        uint8_t shape = (uint8_t)fuzz_take(bytes, 1);
        uint32_t segment = segments[shape % 6], slot = (uint32_t)fuzz_take(bytes, 1);
        uint32_t generation = shape & 0x80 ? (uint32_t)fuzz_take(bytes, 4) : 1u + (shape >> 4 & 3);

        if (shape & 0x40)
                slot = (uint32_t)fuzz_take(bytes, 3);
        return pw_cell_object(0, segment, slot, generation);
}

static struct pw_entry *any_entry(struct hostile *hostile, struct fuzz_bytes *bytes)
{
        return pw_map_entry(&hostile->client->map, hostile->rooms.first_slot + fuzz_take(bytes, 1) % SLOTS);
}

static void scribble(struct hostile *hostile, struct fuzz_bytes *bytes)
{
        struct pw_entry *entry = any_entry(hostile, bytes);
        uint64_t word = fuzz_take(bytes, 1), generation = fuzz_take(bytes, 1);

        if (hostile->dead)
                return;
        if (word & 0x80)
                entry->word = fuzz_take(bytes, 8);
        else
                entry->word = pw_word_make((enum pw_entry_state)(word % 7), (uint32_t)word & PW_ENTRY_FLAGS,
                                           (uint32_t)generation % 4, PW_OK);
        entry->bytes = generation;
}

static void use_results(struct hostile *hostile, struct fuzz_bytes *bytes)
{
        struct pw_cell cell = any_cell(bytes);
        struct pw_object *object;

        if (pw_store_claim(hostile->fixture.store, hostile->client->session, cell, ++hostile->run, NULL, &object, NULL) == PW_OK)
                pw_store_decide(hostile->fixture.store, object, &(struct pw_decision){ .status = PW_FAILED, .text = "it failed" },
                                hostile->fixture.now_us);
}

static void hold(struct hostile *hostile, struct fuzz_bytes *bytes)
{
        struct pw_cell cell = any_cell(bytes);
        struct pw_store *store = hostile->fixture.store;
        struct pw_object *object = pw_store_find(store, hostile->client->session, pw_cell_segment(cell), pw_cell_slot(cell),
                                                 pw_cell_generation(cell));

        if (!object)
                return;
        pw_store_watch(store, object);
        if (pw_store_hold(store, object, (struct pw_owner){ PW_OWNER_RUN, 5 }, NULL) == PW_OK)
                pw_store_release(store, object, (struct pw_owner){ PW_OWNER_RUN, 5 }, hostile->fixture.now_us);
}

static void end(struct hostile *hostile, bool dead)
{
        if (!hostile->ended)
                pw_store_session_end(hostile->fixture.store, hostile->client->session, dead, hostile->fixture.now_us);
        if (hostile->ended || dead)
                pw_store_session_dead(hostile->fixture.store, hostile->client->session, hostile->fixture.now_us);
        hostile->dead |= dead || hostile->ended;
        hostile->ended = true;
}

static void one_step(struct hostile *hostile, struct fuzz_bytes *bytes)
{
        struct fixture *fixture = &hostile->fixture;
        struct pw_cell cell;

        switch (fuzz_take(bytes, 1) % 9) {
        case 0:
        case 1:
                cell = any_cell(bytes);
                if (!hostile->ended && pw_store_drop(fixture->store, hostile->client->session, cell, fixture->now_us) != PW_OK)
                        end(hostile, false);
                break;
        case 2:
                cell = any_cell(bytes);
                if (!hostile->ended && pw_store_ref(fixture->store, hostile->client->session, cell, fixture->now_us) != PW_OK)
                        end(hostile, false);
                break;
        case 3:
        case 4:
                scribble(hostile, bytes);
                break;
        case 5:
                fixture_reclaim(fixture);
                hostile->mended = hostile->dead;
                break;
        case 6:
                use_results(hostile, bytes);
                break;
        case 7:
                hold(hostile, bytes);
                pw_store_rung(fixture->store, hostile->client->session, fixture->now_us);
                break;
        default:
                if (fuzz_take(bytes, 1) % 16 == 0)
                        end(hostile, fuzz_take(bytes, 1) & 1);
        }
}

/* What the store wants done, as the daemon does it. */
static void act(struct hostile *hostile)
{
        struct pw_store_actions *actions = pw_store_actions(hostile->fixture.store);

        for (uint32_t i = 0; i < actions->count; i++) {
                struct pw_store_action action = actions->items[i];

                if (action.kind == PW_STORE_END_SESSION) {
                        assert(action.number == hostile->client->session); /* never the other's */
                        end(hostile, false);
                } else if (action.kind == PW_STORE_POPULATE) {
                        pw_store_populated(hostile->fixture.store, action.token, PW_OK, hostile->fixture.now_us);
                } else if (action.kind == PW_STORE_SEGMENT_IDLE) {
                        pw_store_segment_remove(hostile->fixture.store, action.segment);
                }
        }
        fixture_clear(&hostile->fixture);
}

/* The words of its entries are what it wrote, until it is dead and they were reclaimed; all else is the store's own. */
static void found(void *context, const char *where, const char *problem)
{
        const struct hostile *hostile = context;

        if (!strncmp(where, "h0.7/a.", 7) && !hostile->mended)
                return;
        fprintf(stderr, "%s: %s\n", where, problem);
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t count)
{
        struct fuzz_bytes bytes = { data, count };
        struct hostile hostile = { 0 };
        uint64_t kept;

        fixture_open(&hostile.fixture, 16 * PW_MIB);
        hostile.client = fixture_client(&hostile.fixture, "ann");
        hostile.other = fixture_client(&hostile.fixture, "ann");
        hostile.rooms = fixture_grant(&hostile.fixture, hostile.client, 64, SLOTS);
        hostile.futures = fixture_grant_futures(&hostile.fixture, hostile.client, FUTURES);
        fixture_grant(&hostile.fixture, hostile.other, 64, 1);
        hostile.kept = fixture_put(hostile.other, 0);
        kept = pw_entry_load(hostile.kept.entry);
        while (bytes.left) {
                one_step(&hostile, &bytes);
                act(&hostile);
                pw_store_check(hostile.fixture.store, found, &hostile);
        }
        assert(pw_entry_load(hostile.kept.entry) == kept);
        end(&hostile, true);
        end(&hostile, true);
        fixture_reclaim(&hostile.fixture);
        act(&hostile);
        fixture_close(&hostile.fixture);
        return 0;
}
