/* Hosts in virtual time: connections and links. */
#include "tests/world/cluster/hosts.h"

#include "base/transition.h"

struct hosts *world;

uint32_t hosts_below(uint32_t limit)
{
        world->random = world->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (uint32_t)(world->random >> 33) % limit;
}

void hosts_must(bool is_so, const char *what)
{
        if (!is_so)
                fail_msg("PW_SEED=%lu: %s, after %lu us", (unsigned long)world->seed, what, (unsigned long)world->now_us);
}

static void note(void *context, const struct pw_transition *transition)
{
        char line[PW_TRANSITION_TEXT_BYTES];
        size_t length = strlen(world->trace);

        pw_transition_format(transition, line);
        if (getenv("PW_BORROW_TRACE"))
                fprintf(stderr, "%lu host=%u %s\n", (unsigned long)world->now_us, (uint32_t)(uintptr_t)context, line);
        if (strncmp(line, "link", 4))
                snprintf(world->trace + length, sizeof world->trace - length, "%u %s\n", (uint32_t)(uintptr_t)context, line);
}
static struct pw_observer observers[HOSTS_MAX];

void hosts_expect(const char *trace)
{
        assert_string_equal(world->trace, trace);
        world->trace[0] = 0;
}

/* --- life ------------------------------------------------------------------------------------------------------------------- */

void hosts_start(uint32_t number)
{
        struct host *host = &world->hosts[number];

        observers[number] = (struct pw_observer){ note, (void *)(uintptr_t)number };
        host->number = number;
        host->epoch++;
        host->stopped_until_us = 0;
        host->slots = 0;
        pw_list_init(&host->objects);
        pw_list_init(&host->held);
        assert_int_equal(pw_lend_new(&observers[number], &host->lend, NULL), PW_OK);
        assert_int_equal(pw_borrow_new(&(struct pw_borrow_params){ .own = number, .lease_us = LEASE_US,
                                                                   .observer = &observers[number] }, &host->borrow, NULL), PW_OK);
        assert_int_equal(pw_drain_new(&(struct pw_drain_params){ number, &observers[number] }, &host->drain, NULL), PW_OK);
        host->drained = 0;
        for (uint32_t other = 1; other <= world->count; other++) {
                struct pw_link_params params = { .own = number, .host = other, .own_epoch = host->epoch, .lease_us = LEASE_US,
                                                 .beat_us = SECOND / 2, .window = 4, .kept_bytes_max = 1 << 24,
                                                 .observer = &observers[number] };

                host->ended[other] = 0;
                host->since_us[other] = UINT64_MAX;
                if (other != number)
                        assert_int_equal(pw_link_new(&params, &host->links[other], NULL), PW_OK);
        }
}

void hosts_begin(uint64_t seed, uint32_t count)
{
        world = calloc(1, sizeof *world);
        assert_non_null(world);
        world->seed = world->random = seed;
        world->now_us = SECOND;
        world->count = count;
        for (uint32_t a = 1; a < HOSTS_MAX; a++)
                for (uint32_t b = a; b < HOSTS_MAX; b++)
                        pw_list_init(&world->connections[a][b]);
        pw_list_init(&world->things);
        for (uint32_t number = 1; number <= count; number++) {
                world->hosts[number].epoch = 100;
                hosts_start(number);
        }
}

/* --- connections ------------------------------------------------------------------------------------------------------------ */

static struct pw_list *connections_of(uint32_t a, uint32_t b) { return &world->connections[a < b ? a : b][a < b ? b : a]; }

static uint32_t side_of(const struct connection *connection, uint32_t host)
{
        return connection->hosts[0] == host ? 0 : 1;
}

static void clear(struct pw_list *way)
{
        struct item *item;

        pw_list_each(way, item, struct item, link) {
                pw_list_remove(&item->link);
                free(item);
        }
}

static void forget(struct connection *connection)
{
        clear(&connection->ways[0]);
        clear(&connection->ways[1]);
        pw_list_remove(&connection->link);
        free(connection);
}

static void put(struct connection *connection, uint32_t to, const struct item *from, const void *data)
{
        struct pw_list *way = &connection->ways[to];
        struct item *item;

        if (!connection->open[0] || !connection->open[1])
                return; /* one of them has shut it */
        item = malloc(sizeof *item + from->bytes);
        assert_non_null(item);
        *item = *from;
        if (from->bytes)
                memcpy(item->data, data, from->bytes);
        item->at_us = world->now_us + 100 + (world->calm ? 0 : hosts_below(hosts_below(8) ? 2000 : 40000));
        if (!pw_list_empty(way))
                item->at_us = pw_max_u64(item->at_us, pw_list_item(way->prev, struct item, link)->at_us);
        pw_list_append(way, &item->link);
}

