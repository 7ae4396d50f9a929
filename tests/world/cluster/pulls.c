/* Hosts that pull: their rooms, what their cores say, and what must hold. */
#include "tests/world/cluster/pulls.h"

struct world *world;

uint32_t pulls_below(uint32_t limit)
{
        world->random = world->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (uint32_t)(world->random >> 33) % limit;
}

void pulls_must(bool is_so, const char *what)
{
        if (!is_so)
                fail_msg("PW_SEED=%lu: %s, after %lu us", (unsigned long)world->seed, what, (unsigned long)world->now_us);
}

void pulls_note(const char *format, ...)
{
        char line[200];
        va_list args;
        size_t length;

        if (!world->trace && !getenv("PW_PULL_TRACE"))
                return;
        va_start(args, format);
        vsnprintf(line, sizeof line, format, args);
        va_end(args);
        if (getenv("PW_PULL_TRACE"))
                fprintf(stderr, "%lu %s\n", (unsigned long)world->now_us, line);
        if (!world->trace)
                return;
        length = strlen(world->trace);
        snprintf(world->trace + length, world->trace_bytes - length, "%s\n", line);
}

uint64_t pulls_value(uint32_t object, uint32_t chunk)
{
        return (world->objects[object].id.place * 31 + world->objects[object].id.epoch) * 1000 + chunk + 1;
}

/* --- rooms ------------------------------------------------------------------------------------------------------------------ */

static struct room *room_new(uint32_t host, uint32_t object)
{
        struct room *room = calloc(1, sizeof *room);

        assert_non_null(room);
        room->host = host;
        room->object = object;
        room->chunks = world->objects[object].chunks;
        room->offer_has = room->offered = true;
        room->since_us = world->now_us;
        pw_list_append(&world->hosts[host].rooms, &room->link);
        return room;
}

static void room_free(struct room *room)
{
        pw_list_remove(&room->link);
        free(room);
}

/* One of its two holders is done with it. */
static void let_go(struct room *room)
{
        for (uint32_t chunk = 0; chunk < room->chunks; chunk++)
                pulls_must(room->pull_has || !room->writers[chunk], "a room is let go while a thread writes it");
        pulls_must(room->offer_has || !room->readers, "a room is let go while a thread sends it");
        if (!room->pull_has && !room->offer_has)
                room_free(room);
}

static void withdraw(struct room *room, enum pw_status status)
{
        if (!room->offered)
                return;
        room->offered = false;
        pw_pull_source_withdraw(world->hosts[room->host].source, room->number, status);
}

struct room *pulls_room(uint32_t host, uint32_t object)
{
        struct room *room;

        pw_list_each(&world->hosts[host].rooms, room, struct room, link)
                if (room->object == object && room->offered)
                        return room;
        return NULL;
}

uint32_t pulls_put(uint32_t home, uint64_t bytes, bool is_staged)
{
        uint32_t number = world->object_count++;
        struct object *object = &world->objects[number];
        struct host *at = &world->hosts[home];
        struct pw_offer_params offer;
        struct room *room;

        pulls_must(number < pw_array_count(world->objects), "too many objects");
        *object = (struct object){ .id = pw_id_make(home, at->epoch, 1, number, 1), .home = home, .bytes = bytes,
                                   .chunks = (uint32_t)pw_pull_chunks(bytes), .is_there = true, .is_staged = is_staged };
        room = room_new(home, number);
        room->is_home = true;
        for (uint32_t chunk = 0; chunk < room->chunks; chunk++)
                room->content[chunk] = pulls_value(number, chunk);
        offer = (struct pw_offer_params){ .id = object->id, .bytes = bytes, .place = room, .is_whole = true,
                                          .is_staged = is_staged };
        assert_int_equal(pw_pull_source_offer(at->source, &offer, &room->number, NULL), PW_OK);
        assert_int_equal(pw_pull_spread_offer(at->spread, object->id, room->number, NULL), PW_OK);
        return number;
}

void pulls_lose(uint32_t number)
{
        struct object *object = &world->objects[number];
        struct room *room = object->is_there ? pulls_room(object->home, number) : NULL;

        object->is_there = false;
        if (!room)
                return;
        pw_pull_spread_withdraw(world->hosts[object->home].spread, object->id, PW_DEVICE_LOST);
        withdraw(room, PW_GONE); /* who pulled from it hears from the home why */
        pulls_act(object->home);
}

