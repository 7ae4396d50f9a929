/* Hosts that borrow of each other, by seeds: clients put, open, read, hand ids on by channels of their own, drop and die;
 * connections are late, break and are blocked in any direction; hosts stop, for up to a minute, drain, are killed, started again.
 * PW_SEED=n plays that one, PW_BORROW_SEEDS=n so many; PW_BORROW_TRACE=1 prints what changes.
 *
 * After each event: what a host has borrowed in a term is held for it at its lender; a slot is what its proxy is; what is ready
 * stays so, and is what was put; what ends after it has drained takes nothing along; who opened is answered by his deadline, and
 * not that it is gone or lost without a cause. Once nothing disturbs them any more, ids are good again, and when everybody has
 * dropped what he had nothing is left anywhere. */
#include "tests/world/cluster/clients.h"

#define STEPS 1200u
#define MANY 64u       /* hosts, in one play */
#define MANY_STEPS 200u
#define NEIGHBOURS 6u /* whom each calls once all is calm: with up to 7 hosts all */

/* --- what must hold --------------------------------------------------------------------------------------------------------- */

static const enum object_state slots[PW_PROXY_STATES] = {
        [PW_PROXY_PENDING] = OBJECT_PENDING, [PW_PROXY_ELSEWHERE] = OBJECT_ELSEWHERE, [PW_PROXY_WHOLE] = OBJECT_READY,
        [PW_PROXY_ENDED] = OBJECT_LOST, [PW_PROXY_ALONE] = OBJECT_READY, [PW_PROXY_RENEWING] = OBJECT_READY,
        [PW_PROXY_MOVING] = OBJECT_ELSEWHERE, [PW_PROXY_FOLLOWING] = OBJECT_ELSEWHERE,
        [PW_PROXY_LOST] = OBJECT_LOST,
};

static void check_proxy(void *context, const struct pw_proxy_row *row)
{
        uint32_t host = *(uint32_t *)context;
        const struct object *object = row->place;
        const struct held *held;

        if (row->state < PW_PROXY_PENDING)
                return;
        hosts_must(object && object->proxy == row->proxy, "a proxy without a slot");
        hosts_must(object->state == slots[row->state] || (object->state == OBJECT_FAILED && slots[row->state] == OBJECT_READY),
                   "a slot is not what its proxy is");
        hosts_must(object->state != OBJECT_READY || object->value == object->thing->value, "a value that was not put");
        if (!row->number || row->state == PW_PROXY_RENEWING || row->state == PW_PROXY_FOLLOWING ||
            !world->hosts[row->lender].lend ||
            !hosts_in_one_term(host, row->lender))
                return;
        held = store_held_for(row->lender, host, row->number);
        hosts_must(held && pw_id_equal(held->id, row->id) && held->object->loans, "somebody holds what its lender has freed");
}

struct loans { struct pw_lend_row rows[512]; uint32_t count; };

static void check_loan(void *context, const struct pw_lend_row *row)
{
        struct loans *loans = context;

        for (uint32_t i = 0; i < loans->count; i++)
                hosts_must(loans->rows[i].session != row->session || !pw_id_equal(loans->rows[i].id, row->id),
                           "two references of one host");
        hosts_must(loans->count < 512, "too many loans");
        loans->rows[loans->count++] = *row;
}

static void check(void)
{
        for (uint32_t host = 1; host <= world->count; host++) {
                struct loans loans = { .count = 0 };

                if (!world->hosts[host].borrow)
                        continue;
                pw_borrow_each(world->hosts[host].borrow, check_proxy, &host);
                if (world->random % 16 == 0)
                        pw_lend_each(world->hosts[host].lend, check_loan, &loans);
                for (uint32_t i = 0; host_is_up(host) && i < CLIENTS * OPENS; i++) {
                        const struct open *open = &play.clients[host][i / OPENS].opens[i % OPENS];

                        hosts_must(!open->opener || world->now_us <= open->until_us + 1000, "an open that is not answered");
                }
        }
}

static void go_on(uint64_t us)
{
        for (uint64_t until_us = world->now_us + us; world->now_us < until_us;) {
                hosts_step(until_us);
                clients_receive();
                check();
        }
}

/* --- what is in their way --------------------------------------------------------------------------------------------------- */

static void kill_host(uint32_t host)
{
        if (!world->hosts[host].borrow)
                return;
        for (uint32_t number = 0; number < CLIENTS; number++)
                client_die(host, number, true);
        play.drained += pw_drain_state(world->hosts[host].drain) == PW_DRAIN_DRAINED;
        hosts_kill(host);
        play.dead_until_us[host] = world->now_us + hosts_below(8 * SECOND);
}

