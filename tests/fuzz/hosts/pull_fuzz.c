/* A host that pulls, sends and is a home, whose peers say anything that can be decoded, whose terms end and whose threads report at
 * any time: no range has two writers, no room is let go of while a thread has it, nothing is ready that is not here, and all is
 * given back. */
#include "cluster/pull/pull.h"
#include "cluster/pull/source.h"
#include "cluster/pull/spread.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PEERS 3u
#define ROOMS 6u
#define CHUNKS 3u
#define RECEIVES 256u
#define SENDS 256u

struct place { /* a room */
        bool pull_has, offer_has, is_offered, is_ready;
        struct pw_pull *pull;
        struct pw_id id;
        uint64_t number;
        uint32_t writers[CHUNKS], readers, here;
};
struct receiving { struct place *place; uint64_t ask; uint32_t chunk; };
struct sending { bool is_there, stages; struct place *place; uint64_t send; };

struct one {
        struct fuzz_bytes bytes;
        struct pw_pulls *pulls;
        struct pw_pull_source *source;
        struct pw_pull_spread *spread;
        struct place places[ROOMS];
        struct receiving receiving[RECEIVES];
        struct sending sending[SENDS];
        uint64_t now_us, asks;
};

static void must(bool is_so, const char *what)
{
        if (is_so)
                return;
        fprintf(stderr, "%s\n", what);
        abort();
}

static uint32_t take(struct one *one, uint32_t limit) { return (uint32_t)fuzz_take(&one->bytes, 1) % limit; }
static struct pw_id take_id(struct one *one) { return pw_id_make(1 + take(one, PEERS + 1), 1, 3, take(one, 3), 1); }

/* --- rooms ------------------------------------------------------------------------------------------------------------------ */

static struct place *free_place(struct one *one)
{
        for (uint32_t i = 0; i < ROOMS; i++)
                if (!one->places[i].pull_has && !one->places[i].offer_has) {
                        one->places[i] = (struct place){ .pull = NULL };
                        return &one->places[i];
                }
        return NULL;
}

static void withdraw(struct one *one, struct place *place)
{
        if (place->is_offered && !place->pull)
                pw_pull_spread_withdraw(one->spread, place->id, PW_GONE);
        if (place->is_offered)
                pw_pull_source_withdraw(one->source, place->number, PW_GONE);
        place->is_offered = false;
}

static void drop(struct one *one, struct place *place)
{
        withdraw(one, place);
        if (place->pull)
                pw_pull_cancel(one->pulls, place->pull);
        place->pull = NULL;
        place->is_ready = false;
}

static void offer(struct one *one, bool is_whole)
{
        struct place *place = free_place(one);
        struct pw_offer_params offer = { .id = take_id(one), .bytes = CHUNKS * PW_PULL_CHUNK_BYTES - 5, .is_whole = is_whole,
                                         .is_staged = is_whole && take(one, 2), .place = place };
        struct pw_pull_request request = { .id = offer.id, .home = 2 + take(one, PEERS), .bytes = offer.bytes, .place = place,
                                           .now_us = one->now_us };

        if (!place || pw_pull_source_offer(one->source, &offer, &place->number, NULL) != PW_OK)
                return;
        place->id = offer.id;
        place->offer_has = place->is_offered = true;
        request.number = place->number;
        if (is_whole)
                (void)!pw_pull_spread_offer(one->spread, place->id, place->number, NULL);
        else if (pw_pull_begin(one->pulls, &request, &place->pull, NULL) == PW_OK)
                place->pull_has = true;
        else
                withdraw(one, place);
}

static void let_go(struct place *place, bool *has)
{
        must(*has, "let go of twice");
        *has = false;
        for (uint32_t i = 0; i < CHUNKS; i++)
                must(place->pull_has || !place->writers[i], "a room is let go of, and a thread writes it");
        must(place->offer_has || !place->readers, "a room is let go of, and a thread sends it");
}

