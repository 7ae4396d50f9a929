/* Who holds what: by the store's records, by the scheduler's, and by what clients and runs of the world know. */
#include "tests/world/client/claim.h"
#include "tests/world/client/store.h"

#include "base/bits.h"
#include "scheduler/state.h"
#include "store/object.h"

/* Its host knows; its coordinator may still have to be told. */
static bool is_lost(const struct world *world, struct pw_result *result, uint32_t place)
{
        const struct pw_result_live *live = pw_result_live(result);
        const struct pw_host_result *here = pw_host_result_find(world->scheduler, &live->maker, result->index, live->slot);

        return pw_bits_has(result->lost, place) || (here && pw_bits_has(here->lost, place));
}

static bool expect_lost(const struct world *world, struct pw_result *result, uint32_t place)
{
        return world_link_empty(world) ? is_lost(world, result, place) : pw_bits_has(result->lost, place);
}

/* What lies in the rooms of a result that is ready. */
void world_verify(struct world *world, const struct world_object *object)
{
        struct pw_result *result = object->result;

        if (!result || !object->decided || object->status != PW_OK || result->donated)
                return;
        for (uint32_t i = 0; result->type->value.shard_bytes && i < result->room_count; i++) {
                const uint8_t *room = world_memory(world, result->rooms[i].segment, result->rooms[i].offset);
                const struct pw_room_head *head = (const struct pw_room_head *)room;
                bool differs = head->status != PW_OK || memcmp(head + 1, &object->value, sizeof object->value) != 0;
                if (differs && !is_lost(world, result, i))
                        world_fail(world, "result %u of run %lu is ready, device %u has another value", result->index,
                                   (unsigned long)object->maker->number, result->rooms[i].device);
        }
}

struct holders { struct world *world; const struct world_object *object; uint32_t sessions, runs, claims; };

static void count_holder(void *context, const struct pw_ref_row *row)
{
        struct holders *holders = context;
        const struct world_run *run;

        if (row->owner_kind == PW_OWNER_SESSION)
                holders->sessions += row->count;
        if (row->owner_kind == PW_OWNER_NAME || row->owner_kind == PW_OWNER_LEASE)
                holders->claims += row->count;
        if (row->owner_kind != PW_OWNER_RUN)
                return;
        holders->runs += row->count;
        run = world_find_run(holders->world, row->owner_number);
        if (!run || run->ended)
                world_fail(holders->world, "object %x.%x is held by run %lu, which has ended", holders->object->segment,
                           holders->object->slot, (unsigned long)row->owner_number);
}

static bool is_there(const struct world_object *object)
{
        uint64_t word = pw_entry_load(object->entry);
        enum pw_entry_state state = pw_word_state(word);

        return pw_word_generation(word) == object->generation && state >= PW_ENTRY_PENDING && state <= PW_ENTRY_LOST;
}

static void check_holders(struct world *world, struct world_object *object)
{
        struct holders holders = { world, object, 0, 0, 0 };
        uint32_t runs = object->refs - object->held - object->shared - object->claims;

        if (object->refs && !is_there(object))
                world_fail(world, "object %x.%x is %s, and is held", object->segment, object->slot,
                           pw_word_state(pw_entry_load(object->entry)) == PW_ENTRY_CLOSING ? "closing" : "gone");
        if (object->claims)
                object->stored = world_stored(world, object);
        if (!object->stored || !object->stored->known)
                return;
        pw_object_each_ref(object->stored, count_holder, &holders);
        holders.sessions += object->stored->first_ref;
        if (holders.sessions != (uint32_t)object->held + object->told || holders.runs != runs || holders.claims != object->claims)
                world_fail(world, "object %x.%x: the store has %u references of sessions, %u of runs and %u of names and leases, "
                           "held it is by %u, %u and %u", object->segment, object->slot, holders.sessions, holders.runs,
                           holders.claims, object->held + object->told, runs, object->claims);
        world_check_charge(world, object);
}

