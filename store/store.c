/* The store's life, its queue of actions, its tenants, sessions and segments. */
#include "store/parts.h"

struct pw_store *pw_store_new(const struct pw_store_params *params)
{
        struct pw_store *store = calloc(1, sizeof *store);

        if (!store)
                return NULL;
        if (!pw_grow_ahead((void **)&store->actions.items, &store->actions.capacity, 0, sizeof *store->actions.items) ||
            !pw_grow_ahead((void **)&store->closing, &store->closing_capacity, 0, sizeof *store->closing)) {
                free(store->actions.items);
                free(store);
                return NULL;
        }
        store->params = *params;
        store->free_bytes = (int64_t)(params->capacity_bytes - params->reserved_bytes);
        store->queue_next_us = UINT64_MAX;
        store->scan_serial = 1;
        pw_list_init(&store->queue);
        pw_list_init(&store->populating);
        pw_list_init(&store->ending_sessions);
        pw_list_init(&store->rung);
        pw_list_init(&store->dropping);
        pw_list_init(&store->ending_extents);
        pw_list_init(&store->spare_refs);
        pw_list_init(&store->name_asks);
        pw_list_init(&store->names_open);
        pw_list_init(&store->names_later);
        pw_list_init(&store->name_told);
        pw_list_init(&store->wanted_asks);
        return store;
}

void pw_store_observe(struct pw_store *store, const struct pw_observer *observer) { store->observer = observer; }

static void free_segment(struct segment *segment)
{
        pw_scan_segment_end(segment);
        for (uint32_t i = 0; i < segment->chunk_capacity; i++)
                free(segment->chunks[i]);
        free(segment->chunks);
        free(segment->idle.spans);
        pw_range_free(segment->slots);
        pw_range_free(segment->rooms);
        free(segment);
}

static void free_requests(struct pw_list *list)
{
        struct request *request;

        pw_list_each(list, request, struct request, link)
                free(request);
        pw_list_init(list);
}

static void free_tenant(struct tenant *tenant)
{
        free(tenant->dropped.items);
        free(tenant->closed.items);
        free(tenant->later.items);
        free(tenant->name);
        free(tenant);
}

static void free_tables(struct pw_store *store)
{
        struct session *session;
        struct tenant *tenant;

        for (uint32_t i = 0; (session = pw_table_next(&store->sessions, &i));) {
                pw_wanted_session_end(store, session);
                pw_session_free(session);
        }
        pw_name_askers_done(store);
        for (uint32_t i = 0; (tenant = pw_table_next(&store->tenants, &i));)
                free_tenant(tenant);
        pw_table_done(&store->run_refs);
        pw_table_done(&store->copies);
        pw_handles_done(&store->extents);
        for (uint32_t i = 1; i <= store->results.top; i++)
                free(pw_handles_get(&store->results, i));
        pw_handles_done(&store->results);
        pw_table_done(&store->sessions);
        pw_table_done(&store->segments);
        pw_table_done(&store->tenants);
        pw_table_done(&store->names);
        pw_table_done(&store->namings);
        pw_table_done(&store->wanted);
        pw_table_done(&store->wanted_serials);
        pw_heap_done(&store->leases);
        pw_heap_done(&store->waits);
}

void pw_store_free(struct pw_store *store)
{
        struct segment *segment;
        struct pw_ref *ref;

        if (!store)
                return;
        free_requests(&store->queue);
        free_requests(&store->populating);
        pw_table_done(&store->requests);
        while (store->segments.count) /* each removal may move another behind the cursor */
                for (uint32_t i = 0; (segment = pw_table_next(&store->segments, &i));)
                        pw_store_segment_remove(store, segment->number);
        free_tables(store);
        pw_list_each(&store->spare_refs, ref, struct pw_ref, of_object)
                free(ref);
        pw_store_actions_clear(&store->actions);
        free(store->actions.items);
        free(store->closing);
        free(store->scans[0].sessions);
        free(store->scans[1].sessions);
        free(store);
}

/* --- actions ---------------------------------------------------------------------------------------------------------- */

struct pw_store_actions *pw_store_actions(struct pw_store *store)
{
        return &store->actions;
}

struct pw_store_action *pw_store_act(struct pw_store *store, enum pw_store_action_kind kind)
{
        struct pw_store_actions *actions = &store->actions;
        struct pw_store_action *action;

        if (!pw_grow_ahead((void **)&actions->items, &actions->capacity, actions->count, sizeof *actions->items))
                return NULL;
        action = &actions->items[actions->count++];
        memset(action, 0, offsetof(struct pw_store_action, grant));
        action->kind = kind;
        return action;
}

void pw_store_actions_clear(struct pw_store_actions *actions)
{
        for (uint32_t i = 0; i < actions->count; i++)
                free(actions->items[i].text);
        actions->count = 0;
}

void pw_store_answer(struct pw_store *store, uint64_t token, enum pw_status status, const char *text)
{
        struct pw_store_action *action = pw_store_act(store, status == PW_OK ? PW_STORE_LOOK_AGAIN : PW_STORE_REFUSE);

        if (!action)
                return;
        action->token = token;
        action->grant = (struct pw_store_grant){ 0 };
        action->status = status;
        action->text = text ? strdup(text) : NULL;
}