/* --- threads ---------------------------------------------------------------------------------------------------------------- */

static void receive(struct one *one, const struct pw_pulls_action *action)
{
        struct place *place = action->place;

        must(place->pull_has && action->chunk < CHUNKS && !place->writers[action->chunk]++, "a range has two writers");
        for (uint32_t i = 0; i < RECEIVES; i++)
                if (!one->receiving[i].place) {
                        one->receiving[i] = (struct receiving){ place, action->ask, action->chunk };
                        return;
                }
        must(false, "too many receive");
}

static void reported(struct one *one, struct receiving *it, enum pw_status status)
{
        struct receiving was = *it;

        if (!was.place)
                return;
        it->place = NULL;
        was.place->writers[was.chunk]--;
        pw_pulls_reported(one->pulls, was.ask, status, one->now_us);
}

static void send(struct one *one, const struct pw_pull_source_action *action, bool stages)
{
        struct place *place = stages || !action->is_staged ? action->place : NULL;

        must(!place || place->offer_has, "a room is sent that was let go of");
        for (uint32_t i = 0; i < SENDS; i++)
                if (!one->sending[i].is_there) {
                        one->sending[i] = (struct sending){ true, stages, place, action->send };
                        if (place)
                                place->readers++;
                        return;
                }
        must(false, "too many send");
}

static void sent(struct one *one, struct sending *it, enum pw_status status)
{
        struct sending was = *it;

        if (!was.is_there)
                return;
        it->is_there = false;
        if (was.place)
                was.place->readers--;
        if (was.stages)
                pw_pull_source_staged(one->source, was.send, status);
        else
                pw_pull_source_sent(one->source, was.send, status);
}

/* --- what the cores say ----------------------------------------------------------------------------------------------------- */

static void told(struct one *one, const struct pw_pulls_action *action)
{
        struct place *place = action->place;

        switch (action->kind) {
        case PW_PULLS_SAY: case PW_PULLS_STOP: break;
        case PW_PULLS_RECEIVE: receive(one, action); break;
        case PW_PULLS_HERE:
                must(!place->writers[action->chunk] && ++place->here <= CHUNKS, "here, and a thread has it");
                pw_pull_source_have(one->source, place->number, action->chunk);
                break;
        case PW_PULLS_READY:
                must(!place->is_ready && place->here == CHUNKS, "ready, and not here");
                place->is_ready = true;
                break;
        case PW_PULLS_FAILED:
                must(!place->is_ready && pw_status_of_value(action->status), "failed without a cause");
                withdraw(one, place);
                place->pull = NULL;
                break;
        case PW_PULLS_LET_GO: let_go(place, &place->pull_has); break;
        }
}

static void acts(struct one *one)
{
        struct pw_pull_spread_action spread;
        struct pw_pull_source_action source;
        struct pw_pulls_action pulls;
        bool again;

        do {
                again = false;
                for (; pw_pulls_next(one->pulls, &pulls); again = true)
                        told(one, &pulls);
                for (; pw_pull_source_next(one->source, &source); again = true)
                        switch (source.kind) {
                        case PW_PULL_SOURCE_STAGE: send(one, &source, true); break;
                        case PW_PULL_SOURCE_SEND: send(one, &source, false); break;
                        case PW_PULL_SOURCE_LET_GO:
                                let_go(source.place, &((struct place *)source.place)->offer_has);
                                break;
                        default: break;
                        }
                for (; pw_pull_spread_next(one->spread, &spread); again = true)
                        ;
        } while (again);
}

/* --- events ----------------------------------------------------------------------------------------------------------------- */

static enum pw_status take_status(struct one *one)
{
        static const enum pw_status statuses[] = { PW_GONE, PW_PROTOCOL, PW_CANCELLED, PW_NOT_READY, PW_OK, PW_OK, PW_OK };

        return statuses[take(one, sizeof statuses / sizeof *statuses)];
}

