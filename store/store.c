/* The store's life; its sessions and segments; its queue of actions. */
#include "store/state.h"

struct pw_store *pw_store_new(const struct pw_store_params *params)
{
        struct pw_store *store = calloc(1, sizeof *store);

        if (!store)
                return NULL;
        store->params = *params;
        store->free_bytes = (int64_t)(params->capacity_bytes - params->reserved_bytes);
        pw_list_init(&store->queue);
        pw_list_init(&store->populating);
        pw_list_init(&store->leases);
        return store;
}

static void free_session(struct session *session)
{
        pw_range_free(session->rings);
        free(session->client);
        free(session);
}

static void free_segment(struct segment *segment)
{
        for (uint32_t i = 0; i < segment->chunk_count; i++) {
                if (segment->chunks[i])
                        free(segment->chunks[i]->objects);
                free(segment->chunks[i]);
        }
        free(segment->chunks);
        pw_range_free(segment->slots);
        pw_range_free(segment->rooms);
        free(segment);
}

static void free_requests(struct pw_list *list)
{
        struct request *request;

        pw_list_each(list, request, struct request, link)
                free(request);
}

/* Every node left is in the list of its object. */
static void free_refs(struct segment *segment)
{
        for (uint32_t i = 0; i < segment->chunk_count; i++) {
                struct chunk *chunk = segment->chunks[i];

                for (uint32_t j = 0; chunk && chunk->objects && j < PW_CHUNK_SLOTS; j++) {
                        struct pw_ref *ref = chunk->objects[j].holders;

                        while (ref) {
                                struct pw_ref *next = ref->next;

                                free(ref->name);
                                free(ref);
                                ref = next;
                        }
                }
        }
}

void pw_store_free(struct pw_store *store)
{
        struct session *session;
        struct segment *segment;
        struct tenant *tenant;
        struct watch *watch;
        struct pw_ref *ref;

        if (!store)
                return;
        for (uint32_t i = 0; (segment = pw_table_next(&store->segments, &i));)
                free_refs(segment);
        for (uint32_t i = 1; i <= store->extents.top; i++)
                free(pw_handles_get(&store->extents, i));
        for (uint32_t i = 0; (segment = pw_table_next(&store->segments, &i));)
                free_segment(segment);
        for (uint32_t i = 0; (session = pw_table_next(&store->sessions, &i));)
                free_session(session);
        for (uint32_t i = 0; (watch = pw_table_next(&store->watches, &i));)
                free(watch);
        for (uint32_t i = 0; (tenant = pw_table_next(&store->tenants, &i));) {
                free(tenant->name);
                free(tenant);
        }
        while ((ref = store->spare_refs)) {
                store->spare_refs = ref->next;
                free(ref);
        }
        free_requests(&store->queue);
        free_requests(&store->populating);
        pw_store_actions_clear(&store->actions);
        free(store->actions.items);
        free(store->dead);
        free(store->closing);
        pw_handles_done(&store->extents);
        pw_table_done(&store->sessions);
        pw_table_done(&store->segments);
        pw_table_done(&store->tenants);
        pw_table_done(&store->names);
        pw_table_done(&store->watches);
        pw_table_done(&store->runs);
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

        if (!pw_grow((void **)&actions->items, &actions->capacity, actions->count + 1, sizeof *actions->items))
                return NULL;
        action = &actions->items[actions->count++];
        memset(action, 0, sizeof *action);
        action->kind = kind;
        return action;
}

void pw_store_actions_clear(struct pw_store_actions *actions)
{
        for (uint32_t i = 0; i < actions->count; i++)
                free(actions->items[i].text);
        actions->count = 0;
}

void pw_store_refuse(struct pw_store *store, uint64_t token, enum pw_status status, const char *text)
{
        struct pw_store_action *action = pw_store_act(store, PW_STORE_REFUSE);

        if (!action)
                return;
        action->token = token;
        action->status = status;
        action->text = strdup(text);
}

/* --- tenants and sessions --------------------------------------------------------------------------------------------- */

static struct tenant *tenant_of(struct pw_store *store, const char *name)
{
        uint64_t key = pw_text_key(name);
        struct tenant *tenant = pw_table_get(&store->tenants, key);

        if (tenant)
                return strcmp(tenant->name, name) ? NULL : tenant;
        tenant = calloc(1, sizeof *tenant);
        if (tenant && (tenant->name = strdup(name)) && pw_table_put(&store->tenants, key, tenant))
                return tenant;
        if (tenant)
                free(tenant->name);
        free(tenant);
        return NULL;
}

struct session *pw_store_session(struct pw_store *store, uint32_t number)
{
        struct session *session = pw_table_get(&store->sessions, number);

        return session && !session->ended ? session : NULL;
}

enum pw_status pw_store_session_open(struct pw_store *store, const struct pw_store_session_params *params, struct pw_error *ret_err)
{
        struct session *session = calloc(1, sizeof *session);

        if (session) {
                session->number = params->session;
                session->tenant = tenant_of(store, params->tenant);
                session->client = strdup(params->client);
                session->control = params->control;
                session->since_us = params->now_us;
                pw_list_init(&session->extents);
                pw_list_init(&session->refs);
                pw_list_init(&session->watched);
                if (params->control)
                        session->rings = pw_range_new(params->control_bytes - PW_CONTROL_RINGS_OFFSET, PW_LINE_BYTES);
        }
        if (session && session->tenant && session->client && (session->rings || !params->control) &&
            pw_table_put(&store->sessions, session->number, session))
                return PW_OK;
        if (session)
                free_session(session);
        return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a session");
}