void pw_session_broke(struct pw_store *store, struct session *session, const char *text)
{
        struct pw_store_action *action =
                session && !session->broke && !session->ended ? pw_store_act(store, PW_STORE_END_SESSION) : NULL;

        if (!session)
                return;
        session->broke = true;
        if (!action)
                return;
        action->number = session->number;
        action->status = PW_PROTOCOL;
        action->text = strdup(text);
}

/* --- tenants and sessions --------------------------------------------------------------------------------------------- */

struct tenant *pw_tenant_of(struct pw_store *store, const char *name)
{
        uint64_t key = pw_text_key(name);
        struct tenant *tenant = pw_table_get(&store->tenants, key);

        if (tenant)
                return strcmp(tenant->name, name) ? NULL : tenant;
        tenant = calloc(1, sizeof *tenant);
        if (!tenant)
                return NULL;
        tenant->quota = (struct pw_quota){ PW_QUOTA_NONE, PW_QUOTA_NONE, PW_QUOTA_NONE, PW_QUOTA_NONE };
        pw_list_init(&tenant->dropping);
        if ((tenant->name = strdup(name)) && pw_objects_ahead(&tenant->dropped) && pw_table_put(&store->tenants, key, tenant))
                return tenant;
        free_tenant(tenant);
        return NULL;
}

struct session *pw_session_find(struct pw_store *store, uint32_t number)
{
        struct session *session = pw_table_get(&store->sessions, number);

        if (!session || session->ended)
                return NULL;
        store->last_session = session;
        return session;
}

enum pw_status pw_store_session_open(struct pw_store *store, const struct pw_store_session_params *params, struct pw_error *ret_err)
{
        struct session *session = calloc(1, sizeof *session);

        if (session) {
                session->number = params->session;
                session->tenant = pw_tenant_of(store, params->tenant);
                session->client = strdup(params->client);
                session->control = (uint8_t *)params->control;
                session->any_tenant = params->any_tenant;
                session->since_us = params->now_us;
                pw_list_init(&session->extents);
                pw_list_init(&session->requests);
                pw_list_init(&session->waits);
                pw_list_init(&session->of_ending);
                pw_list_init(&session->of_rung);
                if (params->control)
                        session->rings = pw_range_new(params->control_bytes - PW_CONTROL_RINGS_OFFSET, PW_LINE_BYTES);
        }
        if (session && session->tenant && session->client && (session->rings || !params->control) &&
            pw_scan_reserve(store) && pw_table_put(&store->sessions, session->number, session))
                return PW_OK;
        if (session)
                pw_session_free(session);
        return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a session");
}

/* --- segments ----------------------------------------------------------------------------------------------------------- */

struct segment *pw_segment_find(struct pw_store *store, uint32_t number)
{
        struct segment *segment = pw_table_get(&store->segments, number);

        if (segment)
                store->last_segment = segment;
        return segment;
}

static enum pw_status fill_segment(struct pw_store *store, struct segment *segment, const struct pw_store_segment_params *params)
{
        segment->number = params->segment;
        segment->layout = params->layout;
        segment->map = params->map;
        segment->hints = params->hints;
        segment->frozen = params->frozen;
        segment->tenant = pw_tenant_of(store, params->tenant);
        segment->session = params->session ? pw_session_of(store, params->session) : NULL;
        pw_list_init(&segment->extents);
        segment->slots = pw_range_new(params->layout.slot_count, 1);
        segment->rooms =
                pw_range_new(params->layout.bytes - params->layout.room_offset, params->session ? PW_PAGE_BYTES : PW_LINE_BYTES);
        if (!segment->tenant || !segment->slots || !segment->rooms)
                return PW_NO_MEMORY;
        if (params->session && (!segment->session || segment->session->segment))
                return PW_INVALID; /* a session has one, and lives */
        return pw_table_put(&store->segments, segment->number, segment) ? PW_OK : PW_NO_MEMORY;
}

enum pw_status pw_store_segment_add(struct pw_store *store, const struct pw_store_segment_params *params, struct pw_error *ret_err)
{
        struct segment *segment = calloc(1, sizeof *segment);
        enum pw_status status = segment ? fill_segment(store, segment, params) : PW_NO_MEMORY;

        if (status != PW_OK) {
                if (segment)
                        free_segment(segment);
                return pw_error_set(ret_err, status, "segment %x: %s", params->segment, pw_status_text(status));
        }
        if (params->layout.kind == PW_SEGMENT_FUTURES)
                segment->tenant->futures = segment;
        if (segment->session)
                segment->session->segment = segment;
        return PW_OK;
}

