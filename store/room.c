/* Room: requests granted, or queued first come until memory is there or their deadline has passed. */
#include "store/parts.h"

#include <stdio.h>

static uint64_t room_bytes(const struct pw_room_request *ask)
{
        return ask->futures || ask->inline_only ? 0 : pw_class_bytes(ask->size_class);
}

bool pw_room_hungry(const struct pw_store *store)
{
        return !pw_list_empty(&store->queue);
}

bool pw_store_waits_for_room(const struct pw_store *store)
{
        return pw_room_hungry(store);
}

static void find_next(struct pw_store *store)
{
        struct request *request;

        store->queue_next_us = UINT64_MAX;
        pw_list_each(&store->queue, request, struct request, link)
                store->queue_next_us = pw_min_u64(store->queue_next_us, request->ask.deadline_us);
}

static struct row *row_of(struct pw_store *store, const struct request *request)
{
        struct session *session = pw_session_of(store, request->ask.session);

        return session ? pw_row_of(session, &request->ask) : NULL;
}

/* Out of the queue, to be freed or populated. */
static void unqueue(struct pw_store *store, struct request *request)
{
        struct row *row = row_of(store, request);

        if (row && row->queued == request)
                row->queued = NULL;
        pw_list_remove(&request->link);
        find_next(store);
}

/* What rooms of the segment can take when nobody else has any: besides there is what was measured, and its own table of entries. */
static uint64_t usable(const struct pw_store *store, const struct segment *segment)
{
        int64_t bytes = (int64_t)(store->params.capacity_bytes - store->params.reserved_bytes) - store->overhead_bytes -
                        (int64_t)pw_max_u64(segment->entry_page_bytes, PW_PAGE_BYTES);

        return bytes > 0 ? pw_min_u64((uint64_t)bytes, segment->layout.bytes - segment->layout.room_offset) : 0;
}

static void refuse(struct pw_store *store, const struct pw_room_request *ask, enum pw_status status)
{
        char text[480], holders[300], need[16], has[16], waited[16];

        pw_size_format(pw_max_u64(ask->need_bytes, room_bytes(ask)), need);
        if (status == PW_NO_SPACE)
                snprintf(text, sizeof text, "waited %s for %s of host memory on h%u: %s; `pathways free`, end a holder, or raise --host-memory",
                         pw_duration_format(store->now_us - ask->now_us, waited), need, store->params.host,
                         pw_store_holders_text(store, holders, sizeof holders, store->now_us));
        else if (status == PW_TOO_LARGE)
                snprintf(text, sizeof text, "%s do not fit into the %s of host memory on h%u that are neither reserved for devices nor overhead; raise "
                         "--host-memory", need, pw_size_format(usable(store, pw_session_of(store, ask->session)->segment), has), store->params.host);
        else if (status == PW_LIMIT)
                snprintf(text, sizeof text, ask->futures ? "the tenant has no more slots for futures; give back what is not needed"
                                                         : "the segment of the session has no more slots; connect once more for more");
        else
                snprintf(text, sizeof text, "a room of %s: %s", need, pw_status_text(status));
        pw_store_answer(store, ask->token, status, text);
}

/* --- granting ----------------------------------------------------------------------------------------------------------------- */

/* Slots came back that the lane has not taken? It takes them in order, so the last of an extent says it. A lane that asks has
 * looked at what was there when it was answered last: only what came since counts. */
static bool came_back(struct row *row)
{
        struct extent *extent;
        bool any = false;

        pw_list_each(&row->touched, extent, struct extent, of_touched) {
                any |= pw_extent_futures(extent) || pw_slot_idle(extent, pw_object_at(extent->segment, extent->given_last));
                pw_list_remove(&extent->of_touched);
        }
        row->given_count = 0;
        return any;
}

/* Idle slots are taken back, the asking row's own excepted, until so many bytes could be had. */
static void take_back(struct pw_store *store, const struct row *row, uint64_t bytes)
{
        for (uint32_t i = 1; i <= store->extents.top && store->free_bytes + (int64_t)store->idle_bytes < (int64_t)bytes; i++) {
                struct extent *extent = pw_handles_get(&store->extents, i);

                if (extent && extent->span_bytes && !extent->segment->ended && extent->row != row)
                        pw_extent_take_idle(store, extent);
        }
}

/* As many slots as are wanted and fit; with less than a page of them nothing is saved. PW_NOT_READY: not even so few. */
static enum pw_status place(struct pw_store *store, struct session *session, struct row *row, struct request *request, bool *ret_fresh)
{
        uint64_t room = room_bytes(&request->ask);
        uint32_t least = room ? (uint32_t)pw_max_u64(1, PW_PAGE_BYTES / room) : 1;
        uint64_t most = room ? pw_max_u64(usable(store, session->segment) / room, 1) : UINT32_MAX;
        uint32_t count = (uint32_t)pw_min_u64(request->ask.count, most);
        enum pw_status status = pw_extent_new(store, session, row, count, &request->extent, ret_fresh);

