/* Hosts that drain hand on what names hold, by seeds: links are late, break and are blocked in any direction; hosts stop, drain,
 * are killed, started again; metadata is slow, and does not always say what it has done; clients remove names where they are kept.
 * PW_SEED=n plays that one, PW_NAMES_SEEDS=n so many.
 *
 * After each event: whoever keeps the binding of a name holds its object, all of it where that is another host's. A name that was
 * removed stays removed. Once nothing disturbs them any more, hosts that drain have handed on all, and a name that was neither
 * removed nor kept by a host that was killed is good, with the value that was put. */
#include "tests/world/cluster/hosts.h"

#include "base/memory.h"
#include "cluster/drain/hand.h"

#define NAMES 12u
#define HOSTS 4u
#define STEPS 500u

/* In metadata, and what has happened to it. */
struct name { struct thing *thing; uint32_t keeper, epoch; bool bound, removed, lost; };

/* What a host has of one. GETTING: its bytes; TAKING, ENDING: metadata is asked; UNSURE: what it did is read back. */
enum hold_state { NONE, GETTING, TAKING, UNSURE, BOUND, ENDING };
struct hold {
        enum hold_state state;
        struct object *object;     /* held */
        uint64_t opener, at_us;    /* of its open; when metadata answers */
        uint32_t from, from_epoch; /* who hands it on, */
        uint64_t from_ended;       /* in which of its terms: where that has ended nobody is told */
};

/* From one host to another: to take it, or what came of it. */
struct note { uint8_t kind; bool answers; uint32_t from, to, name, epoch; enum pw_status status; };

static struct {
        struct name names[NAMES];
        struct hold holds[HOSTS + 1][NAMES];
        struct pw_hand *hands[HOSTS + 1];
        uint64_t ended[HOSTS + 1][HOSTS + 1]; /* as the hands have heard */
        uint64_t openers, dead_until_us[HOSTS + 1];
        uint64_t handed, gone, removed, lost;
} play;

static bool is_up(uint32_t host) { return world->hosts[host].borrow && world->now_us >= world->hosts[host].stopped_until_us; }

/* --- notes -------------------------------------------------------------------------------------------------------------------- */

static void send(const struct note *as)
{
        struct note note = *as;
        struct pw_link_frame *frame;

        note.kind = HOSTS_OTHER_FRAMES;
        note.epoch = world->hosts[note.from].epoch;
        frame = pw_link_frame_new(&note, sizeof note, false);
        assert_non_null(frame);
        if (pw_link_send(world->hosts[note.from].links[note.to], frame, world->now_us, NULL) != PW_OK)
                pw_link_frame_free(frame); /* it was given up: who asks has heard, or will */
}

static void answer(uint32_t host, uint32_t name, enum pw_status status)
{
        const struct hold *hold = &play.holds[host][name];

        if (hold->from && hold->from_ended == world->hosts[host].ended[hold->from])
                send(&(struct note){ .answers = true, .from = host, .to = hold->from, .name = name, .status = status });
}

/* --- holding ------------------------------------------------------------------------------------------------------------------ */

static void let_go(uint32_t host, uint32_t name)
{
        struct hold *hold = &play.holds[host][name];

        if (hold->object)
                store_drop(host, hold->object);
        *hold = (struct hold){ .state = NONE };
}

static void refuse(uint32_t host, uint32_t name, enum pw_status status)
{
        answer(host, name, status);
        let_go(host, name);
}

static void ask_metadata(struct hold *hold, enum hold_state state)
{
        hold->state = state;
        hold->at_us = world->now_us + 200 + hosts_below(world->calm ? 1000 : 200000);
}

static void opened(uint32_t host, uint64_t opener, struct object *object, const struct pw_error *err)
{
        (void)err;
        for (uint32_t name = 0; name < NAMES; name++) {
                struct hold *hold = &play.holds[host][name];

                if (hold->state != GETTING || hold->opener != opener)
                        continue;
                hold->opener = 0;
                hold->object = object;
                if (!object)
                        refuse(host, name, PW_NOT_READY);
                return;
        }
        if (object)
                store_drop(host, object);
}

