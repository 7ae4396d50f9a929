/* Audits. */
#include "daemon/memory/audit.h"

#include "base/memory.h"
#include "base/size.h"
#include "daemon/session/output.h"
#include "daemon/session/tenant.h"
#include "daemon/memory/overhead.h"
#include "daemon/memory/segment.h"
#include "daemon/memory/worker.h"

#include <stdio.h>

#define AUDITS_MAX 64u /* under way at a time */
#define AUDITS_OF_TENANT 8u

/* On its way through the worker; its own, as the audit may be over before. */
struct pw_measure {
        struct pw_list link;      /* among those of its audit */
        struct pw_audit *audit;   /* NULL: over */
        struct pw_backing *backing;
        uint32_t record;
        uint64_t in_segments, has, in_all; /* bytes that are there */
        uint64_t all_bytes;
        uint32_t count;
        struct { uint64_t offset, bytes; } segments[];
};

/* `granted`: when it began; `lacking`: there was no memory to look. */
struct record { struct pw_backing *backing; uint64_t granted, outside, has; bool seen, lacking; };

struct pw_audit {
        struct pw_list link;      /* in daemon->memory.audits */
        struct pw_daemon *daemon;
        uint32_t session;
        const struct pw_tenant *tenant; /* of the session, to be compared */
        pw_audited_fn done;       /* NULL: it was called */
        void *context;
        uint64_t until_us;
        bool waits;               /* till then: a memfd of it has a measure that is overdue */
        struct pw_list measures;
        uint32_t count;
        struct record records[];
};

/* --- looking ------------------------------------------------------------------------------------------------------------- */

static uint64_t touched(int fd, uint64_t offset, uint64_t bytes)
{
        struct pw_window window = { fd, offset, bytes };

        return pw_window_touched(&window, &bytes, NULL) == PW_OK ? bytes : 0;
}

/* Besides segments, lanes and rings may be touched anywhere, and so may places whose session has ended, by a process that still has
 * them mapped: even a look at a page that was taken back makes one. Clients go on meanwhile: what segments have is read first, then
 * what the memfd takes, then what all of it has, so that a page that comes in between is no one's fault. */
void pw_measure_do(struct pw_measure *measure, int fd)
{
        for (uint32_t i = 0; i < measure->count; i++)
                measure->in_segments += touched(fd, measure->segments[i].offset, measure->segments[i].bytes);
        if (pw_memfd_allocated(fd, &measure->has, NULL) != PW_OK)
                measure->has = 0;
        measure->in_all = touched(fd, 0, measure->all_bytes);
}

static void forget(struct pw_audit *audit)
{
        struct pw_measure *measure;

        pw_list_each(&audit->measures, measure, struct pw_measure, link) {
                pw_list_remove(&measure->link);
                measure->audit = NULL;
                measure->backing->overdue++;
        }
        for (uint32_t i = 0; i < audit->count; i++)
                pw_backing_unkeep(audit->records[i].backing);
        pw_list_remove(&audit->link);
        if (audit->done)
                audit->done(audit->context, NULL, audit);
        free(audit);
}

static void answer(struct pw_audit *audit)
{
        pw_audited_fn done = audit->done;

        audit->done = NULL;
        done(audit->context, pw_session_get(&audit->daemon->registry, audit->session), audit);
        forget(audit);
}

void pw_measure_free(struct pw_measure *measure)
{
        if (!measure)
                return;
        measure->backing->overdue -= !measure->audit;
        pw_backing_unkeep(measure->backing);
        free(measure);
}

void pw_measure_done(struct pw_measure *measure_take, enum pw_status status)
{
        struct pw_audit *audit = measure_take->audit;

        if (audit) {
                struct record *record = &audit->records[measure_take->record];

                record->seen = status == PW_OK;
                record->lacking = !record->seen;
                record->has = measure_take->has;
                record->outside = measure_take->in_all - pw_min_u64(measure_take->in_all, measure_take->in_segments);
                pw_list_remove(&measure_take->link);
        }
        pw_measure_free(measure_take);
        if (audit && !audit->waits && pw_list_empty(&audit->measures) && !pw_list_empty(&audit->link))
                answer(audit);
}

/* --- asking ---------------------------------------------------------------------------------------------------------------- */