/* Which shards are lost is said to who reads it. */
static void check_lost(struct world *world, const struct world_object *object)
{
        const struct pw_shard_list *list = world_shard_list(world, object);

        if (!object->result || !object->decided || object->status != PW_OK || !is_there(object))
                return;
        for (uint32_t i = 0; i < list->shard_count; i++)
                if (pw_bits_has(pw_shard_list_lost(list), i) != expect_lost(world, object->result, i))
                        world_fail(world, "result %u of run %lu: shard %u is %slost by its list", object->result->index,
                                   (unsigned long)object->maker->number, i, expect_lost(world, object->result, i) ? "not " : "");
}

static bool is_held(const struct world_run *run)
{
        for (uint32_t i = 0; i < run->run->result_count; i++)
                if (run->results[i] && run->results[i]->refs)
                        return true;
        return false;
}

/* By what was read so far. */
static bool is_held_yet(const struct world_run *run)
{
        for (uint32_t i = 0; i < run->run->result_count; i++)
                if (run->results[i] && run->results[i]->told)
                        return true;
        return is_held(run);
}

/* A run with results that are still to come goes on as long as somebody holds one of it, and no longer. */
static void check_run(struct world *world, const struct world_run *run)
{
        bool to_come = false;

        for (uint32_t i = 0; i < run->run->result_count; i++)
                to_come |= run->results[i] && !run->results[i]->decided;
        if (to_come && !run->run->cancelled && !is_held_yet(run) && !pw_store_reclaims(world->store))
                world_fail(world, "run %lu goes on, and nobody holds its results", (unsigned long)run->number);
}

void world_note_unheld(struct world *world, struct world_run *run)
{
        if (run->cancelled || !run->run || !run->run->cancelled)
                return;
        if (is_held(run))
                world_fail(world, "run %lu is cancelled, and somebody holds its results", (unsigned long)run->number);
        world_log(world, "run %lu: nobody holds its results", (unsigned long)run->number);
        run->cancelled = run->any = true;
}

void world_check_holders(struct world *world)
{
        struct world_object *object;
        struct world_run *run;

        pw_list_each(&world->objects, object, struct world_object, link) {
                check_holders(world, object);
                check_lost(world, object);
        }
        pw_list_each(&world->runs, run, struct world_run, link)
                if (!run->ended) {
                        world_note_unheld(world, run);
                        check_run(world, run);
                }
}

/* --- in the end ------------------------------------------------------------------------------------------------------------- */

static void found(void *context, const char *where, const char *problem)
{
        world_fail(context, "store: %s: %s", where, problem);
}

static struct pw_memory_terms terms_of(struct world *world, struct pw_store_counts *ret_counts)
{
        struct pw_census census = { .next = 0 };
        struct pw_memory_terms terms;

        pw_store_check(world->store, found, world);
        while (pw_store_census(world->store, &census, UINT32_MAX))
                ;
        pw_store_terms(world->store, &terms);
        if (terms.unaccounted)
                world_fail(world, "%ld bytes of host memory are unaccounted for", (long)terms.unaccounted);
        *ret_counts = census.counts;
        return terms;
}

void world_check_store_empty(struct world *world)
{
        struct pw_store_counts counts;
        struct pw_memory_terms terms = terms_of(world, &counts);

        if (counts.pending + counts.ready + counts.failed + counts.refs + terms.used)
                world_fail(world, "nobody holds anything, and the store has %lu objects, %lu bytes of them, with %lu references",
                           (unsigned long)(counts.pending + counts.ready + counts.failed), (unsigned long)terms.used,
                           (unsigned long)counts.refs);
        for (uint32_t i = 0; i < world_tenant_count(world); i++)
                for (uint32_t s = 0; s < 2; s++)
                        pw_store_session_end(world->store, s ? world_other_session(world, i) : 1 + i, true, world->now_us);
        do {
                world_reclaim(world);
                world_act(world);
        } while (pw_store_reclaims(world->store));
        terms = terms_of(world, &counts);
        if (terms.free + terms.reserved + terms.overhead != terms.capacity)
                world_fail(world, "the sessions have ended, and %lu bytes are used, %lu idle, %lu letting go",
                           (unsigned long)terms.used, (unsigned long)terms.idle, (unsigned long)terms.letting_go);
}