void pw_segment_settle(struct pw_store *store, struct segment *segment)
{
        struct pw_store_action *action;

        if (!segment->ended || segment->idle_told)
                return;
        if (segment->known_count || segment->populating_count || pw_session_ending(segment->session)) {
                if (segment->dead)
                        pw_pages_punch_idle(store, segment, UINT64_MAX);
                return;
        }
        if (!segment->dead && !segment->map.base)
                return; /* said */
        action = pw_store_act(store, segment->dead ? PW_STORE_SEGMENT_IDLE : PW_STORE_SEGMENT_QUIET);
        if (!action)
                return;
        action->segment = segment->number;
        segment->idle_told = segment->dead;
        segment->map = (struct pw_map){ 0 }; /* nothing is granted there any more, so nothing is looked at */
}

/* Claims of what is in it are void. */
static void drop_objects(struct pw_store *store, struct segment *segment)
{
        for (uint32_t i = 0; i < segment->chunk_capacity && segment->known_count; i++) {
                struct pw_object *chunk = segment->chunks[i];

                for (uint32_t j = 0; chunk && j < PW_CHUNK_SLOTS; j++) {
                        struct pw_ref *ref;

                        if (!chunk[j].known)
                                continue;
                        chunk[j].refs++; /* nothing is done about it */
                        while ((ref = pw_ref_next(&chunk[j], NULL)))
                                pw_ref_remove(store, ref);
                        pw_watch_end(store, &chunk[j], false);
                }
        }
}

/* Its objects are in no list any more. */
static void unlist(struct pw_object **list, uint32_t *count, uint32_t segment)
{
        uint32_t kept = 0;

        for (uint32_t i = 0; i < *count; i++)
                if (list[i]->segment != segment)
                        list[kept++] = list[i];
        *count = kept;
}

/* The same of those that were not closed yet. */
static void unlist_dropped(const struct segment *segment)
{
        struct tenant *tenant = segment->tenant;
        struct objects *dropped = &tenant->dropped;
        uint32_t count = dropped->count - tenant->dropped_first;

        memmove(dropped->items, dropped->items + tenant->dropped_first, count * sizeof *dropped->items);
        tenant->dropped_first = 0;
        dropped->count = count;
        unlist(dropped->items, &dropped->count, segment->number);
        tenant->on_way -= count - dropped->count;
        if (!dropped->count)
                pw_list_remove(&tenant->dropping);
}

/* The same of those that wait for a scan. */
static void unlist_scanning(struct pw_store *store, const struct segment *segment)
{
        struct tenant *tenant = segment->tenant;

        store->scanning_count -= tenant->closed.count + tenant->later.count;
        unlist(tenant->closed.items, &tenant->closed.count, segment->number);
        unlist(tenant->later.items, &tenant->later.count, segment->number);
        store->scanning_count += tenant->closed.count + tenant->later.count;
}

struct pw_store_leaving pw_store_segment_remove(struct pw_store *store, uint32_t number)
{
        struct segment *segment = pw_segment_of(store, number);
        struct pw_store_leaving leaving = { NULL, 0 };
        struct extent *extent;

        if (!segment)
                return leaving;
        while (pw_session_ending(segment->session))
                pw_ending_step(store);
        store->last_claimed = NULL;
        drop_objects(store, segment);
        unlist_dropped(segment);
        unlist(store->closing, &store->closing_count, number);
        unlist_scanning(store, segment);
        pw_room_segment_gone(store, segment);
        pw_list_each(&segment->extents, extent, struct extent, of_segment)
                pw_extent_drop(store, extent);
        segment->tenant->host_bytes -= pw_segment_charged(segment);
        if (!segment->ended || segment->dead)
                store->idle_bytes -= segment->idle.bytes;
        leaving = (struct pw_store_leaving){ (struct pw_store_owner *)segment->tenant,
                                             segment->entry_page_bytes + segment->room_page_bytes };
        pw_pages_leave(store, segment->tenant, leaving.bytes);
        store->free_bytes -= (int64_t)segment->entry_page_bytes; /* leaving, and not free yet */
        pw_keep_count(store, segment->tenant, pw_segment_keeps(segment),
                      -(int64_t)(segment->entry_page_bytes + segment->record_bytes));
        if (segment->tenant->futures == segment)
                segment->tenant->futures = NULL;
        if (segment->session && segment->session->ended)
                pw_session_forget(store, segment->session);
        else if (segment->session)
                segment->session->segment = NULL;
        pw_table_remove(&store->segments, number);
        store->last_segment = NULL;
        free_segment(segment);
        pw_room_serve(store);
        return leaving;
}

uint64_t pw_store_segment_bytes(const struct pw_store *store, uint32_t number)
{
        const struct segment *segment = pw_table_get(&store->segments, number);

        if (segment && segment->layout.kind == PW_SEGMENT_FUTURES)
                return pw_round_up(segment->slot_top * sizeof(struct pw_entry), PW_PAGE_BYTES) +
                        pw_round_up(segment->body_top, PW_PAGE_BYTES);
        return segment ? segment->entry_page_bytes + segment->room_page_bytes : 0;
}

void pw_store_overhead(struct pw_store *store, int64_t bytes)
{
        store->overhead_bytes += bytes;
        store->free_bytes -= bytes;
}
