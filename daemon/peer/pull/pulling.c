/* The three cores of pulls: what happened goes in, what they want is done. */
#include "daemon/peer/pull/pulling.h"

#include "base/memory.h"
#include "cluster/pull/pull.h"
#include "cluster/pull/source.h"
#include "cluster/pull/spread.h"
#include "daemon/peer/pull/bulk.h"
#include "daemon/peer/pull/offering.h"
#include "daemon/peer/pull/sending.h"
#include "daemon/peer/pull/staging.h"
#include "daemon/peer/pull/wanting.h"

#include <stdlib.h>

#define STREAMS 2u              /* of a pull */
#define AHEAD 16u               /* chunks that are asked for */
#define ASKERS 4u               /* of a source at a time */
#define SENDS 4u                /* of a stream at a time */
#define DEADLINE_US 30000000u   /* without progress */

struct pw_pulling {
        struct pw_offered offered;   /* first */
        struct pw_list link;         /* in peers->pullings */
        struct pw_peers *peers;
        struct pw_pulling_request request;
        struct pw_pull *pull;        /* NULL: it has failed */
        uint64_t number;             /* of its offer */
        uint64_t began_us;
        bool whole, ended;
        uint32_t users;              /* the pull and the offer: who has the room */
};

/* --- one pull ----------------------------------------------------------------------------------------------------------------- */

static void user_left(struct pw_pulling *pulling)
{
        if (--pulling->users)
                return;
        pulling->request.let_go(pulling->request.context);
        pw_list_remove(&pulling->link);
        free(pulling);
}

static void offer_left(struct pw_offered *offered) { user_left((struct pw_pulling *)offered); }

enum pw_status pw_pulling_begin(struct pw_peers *peers, const struct pw_pulling_request *request, struct pw_pulling **ret_pulling,
                                struct pw_error *ret_err)
{
        struct pw_pulling *pulling = calloc(1, sizeof *pulling);
        struct pw_offer_params offer = { .id = request->id, .bytes = request->bytes, .place = pulling };
        struct pw_pull_request begin = { .id = request->id, .home = request->lender, .bytes = request->bytes, .place = pulling,
                                         .now_us = pw_boot_us() };
        enum pw_status status;

        if (!pulling)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a pull");
        pulling->offered = (struct pw_offered){ .at = request->to, .bytes = request->bytes, .id = request->id,
                                                  .tenant = request->tenant, .let_go = offer_left };
        pulling->peers = peers;
        pulling->request = *request;
        pulling->began_us = begin.now_us;
        status = request->lender ? pw_pull_source_offer(peers->source, &offer, &pulling->number, ret_err)
                                 : pw_error_set(ret_err, PW_HOST_LOST, "no host lends it to this one any more");
        if (status != PW_OK) {
                free(pulling);
                return status;
        }
        pw_list_init(&pulling->link);
        pw_list_append(&peers->pullings, &pulling->link);
        pulling->users = 1;
        begin.number = pulling->number;
        status = pw_pull_begin(peers->pulls, &begin, &pulling->pull, ret_err);
        peers->daemon->loop.more = true;
        *ret_pulling = pulling;
        if (status == PW_OK) {
                pulling->users++;
                return PW_OK;
        }
        /* The offer has the room until it says otherwise: the caller hears of it as of one that failed. */
        pw_pulling_end(pulling);
        return status;
}

static void tell_traces(const struct pw_pulling *pulling, enum pw_status status, const char *why)
{
        struct pw_peers *peers = pulling->peers;
        uint64_t now_us = pw_now_us(), boot_us = pw_boot_us();
        struct pw_pull_row row;

        if (!peers->travelled || !pulling->pull)
                return;
        pw_pull_row(pulling->pull, &row);
        peers->travelled(peers->daemon, &(struct pw_travelled){ pulling->request.id, pulling->request.tenant, row.source,
                                                                peers->own.host, row.bytes,
                                                                now_us - (boot_us - pulling->began_us), now_us, status, why });
}

void pw_pulling_end(struct pw_pulling *pulling)
{
        struct pw_peers *peers = pulling->peers;

        if (pulling->ended)
                return;
        pulling->ended = true;
        if (!pulling->whole)
                tell_traces(pulling, PW_CANCELLED, "nobody here wants it any more");
        if (pulling->whole)
                pw_pull_spread_withdraw(peers->spread, pulling->request.id, PW_GONE);
        pw_pull_source_withdraw(peers->source, pulling->number, PW_GONE);
        if (pulling->pull)
                pw_pull_cancel(peers->pulls, pulling->pull);
        peers->daemon->loop.more = true;
}

