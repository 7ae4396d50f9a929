/* Room: requests granted, queued first come, refused at their deadline with who holds the space; the terms of host memory. */
#include "store/state.h"

#include <stdio.h>

#define HOLDERS_SHOWN 3

static uint64_t usable(const struct pw_store *store)
{
        return store->params.capacity_bytes - store->params.reserved_bytes;
}

/* --- who holds the space ---------------------------------------------------------------------------------------------------- */

struct holder { const struct segment *segment; uint64_t bytes; };

static void note_holder(struct holder *best, const struct segment *segment, uint64_t bytes)
{
        for (int i = 0; i < HOLDERS_SHOWN; i++) {
                if (bytes <= best[i].bytes)
                        continue;
                for (int j = HOLDERS_SHOWN - 1; j > i; j--)
                        best[j] = best[j - 1];
                best[i] = (struct holder){ segment, bytes };
                return;
        }
}

char *pw_store_holders_text(struct pw_store *store, char *text, size_t text_bytes, uint64_t now_us)
{
        struct holder best[HOLDERS_SHOWN] = { { NULL, 0 } };
        struct segment *segment;
        size_t used = 0;
        char size[16], age[16];

        text[0] = 0;
        for (uint32_t i = 0; (segment = pw_table_next(&store->segments, &i));)
                note_holder(best, segment, segment->granted_bytes);
        for (int i = 0; i < HOLDERS_SHOWN && best[i].bytes && used < text_bytes; i++) {
                const struct session *session = best[i].segment->session;

                used += (size_t)snprintf(text + used, text_bytes - used, "%s%s held by tenant %s, %s", used ? "; " : "",
                                         pw_size_format(best[i].bytes, size), best[i].segment->tenant->name,
                                         session ? session->client : "objects of an ended process");
                if (session && used < text_bytes)
                        used += (size_t)snprintf(text + used, text_bytes - used, ", attached %s", pw_duration_format(now_us - session->since_us, age));
        }
        return text;
}

static void refuse_full(struct pw_store *store, const struct pw_room_request *ask, uint64_t now_us)
{
        char text[480], holders[300], need[16], waited[16];

        snprintf(text, sizeof text, "waited %s for %s of host memory on h%u: %s; `pathways free`, end a holder, or raise --host-memory",
                 pw_duration_format(now_us - ask->now_us, waited), pw_size_format(pw_max_u64(ask->need_bytes, pw_extent_bytes(ask, 1)), need),
                 store->params.host, pw_store_holders_text(store, holders, sizeof holders, now_us));
        pw_store_refuse(store, ask->token, PW_NO_SPACE, text);
}

/* --- granting ----------------------------------------------------------------------------------------------------------------- */

/* Idle extents go back to the memory until `bytes` are free. */
static bool take_back_idle(struct pw_store *store, uint64_t bytes)
{
        for (uint32_t i = 1; i <= store->extents.top && store->free_bytes < (int64_t)bytes; i++) {
                struct extent *extent = pw_handles_get(&store->extents, i);

                if (extent && extent->bytes)
                        pw_extent_take_back(store, extent);
        }
        return store->free_bytes >= (int64_t)bytes;
}

/* As many slots as are wanted and fit, at least one. 0: not even one. */
static uint32_t fitting(struct pw_store *store, const struct pw_room_request *ask)
{
        uint32_t count = ask->count;

        while (count > 1 && (int64_t)pw_extent_bytes(ask, count) > store->free_bytes)
                count = (count + 1) / 2;
        if ((int64_t)pw_extent_bytes(ask, count) <= store->free_bytes || take_back_idle(store, pw_extent_bytes(ask, count)))
                return count;
        return 0;
}

static void ask_pages(struct pw_store *store, struct request *request)
{
        struct pw_store_action *action = pw_store_act(store, PW_STORE_POPULATE);

        if (!action)
                return;
        action->segment = request->extent->segment->number;
        action->offset = request->extent->room_offset;
        action->bytes = request->extent->bytes;
        action->token = request->ask.token;
}

/* Try to grant. PW_NOT_READY: no space now. PW_OK: answered, or its pages are on their way; `request` is no more the caller's. */
static enum pw_status grant(struct pw_store *store, struct request *request)
{
        struct session *session = pw_store_session(store, request->ask.session);
        uint32_t count = fitting(store, &request->ask);
        enum pw_status status;

        if (!count)
                return PW_NOT_READY;
        status = pw_extent_new(store, session, &request->ask, count, &request->extent);
        if (status != PW_OK) {
                pw_store_refuse(store, request->ask.token, status,
                                status == PW_LIMIT ? "the session's segment has no more slots or contiguous room" : "pathwaysd is out of memory");
                free(request);
                return PW_OK;
        }
        if (request->extent->bytes) {
                pw_list_append(&store->populating, &request->link);
                ask_pages(store, request);
                return PW_OK;
        }
        pw_extent_granted(store, request->extent, request->ask.token);
        free(request);
        return PW_OK;
}

/* Rooms of the kind asked for came back to the lane since it last asked: it need not have more. */
static bool came_back(struct session *session, const struct pw_room_request *ask)
{
        struct extent *extent;
        bool any = false;

        pw_list_each(&session->extents, extent, struct extent, of_session) {
                bool futures = extent->segment->layout.kind == PW_SEGMENT_FUTURES;

                if (extent->lane != ask->lane || futures != ask->futures || extent->tail_told == extent->returns.tail)
                        continue;
                if (!futures && (extent->inline_only != ask->inline_only || (!ask->inline_only && extent->size_class != ask->size_class)))
                        continue;
                extent->tail_told = extent->returns.tail;
                any = true;
        }
        return any;
}