        while ((status == PW_NOT_READY || status == PW_LIMIT) && count > least) {
                count = count / 2 > least ? count / 2 : least;
                status = pw_extent_new(store, session, row, count, &request->extent, ret_fresh);
        }
        if (status != PW_NOT_READY || request->looked_at == store->grants)
                return status;
        /* Only what was granted since can have become idle: while somebody waits, other slots do not go back to their lanes. */
        request->looked_at = store->grants;
        take_back(store, row, pw_round_up(count * room, PW_PAGE_BYTES) + 2 * PW_PAGE_BYTES);
        return pw_extent_new(store, session, row, count, &request->extent, ret_fresh);
}

static void send_grant(struct pw_store *store, const struct extent *extent, uint64_t token)
{
        struct pw_store_action *action = pw_store_act(store, PW_STORE_GRANT);

        if (!action)
                return;
        action->token = token;
        action->grant = (struct pw_store_grant){ .session = extent->session->number,
                                                 .lane = extent->row->lane,
                                                 .extent = extent->number,
                                                 .segment = extent->segment->number,
                                                 .first_slot = extent->first_slot,
                                                 .slot_count = extent->slot_count,
                                                 .room_offset = extent->room_offset,
                                                 .room_bytes = extent->room_bytes,
                                                 .return_ring = extent->ring_offset };
}

static void ask_pages(struct pw_store *store, const struct request *request)
{
        struct pw_store_action *action = pw_store_act(store, PW_STORE_POPULATE);

        if (!action)
                return;
        action->segment = request->extent->segment->number;
        action->offset = request->extent->room_offset;
        action->bytes = request->extent->span_bytes;
        action->token = request->ask.token;
}

/* PW_NOT_READY: no memory now. Else it is answered, or its pages are on their way, and `request` is no more the caller's. */
static enum pw_status grant(struct pw_store *store, struct request *request)
{
        struct session *session = pw_session_of(store, request->ask.session);
        struct row *row = session ? pw_row_of(session, &request->ask) : NULL;
        bool fresh = false;
        enum pw_status status = row ? place(store, session, row, request, &fresh) : PW_NO_MEMORY;

        if (status == PW_NOT_READY)
                return status;
        if (status == PW_OK && fresh) {
                pw_list_append(&store->populating, &request->link);
                ask_pages(store, request);
                return PW_OK;
        }
        if (status == PW_OK) {
                pw_extent_open(store, request->extent);
                send_grant(store, request->extent, request->ask.token);
        } else {
                refuse(store, &request->ask, status);
        }
        free(request);
        return PW_OK;
}

/* --- requests ----------------------------------------------------------------------------------------------------------------- */

/* Why it can never be granted. */
static enum pw_status check(const struct pw_store *store, const struct session *session, const struct pw_room_request *ask)
{
        if (!session || !session->control || !ask->count || ask->lane >= PW_LANES_MAX || !(ask->futures ? session->tenant->futures : session->segment))
                return PW_INVALID;
        if (ask->futures || ask->inline_only)
                return PW_OK;
        return ask->size_class >= PW_CLASS_COUNT || room_bytes(ask) > usable(store, session->segment) ? PW_TOO_LARGE : PW_OK;
}

static void queue(struct pw_store *store, struct row *row, struct request *request)
{
        pw_list_append(&store->queue, &request->link);
        if (!row->queued)
                row->queued = request;
        store->queue_next_us = pw_min_u64(store->queue_next_us, request->ask.deadline_us);
        pw_store_act(store, PW_STORE_DRAIN);
}

void pw_store_room_request(struct pw_store *store, const struct pw_room_request *ask)
{
        struct session *session = pw_session_of(store, ask->session);
        enum pw_status status = check(store, session, ask);
        struct row *row = status == PW_OK ? pw_row_of(session, ask) : NULL;
        struct request *request = row ? calloc(1, sizeof *request) : NULL;
        bool came, enough;

        store->now_us = ask->now_us;
        if (!request) {
                refuse(store, ask, status == PW_OK ? PW_NO_MEMORY : status);
                return;
        }
        request->ask = *ask;
        request->looked_at = UINT64_MAX;
        pw_list_init(&request->link);
        enough = row->given_count >= ask->count; /* with less, a lane would stay small, and ask again and again */
        came = came_back(row);
        if (came) /* nothing is taken from others for it */
                request->looked_at = store->grants;
        if (!(came && enough) && (pw_list_empty(&store->queue) || ask->futures) && grant(store, request) == PW_OK)
                return;
        if (came) {
                pw_store_answer(store, ask->token, PW_OK, NULL);
                free(request);
                return;
        }
        if (ask->deadline_us <= ask->now_us) {
                refuse(store, ask, PW_NO_SPACE);
                free(request);
                return;
        }
        queue(store, row, request);
}