void pw_pulling_renewed(struct pw_pulling *pulling, uint32_t host)
{
        if (pulling->pull)
                pw_pull_renewed(pulling->peers->pulls, pulling->pull, host);
        pulling->peers->daemon->loop.more = true;
}

struct pw_pulling_seen pw_pulling_see(const struct pw_pulling *pulling)
{
        struct pw_pulling_seen seen = { .began_us = pulling->began_us, .came_us = pulling->began_us };
        struct pw_pull_row row;

        if (!pulling->pull)
                return seen;
        pw_pull_row(pulling->pull, &row);
        seen.source = row.state == PW_PULL_PULLING ? row.source : 0;
        seen.here_bytes = pw_min_u64(row.bytes, (uint64_t)row.chunks_here * PW_PULL_CHUNK_BYTES);
        seen.came_us = row.progress_us;
        return seen;
}

/* All of it is here: others may have it from here, also when its home is lost. */
static void become_whole(struct pw_pulling *pulling)
{
        struct pw_error err;

        if (pulling->ended)
                return;
        tell_traces(pulling, PW_OK, "");
        pulling->whole = pw_pull_spread_offer(pulling->peers->spread, pulling->request.id, pulling->number, &err) == PW_OK;
        pulling->request.done(pulling->request.context, PW_OK, NULL);
}

/* What somebody can do about it; "": the status says it. */
static const char *advice(enum pw_status status)
{
        switch (status) {
        case PW_SYSTEM: return "; its pathwaysd could not read or send them: its log says why, try again then";
        case PW_PROTOCOL: return "; what came was not what was sent: see the network between the two, and try again";
        case PW_NOT_READY: case PW_DEADLINE: return "; `pathways hosts` says how the link is, try again";
        case PW_HOST_LOST: return "; `pathways hosts` says since when it is not there";
        default: return "";
        }
}

static void fail(struct pw_pulling *pulling, const struct pw_pulls_action *action)
{
        const struct pw_host *host = pw_hosts_get(&pulling->peers->hosts, action->host);
        struct pw_error err;

        (void)!pw_error_set(&err, action->status, "its bytes do not come from host %s: %s%s", host ? host->row.name : "?",
                            pw_status_text(action->status), advice(action->status));
        if (!pulling->ended)
                tell_traces(pulling, action->status, err.text);
        pulling->pull = NULL;
        if (pulling->ended)
                return;
        pulling->request.done(pulling->request.context, action->status, &err);
}

/* --- what the cores want ------------------------------------------------------------------------------------------------------ */

static void say(struct pw_peers *peers, uint32_t host, const struct pw_pull_message *message)
{
        struct pw_link_frame *frame = pw_pull_encode(message);
        struct pw_error err;

        if (frame) {
                pw_peers_send(peers, host, PW_PEER_BODY_PULL, frame);
                return;
        }
        (void)!pw_error_set(&err, PW_NO_MEMORY, "pathwaysd: out of memory for what is said to it");
        pw_peers_give_up(peers, host, &err);
}

static struct pw_bulk_job job_of(struct pw_offered *offered, uint64_t number, uint64_t ask, uint32_t chunk)
{
        return (struct pw_bulk_job){ number, ask, offered->at + (uint64_t)chunk * PW_PULL_CHUNK_BYTES,
                                     pw_pull_chunk_bytes(offered->bytes, chunk) };
}

static void do_pull(struct pw_peers *peers, const struct pw_pulls_action *action)
{
        struct pw_pulling *pulling = action->place;
        struct pw_bulk_job job;

        switch (action->kind) {
        case PW_PULLS_SAY: say(peers, action->host, &action->message); break;
        case PW_PULLS_RECEIVE:
                job = job_of(&pulling->offered, action->ask, action->ask, action->chunk);
                pw_bulk_receive(peers->bulk, action->host, action->stream, &job);
                break;
        case PW_PULLS_STOP: pw_bulk_stop_receiving(peers->bulk, action->host, action->stream, action->ask); break;
        case PW_PULLS_HERE: pw_pull_source_have(peers->source, pulling->number, action->chunk); break;
        case PW_PULLS_READY: become_whole(pulling); break;
        case PW_PULLS_FAILED: fail(pulling, action); break;
        case PW_PULLS_LET_GO:
                pulling->pull = NULL;
                user_left(pulling);
                break;
        }
}

static struct pw_bulk_job staged_job_of(const struct pw_peers *peers, const struct pw_pull_source_action *action)
{
        const struct pw_offered *offered = action->place;

        return (struct pw_bulk_job){ action->send, action->ask, pw_staging_place(peers->staging, action->host, action->slot),
                                     pw_pull_chunk_bytes(offered->bytes, action->chunk) };
}

