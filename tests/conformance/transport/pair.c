/* Two hosts and their bulk streams. */
#include "tests/conformance/transport/pair.h"

#include <event2/event.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const char *beta_address; /* of the scene that is played */

bool pw_peers_address(const struct pw_host *host, uint32_t turn, char address[PW_HOST_ADDRESS_MAX + 1])
{
        (void)host, (void)turn;
        snprintf(address, PW_HOST_ADDRESS_MAX + 1, "%s", beta_address);
        return true;
}

void pw_peers_count(struct pw_peers *peers, uint32_t number, const struct pw_traffic *more)
{
        struct side *side = pw_container_of(peers, struct side, peers);

        assert_int_equal(number, side->link->params.host);
        side->traffic.bulk_in += more->bulk_in;
        side->traffic.bulk_out += more->bulk_out;
}

uint64_t pw_boot_us(void) { return pw_now_us(); }

static void told(void *context, uint64_t number, enum pw_status status, uint64_t done_us)
{
        struct side *side = pw_container_of((struct pw_peers *)context, struct side, peers);

        (void)done_us;
        side->told[number]++;
        side->status[number] = status;
}

static void came(void *context, struct pw_pipe *pipe_take, const struct pw_greeting *greeting)
{
        struct pair *pair = context;

        pair->came_count++;
        if (pair->by_hand)
                pair->came = pipe_take;
        else
                pw_bulk_came(pair->beta->bulk, pipe_take, greeting);
}

static void refused(void *context, const struct pw_error *why) { (void)context, (void)why; }

static const struct pw_listener_events listens = { came, refused };
static const struct pw_bulk_reports reports = { told, told };
static const struct pw_peer_port port; /* nobody calls */

void pair_meet(struct pair *pair, uint64_t term)
{
        pair->alpha->link->state = pair->beta->link->state = PW_LINK_UP;
        pair->alpha->link->term = pair->beta->link->term = term;
}

static struct side *side_make(struct pair *pair, uint32_t own, uint32_t other, struct pw_transport *transport)
{
        struct side *side = calloc(1, sizeof *side);
        struct pw_hosts_params params = { .link = { .own = own, .own_epoch = 10 * own, .lease_us = 3000000, .beat_us = 500000,
                                                    .window = 1, .kept_bytes_max = 1000 },
                                          .own = &side->peers.own, .port = &port, .context = side };
        struct pw_host_row row = { .number = other, .epoch = 10 * other, .address = "-" };
        struct pw_peer *peer;

        side->daemon.loop.base = pair->place.loop.base;
        side->daemon.settings.lease_us = 150000; /* two pauses */
        side->peers.daemon = &side->daemon;
        side->peers.transport = transport;
        side->peers.own = (struct pw_hello){ .host = own, .peer = { .epoch = 10 * own } };
        strcpy(row.name, other == BETA ? "beta" : "alpha");
        pw_hosts_init(&side->peers.hosts, &params);
        assert_int_equal(pw_hosts_put(&side->peers.hosts, &row, NULL, NULL), PW_OK);
        assert_int_equal(pw_hosts_peer(&side->peers.hosts, other, &peer, NULL), PW_OK);
        side->link = peer->link;
        side->link->epoch = 10 * other;
        assert_int_equal(pw_bulk_new(&side->peers, &reports, &side->bulk, NULL), PW_OK);
        return side;
}

static void side_free(struct side *side)
{
        pw_bulk_free(side->bulk);
        side->link->state = PW_LINK_IDLE;
        pw_hosts_done(&side->peers.hosts);
        free(side);
}

void pair_listen(struct pair *pair)
{
        assert_int_equal(pw_transport_listen(pair->place.beta, beta_address, &listens, pair, &pair->place.listener, NULL),
                         PW_OK);
}

void pair_make(struct pair *pair)
{
        *pair = (struct pair){ .by_hand = false };
        place_make(&pair->place, &(struct place_params){ .kind = "unix" });
        beta_address = pair->place.address;
        pw_listener_free(pair->place.listener);
        pair_listen(pair);
        pair->alpha = side_make(pair, ALPHA, BETA, pair->place.alpha);
        pair->beta = side_make(pair, BETA, ALPHA, pair->place.beta);
        pair_meet(pair, 3);
        pair->from = malloc(VALUE_BYTES);
        pair->to = calloc(1, VALUE_BYTES);
        assert_true(pair->from && pair->to);
        for (uint32_t i = 0; i < VALUE_BYTES; i++)
                pair->from[i] = (uint8_t)(i * 2654435761u >> 24);
}

void pair_remove(struct pair *pair)
{
        pw_bulk_stop(pair->alpha->bulk);
        pw_bulk_stop(pair->beta->bulk);
        pw_transport_close(pair->place.alpha);
        pw_transport_close(pair->place.beta);
        pair->place.alpha = pair->place.beta = NULL;
        side_free(pair->alpha);
        side_free(pair->beta);
        event_free(pair->place.timer);
        event_base_free(pair->place.loop.base);
        rmdir(pair->place.folder);
        free(pair->from);
        free(pair->to);
}

void pair_turn(struct pair *pair)
{
        bool due = pw_bulk_next_us(pair->alpha->bulk) != UINT64_MAX && !pair->patient;

        event_base_loop(pair->place.loop.base, due ? EVLOOP_NONBLOCK : EVLOOP_ONCE);
        if (due) /* who waits for a time waits for nothing: it has come */
                pw_bulk_turn(pair->alpha->bulk, pw_bulk_next_us(pair->alpha->bulk));
}

enum pw_status pair_await(struct pair *pair, struct side *side, uint64_t number)
{
        while (!side->told[number])
                pair_turn(pair);
        assert_int_equal(side->told[number], 1);
        return side->status[number];
}

void pair_receive(struct pair *pair, uint64_t ask, uint32_t bytes)
{
        pw_bulk_receive(pair->alpha->bulk, BETA, 0, &(struct pw_bulk_job){ ask, ask, pair->to, bytes });
}

void pair_give(struct pair *pair, uint64_t ask, uint32_t bytes)
{
        pw_bulk_send(pair->beta->bulk, ALPHA, 0, &(struct pw_bulk_job){ ask, ask, pair->from, bytes });
}

void pair_await_over(struct pair *pair)
{
        while (!pw_list_empty(&pair->alpha->bulk->lanes) || !pw_list_empty(&pair->beta->bulk->lanes))
                pair_turn(pair);
}

void pair_await_begun(struct pair *pair, uint64_t ask)
{
        struct pw_bulk *bulk = pair->alpha->bulk;
        struct pw_bulk_lane *lane;
        bool begun = false;

        while (!begun) { /* of which the loop hears nothing */
                place_glance(&pair->place);
                sched_yield();
                pthread_mutex_lock(&bulk->lock);
                pw_list_each(&bulk->lanes, lane, struct pw_bulk_lane, link)
                        begun |= lane->current && lane->current->what.ask == ask;
                pthread_mutex_unlock(&bulk->lock);
        }
}

struct pw_pipe *pair_await_came(struct pair *pair)
{
        struct pw_pipe *pipe;

        while (!pair->came)
                pair_turn(pair);
        pipe = pair->came;
        pair->came = NULL;
        return pipe;
}
