/* Room: requests granted, or queued until memory is there or their deadline has passed; pass.c says which of them passes which. */
#include "store/parts.h"

#define GRACE_US 1000000u
#define RETRY_US 100000u /* until the system is asked again, which had no memory: it does not tell when it has */
#define LATE_PART 256u /* requests whose time is over that are told so at once, */
#define LATE_LOOKS 8u /* with so many looks at who holds what they waited for */

bool pw_store_waits_for_room(struct pw_store *store, uint32_t number)
{
        const struct session *session = number ? pw_session_of(store, number) : NULL;

        return number ? store->lacking_count || (session && session->tenant->over_count) : !pw_list_empty(&store->queue);
}

/* When the request is to be looked at again, whatever happens. What is leaving may do so until GRACE_US behind its deadline. */
static uint64_t due_us(const struct pw_store *store, const struct request *request)
{
        uint64_t due_us = request->ask.deadline_us;

        if (due_us <= store->now_us && store->leaving_bytes && !pw_store_reclaims(store))
                due_us += GRACE_US;
        return request->retry_us > store->now_us ? pw_min_u64(due_us, request->retry_us) : due_us;
}

static void find_next(struct pw_store *store)
{
        struct request *request;

        store->queue_next_us = pw_pass_next_us(store);
        pw_list_each(&store->queue, request, struct request, link)
                store->queue_next_us = pw_min_u64(store->queue_next_us, due_us(store, request));
}

/* Returns how many wait for the same: memory, or the quota of a tenant. */
static uint32_t count_waiting(struct pw_store *store, const struct request *request, int by)
{
        uint32_t *count = request->over ? &request->tenant->over_count : &store->lacking_count;

        *count += (uint32_t)by;
        return *count;
}

static struct row *row_of(const struct request *request)
{
        return request->session ? pw_row_of(request->session, &request->ask) : NULL;
}

/* Out of the queue, to be freed or populated. */
static void unqueue(struct pw_store *store, struct request *request)
{
        struct row *row = row_of(request);

        if (row)
                row->queued = NULL;
        count_waiting(store, request, -1);
        pw_list_remove(&request->link);
        pw_pass_gone(store, request);
}

/* It is known by its token, and to its session, from when it waits until it is freed. False: out of memory. */
static bool keep(struct pw_store *store, struct row *row, struct request *request)
{
        if (!pw_table_put(&store->requests, request->ask.token, request))
                return false;
        row->asking = true;
        pw_list_append(&request->session->requests, &request->of_session);
        request->session->request_count++;
        request->tenant->request_count++;
        return true;
}

/* Its session knows it no more. */
static void forget(struct request *request)
{
        pw_list_remove(&request->of_session);
        request->session->request_count--;
        request->tenant->request_count--;
}

/* In no list of the store any more. */
static void free_request(struct pw_store *store, struct request *request)
{
        struct row *row = row_of(request); /* of a lane that asks, so that it is there */

        if (!pw_list_empty(&request->of_session)) {
                forget(request);
                row->asking = false;
        }
        pw_table_remove(&store->requests, request->ask.token);
        free(request);
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
                                                 .return_ring = extent->ring_offset,
                                                 .serial = extent->grant };
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
        struct row *row = row_of(request);
        bool fresh = false;
        enum pw_status status = row ? pw_room_place(store, row, request, &fresh) : PW_NO_MEMORY;

        if (status == PW_NOT_READY)
                return status;
        pw_pass_gone(store, request);
        if (status == PW_OK && fresh && (row->asking || keep(store, row, request))) {
                pw_list_append(&store->populating, &request->link);
                ask_pages(store, request);
                return PW_OK;
        }
        if (status == PW_OK && fresh) {
                status = PW_NO_MEMORY;
                pw_extent_discard(store, request->extent, false);
        }
        if (status == PW_OK) {
                pw_extent_open(store, request->extent);
                send_grant(store, request->extent, request->ask.token);
        } else {
                pw_room_refuse(store, &request->ask, status);
        }
        free_request(store, request);
        return PW_OK;
}

/* --- requests ----------------------------------------------------------------------------------------------------------------- */

/* Why it can never be granted. */
static enum pw_status check(const struct pw_store *store, const struct session *session, const struct pw_room_request *ask)
{
        if (!session || !session->control || !ask->count || ask->lane >= PW_LANES_MAX ||
            !(ask->futures ? session->tenant->futures : session->segment))
                return PW_INVALID;
        if (!ask->futures && !ask->inline_only &&
            (ask->size_class >= PW_CLASS_COUNT || pw_store_room_bytes(ask) > pw_room_usable(store, session->segment)))
                return PW_TOO_LARGE;
        return pw_quota_never(session->tenant, pw_store_room_bytes(ask)) ? PW_TOO_LARGE : PW_OK;
}

/* Its deadline has passed, and nothing is on its way out any more: what was let go before it came counts for it, unless that takes
 * too long. */