static void shut(struct connection *connection, uint32_t side)
{
        uint32_t own = connection->hosts[side], other = connection->hosts[!side];
        struct pw_link *link = world->hosts[own].links[other];

        if (!connection->open[side])
                return;
        connection->open[side] = false;
        clear(&connection->ways[side]);
        if (connection->number[side])
                pw_link_break(link, connection->number[side], world->now_us);
        else if (connection->called_by[side])
                pw_link_call_failed(link, world->now_us);
}

void hosts_break(uint32_t a, uint32_t b)
{
        struct connection *connection;

        pw_list_each(connections_of(a, b), connection, struct connection, link) {
                shut(connection, 0);
                shut(connection, 1);
        }
}

static struct pw_link_peer hello(uint32_t own, uint32_t other)
{
        const struct host *host = &world->hosts[own];

        return (struct pw_link_peer){ host->epoch, host->epoch * 7 + own, pw_link_stand(host->links[other]) };
}

static void call(uint32_t own, uint32_t other)
{
        struct connection *connection;

        if (!world->hosts[other].borrow || (!world->calm && hosts_below(6) == 0)) { /* nobody there */
                pw_link_call_failed(world->hosts[own].links[other], world->now_us);
                return;
        }
        connection = calloc(1, sizeof *connection);
        assert_non_null(connection);
        connection->hosts[0] = own < other ? own : other;
        connection->hosts[1] = own < other ? other : own;
        connection->open[0] = connection->open[1] = true;
        connection->called_by[side_of(connection, own)] = true;
        pw_list_init(&connection->ways[0]);
        pw_list_init(&connection->ways[1]);
        pw_list_append(connections_of(own, other), &connection->link);
        for (uint32_t to = 0; to < 2; to++)
                put(connection, to, &(struct item){ .kind = HELLO, .peer = hello(connection->hosts[!to], connection->hosts[to]) },
                    NULL);
}

/* --- the end of a term ------------------------------------------------------------------------------------------------------ */

/* `epoch`: of the other one, in that term. */
static void term_ended(uint32_t own, uint32_t other, uint32_t epoch)
{
        struct host *host = &world->hosts[own];

        store_term_ended(own, other, epoch);
        host->ended[other]++;
        host->since_us[other] = UINT64_MAX;
        pw_borrow_ended(host->borrow, other);
        pw_lend_ended(host->lend, other);
        pw_drain_ended(host->drain, other);
        hosts_act(own);
}

static bool meet(struct connection *connection, uint32_t side, const struct pw_link_peer *peer)
{
        uint32_t own = connection->hosts[side], other = connection->hosts[!side];
        struct host *host = &world->hosts[own];
        uint32_t epoch = host->links[other]->epoch; /* before they met */
        struct pw_link_met met;
        struct connection *it;

        if (pw_link_meet(host->links[other], peer, world->now_us, &met, NULL) != PW_OK) {
                shut(connection, side);
                return false;
        }
        if (met.ended_term)
                term_ended(own, other, epoch);
        pw_list_each(connections_of(own, other), it, struct connection, link)
                if (it != connection && (side == 1 || it->number[side] || it->called_by[side]))
                        shut(it, side);
        connection->number[side] = met.connection;
        if (host->since_us[other] == UINT64_MAX)
                hosts_must(pw_drain_met(host->drain, other, NULL) == PW_OK, "no memory to meet");
        host->since_us[other] = pw_min_u64(host->since_us[other], world->now_us);
        hosts_must(pw_borrow_met(host->borrow, other, peer->epoch, NULL) == PW_OK, "no memory to meet");
        hosts_act(own);
        return true;
}

/* --- reading and writing ---------------------------------------------------------------------------------------------------- */

static void read_message(uint32_t own, uint32_t other, const struct item *item)
{
        struct host *host = &world->hosts[own];
        struct pw_talk_message message;
        struct pw_error err = { 0 };

        if (world->heard && item->data[0] == HOSTS_OTHER_FRAMES) {
                world->heard(own, item->data, item->bytes);
                return;
        }
        hosts_must(pw_talk_decode(item->data, item->bytes, &message, &err) == PW_OK, err.text);
        if (pw_talk_is_for_lender(message.kind))
                hosts_must(pw_lend_receive(host->lend, other, &message, &err) == PW_OK, err.text);
        else
                hosts_must(pw_borrow_receive(host->borrow, other, &message, &err) == PW_OK, err.text);
        if (message.kind == PW_TALK_DRAINS)
                pw_drain_heard(host->drain, other);
        hosts_act(own);
}

