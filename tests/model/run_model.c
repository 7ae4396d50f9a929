/* Runs: a value that is given to one while others take references and drop theirs; records that name what a run makes whose own
 * record lies unread in another lane. */
#include "tests/model/models.h"
#include "tests/model/runs.h"

static struct {
        struct pw_future *given, *shared, *own, *results[WORLD_CLIENTS];
        struct pw_id id;
        _Atomic uint32_t told; /* the first client has told the second of its result, by means of its own */
        bool reads, used;
} at;

/* Is the result of this slot gone? The slot may have been granted again. */
static bool gone(uint32_t slot, uint32_t generation)
{
        uint64_t word = pw_map_entry(&world.futures.map, slot)->word;

        return pw_word_generation(word) != generation || pw_word_state(word) < PW_ENTRY_PENDING;
}

/* --- donation ----------------------------------------------------------------------------------------------------------------- */

static void give_away(void *context)
{
        struct world_client *client = context;

        (void)!runs_publish(client, at.given, true, at.results[0]);
}

static void read_for_a_while(struct world_client *client, struct pw_future *future)
{
        at.reads = true;
        atomic_load(&client->socket);
        at.reads = false;
        world_settle(1, 1);
        pw_unref(future);
        world_press(1);
        world_settle(1, 2);
}

static void open_given(void *context)
{
        struct world_client *client = context;
        struct pw_future *future;

        if (at.own)
                /* while the daemon looks who holds that, it reads the giver's record, too: it decides a turn later */
                pw_unref(at.own);
        world_press(1);
        world_settle(1, 3);
        if (pw_open(&client->library, at.id, &future, NULL) == PW_OK)
                read_for_a_while(client, future);
        else
                world_press(1);
}

static void drop_shared(void *context) { read_for_a_while(context, at.shared); }

static void begin_donation(bool shared, bool looks)
{
        world_begin(2);
        memset(&at, 0, sizeof at);
        world_grant_futures(0, 2);
        runs_result(0, 0);
        at.given = world_future(0, 0);
        at.results[0] = world_future(0, 1);
        at.id = pw_future_id(at.given);
        if (shared) {
                at.shared = world_share(1, at.given);
        } else if (looks) {
                world_grant(1, 0, 1);
                at.own = world_put(1, 5, true);
        }
        at.reads = shared;
        world_future_entry(0);
        world_future_entry(1);
        model_share_plain(&at.reads, sizeof at.reads, NULL);
        world_client(0, "giver", give_away);
        world_client(1, "reader", shared ? drop_shared : open_given);
}

static void not_overwritten(void)
{
        world_step();
        model_must(!at.reads || model_dead(1) || !runs_seen.overwritten, "a value that was given away changed under its reader");
}

static void nothing_left(void)
{
        world_end();
        world_end();
        model_must(gone(0, at.id.generation), "a value stays that nobody holds");
        model_must(runs_seen.freed[0] == 1, "the room of a value did not go back once");
        model_must(model_dead(0) || pw_word_state(pw_map_entry(&world.futures.map, 1)->word) == PW_ENTRY_READY,
                   "a run did not end");
}

static void donate_begin(void) { begin_donation(false, false); }
const struct model donate_model = { "donate", "a value is given to a run while another takes it by id", donate_begin,
                                    not_overwritten, nothing_left, 1, NULL };
static void donate_look_begin(void) { begin_donation(false, true); }
const struct model donate_look_model = { "offered", "the same, while the daemon looks who holds another value", donate_look_begin,
                                         not_overwritten, nothing_left, 1, NULL };
static void donate_shared_begin(void) { begin_donation(true, false); }
const struct model donate_shared_model = { "given", "a value is given to a run while another reads and drops it",
                                           donate_shared_begin, not_overwritten, nothing_left, 1, NULL };

/* --- catch up ----------------------------------------------------------------------------------------------------------------- */

static void make(void *context)
{
        struct world_client *client = context;

        if (runs_publish(client, NULL, false, at.results[0]))
                atomic_store(&at.told, 1);
}

static bool was_told(void *context)
{
        (void)context;
        model_see(&at.told);
        return *(volatile uint32_t *)&at.told | model_dead(0);
}

/* A liar names the result without having heard of it. */
static void use_unheard(void *context)
{
        struct world_client *client = context;

        at.used = runs_publish(client, at.given, false, at.results[1]);
}

static void use(void *context)
{
        model_wait(was_told, NULL);
        if (atomic_load(&at.told))
                use_unheard(context);
}

static void begin_catch_up(void (*second)(void *))
{
        world_begin(2);
        memset(&at, 0, sizeof at);
        at.results[0] = world_future(0, world_grant_futures(0, 1));
        at.results[1] = world_future(1, world_grant_futures(1, 1));
        at.given = world_future(1, at.results[0]->slot);
        at.id = pw_future_id(at.given);
        world_future_entry(0);
        world_future_entry(1);
        model_share(&at.told, sizeof at.told);
        world_client(0, "maker", make);
        world_client(1, "user", second);
}

static bool decided(uint32_t i)
{
        const struct pw_future *result = at.results[i];

        return model_dead((int)i) || gone(result->slot, result->generation) ||
                pw_word_decided(pw_map_entry(&world.futures.map, result->slot)->word);
}

static void all_decided(void)
{
        world_end();
        model_must(decided(0) && (decided(1) || !at.used), "a run did not end");
}

/* What was published before its name was told is believed, unless its maker died since. */
static void believed(void)
{
        all_decided();
        model_must(!runs_seen.refused || model_dead(0), "a run did not find what another lane's record makes");
}

static void catch_up_begin(void) { begin_catch_up(use); }
const struct model catch_up_model = { "catchup", "a record names what a record makes that lies unread in another lane",
                                      catch_up_begin, world_step, believed, 1, NULL };
static void liar_begin(void) { begin_catch_up(use_unheard); }
const struct model catch_up_liar_model = { "unheard", "a record names a slot that nobody may ever claim", liar_begin, world_step,
                                           all_decided, 1, NULL };
