/* Control streams between hosts that pull. */
#include "tests/world/cluster/pulls.h"

struct pair *pulls_pair(uint32_t a, uint32_t b) { return a < b ? &world->pairs[a][b] : &world->pairs[b][a]; }
static struct way *way_to(uint32_t from, uint32_t to) { return &pulls_pair(from, to)->ways[to > from]; }
static uint64_t *connection_of(uint32_t host, uint32_t to) { return &pulls_pair(host, to)->connection[host > to]; }

struct pw_link *pulls_link(uint32_t host, uint32_t to)
{
        struct pw_link_params params = { .own = host, .host = to, .own_epoch = world->hosts[host].epoch, .lease_us = 3 * SECOND,
                                         .beat_us = SECOND / 2, .window = 4, .kept_bytes_max = 1 << 22 };

        if (!world->hosts[host].links[to])
                assert_int_equal(pw_link_new(&params, &world->hosts[host].links[to], NULL), PW_OK);
        return world->hosts[host].links[to];
}

static void clear(struct way *way)
{
        struct item *item;

        pw_list_each(&way->items, item, struct item, link) {
                pw_list_remove(&item->link);
                free(item);
        }
}

static void put(uint32_t from, uint32_t to, const struct pw_link_frame *frame)
{
        struct way *way = way_to(from, to);
        struct item *item = calloc(1, sizeof *item);

        assert_non_null(item);
        item->head = pw_link_head(world->hosts[from].links[to], frame, world->now_us);
        item->has_frame = frame != NULL;
        if (frame) {
                assert_int_equal(frame->bytes, sizeof item->bytes);
                memcpy(item->bytes, frame->data, sizeof item->bytes);
        }
        item->at_us = pw_max_u64(way->last_us, world->now_us + 200 + (world->calm ? 0 : pulls_below(60000)));
        way->last_us = item->at_us;
        pw_list_append(&way->items, &item->link);
        pw_link_wrote(world->hosts[from].links[to], frame, &item->head, world->now_us);
}

void pulls_break(uint32_t a, uint32_t b)
{
        struct pair *pair = pulls_pair(a, b);

        if (!pair->is_up)
                return;
        pair->is_up = false;
        clear(&pair->ways[0]);
        clear(&pair->ways[1]);
        if (world->hosts[a].links[b])
                pw_link_break(world->hosts[a].links[b], *connection_of(a, b), world->now_us);
        if (world->hosts[b].links[a])
                pw_link_break(world->hosts[b].links[a], *connection_of(b, a), world->now_us);
}

static void term_ended(uint32_t host, uint32_t other)
{
        struct host *at = &world->hosts[host];

        pulls_note("%u: term with %u ended", host, other);
        pw_pulls_ended(at->pulls, other);
        pw_pull_source_ended(at->source, other);
        pw_pull_spread_ended(at->spread, other);
        pulls_shut_streams(host, other);
        pulls_act(host);
        pulls_check_told(host, other);
}

static struct pw_link_peer hello(uint32_t host, uint32_t to)
{
        return (struct pw_link_peer){ world->hosts[host].epoch, world->hosts[host].epoch * 7, pw_link_stand(pulls_link(host, to)) };
}

static bool meet(uint32_t host, uint32_t other)
{
        struct pw_link_peer peer = hello(other, host);
        struct pw_link_met met;
        struct pw_error err;

        if (pw_link_meet(pulls_link(host, other), &peer, world->now_us, &met, &err) != PW_OK)
                return false;
        *connection_of(host, other) = met.connection;
        if (met.ended_term)
                term_ended(host, other);
        return true;
}

static void call(uint32_t host, uint32_t other)
{
        uint32_t low = host < other ? host : other, high = host < other ? other : host;
        struct pair *pair = pulls_pair(host, other);
        bool is_blocked = pair->ways[0].blocked_until_us > world->now_us || pair->ways[1].blocked_until_us > world->now_us;

        pulls_break(host, other);
        if (is_blocked || !world->hosts[other].pulls || world->hosts[other].stopped_until_us > world->now_us ||
            (!world->calm && pulls_below(4) == 0)) {
                pw_link_call_failed(pulls_link(host, other), world->now_us);
                return;
        }
        (void)pulls_link(other, host);
        pulls_must(meet(low, high) && meet(high, low), "they do not meet");
        pair->is_up = true;
        pulls_renew(low, high);
        pulls_renew(high, low);
}

void pulls_say(uint32_t host, uint32_t to, const struct pw_pull_message *message)
{
        struct pw_link *link = pulls_link(host, to);
        struct pw_link_frame *frame = pw_pull_encode(message);
        struct pw_pull_message back;

        assert_non_null(frame);
        pulls_must(pw_pull_decode(frame->data, frame->bytes, &back, NULL) == PW_OK, "a message that cannot be decoded");
        pw_link_want(link, world->now_us);
        assert_int_equal(pw_link_send(link, frame, world->now_us, NULL), PW_OK);
}

static void deliver(uint32_t host, uint32_t from, const struct item *item)
{
        struct host *at = &world->hosts[host];
        struct pw_pull_message message;
        enum pw_status status;
        struct pw_error err;

        status = pw_pull_decode(item->bytes, sizeof item->bytes, &message, &err);
        pulls_must(status == PW_OK, "a message that cannot be decoded");
        if (pw_pull_is_for_home(message.kind))
                status = pw_pull_spread_receive(at->spread, from, &message, &err);
        else if (pw_pull_is_for_source(message.kind))
                status = pw_pull_source_receive(at->source, from, &message, &err);
        else
                status = pw_pulls_receive(at->pulls, from, &message, world->now_us, &err);
        world->reports += message.kind == PW_PULL_MSG_REPORT;
        pulls_must(status == PW_OK, status == PW_OK ? "" : err.text);
        pulls_act(host);
}

static void read_all(uint32_t host, uint32_t from)
{
        struct way *way = way_to(from, host);

        while (pulls_pair(host, from)->is_up && way->blocked_until_us <= world->now_us && !pw_list_empty(&way->items)) {
                struct item *item = pw_list_first(&way->items, struct item, link);
                struct pw_error err;
                enum pw_status status;

                if (item->at_us > world->now_us)
                        return;
                pw_list_remove(&item->link);
                status = pw_link_receive(world->hosts[host].links[from], *connection_of(host, from), &item->head, world->now_us,
                                         &err);
                pulls_must(status == PW_OK || status == PW_EXISTS, "a frame that the link refuses");
                if (status == PW_OK && item->has_frame)
                        deliver(host, from, item);
                free(item);
        }
}

void pulls_link_turn(uint32_t host)
{
        struct host *at = &world->hosts[host];
        const struct pw_link_frame *frame;
        struct pw_error why;

        for (uint32_t other = 0; other < world->host_count; other++)
                if (at->links[other])
                        read_all(host, other);
        for (uint32_t other = 0; other < world->host_count; other++) {
                struct pw_link *link = at->links[other];

                if (!link)
                        continue;
                switch (pw_link_turn(link, world->now_us, &why)) {
                case PW_LINK_CALL: call(host, other); break;
                case PW_LINK_BEAT: put(host, other, NULL); break;
                case PW_LINK_GAVE_UP:
                        world->given_up++;
                        pulls_break(host, other);
                        term_ended(host, other);
                        break;
                case PW_LINK_NOTHING: break;
                }
                while (pulls_pair(host, other)->is_up && (frame = pw_link_next(link)))
                        put(host, other, frame);
        }
}