static void take(uint32_t host, const struct note *note)
{
        struct hold *hold = &play.holds[host][note->name];
        struct object *object;
        enum pw_status status;

        if (hold->state != NONE && hold->state != BOUND && hold->from != note->from) { /* it is being taken from another one */
                send(&(struct note){ .answers = true, .from = host, .to = note->from, .name = note->name, .status = PW_BUSY });
                return;
        }
        if (hold->state == NONE)
                *hold = (struct hold){ .state = GETTING };
        hold->from = note->from;
        hold->from_epoch = note->epoch;
        hold->from_ended = world->hosts[host].ended[note->from];
        if (hold->state == BOUND)
                answer(host, note->name, PW_OK);
        if (hold->state != GETTING || hold->opener || hold->object)
                return;
        hold->opener = ++play.openers;
        status = store_open(host, play.names[note->name].thing, hold->opener, world->now_us + 5 * SECOND, &object);
        if (status == PW_OK)
                opened(host, hold->opener, object, NULL);
        else if (status != PW_NOT_READY)
                refuse(host, note->name, status);
}

/* One compare-and-set. */
static bool is_kept_by(const struct name *name, uint32_t host, uint32_t epoch)
{
        return name->bound && name->keeper == host && name->epoch == epoch;
}

static enum pw_status set_keeper(uint32_t host, uint32_t number)
{
        const struct hold *hold = &play.holds[host][number];
        struct name *name = &play.names[number];
        uint32_t epoch = world->hosts[host].epoch;

        if (!name->bound)
                return PW_NOT_READY; /* it was removed: who hands it on finds out */
        if (is_kept_by(name, hold->from, hold->from_epoch) && hold->from_epoch == world->hosts[hold->from].epoch) {
                name->keeper = host;
                name->epoch = epoch;
        }
        return is_kept_by(name, host, epoch) ? PW_OK : PW_EXISTS;
}

static void end_binding(uint32_t host, uint32_t number)
{
        struct name *name = &play.names[number];

        if (!is_kept_by(name, host, world->hosts[host].epoch))
                return;
        name->bound = false;
        name->removed = true;
        play.removed++;
}

/* Metadata answers, or nobody knows what it has done: then it is asked. */
static void answered(uint32_t host, uint32_t number)
{
        struct hold *hold = &play.holds[host][number];
        const struct name *name = &play.names[number];
        enum pw_status status;

        if (hold->state == ENDING) {
                end_binding(host, number);
                refuse(host, number, PW_NOT_READY); /* who asked for it meanwhile */
        } else if (hold->state == UNSURE) {
                bool is_own = is_kept_by(name, host, world->hosts[host].epoch);

                if (is_own)
                        hold->state = BOUND;
                if (is_own)
                        answer(host, number, PW_OK);
                else /* its keeper's still, or not */
                        refuse(host, number, is_kept_by(name, hold->from, hold->from_epoch) || !name->bound ? PW_NOT_READY
                                                                                                           : PW_EXISTS);
        } else if (!world->calm && hosts_below(4) == 0) {
                if (hosts_below(2))
                        (void)set_keeper(host, number);
                ask_metadata(hold, UNSURE);
        } else if ((status = set_keeper(host, number)) == PW_OK) {
                hold->state = BOUND;
                answer(host, number, PW_OK);
        } else {
                refuse(host, number, status);
        }
}

static void turn_hold(uint32_t host, uint32_t name)
{
        struct hold *hold = &play.holds[host][name];

        if (hold->state == GETTING && hold->object) {
                store_read(host, hold->object);
                if (hold->object->state == OBJECT_READY)
                        ask_metadata(hold, TAKING);
                else if (hold->object->state != OBJECT_ELSEWHERE)
                        refuse(host, name, PW_NOT_READY);
        } else if (hold->state == BOUND && hold->object->state == OBJECT_LOST) {
                hosts_must(false, "what a name holds is lost");
        } else if ((hold->state == TAKING || hold->state == UNSURE || hold->state == ENDING) && world->now_us >= hold->at_us) {
                answered(host, name);
        }
}

/* --- handing on --------------------------------------------------------------------------------------------------------------- */

static void notice_ends(uint32_t host)
{
        for (uint32_t other = 1; other <= HOSTS; other++)
                if (play.ended[host][other] != world->hosts[host].ended[other]) {
                        play.ended[host][other] = world->hosts[host].ended[other];
                        pw_hand_ended(play.hands[host], other);
                }
}

