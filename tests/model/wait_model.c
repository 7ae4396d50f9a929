/* Waits: notes going, counted, leaving; swap, then the hint; deaths between any two steps. The second look
 * is needed where the producer died between its swap and its wake, and only there: no other wake-up is ever lost. */
#include "tests/model/models.h"
#include "tests/model/world.h"

static struct {
        struct pw_future *made;
        struct pw_future *awaited[WORLD_CLIENTS];
        _Atomic uint32_t *waiters;
} at;

static void seal(void *context)
{
        (void)context;
        (void)!pw_seal(at.made, NULL);
}

static void await(void *context)
{
        struct world_client *client = context;
        uint64_t word;

        if (pw_future_await(at.awaited[client - world.clients], INT64_MAX, &word, NULL) == PW_OK)
                model_must(pw_word_decided(word), "a wait ended before the value was decided");
}

static void begin(uint32_t waiters)
{
        world_begin(1 + waiters);
        memset(&at, 0, sizeof at);
        world_grant(0, 64, 1);
        at.made = world_put(0, 64, false);
        world_entry(0, 0);
        at.waiters = &world.tenant.hints->waiters[pw_hint_bucket(at.made->segment, at.made->slot)];
        world_client(0, "producer", seal);
        for (uint32_t i = 1; i <= waiters; i++) {
                at.awaited[i] = world_share(i, at.made);
                world_client(i, i == 1 ? "waiter" : "second", await);
        }
}

static uint32_t counted(void)
{
        uint32_t count = 0;

        for (uint32_t i = 1; i < world.client_count; i++)
                count += !model_dead((int)i) && pw_note_state(world.clients[i].control->lanes[0].notes[0]) == PW_NOTE_COUNTED;
        return count;
}

static void always(void)
{
        world_step();
        model_must(*at.waiters >= counted(), "the hint counts fewer than wait");
}

static void ended(void)
{
        world_end();
        model_must(counted() == 0, "a note is left of a living waiter");
        model_must(*at.waiters == 0 || world.tenant.recounting, "a count is left, and will be");
}

/* The second look after 50 ms. */
static bool overslept(void) { return model_dead(0) && pw_word_state(at.made->entry->word) == PW_ENTRY_READY; }

static void one_waiter(void) { begin(1); }
const struct model wait_model = { "wait", "a waiter, its producer and the daemon", one_waiter, always, ended, 2, overslept };

static void two_waiters(void) { begin(2); }
const struct model wait_two_model = { "waiters", "two waiters of one value", two_waiters, always, ended, 1, overslept };