/* Without memory for it, it is as one that cannot be read. */
static void stage(struct pw_peers *peers, const struct pw_pull_source_action *action)
{
        struct pw_staging_chunk chunk = { action->host, action->slot, action->chunk, action->send };
        struct pw_error err;
        enum pw_status status = pw_staging_fill(peers->staging, action->place, &chunk, &err);

        if (status != PW_OK)
                pw_pull_source_staged(peers->source, action->send, status);
}

static void do_source(struct pw_peers *peers, const struct pw_pull_source_action *action)
{
        struct pw_offered *offered = action->place;
        struct pw_bulk_job job;

        switch (action->kind) {
        case PW_PULL_SOURCE_SAY: say(peers, action->host, &action->message); break;
        case PW_PULL_SOURCE_STAGE: stage(peers, action); break;
        case PW_PULL_SOURCE_SEND:
                job = action->is_staged ? staged_job_of(peers, action)
                                        : job_of(offered, action->send, action->ask, action->chunk);
                pw_sending_begin(peers, offered, action->host, action->send);
                pw_bulk_send(peers->bulk, action->host, action->stream, &job);
                break;
        case PW_PULL_SOURCE_STOP: pw_bulk_stop_sending(peers->bulk, action->send); break;
        case PW_PULL_SOURCE_LET_GO:
                pw_sending_let_go(peers, offered);
                offered->let_go(offered);
                break;
        }
}

static void do_spread(struct pw_peers *peers, const struct pw_pull_spread_action *action)
{
        const struct pw_host *host = pw_hosts_get(&peers->hosts, action->host);

        say(peers, action->host, &action->message);
        if (action->answers && host && host->peer)
                pw_link_work_done(host->peer->link);
}

static void act(struct pw_peers *peers)
{
        struct pw_pulls_action pull;
        struct pw_pull_source_action source;
        struct pw_pull_spread_action spread;
        bool any = !peers->moving; /* else whoever does goes on */

        if (!any)
                return;
        peers->moving = true;
        while (any) {
                any = false;
                for (; pw_pulls_next(peers->pulls, &pull); any = true)
                        do_pull(peers, &pull);
                for (; pw_pull_source_next(peers->source, &source); any = true)
                        do_source(peers, &source);
                for (; pw_pull_spread_next(peers->spread, &spread); any = true)
                        do_spread(peers, &spread);
        }
        peers->moving = false;
}

/* --- events ------------------------------------------------------------------------------------------------------------------- */

static void received(void *context, uint64_t ask, enum pw_status status, uint64_t done_us)
{
        struct pw_peers *peers = context;

        (void)done_us;
        pw_pulls_reported(peers->pulls, ask, status, pw_boot_us());
        act(peers);
}

static void sent(void *context, uint64_t send, enum pw_status status, uint64_t done_us)
{
        struct pw_peers *peers = context;

        pw_sending_sent(peers, send, status, done_us);
        pw_pull_source_sent(peers->source, send, status);
        act(peers);
}

static void staged(struct pw_peers *peers, uint64_t send, enum pw_status status)
{
        pw_pull_source_staged(peers->source, send, status);
        act(peers);
}

static const struct pw_bulk_reports reports = { received, sent };

/* What is not offered, `why` says so, was offered while that was heard, by a number that names nothing: so that is the answer. */
static enum pw_status hear_want(struct pw_peers *peers, uint32_t host, const struct pw_pull_message *message, enum pw_status why,
                                struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;

        if (why != PW_OK)
                status = pw_pull_spread_offer(peers->spread, message->id, UINT64_MAX, ret_err);
        if (status == PW_OK)
                status = pw_pull_spread_receive(peers->spread, host, message, ret_err);
        if (why != PW_OK)
                pw_pull_spread_withdraw(peers->spread, message->id, why);
        return status;
}

static void want_fetched(struct pw_peers *peers, uint32_t host, const struct pw_pull_message *message, enum pw_status why);

/* What nobody can read where it is, is fetched first. */
static enum pw_status want(struct pw_peers *peers, uint32_t host, const struct pw_pull_message *message, struct pw_error *ret_err)
{
        struct pw_object *apart = pw_offering_apart(peers, message->id);
        struct pw_error why;
        enum pw_status status = apart ? pw_wanting_begin(peers, host, message, apart, want_fetched, &why)
                                      : pw_offering_wanted(peers, message->id);

        if (apart && status == PW_OK)
                return PW_OK;
        return hear_want(peers, host, message, status, ret_err);
}

