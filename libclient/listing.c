/* What only the `pathways` command asks for: listings, traces, freeing an object by id. */
#include "libclient/listing.h"

#include "base/text.h"
#include "libclient/session.h"

struct pw_listing { struct pw_answer answer; size_t silent; };

/* One page, behind `after`. */
static enum pw_status list_page(struct pw_session *session, const Pathways__Wire__ListRequest *list, struct pw_answer *ret_answer,
                                struct pw_error *ret_err)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__ListRequest copy = *list;

        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_LIST;
        request.list = &copy;
        return pw_session_call(session, &request, PATHWAYS__WIRE__REPLY__BODY_LISTING, ret_answer, ret_err);
}

/* Texts may come from anybody's programs: nothing that a terminal obeys. */
static void make_plain(const Pathways__Wire__Listing *listing)
{
        for (size_t r = 0; r < listing->n_rows; r++)
                for (size_t c = 0; c < listing->rows[r]->n_cells; c++)
                        if (listing->rows[r]->cells[c]->value_case == PATHWAYS__WIRE__CELL__VALUE_TEXT)
                                pw_text_make_plain(listing->rows[r]->cells[c]->text);
}

/* The rows of `page` go over to `all`, as many as `limit` leaves. */
static enum pw_status join(Pathways__Wire__Listing *all, Pathways__Wire__Listing *page, uint32_t limit, struct pw_error *ret_err)
{
        bool full = page->n_rows && all->n_rows == limit;
        Pathways__Wire__Row **rows = full ? all->rows : realloc(all->rows, (all->n_rows + page->n_rows + 1) * sizeof *rows);
        if (!rows)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a listing of %zu rows", all->n_rows + page->n_rows);
        all->rows = rows;
        all->truncated = full || page->truncated;
        all->next = page->next;
        all->behind |= page->behind;
        if (full || !page->n_rows)
                return PW_OK;
        memcpy(rows + all->n_rows, page->rows, page->n_rows * sizeof *rows);
        all->n_rows += page->n_rows;
        page->n_rows = 0;
        return PW_OK;
}

/* The pages behind the first one; with no row left to be had, one more says whether there are more. */
static enum pw_status list_rest(struct pw_session *session, Pathways__Wire__ListRequest *list, Pathways__Wire__Listing *all,
                                struct pw_error *ret_err)
{
        uint32_t limit = list->limit;
        enum pw_status status = PW_OK;
        while (status == PW_OK && all->next && !all->truncated) {
                struct pw_answer answer;
                list->after = all->next;
                list->limit = all->n_rows < limit ? limit - (uint32_t)all->n_rows : 1;
                status = list_page(session, list, &answer, ret_err);
                if (status != PW_OK)
                        return status;
                if (answer.reply->listing->next && answer.reply->listing->next <= list->after)
                        status = pw_error_set(ret_err, PW_PROTOCOL, "pathwaysd lists a page again, %llu after %llu",
                                              (unsigned long long)answer.reply->listing->next, (unsigned long long)list->after);
                else
                        status = join(all, answer.reply->listing, limit, ret_err);
                pw_answer_done(&answer);
        }
        return status;
}

enum pw_status pw_list(struct pw_session *session, const char *what, const char *filter, uint32_t limit,
                       struct pw_listing **ret_listing, struct pw_error *ret_err)
{
        return pw_list_of(session, &(struct pw_list_params){ NULL, what, filter, limit }, ret_listing, ret_err);
}

enum pw_status pw_list_of(struct pw_session *session, const struct pw_list_params *params, struct pw_listing **ret_listing,
                          struct pw_error *ret_err)
{
        enum pw_status status = pw_session_check(session, ret_err);
        if (status != PW_OK)
                return status;
        struct pw_listing *listing = calloc(1, sizeof *listing);
        if (!listing)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a listing");
        Pathways__Wire__ListRequest list = PATHWAYS__WIRE__LIST_REQUEST__INIT;
        list.what = (char *)(uintptr_t)params->what;
        if (params->filter)
                list.filter = (char *)(uintptr_t)params->filter;
        if (params->host)
                list.host = (char *)(uintptr_t)params->host;
        list.limit = params->limit ? params->limit : UINT32_MAX;
        status = list_page(session, &list, &listing->answer, ret_err);
        if (status != PW_OK) {
                free(listing);
                return status;
        }
        status = list_rest(session, &list, listing->answer.reply->listing, ret_err);
        if (status != PW_OK) {
                pw_listing_free(listing);
                return status;
        }
        make_plain(listing->answer.reply->listing);
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

Pathways__Wire__Listing *pw_listing_rows(const struct pw_listing *listing) { return listing->answer.reply->listing; }
size_t pw_listing_silent(const struct pw_listing *listing) { return listing->silent; }
void pw_listing_add_silent(struct pw_listing *listing) { listing->silent++; }

enum pw_status pw_listing_join(struct pw_listing *listing, struct pw_listing *more, struct pw_error *ret_err)
{
        Pathways__Wire__Listing *all = pw_listing_rows(listing), *rows = pw_listing_rows(more);
        bool truncated = all->truncated || rows->truncated;
        enum pw_status status = join(all, rows, UINT32_MAX, ret_err);

        all->truncated = truncated;
        return status;
}

struct pw_trace_chunk { struct pw_answer answer; };

enum pw_status pw_trace_next_of(struct pw_session *session, const struct pw_trace_params *params, struct pw_trace_chunk **ret_part,
                                struct pw_error *ret_err)
{
        enum pw_status status = pw_session_check(session, ret_err);
        if (status != PW_OK)
                return status;
        struct pw_trace_chunk *part = calloc(1, sizeof *part);
        if (!part)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a part of a trace");
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__TraceRequest trace = PATHWAYS__WIRE__TRACE_REQUEST__INIT;
        if (params->host)
                trace.host = (char *)(uintptr_t)params->host;
        trace.wait_us = params->wait_us;
        trace.goes_on = params->goes_on;
        trace.last = params->last;
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

enum pw_status pw_trace_next(struct pw_session *session, int64_t wait_us, bool last, struct pw_trace_chunk **ret_part,
                             struct pw_error *ret_err)
{
        return pw_trace_next_of(session, &(struct pw_trace_params){ .wait_us = wait_us, .last = last }, ret_part, ret_err);
}

void pw_trace_chunk_free(struct pw_trace_chunk *part)
{
        if (!part)
                return;
        pw_answer_done(&part->answer);
        free(part);
}

const Pathways__Wire__Trace *pw_trace_chunk_message(const struct pw_trace_chunk *part) { return part->answer.reply->trace; }

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
