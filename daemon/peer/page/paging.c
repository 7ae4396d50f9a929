/* Questions for pages of listings between hosts, and their answers. */
#include "daemon/peer/page/paging.h"

#include "base/memory.h"
#include "base/size.h"
#include "daemon/peer/draining.h"

#include <stdlib.h>

#define UNDER_WAY 8u         /* of one host, at a time */
#define TEXTS_BYTES 1024u    /* of a question: as much as any listing takes */
#define ANSWER_US 10000000u  /* how long a host that is there may take for a page */

/* Of a session of this host. One that nobody waits for any more counts as under way until it is answered; if it was not sent, it
 * goes when its turn comes, as a session may end while somebody looks through the list. */
struct asked {
        struct pw_list link;     /* in peers->pages, those that came first first */
        uint64_t number, request;
        uint64_t until_us;       /* UINT64_MAX: nobody waits */
        uint32_t host, session;  /* 0: nobody */
        bool trace, drain;       /* for what a trace has; to drain; else a page */
        struct pw_link_frame *frame; /* NULL: it was sent */
};

/* --- asking ------------------------------------------------------------------------------------------------------------------- */

static void free_asked(struct asked *asked)
{
        pw_list_remove(&asked->link);
        pw_link_frame_free(asked->frame);
        free(asked);
}

/* Who asked, and is here; it is not told anything any more. */
static struct pw_dsession *take_session(const struct pw_peers *peers, struct asked *asked)
{
        struct pw_dsession *session = asked->session ? pw_session_get(&peers->daemon->registry, asked->session) : NULL;

        asked->session = 0;
        asked->until_us = UINT64_MAX;
        if (!session)
                return NULL;
        session->listings--;
        pw_session_mind(session);
        return session;
}

static void fail(const struct pw_peers *peers, struct asked *asked, const struct pw_error *err)
{
        uint64_t request = asked->request;
        struct pw_dsession *session = take_session(peers, asked);

        if (session)
                pw_session_reply_error(session, request, err->status, err->text);
}

/* Those of `host` that wait are sent, as many as may be under way. */
static void send_next(struct pw_peers *peers, uint32_t host)
{
        struct asked *asked;
        uint32_t under_way = 0;

        pw_list_each(&peers->pages, asked, struct asked, link)
                under_way += asked->host == host && !asked->frame && !asked->drain;
        pw_list_each(&peers->pages, asked, struct asked, link) {
                if (asked->host != host || !asked->frame || (under_way >= UNDER_WAY && !asked->drain))
                        continue;
                if (!asked->session) {
                        free_asked(asked);
                        continue;
                }
                pw_peers_send(peers, host, PW_PEER_BODY_PAGE, asked->frame);
                asked->frame = NULL;
                under_way += !asked->drain;
        }
}

static enum pw_status given_up(const struct pw_host *host, struct pw_error *ret_err)
{
        const struct pw_link *link = host->peer->link;
        uint64_t boot_us = pw_boot_us();
        char since[16];

        return pw_error_set(ret_err, PW_HOST_LOST, "host %s (h%u) was given up %s ago: `pathways why h%u` says more",
                            host->row.name, host->row.number,
                            pw_duration_format(boot_us - pw_min_u64(boot_us, link->since_us), since), host->row.number);
}

static enum pw_status check(const struct pw_dsession *session, uint32_t number, struct pw_error *ret_err)
{
        struct pw_peers *peers = session->daemon->peers;
        struct pw_peer *peer;
        enum pw_status status = pw_hosts_peer(&peers->hosts, number, &peer, ret_err);

        if (status != PW_OK)
                return status;
        if (!session->operator_ && !strncmp(session->tenant->name, "uid-", 4))
                return pw_error_set(ret_err, PW_DENIED, "tenant %s has no name, so that no other host knows which rows are its",
                                    session->tenant->name);
        if (pw_link_seen(peer->link) == PW_LINK_AWAY)
                return given_up(pw_hosts_get(&peers->hosts, number), ret_err);
        pw_peer_want(peer, pw_boot_us()); /* so that the question ends in an answer, or with the term */
        return PW_OK;
}

static enum pw_status ask(struct pw_dsession *session, struct asked *asked, struct pw_peer_page *message, struct pw_error *ret_err)
{
        enum pw_status status = check(session, asked->host, ret_err);

        if (status != PW_OK)
                return status;
        if (strlen(message->what) + strlen(message->filter) > TEXTS_BYTES)
                return pw_error_set(ret_err, PW_INVALID, "%.60s: \"%.60s...\" is longer than anything that could be asked for",
                                    message->what, message->filter);
        message->number = asked->number;
        message->tenant = session->tenant->name;
        message->all = session->operator_;
        asked->trace = message->trace;
        asked->drain = message->drain;
        if (message->drain) /* it says itself when that is over */
                asked->until_us = pw_max_u64(asked->until_us, asked->until_us + message->after);
        asked->frame = pw_peer_page_frame(message);
        if (!asked->frame)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a question");
        pw_list_append(&session->daemon->peers->pages, &asked->link);
        session->listings++;
        pw_session_mind(session);
        send_next(session->daemon->peers, asked->host);
        return PW_OK;
}