static void turn_hand(uint32_t host)
{
        struct pw_hand *hand = play.hands[host];
        struct pw_hand_action action;

        notice_ends(host);
        if (pw_drain_state(world->hosts[host].drain) == PW_DRAIN_NONE)
                return;
        pw_hand_look(hand);
        for (uint32_t name = 0; name < NAMES; name++)
                if (play.holds[host][name].state == BOUND)
                        assert_int_equal(pw_hand_see(hand, name + 1, play.names[name].thing->id, true, NULL), PW_OK);
        pw_hand_looked(hand);
        pw_hand_to(hand, pw_drain_successor(world->hosts[host].drain));
        while (pw_hand_next(hand, world->now_us, &action)) {
                if (action.kind == PW_HAND_ASK) {
                        send(&(struct note){ .from = host, .to = action.host, .name = (uint32_t)action.number - 1 });
                        continue;
                }
                ask_metadata(&play.holds[host][action.number - 1], ENDING); /* as the store does: it is not this host's any more */
                play.handed++;
        }
}

static void heard(uint32_t host, const uint8_t *data, uint32_t bytes)
{
        struct note note;

        assert_int_equal(bytes, sizeof note);
        memcpy(&note, data, sizeof note);
        assert_int_equal(note.to, host);
        notice_ends(host);
        if (note.answers)
                pw_hand_answered(play.hands[host], note.from, note.name + 1, note.status, world->now_us);
        else if (pw_drain_state(world->hosts[host].drain) != PW_DRAIN_NONE)
                send(&(struct note){ .answers = true, .from = host, .to = note.from, .name = note.name, .status = PW_BUSY });
        else
                take(host, &note);
}

static void check(void)
{
        for (uint32_t i = 0; i < NAMES; i++) {
                const struct name *name = &play.names[i];
                const struct hold *hold = &play.holds[name->keeper][i];

                if (!name->bound || name->epoch != world->hosts[name->keeper].epoch || !world->hosts[name->keeper].borrow)
                        continue;
                hosts_must(hold->state > GETTING && hold->object && hold->object->refs,
                           "who keeps a name does not hold its object");
                hosts_must(hold->object->state == OBJECT_READY && hold->object->value == name->thing->value,
                           "who keeps a name has not its value");
        }
}

static void go_on(uint64_t us)
{
        for (uint64_t until_us = world->now_us + us; world->now_us < until_us;) {
                hosts_step(pw_min_u64(until_us, world->now_us + 5000));
                for (uint32_t host = 1; host <= HOSTS; host++) {
                        if (!is_up(host))
                                continue;
                        for (uint32_t name = 0; name < NAMES; name++)
                                turn_hold(host, name);
                        turn_hand(host);
                }
                check();
        }
}

/* --- what happens ------------------------------------------------------------------------------------------------------------- */

/* As daemons do: each host is dealt with from when it is known. */
static void start(uint32_t host)
{
        if (!world->hosts[host].borrow)
                hosts_start(host);
        for (uint32_t other = 1; other <= HOSTS; other++)
                if (other != host)
                        pw_link_want(world->hosts[host].links[other], world->now_us);
}

static void begin_hand(uint32_t host)
{
        assert_int_equal(pw_hand_new(&(struct pw_hand_params){ 3, SECOND / 2 }, &play.hands[host], NULL), PW_OK);
        memset(play.ended[host], 0, sizeof play.ended[host]);
}

static bool has_handed_on(uint32_t host)
{
        for (uint32_t name = 0; name < NAMES; name++)
                if (play.holds[host][name].state != NONE)
                        return false;
        return pw_drain_state(world->hosts[host].drain) == PW_DRAIN_DRAINED;
}

static void kill_host(uint32_t host)
{
        play.gone += has_handed_on(host);
        for (uint32_t i = 0; i < NAMES; i++) {
                struct name *name = &play.names[i];

                if (is_kept_by(name, host, world->hosts[host].epoch)) {
                        name->bound = false; /* its epoch is over, or will be */
                        name->lost = true;
                        play.lost++;
                }
                play.holds[host][i] = (struct hold){ .state = NONE };
        }
        hosts_kill(host);
        pw_hand_free(play.hands[host]);
        begin_hand(host);
        play.dead_until_us[host] = world->now_us + hosts_below(5 * SECOND);
}

static void unname(uint32_t host, uint32_t name)
{
        if (play.holds[host][name].state == BOUND)
                ask_metadata(&play.holds[host][name], ENDING);
}

