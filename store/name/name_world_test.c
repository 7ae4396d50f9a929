/* Names, and metadata that is late: it does what it is asked some time later, in order; answers in any order, or when nobody waits
 * any more; goes away with what it was asked done or not, and comes back; and other hosts bind names there. All by one
 * seed: PW_NAME_SEED=n plays that one, PW_NAME_SEEDS=n so many.
 *
 * Whatever it does: what is found here is bound there; what is bound there is alive here; who asked is answered once. */
#include "store/fixture_test.h"
#include "store/name/late_test.h"

#define SEEDS 1500u
#define STEPS 400u
#define CLIENTS 4u /* the last one of another tenant */
#define OBJECTS 12u
#define REQUESTS 600u

struct object { struct place place; struct client *client; struct pw_id id; bool held; };

struct request { enum { NONE, BIND, REMOVE, WAIT } kind; uint32_t session, told; struct pw_id id; const char *name; };

struct world {
        struct fixture f;
        struct late late;
        struct client *clients[CLIENTS];
        uint32_t slots[CLIENTS], free_slots[CLIENTS];
        bool ended[CLIENTS];
        struct object objects[OBJECTS];
        struct request requests[REQUESTS];
        uint64_t request_count;
        uint32_t bound, taken, unsure, removed, found, refused;
};

static uint32_t dice(struct world *world, uint32_t sides) { return late_dice(&world->late, sides); }

static void must(const struct world *world, bool is_so, const char *what)
{
        if (!is_so)
                fail_msg("seed %llu: %s", (unsigned long long)world->late.seed, what);
}

static const char *tenant_of(uint32_t client) { return client < CLIENTS - 1 ? "ann" : "bo"; }

static void open_world(struct world *world, uint64_t seed)
{
        *world = (struct world){ .request_count = 0 };
        late_open(&world->late, seed);
        fixture_open(&world->f, 64 * PW_MIB);
        world->f.is_metadata = true;
        world->f.now_us = 1000;
        for (uint32_t i = 0; i < CLIENTS; i++) {
                world->clients[i] = fixture_client(&world->f, tenant_of(i));
                world->slots[i] = fixture_grant(&world->f, world->clients[i], 4096, 64).first_slot;
                world->free_slots[i] = 64;
        }
}

/* --- what clients do --------------------------------------------------------------------------------------------------------- */

static uint32_t client_of(const struct world *world, const struct object *object)
{
        return (uint32_t)(object->client - world->f.clients);
}

static void put(struct world *world, struct object *object)
{
        uint32_t i = dice(world, CLIENTS);

        if (world->ended[i] || !world->free_slots[i] || object->held)
                return;
        object->client = world->clients[i];
        object->place = fixture_put(object->client, world->slots[i] + --world->free_slots[i]);
        object->id = pw_object_id(world->f.store, fixture_known(&world->f, object->place));
        object->held = true;
}

static void let_go(struct world *world, struct object *object)
{
        if (!object->held)
                return;
        object->held = false;
        fixture_drop(&world->f, object->client, object->place);
}

static struct pw_name_request request(struct world *world, int kind, uint32_t client, const char *name, struct pw_id id)
{
        uint64_t number = ++world->request_count;

        world->requests[number] = (struct request){ kind, world->clients[client]->session, 0, id, name };
        return (struct pw_name_request){ world->clients[client]->session, number, tenant_of(client), name, world->f.now_us, false };
}

/* What was refused is not answered besides. */
static void asked(struct world *world, enum pw_status status)
{
        if (status == PW_OK)
                return;
        must(world, status == PW_EXISTS || status == PW_NOT_FOUND || status == PW_DENIED, "refused for no reason");
        world->requests[world->request_count].kind = NONE;
        world->refused++;
}

