/* Two ends of a link in virtual time. */
#include "cluster/link_ends_test.h"

#include "base/transition.h"

struct scene *scene;

uint32_t ends_below(uint32_t limit)
{
        scene->random = scene->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (uint32_t)(scene->random >> 33) % limit;
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
        snprintf(scene->trace + length, sizeof scene->trace - length, "%s\n", line);
}
static const struct pw_observer observer = { note, NULL };

void ends_expect(const char *trace)
{
        assert_string_equal(scene->trace, trace);
        scene->trace[0] = 0;
}

void ends_begin_one(uint32_t at)
{
        struct end *end = &scene->ends[at];
        struct pw_link_params params = { .own = 4 + at, .host = 5 - at, .own_epoch = scene->ends[at].epoch + 1,
                                         .lease_us = LEASE_US, .beat_us = BEAT_US, .window = WINDOW,
                                         .kept_bytes_max = 1 << 20, .observer = &observer };

        end->epoch++;
        end->life++;
        end->serials[0] = end->serials[1] = end->works_open = 0;
        assert_int_equal(pw_link_new(&params, &end->link, NULL), PW_OK);
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
                pw_link_free(scene->ends[at].link);
        free(scene);
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

void ends_shut(struct connection *connection, uint32_t at)
{
        struct end *end = &scene->ends[at];

        if (!connection->open[at])
                return;
        connection->open[at] = false;
        if (connection->number[at])
                pw_link_break(end->link, connection->number[at], scene->now_us);
        else if (connection->called_by[at])
                pw_link_call_failed(end->link, scene->now_us);
}

struct pw_link_peer ends_hello(uint32_t at)
{
        return (struct pw_link_peer){ scene->ends[at].epoch, scene->ends[at].epoch * 7, pw_link_stand(scene->ends[at].link) };
}

static void call(uint32_t at)
{
        for (uint32_t i = 0; i < CONNECTIONS; i++) {
                struct connection *connection = &scene->connections[i];

                if (connection->open[0] || connection->open[1])
                        continue;
                *connection = (struct connection){ .open = { true, true } };
                connection->called_by[at] = true;
                if (!scene->calm && ends_below(3) == 0) { /* nobody there */
                        ends_shut(connection, 0);
                        ends_shut(connection, 1);
                        return;
                }
                put(connection, 0, &(struct item){ .kind = HELLO, .peer = ends_hello(1) });
                put(connection, 1, &(struct item){ .kind = HELLO, .peer = ends_hello(0) });
                return;
        }
        ends_must(false, "no place for a connection");
}

static void new_life(struct end *end)
{
        end->life++;
        end->serials[0] = end->serials[1] = end->works_open = 0;
}

static bool meet(struct connection *connection, uint32_t at, const struct pw_link_peer *peer)
{
        struct end *end = &scene->ends[at];
        struct pw_link_met met;
        struct pw_error err;
        enum pw_status status = pw_link_meet(end->link, peer, scene->now_us, &met, &err);

        if (status != PW_OK) {
                ends_must(status == PW_BUSY || status == PW_PROTOCOL, "a meeting failed in another way");
                ends_must(status == PW_BUSY || peer->epoch < scene->ends[!at].epoch, err.text);
                ends_shut(connection, at);
                return false;
        }
        if (met.ended_term)
                new_life(end);
        end->heard_us = scene->now_us;
        for (uint32_t i = 0; i < CONNECTIONS; i++)
                if (&scene->connections[i] != connection &&
                    (at == 1 || scene->connections[i].number[at] || scene->connections[i].called_by[at]))
                        ends_shut(&scene->connections[i], at);
        connection->number[at] = met.connection;
        return true;
}

static void read_head(struct connection *connection, uint32_t at, const struct item *item)
{
        struct end *end = &scene->ends[at];
        struct pw_error err;
        enum pw_status status = pw_link_receive(end->link, connection->number[at], &item->head, scene->now_us, &err);

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

static void read_item(struct connection *connection, uint32_t at, const struct item *item)
{
        struct pw_link_peer peer = item->peer;

        if (item->kind == HEAD)
                read_head(connection, at, item);
        else if (item->kind == HELLO && at == 1)
                connection->hello = peer; /* the answer comes next */
        else if (item->kind == HELLO && meet(connection, at, &peer))
                put(connection, 1, &(struct item){ .kind = PROCEED, .peer = ends_hello(0) });
        else if (item->kind == PROCEED)
                (void)meet(connection, at, &(struct pw_link_peer){ connection->hello.epoch, connection->hello.instance,
                                                                   peer.stand });
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
        struct end *end = &scene->ends[at];
        const struct pw_link_frame *frame;

        for (uint32_t i = 0; i < CONNECTIONS; i++) {
                struct connection *connection = &scene->connections[i];

                if (!connection->open[at] || connection->number[at] != end->link->connection)
                        continue;
                while ((frame = pw_link_next(end->link))) {
                        struct item item = { .kind = HEAD, .head = pw_link_head(end->link, frame) };

                        memcpy(&item.life, frame->data, 8);
                        memcpy(&item.serial, frame->data + 8, 8);
                        put(connection, !at, &item);
                        pw_link_wrote(end->link, frame, scene->now_us);
                }
        }
}

static void beat(uint32_t at)
{
        struct end *end = &scene->ends[at];

        for (uint32_t i = 0; i < CONNECTIONS; i++)
                if (scene->connections[i].open[at] && scene->connections[i].number[at] == end->link->connection)
                        put(&scene->connections[i], !at, &(struct item){ .kind = HEAD, .head = pw_link_head(end->link, NULL) });
        pw_link_wrote(end->link, NULL, scene->now_us);
}

static void gave_up(uint32_t at)
{
        struct end *end = &scene->ends[at];

        ends_must(scene->now_us >= end->heard_us + LEASE_US, "given up too early");
        end->given_up++;
        new_life(end);
        for (uint32_t i = 0; i < CONNECTIONS; i++)
                if (scene->connections[i].number[at])
                        ends_shut(&scene->connections[i], at);
}

static void turn(uint32_t at)
{
        struct end *end = &scene->ends[at];
        struct pw_error why;

        if (scene->now_us < end->stopped_until_us)
                return;
        if (scene->now_us >= scene->stalled_until_us[at])
                read_all(at);
        while (end->works_open && ends_below(2)) {
                end->works_open--;
                pw_link_work_done(end->link);
        }
        write_all(at);
        switch (pw_link_turn(end->link, scene->now_us, &why)) {
        case PW_LINK_CALL: call(at); break;
        case PW_LINK_BEAT: beat(at); break;
        case PW_LINK_GAVE_UP: gave_up(at); break;
        case PW_LINK_NOTHING: break;
        }
}

void ends_say(uint32_t at, bool work)
{
        struct end *end = &scene->ends[at];
        struct said said = { end->life, end->serials[work] + 1 };
        struct pw_link_frame *frame = pw_link_frame_new(&said, sizeof said, work);

        assert_non_null(frame);
        if (end->link->state == PW_LINK_IDLE || end->link->state == PW_LINK_CALLING)
                end->heard_us = end->link->state == PW_LINK_IDLE ? scene->now_us : end->heard_us;
        if (pw_link_send(end->link, frame, scene->now_us, NULL) != PW_OK) {
                pw_link_frame_free(frame);
                end->heard_us = scene->now_us;
                pw_link_want(end->link, scene->now_us);
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
