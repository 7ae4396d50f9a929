/* Looks, and those that go on over several turns. */
#include "daemon/client/look.h"

#include "daemon/client/lane.h"
#include "daemon/work/submit.h"

void pw_looks_tenant_init(struct pw_tenant *tenant)
{
        pw_list_init(&tenant->looking);
        pw_list_init(&tenant->look_next);
        pw_list_init(&tenant->of_looking);
}

/* Its tenant's look goes on: this one waits for the next. */
static void look_next(struct pw_dsession *session)
{
        if (session->look_wish)
                session->look_next = true;
        else if (pw_list_empty(&session->of_look))
                pw_list_append(&session->tenant->look_next, &session->of_look);
}

static void look_at(struct pw_dsession *session)
{
        struct pw_daemon *daemon = session->daemon;
        struct pw_tenant *tenant = session->tenant;
        uint64_t pass = pw_lanes_pass(session);

        if (tenant->look && tenant->look != daemon->clients.look) {
                look_next(session);
                return;
        }
        if (session->look_wish || pw_lanes_read_part(session, pass))
                return;
        session->look_wish = pass;
        pw_list_remove(&session->of_look);
        pw_list_append(&tenant->looking, &session->of_look);
        if (tenant->look)
                return;
        tenant->look = daemon->clients.look;
        pw_list_append(&daemon->clients.looking, &tenant->of_looking);
        pw_store_look_part(daemon->store, session->number);
}

void pw_look(struct pw_daemon *daemon)
{
        uint32_t count;
        const uint32_t *numbers = pw_store_look(daemon->store, &count);
        struct pw_dsession *session;

        daemon->clients.round++;
        daemon->clients.look++;
        for (uint32_t i = 0; i < count; i++)
                if ((session = pw_session_get(&daemon->registry, numbers[i])))
                        look_at(session);
        while (!pw_list_empty(&daemon->clients.look_next)) {
                session = pw_list_first(&daemon->clients.look_next, struct pw_dsession, of_look);
                pw_list_remove(&session->of_look);
                if (!session->ended)
                        look_at(session);
        }
}

void pw_look_reclaim(struct pw_daemon *daemon, uint64_t now_us)
{
        if (!pw_store_reclaim_begin(daemon->store))
                return;
        pw_look(daemon);
        daemon->loop.more |= pw_store_reclaim_finish(daemon->store, now_us);
}

/* Read what the tenant's look waits for. */
static void read_looking(struct pw_tenant *tenant)
{
        while (!pw_list_empty(&tenant->looking)) {
                struct pw_dsession *session = pw_list_first(&tenant->looking, struct pw_dsession, of_look);

                if (!pw_lanes_read_part(session, session->look_wish))
                        return;
                pw_list_remove(&session->of_look);
                session->look_wish = 0;
                if (session->look_next && !session->ended)
                        pw_list_append(&tenant->look_next, &session->of_look);
                session->look_next = false;
        }
}

/* All that it waited for is read. */
static void end_look(struct pw_tenant *tenant, struct pw_daemon *daemon, uint64_t now_us)
{
        tenant->look = 0;
        pw_list_remove(&tenant->of_looking);
        pw_list_splice(&daemon->clients.look_next, &tenant->look_next);
        pw_store_look_whole(daemon->store, tenant->name, now_us);
        pw_submit_looked(daemon, tenant, now_us);
        daemon->loop.more = true;
}

bool pw_looks_turn(struct pw_daemon *daemon, uint64_t now_us)
{
        struct pw_tenant *tenant;

        if (pw_list_empty(&daemon->clients.looking))
                return false;
        daemon->clients.round++;
        pw_list_each(&daemon->clients.looking, tenant, struct pw_tenant, of_looking) {
                read_looking(tenant);
                if (pw_list_empty(&tenant->looking))
                        end_look(tenant, daemon, now_us);
        }
        return true;
}
