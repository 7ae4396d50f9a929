/* Listings by name, in parts. */
#include "daemon/inspect/list.h"

#include "base/memory.h"
#include "daemon/client/lane.h"
#include "daemon/client/scan.h"
#include "daemon/memory/audit.h"
#include "daemon/session/kept.h"
#include "daemon/session/output.h"
#include "store/object.h"

#define PART_US 300u        /* of a turn, for the listings of a tenant together */
#define ROUND_US 1500u      /* of a turn, for those of all tenants */
#define PART_SLOTS 32u      /* between looks at the clock */
#define FILTER_MAX_BYTES 1024u
#define OBJECT_ROWS_MAX 2048u /* of who holds one and waits for it, which is told at once */
#define RECLAIM_US 1000000u /* how long what is on its way out is waited for */

/* `row` is called for each object there is, or `part` until it says that there is no more, part by part; then `list`. Pages: each
 * part is a page of its own. No `list`: an audit begins, which answers. */
struct pw_list_kind {
        const char *what;
        enum pw_status (*list)(struct pw_lister *lister);
        bool (*row)(void *context, const struct pw_object_row *row);
        bool pages;
        bool (*part)(struct pw_lister *lister, uint32_t slots);
        uint32_t page_rows; /* parts make a page until it has so many */
};

/* The parts were all of it; one may have found that there is no such thing. */
static enum pw_status list_no_more(struct pw_lister *lister) { return lister->err->status; }

static const struct pw_list_kind kinds[] = {
        { "status", pw_list_status, pw_list_status_object, false, NULL, 0 },
        { "hosts", pw_list_hosts, NULL, false, NULL, 0 },
        { "devices", pw_list_devices, NULL, false, NULL, 0 },
        { "islands", pw_list_islands, NULL, false, NULL, 0 },
        { "objects", list_no_more, pw_list_objects_object, true, NULL, 0 },
        { "memory", pw_list_memory, NULL, false, pw_list_memory_step, 0 },
        { "owners", pw_list_owners, pw_list_owners_object, false, NULL, 0 },
        { "check", NULL, NULL, false, pw_list_check_step, 0 },
        { "programs", list_no_more, NULL, true, pw_list_programs_step, PW_LIST_PAGE_ROWS },
        { "runs", list_no_more, NULL, true, pw_list_runs_step, PW_LIST_PAGE_ROWS },
        { "gangs", list_no_more, NULL, true, pw_list_gangs_step, PW_LIST_PAGE_ROWS },
        { "why", pw_list_why, NULL, false, pw_why_step, 0 },
        { "object", pw_list_object, NULL, false, NULL, 0 },
};

bool pw_list_visible(const struct pw_lister *lister, const char *tenant)
{
        return lister->session->operator_ || (tenant && !strcmp(tenant, lister->session->tenant->name));
}

static const struct pw_list_kind *kind_of(const char *what)
{
        for (uint32_t i = 0; i < pw_array_count(kinds); i++)
                if (!strcmp(kinds[i].what, what))
                        return &kinds[i];
        return NULL;
}

/* Behind the others of its tenant; tenants take turns. */
static void enlist(struct pw_lister *lister)
{
        struct pw_tenant *tenant = lister->session->tenant;

        pw_list_append(&tenant->listers, &lister->link);
        if (pw_list_empty(&tenant->listing))
                pw_list_append(&lister->daemon->inspection.listing, &tenant->listing);
}

static void delist(struct pw_lister *lister)
{
        pw_list_remove(&lister->link);
        if (pw_list_empty(&lister->session->tenant->listers))
                pw_list_remove(&lister->session->tenant->listing);
}

static void free_lister(struct pw_lister *lister)
{
        delist(lister);
        pw_kept_count(lister->daemon, lister->session->tenant, PW_KEPT_REQUESTS, -(int64_t)lister->kept_bytes);
        lister->session->listings--;
        pw_session_mind(lister->session);
        pw_rows_free(lister->rows);
        pw_owners_free(lister->owners);
        free(lister->numbers);
        pw_scheduler_programs_done(&lister->programs);
        pw_gang_lister_free(lister->gangs);
        pw_largest_free(lister->largest);
        free(lister->filter);
        free(lister);
}

static enum pw_status check_request(const Pathways__Wire__ListRequest *request, struct pw_error *ret_err)
{
        if (!kind_of(request->what))
                return pw_error_set(ret_err, PW_NOT_FOUND, "there is no listing \"%.60s\"", request->what);
        if (strlen(request->filter) > FILTER_MAX_BYTES)
                return pw_error_set(ret_err, PW_INVALID, "%s: \"%.60s...\" is longer than anything that could be asked for",
                                    request->what, request->filter);
        return PW_OK;
}

