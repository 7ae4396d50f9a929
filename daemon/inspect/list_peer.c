/* Listings of other hosts for sessions of this one, and of this one for other hosts. */
#include "daemon/inspect/list_peer.h"

#include "base/memory.h"
#include "daemon/inspect/list.h"
#include "daemon/inspect/trace/trace_peer.h"
#include "daemon/peer/page/paging.h"

#define PAGE_BYTES (64u << 10)  /* of a listing in pages: so much of it stands before a beat, 8 times at most */
#define WHOLE_BYTES (512u << 10) /* of one that is told at once */

/* --- sessions ask for those of other hosts ------------------------------------------------------------------------------------ */

bool pw_list_is_here(const struct pw_daemon *daemon, const char *text)
{
        char number[16];

        snprintf(number, sizeof number, "h%u", daemon->host);
        return !strcmp(text, number) || !strcmp(text, daemon->carried.host_name);
}

bool pw_list_elsewhere(struct pw_dsession *session, uint64_t id, const Pathways__Wire__ListRequest *request)
{
        uint32_t host;
        char sentence[200];

        if (pw_list_is_here(session->daemon, request->host))
                return false;
        host = pw_peers_find(session->daemon, request->host);
        if (host) {
                pw_paging_ask(session, id, host, request);
                return true;
        }
        snprintf(sentence, sizeof sentence, "there is no host \"%.80s\" here: `pathways hosts` lists them", request->host);
        pw_session_reply_error(session, id, PW_NOT_FOUND, sentence);
        return true;
}

/* --- other hosts ask for those of this one ------------------------------------------------------------------------------------ */

static void tell_error(struct pw_lister *lister, enum pw_status status, const char *text)
{
        pw_paging_answer(lister->daemon, lister->host,
                         &(struct pw_peer_page){ .answers = true, .number = lister->id, .status = status, .text = text });
}

static void tell_rows(struct pw_lister *lister)
{
        struct pw_peer_page page = { .answers = true, .number = lister->id, .status = PW_OK, .text = "" };
        uint8_t *bytes;

        if (pw_rows_pack(lister->rows, &bytes, &page.rows_bytes) == PW_OK) {
                page.rows = bytes;
                pw_paging_answer(lister->daemon, lister->host, &page);
                free(bytes);
        } else {
                tell_error(lister, PW_NO_MEMORY, "pathwaysd is out of memory for the listing; ask for fewer rows");
        }
        pw_rows_free(lister->rows);
}

static const struct pw_list_asker hosts = { tell_rows, tell_error };

static enum pw_status begin(struct pw_daemon *daemon, uint32_t host, const struct pw_peer_page *question,
                            struct pw_lister **ret_lister, struct pw_error *ret_err)
{
        struct pw_list_asked asked = { question->what, question->filter, question->limit, question->after };
        struct pw_lister *lister = calloc(1, sizeof *lister);

        *ret_lister = lister;
        if (!lister || !(lister->own_tenant = strdup(question->tenant)))
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd is out of memory for the listing");
        lister->daemon = daemon;
        lister->host = host;
        lister->line = &daemon->inspection.of_hosts;
        lister->asker = &hosts;
        lister->tenant = lister->own_tenant;
        lister->operator_ = question->all;
        lister->id = question->number;
        lister->page_bytes = PAGE_BYTES;
        lister->own_rows.bytes_max = WHOLE_BYTES;
        return pw_lister_begin(lister, &asked, ret_err);
}

static void asked(struct pw_daemon *daemon, uint32_t host, const struct pw_peer_page *question)
{
        struct pw_lister *lister;
        struct pw_error err;
        enum pw_status status;

        if (question->trace) {
                pw_trace_asked(daemon, host, question);
                return;
        }
        status = begin(daemon, host, question, &lister, &err);
        daemon->loop.more = true;
        if (status == PW_OK)
                return;
        if (lister)
                free(lister->own_tenant);
        free(lister);
        pw_paging_answer(daemon, host, &(struct pw_peer_page){ .answers = true, .number = question->number, .status = status,
                                                               .text = err.text });
}

static void ended(struct pw_daemon *daemon, uint32_t host)
{
        struct pw_lister *lister;

        pw_list_each(&daemon->inspection.of_hosts.all, lister, struct pw_lister, link)
                if (!host || lister->host == host)
                        pw_lister_free(lister);
        pw_traces_host_ended(daemon, host);
}

const struct pw_page_maker pw_list_for_hosts = { asked, ended };