/* Pages that the store has given up in this turn are there until the worker is asked. */
static void add_given_up(struct pw_daemon *daemon)
{
        const struct pw_store_actions *actions = pw_store_actions(daemon->store);

        for (uint32_t i = 0; i < actions->count; i++) {
                struct pw_segment *segment = actions->items[i].kind == PW_STORE_PUNCH ?
                        pw_segment_get(&daemon->memory, actions->items[i].segment) : NULL;

                if (segment)
                        segment->backed.backing->granted_bytes += actions->items[i].bytes;
        }
}

/* Where one waits that was not done in time, no more are added; whether the memfd is held is seen at the end. */
static void measure_it(struct pw_audit *audit, struct pw_backing *backing)
{
        struct pw_measure *measure =
                backing->overdue ? NULL : calloc(1, sizeof *measure + backing->segments * sizeof measure->segments[0]);

        audit->records[audit->count] = (struct record){ .backing = backing,
                                                        .granted = backing->granted_bytes + backing->leaving_bytes,
                                                        .lacking = !measure && !backing->overdue };
        pw_backing_keep(backing);
        audit->waits |= backing->overdue > 0;
        if (measure) {
                pw_backing_keep(backing);
                measure->backing = backing;
                measure->audit = audit;
                measure->record = audit->count;
                measure->all_bytes = backing->place_bytes * backing->place_count;
                pw_list_append(&audit->measures, &measure->link);
        }
        audit->count++;
        backing->measure = measure;
}

/* A measure for each memfd of sessions, which knows the segments in it. */
static void add_measures(struct pw_audit *audit)
{
        struct pw_daemon *daemon = audit->daemon;
        struct pw_backing *backing;
        struct pw_segment *segment;

        pw_list_each(&daemon->memory.backings, backing, struct pw_backing, of_daemon)
                backing->segments = 0;
        for (uint32_t i = 0; (segment = pw_table_next(&daemon->memory.segments, &i));)
                if (!segment->apart)
                        segment->backed.backing->segments++;
        pw_list_each(&daemon->memory.backings, backing, struct pw_backing, of_daemon)
                if (!backing->frozen) /* nobody can hold it: each_frozen() looks by itself */
                        measure_it(audit, backing);
        for (uint32_t i = 0; (segment = pw_table_next(&daemon->memory.segments, &i));) {
                const struct pw_backing *of = segment->backed.backing;
                struct pw_measure *measure = of && of->tenant ? of->measure : NULL;

                if (!measure)
                        continue;
                measure->segments[measure->count].offset = segment->backed.offset;
                measure->segments[measure->count++].bytes = segment->backed.bytes;
        }
}

static enum pw_status check_count(const struct pw_dsession *session, struct pw_error *ret_err)
{
        const struct pw_audit *audit;
        uint32_t count = 0, of_tenant = 0;

        pw_list_each(&session->daemon->memory.audits, audit, struct pw_audit, link) {
                if (audit->session == session->number)
                        return pw_error_set(ret_err, PW_LIMIT,
                                            "an audit of this session is under way; ask again when it has answered");
                count++;
                of_tenant += audit->tenant == session->tenant;
        }
        if (of_tenant >= AUDITS_OF_TENANT)
                return pw_error_set(ret_err, PW_LIMIT, "8 audits of this tenant are under way; ask again in a second");
        return count < AUDITS_MAX ? PW_OK : pw_error_set(ret_err, PW_LIMIT, "64 audits are under way; ask again in a second");
}

enum pw_status pw_audit_begin(struct pw_dsession *session, pw_audited_fn done, void *context_take, struct pw_error *ret_err)
{
        struct pw_daemon *daemon = session->daemon;
        struct pw_audit *audit;
        uint32_t count = 0;

        if (check_count(session, ret_err) != PW_OK)
                return PW_LIMIT;
        for (const struct pw_list *at = daemon->memory.backings.next; at != &daemon->memory.backings; at = at->next)
                count++;
        audit = calloc(1, sizeof *audit + count * sizeof audit->records[0]);
        if (!audit)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd is out of memory for an audit");
        audit->daemon = daemon;
        audit->session = session->number;
        audit->tenant = session->tenant;
        audit->done = done;
        audit->context = context_take;
        audit->until_us = pw_now_us() + PW_AUDIT_US;
        pw_list_init(&audit->link);
        pw_list_init(&audit->measures);
        pw_overhead_grants(daemon);
        add_given_up(daemon);
        add_measures(audit);
        for (uint32_t i = 0; i < audit->count; i++)
                if (audit->records[i].backing->measure)
                        pw_worker_ask(daemon->memory.worker, &(struct pw_memory_work){ .backing = audit->records[i].backing,
                                                                         .measure = audit->records[i].backing->measure });
        pw_list_append(&daemon->memory.audits, &audit->link); /* what was answered at once did not end it */
        if (!audit->waits && pw_list_empty(&audit->measures))
                answer(audit);
        return PW_OK;
}