void pw_list_request(struct pw_dsession *session, uint64_t id, const Pathways__Wire__ListRequest *request)
{
        struct pw_error err;
        enum pw_status status = check_request(request, &err);
        struct pw_lister *lister = status == PW_OK ? calloc(1, sizeof *lister) : NULL;

        if (lister && (lister->filter = strdup(request->filter))) {
                lister->daemon = session->daemon;
                lister->session = session;
                lister->id = id;
                lister->kind = kind_of(request->what);
                lister->rows = &lister->own_rows;
                lister->own_rows.limit = request->limit ? request->limit : UINT32_MAX;
                if (!strcmp(request->what, "object"))
                        lister->own_rows.limit = (uint32_t)pw_min_u64(lister->own_rows.limit, OBJECT_ROWS_MAX);
                lister->at = lister->kind->pages ? request->after : 0;
                lister->since_us = pw_now_us();
                lister->err = &lister->own_err;
                pw_lister_keep(lister, pw_kept_heap_bytes(lister) + pw_kept_heap_bytes(lister->filter));
                enlist(lister);
                session->listings++;
                pw_session_mind(session);
                return;
        }
        free(lister);
        if (status == PW_OK)
                status = pw_error_set(&err, PW_NO_MEMORY, "pathwaysd is out of memory for the listing");
        pw_session_reply_error(session, id, status, err.text);
}

/* Operators ask when memory is short: theirs is bounded by the rows of a listing, and by how many are under way. */
bool pw_lister_may_keep(const struct pw_lister *lister, uint64_t bytes)
{
        const struct pw_dsession *session = lister->session;

        return session->operator_ || pw_kept_ask(lister->daemon, session->tenant, PW_KEPT_REQUESTS, bytes, NULL) == PW_OK;
}

void pw_lister_keep(struct pw_lister *lister, uint64_t bytes)
{
        lister->kept_bytes += bytes;
        pw_kept_count(lister->daemon, lister->session->tenant, PW_KEPT_REQUESTS, (int64_t)bytes);
}

void pw_lister_forget(struct pw_lister *lister, uint64_t bytes)
{
        lister->kept_bytes -= bytes;
        pw_kept_count(lister->daemon, lister->session->tenant, PW_KEPT_REQUESTS, -(int64_t)bytes);
}

void pw_lists_session_end(struct pw_dsession *session)
{
        struct pw_lister *lister;

        pw_list_each(&session->tenant->listers, lister, struct pw_lister, link)
                if (lister->session == session)
                        free_lister(lister);
}

/* What the sessions of a tenant, or of all (NULL), have published is read, for their tenants' parts of a round. False: there is
 * more. */
static bool read_lanes(struct pw_daemon *daemon, const struct pw_tenant *tenant)
{
        struct pw_dsession *session;
        bool all = true;

        daemon->clients.round++;
        for (uint32_t i = 0; (session = pw_table_next(&daemon->registry.sessions, &i));)
                if (!session->ended && session->tenant && (!tenant || session->tenant == tenant))
                        all &= pw_lanes_read_quantum(session, pw_lanes_pass(session));
        return all;
}

/* Nobody waits for what is another tenant's. */
static bool is_settled(const struct pw_lister *lister)
{
        const struct pw_store *store = lister->daemon->store;

        return lister->rows->behind ||
               !(lister->session->operator_ ? pw_store_reclaims(store) :
                 pw_store_reclaims_of(store, lister->session->tenant->name)) ||
               pw_now_us() - lister->since_us > RECLAIM_US;
}

/* So that what is listed is true now: what was let go before is not there any more. Where that would take longer than a part, the
 * listing says so. Its session may end for what it wrote, and the listing with it. */
static bool catch_up(struct pw_lister *lister)
{
        const struct pw_list *listers = &lister->session->tenant->listers;
        struct pw_daemon *daemon = lister->daemon;
        bool all;

        if (lister->begun)
                return true;
        all = read_lanes(daemon, lister->session->operator_ ? NULL : lister->session->tenant);
        if (pw_list_empty(listers) || pw_list_first(listers, struct pw_lister, link) != lister)
                return false;
        lister->rows->behind = !all;
        pw_scan_reclaim(daemon, pw_now_us());
        if (pw_list_empty(listers) || pw_list_first(listers, struct pw_lister, link) != lister)
                return false;
        lister->begun = is_settled(lister);
        return lister->begun;
}