static void read_item(struct connection *connection, uint32_t side, const struct item *item)
{
        uint32_t own = connection->hosts[side], other = connection->hosts[!side];
        struct pw_link *link = world->hosts[own].links[other];

        if (item->kind == HEAD) {
                struct pw_error err = { 0 };
                enum pw_status status = pw_link_receive(link, connection->number[side], &item->head, world->now_us, &err);

                hosts_must(status == PW_OK || status == PW_EXISTS || status == PW_GONE, err.text);
                if (status == PW_OK && item->head.number)
                        read_message(own, other, item);
        } else if (item->kind == HELLO && side == 1)
                connection->hello = item->peer; /* the answer comes next */
        else if (item->kind == HELLO && meet(connection, side, &item->peer))
                put(connection, 1, &(struct item){ .kind = PROCEED, .peer = hello(own, other) }, NULL);
        else if (item->kind == PROCEED)
                (void)meet(connection, side, &(struct pw_link_peer){ connection->hello.epoch, connection->hello.instance,
                                                                     item->peer.stand });
}

static bool is_stopped(uint32_t host)
{
        return !world->hosts[host].borrow || world->now_us < world->hosts[host].stopped_until_us;
}

static uint64_t due_us(const struct connection *connection, uint32_t side)
{
        uint32_t own = connection->hosts[side], other = connection->hosts[!side];
        uint64_t at_us = pw_max_u64(world->blocked_until_us[other][own], world->hosts[own].stopped_until_us);

        if (!connection->open[side] || !world->hosts[own].borrow)
                return UINT64_MAX;
        if (!pw_list_empty(&connection->ways[side]))
                return pw_max_u64(at_us, pw_list_first(&connection->ways[side], struct item, link)->at_us);
        return connection->open[!side] ? UINT64_MAX : at_us;
}

static void read_all(struct connection *connection, uint32_t side)
{
        while (due_us(connection, side) <= world->now_us) {
                struct item *item = pw_list_first(&connection->ways[side], struct item, link);

                if (pw_list_empty(&connection->ways[side])) {
                        shut(connection, side);
                        return;
                }
                pw_list_remove(&item->link);
                read_item(connection, side, item);
                free(item);
        }
}

static void write_all(struct connection *connection, uint32_t side, bool beat)
{
        uint32_t own = connection->hosts[side], other = connection->hosts[!side];
        struct pw_link *link = world->hosts[own].links[other];
        const struct pw_link_frame *frame;
        struct pw_link_head head;

        if (!link || !connection->open[side] || !connection->number[side] || connection->number[side] != link->connection)
                return;
        while ((frame = pw_link_next(link))) {
                head = pw_link_head(link, frame, world->now_us);
                put(connection, !side, &(struct item){ .kind = HEAD, .head = head, .bytes = frame->bytes }, frame->data);
                pw_link_wrote(link, frame, &head, world->now_us);
        }
        if (beat) {
                head = pw_link_head(link, NULL, world->now_us);
                put(connection, !side, &(struct item){ .kind = HEAD, .head = head }, NULL);
                pw_link_wrote(link, NULL, &head, world->now_us);
        }
}

static void turn_link(uint32_t own, uint32_t other)
{
        struct pw_link *link = world->hosts[own].links[other];
        struct connection *connection;
        struct pw_error why;
        enum pw_link_due due = pw_link_turn(link, world->now_us, &why);

        pw_list_each(connections_of(own, other), connection, struct connection, link) {
                if (due == PW_LINK_GAVE_UP)
                        shut(connection, side_of(connection, own));
                else
                        write_all(connection, side_of(connection, own), due == PW_LINK_BEAT);
        }
        if (due == PW_LINK_CALL)
                call(own, other);
        if (due == PW_LINK_GAVE_UP)
                term_ended(own, other, link->epoch);
}