static void bind(struct world *world, struct object *object, const char *name)
{
        uint64_t until_us = dice(world, 4) ? 0 : world->f.now_us + dice(world, 200);
        struct pw_name_request ask;

        if (!object->held)
                return;
        ask = request(world, BIND, client_of(world, object), name, object->id);
        asked(world, pw_store_name_bind(world->f.store, &ask, fixture_known(&world->f, object->place), until_us, NULL));
}

static void act(struct world *world)
{
        struct object *object = &world->objects[dice(world, OBJECTS)];
        const char *name = late_names[dice(world, LATE_NAMES)];
        uint32_t client = dice(world, CLIENTS);
        struct pw_name_request ask;

        if (world->request_count + 1 >= REQUESTS)
                return;
        switch (dice(world, 9)) {
        case 0: case 1: put(world, object); break;
        case 2: let_go(world, object); break;
        case 3: case 4: case 5: bind(world, object, name); break;
        case 6:
                ask = request(world, REMOVE, client, name, (struct pw_id){ 0 });
                asked(world, pw_store_name_remove(world->f.store, &ask, NULL));
                break;
        case 7:
                if (world->ended[client] || pw_store_name_find(world->f.store, tenant_of(client), name))
                        break;
                ask = request(world, WAIT, client, name, (struct pw_id){ 0 });
                asked(world, pw_store_name_wait(world->f.store, &ask, world->f.now_us + 1 + dice(world, 300), NULL));
                break;
        default:
                if (object->held && !dice(world, 3))
                        (void)!pw_store_free_object(world->f.store, fixture_known(&world->f, object->place), false,
                                                    world->f.now_us, NULL);
        }
}

/* Nobody else knows of what it asked. */
static void end_client(struct world *world, uint32_t client)
{
        if (world->ended[client])
                return;
        world->ended[client] = true;
        for (uint32_t i = 0; i < OBJECTS; i++)
                if (world->objects[i].client == world->clients[client])
                        world->objects[i].held = false;
        pw_store_session_end(world->f.store, world->clients[client]->session, true, world->f.now_us);
}

/* --- what has to be true ------------------------------------------------------------------------------------------------------ */

static void judge(struct world *world, struct request *request, const struct pw_name_told *told)
{
        must(world, request->kind != NONE && !request->told++ && told->session == request->session, "told twice, or somebody else");
        must(world, (told->status == PW_OK) == !told->text[0], "an error without words");
        world->bound += request->kind == BIND && told->status == PW_OK;
        world->taken += told->status == PW_EXISTS;
        world->unsure += told->status == PW_NOT_READY;
        world->removed += request->kind == REMOVE && told->status == PW_OK;
        world->found += told->found;
        must(world, told->found == (request->kind == WAIT && told->status == PW_OK), "found without looking");
        if (request->kind == BIND && told->status == PW_OK)
                must(world, late_was_bound(&world->late, request->name, request->id), "told that it is bound, and it never was");
        if (told->status == PW_EXISTS)
                must(world, !pw_id_equal(told->object, request->id), "taken by itself");
        if (told->found) /* its reference is given back */
                pw_store_release(world->f.store, pw_store_find(world->f.store, 0, pw_id_segment(told->object),
                                                               pw_id_slot(told->object), told->object.generation),
                                 (struct pw_owner){ PW_OWNER_SESSION, told->session }, world->f.now_us);
}

static void hear(struct world *world)
{
        struct pw_name_told told;

        while (pw_store_name_told(world->f.store, &told))
                judge(world, &world->requests[told.request], &told);
}

static bool is_alive(struct world *world, struct pw_id id)
{
        struct pw_object *object = pw_store_find(world->f.store, 0, pw_id_segment(id), pw_id_slot(id), id.generation);

        return object && object->refs;
}