static void block(uint32_t a, uint32_t b)
{
        world->blocked_until_us[a][b] = world->now_us + hosts_below(6 * SECOND);
        if (hosts_below(2))
                world->blocked_until_us[b][a] = world->now_us + hosts_below(6 * SECOND);
}

static void disturb(void)
{
        uint32_t a = 1 + hosts_below(world->count), b = 1 + hosts_below(world->count);

        switch (hosts_below(world->seed % 4 ? 250 : 60)) {
        case 0: world->hosts[a].stopped_until_us = world->now_us + hosts_below((hosts_below(6) ? 5 : 60) * SECOND); break;
        case 1: case 2: block(a, b); break;
        case 3: case 4: hosts_break(a, b); break;
        case 5:
                for (b = 1; hosts_below(2) && b <= world->count; b++)
                        block(a, b);
                break;
        case 6: if (hosts_below(3) == 0) kill_host(a); break;
        case 7: if (host_is_up(a)) hosts_drain(a, hosts_below(2) ? b : 0); break;
        case 8: case 9:
                for (a = 1; a <= world->count; a++)
                        if (host_is_up(a) && pw_drain_state(world->hosts[a].drain) == PW_DRAIN_DRAINED && hosts_below(2))
                                kill_host(a);
                break;
        default: break;
        }
        for (uint32_t host = 1; host <= world->count; host++)
                if (!world->hosts[host].borrow && world->now_us >= play.dead_until_us[host])
                        hosts_start(host);
}

/* --- quiet ------------------------------------------------------------------------------------------------------------------ */

static uint32_t neighbours(void) { return (uint32_t)pw_min_u64(world->count - 1, NEIGHBOURS); }
static uint32_t neighbour(uint32_t host, uint32_t i) { return 1 + (host + i) % world->count; }

/* Who opens an object of a host wants that host, whatever comes of it. */
static void call(uint32_t i)
{
        struct object *objects[HOSTS_MAX];

        for (uint32_t own = 1; own <= world->count; own++) {
                objects[own] = store_put(neighbour(own, i), 64, true);
                client_open(own, 0, objects[own]->thing, NULL, 20 * SECOND);
        }
        go_on(SECOND / 2);
        for (uint32_t own = 1; own <= world->count; own++)
                store_drop(neighbour(own, i), objects[own]);
}

static void calm_down(void)
{
        world->calm = true;
        memset(world->blocked_until_us, 0, sizeof world->blocked_until_us);
        for (uint32_t host = 1; host <= world->count; host++) {
                world->hosts[host].stopped_until_us = 0;
                if (!world->hosts[host].borrow)
                        hosts_start(host);
        }
        go_on(10 * SECOND);
        for (uint32_t i = 0; i < neighbours(); i++)
                call(i);
        go_on(4 * SECOND);
        for (uint32_t a = 1; a <= world->count; a++)
                for (uint32_t i = 0; i < neighbours(); i++)
                        hosts_must(world->hosts[a].links[neighbour(a, i)]->state == PW_LINK_UP,
                                   "a host that is wanted is not called");
}

/* Everything is decided, and every replica whole; nothing that waits is forgotten. */
static void decide_all(void)
{
        struct object *object;

        for (uint32_t host = 1; host <= world->count; host++)
                pw_list_each(&world->hosts[host].objects, object, struct object, link)
                        if (!object->proxy)
                                store_decide(host, object, OBJECT_READY);
        go_on(2 * SECOND);
        for (uint32_t round = 0; round < 2; round++, go_on(2 * SECOND))
                for (uint32_t host = 1; host <= world->count; host++)
                        pw_list_each(&world->hosts[host].objects, object, struct object, link) {
                                hosts_must(object->state != OBJECT_PENDING, "a wait that does not end");
                                hosts_must(object->state != OBJECT_ELSEWHERE || !round, "a pull that does not end");
                                store_read(host, object);
                        }
}

static bool drains(uint32_t host) { return pw_drain_state(world->hosts[host].drain) != PW_DRAIN_NONE; }

static void check_renewed(void *context, const struct pw_proxy_row *row)
{
        const struct object *object = row->place;
        uint32_t home = pw_id_host(row->id);

        (void)context;
        hosts_must(row->state >= PW_PROXY_PENDING && row->state != PW_PROXY_RENEWING, "an open that does not end");
        hosts_must(row->state != PW_PROXY_ALONE || !object->thing->is_there || drains(home),
                   "a replica that its home does not know of");
        play.alone += row->state == PW_PROXY_ALONE && world->hosts[home].epoch != row->id.epoch;
}