static bool is_late(const struct pw_store *store, const struct request *request)
{
        uint64_t deadline_us = request->ask.deadline_us;

        return deadline_us <= store->now_us &&
               (!(pw_store_reclaims(store) || store->leaving_bytes) || store->now_us - deadline_us >= GRACE_US);
}

static void queue(struct pw_store *store, struct row *row, struct request *request)
{
        pw_list_append(&store->queue, &request->link);
        if (count_waiting(store, request, 1) == 1)
                pw_store_act(store, PW_STORE_DRAIN);
        row->queued = request;
        store->queue_next_us = pw_min_u64(pw_min_u64(store->queue_next_us, due_us(store, request)), pw_pass_next_us(store));
}

/* NULL: refused. A thread waits for one thing at a time. */
static struct request *new_request(struct pw_store *store, struct session *session, const struct row *row,
                                   const struct pw_room_request *ask)
{
        const char *many = row->asking ? "the lane waits for such room already; ask when it has been answered"
                           : session->request_count >= PW_LANES_MAX ?
                           "the session waits for as much room as it has lanes; ask when it has been answered"
                           : session->tenant->request_count >= PW_STORE_REQUESTS_MAX ?
                           "16384 requests of the tenant wait for room, as many as may"
                                                                                     : NULL;
        struct request *request = many ? NULL : calloc(1, sizeof *request);

        if (!request) {
                pw_store_answer(store, ask->token, many ? PW_LIMIT : PW_NO_MEMORY,
                                many ? many : "pathwaysd is out of memory for a request");
                return NULL;
        }
        request->ask = *ask;
        request->ask.count = (uint32_t)pw_min_u64(ask->count, pw_grant_slots_max(pw_store_room_bytes(ask)));
        request->session = session;
        request->tenant = session->tenant;
        request->over = session->tenant->over_count != 0;
        request->arrived = store->grants;
        request->search.grants = request->own_search.grants = UINT64_MAX;
        pw_list_init(&request->link);
        pw_list_init(&request->of_session);
        return request;
}

void pw_store_room_request(struct pw_store *store, const struct pw_room_request *ask)
{
        struct session *session = pw_session_of(store, ask->session);
        enum pw_status status = check(store, session, ask);
        struct row *row = status == PW_OK ? pw_row_of(session, ask) : NULL;
        struct request *request;
        bool came, enough;

        store->now_us = ask->now_us;
        if (!row) {
                pw_room_refuse(store, ask, status == PW_OK ? PW_NO_MEMORY : status);
                return;
        }
        request = new_request(store, session, row, ask);
        if (!request)
                return;
        store->search_left = PW_SEARCH_QUANTUM;
        enough = row->given_count >= request->ask.count; /* with less, a lane would stay small, and ask again and again */
        came = came_back(row);
        if (came) /* nothing is taken from others for it */
                request->search.grants = request->own_search.grants = store->grants;
        if (!(came && enough) && !request->over && pw_pass_may(store, request) && grant(store, request) == PW_OK)
                return;
        if (came) {
                pw_store_answer(store, ask->token, PW_OK, NULL);
                free_request(store, request);
                return;
        }
        if (pw_room_refuse_vain(store, request, false)) {
                free_request(store, request);
                return;
        }
        if (is_late(store, request)) {
                pw_room_give_up(store, request, &(struct told){ .count = 0 });
                free_request(store, request);
                return;
        }
        if (keep(store, row, request)) {
                queue(store, row, request);
                return;
        }
        pw_room_refuse(store, ask, PW_NO_MEMORY);
        free_request(store, request);
}

/* Is it worth trying? What is looked at first costs less than trying in vain. */
static bool is_next(struct pw_store *store, const struct request *request)
{
        uint64_t room = pw_store_room_bytes(&request->ask);
        int64_t most = pw_pages_most(store);

        if (request->tenant->passed == store->serving || request->retry_us > store->now_us || !pw_pass_may(store, request))
                return false;
        if (request->over || pw_search_may(store, request, &request->search) || (int64_t)room <= most)
                return true;
        store->searching |= !pw_search_done(store, &request->search);
        return false;
}

/* False: it still waits. */
static bool serve(struct pw_store *store, struct request *request)
{
        struct pw_list *behind = request->link.next;
        struct row *row = row_of(request);
        bool over = request->over;

        pw_list_remove(&request->link);
        count_waiting(store, request, -1);
        row->queued = NULL;
        if (grant(store, request) != PW_NOT_READY)
                return true;
        pw_list_append(behind, &request->link); /* where it was */
        row->queued = request;
        if (count_waiting(store, request, 1) == 1 && request->over != over)
                pw_store_act(store, PW_STORE_DRAIN);
        if (request->over)
                request->tenant->passed = store->serving;
        return false;
}

/* The request that has its turn goes before all others, one over its tenant's quota before others of that tenant; else first come
 * of those for which there is enough. */