static void want_fetched(struct pw_peers *peers, uint32_t host, const struct pw_pull_message *message, enum pw_status why)
{
        struct pw_error err;
        enum pw_status status;

        if (message->kind != PW_PULL_MSG_WANT)
                status = pw_pull_spread_receive(peers->spread, host, message, &err);
        else if (why != PW_OK)
                status = hear_want(peers, host, message, why, &err);
        else
                status = want(peers, host, message, &err);
        if (status != PW_OK)
                pw_peers_give_up(peers, host, &err);
        act(peers);
        pw_offering_unheld(peers, message->id); /* who wanted it may have let go of it before there was an offer */
        act(peers);
}

enum pw_status pw_pulling_hear(struct pw_peers *peers, uint32_t host, const uint8_t *bytes, uint32_t count,
                               struct pw_error *ret_err)
{
        struct pw_pull_message message;
        enum pw_status status = pw_pull_decode(bytes, count, &message, ret_err);

        if (status != PW_OK)
                return status;
        if (message.kind == PW_PULL_MSG_WANT)
                status = want(peers, host, &message, ret_err);
        else if (message.kind == PW_PULL_MSG_LEAVE && pw_wanting_leaves(peers, host, &message))
                status = PW_OK;
        else if (pw_pull_is_for_home(message.kind))
                status = pw_pull_spread_receive(peers->spread, host, &message, ret_err);
        else if (pw_pull_is_for_source(message.kind))
                status = pw_pull_source_receive(peers->source, host, &message, ret_err);
        else
                status = pw_pulls_receive(peers->pulls, host, &message, pw_boot_us(), ret_err);
        act(peers);
        return status;
}

void pw_pulling_met(struct pw_peers *peers, uint32_t host)
{
        pw_pulls_met(peers->pulls, host, pw_boot_us());
        pw_bulk_met(peers->bulk, host);
}

void pw_pulling_ended(struct pw_peers *peers, uint32_t host)
{
        pw_wanting_ended(peers, host);
        pw_pulls_ended(peers->pulls, host);
        pw_pull_source_ended(peers->source, host);
        pw_pull_spread_ended(peers->spread, host);
        pw_bulk_ended(peers->bulk, host);
        pw_sending_ended(peers, host);
        act(peers);
}

void pw_pulling_turn(struct pw_peers *peers)
{
        uint64_t now_us = pw_boot_us();

        if (pw_pulls_next_us(peers->pulls) <= now_us)
                pw_pulls_turn(peers->pulls, now_us);
        act(peers);
}

uint64_t pw_pulling_next_us(const struct pw_peers *peers) { return pw_pulls_next_us(peers->pulls); }

/* --- life --------------------------------------------------------------------------------------------------------------------- */

enum pw_status pw_pulling_open(struct pw_peers *peers, struct pw_error *ret_err)
{
        uint64_t first = (uint64_t)peers->own.peer.epoch << 32;
        struct pw_hash_secret secret = peers->daemon->hash_secret;
        struct pw_pulls_params pulls = { .ahead = AHEAD, .streams = STREAMS, .stall_us = peers->daemon->settings.lease_us,
                                         .deadline_us = DEADLINE_US, .first_ask = first, .secret = secret,
                                         .observer = &peers->observer };
        struct pw_pull_source_params source = { .sends = SENDS, .slots = pw_staging_slots(peers), .first_number = first,
                                                 .observer = &peers->observer };
        struct pw_pull_spread_params spread = { peers->own.host, ASKERS, secret, &peers->observer };
        enum pw_status status = pw_pulls_new(&pulls, &peers->pulls, ret_err);

        if (status == PW_OK)
                status = pw_pull_source_new(&source, &peers->source, ret_err);
        if (status == PW_OK)
                status = pw_pull_spread_new(&spread, &peers->spread, ret_err);
        if (status == PW_OK)
                status = pw_bulk_new(peers, &reports, &peers->bulk, ret_err);
        if (status == PW_OK)
                status = pw_staging_new(peers, staged, &peers->staging, ret_err);
        return status;
}

void pw_pulling_stop(struct pw_peers *peers)
{
        if (peers->bulk)
                pw_bulk_stop(peers->bulk);
}

void pw_pulling_close(struct pw_peers *peers)
{
        struct pw_pulling *pulling;

        pw_bulk_free(peers->bulk);
        pw_staging_free(peers->staging);
        pw_sending_done(peers);
        pw_wanting_done(peers);
        pw_offering_done(peers);
        if (peers->pulls)
                pw_pulls_free(peers->pulls);
        if (peers->source)
                pw_pull_source_free(peers->source);
        if (peers->spread)
                pw_pull_spread_free(peers->spread);
        pw_list_each(&peers->pullings, pulling, struct pw_pulling, link)
                free(pulling);
}