static bool walk_part(struct pw_lister *lister)
{
        const struct pw_walk walk = { .slots = PART_SLOTS, .row = lister->kind->row, .context = lister,
                                      .tenant = lister->session->operator_ ? NULL : lister->session->tenant->name,
                                      .uncharged = lister->kind->row == pw_list_status_object };

        while (lister->kind->part && lister->kind->part(lister, PART_SLOTS))
                if (lister->rows->full || pw_now_us() - lister->now_us >= PART_US)
                        return true;
        while (lister->kind->row && pw_store_walk(lister->daemon->store, &walk, &lister->at))
                if (pw_now_us() - lister->now_us >= PART_US)
                        return true;
        return false;
}

/* A listing "check" whose audit is under way: its rows so far. */
struct checked { struct pw_rows rows; uint64_t id; };

static void free_checked(struct checked *checked)
{
        pw_rows_free(&checked->rows);
        free(checked);
}

/* The audit is done: what it found stands behind the rows that there are. */
static void on_audited(void *context_take, struct pw_dsession *session, const struct pw_audit *audit)
{
        struct checked *checked = context_take;

        if (session) {
                struct pw_lister lister = { .daemon = session->daemon, .session = session, .rows = &checked->rows,
                                            .now_us = pw_now_us(), .audit = audit };

                pw_list_check(&lister);
                pw_rows_send(&checked->rows, session, checked->id);
                checked->rows = (struct pw_rows){ 0 };
        }
        free_checked(checked);
}

static void begin_audit(struct pw_lister *lister)
{
        struct checked *checked = malloc(sizeof *checked);
        struct pw_error err;
        enum pw_status status = PW_OK;

        delist(lister); /* if its session ends now, it is not its any more */
        if (checked) {
                *checked = (struct checked){ *lister->rows, lister->id };
                *lister->rows = (struct pw_rows){ 0 };
                status = pw_audit_begin(lister->session, on_audited, checked, &err);
        } else {
                status = pw_error_set(&err, PW_NO_MEMORY, "pathwaysd is out of memory for an audit");
        }
        if (status != PW_OK)
                pw_session_reply_error(lister->session, lister->id, status, err.text);
        if (status != PW_OK && checked)
                free_checked(checked);
        free_lister(lister);
}

static void make_anew(struct pw_lister *lister)
{
        uint32_t limit = lister->rows->limit;
        bool behind = lister->rows->behind;

        pw_rows_free(lister->rows);
        lister->own_rows = (struct pw_rows){ .limit = limit, .behind = behind };
        lister->again = false;
}

static void answer(struct pw_lister *lister, bool more)
{
        enum pw_status status = lister->kind->list(lister);

        if (lister->again) {
                make_anew(lister);
                return;
        }
        delist(lister); /* if its session ends now, it is not its any more */
        lister->rows->next = more ? lister->at : 0;
        if (status == PW_OK) {
                pw_rows_send(lister->rows, lister->session, lister->id);
                lister->own_rows = (struct pw_rows){ 0 };
        } else {
                pw_session_reply_error(lister->session, lister->id, status, lister->err->text);
        }
        free_lister(lister);
}

/* The next part of the tenant's first. If there is more of it, it stands behind its others then. */
static void list_part(struct pw_tenant *tenant)
{
        struct pw_lister *lister = pw_list_first(&tenant->listers, struct pw_lister, link);
        bool more;

        lister->daemon->loop.doing = lister->kind->what;
        if (!catch_up(lister))
                return;
        lister->now_us = pw_now_us();
        more = walk_part(lister);
        if (!more && !lister->kind->list) {
                begin_audit(lister);
        } else if (!more || (lister->kind->pages && (lister->rows->full || lister->rows->count >= lister->kind->page_rows))) {
                answer(lister, more);
        } else {
                pw_list_remove(&lister->link);
                pw_list_append(&tenant->listers, &lister->link);
        }
}

bool pw_lists_turn(struct pw_daemon *daemon)
{
        uint64_t until_us;
        struct pw_list now;

        if (pw_list_empty(&daemon->inspection.listing))
                return false;
        until_us = pw_now_us() + ROUND_US;
        pw_list_init(&now);
        pw_list_splice(&now, &daemon->inspection.listing);
        do {
                struct pw_tenant *tenant = pw_list_first(&now, struct pw_tenant, listing);

                pw_list_remove(&tenant->listing);
                pw_list_append(&daemon->inspection.listing, &tenant->listing);
                list_part(tenant);
        } while (!pw_list_empty(&now) && pw_now_us() < until_us);
        pw_list_splice(&now, &daemon->inspection.listing); /* whose part is still to come is first in the next */
        pw_list_splice(&daemon->inspection.listing, &now);
        return true;
}
