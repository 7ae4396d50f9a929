/* What only the `pathways` command asks for: listings, traces, freeing an object by id. */
#include "libclient/listing.h"

#include "libclient/session.h"

struct pw_listing { struct pw_answer answer; };

enum pw_status pw_list(struct pw_session *session, const char *what, const char *filter, uint32_t limit,
                       struct pw_listing **ret_listing, struct pw_error *ret_err)
{
        enum pw_status status = pw_session_check(session, ret_err);
        if (status != PW_OK)
                return status;
        struct pw_listing *listing = calloc(1, sizeof *listing);
        if (!listing)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a listing");
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__ListRequest list = PATHWAYS__WIRE__LIST_REQUEST__INIT;
        list.what = (char *)(uintptr_t)what;
        if (filter)
                list.filter = (char *)(uintptr_t)filter;
        list.limit = limit;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_LIST;
        request.list = &list;
        status = pw_session_call(session, &request, PATHWAYS__WIRE__REPLY__BODY_LISTING, &listing->answer, ret_err);
        if (status != PW_OK) {
                free(listing);
                return status;
        }
        *ret_listing = listing;
        return PW_OK;
}

void pw_listing_free(struct pw_listing *listing)
{
        if (!listing)
                return;
        pw_answer_done(&listing->answer);
        free(listing);
}

const Pathways__Wire__Listing *pw_listing_rows(const struct pw_listing *listing) { return listing->answer.reply->listing; }

struct pw_trace_part { struct pw_answer answer; };

enum pw_status pw_trace_next(struct pw_session *session, int64_t wait_us, bool last, struct pw_trace_part **ret_part,
                             struct pw_error *ret_err)
{
        enum pw_status status = pw_session_check(session, ret_err);
        if (status != PW_OK)
                return status;
        struct pw_trace_part *part = calloc(1, sizeof *part);
        if (!part)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a part of a trace");
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__TraceRequest trace = PATHWAYS__WIRE__TRACE_REQUEST__INIT;
        trace.wait_us = wait_us;
        trace.last = last;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_TRACE;
        request.trace = &trace;
        status = pw_session_call(session, &request, PATHWAYS__WIRE__REPLY__BODY_TRACE, &part->answer, ret_err);
        if (status != PW_OK) {
                free(part);
                return status;
        }
        *ret_part = part;
        return PW_OK;
}

void pw_trace_part_free(struct pw_trace_part *part)
{
        if (!part)
                return;
        pw_answer_done(&part->answer);
        free(part);
}

const Pathways__Wire__Trace *pw_trace_part_message(const struct pw_trace_part *part) { return part->answer.reply->trace; }

enum pw_status pw_free_object(struct pw_session *session, struct pw_id id, bool force, struct pw_error *ret_err)
{
        enum pw_status status = pw_session_check(session, ret_err);
        if (status != PW_OK)
                return status;
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__Free free_object = PATHWAYS__WIRE__FREE__INIT;
        Pathways__Wire__ObjectId object = pw_wire_id(id);
        free_object.object = &object;
        free_object.force = force;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_FREE;
        request.free = &free_object;
        return pw_session_tell(session, &request, ret_err);
}