void pw_audits_tick(struct pw_daemon *daemon, uint64_t now_us)
{
        struct pw_audit *audit;

        pw_list_each(&daemon->memory.audits, audit, struct pw_audit, link)
                if (now_us >= audit->until_us)
                        answer(audit);
}

uint64_t pw_audits_next_us(const struct pw_daemon *daemon)
{
        const struct pw_list *audits = &daemon->memory.audits;

        return pw_list_empty(audits) ? UINT64_MAX : pw_list_first(audits, struct pw_audit, link)->until_us;
}

void pw_audits_done(struct pw_daemon *daemon)
{
        struct pw_audit *audit;

        pw_list_each(&daemon->memory.audits, audit, struct pw_audit, link)
                forget(audit);
}

/* --- telling --------------------------------------------------------------------------------------------------------------- */

struct teller { void (*found)(void *context, const char *where, const char *problem); void *context; };

static const char *whose_fault(const struct pw_backing *backing)
{
        if (backing->refused)
                return "the system did not take pages back, the log says why; they count as overhead";
        return backing->frozen ? "who reads where nothing is makes pages; they are taken back"
                               : "its producer wrote beyond its grant";
}

static void beyond(const struct teller *teller, const char *where, const struct pw_backing *backing, uint64_t has, uint64_t granted)
{
        char text[200], has_text[16], granted_text[16];

        snprintf(text, sizeof text, "its memfd takes %s, granted are %s: %s", pw_size_format(has, has_text),
                 pw_size_format(granted, granted_text), whose_fault(backing));
        teller->found(teller->context, where, text);
}

/* One that the worker has not come to yet is no problem; one that it is held at is. */
static void judge(const struct pw_audit *audit, const struct record *record, const struct teller *teller)
{
        const struct pw_backing *backing = record->backing;
        uint64_t granted = pw_max_u64(record->granted, backing->granted_bytes + backing->leaving_bytes) + record->outside;
        const struct pw_segment *segment, *any = NULL;
        char where[100];

        if (record->seen ? backing->works || record->has <= granted
                         : !record->lacking && !pw_worker_is_held(audit->daemon->memory.worker, backing))
                return;
        for (uint32_t i = 0; !any && (segment = pw_table_next(&audit->daemon->memory.segments, &i));)
                any = segment->backed.backing == backing ? segment : NULL;
        if (any)
                snprintf(where, sizeof where, "segment %x of session %u", any->number, any->session);
        else
                snprintf(where, sizeof where, "memory of ended sessions of tenant %.40s", backing->tenant->name);
        if (record->seen)
                beyond(teller, where, backing, record->has, granted);
        else
                teller->found(teller->context, where,
                              "its memfd could not be looked at within 1 s: it is held, as by a process that writes to "
                                                      "its descriptor without an end, or the daemon lacks memory");
}

/* Memfds that the daemon alone writes. What their readers make is charged: whoever lists problems has measured it just before. */
static void each_frozen(const struct pw_audit *audit, const struct teller *teller)
{
        const struct pw_backing *backing;
        char where[100];
        uint64_t has;

        pw_list_each(&audit->daemon->memory.backings, backing, struct pw_backing, of_daemon) {
                if (!backing->frozen || backing->works || pw_memfd_allocated(backing->fd, &has, NULL) != PW_OK ||
                    has <= backing->granted_bytes + backing->overhead_bytes)
                        continue;
                snprintf(where, sizeof where, "frozen values of tenant %.40s", backing->tenant->name);
                beyond(teller, where, backing, has, backing->granted_bytes);
        }
}

void pw_audit_each(const struct pw_audit *audit, void (*found)(void *context, const char *where, const char *problem),
                   void *context)
{
        struct teller teller = { found, context };

        pw_overhead_grants(audit->daemon);
        add_given_up(audit->daemon);
        for (uint32_t i = 0; i < audit->count; i++)
                judge(audit, &audit->records[i], &teller);
        each_frozen(audit, &teller);
}
