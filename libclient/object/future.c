/* Handles: slabs of a lane, what a handle says, and the error that its object is ready with. */
#include "libclient/object/future.h"

#include "base/memory.h"
#include "libclient/object/foreign.h"

static struct pw_future *slab_take(struct pw_client_lane *lane)
{
        struct pw_slab *slab = lane->slabs;
        if (!slab || lane->slab_used == slab->count) {
                slab = pw_slab_new(slab, &lane->session->control->revoked);
                if (!slab)
                        return NULL;
                lane->slabs = slab;
                lane->slab_used = 0;
        }
        struct pw_future *future = &slab->handles[lane->slab_used++];
        future->lane = lane;
        return future;
}

struct pw_future *pw_future_alloc(struct pw_client_lane *lane)
{
        if (!lane->free_handles && atomic_load_explicit(&lane->freed, memory_order_relaxed))
                lane->free_handles = atomic_exchange(&lane->freed, NULL);
        struct pw_future *future = lane->free_handles;
        if (!future)
                return slab_take(lane);
        lane->free_handles = future->next;
        return future;
}

void pw_future_free(struct pw_future *future, struct pw_client_lane *lane)
{
        if (future->lane == lane) {
                future->next = lane->free_handles;
                lane->free_handles = future;
                return;
        }
        struct pw_future *head = atomic_load(&future->lane->freed);
        do {
                future->next = head;
        } while (!atomic_compare_exchange_weak(&future->lane->freed, &head, future));
}

void pw_future_fill(struct pw_future *future, const struct pw_client_segment *segment, uint32_t slot, uint32_t generation)
{
        future->generation = generation;
        future->entry = pw_map_entry(&segment->map, slot);
        future->segment = segment->number;
        future->slot = slot;
        atomic_store_explicit(&future->data, NULL, memory_order_relaxed);
        atomic_store_explicit(&future->refs, 1, memory_order_relaxed);
}

bool pw_future_is_proxy(const struct pw_future *future)
{
        return pw_future_word(future) && future->entry->away == PW_ENTRY_PROXY &&
               pw_future_segment(future)->kind == PW_SEGMENT_FUTURES;
}

struct pw_id pw_future_local_id(const struct pw_future *future)
{
        const struct pw_session *session = pw_future_session(future);
        return pw_id_make(session->host, session->epoch, future->segment, future->slot, future->generation);
}

struct pw_id pw_future_id(const struct pw_future *future)
{
        if (!pw_future_is_one(future) || !future->lane)
                return (struct pw_id){ 0 };
        return pw_future_is_proxy(future) ? pw_entry_home(future->entry) : pw_future_local_id(future);
}

struct pw_future *pw_ref(struct pw_future *future)
{
        if (!pw_future_is_one(future))
                return NULL;
        atomic_fetch_add(&future->refs, 1);
        return future;
}

enum pw_status pw_future_status(uint64_t word)
{
        switch (pw_word_state(word)) {
        case PW_ENTRY_PENDING:
        case PW_ENTRY_CLOSING: /* by whom does not yet know of this reference: it comes back */
                return PW_NOT_READY;
        case PW_ENTRY_READY:
                return PW_OK;
        case PW_ENTRY_ERROR:
        case PW_ENTRY_LOST:
                return pw_word_error(word);
        default:
                return PW_GONE;
        }
}

enum pw_status pw_poll(struct pw_future *future)
{
        enum pw_status status = pw_future_check(future, NULL);
        if (status != PW_OK)
                return status;
        uint64_t word = pw_future_word(future);
        status = pw_future_status(word);
        return status == PW_OK || status == PW_NOT_READY ? status : pw_future_error(future, word, NULL);
}

/* The sentence that the daemon left in the futures segment, or NULL. */
static const char *error_sentence(const struct pw_future *future, uint64_t word, int *ret_bytes)
{
        const struct pw_client_segment *segment = pw_future_segment(future);
        bool lost = pw_word_state(word) == PW_ENTRY_LOST;
        uint64_t offset = lost ? future->entry->body.loss.offset : future->entry->room_offset;
        uint64_t bytes = lost ? future->entry->body.loss.bytes : future->entry->bytes;
        if ((!lost && pw_word_state(word) != PW_ENTRY_ERROR) || segment->kind != PW_SEGMENT_FUTURES || bytes == 0)
                return NULL;
        if (offset > segment->map.bytes || bytes > segment->map.bytes - offset)
                return NULL;
        *ret_bytes = (int)pw_min_u64(bytes, sizeof(struct pw_error));
        return (const char *)segment->map.base + offset;
}

enum pw_status pw_future_error(const struct pw_future *future, uint64_t word, struct pw_error *ret_err)
{
        char id[PW_ID_TEXT_BYTES];
        struct pw_session *session = pw_future_session(future);
        enum pw_status status = pw_session_check(session, ret_err);
        if (status == PW_OK && pw_connection_hung_up(session->connection))
                status = pw_session_check(session, ret_err);
        if (status != PW_OK) /* with a session end the futures that it was to make ready: it is not they that failed */
                return status;
        status = pw_future_status(word);
        pw_id_format(pw_future_id(future), id);
        int bytes;
        const char *sentence = error_sentence(future, word, &bytes);
        if (sentence)
                return pw_error_set(ret_err, status, "%s: %.*s", id, bytes, sentence);
        return pw_error_set(ret_err, status, "%s: %s", id, pw_status_text(status));
}
