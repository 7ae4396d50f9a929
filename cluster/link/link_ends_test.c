/* Two peers in virtual time. */
#include "cluster/link/link_ends_test.h"

#include "base/transition.h"

struct scene *scene;

uint32_t ends_below(uint32_t limit)
{
        scene->random = scene->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (uint32_t)(scene->random >> 33) % limit;
}

uint64_t ends_clock(uint32_t at)
{
        const struct end *end = &scene->ends[at];

        return (uint64_t)((int64_t)scene->now_us + end->ahead_us + (int64_t)scene->now_us * end->drift / 1000000);
}

void ends_must(bool is_so, const char *what)
{
        if (!is_so)
                fail_msg("PW_LINK_SEED=%lu: %s, after %lu us", (unsigned long)scene->seed, what, (unsigned long)scene->now_us);
}

static void note(void *context, const struct pw_transition *transition)
{
        char line[PW_TRANSITION_TEXT_BYTES];
        size_t length = strlen(scene->trace);

        (void)context;
        pw_transition_format(transition, line);
        if (getenv("PW_LINK_TRACE"))
                fprintf(stderr, "%lu %s\n", (unsigned long)scene->now_us, line);
        if (strncmp(line, "link=", 5))
                return;
        snprintf(scene->trace + length, sizeof scene->trace - length, "%s\n", line);
}
static const struct pw_observer observer = { note, NULL };

void ends_expect(const char *trace)
{
        assert_string_equal(scene->trace, trace);
        scene->trace[0] = 0;
}

/* --- connections ------------------------------------------------------------------------------------------------------------ */

static void put(struct connection *connection, uint32_t to, const struct item *item)
{
        struct way *way = &connection->ways[to];
        uint64_t at_us = scene->now_us + 100 + (scene->calm ? 0 : ends_below(20000));

        if (!connection->open[0] || !connection->open[1])
                return; /* one of them has shut it */
        ends_must(way->count < ITEMS, "too much is under way");
        if (way->count)
                at_us = pw_max_u64(at_us, way->items[(way->first + way->count - 1) % ITEMS].at_us);
        way->items[(way->first + way->count) % ITEMS] = *item;
        way->items[(way->first + way->count++) % ITEMS].at_us = at_us;
}

static struct connection *connection_of(uint64_t number)
{
        struct connection *connection = &scene->connections[number % CONNECTIONS];

        return connection->number == number ? connection : NULL;
}

/* --- what is around a peer -------------------------------------------------------------------------------------------------- */

static void new_life(struct end *end)
{
        end->life++;
        end->serials[0] = end->serials[1] = end->works_open = 0;
}

static uint64_t begin_connection(void *context, struct pw_peer *peer)
{
        uint32_t at = (uint32_t)((struct end *)context - scene->ends);
        struct connection *connection = &scene->connections[++scene->numbers % CONNECTIONS];
        bool gone = scene->now_us < scene->ends[!at].gone_until_us;

        (void)peer;
        ends_must(!connection->open[0] && !connection->open[1], "no place for a connection");
        *connection = (struct connection){ .number = scene->numbers, .open = { true, true } };
        put(connection, at, &(struct item){ .kind = gone ? NOBODY : !scene->calm && ends_below(3) == 0 ? REFUSED : CONNECTED });
        return connection->number;
}

static void say_hello(void *context, uint64_t number, const struct pw_hello *hello)
{
        put(connection_of(number), !((struct end *)context - scene->ends), &(struct item){ .kind = HELLO, .hello = *hello });
}

static void shut(void *context, uint64_t number)
{
        connection_of(number)->open[(struct end *)context - scene->ends] = false;
}

static void met(void *context, struct pw_peer *peer, const struct pw_link_met *met)
{
        struct end *end = context;

        (void)peer;
        if (met->ended_term)
                new_life(end);
        end->heard_us = scene->now_us;
        end->heard_of_end = false;
}

static void gave_up(void *context, struct pw_peer *peer, const struct pw_error *why)
{
        struct end *end = context;

        if (strstr(why->text, "has ended"))
                ends_must(end->heard_of_end, "given up though he has not ended");
        else
                ends_must(scene->now_us >= end->heard_us + LEASE_US && strstr(why->text, "was not heard"), "given up too early");
        ends_must(!pw_peer_next(peer, 0, &(struct pw_peer_writing){ 0 }), "something is written to who was given up");
        end->given_up++;
        end->ended += strstr(why->text, "has ended") != NULL;
        new_life(end);
}

static const struct pw_peer_port port = { begin_connection, say_hello, shut, met, gave_up };

void ends_begin_one(uint32_t at)
{
        struct end *end = &scene->ends[at];
        struct pw_peer_params params = { .link = { .own = 4 + at, .host = 5 - at, .own_epoch = end->epoch + 1,
                                                   .lease_us = LEASE_US, .beat_us = BEAT_US, .window = WINDOW,
                                                   .kept_bytes_max = 1 << 20, .observer = &observer },
                                         .own = &end->own, .name = at ? "h4" : "h5", .port = &port, .context = end };

        end->epoch++;
        end->own = (struct pw_hello){ .version = PW_PEER_VERSION, .incarnation = 9, .cluster = "c", .name = at ? "h5" : "h4",
                                      .host = 4 + at, .peer = { .epoch = end->epoch, .instance = end->epoch * 7 } };
        new_life(end);
        assert_int_equal(pw_peer_new(&params, &end->peer, NULL), PW_OK);
        end->link = end->peer->link;
}

void ends_begin(uint64_t seed)
{
        scene = calloc(1, sizeof *scene);
        assert_non_null(scene);
        scene->seed = scene->random = seed;
        scene->now_us = SECOND;
        for (uint32_t at = 0; at < 2; at++) {
                scene->ends[at].epoch = 100;
                ends_begin_one(at);
        }
}

