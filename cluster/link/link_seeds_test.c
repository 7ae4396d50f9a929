/* Two peers, by seeds: connections break, stall and are refused, either side sleeps, is stopped, or ends and is started again, and
 * their clocks are hours apart.
 * PW_LINK_SEED=n plays that one, PW_LINK_SEEDS=n so many. Once nothing disturbs them any more the two meet, and all that is said
 * then arrives. */
#include "cluster/link/link_ends_test.h"

static void start_again(uint32_t at)
{
        struct end *end = &scene->ends[at];

        pw_peer_free(end->peer);
        for (uint32_t i = 0; i < CONNECTIONS; i++)
                scene->connections[i].open[at] = false;
        ends_begin_one(at);
        scene->ends[at].gone_until_us = ends_below(2) ? scene->now_us + ends_below(SECOND) : 0;
}

static void shut_one(uint32_t at)
{
        uint32_t first = ends_below(CONNECTIONS);

        for (uint32_t i = 0; i < CONNECTIONS; i++)
                if (scene->connections[(first + i) % CONNECTIONS].open[at]) {
                        ends_shut(&scene->connections[(first + i) % CONNECTIONS], at);
                        return;
                }
}

static void disturb(void)
{
        uint32_t at = ends_below(2);

        switch (ends_below(scene->seed % 3 ? 400 : 60)) {
        case 0: scene->stalled_until_us[at] = scene->now_us + ends_below(5 * SECOND); break;
        case 1: scene->ends[at].stopped_until_us = scene->now_us + ends_below(5 * SECOND); break;
        case 2: if (ends_below(4) == 0) start_again(at); break;
        case 3: case 4: case 5: case 6: shut_one(at); break;
        default: break;
        }
}

static void check_one_connection(void)
{
        uint32_t open[2] = { 0, 0 };

        for (uint32_t i = 0; i < CONNECTIONS; i++)
                for (uint32_t at = 0; at < 2; at++)
                        open[at] += scene->connections[i].open[at];
        ends_must(open[0] == 1 && open[1] == 1, "not one connection is left");
}

/* What either says of the other's clock is so. */
static void check_clocks(void)
{
        for (uint32_t at = 0; at < 2; at++) {
                int64_t ahead_us = (int64_t)(ends_clock(!at) - ends_clock(at)), off_us;
                struct pw_link_sample sample;

                ends_must(pw_link_clock_see(&scene->ends[at].link->clock, ends_clock(at), &sample), "a clock that is not known");
                off_us = sample.ahead_us - ahead_us;
                ends_must((uint64_t)(off_us < 0 ? -off_us : off_us) <= sample.bound_us, "a clock is not what it is said to be");
                ends_must(sample.bound_us < 5000, "a clock is not known well");
        }
}

static void play(uint64_t seed, struct end *ret_sum)
{
        uint64_t before[2];
        bool works;

        ends_begin(seed);
        scene->ends[ends_below(2)].ahead_us = (int64_t)ends_below(100000) * SECOND;
        works = ends_below(2);
        for (uint32_t i = 0; i < 1500; i++) {
                for (uint32_t n = ends_below(6); n; n--)
                        ends_say(ends_below(2), works && ends_below(4) != 0);
                ends_go_on(1000 + ends_below(40000));
                disturb();
        }
        scene->calm = true;
        for (uint32_t at = 0; at < 2; at++)
                scene->ends[at].stopped_until_us = scene->ends[at].gone_until_us = scene->stalled_until_us[at] = 0;
        ends_go_on(5 * SECOND); /* one that nobody wants since it was given up stays away */
        for (uint32_t at = 0; at < 2; at++)
                ends_say(at, false);
        ends_go_on(5 * SECOND);
        for (uint32_t at = 0; at < 2; at++) {
                ends_must(scene->ends[at].link->state == PW_LINK_UP, "they do not meet");
                ends_must(pw_list_empty(&scene->ends[at].link->kept) && pw_list_empty(&scene->ends[at].link->waiting) &&
                     !scene->ends[at].link->kept_bytes, "something was kept");
                before[at] = scene->ends[!at].arrived;
                ret_sum->given_up += scene->ends[at].given_up;
                ret_sum->ended += scene->ends[at].ended;
                ret_sum->arrived += scene->ends[at].arrived;
        }
        ends_must(scene->ends[0].link->term == scene->ends[1].link->term, "they are in two terms");
        check_one_connection();
        check_clocks();
        for (uint32_t at = 0; at < 2; at++)
                for (uint32_t n = 0; n < 5; n++)
                        ends_say(at, false);
        ends_go_on(SECOND);
        for (uint32_t at = 0; at < 2; at++)
                ends_must(scene->ends[!at].arrived == before[at] + 5, "not all that was said arrived");
        ends_done();
}

static void test_seeds(void **state)
{
        const char *one = getenv("PW_LINK_SEED"), *many = getenv("PW_LINK_SEEDS");
        uint64_t first = one ? strtoull(one, NULL, 10) : 1, count = one ? 1 : many ? strtoull(many, NULL, 10) : 60;
        struct end sum = { 0 };

        (void)state;
        for (uint64_t seed = first; seed < first + count; seed++)
                play(seed, &sum);
        print_message("%lu plays: %lu frames arrived, %lu times given up, %lu of them as they had ended\n", (unsigned long)count,
                      (unsigned long)sum.arrived, (unsigned long)sum.given_up, (unsigned long)sum.ended);
        assert_true(one || (sum.given_up > count && sum.arrived > 100 * count && sum.ended > count / 10));
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_seeds) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
