/* Listings by name, in parts. */
#include "daemon/inspect/list.h"

#include "base/memory.h"
#include "daemon/client/lane.h"
#include "daemon/client/scan.h"
#include "daemon/memory/audit.h"
#include "daemon/session/kept.h"
#include "daemon/session/output.h"
#include "store/object.h"

#define PART_US 300u        /* of a turn, for the listings of a line together */
#define ROUND_US 1500u      /* of a turn, for those of all lines */
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
        bool session;       /* only for who has one: other hosts may not ask for it */
};

/* The parts were all of it; one may have found that there is no such thing. */
static enum pw_status list_no_more(struct pw_lister *lister) { return lister->err->status; }

static const struct pw_list_kind kinds[] = {
        { "status", pw_list_status, pw_list_status_object, false, NULL, 0, false },
        { "hosts", pw_list_hosts, NULL, false, NULL, 0, false },
        { "devices", pw_list_devices, NULL, false, NULL, 0, false },
        { "islands", pw_list_islands, NULL, false, NULL, 0, false },
        { "objects", list_no_more, pw_list_objects_object, true, NULL, 0, false },
        { "memory", pw_list_memory, NULL, false, pw_list_memory_step, 0, false },
        { "owners", pw_list_owners, pw_list_owners_object, false, NULL, 0, false },
        { "check", NULL, NULL, false, pw_list_check_step, 0, true },
        { "programs", list_no_more, NULL, true, pw_list_programs_step, PW_LIST_PAGE_ROWS, false },
        { "runs", list_no_more, NULL, true, pw_list_runs_step, PW_LIST_PAGE_ROWS, false },
        { "gangs", list_no_more, NULL, true, pw_list_gangs_step, PW_LIST_PAGE_ROWS, false },
        { "why", pw_list_why, NULL, false, pw_why_step, 0, true },
        { "object", pw_list_object, NULL, false, NULL, 0, true },
};

bool pw_list_visible(const struct pw_lister *lister, const char *tenant)
{
        return lister->operator_ || (tenant && !strcmp(tenant, lister->tenant));
}

const struct pw_tenant *pw_lister_tenant(const struct pw_lister *lister)
{
        const struct pw_tenant *tenant;

        if (lister->session)
                return lister->session->tenant;
        for (uint32_t i = 0; (tenant = pw_table_next(&lister->daemon->registry.tenants, &i));)
                if (!strcmp(tenant->name, lister->tenant))
                        return tenant;
        return NULL;
}

static const struct pw_list_kind *kind_of(const char *what)
{
        for (uint32_t i = 0; i < pw_array_count(kinds); i++)
                if (!strcmp(kinds[i].what, what))
                        return &kinds[i];
        return NULL;
}

/* Behind the others of its line; lines take turns. */
static void enlist(struct pw_lister *lister)
{
        pw_list_append(&lister->line->all, &lister->link);
        if (pw_list_empty(&lister->line->turn))
                pw_list_append(&lister->daemon->inspection.listing, &lister->line->turn);
}

static void delist(struct pw_lister *lister)
{
        pw_list_remove(&lister->link);
        if (pw_list_empty(&lister->line->all))
                pw_list_remove(&lister->line->turn);
}

void pw_lister_free(struct pw_lister *lister)
{
        delist(lister);
        pw_lister_forget(lister, lister->kept_bytes);
        if (lister->session) {
                lister->session->listings--;
                pw_session_mind(lister->session);
        }
        pw_rows_free(lister->rows);
        pw_owners_free(lister->owners);
        free(lister->numbers);
        pw_scheduler_programs_done(&lister->programs);
        pw_gang_lister_free(lister->gangs);
        pw_largest_free(lister->largest);
        free(lister->own_tenant);
        free(lister->filter);
        free(lister);
}

static enum pw_status check(const struct pw_lister *lister, const struct pw_list_asked *asked, struct pw_error *ret_err)
{
        const struct pw_list_kind *kind = kind_of(asked->what);

        if (!kind)
                return pw_error_set(ret_err, PW_NOT_FOUND, "there is no listing \"%.60s\"", asked->what);
        if (strlen(asked->filter) > FILTER_MAX_BYTES)
                return pw_error_set(ret_err, PW_INVALID, "%s: \"%.60s...\" is longer than anything that could be asked for",
                                    asked->what, asked->filter);
        if (!lister->session && kind->session)
                return pw_error_set(ret_err, PW_UNSUPPORTED, "`pathways %s` is answered on each host for itself: ask there",
                                    kind->what);
        return PW_OK;
}