static void check(struct world *world)
{
        for (uint32_t i = 0; i < LATE_NAMES; i++) {
                for (uint32_t tenant = 0; tenant < 2; tenant++) {
                        const struct late_name *there = &world->late.names[tenant][i];
                        struct pw_object *here = pw_store_name_find(world->f.store, tenant ? "bo" : "ann", late_names[i]);

                        if (here)
                                must(world, there->version && pw_id_equal(there->id, pw_object_id(world->f.store, here)),
                                     "found here, and bound there to something else");
                        if (there->version && !late_is_foreign(there->id))
                                must(world, is_alive(world, there->id), "bound there, and gone here");
                }
        }
}

static void step(struct world *world)
{
        switch (dice(world, 8)) {
        case 0: case 1: case 2: act(world); break;
        case 3: case 4: late_turn(&world->late, world->f.store, world->f.now_us); break;
        case 5:
                pw_store_tick(world->f.store, world->f.now_us += dice(world, 20));
                if (!dice(world, 200))
                        end_client(world, dice(world, CLIENTS));
                break;
        case 6: hear(world); break;
        default: fixture_reclaim(&world->f);
        }
        check(world);
}

/* With metadata there, and time, nothing of all that is left. */
static void close_world(struct world *world)
{
        for (uint32_t i = 0; i < CLIENTS; i++)
                end_client(world, i);
        for (uint32_t round = 0; round < 8; round++) {
                pw_store_tick(world->f.store, world->f.now_us += 1000);
                late_settle(&world->late, world->f.store, world->f.now_us);
                check(world);
                for (uint32_t i = 0; i < 2 * LATE_NAMES; i++) {
                        struct pw_name_request ask = request(world, REMOVE, i % 2 ? CLIENTS - 1 : 0, late_names[i / 2],
                                                             (struct pw_id){ 0 });

                        asked(world, pw_store_name_remove(world->f.store, &ask, NULL));
                }
                hear(world);
                fixture_reclaim(&world->f);
        }
        for (uint64_t i = 1; i <= world->request_count; i++) /* waits of sessions that end are not told */
                must(world, world->requests[i].kind == NONE || world->requests[i].kind == WAIT || world->requests[i].told,
                     "never told");
        must(world, !pw_store_names(world->f.store), "a name is left");
        for (uint32_t i = 0; i < LATE_NAMES; i++)
                for (uint32_t tenant = 0; tenant < 2; tenant++)
                        must(world, !world->late.names[tenant][i].version || late_is_foreign(world->late.names[tenant][i].id),
                             "bound there for ever");
        for (uint32_t i = 0; i < OBJECTS; i++)
                must(world, !world->objects[i].client || !is_alive(world, world->objects[i].id), "an object is left");
        for (uint32_t i = 0; i < CLIENTS; i++) {
                struct pw_use use = pw_store_use(world->f.store, tenant_of(i));

                must(world, !use.kept[PW_KEPT_NAMES] && !use.kept[PW_KEPT_REQUESTS], "bytes of names are left");
        }
        late_close(&world->late);
        fixture_close(&world->f);
}

static void test_late_metadata(void **state)
{
        struct world *world = malloc(sizeof *world);
        uint32_t bound = 0, taken = 0, unsure = 0, removed = 0, found = 0, refused = 0;
        const char *many = getenv("PW_NAME_SEEDS"), *one = getenv("PW_NAME_SEED");
        uint64_t first = 1, count = many ? strtoull(many, NULL, 10) : SEEDS;

        (void)state;
        assert_non_null(world);
        if (one) {
                first = strtoull(one, NULL, 10);
                count = 1;
        }
        for (uint64_t seed = first; seed < first + count; seed++) {
                open_world(world, seed);
                for (uint32_t i = 0; i < STEPS; i++)
                        step(world);
                close_world(world);
                bound += world->bound;
                taken += world->taken;
                unsure += world->unsure;
                removed += world->removed;
                found += world->found;
                refused += world->refused;
        }
        print_message("bound %u taken %u unsure %u removed %u found %u refused %u\n", bound, taken, unsure, removed, found,
                      refused);
        assert_true(one || (bound > count && taken > count && unsure > count && removed > count && found > count / 2));
        free(world);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_late_metadata) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
