/* From an operator's request to what other hosts are told, and back. */
#include "daemon/peer/draining.h"

#include "base/memory.h"
#include "daemon/peer/name/handing.h"
#include "daemon/peer/peers_private.h"
#include "daemon/session/output.h"
#include "daemon/session/session.h"

#include <stdlib.h>
#include <string.h>

struct asker { struct pw_list link; uint64_t number; uint32_t session; uint64_t request; };

/* --- what the core wants ------------------------------------------------------------------------------------------------------ */

static void say(struct pw_peers *peers, const struct pw_drain_action *action)
{
        const struct pw_talk_message message = { .kind = PW_TALK_DRAINS, .host = action->successor };
        struct pw_link_frame *frame = pw_talk_encode(&message);
        struct pw_error err;

        if (frame) {
                pw_peers_send(peers, action->host, PW_PEER_BODY_TALK, frame);
                return;
        }
        (void)!pw_error_set(&err, PW_NO_MEMORY, "pathwaysd: out of memory for what is said to it");
        pw_peers_give_up(peers, action->host, &err);
}

static void forget(struct asker *asker)
{
        pw_list_remove(&asker->link);
        free(asker);
}

/* A session that does not read its replies ends with one, and what it asked with it: so this is over before it is told. */
static void tell(struct pw_peers *peers, const struct pw_drain_action *action)
{
        struct pw_dsession *session;
        struct pw_error err;
        struct asker *asker;
        uint64_t request;

        pw_list_each(&peers->drain_askers, asker, struct asker, link) {
                if (asker->number != action->waiter)
                        continue;
                session = pw_session_get(&peers->daemon->registry, asker->session);
                request = asker->request;
                forget(asker);
                if (session && action->status == PW_OK)
                        pw_session_reply_ok(session, request);
                else if (session && pw_drain_explain(action, &err) != PW_OK)
                        pw_session_reply_error(session, request, err.status, err.text);
                return;
        }
}

static void act(struct pw_peers *peers)
{
        struct pw_drain_action action;

        if (peers->draining)
                return; /* whoever does goes on */
        peers->draining = true;
        while (pw_drain_next(peers->drain, &action)) {
                if (action.kind == PW_DRAIN_SAY)
                        say(peers, &action);
                else
                        tell(peers, &action);
                peers->daemon->loop.more = true;
        }
        peers->draining = false;
}

/* --- requests ----------------------------------------------------------------------------------------------------------------- */

/* This host too; 0: no such host. */
static uint32_t find(const struct pw_peers *peers, const char *text)
{
        char number[16];

        snprintf(number, sizeof number, "h%u", peers->own.host);
        return !strcmp(text, peers->own.name) || !strcmp(text, number) ? peers->own.host : pw_peers_find(peers->daemon, text);
}

/* By others, and by names and leases. */
static uint64_t held(struct pw_peers *peers) { return pw_lend_count(peers->lend) + pw_handing_count(peers); }

static enum pw_status read_request(const struct pw_dsession *session, const struct pw_draining_request *request,
                                   struct pw_drain_request *ret_ask, struct pw_error *ret_err)
{
        const struct pw_peers *peers = session->daemon->peers;
        uint32_t host;

        if (!session->operator_)
                return pw_error_set(ret_err, PW_DENIED, "drain: only operators may, see --operators of pathwaysd");
        if (!peers || !peers->joined)
                return pw_error_set(ret_err, PW_UNSUPPORTED, "drain: this host deals with no other one, it has no --listen: what "
                                    "it has ends with it");
        host = find(peers, request->host);
        if (!host)
                return pw_error_set(ret_err, PW_NOT_FOUND, "drain: host %.100s is not known here: see pathways hosts",
                                    request->host);
        if (host != peers->own.host)
                return pw_error_set(ret_err, PW_UNSUPPORTED, "drain: this is host %s: ask the pathwaysd of %.100s, on that host",
                                    peers->own.name, request->host);
        ret_ask->to = request->to[0] ? find(peers, request->to) : 0;
        if (request->to[0] && !ret_ask->to)
                return pw_error_set(ret_err, PW_NOT_FOUND, "drain: --to %.100s is not known here: see pathways hosts", request->to);
        ret_ask->until_us = request->timeout_us < 0 ? UINT64_MAX : pw_boot_us() + (uint64_t)request->timeout_us;
        ret_ask->held = held(session->daemon->peers);
        return PW_OK;
}