static void ask_host(struct pw_dsession *session, uint64_t request, uint32_t host, struct pw_peer_page *message)
{
        struct pw_peers *peers = session->daemon->peers;
        struct asked *asked = malloc(sizeof *asked);
        struct pw_error err;
        enum pw_status status = PW_NO_MEMORY;

        if (asked) {
                *asked = (struct asked){ .number = ++peers->next_page, .request = request, .until_us = pw_now_us() + ANSWER_US,
                                         .host = host, .session = session->number };
                pw_list_init(&asked->link);
                status = ask(session, asked, message, &err);
        } else {
                (void)!pw_error_set(&err, PW_NO_MEMORY, "pathwaysd: out of memory for a question");
        }
        if (status == PW_OK)
                return;
        free(asked);
        pw_session_reply_error(session, request, status, err.text);
}

void pw_paging_ask(struct pw_dsession *session, uint64_t request, uint32_t host, const Pathways__Wire__ListRequest *list)
{
        struct pw_peer_page message = { .what = list->what, .filter = list->filter, .limit = list->limit, .after = list->after };

        ask_host(session, request, host, &message);
}

static bool see_clock(const struct pw_peers *peers, uint32_t host, struct pw_link_sample *ret_clock)
{
        const struct pw_host *of = pw_hosts_get(&peers->hosts, host);

        return of && of->peer && pw_link_clock_see(&of->peer->link->clock, pw_boot_us(), ret_clock);
}

void pw_paging_ask_trace(struct pw_dsession *session, uint64_t request, uint32_t host, const Pathways__Wire__TraceRequest *trace)
{
        struct pw_peer_page message = { .what = "", .filter = "", .after = session->number, .trace = true,
                                        .limit = trace->last && trace->goes_on ? PW_PEER_TRACE_END :
                                                 trace->goes_on ? PW_PEER_TRACE_GO_ON : PW_PEER_TRACE_BEGIN };
        struct pw_link_sample clock;
        struct pw_error err;

        if (check(session, host, &err) != PW_OK) {
                pw_session_reply_error(session, request, err.status, err.text);
        } else if (!see_clock(session->daemon->peers, host, &clock)) {
                pw_session_reply_error(session, request, PW_NOT_READY,
                                       "how that host's clock stands to this one's is not measured yet: ask again");
        } else {
                ask_host(session, request, host, &message);
        }
}

void pw_paging_ask_drain(struct pw_dsession *session, uint64_t request, uint32_t host, const char *to, int64_t timeout_us)
{
        struct pw_peer_page message = { .what = to, .filter = "", .drain = true,
                                        .after = timeout_us < 0 ? UINT64_MAX / 2 : (uint64_t)timeout_us };

        ask_host(session, request, host, &message);
}

void pw_paging_session_end(const struct pw_dsession *session)
{
        struct asked *asked;

        pw_list_each(&session->daemon->peers->pages, asked, struct asked, link) {
                if (asked->session != session->number)
                        continue;
                asked->session = 0;
                asked->until_us = UINT64_MAX;
        }
}

static enum pw_status hand_over_rows(struct pw_dsession *session, uint64_t request, const struct pw_peer_page *answer,
                                     struct pw_error *ret_err)
{
        Pathways__Wire__Listing *listing = pathways__wire__listing__unpack(NULL, answer->rows_bytes, answer->rows);

        if (!listing)
                return pw_error_set(ret_err, PW_PROTOCOL, "%u bytes that are no listing", answer->rows_bytes);
        pw_session_reply_listing(session, request, listing);
        pathways__wire__listing__free_unpacked(listing, NULL);
        return PW_OK;
}

/* Its times are by its CLOCK_MONOTONIC; the link knows how far its CLOCK_BOOTTIME is ahead. */
static enum pw_status hand_over_trace(struct pw_dsession *session, uint64_t request, const struct pw_peer_page *answer,
                                      const struct pw_link_sample *clock, struct pw_error *ret_err)
{
        Pathways__Wire__Trace *trace = pathways__wire__trace__unpack(NULL, answer->rows_bytes, answer->rows);
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;

        if (!trace)
                return pw_error_set(ret_err, PW_PROTOCOL, "%u bytes that are no trace", answer->rows_bytes);
        trace->ahead_ns = (int64_t)((uint64_t)clock->ahead_us * 1000 + (pw_boot_us() - pw_now_us()) * 1000 - trace->asleep_ns);
        trace->bound_ns = clock->bound_us * 1000;
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_TRACE;
        reply.trace = trace;
        pw_session_reply(session, request, &reply, NULL, 0);
        pathways__wire__trace__free_unpacked(trace, NULL);
        return PW_OK;
}

