/* Getting: views of what is mapped; split values gathered, partial ones reduced, in the order of their shards. */
#include "base/gather.h"
#include "base/memory.h"
#include "libclient/object/foreign.h"
#include "libclient/object/unref.h"
#include "libclient/session.h"

#include <inttypes.h>

/* What pw_view.keep is: the future that the view holds; or, plus 1, memory of the process that it owns; NULL: nothing any more. */
#define KEEP_MEMORY 1u

/* Gets at random wait for memory, and overlap as far as the processor's window reaches. What fills it first is the queue of
 * stores: so two words go with one store. The lower half of the first word lies first. */
typedef uint64_t pair __attribute__((vector_size(16), aligned(8), may_alias));
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "halves of words are stored by their place");
_Static_assert(offsetof(struct pw_view, bytes) == 8 && offsetof(struct pw_view, keep) == 16 &&
                       offsetof(struct pw_view, dtype) == 24 && offsetof(struct pw_view, dims) == 32 &&
                       offsetof(struct pw_dims, dim) == 8,
               "a view begins with three pairs");

static inline void store_pair(void *to, uint64_t first, uint64_t second) { *(pair *)to = (pair){ first, second }; }

static inline void view_hold(struct pw_view *view, struct pw_future *future, const void *data)
{
        atomic_fetch_add_explicit(&future->refs, 1, memory_order_relaxed);
        view->data = data;
        view->keep = future;
}

/* READY bytes without dims, in a room of the session's own segment: note in the handle where they are. Every field of the entry
 * is read once. False: it is not that case. */
static bool bytes_note(struct pw_future *future)
{
        const struct pw_session *session = pw_future_session(future);
        const volatile struct pw_entry *entry = future->entry;
        const struct pw_client_segment *own = session->own;
        uint64_t flags = PW_ENTRY_FLAGS & ~(uint64_t)PW_ENTRY_SHARDED;
        uint64_t ready = pw_word_make(PW_ENTRY_READY, 0, future->generation, PW_OK);
        if (((pw_entry_load(future->entry) ^ ready) & ~flags) || future->segment != own->number)
                return false;
        uint64_t bytes = entry->bytes, offset = entry->room_offset;
        if (entry->dtype != PW_OPAQUE || entry->is_inline || entry->room_segment != own->number || offset > own->map.bytes ||
            bytes > own->map.bytes - offset || bytes > UINT32_MAX)
                return false;
        atomic_store_explicit(&future->bytes, (uint32_t)bytes, memory_order_relaxed);
        atomic_store(&future->data, own->map.base + offset);
        if (atomic_load(session->life) == PW_LIFE_ALIVE && !((pw_entry_load(future->entry) ^ ready) & ~flags))
                return true; /* still: who threw notes away before this one came did so after the entry had changed */
        atomic_store(&future->data, NULL);
        return false;
}

/* The common case, that of bytes_note(): a few instructions, a line of the handle, and three stores. Whether notes count is asked
 * before the note is read: who then finds it read it in time. */
static inline bool view_bytes(struct pw_future *future, struct pw_view *ret_view)
{
        if (!pw_slab_notes_count(pw_slab_head(future)))
                return false;
        const void *data = atomic_load_explicit(&future->data, memory_order_acquire);
        if (!data)
                return false;
        uint64_t bytes = atomic_load_explicit(&future->bytes, memory_order_relaxed);
        atomic_fetch_add_explicit(&future->refs, 1, memory_order_relaxed);
        store_pair(&ret_view->data, (uintptr_t)data, bytes);
        store_pair(&ret_view->keep, (uintptr_t)future, PW_OPAQUE);
        store_pair(&ret_view->dims, 1, bytes);
        return true;
}

static enum pw_status view_plain(struct pw_future *future, struct pw_view *ret_view, struct pw_error *ret_err)
{
        struct pw_described described;
        const void *data;
        enum pw_status status = pw_future_described(future, &described, &data, ret_err);
        if (status != PW_OK)
                return status;
        ret_view->bytes = described.bytes;
        ret_view->dtype = described.dtype;
        ret_view->dims = described.dims;
        view_hold(ret_view, future, data);
        return PW_OK;
}

/* --- shards ------------------------------------------------------------------------------------------------------------ */

struct gather {
        struct pw_future *future;
        const struct pw_shard_list *list;
        struct pw_gather of;
};

static uint64_t losses_of(const struct gather *gather)
{
        return atomic_load((_Atomic uint64_t *)(uintptr_t)&gather->list->losses);
}

