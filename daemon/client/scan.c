/* Looks, and those that go on over several turns. */
#include "daemon/client/scan.h"

#include "daemon/client/lane.h"
#include "daemon/work/submit.h"

void pw_scans_tenant_init(struct pw_tenant *tenant)
{
        pw_list_init(&tenant->scanning);
        pw_list_init(&tenant->scan_next);
        pw_list_init(&tenant->of_scanning);
}

/* Its tenant's scan goes on: this one waits for the next. */
static void scan_next(struct pw_dsession *session)
{
        if (session->scan_wish)
                session->scan_next = true;
        else if (pw_list_empty(&session->of_scan))
                pw_list_append(&session->tenant->scan_next, &session->of_scan);
}

static void scan_session(struct pw_dsession *session)
{
        struct pw_daemon *daemon = session->daemon;
        struct pw_tenant *tenant = session->tenant;
        uint64_t pass = pw_lanes_pass(session);

        if (tenant->scan && tenant->scan != daemon->clients.scan) {
                scan_next(session);
                return;
        }
        if (session->scan_wish || pw_lanes_read_quantum(session, pass))
                return;
        session->scan_wish = pass;
        pw_list_remove(&session->of_scan);
        pw_list_append(&tenant->scanning, &session->of_scan);
        if (tenant->scan)
                return;
        tenant->scan = daemon->clients.scan;
        pw_list_append(&daemon->clients.scanning, &tenant->of_scanning);
        pw_store_scan_partial(daemon->store, session->number);
}

void pw_scan(struct pw_daemon *daemon)
{
        uint32_t count;
        const uint32_t *numbers = pw_store_scan(daemon->store, &count);
        struct pw_dsession *session;

        daemon->clients.round++;
        daemon->clients.scan++;
        for (uint32_t i = 0; i < count; i++)
                if ((session = pw_session_get(&daemon->registry, numbers[i])))
                        scan_session(session);
        while (!pw_list_empty(&daemon->clients.scan_next)) {
                session = pw_list_first(&daemon->clients.scan_next, struct pw_dsession, of_scan);
                pw_list_remove(&session->of_scan);
                if (!session->ended)
                        scan_session(session);
        }
}

void pw_scan_reclaim(struct pw_daemon *daemon, uint64_t now_us)
{
        if (!pw_store_reclaim_begin(daemon->store))
                return;
        pw_scan(daemon);
        daemon->loop.more |= pw_store_reclaim_finish(daemon->store, now_us);
}

/* Read what the tenant's scan waits for. */
static void read_scanning(struct pw_tenant *tenant)
{
        while (!pw_list_empty(&tenant->scanning)) {
                struct pw_dsession *session = pw_list_first(&tenant->scanning, struct pw_dsession, of_scan);

                if (!pw_lanes_read_quantum(session, session->scan_wish))
                        return;
                pw_list_remove(&session->of_scan);
                session->scan_wish = 0;
                if (session->scan_next && !session->ended)
                        pw_list_append(&tenant->scan_next, &session->of_scan);
                session->scan_next = false;
        }
}

/* All that it waited for is read. */
static void end_scan(struct pw_tenant *tenant, struct pw_daemon *daemon, uint64_t now_us)
{
        tenant->scan = 0;
        pw_list_remove(&tenant->of_scanning);
        pw_list_splice(&daemon->clients.scan_next, &tenant->scan_next);
        pw_store_scan_whole(daemon->store, tenant->name, now_us);
        pw_submit_scanned(daemon, tenant, now_us);
        daemon->loop.more = true;
}

bool pw_scans_turn(struct pw_daemon *daemon, uint64_t now_us)
{
        struct pw_tenant *tenant;

        if (pw_list_empty(&daemon->clients.scanning))
                return false;
        daemon->clients.round++;
        pw_list_each(&daemon->clients.scanning, tenant, struct pw_tenant, of_scanning) {
                read_scanning(tenant);
                if (pw_list_empty(&tenant->scanning))
                        end_scan(tenant, daemon, now_us);
        }
        return true;
}
