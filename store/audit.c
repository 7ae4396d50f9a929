/* Audit: every byte of host memory under one term, each counted from its own records; claims that add up. */
#include "store/parts.h"

#include <stdio.h>

/* --- terms ------------------------------------------------------------------------------------------------------------------ */

/* Bytes of a taken slot's room that lie in pages which another slot still keeps. */
static uint64_t kept_bytes(const struct extent *extent, const struct pw_object *object)
{
        uint64_t from = (object->slot - extent->first_slot) * extent->room_bytes, to = from + extent->room_bytes, bytes = 0;

        if (extent->room_bytes % PW_PAGE_BYTES == 0)
                return 0;
        for (uint64_t page = from / PW_PAGE_BYTES; page <= (to - 1) / PW_PAGE_BYTES; page++)
                if (!pw_extent_page_taken(extent, page))
                        bytes += pw_min_u64(to, (page + 1) * PW_PAGE_BYTES) - pw_max_u64(from, page * PW_PAGE_BYTES);
        return bytes;
}

/* Where idle room of the segment counts: a process that lives may write into it though its session ended. */
static uint64_t *unused_term(const struct segment *segment, struct pw_memory_terms *terms)
{
        if (!segment->ended || segment->dead)
                return &terms->idle;
        return segment->session->broke ? &terms->quarantined : &terms->letting_go;
}

static void count_extent(const struct extent *extent, struct pw_memory_terms *terms)
{
        uint64_t rooms = extent->slot_count * extent->room_bytes, *unused = unused_term(extent->segment, terms);

        if (!extent->span_bytes)
                return;
        if (extent->populating || !pw_extent_page_taken(extent, (extent->span_bytes - 1) / PW_PAGE_BYTES))
                terms->overhead += extent->span_bytes - rooms;
        for (uint32_t i = 0; i < extent->slot_count; i++) {
                const struct pw_object *object = pw_object_at(extent->segment, extent->first_slot + i);

                if (extent->populating || (!object->taken && pw_slot_idle(extent, object)))
                        *unused += extent->room_bytes;
                else if (object->taken)
                        *unused += kept_bytes(extent, object);
                else
                        terms->used += extent->room_bytes;
        }
}

uint64_t pw_store_free_bytes(const struct pw_store *store) { return store->free_bytes > 0 ? (uint64_t)store->free_bytes : 0; }

void pw_store_terms(struct pw_store *store, struct pw_memory_terms *ret_terms)
{
        struct pw_memory_terms terms = { .capacity = store->params.capacity_bytes,
                                         .reserved = store->params.reserved_bytes,
                                         .overhead = (uint64_t)store->overhead_bytes,
                                         .free = pw_store_free_bytes(store) };
        struct segment *segment;
        struct extent *extent;

        for (uint32_t i = 0; (segment = pw_table_next(&store->segments, &i));) {
                terms.overhead += segment->entry_page_bytes;
                *unused_term(segment, &terms) += segment->idle.bytes;
                pw_list_each(&segment->extents, extent, struct extent, of_segment)
                        count_extent(extent, &terms);
        }
        /* What was measured may have grown beyond what was free: then nothing is, and every byte is accounted for. */
        terms.unaccounted = (int64_t)(terms.capacity - (uint64_t)store->free_bytes - terms.used - terms.idle - terms.letting_go -
                                      terms.quarantined - terms.reserved - terms.overhead);
        *ret_terms = terms;
}

/* --- invariants ------------------------------------------------------------------------------------------------------------- */

struct audit {
        struct pw_store *store;
        void (*found)(void *context, const char *where, const char *problem);
        void *context;
        uint32_t count;
        uint64_t known, body_bytes; /* of the segment that is looked at */
};