static void serve_queue(struct pw_store *store, bool came)
{
        struct request *request;
        uint64_t last = 0;

        store->unserved = store->searching = false;
        if (pw_list_empty(&store->queue)) {
                store->queue_next_us = UINT64_MAX;
                return;
        }
        store->serving++;
        store->search_left = PW_SEARCH_QUANTA * PW_SEARCH_QUANTUM;
        pw_pass_turn(store);
        pw_list_each(&store->queue, request, struct request, link) {
                uint64_t token = request->ask.token;
                bool searches = store->search_left;

                if (came) {
                        pw_search_anew(&request->search);
                        pw_search_anew(&request->own_search);
                }
                if (!(is_next(store, request) && serve(store, request)) && pw_room_refuse_vain(store, request, came)) {
                        unqueue(store, request);
                        free_request(store, request);
                }
                if (searches && !store->search_left)
                        last = token;
        }
        store->search_after = last;
        find_next(store);
}

void pw_room_serve(struct pw_store *store) { serve_queue(store, true); }

void pw_room_search_on(struct pw_store *store) { serve_queue(store, store->unserved); }

void pw_room_came(struct pw_store *store)
{
        store->unserved = !pw_list_empty(&store->queue);
        if (!store->unserved)
                store->queue_next_us = UINT64_MAX;
}

void pw_room_came_back(struct pw_store *store, struct row *row)
{
        struct request *request = row->queued;

        came_back(row);
        pw_store_answer(store, request->ask.token, PW_OK, NULL);
        unqueue(store, request);
        free_request(store, request);
}

/* It waits for memory of the store; else for its pages. */
static bool is_queued(const struct request *request)
{
        struct row *row = row_of(request);

        return row && row->queued == request;
}

/* Its pages are on their way: what comes of them is the worker's to say, and nobody's. Its lane may ask again. */
static void disown(struct request *request)
{
        struct row *row = row_of(request);

        request->cancelled = true;
        forget(request);
        if (row)
                row->asking = false;
        request->session = NULL;
}

void pw_store_room_cancel(struct pw_store *store, uint64_t token)
{
        struct request *request = pw_table_get(&store->requests, token);

        if (!request || request->cancelled)
                return;
        if (!is_queued(request)) {
                disown(request);
                return;
        }
        unqueue(store, request);
        free_request(store, request);
        pw_room_came(store);
}

/* The system has no memory for it now. */
static void wait_for_system(struct pw_store *store, struct request *request)
{
        request->extent = NULL;
        request->retry_us = store->now_us + RETRY_US;
        queue(store, row_of(request), request);
}

void pw_store_populated(struct pw_store *store, uint64_t token, enum pw_status status, uint64_t now_us)
{
        struct request *request = pw_table_get(&store->requests, token);
        struct extent *extent = request ? request->extent : NULL;
        struct segment *segment = extent ? extent->segment : NULL;

        store->now_us = now_us;
        if (!request || is_queued(request))
                return;
        pw_list_remove(&request->link);
        if (extent && status == PW_OK && !request->cancelled) {
                pw_extent_open(store, extent);
                send_grant(store, extent, token);
        } else if (extent) {
                pw_extent_discard(store, extent, status == PW_OK);
        }
        if (status == PW_NO_SPACE && !request->cancelled && extent) {
                wait_for_system(store, request);
        } else {
                if (!request->cancelled && (!extent || status != PW_OK))
                        pw_room_refuse(store, &request->ask, status == PW_OK ? PW_NO_MEMORY : status);
                free_request(store, request);
        }
        if (segment)
                pw_segment_settle(store, segment);
        pw_room_serve(store);
}

/* --- ends --------------------------------------------------------------------------------------------------------------------- */

void pw_room_session_end(struct pw_store *store, struct session *session)
{
        struct request *request;

        pw_list_each(&session->requests, request, struct request, of_session) {
                if (!is_queued(request)) {
                        disown(request);
                        continue;
                }
                pw_room_refuse(store, &request->ask, PW_CANCELLED);
                unqueue(store, request);
                free_request(store, request);
        }
}

void pw_room_segment_gone(struct pw_store *store, const struct segment *segment)
{
        struct request *request;

        pw_list_each(&store->populating, request, struct request, link)
                if (request->extent && request->extent->segment == segment)
                        request->extent = NULL;
}

/* --- time --------------------------------------------------------------------------------------------------------------------- */

uint64_t pw_store_next_us(const struct pw_store *store)
{
        uint64_t names_us = pw_min_u64(pw_heap_first_key(&store->leases), pw_heap_first_key(&store->waits));

        return pw_min_u64(store->queue_next_us, names_us);
}

void pw_store_tick(struct pw_store *store, uint64_t now_us)
{
        struct told told = { .count = 0 };
        struct request *request;

        store->now_us = now_us;
        pw_names_tick(store);
        if (store->unserved)
                pw_room_serve(store);
        pw_list_each(&store->queue, request, struct request, link) {
                if (!is_late(store, request))
                        continue;
                if (told.count == LATE_PART || told.looks == LATE_LOOKS)
                        break;
                pw_room_give_up(store, request, &told);
                unqueue(store, request);
                free_request(store, request);
        }
        find_next(store);
        pw_room_serve(store);
}
