/* Wide waits: asleep on bells. Armed, then the look; swapped, then the counts and the bell; deaths between any two steps. As with
 * other waits the second look is needed where the producer died between its swap and the bell, and only there. */
#include "tests/model/models.h"
#include "tests/model/world.h"

#include "plane/wide.h"

static struct {
        struct pw_future *made, *awaited[WORLD_CLIENTS];
        struct pw_wide wide[WORLD_CLIENTS];
} at;

static void seal(void *context)
{
        (void)context;
        (void)!pw_seal(at.made, NULL);
}

static void await_wide(void *context)
{
        struct world_client *client = context;
        uint32_t i = (uint32_t)(client - world.clients);
        const struct pw_future *future = at.awaited[i];
        struct pw_wait_place place = { client->library.hints, client->lane->shared->notes, &world.life, PW_LIFE_ALIVE };
        struct pw_wait_item item = { .entry = at.made->entry, .generation = future->generation, .segment = future->segment,
                                     .slot = future->slot };

        pw_wide_begin(&at.wide[i], &place, pw_wide_bell(item.segment), &item);
        do
                pw_wide_arm(&at.wide[i]);
        while (!pw_word_decided(pw_entry_load(item.entry)) && pw_wide_sleep(&at.wide[i], INT64_MAX) == PW_OK);
        pw_wide_end(&at.wide[i]);
}

static void await_one(void *context)
{
        struct world_client *client = context;
        uint64_t word;

        if (pw_future_await(at.awaited[client - world.clients], INT64_MAX, &word, NULL) == PW_OK)
                model_must(pw_word_decided(word), "a wait ended before the value was decided");
}

static void begin(void (*second)(void *))
{
        world_begin(second ? 3 : 2);
        memset(&at, 0, sizeof at);
        world_grant(0, 64, 1);
        at.made = world_put(0, 64, false);
        world_entry(0, 0);
        for (uint32_t i = 0; i < PW_HINT_BUCKETS; i++)
                if (!(world.buckets >> i & 1))
                        model_share(&world.tenant.hints->waiters[i], sizeof(uint32_t));
        model_share(&world.tenant.hints->bells[at.made->segment % PW_HINT_BELLS], sizeof(uint32_t));
        world_client(0, "producer", seal);
        for (uint32_t i = 1; i < world.client_count; i++)
                at.awaited[i] = world_share(i, at.made);
        world_client(1, "waiter", await_wide);
        if (second)
                world_client(2, "second", second);
}

static uint32_t counted(bool wide)
{
        uint32_t count = 0;

        for (uint32_t i = 1; i < world.client_count; i++) {
                uint64_t note = world.clients[i].control->lanes[0].notes[0];
                count += !model_dead((int)i) && pw_note_state(note) == PW_NOTE_COUNTED &&
                        (pw_note_bucket(note) == PW_NOTE_EVERY) == wide;
        }
        return count;
}

static void always(void)
{
        world_step();
        for (uint32_t i = 0; i < PW_HINT_BUCKETS; i++)
                model_must(world.tenant.hints->waiters[i] / PW_HINT_WIDE >= counted(true), "a bucket counts fewer than wait");
}

static void ended(void)
{
        world_end();
        model_must(counted(true) + counted(false) == 0, "a note is left of a living waiter");
        for (uint32_t i = 0; i < PW_HINT_BUCKETS; i++)
                model_must(world.tenant.hints->waiters[i] == 0 || model_kills(), "a count is left though nobody died");
}

/* The second look after 50 ms: whose producer died; or beside whom a waiter died that was to ring no bell, but had one's count. */
static bool overslept(void) { return model_dead(0) && pw_word_state(at.made->entry->word) == PW_ENTRY_READY; }

static void one_waiter(void) { begin(NULL); }
const struct model wide_model = { "wide", "a wide waiter, its producer and the daemon", one_waiter, always, ended, 2, overslept };

static void with_another(void) { begin(await_one); }
const struct model wide_beside_model = { "beside", "a wide waiter and one that waits on the word", with_another, always, ended, 1,
                                         overslept };