static enum pw_status hand_over(struct pw_dsession *session, const struct asked *asked, const struct pw_peer_page *answer,
                                struct pw_error *ret_err)
{
        struct pw_link_sample clock;

        if (asked->drain) {
                pw_session_reply_ok(session, asked->request);
                return PW_OK;
        }
        if (!asked->trace)
                return hand_over_rows(session, asked->request, answer, ret_err);
        if (see_clock(session->daemon->peers, asked->host, &clock))
                return hand_over_trace(session, asked->request, answer, &clock, ret_err);
        pw_session_reply_error(session, asked->request, PW_HOST_LOST, "that host's clock has jumped: its times say nothing here");
        return PW_OK;
}

static enum pw_status answered(struct pw_peers *peers, uint32_t host, const struct pw_peer_page *answer, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;
        struct pw_dsession *session;
        struct asked *asked, was;

        pw_list_each(&peers->pages, asked, struct asked, link) {
                if (asked->number != answer->number || asked->host != host || asked->frame)
                        continue;
                session = take_session(peers, asked);
                was = *asked;
                free_asked(asked);
                if (session && answer->status != PW_OK)
                        pw_session_reply_error(session, was.request, answer->status, answer->text);
                else if (session)
                        status = hand_over(session, &was, answer, ret_err);
                if (session && status != PW_OK)
                        pw_session_reply_error(session, was.request, PW_HOST_LOST, "the other host's answer is no listing");
                break;
        }
        send_next(peers, host);
        return status;
}

/* --- being asked -------------------------------------------------------------------------------------------------------------- */

void pw_paging_made_by(struct pw_daemon *daemon, const struct pw_page_maker *maker)
{
        if (daemon->peers)
                daemon->peers->page_maker = maker;
}

void pw_paging_answer(struct pw_daemon *daemon, uint32_t host, const struct pw_peer_page *answer)
{
        struct pw_link_frame *frame = pw_peer_page_frame(answer);
        struct pw_error err;

        pw_peers_work_done(daemon->peers, host);
        if (frame) {
                pw_peers_send(daemon->peers, host, PW_PEER_BODY_PAGE, frame);
                return;
        }
        (void)!pw_error_set(&err, PW_NO_MEMORY, "pathwaysd: out of memory for an answer");
        pw_peers_give_up(daemon->peers, host, &err);
}

enum pw_status pw_paging_hear(struct pw_peers *peers, uint32_t host, const uint8_t *bytes, uint32_t count, struct pw_error *ret_err)
{
        struct pw_peer_page message;
        enum pw_status status = pw_peer_page_unpack(bytes, count, &message, ret_err);

        if (status != PW_OK)
                return status;
        if (message.answers)
                status = answered(peers, host, &message, ret_err);
        else if (message.drain)
                pw_draining_asked(peers, host, &message);
        else
                peers->page_maker->asked(peers->daemon, host, &message);
        pw_peer_page_done(&message);
        return status;
}

/* --- ends --------------------------------------------------------------------------------------------------------------------- */

void pw_paging_ended(struct pw_peers *peers, uint32_t host)
{
        const struct pw_host *lost = pw_hosts_get(&peers->hosts, host);
        struct asked *asked;
        struct pw_error err;

        (void)!pw_error_set(&err, PW_HOST_LOST, "host %s (h%u) was given up before it answered", lost ? lost->row.name : "?", host);
        pw_list_each(&peers->pages, asked, struct asked, link) {
                if (asked->host != host)
                        continue;
                fail(peers, asked, &err);
                free_asked(asked);
        }
        peers->page_maker->ended(peers->daemon, host);
}

uint64_t pw_paging_next_us(const struct pw_peers *peers)
{
        uint64_t next_us = UINT64_MAX;
        const struct asked *asked;

        pw_list_each(&peers->pages, asked, struct asked, link)
                next_us = pw_min_u64(next_us, asked->until_us);
        return next_us;
}

void pw_paging_tick(struct pw_peers *peers, uint64_t now_us)
{
        const struct pw_host *host;
        struct asked *asked;
        struct pw_error err;

        pw_list_each(&peers->pages, asked, struct asked, link) {
                if (asked->until_us > now_us)
                        continue;
                host = pw_hosts_get(&peers->hosts, asked->host);
                (void)!pw_error_set(&err, PW_DEADLINE, "host %s (h%u) is there, but has not answered for %u s",
                                    host ? host->row.name : "?", asked->host, ANSWER_US / 1000000);
                fail(peers, asked, &err);
        }
}

void pw_paging_done(struct pw_peers *peers)
{
        struct asked *asked;

        pw_list_each(&peers->pages, asked, struct asked, link)
                free_asked(asked);
        if (peers->page_maker)
                peers->page_maker->ended(peers->daemon, 0);
}
