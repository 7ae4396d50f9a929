/* From an operator's request to what other hosts are told, and back. */
#include "daemon/peer/draining.h"

#include "base/memory.h"
#include "daemon/meta/meta.h"
#include "daemon/peer/name/handing.h"
#include "daemon/peer/page/paging.h"
#include "daemon/peer/peers_private.h"
#include "daemon/session/output.h"
#include "daemon/session/session.h"

#include <stdlib.h>
#include <string.h>

/* A session, or, 0, one of another host, by its question there. */
struct asker { struct pw_list link; uint64_t number; uint32_t session, host; uint64_t request; };

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

static void tell_host(struct pw_peers *peers, const struct asker *asker, enum pw_status status, const char *text)
{
        pw_paging_answer(peers->daemon, asker->host, &(struct pw_peer_page){ .answers = true, .number = asker->request,
                                                                              .status = status, .text = text });
}

static void tell_session(struct pw_peers *peers, const struct asker *asker, enum pw_status status, const char *text)
{
        struct pw_dsession *session = pw_session_get(&peers->daemon->registry, asker->session);

        if (session && status == PW_OK)
                pw_session_reply_ok(session, asker->request);
        else if (session)
                pw_session_reply_error(session, asker->request, status, text);
}

/* A session that does not read its replies ends with one, and what it asked with it: so this is over before it is told. */
static void tell(struct pw_peers *peers, const struct pw_drain_action *action)
{
        struct pw_error err = { PW_OK, "" };
        struct asker *asker, was;

        pw_list_each(&peers->drain_askers, asker, struct asker, link) {
                if (asker->number != action->waiter)
                        continue;
                was = *asker;
                forget(asker);
                if (action->status != PW_OK)
                        (void)!pw_drain_explain(action, &err);
                if (was.host)
                        tell_host(peers, &was, action->status, err.text);
                else
                        tell_session(peers, &was, action->status, err.text);
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

/* `host` 0: no such host. */
static enum pw_status find_host(const struct pw_dsession *session, const char *text, uint32_t *ret_host, struct pw_error *ret_err)
{
        const struct pw_peers *peers = session->daemon->peers;

        if (!session->operator_)
                return pw_error_set(ret_err, PW_DENIED, "drain: only operators may, see --operators of pathwaysd");
        if (!peers || !peers->joined)
                return pw_error_set(ret_err, PW_UNSUPPORTED, "drain: this host deals with no other one, it has no --listen: what "
                                    "it has ends with it");
        *ret_host = find(peers, text);
        return *ret_host ? PW_OK : pw_error_set(ret_err, PW_NOT_FOUND, "drain: host %.100s is not known here: see pathways hosts",
                                                text);
}

/* Own: *asker_take goes, whatever comes of it. */
static enum pw_status begin(struct pw_peers *peers, struct asker *asker_take, const char *to, uint64_t until_us,
                            struct pw_error *ret_err)
{
        struct pw_drain_request ask = { .to = to[0] ? find(peers, to) : 0, .until_us = until_us, .held = held(peers) };
        enum pw_status status = PW_OK;

        if (!asker_take)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd is out of memory");
        if (to[0] && !ask.to)
                status = pw_error_set(ret_err, PW_NOT_FOUND, "drain: --to %.100s is not known here: see pathways hosts", to);
        asker_take->number = ask.waiter = ++peers->next_asker;
        pw_list_init(&asker_take->link);
        if (status == PW_OK)
                status = pw_drain_begin(peers->drain, &ask, ret_err);
        if (status != PW_OK) {
                free(asker_take);
                return status;
        }
        pw_list_append(&peers->drain_askers, &asker_take->link);
        pw_log(&peers->daemon->log, PW_LOG_INFO, "this host drains successor=h%u", pw_drain_successor(peers->drain));
        act(peers);
        return PW_OK;
}

static struct asker *asker_new(uint32_t session, uint32_t host, uint64_t request)
{
        struct asker *asker = malloc(sizeof *asker);

        if (asker)
                *asker = (struct asker){ .session = session, .host = host, .request = request };
        return asker;
}

void pw_draining_begin(struct pw_dsession *session, const struct pw_draining_request *request)
{
        struct pw_peers *peers = session->daemon->peers;
        struct pw_error err;
        uint32_t host;
        enum pw_status status = find_host(session, request->host, &host, &err);

        if (status == PW_OK && host != peers->own.host) {
                pw_paging_ask_drain(session, request->id, host, request->to, request->timeout_us);
                return;
        }
        if (status == PW_OK)
                status = begin(peers, asker_new(session->number, 0, request->id), request->to,
                               request->timeout_us < 0 ? UINT64_MAX : pw_boot_us() + (uint64_t)request->timeout_us, &err);
        if (status != PW_OK)
                pw_session_reply_error(session, request->id, status, err.text);
}

void pw_draining_asked(struct pw_peers *peers, uint32_t host, const struct pw_peer_page *question)
{
        const struct asker refused = { .host = host, .request = question->number };
        uint64_t until_us = pw_boot_us() + pw_min_u64(question->after, UINT64_MAX / 2);
        struct pw_error err;
        enum pw_status status = begin(peers, asker_new(0, host, question->number), question->what, until_us, &err);

        if (status != PW_OK)
                tell_host(peers, &refused, status, err.text);
}

void pw_draining_session_end(struct pw_dsession *session)
{
        struct pw_peers *peers = session->daemon->peers;
        struct asker *asker;

        pw_list_each(&peers->drain_askers, asker, struct asker, link) {
                if (asker->host || asker->session != session->number)
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
        const struct pw_host *known;
        uint32_t successor;

        *ret_done = false;
        if (!peers || !peers->joined)
                return 0;
        if (host != daemon->host) {
                known = pw_hosts_get(&peers->hosts, host);
                successor = pw_borrow_successor(peers->borrow, host);
                return successor || !known ? successor : known->row.successor;
        }
        *ret_done = pw_drain_state(peers->drain) == PW_DRAIN_DRAINED;
        return pw_drain_successor(peers->drain);
}

/* --- events ------------------------------------------------------------------------------------------------------------------- */

enum pw_status pw_draining_open(struct pw_peers *peers, struct pw_error *ret_err)
{
        enum pw_status status = pw_handing_open(peers, ret_err);

        if (status == PW_OK)
                status = pw_drain_new(&(struct pw_drain_params){ peers->own.host, &peers->observer }, &peers->drain, ret_err);
        return status;
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
        struct asker *asker;

        pw_list_each(&peers->drain_askers, asker, struct asker, link)
                if (asker->host == host) {
                        pw_drain_forget(peers->drain, asker->number);
                        forget(asker);
                }
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
        if (pw_drain_successor(peers->drain) != peers->said_successor) { /* who comes later finds it in the host table */
                peers->said_successor = pw_drain_successor(peers->drain);
                pw_meta_drains(peers->daemon->meta, peers->said_successor);
        }
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
