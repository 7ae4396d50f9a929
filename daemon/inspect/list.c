/* Listings by name. */
#include "daemon/inspect/list.h"

#include "base/memory.h"

#define DEFAULT_LIMIT 100000u

static const struct { const char *what; enum pw_status (*list)(struct pw_lister *lister); } lists[] = {
        { "status", pw_list_status },   { "devices", pw_list_devices },   { "islands", pw_list_islands }, { "objects", pw_list_objects },
        { "memory", pw_list_memory },   { "owners", pw_list_owners },     { "check", pw_list_check },     { "programs", pw_list_programs },
        { "runs", pw_list_runs },       { "gangs", pw_list_gangs },       { "why", pw_list_why },
        { "object", pw_list_object },
};

bool pw_list_visible(const struct pw_lister *lister, const char *tenant)
{
        return lister->session->operator_ || (tenant && !strcmp(tenant, lister->session->tenant->name));
}

void pw_list_request(struct pw_dsession *session, uint64_t id, const Pathways__Wire__ListRequest *request)
{
        struct pw_rows rows = { .limit = request->limit ? request->limit : DEFAULT_LIMIT };
        struct pw_error err;
        struct pw_lister lister = { .daemon = session->daemon,
                                    .session = session,
                                    .rows = &rows,
                                    .filter = request->filter,
                                    .now_us = pw_now_us(),
                                    .err = &err };
        enum pw_status status = pw_error_set(&err, PW_NOT_FOUND, "there is no listing \"%s\"", request->what);

        for (uint32_t i = 0; i < pw_array_count(lists); i++)
                if (!strcmp(lists[i].what, request->what)) {
                        session->daemon->doing = lists[i].what;
                        status = lists[i].list(&lister);
                }
        if (status == PW_OK) {
                pw_rows_send(&rows, session, id);
                return;
        }
        pw_session_reply_error(session, id, status, err.text);
        pw_rows_free(&rows);
}