static enum pw_status begin(struct pw_dsession *session, uint64_t id, struct pw_drain_request *ask, struct pw_error *ret_err)
{
        struct pw_peers *peers = session->daemon->peers;
        struct asker *asker = calloc(1, sizeof *asker);
        enum pw_status status;

        if (!asker)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd is out of memory");
        *asker = (struct asker){ .number = ++peers->next_asker, .session = session->number, .request = id };
        pw_list_init(&asker->link);
        ask->waiter = asker->number;
        status = pw_drain_begin(peers->drain, ask, ret_err);
        if (status != PW_OK) {
                free(asker);
                return status;
        }
        pw_list_append(&peers->drain_askers, &asker->link);
        pw_log(&peers->daemon->log, PW_LOG_INFO, "this host drains successor=h%u", pw_drain_successor(peers->drain));
        act(peers);
        return PW_OK;
}

void pw_draining_begin(struct pw_dsession *session, const struct pw_draining_request *request)
{
        struct pw_drain_request ask = { .to = 0 };
        struct pw_error err;
        enum pw_status status = read_request(session, request, &ask, &err);

        if (status == PW_OK)
                status = begin(session, request->id, &ask, &err);
        if (status != PW_OK)
                pw_session_reply_error(session, request->id, status, err.text);
}

void pw_draining_session_end(struct pw_dsession *session)
{
        struct pw_peers *peers = session->daemon->peers;
        struct asker *asker;

        pw_list_each(&peers->drain_askers, asker, struct asker, link) {
                if (asker->session != session->number)
                        continue;
                pw_drain_forget(peers->drain, asker->number);
                forget(asker);
        }
}

enum pw_status pw_draining_check(const struct pw_daemon *daemon, struct pw_error *ret_err)
{
        const struct pw_peers *peers = daemon->peers;

        if (!peers || !peers->joined || pw_drain_state(peers->drain) == PW_DRAIN_NONE)
                return PW_OK;
        return pw_error_set(ret_err, PW_BUSY, "host %s drains, and takes no new work: attach to another one, as h%u, which takes "
                            "over from it", peers->own.name, pw_drain_successor(peers->drain));
}

uint32_t pw_draining_successor(const struct pw_daemon *daemon, uint32_t host, bool *ret_done)
{
        const struct pw_peers *peers = daemon->peers;

        *ret_done = false;
        if (!peers || !peers->joined)
                return 0;
        if (host != daemon->host)
                return pw_borrow_successor(peers->borrow, host);
        *ret_done = pw_drain_state(peers->drain) == PW_DRAIN_DRAINED;
        return pw_drain_successor(peers->drain);
}

/* --- events ------------------------------------------------------------------------------------------------------------------- */

enum pw_status pw_draining_open(struct pw_peers *peers, struct pw_error *ret_err)
{
        enum pw_status status = pw_handing_open(peers, ret_err);

        return status != PW_OK ? status
                               : pw_drain_new(&(struct pw_drain_params){ peers->own.host, &peers->observer }, &peers->drain, ret_err);
}

void pw_draining_met(struct pw_peers *peers, uint32_t host)
{
        struct pw_error err;

        if (pw_drain_met(peers->drain, host, &err) != PW_OK)
                pw_peers_give_up(peers, host, &err);
        act(peers);
}

void pw_draining_ended(struct pw_peers *peers, uint32_t host)
{
        pw_handing_ended(peers, host);
        pw_drain_ended(peers->drain, host);
        act(peers);
}

void pw_draining_heard(struct pw_peers *peers, uint32_t host)
{
        pw_log(&peers->daemon->log, PW_LOG_INFO, "host drains host=h%u successor=h%u", host,
               pw_borrow_successor(peers->borrow, host));
        pw_drain_heard(peers->drain, host);
        act(peers);
}

void pw_draining_turn(struct pw_peers *peers)
{
        if (pw_drain_state(peers->drain) == PW_DRAIN_NONE)
                return;
        pw_handing_turn(peers);
        pw_drain_held(peers->drain, held(peers));
        pw_drain_turn(peers->drain, pw_boot_us());
        act(peers);
}

uint64_t pw_draining_next_us(const struct pw_peers *peers)
{
        return pw_min_u64(pw_drain_next_us(peers->drain), pw_handing_next_us(peers));
}

void pw_draining_done(struct pw_peers *peers)
{
        struct asker *asker;

        pw_list_each(&peers->drain_askers, asker, struct asker, link)
                free(asker);
        pw_list_init(&peers->drain_askers);
        pw_handing_done(peers);
        pw_drain_free(peers->drain);
        peers->drain = NULL;
}