void pulls_want_of(uint32_t host, uint32_t number, uint32_t lender)
{
        struct object *object = &world->objects[number];
        struct host *at = &world->hosts[host];
        struct pw_pull_request request = { .id = object->id, .home = lender, .bytes = object->bytes,
                                           .now_us = world->now_us };
        struct room *room;

        if (object->home == host || pw_pull_find(at->pulls, object->id))
                return;
        room = room_new(host, number);
        assert_int_equal(pw_pull_source_offer(at->source, &(struct pw_offer_params){ .id = object->id, .bytes = object->bytes,
                                                                                     .place = room }, &room->number, NULL), PW_OK);
        request.number = room->number;
        request.place = room;
        room->pull_has = true;
        assert_int_equal(pw_pull_begin(at->pulls, &request, &room->pull, NULL), PW_OK);
        pulls_act(host);
}

void pulls_want(uint32_t host, uint32_t object) { pulls_want_of(host, object, world->objects[object].home); }

void pulls_drop(struct room *room)
{
        uint32_t host = room->host;

        if (room->is_ready)
                pw_pull_spread_withdraw(world->hosts[host].spread, world->objects[room->object].id, PW_GONE);
        room->is_ready = false;
        withdraw(room, PW_GONE);
        if (room->pull)
                pw_pull_cancel(world->hosts[host].pulls, room->pull);
        room->pull = NULL;
        pulls_act(host);
}

/* The two have met in a new term: what is whole on the one is held by the other again. */
void pulls_renew(uint32_t host, uint32_t home)
{
        struct pw_pull_row row;
        struct room *room;

        pw_list_each(&world->hosts[host].rooms, room, struct room, link) {
                const struct object *object = &world->objects[room->object];

                if (!room->is_ready || !room->pull || object->home != home || !object->is_there)
                        continue;
                pw_pull_row(room->pull, &row);
                world->renewed += row.is_alone;
                pw_pull_renewed(world->hosts[host].pulls, room->pull, home);
        }
        pulls_act(host);
}

/* --- what the cores say ----------------------------------------------------------------------------------------------------- */

static const char *const kinds[] = { [PW_PULL_MSG_WANT] = "want", "named", "report", "whole", "have", "leave", "ask", "stop",
                                     "wait", "refuse" };

static void say(uint32_t host, uint32_t to, const struct pw_pull_message *message)
{
        if (message->kind == PW_PULL_MSG_ASK)
                pulls_note("%u to %u: ask %u by stream %u", host, to, message->chunk, message->stream);
        else if (message->kind == PW_PULL_MSG_NAMED && message->status == PW_OK)
                pulls_note("%u to %u: named %u", host, to, message->source);
        else
                pulls_note("%u to %u: %s%s%s", host, to, kinds[message->kind], message->status ? " " : "",
                           message->status ? pw_status_name(message->status) : "");
        pulls_say(host, to, message);
}

static void ready(struct room *room)
{
        for (uint32_t chunk = 0; chunk < room->chunks; chunk++) {
                pulls_must(!room->writers[chunk], "ready while a thread has the room");
                pulls_must(room->content[chunk] == pulls_value(room->object, chunk), "readers see a byte that was not put");
        }
        room->is_ready = true;
        assert_int_equal(pw_pull_spread_offer(world->hosts[room->host].spread, world->objects[room->object].id, room->number,
                                              NULL), PW_OK);
        world->ready++;
        world->handed_on += world->objects[room->object].id.epoch != world->hosts[world->objects[room->object].home].epoch;
        pulls_note("%u: ready", room->host);
}

static void failed(struct room *room, const struct pw_pulls_action *action)
{
        const struct object *object = &world->objects[room->object];
        struct pw_pull_row row;

        pw_pull_row(room->pull, &row);
        pulls_note("%u: failed %s", room->host, pw_status_name(action->status));
        pulls_must(action->status == PW_DEADLINE || action->status == PW_DEVICE_LOST || action->status == PW_GONE ||
                   action->status == PW_HOST_LOST || action->status == PW_PROTOCOL || action->status == PW_SYSTEM,
                   "a pull failed without a cause");
        pulls_must(action->status != PW_HOST_LOST || (row.is_alone && action->host == row.home), "a home is lost, and it is there");
        pulls_must(action->status != PW_DEVICE_LOST || !object->is_there || object->is_staged, "lost, and it is there");
        world->failed[action->status]++;
        room->pull = NULL;
        withdraw(room, action->status);
}

