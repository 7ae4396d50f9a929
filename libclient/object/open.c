/* References by id: the REF record is published, then the entry is looked at; the daemon is asked only under CLOSING. */
#include "base/memory.h"
#include "libclient/object/foreign.h"

static enum pw_status gone(struct pw_id id, struct pw_error *ret_err)
{
        char text[PW_ID_TEXT_BYTES];
        return pw_error_set(ret_err, PW_GONE, "%s: the object is gone", pw_id_format(id, text));
}

/* Of an object of this host. */
static enum pw_status find_segment(struct pw_session *session, struct pw_id id, struct pw_client_segment **ret_segment,
                                   struct pw_error *ret_err)
{
        char text[PW_ID_TEXT_BYTES];
        struct pw_client_segment *segment;
        pw_id_format(id, text);
        if (id.epoch != session->epoch)
                return pw_error_set(ret_err, PW_GONE, "%s: the pathwaysd that had it has ended", text);
        enum pw_status status = pw_session_refer(session, pw_id_segment(id), &segment, ret_err);
        if (status != PW_OK)
                return pw_error_prefix(ret_err, "%s", text), status;
        if (pw_id_slot(id) >= segment->slot_count)
                return pw_error_set(ret_err, PW_NOT_FOUND, "%s: segment %x has %u slots", text, segment->number,
                                    segment->slot_count);
        *ret_segment = segment;
        return PW_OK;
}

/* One that is being opened: what is away says that it is moving until its bytes are here, and that hinders nobody. */
struct opened { struct pw_wait_item item; bool futures; };

static bool is_moving(const struct opened *opened, uint64_t word)
{
        return pw_word_elsewhere(word) && !(opened->futures && opened->item.entry->away);
}

/* What the word says to who published a REF: PW_OK (taken), PW_NOT_READY (the daemon is deciding), PW_GONE. */
static enum pw_status verdict(const struct opened *opened, uint64_t word)
{
        if (pw_word_generation(word) != opened->item.generation || pw_word_state(word) < PW_ENTRY_PENDING)
                return PW_GONE;
        return pw_word_state(word) == PW_ENTRY_CLOSING || (pw_word_flags(word) & PW_ENTRY_DONATED) || is_moving(opened, word)
                       ? PW_NOT_READY : PW_OK;
}

/* The REF may have been counted: a DROP of what the session does not hold changes nothing. */
static void give_back(struct pw_client_lane *lane, const struct pw_wait_item *item)
{
        if (pw_lane_await_ring(lane, 1, NULL) != PW_OK)
                return; /* the session ended, and its references with it */
        pw_ring_write(&lane->writer, pw_cell_object(PW_RING_DROP, item->segment, item->slot, item->generation));
        pw_lane_publish(lane, false);
}

/* The daemon decides whether a donated value is the run's in the turn after it read the RUN. */
#define FENCES 3u
/* When who opens stops believing what the entry says, which its maker can write: the daemon has freed an object, or reopened it,
 * and moved the largest value, long before. */
#define CLOSING_NS INT64_C(10000000000)
#define MOVING_NS INT64_C(120000000000)
#define PAUSE_NS INT64_C(1000000) /* between looks at a value that moves */

static enum pw_status spoilt(struct pw_id id, int64_t ns, struct pw_error *ret_err)
{
        char text[PW_ID_TEXT_BYTES];
        return pw_error_set(ret_err, PW_GONE,
                            "%s: its entry says since %d s that pathwaysd is about to free or move it: who made the object has "
                            "written over its entry", pw_id_format(id, text), (int)(ns / 1000000000));
}

/* Under CLOSING the word itself is the answer, once the daemon has read the ring. A donated object may come back or go on with its
 * run: after a fence the daemon has read the REF, and after some it has decided; what it may have counted is given back. A value
 * that moves stays: who is counted keeps the next move from it. */
__attribute__((noinline)) static enum pw_status settle_late(struct pw_client_lane *lane, const struct opened *opened,
                                                            struct pw_id id, struct pw_error *ret_err)
{
        struct pw_session *session = lane->session;
        const struct pw_wait_item *item = &opened->item;
        struct pw_wait_place place = { session->hints, lane->shared->notes, session->life, PW_LIFE_ALIVE };
        int64_t start_ns = pw_now_ns(), most_ns;
        uint64_t word;
        uint32_t fences = 0;
        enum pw_status status;
        while ((status = verdict(opened, word = pw_entry_load(item->entry))) == PW_NOT_READY) {
                most_ns = is_moving(opened, word) ? MOVING_NS : CLOSING_NS;
                if (pw_now_ns() - start_ns >= most_ns) {
                        give_back(lane, item);
                        return spoilt(id, most_ns, ret_err);
                }
                if (pw_word_state(word) == PW_ENTRY_CLOSING) {
                        pw_lane_publish(lane, true);
                        if (pw_wait_any(&place, item, 1, start_ns + most_ns) == PW_DAEMON_GONE)
                                return pw_session_check(session, ret_err);
                } else if (fences >= FENCES && !is_moving(opened, word)) {
                        give_back(lane, item);
                        return gone(id, ret_err);
                } else {
                        if (fences >= FENCES)
                                pw_futex_wait((const _Atomic uint32_t *)(const void *)&item->entry->word, (uint32_t)word,
                                              pw_now_ns() + PAUSE_NS);
                        status = pw_session_fence(session, ret_err);
                        if (status != PW_OK)
                                return status;
                        fences++;
                }
        }
        return status == PW_OK ? status : gone(id, ret_err);
}