static void hear(struct one *one)
{
        struct pw_pull_message message = { .kind = PW_PULL_MSG_WANT + take(one, PW_PULL_MSG_LAST - PW_PULL_MSG_WANT + 1),
                                           .number = 1 + take(one, 24), .round = 1 + take(one, 8),
                                           .source_number = 1 + take(one, 24), .source = 1 + take(one, PEERS + 1),
                                           .stream = take(one, 3), .chunk = take(one, CHUNKS), .id = take_id(one) };
        uint32_t host = 2 + take(one, PEERS);
        enum pw_status status;

        message.status = take_status(one);
        if ((message.status == PW_OK || message.status == PW_NOT_READY) && message.kind != PW_PULL_MSG_NAMED)
                message.status = PW_GONE;
        message.ask = message.kind == PW_PULL_MSG_ASK ? ++one->asks : 1 + take(one, 64);
        if (pw_pull_is_for_home(message.kind))
                status = pw_pull_spread_receive(one->spread, host, &message, NULL);
        else if (pw_pull_is_for_source(message.kind))
                status = pw_pull_source_receive(one->source, host, &message, NULL);
        else
                status = pw_pulls_receive(one->pulls, host, &message, one->now_us, NULL);
        must(status == PW_OK || status == PW_PROTOCOL || status == PW_NO_MEMORY, "what is said ends in another way");
}

static void end_term(struct one *one, uint32_t host)
{
        pw_pulls_ended(one->pulls, host);
        pw_pull_source_ended(one->source, host);
        pw_pull_spread_ended(one->spread, host);
}

static void event(struct one *one)
{
        struct place *place = &one->places[take(one, ROOMS)];

        switch (take(one, 12)) {
        case 0: offer(one, true); break;
        case 1: case 2: offer(one, false); break;
        case 3: drop(one, place); break;
        case 4: case 5: reported(one, &one->receiving[take(one, 16)], take_status(one)); break;
        case 6: sent(one, &one->sending[take(one, 16)], take_status(one)); break;
        case 7: end_term(one, 2 + take(one, PEERS)); break;
        case 8:
                one->now_us += take(one, 256);
                pw_pulls_turn(one->pulls, one->now_us);
                must(pw_pulls_next_us(one->pulls) > one->now_us, "due, and done");
                break;
        case 9:
                if (place->pull)
                        pw_pull_renewed(one->pulls, place->pull, 2 + take(one, PEERS));
                break;
        default: hear(one);
        }
        acts(one);
}

static void end(struct one *one)
{
        for (uint32_t host = 2; host < 2 + PEERS; host++)
                end_term(one, host);
        for (uint32_t i = 0; i < ROOMS; i++)
                drop(one, &one->places[i]);
        acts(one);
        for (uint32_t i = 0; i < RECEIVES; i++)
                reported(one, &one->receiving[i], PW_CANCELLED);
        for (uint32_t i = 0; i < SENDS; i++)
                sent(one, &one->sending[i], PW_CANCELLED);
        acts(one);
        for (uint32_t i = 0; i < ROOMS; i++)
                must(!one->places[i].pull_has && !one->places[i].offer_has, "a room is left");
        must(!pw_pull_spread_objects(one->spread), "an object is left");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
        struct pw_pulls_params params = { .ahead = 3, .streams = 2, .stall_us = 300, .deadline_us = 2000 };
        struct one one = { .bytes = { bytes, count } };

        if (pw_pulls_new(&params, &one.pulls, NULL) == PW_OK &&
            pw_pull_source_new(&(struct pw_pull_source_params){ .sends = 2, .slots = 2 }, &one.source, NULL) == PW_OK &&
            pw_pull_spread_new(&(struct pw_pull_spread_params){ .own = 1, .askers = 1 }, &one.spread, NULL) == PW_OK) {
                while (one.bytes.left)
                        event(&one);
                end(&one);
        }
        pw_pulls_free(one.pulls);
        pw_pull_source_free(one.source);
        pw_pull_spread_free(one.spread);
        return 0;
}
