/* Letting go: a session ends while a thread of its process still writes into a room. Its value is an error at once for who
 * waits, but the room goes to nobody before the process is dead. */
#include "tests/model/models.h"
#include "tests/model/world.h"

static struct { struct pw_future *made, *awaited; bool writes; } at;

static void write_late(void *context)
{
        (void)context;
        at.writes = true;
        for (uint32_t i = 0; i < 3; i++)
                atomic_load(&world.clients[0].socket); /* a byte goes into the room */
        at.writes = false;
        (void)!pw_seal(at.made, NULL);
}

static void hang_up(void *context)
{
        (void)context;
        world_hang_up(0);
}

static void await(void *context)
{
        uint64_t word;

        (void)context;
        (void)!pw_future_await(at.awaited, INT64_MAX, &word, NULL);
        pw_unref(at.awaited);
        world_press(1);
}

static void always(void)
{
        world_step();
        model_must(!at.writes || model_dead(0) || !(world.punched & 1), "a room was given back while its producer still writes");
}

/* The second look: the writer died between its swap and its wake. */
static bool overslept(void) { return model_dead(0) && pw_word_state(at.made->entry->word) == PW_ENTRY_READY; }

static void begin(void)
{
        world_begin(2);
        world_grant(0, 4096, 1);
        at.made = world_put(0, 4096, false);
        at.awaited = world_share(1, at.made);
        world_entry(0, 0);
        world_client(0, "writer", write_late);
        model_thread("closer", 0, false, hang_up, NULL);
        world_client(1, "waiter", await);
        model_share_plain(&world.punched, sizeof world.punched, NULL);
        at.writes = false;
        model_share_plain(&at.writes, sizeof at.writes, NULL);
}

static void ended(void)
{
        struct pw_memory_terms terms;

        world_end();
        pw_store_terms(world.daemon.store, &terms);
        model_must(model_dead(0) || terms.letting_go, "the room of a living process is free");
        model_must(!model_dead(0) || model_dead(1) || !terms.letting_go, "the room of a dead process is not free");
}

const struct model letgo_model = { "letgo", "a session that ends while its process writes on", begin, always, ended, 1, overslept };