/* The bytes of shard `place`, which has box `box`; where its device was lost, those of one that holds the same. */
static enum pw_status shard_data(void *context, uint32_t place, const struct pw_box *box, const uint8_t **ret_data,
                                 struct pw_error *ret_err)
{
        const struct gather *gather = context;
        uint64_t bytes;
        uint32_t living = pw_living_replica(&gather->of.sharding, gather->of.mesh, place, pw_shard_list_lost(gather->list));
        struct pw_shard_place at = gather->list->shards[living == UINT32_MAX ? place : living];
        struct pw_client_segment *segment;
        enum pw_status status = pw_session_segment(pw_future_session(gather->future), at.segment, &segment, ret_err);
        if (status != PW_OK)
                return status;
        if (!pw_mul_ok(pw_box_elements(box), gather->of.element_bytes, &bytes) || bytes > at.bytes ||
            at.offset > segment->map.bytes || bytes > segment->map.bytes - at.offset)
                return pw_error_set(ret_err, PW_PROTOCOL, "shard %u: %" PRIu64 " bytes at %" PRIu64 " of segment %x cannot be",
                                    place, at.bytes, at.offset, at.segment);
        *ret_data = segment->map.base + at.offset;
        return PW_OK;
}

static enum pw_status gather_init(struct gather *gather, struct pw_future *future, struct pw_error *ret_err)
{
        const struct pw_shard_list *list;
        enum pw_status status = pw_future_shards(future, &list, ret_err);
        if (status != PW_OK)
                return status;
        *gather = (struct gather){ future, list, { .dims = list->dims, .sharding = list->sharding,
                                                   .dtype = (enum pw_dtype)list->dtype,
                                                   .element_bytes = pw_list_element_bytes(list), .shard = shard_data,
                                                   .context = gather } };
        memcpy(gather->of.mesh, list->mesh, sizeof gather->of.mesh);
        return pw_sharding_check(&gather->of.sharding, &gather->of.dims, gather->of.mesh, ret_err);
}

static enum pw_status view_shard(struct gather *gather, uint32_t place, struct pw_view *ret_view, struct pw_error *ret_err)
{
        const uint8_t *data;
        struct pw_box box;
        pw_shard_box(&gather->of.dims, &gather->of.sharding, gather->of.mesh, place, &box);
        enum pw_status status = shard_data(gather, place, &box, &data, ret_err);
        if (status != PW_OK)
                return status;
        ret_view->bytes = pw_box_elements(&box) * gather->of.element_bytes;
        ret_view->dtype = gather->of.dtype;
        ret_view->dims = pw_box_dims(&box);
        view_hold(ret_view, gather->future, data);
        return PW_OK;
}

/* Once more where a device was lost meanwhile: what was read of it may have been written over before. */
static enum pw_status gather_all(const struct gather *gather, uint8_t *to, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;
        uint64_t losses, elements = 1;
        for (uint32_t i = 0; i < gather->of.dims.rank; i++)
                elements *= gather->of.dims.dim[i]; /* of a list that was checked */
        do {
                losses = losses_of(gather);
                status = pw_gather_range(&gather->of, 0, elements, to, ret_err);
        } while (status == PW_OK && losses_of(gather) != losses);
        return status;
}

enum pw_status pw_future_gather(struct pw_future *future, void *to, struct pw_error *ret_err)
{
        struct gather gather;
        enum pw_status status = gather_init(&gather, future, ret_err);
        return status == PW_OK ? gather_all(&gather, to, ret_err) : status;
}

static enum pw_status view_gathered(const struct gather *gather, struct pw_view *ret_view, struct pw_error *ret_err)
{
        uint64_t bytes;
        enum pw_status status = pw_dims_bytes((enum pw_dtype)gather->list->dtype, &gather->list->dims, &bytes, ret_err);
        if (status != PW_OK)
                return status;
        pw_auto_free uint8_t *to = aligned_alloc(PW_LINE_BYTES, pw_round_up(bytes + 1, PW_LINE_BYTES));
        if (!to)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory to gather %" PRIu64 " bytes", bytes);
        status = gather_all(gather, to, ret_err);
        if (status != PW_OK)
                return status;
        *ret_view = (struct pw_view){ .data = to, .bytes = bytes, .dtype = (enum pw_dtype)gather->list->dtype,
                                      .dims = gather->list->dims, .keep = to + KEEP_MEMORY };
        to = NULL;
        return PW_OK;
}