enum pw_status pw_lister_begin(struct pw_lister *lister_take, const struct pw_list_asked *asked, struct pw_error *ret_err)
{
        struct pw_lister *lister = lister_take;
        enum pw_status status = check(lister, asked, ret_err);

        if (status != PW_OK)
                return status;
        lister->filter = strdup(asked->filter);
        if (!lister->filter)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd is out of memory for the listing");
        lister->kind = kind_of(asked->what);
        lister->rows = &lister->own_rows;
        lister->own_rows.limit = asked->limit ? asked->limit : UINT32_MAX;
        if (!strcmp(asked->what, "object"))
                lister->own_rows.limit = (uint32_t)pw_min_u64(lister->own_rows.limit, OBJECT_ROWS_MAX);
        lister->at = lister->kind->pages ? asked->after : 0;
        lister->since_us = pw_now_us();
        lister->err = &lister->own_err;
        pw_lister_keep(lister, pw_kept_heap_bytes(lister) + pw_kept_heap_bytes(lister->filter));
        enlist(lister);
        if (lister->session) {
                lister->session->listings++;
                pw_session_mind(lister->session);
        }
        return PW_OK;
}

/* --- sessions ask ------------------------------------------------------------------------------------------------------------- */

static void send_rows(struct pw_lister *lister) { pw_rows_send(lister->rows, lister->session, lister->id); }

static void send_error(struct pw_lister *lister, enum pw_status status, const char *text)
{
        pw_session_reply_error(lister->session, lister->id, status, text);
}

static const struct pw_list_asker sessions = { send_rows, send_error };

void pw_list_request(struct pw_dsession *session, uint64_t id, const Pathways__Wire__ListRequest *request)
{
        struct pw_list_asked asked = { request->what, request->filter, request->limit, request->after };
        struct pw_lister *lister;
        struct pw_error err;
        enum pw_status status;

        if (*request->host && pw_list_elsewhere(session, id, request))
                return;
        lister = calloc(1, sizeof *lister);
        if (lister) {
                lister->daemon = session->daemon;
                lister->session = session;
                lister->line = &session->tenant->listers;
                lister->asker = &sessions;
                lister->tenant = session->tenant->name;
                lister->operator_ = session->operator_;
                lister->id = id;
        }
        status = lister ? pw_lister_begin(lister, &asked, &err)
                        : pw_error_set(&err, PW_NO_MEMORY, "pathwaysd is out of memory for the listing");
        if (status == PW_OK)
                return;
        free(lister);
        pw_session_reply_error(session, id, status, err.text);
}

/* --- what they keep ----------------------------------------------------------------------------------------------------------- */

/* Operators ask when memory is short: theirs is bounded by the rows of a listing, and by how many are under way. So is that of
 * other hosts. */
bool pw_lister_may_keep(const struct pw_lister *lister, uint64_t bytes)
{
        return !lister->session || lister->operator_ ||
               pw_kept_ask(lister->daemon, lister->session->tenant, PW_KEPT_REQUESTS, bytes, NULL) == PW_OK;
}

static void count_kept(const struct pw_lister *lister, int64_t bytes)
{
        if (lister->session)
                pw_kept_count(lister->daemon, lister->session->tenant, PW_KEPT_REQUESTS, bytes);
}

void pw_lister_keep(struct pw_lister *lister, uint64_t bytes)
{
        lister->kept_bytes += bytes;
        count_kept(lister, (int64_t)bytes);
}

void pw_lister_forget(struct pw_lister *lister, uint64_t bytes)
{
        lister->kept_bytes -= bytes;
        count_kept(lister, -(int64_t)bytes);
}

void pw_lists_session_end(struct pw_dsession *session)
{
        struct pw_lister *lister;

        pw_list_each(&session->tenant->listers.all, lister, struct pw_lister, link)
                if (lister->session == session)
                        pw_lister_free(lister);
}

/* --- parts -------------------------------------------------------------------------------------------------------------------- */

/* What the sessions of a tenant, or of all (NULL), have published is read, for their tenants' parts of a round. False: there is
 * more. */