/* After the REF: does the session hold the object? It mostly does, and then nothing here looks at the clock, which costs a tenth
 * of all of pw_open. */
static enum pw_status settle(struct pw_client_lane *lane, const struct opened *opened, struct pw_id id, struct pw_error *ret_err)
{
        return verdict(opened, pw_entry_load(opened->item.entry)) == PW_OK ? PW_OK : settle_late(lane, opened, id, ret_err);
}

static enum pw_status take_reference(struct pw_client_lane *lane, const struct pw_client_segment *segment, struct pw_id id,
                                     struct pw_error *ret_err)
{
        struct opened opened = { .item = { .entry = pw_map_entry(&segment->map, pw_id_slot(id)), .generation = id.generation,
                                           .segment = segment->number, .slot = pw_id_slot(id), .closing = true },
                                 .futures = segment->kind == PW_SEGMENT_FUTURES };
        if (verdict(&opened, pw_entry_load(opened.item.entry)) == PW_GONE)
                return gone(id, ret_err);
        enum pw_status status = pw_lane_await_ring(lane, 1, ret_err);
        if (status != PW_OK)
                return status;
        pw_ring_write(&lane->writer, pw_cell_object(PW_RING_REF, segment->number, opened.item.slot, id.generation));
        pw_lane_publish(lane, false);
        return settle(lane, &opened, id, ret_err);
}

enum pw_status pw_open(struct pw_session *session, struct pw_id id, struct pw_future **ret_future, struct pw_error *ret_err)
{
        struct pw_client_lane *lane;
        struct pw_client_segment *segment = NULL;
        enum pw_status status = pw_session_check(session, ret_err);
        if (status == PW_OK)
                status = pw_given_check(ret_future, "ret_future", ret_err);
        if (status == PW_OK)
                status = pw_lane_get(session, &lane, ret_err); /* it keeps the session, also if pw_close() comes meanwhile */
        if (status == PW_OK && (pw_id_host(id) != session->host || id.epoch != session->epoch)) /* others may have it still */
                return pw_foreign_future(session, id, ret_future, ret_err);
        if (status == PW_OK)
                status = find_segment(session, id, &segment, ret_err);
        if (status != PW_OK)
                return status;
        struct pw_future *future = pw_future_alloc(lane);
        if (!future)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a future");
        status = take_reference(lane, segment, id, ret_err);
        if (status != PW_OK) {
                pw_future_free(future, lane);
                return status;
        }
        pw_future_fill(future, segment, pw_id_slot(id), id.generation);
        *ret_future = future;
        return PW_OK;
}

/* Where it stands on this host. */
static struct pw_id place_of(const struct pw_session *session, const Pathways__Wire__Object *object)
{
        const Pathways__Wire__ObjectCell *local = object->local;
        if (local)
                return pw_id_make(session->host, session->epoch, local->segment & PW_SEGMENT_MAX, local->slot & PW_SLOT_MAX,
                                  local->generation);
        return (struct pw_id){ object->object->place, object->object->epoch, object->object->generation };
}

enum pw_status pw_session_adopt(struct pw_session *session, const Pathways__Wire__Object *object, struct pw_future **ret_future,
                                struct pw_error *ret_err)
{
        struct pw_client_lane *lane;
        struct pw_client_segment *segment = NULL;
        if (!object->object)
                return pw_error_set(ret_err, PW_PROTOCOL, "pathwaysd gave a reference but sent no id");
        struct pw_id id = place_of(session, object);
        enum pw_status status = find_segment(session, id, &segment, ret_err);
        if (status == PW_OK)
                status = pw_lane_get(session, &lane, ret_err);
        if (status != PW_OK)
                return status;
        struct pw_future *future = pw_future_alloc(lane);
        if (!future)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for a future");
        pw_future_fill(future, segment, pw_id_slot(id), id.generation);
        *ret_future = future;
        return PW_OK;
}
