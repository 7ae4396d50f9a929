/* Hosts that pull from each other, by seeds: two to seven of them, whose links break and are cut in either direction, whose streams
 * break, whose threads report late, whose processes stop for a minute or are started again; chunks that come corrupt, values of
 * devices, values that are lost, holders that go. PW_SEED=n plays that one, PW_PULL_SEEDS=n so many. Once nothing disturbs them any
 * more, whoever wants what is there gets it; and once nobody wants anything, nothing is left. */
#include "tests/world/cluster/pulls.h"

static uint32_t objects_max; /* of the play */

static uint32_t some_object(void)
{
        for (uint32_t tries = 0; tries < 16; tries++) {
                uint32_t object = pulls_below(world->object_count);

                if (world->objects[object].is_there)
                        return object;
        }
        return pulls_below(world->object_count); /* its home has it no more */
}

static void drop_some(uint32_t host)
{
        struct room *room;

        pw_list_each(&world->hosts[host].rooms, room, struct room, link)
                if (!room->is_home && room->offered && pulls_below(2)) {
                        pulls_drop(room);
                        return;
                }
}

static void put_some(uint32_t host)
{
        if (world->object_count < objects_max)
                (void)pulls_put(host, 1 + (uint64_t)pulls_below((CHUNKS_MAX - 1) * PW_PULL_CHUNK_BYTES), pulls_below(4) == 0);
}

static void disturb(bool is_rough)
{
        uint32_t host = pulls_below(world->host_count), other = pulls_below(world->host_count);
        struct host *at = &world->hosts[host];
        uint64_t us = pulls_below(8) ? pulls_below(5 * SECOND) : 60 * SECOND;

        switch (pulls_below(is_rough ? 400 : 4000)) {
        case 0: if (pulls_below(3) == 0) at->stopped_until_us = world->now_us + us; break;
        case 1: case 2: if (host != other) pulls_pair(host, other)->ways[0].blocked_until_us = world->now_us + us; break;
        case 3: case 4: if (host != other) pulls_pair(host, other)->ways[1].blocked_until_us = world->now_us + us; break;
        case 5: case 6: case 7: if (host != other) pulls_break(host, other); break;
        case 8: case 9: case 10: case 11: case 12:
                if (host != other)
                        pulls_break_stream(host, other, pulls_below(STREAMS));
                break;
        case 13: if (world->object_count) pulls_lose(pulls_below(world->object_count)); break;
        case 14:
                if (pulls_below(3) == 0 && at->stopped_until_us <= world->now_us) {
                        pulls_kill_host(host);
                        pulls_start_host(host);
                }
                break;
        default: break;
        }
}

/* What is of a home that was started again, of who has it still. */
static void want_lost(uint32_t host)
{
        uint32_t first = pulls_below(world->host_count);

        for (uint32_t number = 0; number < world->object_count; number++) {
                const struct object *object = &world->objects[number];

                if (object->id.epoch == world->hosts[object->home].epoch || pulls_room(host, number))
                        continue;
                for (uint32_t i = 0; i < world->host_count; i++) {
                        uint32_t other = (first + i) % world->host_count;
                        const struct room *room = other != host ? pulls_room(other, number) : NULL;

                        if (room && room->is_ready) {
                                pulls_want_of(host, number, other);
                                return;
                        }
                }
        }
}

static void live(uint32_t host)
{
        if (world->hosts[host].stopped_until_us > world->now_us)
                return;
        switch (pulls_below(40)) {
        case 0: put_some(host); break;
        case 1: case 2: case 3: case 4: if (world->object_count) pulls_want(host, some_object()); break;
        case 5: case 6: drop_some(host); break;
        case 7: case 8: if (world->object_count) want_lost(host); break;
        default: break;
        }
}

static void calm_down(void)
{
        world->calm = true;
        for (uint32_t i = 0; i < world->host_count; i++) {
                world->hosts[i].stopped_until_us = 0;
                for (uint32_t j = i + 1; j < world->host_count; j++)
                        world->pairs[i][j].ways[0].blocked_until_us = world->pairs[i][j].ways[1].blocked_until_us = 0;
        }
        pulls_go_on(70 * SECOND); /* what is late by a minute reports */
        pulls_check_known();
}

static void drop_all(void)
{
        for (uint32_t i = 0; i < world->host_count; i++)
                for (uint32_t object = 0; object < world->object_count; object++) {
                        struct room *room = pulls_room(i, object);

                        if (room && !room->is_home)
                                pulls_drop(room);
                }
        pulls_go_on(2 * SECOND);
        pulls_must(pulls_is_quiet(), "something is left");
}