static bool answer_at_once(struct pw_store *store, const struct pw_room_request *ask)
{
        struct session *session = pw_store_session(store, ask->session);
        char text[300], need[16], has[16];

        if (!session || (ask->futures ? !session->tenant->futures : !session->segment)) {
                pw_store_refuse(store, ask->token, PW_INVALID, "the session has no such segment");
                return true;
        }
        if (pw_extent_bytes(ask, 1) > usable(store)) {
                snprintf(text, sizeof text, "%s do not fit into the %s of host memory on h%u that are not reserved for devices; raise --host-memory",
                         pw_size_format(pw_max_u64(ask->need_bytes, 1), need), pw_size_format(usable(store), has), store->params.host);
                pw_store_refuse(store, ask->token, PW_TOO_LARGE, text);
                return true;
        }
        if (came_back(session, ask)) {
                struct pw_store_action *action = pw_store_act(store, PW_STORE_LOOK_AGAIN);

                if (action)
                        action->token = ask->token;
                return action != NULL;
        }
        return false;
}

void pw_store_room_request(struct pw_store *store, const struct pw_room_request *ask)
{
        struct request *request;

        if (answer_at_once(store, ask))
                return;
        request = calloc(1, sizeof *request);
        if (!request) {
                pw_store_refuse(store, ask->token, PW_NO_MEMORY, "pathwaysd is out of memory");
                return;
        }
        request->ask = *ask;
        pw_list_init(&request->link);
        if (pw_list_empty(&store->queue) && grant(store, request) == PW_OK)
                return;
        if (ask->deadline_us <= ask->now_us) {
                refuse_full(store, ask, ask->now_us);
                free(request);
                return;
        }
        pw_list_append(&store->queue, &request->link);
        pw_store_act(store, PW_STORE_DRAIN);
}

/* First come: the head is served before anybody behind it. */
void pw_room_try_queue(struct pw_store *store, uint64_t now_us)
{
        while (!pw_list_empty(&store->queue)) {
                struct request *request = pw_list_first(&store->queue, struct request, link);
                struct session *session = pw_store_session(store, request->ask.session);

                if (session && came_back(session, &request->ask)) {
                        struct pw_store_action *action = pw_store_act(store, PW_STORE_LOOK_AGAIN);

                        if (!action)
                                return;
                        action->token = request->ask.token;
                        pw_list_remove(&request->link);
                        free(request);
                        continue;
                }
                pw_list_remove(&request->link);
                if (session && grant(store, request) == PW_OK)
                        continue;
                request->link.next = store->queue.next; /* back to the head */
                request->link.prev = &store->queue;
                store->queue.next->prev = &request->link;
                store->queue.next = &request->link;
                return;
        }
        (void)now_us;
}

void pw_store_populated(struct pw_store *store, uint64_t token, enum pw_status status, uint64_t now_us)
{
        struct request *request;

        pw_list_each(&store->populating, request, struct request, link) {
                if (request->ask.token != token)
                        continue;
                pw_list_remove(&request->link);
                if (status == PW_OK) {
                        pw_extent_granted(store, request->extent, token);
                } else {
                        pw_store_refuse(store, token, status, "the operating system gave no pages for the room");
                        pw_extent_take_back(store, request->extent); /* never told to the client: every slot is idle */
                }
                free(request);
                break;
        }
        pw_room_try_queue(store, now_us);
}

void pw_store_room_cancel(struct pw_store *store, uint64_t token)
{
        struct request *request;

        pw_list_each(&store->queue, request, struct request, link) {
                if (request->ask.token != token)
                        continue;
                pw_list_remove(&request->link);
                free(request);
        }
}

void pw_room_session_end(struct pw_store *store, uint32_t session)
{
        struct pw_list *lists[] = { &store->queue, &store->populating };
        struct request *request;

        for (int i = 0; i < 2; i++) {
                pw_list_each(lists[i], request, struct request, link) {
                        if (request->ask.session != session)
                                continue;
                        pw_list_remove(&request->link);
                        free(request);
                }
        }
}

void pw_store_lane_end(struct pw_store *store, uint32_t number, uint32_t lane, uint64_t now_us)
{
        struct session *session = pw_store_session(store, number);
        struct extent *extent;

        if (!session)
                return;
        pw_list_each(&session->extents, extent, struct extent, of_session)
                if (extent->lane == lane)
                        pw_extent_take_back(store, extent);
        pw_room_try_queue(store, now_us);
}

/* --- time ------------------------------------------------------------------------------------------------------------------------ */

uint64_t pw_store_next_us(const struct pw_store *store)
{
        uint64_t next_us = UINT64_MAX;
        struct request *request;
        struct pw_ref *lease;

        pw_list_each(&store->queue, request, struct request, link)
                next_us = pw_min_u64(next_us, request->ask.deadline_us);
        pw_list_each(&store->leases, lease, struct pw_ref, of_owner)
                next_us = pw_min_u64(next_us, lease->until_us);
        return next_us;
}

void pw_store_tick(struct pw_store *store, uint64_t now_us)
{
        struct request *request;
        struct pw_ref *lease;

        pw_list_each(&store->leases, lease, struct pw_ref, of_owner)
                if (lease->until_us <= now_us)
                        pw_ref_remove(store, lease, now_us);
        pw_list_each(&store->queue, request, struct request, link) {
                if (request->ask.deadline_us > now_us)
                        continue;
                refuse_full(store, &request->ask, now_us);
                pw_list_remove(&request->link);
                free(request);
        }
        pw_room_try_queue(store, now_us);
}