static enum pw_status view_whole(struct pw_future *future, struct pw_view *ret_view, struct pw_error *ret_err)
{
        struct gather gather;
        enum pw_status status = gather_init(&gather, future, ret_err);
        if (status != PW_OK)
                return status;
        if (pw_sharding_is_whole(&gather.of.sharding, gather.of.mesh))
                return view_shard(&gather, 0, ret_view, ret_err);
        return view_gathered(&gather, ret_view, ret_err);
}

/* --- public ------------------------------------------------------------------------------------------------------------- */

/* Wait for the word of a value. Errors: also the one that the future is ready with. */
static enum pw_status await_value(struct pw_future *future, int64_t timeout_us, uint64_t *ret_word, struct pw_error *ret_err)
{
        enum pw_status status = pw_future_check(future, ret_err);
        if (status != PW_OK)
                return status;
        uint64_t word = pw_future_word(future);
        int64_t left_us = timeout_us;
        if (pw_word_state(word) != PW_ENTRY_READY) {
                int64_t deadline_ns = pw_deadline_ns(timeout_us);
                status = pw_future_await(future, timeout_us, &word, ret_err);
                if (status != PW_OK)
                        return status;
                if (pw_word_state(word) != PW_ENTRY_READY)
                        return pw_future_error(future, word, ret_err);
                if (deadline_ns != INT64_MAX)
                        left_us = pw_now_ns() + 1000 < deadline_ns ? (deadline_ns - pw_now_ns()) / 1000 : 1; /* 0 does not wait */
        }
        if (pw_word_elsewhere(word) && pw_future_segment(future)->kind == PW_SEGMENT_FUTURES)
                status = pw_future_fetch(future, left_us, &word, ret_err);
        if (status != PW_OK)
                return status;
        *ret_word = word;
        return PW_OK;
}

__attribute__((noinline)) static enum pw_status get_any(struct pw_future *future, int64_t timeout_us, struct pw_view *ret_view,
                                                        struct pw_error *ret_err)
{
        uint64_t word;
        enum pw_status status = pw_given_check(ret_view, "ret_view", ret_err);
        if (status == PW_OK)
                status = await_value(future, timeout_us, &word, ret_err);
        if (status != PW_OK)
                return status;
        if (pw_word_flags(word) & PW_ENTRY_SHARDED)
                return view_whole(future, ret_view, ret_err);
        pw_slab_recheck(pw_slab_head(future));
        if (bytes_note(future) && view_bytes(future, ret_view))
                return PW_OK;
        return view_plain(future, ret_view, ret_err);
}

enum pw_status pw_get(struct pw_future *future, int64_t timeout_us, struct pw_view *ret_view, struct pw_error *ret_err)
{
        if (__builtin_expect(pw_future_is_one(future) && ret_view && view_bytes(future, ret_view), 1))
                return PW_OK;
        return get_any(future, timeout_us, ret_view, ret_err);
}

enum pw_status pw_get_shard(struct pw_future *future, uint32_t shard, int64_t timeout_us, struct pw_view *ret_view,
                            struct pw_error *ret_err)
{
        uint64_t word;
        struct gather gather;
        enum pw_status status = pw_given_check(ret_view, "ret_view", ret_err);
        if (status == PW_OK)
                status = await_value(future, timeout_us, &word, ret_err);
        if (status != PW_OK)
                return status;
        bool sharded = pw_word_flags(word) & PW_ENTRY_SHARDED;
        status = sharded ? gather_init(&gather, future, ret_err) : PW_OK;
        if (status != PW_OK)
                return status;
        uint32_t shard_count = sharded ? gather.list->shard_count : 1;
        if (shard >= shard_count) {
                char id[PW_ID_TEXT_BYTES];
                return pw_error_set(ret_err, PW_INVALID, "%s: shard %u: its shards are 0 to %u",
                                    pw_id_format(pw_future_id(future), id), shard, shard_count - 1);
        }
        return sharded ? view_shard(&gather, shard, ret_view, ret_err) : view_plain(future, ret_view, ret_err);
}

void pw_view_done(struct pw_view *view)
{
        if (!view || !view->keep)
                return;
        uintptr_t keep = (uintptr_t)view->keep;
        view->keep = NULL;
        if (keep & KEEP_MEMORY)
                free((void *)(keep - KEEP_MEMORY));
        else
                pw_future_release((struct pw_future *)keep);
}