/* Everybody wants everything that is there. */
static void all_want(void)
{
        for (uint32_t i = 0; i < world->host_count; i++)
                for (uint32_t object = 0; object < world->object_count; object++)
                        if (world->objects[object].is_there)
                                pulls_want(i, object);
        pulls_go_on(25 * SECOND);
        for (uint32_t i = 0; i < world->host_count; i++)
                for (uint32_t object = 0; object < world->object_count; object++) {
                        const struct room *room = world->objects[object].is_there ? pulls_room(i, object) : NULL;

                        pulls_must(!world->objects[object].is_there || (room && (room->is_home || room->is_ready)),
                                   "what is there is not had by who wants it");
                }
}

static void lose_all(void)
{
        for (uint32_t object = 0; object < world->object_count; object++)
                if (world->objects[object].is_there)
                        pulls_lose(object);
        for (uint32_t i = 0; i < world->host_count; i++) {
                pulls_must(!pw_pull_source_count(world->hosts[i].source).offers, "an offer is left");
                pulls_must(!pw_pull_spread_objects(world->hosts[i].spread), "an object is left at its home");
        }
}

struct sums { uint64_t ready, failed, renewed, handed_on, reports, sends, staged, corrupt, given_up, failed_of[128]; };

static void add(struct sums *sums)
{
        sums->ready += world->ready;
        sums->renewed += world->renewed;
        sums->handed_on += world->handed_on;
        sums->reports += world->reports;
        sums->sends += world->sends;
        sums->staged += world->staged;
        sums->corrupt += world->corrupt;
        sums->given_up += world->given_up;
        for (uint32_t i = 0; i < 128; i++) {
                sums->failed += world->failed[i];
                sums->failed_of[i] += world->failed[i];
        }
}

static void play(uint64_t seed, uint32_t hosts, struct sums *sums)
{
        bool is_rough;

        objects_max = hosts < 8 ? pw_array_count(world->objects) : 4;
        pulls_begin(seed, hosts);
        is_rough = pulls_below(3) != 0;
        for (uint32_t i = 0; i < 2000; i++) {
                for (uint32_t n = 0; n < (hosts + 7) / 8; n++) {
                        live(pulls_below(world->host_count));
                        disturb(is_rough);
                }
                pulls_go_on(TICK_US);
        }
        calm_down();
        drop_all();
        all_want();
        drop_all();
        lose_all();
        add(sums);
        pulls_done();
}

static void test_seeds(void **state)
{
        const char *one = getenv("PW_SEED"), *many = getenv("PW_PULL_SEEDS");
        uint64_t first = one ? strtoull(one, NULL, 10) : 1, count = one ? 1 : many ? strtoull(many, NULL, 10) : 100;
        struct sums sums = { .ready = 0 };

        (void)state;
        for (uint64_t seed = first; seed < first + count; seed++)
                play(seed, 2 + (uint32_t)(seed % 6), &sums);
        print_message("%lu plays: %lu pulls ready, %lu failed (%lu deadline, %lu gone, %lu device, %lu host, %lu corrupt), %lu "
                      "sources reported, %lu chunks sent, %lu staged, %lu corrupt, %lu times given up, %lu renewed, %lu of lost "
                      "homes\n",
                      (unsigned long)count, (unsigned long)sums.ready, (unsigned long)sums.failed,
                      (unsigned long)sums.failed_of[PW_DEADLINE],
                      (unsigned long)sums.failed_of[PW_GONE], (unsigned long)sums.failed_of[PW_DEVICE_LOST],
                      (unsigned long)sums.failed_of[PW_HOST_LOST], (unsigned long)sums.failed_of[PW_PROTOCOL],
                      (unsigned long)sums.reports, (unsigned long)sums.sends, (unsigned long)sums.staged,
                      (unsigned long)sums.corrupt, (unsigned long)sums.given_up, (unsigned long)sums.renewed,
                      (unsigned long)sums.handed_on);
        assert_true(one || (sums.ready > 20 * count && sums.failed > count && sums.reports > count && sums.staged > 10 * count &&
                            sums.renewed > count / 2 && sums.handed_on > count / 4));
}

static void test_many_hosts(void **state)
{
        struct sums sums = { .ready = 0 };

        (void)state;
        play(64, 64, &sums);
        print_message("64 hosts: %lu pulls ready, %lu failed, %lu sources reported, %lu times given up\n",
                      (unsigned long)sums.ready, (unsigned long)sums.failed, (unsigned long)sums.reports,
                      (unsigned long)sums.given_up);
        assert_true(sums.ready > 64);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_many_hosts), cmocka_unit_test(test_seeds) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