void ends_done(void)
{
        for (uint32_t at = 0; at < 2; at++)
                pw_peer_free(scene->ends[at].peer);
        free(scene);
}

void ends_shut(struct connection *connection, uint32_t at)
{
        if (!connection->open[at])
                return;
        connection->open[at] = false;
        pw_peer_closed(scene->ends[at].peer, connection->number, ends_clock(at));
}

struct pw_link_peer ends_hello(uint32_t at)
{
        return (struct pw_link_peer){ scene->ends[at].epoch, scene->ends[at].epoch * 7, pw_link_stand(scene->ends[at].link) };
}

static void read_head(const struct connection *connection, uint32_t at, const struct item *item)
{
        struct end *end = &scene->ends[at];
        struct pw_error err;
        enum pw_status status = pw_peer_head(end->peer, connection->number, &item->head, ends_clock(at), &err);

        ends_must(status == PW_OK || status == PW_EXISTS || status == PW_GONE, err.text);
        if (status != PW_GONE)
                end->heard_us = scene->now_us;
        if (status != PW_OK || !item->head.number)
                return;
        end->arrived++;
        if (item->life != end->seen_life || end->seen_in != end->life) {
                ends_must(item->life > end->seen_life && (end->seen_in != end->life || !end->seen_life), "two lives in one");
                end->seen_serials[0] = end->seen_serials[1] = 0;
        }
        ends_must(item->serial == ++end->seen_serials[item->head.work], "a frame is missing, or came twice");
        end->seen_life = item->life;
        end->seen_in = end->life;
        end->works_open += item->head.work;
        ends_must(end->works_open <= WINDOW, "more works than the window");
}

static void read_hello(const struct connection *connection, uint32_t at, const struct pw_hello *hello)
{
        struct pw_error err;
        enum pw_status status = pw_peer_hello(scene->ends[at].peer, connection->number, hello, NULL, ends_clock(at), &err);

        ends_must(status == PW_OK || status == PW_BUSY || status == PW_PROTOCOL, "a meeting failed in another way");
        ends_must(status != PW_PROTOCOL || hello->peer.epoch < scene->ends[!at].epoch, err.text);
}

static void read_refusal(struct connection *connection, uint32_t at)
{
        connection->open[0] = connection->open[1] = false;
        scene->ends[at].heard_of_end = true;
        pw_peer_refused(scene->ends[at].peer, connection->number, 1, ends_clock(at));
}

static void read_item(struct connection *connection, uint32_t at, const struct item *item)
{
        switch (item->kind) {
        case CONNECTED: pw_peer_connected(scene->ends[at].peer, connection->number, ends_clock(at)); break;
        case REFUSED: connection->open[!at] = false; ends_shut(connection, at); break;
        case NOBODY: read_refusal(connection, at); break;
        case HELLO: read_hello(connection, at, &item->hello); break;
        case HEAD: read_head(connection, at, item); break;
        }
}

/* All that has come by now. */
static void read_all(uint32_t at)
{
        for (uint32_t i = 0; i < CONNECTIONS; i++) {
                struct connection *connection = &scene->connections[i];
                struct way *way = &connection->ways[at];

                while (connection->open[at] && way->count && way->items[way->first].at_us <= scene->now_us) {
                        struct item item = way->items[way->first];

                        way->first = (way->first + 1) % ITEMS;
                        way->count--;
                        read_item(connection, at, &item);
                }
                if (connection->open[at] && !connection->open[!at] && !way->count)
                        ends_shut(connection, at);
        }
}

/* --- what an end does ------------------------------------------------------------------------------------------------------- */

struct said { uint64_t life, serial; };

static void write_all(uint32_t at)
{
        struct pw_peer *peer = scene->ends[at].peer;
        struct pw_peer_writing writing;

        while (pw_peer_next(peer, ends_clock(at), &writing)) {
                struct item item = { .kind = HEAD, .head = writing.head };

                if (writing.frame) {
                        memcpy(&item.life, writing.frame->data, 8);
                        memcpy(&item.serial, writing.frame->data + 8, 8);
                }
                put(connection_of(writing.connection), !at, &item);
                pw_peer_wrote(peer, &writing, ends_clock(at));
        }
}

static void turn(uint32_t at)
{
        struct end *end = &scene->ends[at];

        if (scene->now_us < end->stopped_until_us || scene->now_us < end->gone_until_us)
                return;
        if (scene->now_us >= scene->stalled_until_us[at])
                read_all(at);
        while (end->works_open && ends_below(2)) {
                end->works_open--;
                pw_link_work_done(end->link);
        }
        pw_peer_turn(end->peer, ends_clock(at));
        write_all(at);
}

void ends_say(uint32_t at, bool work)
{
        struct end *end = &scene->ends[at];
        struct said said = { end->life, end->serials[work] + 1 };
        struct pw_link_frame *frame = pw_link_frame_new(&said, sizeof said, work);

        assert_non_null(frame);
        if (end->link->state == PW_LINK_IDLE || end->link->state == PW_LINK_CALLING)
                end->heard_us = end->link->state == PW_LINK_IDLE ? scene->now_us : end->heard_us;
        if (pw_peer_send(end->peer, frame, ends_clock(at), NULL) != PW_OK) {
                pw_link_frame_free(frame);
                end->heard_us = scene->now_us;
                pw_peer_want(end->peer, ends_clock(at));
                return;
        }
        end->serials[work]++;
        end->sent++;
}

void ends_go_on(uint64_t us)
{
        for (uint64_t until_us = scene->now_us + us; scene->now_us < until_us; scene->now_us += 1000)
                for (uint32_t at = 0; at < 2; at++)
                        turn(at);
}