static bool read_lanes(struct pw_daemon *daemon, const char *tenant)
{
        struct pw_dsession *session;
        bool all = true;

        daemon->clients.round++;
        for (uint32_t i = 0; (session = pw_table_next(&daemon->registry.sessions, &i));)
                if (!session->ended && session->tenant && (!tenant || !strcmp(session->tenant->name, tenant)))
                        all &= pw_lanes_read_quantum(session, pw_lanes_pass(session));
        return all;
}

/* Nobody waits for what is another tenant's. */
static bool is_settled(const struct pw_lister *lister)
{
        const struct pw_store *store = lister->daemon->store;

        return lister->rows->behind ||
               !(lister->operator_ ? pw_store_reclaims(store) : pw_store_reclaims_of(store, lister->tenant)) ||
               pw_now_us() - lister->since_us > RECLAIM_US;
}

/* So that what is listed is true now: what was let go before is not there any more. Where that would take longer than a part, the
 * listing says so. Its session may end for what it wrote, and the listing with it. */
static bool catch_up(struct pw_lister *lister)
{
        const struct pw_list *listers = &lister->line->all;
        struct pw_daemon *daemon = lister->daemon;
        bool all;

        if (lister->begun)
                return true;
        all = read_lanes(daemon, lister->operator_ ? NULL : lister->tenant);
        if (pw_list_empty(listers) || pw_list_first(listers, struct pw_lister, link) != lister)
                return false;
        lister->rows->behind = !all;
        pw_scan_reclaim(daemon, pw_now_us());
        if (pw_list_empty(listers) || pw_list_first(listers, struct pw_lister, link) != lister)
                return false;
        lister->begun = is_settled(lister);
        return lister->begun;
}

/* No more fits into it. */
static bool is_page(const struct pw_lister *lister)
{
        return lister->rows->full || (lister->page_bytes && lister->rows->bytes >= lister->page_bytes);
}

static bool walk_part(struct pw_lister *lister)
{
        const struct pw_walk walk = { .slots = PART_SLOTS, .row = lister->kind->row, .context = lister,
                                      .tenant = lister->operator_ ? NULL : lister->tenant,
                                      .uncharged = lister->kind->row == pw_list_status_object };

        while (lister->kind->part && lister->kind->part(lister, PART_SLOTS))
                if (is_page(lister) || pw_now_us() - lister->now_us >= PART_US)
                        return true;
        while (lister->kind->row && pw_store_walk(lister->daemon->store, &walk, &lister->at))
                if (is_page(lister) || pw_now_us() - lister->now_us >= PART_US)
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
                struct pw_lister lister = { .daemon = session->daemon, .session = session, .operator_ = session->operator_,
                                            .rows = &checked->rows, .now_us = pw_now_us(), .audit = audit };

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
        pw_lister_free(lister);
}

static void make_anew(struct pw_lister *lister)
{
        struct pw_rows anew = { .limit = lister->rows->limit, .bytes_max = lister->rows->bytes_max,
                                .behind = lister->rows->behind };

        pw_rows_free(lister->rows);
        lister->own_rows = anew;
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
                lister->asker->rows(lister);
                lister->own_rows = (struct pw_rows){ 0 };
        } else {
                lister->asker->error(lister, status, lister->err->text);
        }
        pw_lister_free(lister);
}

/* The next part of the line's first. If there is more of it, it stands behind its others then. */
static void list_part(struct pw_listers *line)
{
        struct pw_lister *lister = pw_list_first(&line->all, struct pw_lister, link);
        bool more;

        lister->daemon->loop.doing = lister->kind->what;
        if (!catch_up(lister))
                return;
        lister->now_us = pw_now_us();
        more = walk_part(lister);
        if (!more && !lister->kind->list) {
                begin_audit(lister);
        } else if (!more || (lister->kind->pages && (is_page(lister) || lister->rows->count >= lister->kind->page_rows))) {
                answer(lister, more);
        } else {
                pw_list_remove(&lister->link);
                pw_list_append(&line->all, &lister->link);
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
                struct pw_listers *line = pw_list_first(&now, struct pw_listers, turn);

                pw_list_remove(&line->turn);
                pw_list_append(&daemon->inspection.listing, &line->turn);
                list_part(line);
        } while (!pw_list_empty(&now) && pw_now_us() < until_us);
        pw_list_splice(&now, &daemon->inspection.listing); /* whose part is still to come is first in the next */
        pw_list_splice(&daemon->inspection.listing, &now);
        return true;
}