static void turn(uint32_t own)
{
        struct host *host = &world->hosts[own];
        struct connection *connection;

        if (is_stopped(own))
                return;
        for (uint32_t other = 1; other <= world->count; other++)
                if (other != own)
                        pw_list_each(connections_of(own, other), connection, struct connection, link)
                                read_all(connection, side_of(connection, own));
        store_turn(own);
        (void)pw_borrow_turn(host->borrow, world->now_us, world->calm ? 4 : hosts_below(4) == 0);
        hosts_act(own);
        pw_drain_turn(host->drain, world->now_us);
        (void)pw_lend_turn(host->lend, world->calm ? 4 : hosts_below(4) == 0);
        hosts_act(own);
        for (uint32_t other = 1; other <= world->count; other++)
                if (other != own)
                        turn_link(own, other);
}

/* --- time ------------------------------------------------------------------------------------------------------------------- */

static uint64_t next_us(uint32_t own)
{
        struct host *host = &world->hosts[own];
        uint64_t at_us = pw_min_u64(pw_min_u64(pw_borrow_next_us(host->borrow), store_next_us(own)), pw_drain_next_us(host->drain));

        for (uint32_t other = 1; other <= world->count; other++)
                if (other != own)
                        at_us = pw_min_u64(at_us, pw_link_next_us(host->links[other]));
        return pw_max_u64(at_us, host->stopped_until_us);
}

static uint64_t pair_due_us(uint32_t a, uint32_t b)
{
        struct connection *connection;
        uint64_t at_us = UINT64_MAX;

        pw_list_each(connections_of(a, b), connection, struct connection, link)
                at_us = pw_min_u64(at_us, pw_min_u64(due_us(connection, 0), due_us(connection, 1)));
        return at_us;
}

static void forget_shut(uint32_t a, uint32_t b)
{
        struct connection *connection;

        pw_list_each(connections_of(a, b), connection, struct connection, link)
                if (!connection->open[0] && !connection->open[1])
                        forget(connection);
}

void hosts_step(uint64_t until_us)
{
        uint64_t at_us = until_us;

        for (uint32_t a = 1; a <= world->count; a++)
                for (uint32_t b = a + 1; b <= world->count; b++)
                        at_us = pw_min_u64(at_us, pair_due_us(a, b));
        for (uint32_t own = 1; own <= world->count; own++)
                if (world->hosts[own].borrow)
                        at_us = pw_min_u64(at_us, next_us(own));
        world->now_us = pw_max_u64(at_us, world->now_us + 100);
        for (uint32_t own = 1; own <= world->count; own++)
                turn(own);
        for (uint32_t a = 1; a <= world->count; a++)
                for (uint32_t b = a + 1; b <= world->count; b++)
                        forget_shut(a, b);
}

void hosts_go_on(uint64_t us)
{
        for (uint64_t until_us = world->now_us + us; world->now_us < until_us;)
                hosts_step(until_us);
}

void hosts_kill(uint32_t number)
{
        struct host *host = &world->hosts[number];
        struct connection *connection;

        for (uint32_t other = 1; other <= world->count; other++)
                if (pw_drain_state(host->drain) == PW_DRAIN_DRAINED && hosts_in_one_term(number, other))
                        host->ended_well[other] = host->epoch;
        for (uint32_t other = 1; other <= world->count; other++)
                if (other != number)
                        pw_list_each(connections_of(number, other), connection, struct connection, link) {
                                connection->open[side_of(connection, number)] = false;
                                clear(&connection->ways[side_of(connection, number)]);
                        }
        pw_borrow_free(host->borrow);
        pw_lend_free(host->lend);
        pw_drain_free(host->drain);
        host->borrow = NULL;
        host->lend = NULL;
        for (uint32_t other = 1; other <= world->count; other++) {
                pw_link_free(host->links[other]);
                host->links[other] = NULL;
        }
        store_done(number);
}

void hosts_done(void)
{
        struct thing *thing;

        for (uint32_t number = 1; number <= world->count; number++)
                if (world->hosts[number].borrow)
                        hosts_kill(number);
        for (uint32_t a = 1; a <= world->count; a++)
                for (uint32_t b = a + 1; b <= world->count; b++)
                        forget_shut(a, b); /* both have ended: all are */
        pw_list_each(&world->things, thing, struct thing, link)
                free(thing);
        free(world);
}

bool hosts_in_one_term(uint32_t a, uint32_t b)
{
        const struct pw_link *x = world->hosts[a].links[b], *y = world->hosts[b].links[a];

        return x && y && x->term == y->term && x->epoch == world->hosts[b].epoch && y->epoch == world->hosts[a].epoch;
}