static void forget_session(struct pw_store *store, struct session *session)
{
        pw_table_remove(&store->sessions, session->number);
        free_session(session);
}

/* Nobody holds anything in the segment of an ended, dead session: it can go. */
void pw_store_segment_maybe_idle(struct pw_store *store, struct segment *segment)
{
        struct pw_store_action *action;

        if (segment->session || !segment->session_dead || !pw_list_empty(&segment->extents))
                return;
        action = pw_store_act(store, PW_STORE_SEGMENT_IDLE);
        if (action)
                action->segment = segment->number;
}

static void end_watches(struct pw_store *store, struct session *session)
{
        struct watch *watch;

        pw_list_each(&session->watched, watch, struct watch, link) {
                struct pw_store_action *action = pw_store_act(store, PW_STORE_READY);

                if (action)
                        action->object = watch->object;
                watch->object->watched = 0;
                pw_table_remove(&store->watches, (uintptr_t)watch->object);
                pw_list_remove(&watch->link);
                free(watch);
        }
}

void pw_store_session_end(struct pw_store *store, uint32_t number, bool dead, uint64_t now_us)
{
        struct session *session = pw_store_session(store, number);
        struct pw_ref *ref;
        struct extent *extent;
        struct segment *segment;

        if (!session)
                return;
        session->ended = true;
        pw_room_session_end(store, number);
        pw_list_each(&session->refs, ref, struct pw_ref, of_owner)
                pw_ref_remove(store, ref, now_us);
        pw_list_each(&session->extents, extent, struct extent, of_session)
                pw_extent_orphan(store, extent, dead, now_us);
        end_watches(store, session);
        segment = session->segment;
        if (segment) {
                segment->session = NULL;
                segment->session_dead = dead;
                pw_store_segment_maybe_idle(store, segment);
        }
        if (dead)
                forget_session(store, session);
        pw_room_try_queue(store, now_us);
}

void pw_store_session_dead(struct pw_store *store, uint32_t number, uint64_t now_us)
{
        struct session *session = pw_table_get(&store->sessions, number);
        struct segment *segment = session ? session->segment : NULL;
        struct extent *extent;

        if (!session || !session->ended)
                return;
        if (segment) {
                segment->session_dead = true;
                pw_list_each(&segment->extents, extent, struct extent, of_segment)
                        if (!extent->live)
                                pw_extent_free(store, extent);
                pw_store_segment_maybe_idle(store, segment);
        }
        forget_session(store, session);
        pw_room_try_queue(store, now_us);
}

/* --- segments ----------------------------------------------------------------------------------------------------------- */

struct segment *pw_store_segment(struct pw_store *store, uint32_t number)
{
        if (!store->last || store->last->number != number)
                store->last = pw_table_get(&store->segments, number);
        return store->last;
}

enum pw_status pw_store_segment_add(struct pw_store *store, const struct pw_store_segment_params *params, struct pw_error *ret_err)
{
        struct segment *segment = calloc(1, sizeof *segment);
        bool ok = segment != NULL;

        if (ok) {
                segment->number = params->segment;
                segment->layout = params->layout;
                segment->map = params->map;
                segment->hints = params->hints;
                segment->tenant = tenant_of(store, params->tenant);
                pw_list_init(&segment->extents);
                segment->chunk_count = (params->layout.slot_count + PW_CHUNK_SLOTS - 1) / PW_CHUNK_SLOTS;
                segment->chunks = calloc(segment->chunk_count + 1, sizeof *segment->chunks);
                segment->slots = pw_range_new(params->layout.slot_count, 1);
                segment->rooms = pw_range_new(params->layout.bytes - params->layout.room_offset, PW_LINE_BYTES);
                ok = segment->tenant && segment->chunks && segment->slots && segment->rooms &&
                     pw_table_put(&store->segments, segment->number, segment);
        }
        if (!ok) {
                if (segment)
                        free_segment(segment);
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a segment");
        }
        if (params->layout.kind == PW_SEGMENT_FUTURES)
                segment->tenant->futures = segment;
        segment->session = params->session ? pw_store_session(store, params->session) : NULL;
        if (segment->session)
                segment->session->segment = segment;
        return PW_OK;
}

void pw_store_segment_remove(struct pw_store *store, uint32_t number)
{
        struct segment *segment = pw_table_remove(&store->segments, number);
        struct extent *extent;

        if (!segment)
                return;
        store->last = NULL;
        segment->session_dead = false; /* it goes now: nobody is to be told that it may */
        pw_list_each(&segment->extents, extent, struct extent, of_segment)
                pw_extent_free(store, extent);
        if (segment->session)
                segment->session->segment = NULL;
        if (segment->tenant->futures == segment)
                segment->tenant->futures = NULL;
        store->overhead_bytes -= segment->entry_pages_bytes;
        pw_store_unbook(store, segment->entry_pages_bytes);
        free_refs(segment);
        free_segment(segment);
}

uint64_t pw_store_segment_bytes(const struct pw_store *store, uint32_t number)
{
        const struct segment *segment = pw_table_get(&store->segments, number);

        return segment ? segment->entry_pages_bytes + segment->granted_bytes : 0;
}

void pw_store_overhead(struct pw_store *store, int64_t bytes)
{
        store->overhead_bytes += (uint64_t)bytes;
        store->free_bytes -= bytes;
}