/* First come: the head is served before anybody behind it. */
void pw_room_serve(struct pw_store *store)
{
        while (!pw_list_empty(&store->queue)) {
                struct request *request = pw_list_first(&store->queue, struct request, link);
                struct pw_list *behind = request->link.next;
                struct row *row = row_of(store, request);

                pw_list_remove(&request->link);
                if (grant(store, request) == PW_NOT_READY) {
                        pw_list_append(behind, &request->link); /* the head again */
                        return;
                }
                if (row && row->queued == request)
                        row->queued = NULL;
                find_next(store);
        }
}

void pw_room_came_back(struct pw_store *store, struct row *row)
{
        struct request *request = row->queued;

        came_back(row);
        pw_store_answer(store, request->ask.token, PW_OK, NULL);
        unqueue(store, request);
        free(request);
}

static struct request *find(struct pw_list *list, uint64_t token)
{
        struct request *request;

        pw_list_each(list, request, struct request, link)
                if (request->ask.token == token)
                        return request;
        return NULL;
}

void pw_store_room_cancel(struct pw_store *store, uint64_t token)
{
        struct request *request = find(&store->queue, token);

        if (request) {
                unqueue(store, request);
                free(request);
                pw_room_serve(store);
                return;
        }
        request = find(&store->populating, token);
        if (request)
                request->cancelled = true;
}

void pw_store_populated(struct pw_store *store, uint64_t token, enum pw_status status, uint64_t now_us)
{
        struct request *request = find(&store->populating, token);
        struct extent *extent = request ? request->extent : NULL;
        struct segment *segment = extent ? extent->segment : NULL;

        store->now_us = now_us;
        if (!request)
                return;
        pw_list_remove(&request->link);
        if (extent && status == PW_OK && !request->cancelled) {
                pw_extent_open(store, extent);
                send_grant(store, extent, token);
        } else {
                if (extent)
                        pw_extent_discard(store, extent, status == PW_OK);
                if (!request->cancelled)
                        refuse(store, &request->ask, status == PW_OK ? PW_NO_MEMORY : status);
        }
        free(request);
        if (segment)
                pw_segment_settle(store, segment);
        pw_room_serve(store);
}

/* --- ends ---------------------------------------------------------------------------------------------------------------------- */

void pw_room_session_end(struct pw_store *store, struct session *session)
{
        struct request *request;

        pw_list_each(&store->queue, request, struct request, link) {
                if (request->ask.session != session->number)
                        continue;
                refuse(store, &request->ask, PW_CANCELLED);
                pw_list_remove(&request->link);
                free(request);
        }
        pw_list_each(&store->populating, request, struct request, link)
                request->cancelled |= request->ask.session == session->number;
        find_next(store);
}

void pw_room_segment_gone(struct pw_store *store, const struct segment *segment)
{
        struct request *request;

        pw_list_each(&store->populating, request, struct request, link)
                if (request->extent && request->extent->segment == segment)
                        request->extent = NULL;
}

void pw_store_lane_end(struct pw_store *store, uint32_t number, uint32_t lane, uint64_t now_us)
{
        struct session *session = pw_session_of(store, number);
        struct extent *extent;

        store->now_us = now_us;
        if (!session)
                return;
        pw_list_each(&session->extents, extent, struct extent, of_session)
                if (extent->row && extent->row->lane == lane && !extent->populating)
                        pw_extent_leave(store, extent, false);
        pw_room_serve(store);
}

/* --- time ------------------------------------------------------------------------------------------------------------------------ */

uint64_t pw_store_next_us(const struct pw_store *store)
{
        uint64_t lease_us = pw_list_empty(&store->leases) ? UINT64_MAX : pw_list_first(&store->leases, struct pw_ref, of_owner)->until_us;

        return pw_min_u64(store->queue_next_us, lease_us);
}

void pw_store_tick(struct pw_store *store, uint64_t now_us)
{
        struct request *request;

        store->now_us = now_us;
        pw_lease_tick(store);
        pw_list_each(&store->queue, request, struct request, link) {
                if (request->ask.deadline_us > now_us)
                        continue;
                refuse(store, &request->ask, PW_NO_SPACE);
                unqueue(store, request);
                free(request);
        }
        pw_room_serve(store);
}
