/* References and reclaim: an object loses its last reference while others take one by its id. The published REF record is the
 * pin: who holds a reference finds the entry of its generation, and what nobody holds is freed. */
#include "tests/model/models.h"
#include "tests/model/world.h"

static struct {
        struct pw_entry *entry;
        struct pw_future *first; /* the producer's handle */
        struct pw_id id;
        bool holds[WORLD_CLIENTS];
} at;

static void give_back(uint32_t i, struct pw_future *future)
{
        at.holds[i] = false;
        world_settle(i, 1);
        pw_unref(future);
        world_press(i);
        world_settle(i, 2);
}

static void drop(void *context)
{
        give_back((uint32_t)((struct world_client *)context - world.clients), at.first);
}

/* Makes another value: in the same slot, if the daemon has freed it by then. */
static void drop_and_put(void *context)
{
        struct world_client *client = context;
        struct pw_future *future;

        drop(client);
        if (pw_put(&client->library, "other", 5, NULL, &future, NULL) == PW_OK)
                give_back(0, future);
}

static void open_one(void *context)
{
        struct world_client *client = context;
        uint32_t i = (uint32_t)(client - world.clients);
        struct pw_future *future;

        if (pw_open(&client->library, at.id, &future, NULL) != PW_OK)
                return;
        at.holds[i] = true;
        atomic_load(&client->socket); /* reads the value for a while */
        give_back(i, future);
}

static void begin(uint32_t openers, void (*produce)(void *))
{
        world_begin(1 + openers);
        memset(&at, 0, sizeof at);
        world_grant(0, 0, 1);
        at.first = world_put(0, 5, true);
        at.entry = world_entry(0, 0);
        at.id = pw_future_id(at.first);
        at.holds[0] = true;
        model_share_plain(&at, sizeof at, NULL);
        world_client(0, "producer", produce);
        for (uint32_t i = 1; i <= openers; i++)
                world_client(i, i == 1 ? "opener" : "second", open_one);
}

static void held(void)
{
        uint64_t word = at.entry->word;

        world_step();
        for (uint32_t i = 0; i < world.client_count; i++)
                model_must(!at.holds[i] || model_dead((int)i) || (pw_word_generation(word) == at.id.generation &&
                           pw_word_decided(word)), "an object is gone that somebody holds");
}

static void freed(void)
{
        world_end();
        model_must(world_objects() == 0, "an object stays that nobody holds");
}

static void one_opener(void) { begin(1, drop); }
const struct model reclaim_model = { "reclaim", "the last reference goes while another is taken by id", one_opener, held,
                                     freed, 1, NULL };

static void reuse_begin(void) { begin(1, drop_and_put); }
const struct model reuse_model = { "reuse", "the slot has another value when it is opened", reuse_begin, held, freed, 0, NULL };

static void two_openers(void) { begin(2, drop); }
const struct model open_model = { "open", "two take references by id while the last one goes", two_openers, held, freed, 0, NULL };
