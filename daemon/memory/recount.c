/* Walks of a tenant's notes, in parts. */
#include "daemon/memory/recount.h"

#include "base/memory.h"
#include "daemon/session/session.h"
#include "plane/recount.h"

#define PART_LANES 32u /* in a turn: 1 KiB each */
#define FIRST_PAUSE_US 1000u
#define LONGEST_PAUSE_US 1000000u /* while somebody is going to such a bucket, or leaving it */

struct pw_recounting {
        struct pw_list link;          /* in daemon->memory.recounts */
        struct pw_tenant *tenant;
        struct pw_recount recount;
        uint32_t *sessions;           /* of the tenant when the walk began; NULL: it has not */
        uint32_t count, at, lane;
        uint64_t at_us, pause_us;     /* when the walk is due; the pause after it */
};

static void stop(struct pw_recounting *recounting)
{
        free(recounting->sessions);
        recounting->sessions = NULL;
}

void pw_recount_free(struct pw_tenant *tenant)
{
        struct pw_recounting *recounting = tenant->recounting;

        if (!recounting)
                return;
        stop(recounting);
        pw_list_remove(&recounting->link);
        free(recounting);
        tenant->recounting = NULL;
}

void pw_recount_mark(struct pw_daemon *daemon, struct pw_tenant *tenant, const struct pw_hint_marks *marks)
{
        struct pw_recounting *recounting = tenant->recounting;

        if (recounting)
                stop(recounting);
        if (!marks)
                return;
        if (!recounting) {
                recounting = calloc(1, sizeof *recounting);
                if (!recounting)
                        return;
                recounting->tenant = tenant;
                recounting->pause_us = FIRST_PAUSE_US;
                pw_list_init(&recounting->link);
                pw_list_append(&daemon->memory.recounts, &recounting->link);
                tenant->recounting = recounting;
        }
        for (uint32_t i = 0; i < sizeof marks->bits / sizeof marks->bits[0]; i++)
                recounting->recount.marks.bits[i] |= marks->bits[i];
        daemon->loop.more = true;
}

/* Those whose notes may be counted when the page is read. Later ones are counted in what comes later. */
static bool begin(struct pw_daemon *daemon, struct pw_recounting *recounting)
{
        struct pw_dsession *session;

        recounting->sessions = malloc((daemon->registry.sessions.count + 1) * sizeof *recounting->sessions);
        if (!recounting->sessions)
                return false;
        recounting->count = recounting->at = recounting->lane = 0;
        for (uint32_t i = 0; (session = pw_table_next(&daemon->registry.sessions, &i));)
                if (session->tenant == recounting->tenant && session->control)
                        recounting->sessions[recounting->count++] = session->number;
        pw_recount_begin(&recounting->recount, recounting->tenant->hints);
        return true;
}

/* False: there is more. */
static bool walk(struct pw_daemon *daemon, struct pw_recounting *recounting)
{
        for (uint32_t part = PART_LANES; recounting->at < recounting->count; recounting->at++, recounting->lane = 0) {
                const struct pw_dsession *session = pw_table_get(&daemon->registry.sessions, recounting->sessions[recounting->at]);
                uint32_t lanes = session ? (uint32_t)pw_min_u64(atomic_load(&session->control->lane_count), PW_LANES_MAX) : 0;

                for (; recounting->lane < lanes; recounting->lane++) {
                        if (!part--)
                                return false;
                        pw_recount_notes(&recounting->recount, session->control->lanes[recounting->lane].notes, PW_NOTES_MAX);
                }
        }
        return true;
}

bool pw_recounts_turn(struct pw_daemon *daemon, uint64_t now_us)
{
        struct pw_recounting *recounting;

        if (pw_list_empty(&daemon->memory.recounts))
                return false;
        recounting = pw_list_first(&daemon->memory.recounts, struct pw_recounting, link);
        pw_list_remove(&recounting->link); /* they take turns */
        pw_list_append(&daemon->memory.recounts, &recounting->link);
        if (recounting->at_us > now_us)
                return false;
        if (!recounting->sessions && !begin(daemon, recounting)) {
                pw_recount_free(recounting->tenant);
                return true;
        }
        if (!walk(daemon, recounting))
                return true;
        stop(recounting);
        if (!pw_recount_end(&recounting->recount, recounting->tenant->hints)) {
                pw_recount_free(recounting->tenant);
                return true;
        }
        recounting->at_us = now_us + recounting->pause_us;
        recounting->pause_us = pw_min_u64(2 * recounting->pause_us, LONGEST_PAUSE_US);
        return true;
}

uint64_t pw_recounts_next_us(const struct pw_daemon *daemon)
{
        const struct pw_recounting *recounting;
        uint64_t next_us = UINT64_MAX;

        pw_list_each(&daemon->memory.recounts, recounting, struct pw_recounting, link)
                next_us = pw_min_u64(next_us, recounting->at_us);
        return next_us;
}