static void act_on_pulls(uint32_t host, const struct pw_pulls_action *action)
{
        struct room *room = action->place;

        switch (action->kind) {
        case PW_PULLS_SAY: say(host, action->host, &action->message); break;
        case PW_PULLS_RECEIVE: pulls_receive(host, action); break;
        case PW_PULLS_STOP: pulls_stop_receiving(host, action->ask); break;
        case PW_PULLS_HERE: pw_pull_source_have(world->hosts[host].source, room->number, action->chunk); break;
        case PW_PULLS_READY: ready(room); break;
        case PW_PULLS_FAILED: failed(room, action); break;
        case PW_PULLS_LET_GO:
                room->pull_has = false;
                let_go(room);
                break;
        }
}

static void act_on_source(uint32_t host, const struct pw_pull_source_action *action)
{
        struct room *room = action->place;

        switch (action->kind) {
        case PW_PULL_SOURCE_SAY: say(host, action->host, &action->message); break;
        case PW_PULL_SOURCE_STAGE:
        case PW_PULL_SOURCE_SEND: pulls_send(host, action); break;
        case PW_PULL_SOURCE_STOP: pulls_stop_sending(host, action->send); break;
        case PW_PULL_SOURCE_LET_GO:
                room->offer_has = false;
                let_go(room);
                break;
        }
}

void pulls_act(uint32_t host)
{
        struct host *at = &world->hosts[host];
        struct pw_pull_spread_action spread;
        struct pw_pull_source_action source;
        struct pw_pulls_action pulls;
        bool again;

        do {
                again = false;
                while (pw_pulls_next(at->pulls, &pulls)) {
                        act_on_pulls(host, &pulls);
                        again = true;
                }
                while (pw_pull_source_next(at->source, &source)) {
                        act_on_source(host, &source);
                        again = true;
                }
                while (pw_pull_spread_next(at->spread, &spread)) {
                        say(host, spread.host, &spread.message);
                        if (spread.answers)
                                pw_link_work_done(pulls_link(host, spread.host));
                        again = true;
                }
        } while (again);
}

/* --- hosts ------------------------------------------------------------------------------------------------------------------ */

void pulls_start_host(uint32_t host)
{
        struct host *at = &world->hosts[host];
        uint64_t first = (uint64_t)++at->epoch << 32;
        struct pw_pulls_params params = { .ahead = 4, .streams = STREAMS, .stall_us = STALL_US, .deadline_us = DEADLINE_US,
                                          .first_ask = first };

        assert_int_equal(pw_pulls_new(&params, &at->pulls, NULL), PW_OK);
        assert_int_equal(pw_pull_source_new(&(struct pw_pull_source_params){ .sends = 2, .slots = SLOTS, .first_number = first },
                                            &at->source, NULL), PW_OK);
        assert_int_equal(pw_pull_spread_new(&(struct pw_pull_spread_params){ .own = host, .askers = ASKERS }, &at->spread, NULL),
                         PW_OK);
        pw_list_init(&at->rooms);
}

void pulls_kill_host(uint32_t host)
{
        struct host *at = &world->hosts[host];
        struct room *room;

        pulls_note("%u: killed", host);
        for (uint32_t other = 0; other < world->host_count; other++) {
                if (other != host) {
                        pulls_break(host, other);
                        pulls_shut_streams(host, other);
                }
                pw_link_free(at->links[other]);
                at->links[other] = NULL;
        }
        pulls_forget_threads(host);
        for (uint32_t i = 0; i < world->object_count; i++)
                if (world->objects[i].home == host)
                        world->objects[i].is_there = false;
        pw_list_each(&at->rooms, room, struct room, link)
                room_free(room);
        pw_pulls_free(at->pulls);
        pw_pull_source_free(at->source);
        pw_pull_spread_free(at->spread);
        at->pulls = NULL;
}

void pulls_begin(uint64_t seed, uint32_t hosts)
{
        world = calloc(1, sizeof *world);
        assert_non_null(world);
        world->seed = seed;
        world->random = seed * 77 + 5;
        world->now_us = SECOND;
        world->host_count = hosts;
        pw_list_init(&world->jobs);
        for (uint32_t i = 0; i < hosts; i++) {
                world->hosts[i].epoch = 100;
                pulls_start_host(i);
                for (uint32_t j = i + 1; j < hosts; j++) {
                        pw_list_init(&world->pairs[i][j].ways[0].items);
                        pw_list_init(&world->pairs[i][j].ways[1].items);
                }
        }
}

