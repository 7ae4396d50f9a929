/* Traces of other hosts for sessions of this one, and of this one for sessions of other hosts. */
#include "daemon/inspect/trace/trace_peer.h"

#include "base/memory.h"
#include "daemon/inspect/list_peer.h"
#include "daemon/inspect/trace/trace_private.h"
#include "daemon/peer/page/paging.h"
#include "daemon/session/tenant.h"

#include <stdio.h>
#include <stdlib.h>

bool pw_trace_elsewhere(struct pw_dsession *session, uint64_t id, const Pathways__Wire__TraceRequest *request)
{
        char sentence[200];
        uint32_t host;

        if (pw_list_is_here(session->daemon, request->host))
                return false;
        host = pw_peers_find(session->daemon, request->host);
        if (host) {
                pw_paging_ask_trace(session, id, host, request);
                return true;
        }
        snprintf(sentence, sizeof sentence, "there is no host \"%.80s\" here: `pathways hosts` lists them", request->host);
        pw_session_reply_error(session, id, PW_NOT_FOUND, sentence);
        return true;
}

/* --- other hosts ask for this one's ------------------------------------------------------------------------------------------- */

void pw_trace_refuse_host(struct pw_daemon *daemon, uint32_t host, uint64_t number, const struct pw_error *err)
{
        pw_paging_answer(daemon, host, &(struct pw_peer_page){ .answers = true, .number = number, .status = err->status,
                                                               .text = err->text });
}

void pw_trace_answer_host(struct pw_trace *trace, const Pathways__Wire__Trace *message)
{
        struct pw_peer_page page = { .answers = true, .number = trace->request, .status = PW_OK, .text = "" };
        size_t count = pathways__wire__trace__get_packed_size(message);
        pw_auto_free uint8_t *bytes = malloc(count);
        struct pw_error err;

        if (bytes) {
                page.rows = bytes;
                page.rows_bytes = (uint32_t)pathways__wire__trace__pack(message, bytes);
                pw_paging_answer(trace->reader.daemon, trace->host, &page);
                return;
        }
        (void)!pw_error_set(&err, PW_NO_MEMORY, "pathwaysd is out of memory for the trace");
        pw_trace_refuse_host(trace->reader.daemon, trace->host, trace->request, &err);
}

/* One that begins takes the place of what the session traced before: each has entered its tenant. */
static enum pw_status begin(const struct pw_trace *of, const char *name, const struct pw_trace_question *question,
                            struct pw_error *ret_err)
{
        struct pw_daemon *daemon = of->reader.daemon;
        const struct pw_tenancy *tenancy = daemon->registry.tenancy;
        struct pw_trace entered = *of, *trace;
        enum pw_status status;

        pw_list_each(&daemon->inspection.traces, trace, struct pw_trace, link)
                if (!trace->session && trace->host == of->host && trace->number == of->number)
                        pw_trace_free(trace);
        status = tenancy->enter(daemon, name, &entered.reader.tenant, ret_err);
        if (status != PW_OK)
                return status;
        status = pw_trace_ask(&entered, question, ret_err);
        if (status != PW_OK)
                tenancy->leave(daemon, entered.reader.tenant);
        return status;
}

void pw_trace_asked(struct pw_daemon *daemon, uint32_t host, const struct pw_peer_page *question)
{
        struct pw_trace of = { .reader = { .daemon = daemon, .operator_ = question->all }, .host = host,
                               .number = question->after };
        struct pw_trace_question asked = { .request = question->number, .goes_on = question->limit != PW_PEER_TRACE_BEGIN,
                                           .last = question->limit == PW_PEER_TRACE_END };
        struct pw_error err;
        enum pw_status status = asked.goes_on ? pw_trace_ask(&of, &asked, &err) : begin(&of, question->tenant, &asked, &err);

        if (status != PW_OK)
                pw_trace_refuse_host(daemon, host, question->number, &err);
        daemon->loop.more = true;
}

void pw_traces_host_ended(struct pw_daemon *daemon, uint32_t host)
{
        struct pw_trace *trace;

        pw_list_each(&daemon->inspection.traces, trace, struct pw_trace, link)
                if (!trace->session && (!host || trace->host == host))
                        pw_trace_free(trace);
}
