/* Figures of tenants, against their sessions'. */
#include "daemon/client/tally.h"

#include "base/memory.h"
#include "daemon/client/client.h"

#include <inttypes.h>
#include <stdio.h>

/* Those who did not say Hello count as connections, too. */
static void add(struct pw_tally *tally, const struct pw_dsession *session)
{
        tally->connections++;
        tally->unread_bytes += session->unread_bytes;
        tally->kept_bytes += session->unread_bytes + session->kept_bytes;
        tally->begun_bytes += session->begun_bytes;
}

struct teller {
        const struct pw_store *store;
        void (*found)(void *context, const char *where, const char *problem);
        void *context;
};

static void judge(const struct teller *teller, const struct pw_tenant *tenant)
{
        const struct pw_tally *tally = &tenant->tally;
        const struct { const char *what; uint64_t has, sum; } figures[] = {
                { "connections", tenant->connections, tally->connections },
                { "bytes of replies that are not read", tenant->unread_bytes, tally->unread_bytes },
                { "bytes kept of sessions", pw_store_use(teller->store, tenant->name).kept[PW_KEPT_SESSIONS], tally->kept_bytes },
                { "bytes of large frames that have begun", tenant->begun_bytes, tally->begun_bytes },
        };
        char where[100], text[120];

        for (uint32_t i = 0; i < pw_array_count(figures); i++) {
                if (figures[i].has == figures[i].sum)
                        continue;
                snprintf(where, sizeof where, "tenant %.40s", tenant->name);
                snprintf(text, sizeof text, "%" PRIu64 " %s are counted, its sessions have %" PRIu64, figures[i].has,
                         figures[i].what, figures[i].sum);
                teller->found(teller->context, where, text);
        }
}

static void clear(struct pw_table *tenants)
{
        struct pw_tenant *tenant;

        for (uint32_t i = 0; (tenant = pw_table_next(tenants, &i));)
                tenant->tally = (struct pw_tally){ 0 };
}

static void judge_all(const struct teller *teller, struct pw_table *tenants)
{
        const struct pw_tenant *tenant;

        for (uint32_t i = 0; (tenant = pw_table_next(tenants, &i));)
                judge(teller, tenant);
}

void pw_tally_each(struct pw_daemon *daemon, void (*found)(void *context, const char *where, const char *problem), void *context)
{
        struct teller teller = { daemon->store, found, context };
        struct pw_dsession *session;

        clear(&daemon->registry.tenants);
        clear(&daemon->registry.users);
        for (uint32_t i = 0; (session = pw_table_next(&daemon->registry.sessions, &i));)
                if (session->tenant)
                        add(&session->tenant->tally, session);
        judge_all(&teller, &daemon->registry.tenants);
        judge_all(&teller, &daemon->registry.users);
}
