/* Ids are handed from client to client over three hosts, while those who had them let go: as long as one of them holds the object,
 * whoever opens it gets it, and its value is what was put.
 *
 * PW_HANDED is how often somebody does something, PW_SEED the seed of another round.
 */
#include "tests/integration/cluster/cluster.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CLIENTS 6 /* two on each host */
#define OBJECTS 12
#define MOST_BYTES 70000

struct object {
        struct pw_id id;
        struct pw_future *held[CLIENTS];
        uint64_t bytes;
        uint8_t value; /* of all of its bytes */
};

struct handing {
        const struct cluster *cluster;
        struct pw_session *clients[CLIENTS];
        struct object objects[OBJECTS];
        uint64_t seed, opened, read, put;
        uint8_t bytes[MOST_BYTES];
};

static uint64_t pick(struct handing *handing, uint64_t below) { return it_random(&handing->seed) % below; }

static void put(struct handing *handing, struct object *object, uint64_t client)
{
        static const uint64_t most[] = { 0, 24, 4096, 4096, MOST_BYTES };

        object->bytes = pick(handing, most[pick(handing, 5)] + 1);
        object->value = (uint8_t)pick(handing, 256);
        memset(handing->bytes, object->value, object->bytes);
        it_ok(pw_put(handing->clients[client], handing->bytes, object->bytes, NULL, &object->held[client], IT_ERR));
        object->id = pw_future_id(object->held[client]);
        handing->put++;
}

static void read_it(struct handing *handing, const struct object *object, uint64_t client)
{
        struct pw_view view;

        it_ok(pw_get(object->held[client], IT_LONG, &view, IT_ERR));
        assert_int_equal(view.bytes, object->bytes);
        for (uint64_t i = 0; i < view.bytes; i++)
                if (((const uint8_t *)view.data)[i] != object->value)
                        fail_msg("byte %d is not what was put", (int)i);
        pw_view_done(&view);
        handing->read++;
}

static bool is_held(const struct object *object)
{
        for (int i = 0; i < CLIENTS; i++)
                if (object->held[i])
                        return true;
        return false;
}

/* Where that fails, the logs say why: of a host that was given up others have let go. */
static void open_it(struct handing *handing, struct object *object, uint64_t client)
{
        struct pw_error err;

        if (pw_open(handing->clients[client], object->id, &object->held[client], &err) == PW_OK)
                return;
        cluster_print_logs(handing->cluster);
        fail_msg("client %d opens what is held: %s", (int)client, err.text);
}

static void step(struct handing *handing)
{
        struct object *object = &handing->objects[pick(handing, OBJECTS)];
        uint64_t client = pick(handing, CLIENTS), what = pick(handing, 3);

        if (!is_held(object)) {
                put(handing, object, client);
        } else if (!object->held[client]) {
                if (what) /* few hold it at a time, so that it often ends on a host, and comes back */
                        return;
                open_it(handing, object, client);
                handing->opened++;
        } else if (what == 0) {
                read_it(handing, object, client);
        } else {
                pw_unref(object->held[client]);
                object->held[client] = NULL;
        }
}

static void begin(struct handing *handing, struct cluster *cluster)
{
        cluster->linked = true;
        cluster->lease = "10s"; /* nobody is given up here, however busy the machine is */
        handing->cluster = cluster;
        for (int i = 0; i < CLUSTER_HOSTS; i++)
                cluster_start(cluster, i, i == 0);
        cluster_meet(cluster);
        for (int i = 0; i < CLIENTS; i++)
                handing->clients[i] = it_connect(&cluster->hosts[i % CLUSTER_HOSTS]);
}

static void end(struct handing *handing)
{
        for (int o = 0; o < OBJECTS; o++)
                for (int i = 0; i < CLIENTS; i++)
                        pw_unref(handing->objects[o].held[i]);
        for (int i = 0; i < CLIENTS; i++)
                pw_close(handing->clients[i]);
}

static void ids_are_handed_on_while_others_let_go(void **state)
{
        struct handing *handing = calloc(1, sizeof *handing);
        uint64_t count = it_environment("PW_HANDED", 20000);

        assert_non_null(handing);
        handing->seed = it_environment("PW_SEED", 1);
        print_message("PW_SEED=%" PRIu64 " PW_HANDED=%" PRIu64 "\n", handing->seed, count);
        begin(handing, *state);
        for (uint64_t i = 0; i < count; i++)
                step(handing);
        end(handing);
        print_message("%" PRIu64 " put, %" PRIu64 " opened, %" PRIu64 " read\n", handing->put, handing->opened, handing->read);
        free(handing);
}

int main(void)
{
        const struct CMUnitTest tests[] = { CLUSTER_TEST(ids_are_handed_on_while_others_let_go) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