static void report(struct audit *audit, const char *where, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void report(struct audit *audit, const char *where, const char *format, ...)
{
        char problem[160];
        va_list args;

        va_start(args, format);
        vsnprintf(problem, sizeof problem, format, args);
        va_end(args);
        audit->count++;
        if (audit->found)
                audit->found(audit->context, where, problem);
}

static void mark_leaving(struct pw_store *store, bool leaving)
{
        for (uint32_t i = store->dropped_first; i < store->dropped_count; i++)
                store->dropped[i]->leaving = leaving;
        for (uint32_t i = 0; i < store->closing_count; i++)
                store->closing[i]->leaving = leaving;
}

/* Nobody holds it: then it is on its way out, or its run still makes it. */
static bool leaving(const struct pw_object *object, uint64_t word)
{
        return (object->claimed && pw_word_state(word) == PW_ENTRY_PENDING) || object->leaving;
}

/* It lives, or its end is under way. */
static bool holds_still(struct pw_store *store, uint32_t number)
{
        const struct session *session = pw_table_get(&store->sessions, number);

        return session && (!session->ended || pw_session_ending(session));
}

static void check_object(struct audit *audit, const struct segment *segment, const struct pw_object *object)
{
        uint64_t word = pw_entry_load(pw_segment_entry(segment, object->slot));
        uint32_t refs = object->first_ref;
        char id[PW_ID_TEXT_BYTES];

        pw_id_format(pw_object_id(audit->store, object), id);
        if (pw_word_generation(word) != object->generation || pw_word_state(word) < PW_ENTRY_PENDING || pw_word_state(word) > PW_ENTRY_CLOSING)
                report(audit, id, "its entry is in state %u of generation %x", (unsigned)pw_word_state(word), pw_word_generation(word));
        if ((pw_word_state(word) == PW_ENTRY_CLOSING) != (object->closing >= PW_ENTRY_READY))
                report(audit, id, "its entry and its record do not agree whether it is closing");
        if (object->first_ref && !object->grantee)
                report(audit, id, "a session that ended still has its first reference");
        for (const struct pw_ref *ref = NULL; (ref = pw_ref_next(object, ref));) {
                refs += ref->count;
                if (ref->kind == PW_OWNER_SESSION && !holds_still(audit->store, (uint32_t)ref->number))
                        report(audit, id, "a session that ended still holds it");
        }
        if (object->backed && !pw_move_backing_ref(object))
                report(audit, id, "it lies in the room of another object, which it does not hold");
        if (refs != object->refs)
                report(audit, id, "%u references are counted, %u claims are there", object->refs, refs);
        if (!object->refs && !leaving(object, word))
                report(audit, id, "nobody holds it, and it stays");
}

static void check_extent(struct audit *audit, const struct extent *extent)
{
        char where[48];
        uint32_t taken = 0;

        snprintf(where, sizeof where, "extent %u of segment %x", extent->number, extent->segment->number);
        for (uint32_t i = 0; i < extent->slot_room; i++) {
                const struct pw_object *object = pw_object_at(extent->segment, extent->first_slot + i);

                if (!object || object->extent != extent->number || object->slot != extent->first_slot + i) {
                        report(audit, where, "the record of slot %x says otherwise", extent->first_slot + i);
                        return;
                }
                taken += i < extent->slot_count && object->taken;
                audit->known += object->known;
                audit->body_bytes += object->known ? pw_future_body_bytes(extent->segment, object) : 0;
                if (object->known && (object->taken || i >= extent->slot_count))
                        report(audit, where, "slot %x was taken back, and has an object", object->slot);
                if (object->known)
                        check_object(audit, extent->segment, object);
        }
        if (taken != extent->taken)
                report(audit, where, "%u slots are counted as taken, %u are", extent->taken, taken);
}

/* `has` of `what` are granted, `found` are with those they were granted to. */
static void check_sum(struct audit *audit, const struct segment *segment, const char *what, uint64_t has, uint64_t found)
{
        char where[32];

        snprintf(where, sizeof where, "segment %x", segment->number);
        if (has != found)
                report(audit, where, "%s: %llu are counted, %llu are there", what, (unsigned long long)has, (unsigned long long)found);
}

static uint64_t check_idle(struct audit *audit, const struct segment *segment)
{
        uint64_t idle = 0, end = 0;

        for (uint32_t i = 0; i < segment->idle.count; i++) {
                const struct idle_span *span = &segment->idle.spans[i];

                if (span->offset < end || !span->bytes)
                        report(audit, "host memory", "the idle pages of segment %x are not in order", segment->number);
                end = span->offset + span->bytes;
                idle += span->bytes;
        }
        return idle;
}

static void check_segment(struct audit *audit, const struct segment *segment)
{
        uint64_t slots = segment->buried_slots, span_bytes = 0;
        struct extent *extent;

        audit->known = audit->body_bytes = 0;
        pw_list_each(&segment->extents, extent, struct extent, of_segment) {
                slots += extent->slot_room;
                span_bytes += extent->span_bytes;
                check_extent(audit, extent);
        }
        check_sum(audit, segment, "objects", segment->known_count, audit->known);
        check_sum(audit, segment, "slots", pw_range_used(segment->slots), slots);
        check_sum(audit, segment, "bytes of idle pages", segment->idle.bytes, check_idle(audit, segment));
        check_sum(audit, segment, "bytes of rooms, lists and texts", pw_range_used(segment->rooms),
                  segment->layout.kind == PW_SEGMENT_FUTURES ? audit->body_bytes : span_bytes);
}

/* What a tenant is charged is what its segments say. */
static void check_tenant(struct audit *audit, const struct tenant *tenant)
{
        uint64_t host_bytes = 0, slots = 0;
        const struct segment *segment;
        struct extent *extent;
        char where[80];

        snprintf(where, sizeof where, "tenant %s", tenant->name);
        for (uint32_t i = 0; (segment = pw_table_next(&audit->store->segments, &i));) {
                if (segment->tenant != tenant)
                        continue;
                host_bytes += pw_segment_charged(segment);
                pw_list_each(&segment->extents, extent, struct extent, of_segment)
                        slots += extent->populating ? extent->slot_count : extent->slot_count - extent->taken;
        }
        if (host_bytes != tenant->host_bytes || slots != tenant->slots)
                report(audit, where, "%llu bytes and %llu slots are charged, %llu and %llu are granted", (unsigned long long)tenant->host_bytes,
                       (unsigned long long)tenant->slots, (unsigned long long)host_bytes, (unsigned long long)slots);
}

static void check_queue(struct audit *audit)
{
        uint32_t lacking = audit->store->lacking_count, over = 0;
        const struct tenant *tenant;
        struct request *request;

        for (uint32_t i = 0; (tenant = pw_table_next(&audit->store->tenants, &i));) {
                over += tenant->over_count;
                check_tenant(audit, tenant);
        }
        pw_list_each(&audit->store->queue, request, struct request, link)
                *(request->over ? &over : &lacking) -= 1;
        if (lacking || over)
                report(audit, "host memory", "%d requests more wait for memory, %d for a quota, than are there", (int)lacking, (int)over);
}

uint32_t pw_store_check(struct pw_store *store, void (*found)(void *context, const char *where, const char *problem), void *context)
{
        struct audit audit = { .store = store, .found = found, .context = context };
        struct pw_memory_terms terms;
        struct segment *segment;
        uint64_t idle = 0;

        mark_leaving(store, true);
        for (uint32_t i = 0; (segment = pw_table_next(&store->segments, &i));) {
                check_segment(&audit, segment);
                idle += segment->ended && !segment->dead ? 0 : segment->idle.bytes;
        }
        mark_leaving(store, false);
        if (idle != store->idle_bytes)
                report(&audit, "host memory", "%llu idle bytes are counted, %llu are there", (unsigned long long)store->idle_bytes,
                       (unsigned long long)idle);
        check_queue(&audit);
        pw_store_terms(store, &terms);
        if (store->free_bytes + store->overhead_bytes < 0)
                report(&audit, "host memory", "%lld bytes more are granted than there are", (long long)-(store->free_bytes + store->overhead_bytes));
        if (terms.unaccounted)
                report(&audit, "host memory", "%lld bytes are unaccounted for", (long long)terms.unaccounted);
        return audit.count;
}