/* Who has it? 0: nobody. */
static uint32_t host_of_whole(const struct thing *thing)
{
        for (uint32_t host = 1; host <= world->count; host++) {
                const struct object *object = store_find(host, thing->id);

                if (object && object->refs && (object->state == OBJECT_READY || object->state == OBJECT_FAILED))
                        return host;
        }
        return 0;
}

/* Ids are good for whoever has them, if anybody holds the object. */
static void open_all(void)
{
        struct thing *thing;
        struct open *open = &play.clients[1][0].opens[0];
        uint64_t lost = play.lost, gone = play.gone, overdue = play.overdue;

        pw_list_each(&world->things, thing, struct thing, link) {
                uint32_t home = pw_id_host(thing->id), host = 1 + hosts_below(world->count);
                bool is_over = world->hosts[home].epoch != thing->id.epoch;

                if (is_over ? !host_of_whole(thing) : !thing->is_there)
                        continue;
                for (uint32_t i = 0; i < HANDLES; i++)
                        client_drop(host, &play.clients[host][0], i, true);
                open = &play.clients[host][0].opens[0];
                client_open(host, 0, thing, NULL, 20 * SECOND);
                for (uint32_t i = 0; open->opener && i < 1000; i++) {
                        hosts_step(world->now_us + SECOND);
                        check();
                }
                if (is_over ? host_of_whole(thing) != 0 : thing->is_there)
                        hosts_must(play.lost == lost && play.gone == gone && play.overdue == overdue,
                                   "an id that somebody holds is not good");
                lost = play.lost;
                gone = play.gone;
                overdue = play.overdue;
        }
}

static void check_nothing(void *context, const struct pw_proxy_row *row)
{
        (void)context;
        (void)row;
        hosts_must(false, "a proxy is left");
}

static void check_no_loan(void *context, const struct pw_lend_row *row)
{
        (void)context;
        (void)row;
        hosts_must(false, "a loan is left");
}

static void drop_all(void)
{
        for (uint32_t host = 1; host <= world->count; host++)
                for (uint32_t number = 0; number < CLIENTS; number++)
                        client_die(host, number, false);
        go_on(10 * SECOND);
        for (uint32_t host = 1; host <= world->count; host++) {
                hosts_must(pw_list_empty(&world->hosts[host].objects), "an object is left that nobody holds");
                pw_borrow_each(world->hosts[host].borrow, check_nothing, NULL);
                pw_lend_each(world->hosts[host].lend, check_no_loan, NULL);
        }
}

static void play_one(uint64_t seed, uint32_t count, uint32_t steps)
{
        memset(&play.clients, 0, sizeof play.clients);
        memset(&play.passings, 0, sizeof play.passings);
        hosts_begin(seed, count);
        world->answered = client_answered;
        for (uint32_t i = 0; i < steps; i++) {
                for (uint32_t n = 1 + hosts_below(4); n; n--)
                        clients_act(1 + hosts_below(world->count));
                go_on(1 + hosts_below(40000));
                disturb();
        }
        calm_down();
        go_on(20 * SECOND); /* each open is answered, each miss is old */
        for (uint32_t host = 1; host <= world->count; host++)
                pw_borrow_each(world->hosts[host].borrow, check_renewed, NULL);
        decide_all();
        open_all();
        drop_all();
        hosts_done();
}

static void test_seeds(void **state)
{
        const char *one = getenv("PW_SEED"), *many = getenv("PW_BORROW_SEEDS");
        uint64_t first = one ? strtoull(one, NULL, 10) : 1, count = one ? 1 : many ? strtoull(many, NULL, 10) : 100;

        (void)state;
        for (uint64_t seed = first; seed < first + count; seed++)
                play_one(seed, 2 + (uint32_t)(seed % 6), STEPS);
        print_message("%lu plays: %lu opens had, %lu gone, %lu lost, %lu overdue; %lu reads, %lu replicas of lost hosts, %lu hosts "
                      "drained\n",
                      (unsigned long)count, (unsigned long)play.had, (unsigned long)play.gone, (unsigned long)play.lost,
                      (unsigned long)play.overdue, (unsigned long)play.reads, (unsigned long)play.alone,
                      (unsigned long)play.drained);
        assert_true(one || (play.had > 20 * count && play.gone > count && play.lost > count && play.reads > 10 * count &&
                           play.drained > count / 4));
}

/* Many hosts; most of them never meet. */
static void test_many(void **state)
{
        uint64_t had = play.had;

        (void)state;
        play_one(1, MANY, MANY_STEPS);
        assert_true(play.had > had + MANY);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_seeds), cmocka_unit_test(test_many) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