static uint32_t count_others(uint32_t host)
{
        uint32_t count = 0;

        for (uint32_t other = 1; other <= HOSTS; other++)
                count += other != host && world->hosts[other].borrow &&
                         pw_drain_state(world->hosts[other].drain) == PW_DRAIN_NONE;
        return count;
}

static void disturb(void)
{
        uint32_t a = 1 + hosts_below(HOSTS), b = 1 + hosts_below(HOSTS);

        switch (hosts_below(world->seed % 4 ? 120 : 40)) {
        case 0: world->hosts[a].stopped_until_us = world->now_us + hosts_below(5 * SECOND); break;
        case 1: case 2: world->blocked_until_us[a][b] = world->now_us + hosts_below(6 * SECOND); break;
        case 3: case 4: if (a != b) hosts_break(a, b); break;
        case 5: if (hosts_below(4) == 0 && world->hosts[a].borrow) kill_host(a); break;
        case 6: case 7: if (is_up(a) && count_others(a)) hosts_drain(a, 0); break;
        case 8: unname(a, hosts_below(NAMES)); break;
        default: break;
        }
        for (uint32_t host = 1; host <= HOSTS; host++)
                if (is_up(host) && has_handed_on(host) && hosts_below(8) == 0)
                        kill_host(host); /* it is ended, and nothing with it */
        for (uint32_t host = 1; host <= HOSTS; host++)
                if (!world->hosts[host].borrow && world->now_us >= play.dead_until_us[host])
                        start(host);
}

/* --- plays -------------------------------------------------------------------------------------------------------------------- */

static void begin(uint64_t seed)
{
        memset(play.names, 0, sizeof play.names);
        memset(play.holds, 0, sizeof play.holds);
        hosts_begin(seed, HOSTS);
        world->answered = opened;
        world->heard = heard;
        for (uint32_t host = 1; host <= HOSTS; host++) {
                begin_hand(host);
                start(host);
        }
        for (uint32_t i = 0; i < NAMES; i++) {
                uint32_t host = 1 + i % HOSTS;
                struct object *object = store_put(host, i % 3 ? LARGE_BYTES : 10, true);

                play.names[i] = (struct name){ object->thing, host, world->hosts[host].epoch, true, false, false };
                play.holds[host][i] = (struct hold){ .state = BOUND, .object = object };
        }
        go_on(2 * SECOND);
}

static void calm_down(void)
{
        world->calm = true;
        memset(world->blocked_until_us, 0, sizeof world->blocked_until_us);
        for (uint32_t host = 1; host <= HOSTS; host++) {
                world->hosts[host].stopped_until_us = 0;
                start(host);
        }
        go_on(150 * SECOND); /* who was away is called again by then */
}

static void check_names(void)
{
        for (uint32_t i = 0; i < NAMES; i++) {
                const struct name *name = &play.names[i];

                hosts_must(name->bound + name->removed + name->lost == 1, "a name is neither there nor gone");
                if (name->bound && count_others(name->keeper))
                        hosts_must(pw_drain_state(world->hosts[name->keeper].drain) == PW_DRAIN_NONE,
                                   "a host that drains has not handed on a name");
        }
}

static void end(void)
{
        for (uint32_t host = 1; host <= HOSTS; host++)
                pw_hand_free(play.hands[host]);
        hosts_done();
}

static void test_seeds(void **state)
{
        const char *one = getenv("PW_SEED"), *many = getenv("PW_NAMES_SEEDS");
        uint64_t first = one ? strtoull(one, NULL, 10) : 1, count = one ? 1 : many ? strtoull(many, NULL, 10) : 100;

        (void)state;
        for (uint64_t seed = first; seed < first + count; seed++) {
                begin(seed);
                for (uint32_t i = 0; i < STEPS; i++) {
                        go_on(1 + hosts_below(60000));
                        disturb();
                }
                calm_down();
                check_names();
                end();
        }
        print_message("%lu plays: %lu names handed on, %lu hosts ended, nothing lost; %lu names removed, %lu lost with a host\n",
                      (unsigned long)count, (unsigned long)play.handed, (unsigned long)play.gone, (unsigned long)play.removed,
                      (unsigned long)play.lost);
        assert_true(one || (play.handed > count && play.gone > count / 4 && play.removed > count / 4));
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_seeds) };

        return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