void pulls_done(void)
{
        for (uint32_t i = 0; i < world->host_count; i++)
                pulls_kill_host(i);
        pulls_must(pw_list_empty(&world->jobs), "a thread is left");
        free(world->trace);
        free(world);
}

/* --- time, and what must hold ----------------------------------------------------------------------------------------------- */

static void check_row(void *context, const struct pw_pull_row *row)
{
        const struct host *at = context;
        struct room *source;
        uint32_t host = (uint32_t)(at - world->hosts), steps = 0;
        struct pw_pull_row next = *row;

        if (row->state != PW_PULL_WANTING && row->state != PW_PULL_PULLING)
                return;
        pulls_must(world->now_us < row->progress_us + DEADLINE_US + 2 * TICK_US || at->stopped_until_us + TICK_US > world->now_us,
                   "a pull is over its deadline");
        while (next.state == PW_PULL_PULLING && world->hosts[next.source].pulls) {
                struct pw_pull *pull = pw_pull_find(world->hosts[next.source].pulls, row->id);

                source = pull ? pulls_room(next.source, ((struct room *)row->place)->object) : NULL;
                if (!source || source->number != next.source_number)
                        return;
                pulls_must(next.source != host && ++steps <= world->host_count, "pulls wait for each other in a circle");
                pw_pull_row(pull, &next);
        }
}

static void check_member(void *context, const struct pw_pull_spread_row *row)
{
        (void)context;
        pulls_must(row->askers <= ASKERS, "a source has too many askers");
}

void pulls_check(void)
{
        for (uint32_t i = 0; i < world->host_count; i++)
                if (world->hosts[i].pulls) {
                        pw_pulls_each(world->hosts[i].pulls, check_row, &world->hosts[i]);
                        pw_pull_spread_each(world->hosts[i].spread, check_member, NULL);
                }
}

void pulls_go_on(uint64_t us)
{
        for (uint64_t until_us = world->now_us + us; world->now_us < until_us; world->now_us += TICK_US) {
                pulls_threads_turn();
                for (uint32_t i = 0; i < world->host_count; i++) {
                        if (!world->hosts[i].pulls || world->hosts[i].stopped_until_us > world->now_us)
                                continue;
                        pulls_link_turn(i);
                        pw_pulls_turn(world->hosts[i].pulls, world->now_us);
                        pulls_act(i);
                }
                pulls_check();
        }
}

struct known { uint32_t host; uint64_t number; bool is_so; };
static void know(void *context, const struct pw_pull_spread_row *row)
{
        struct known *known = context;

        known->is_so |= row->host == known->host && row->number == known->number && row->state == PW_MEMBER_WHOLE;
}

void pulls_check_known(void)
{
        struct room *room;

        for (uint32_t i = 0; i < world->host_count; i++)
                pw_list_each(&world->hosts[i].rooms, room, struct room, link) {
                        const struct object *object = &world->objects[room->object];
                        struct known known = { i, room->number, false };
                        struct pw_pull_row row = { .is_alone = true };

                        if (room->is_ready && room->pull)
                                pw_pull_row(room->pull, &row);
                        if (row.is_alone || !object->is_there)
                                continue;
                        pw_pull_spread_each(world->hosts[object->home].spread, know, &known);
                        pulls_must(known.is_so, "a replica that its home does not know");
                }
}

static void count_member(void *context, const struct pw_pull_spread_row *row)
{
        (void)row;
        ++*(uint32_t *)context;
}

static void count_pull(void *context, const struct pw_pull_row *row)
{
        (void)row;
        ++*(uint32_t *)context;
}

bool pulls_is_quiet(void)
{
        uint32_t left = !pw_list_empty(&world->jobs);
        struct room *room;

        for (uint32_t i = 0; i < world->host_count; i++) {
                struct host *at = &world->hosts[i];
                struct pw_pull_source_counts counts = pw_pull_source_count(at->source);

                pw_list_each(&at->rooms, room, struct room, link)
                        left += !room->is_home || !room->offered;
                pw_pulls_each(at->pulls, count_pull, &left);
                pw_pull_spread_each(at->spread, count_member, &left);
                left += counts.leaving + counts.waiting + counts.staging + counts.staged + counts.sending + counts.stopping +
                        counts.refused;
        }
        return !left;
}
