/* Audit: every byte of host memory under one term, each counted from its own records; claims that add up. */
#include "store/object/moved.h"
#include "store/parts.h"

#include <stdio.h>

/* --- terms ------------------------------------------------------------------------------------------------------------------ */

/* Where idle room of the segment counts: a process that lives may write into it though its session ended. */
static uint64_t *unused_term(const struct segment *segment, struct pw_memory_terms *terms)
{
        if (!segment->ended || segment->dead)
                return &terms->idle;
        return segment->session->broke ? &terms->quarantined : &terms->letting_go;
}

uint64_t pw_store_free_bytes(const struct pw_store *store) { return store->free_bytes > 0 ? (uint64_t)store->free_bytes : 0; }

void pw_store_terms(struct pw_store *store, struct pw_memory_terms *ret_terms)
{
        struct pw_memory_terms terms = { .capacity = store->params.capacity_bytes,
                                         .reserved = store->params.reserved_bytes,
                                         .overhead = (uint64_t)store->overhead_bytes,
                                         .letting_go = store->leaving_bytes,
                                         .free = pw_store_free_bytes(store) };
        struct segment *segment;

        for (uint32_t i = 0; (segment = pw_table_next(&store->segments, &i));) {
                terms.used += segment->sums.used;
                terms.overhead += segment->sums.rounded;
                *unused_term(segment, &terms) += segment->idle.bytes + segment->sums.booked - segment->sums.rounded -
                        segment->sums.used;
        }
        /* What was measured may have grown beyond what was free: then nothing is, and every byte is accounted for. */
        terms.overhead += pw_kept_bytes(store);
        terms.unaccounted = (int64_t)(terms.capacity - (uint64_t)store->free_bytes - terms.used - terms.idle - terms.letting_go -
                                      terms.quarantined - terms.reserved - terms.overhead);
        *ret_terms = terms;
}

/* --- invariants ------------------------------------------------------------------------------------------------------------- */

static void report(struct pw_store_audit *audit, const char *where, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void report(struct pw_store_audit *audit, const char *where, const char *format, ...)
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

static void check_object(struct pw_store *store, struct pw_store_audit *audit, const struct segment *segment,
                         const struct pw_object *object)
{
        uint64_t word = pw_entry_load(pw_segment_entry(segment, object->slot));
        uint32_t refs = object->first_ref;
        char id[PW_ID_TEXT_BYTES];

        pw_id_format(pw_object_id(store, object), id);
        if (pw_word_generation(word) != object->generation || pw_word_state(word) < PW_ENTRY_PENDING ||
            pw_word_state(word) > PW_ENTRY_CLOSING)
                report(audit, id, "its entry is in state %u of generation %x", (unsigned)pw_word_state(word),
                       pw_word_generation(word));
        if ((pw_word_state(word) == PW_ENTRY_CLOSING) != (object->closing >= PW_ENTRY_READY))
                report(audit, id, "its entry and its record do not agree whether it is closing");
        if (object->first_ref && !object->grantee)
                report(audit, id, "a session that ended still has its first reference");
        for (const struct pw_ref *ref = NULL; (ref = pw_ref_next(object, ref));) {
                refs += ref->count;
                if (ref->kind == PW_OWNER_SESSION && !holds_still(store, (uint32_t)ref->number))
                        report(audit, id, "a session that ended still holds it");
        }
        if (object->backed && !pw_move_backing_ref(object))
                report(audit, id, "it lies in the room of another object, which it does not hold");
        if (object->fetched && !pw_fetched_ref(store, object))
                report(audit, id, "it has a copy in host memory, which it does not hold");
        if (object->apart && pw_word_state(word) == PW_ENTRY_READY &&
            pw_fetched_is_away(object) != ((pw_word_flags(word) & PW_ENTRY_MOVING) != 0))
                report(audit, id, "its entry and its record do not agree whether its bytes were fetched");
        if (object->proxied && object->backed == ((pw_word_flags(word) & PW_ENTRY_MOVING) != 0) &&
            (pw_word_state(word) == PW_ENTRY_READY || object->closing == PW_ENTRY_READY))
                report(audit, id, "its entry and its record do not agree whether its bytes are on this host");
        if (refs != object->refs)
                report(audit, id, "%u references are counted, %u claims are there", object->refs, refs);
        if (!object->refs && !leaving(object, word))
                report(audit, id, "nobody holds it, and it stays");
        if (object->leaving && pw_list_empty(&store->dropping) && !store->closing_count && !store->scanning_count)
                report(audit, id, "it is on its way out, and nothing is");
}

/* Bytes of a slot's room, if it was taken back only of pages that another slot still keeps. */
static uint64_t kept_bytes(const struct extent *extent, const struct pw_object *object)
{
        uint64_t from = (object->slot - extent->first_slot) * extent->room_bytes, to = from + extent->room_bytes, bytes = 0;

        if (!object->taken || extent->populating)
                return extent->room_bytes;
        if (extent->room_bytes % PW_PAGE_BYTES == 0)
                return 0;
        for (uint64_t page = from / PW_PAGE_BYTES; page <= (to - 1) / PW_PAGE_BYTES; page++)
                if (!pw_extent_page_taken(extent, page))
                        bytes += pw_min_u64(to, (page + 1) * PW_PAGE_BYTES) - pw_max_u64(from, page * PW_PAGE_BYTES);
        return bytes;
}

static void check_extent(struct pw_store *store, struct pw_store_audit *audit, const struct extent *extent)
{
        struct extent_sums sums = pw_extent_sums(extent);
        uint64_t booked = sums.rounded;
        char where[48];
        uint32_t taken = 0;

        snprintf(where, sizeof where, "extent %u of segment %x", extent->number, extent->segment->number);
        if (memcmp(&sums, &extent->sums, sizeof sums))
                report(audit, where, "it is in the sums of its segment as it is no more");
        audit->booked_bytes += sums.booked;
        audit->slots += sums.slots;
        for (uint32_t i = 0; i < extent->slot_room; i++) {
                const struct pw_object *object = pw_object_at(extent->segment, extent->first_slot + i);

                if (!object || object->extent != extent->number || object->slot != extent->first_slot + i) {
                        report(audit, where, "the record of slot %x says otherwise", extent->first_slot + i);
                        return;
                }
                taken += i < extent->slot_count && object->taken;
                booked += i < extent->slot_count && extent->span_bytes ? kept_bytes(extent, object) : 0;
                audit->known += object->known;
                audit->body_bytes += object->known ? pw_future_body_bytes(extent->segment, object) : 0;
                if (object->known && (object->taken || i >= extent->slot_count))
                        report(audit, where, "slot %x was taken back, and has an object", object->slot);
                if (object->known)
                        check_object(store, audit, extent->segment, object);
        }
        if (taken != extent->taken)
                report(audit, where, "%u slots are counted as taken, %u are", extent->taken, taken);
        if (booked != extent->booked_bytes)
                report(audit, where, "%llu bytes of pages are counted, %llu are there", (unsigned long long)extent->booked_bytes,
                       (unsigned long long)booked);
}

/* `has` of `what` are granted, `found` are with those they were granted to. */
static void check_sum(struct pw_store_audit *audit, const struct segment *segment, const char *what, uint64_t has, uint64_t found)
{
        char where[32] = "host memory";

        if (segment)
                snprintf(where, sizeof where, "segment %x", segment->number);
        if (has != found)
                report(audit, where, "%s: %llu are counted, %llu are there", what, (unsigned long long)has,
                       (unsigned long long)found);
}

static uint64_t check_idle(struct pw_store_audit *audit, const struct segment *segment)
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

static void check_segment(struct pw_store_audit *audit, const struct segment *segment)
{
        check_sum(audit, segment, "slots", pw_range_used(segment->slots), segment->buried_slots + segment->sums.slots);
        check_sum(audit, segment, "bytes of idle pages", segment->idle.bytes, check_idle(audit, segment));
        if (segment->layout.kind == PW_SEGMENT_CLIENT)
                check_sum(audit, segment, "bytes of rooms", pw_range_used(segment->rooms), segment->sums.spans);
}

/* What tells one state of all objects and extents from another: which there are, and what they have. */
static uint64_t state_of(struct pw_store *store)
{
        struct segment *segment;
        uint64_t state = 0;

        for (uint32_t i = 0; (segment = pw_table_next(&store->segments, &i));)
                state += ((uint64_t)segment->number << 32) + segment->changes;
        return state;
}

/* Nothing changed while they were looked at: then they add up. */
static void check_objects(struct pw_store *store, struct pw_store_audit *audit)
{
        uint64_t known = 0, body_bytes = 0, booked_bytes = 0, slots = 0;
        const struct segment *segment;

        if (audit->state != state_of(store))
                return;
        for (uint32_t i = 0; (segment = pw_table_next(&store->segments, &i));) {
                known += segment->known_count;
                booked_bytes += segment->sums.booked;
                slots += segment->sums.slots;
                body_bytes += segment->layout.kind == PW_SEGMENT_FUTURES ? pw_range_used(segment->rooms) : 0;
        }
        check_sum(audit, NULL, "objects", known, audit->known);
        check_sum(audit, NULL, "bytes of pages", booked_bytes, audit->booked_bytes);
        check_sum(audit, NULL, "slots", slots, audit->slots);
        check_sum(audit, NULL, "bytes of lists and texts", body_bytes, audit->body_bytes);
}

/* Of each tenant, what its segments and sessions say. */
static void add_up_tenants(struct pw_store *store)
{
        const struct segment *segment;
        const struct session *session;
        struct tenant *tenant;

        for (uint32_t i = 0; (tenant = pw_table_next(&store->tenants, &i));)
                tenant->seen_bytes = tenant->seen_slots = tenant->seen_waits = 0;
        for (uint32_t i = 0; (session = pw_table_next(&store->sessions, &i));)
                session->tenant->seen_waits += session->wait_count;
        for (uint32_t i = 0; (segment = pw_table_next(&store->segments, &i));) {
                segment->tenant->seen_bytes += pw_segment_charged(segment);
                segment->tenant->seen_slots += segment->sums.held;
        }
}

/* What it is charged is that. */
static void check_tenant(struct pw_store_audit *audit, const struct tenant *tenant)
{
        char where[80];

        snprintf(where, sizeof where, "tenant %s", tenant->name);
        if (tenant->seen_bytes != tenant->host_bytes || tenant->seen_slots != tenant->slots)
                report(audit, where, "%llu bytes and %llu slots are charged, %llu and %llu are granted",
                       (unsigned long long)tenant->host_bytes,
                       (unsigned long long)tenant->slots, (unsigned long long)tenant->seen_bytes,
                       (unsigned long long)tenant->seen_slots);
        if (tenant->seen_waits != tenant->wait_count)
                report(audit, where, "%u lookups that wait are counted, its sessions have %llu", tenant->wait_count,
                       (unsigned long long)tenant->seen_waits);
}

static void check_queue(struct pw_store *store, struct pw_store_audit *audit)
{
        uint32_t lacking = store->lacking_count, over = 0;
        uint64_t leaving = 0;
        const struct tenant *tenant;
        struct request *request;

        add_up_tenants(store);
        for (uint32_t i = 0; (tenant = pw_table_next(&store->tenants, &i));) {
                over += tenant->over_count;
                leaving += tenant->leaving_bytes;
                check_tenant(audit, tenant);
        }
        check_sum(audit, NULL, "bytes on their way out", store->leaving_bytes, leaving);
        pw_list_each(&store->queue, request, struct request, link)
                *(request->over ? &over : &lacking) -= 1;
        if (lacking || over)
                report(audit, "host memory", "%d requests more wait for memory, %d for a quota, than are there",
                       (int)lacking, (int)over);
}

static void check_sums(struct pw_store *store, struct pw_store_audit *audit)
{
        struct pw_memory_terms terms;
        struct segment *segment;
        int64_t spare = store->free_bytes + store->overhead_bytes + (int64_t)pw_kept_bytes(store);
        uint64_t idle = 0;

        for (uint32_t i = 0; (segment = pw_table_next(&store->segments, &i));) {
                check_segment(audit, segment);
                idle += segment->ended && !segment->dead ? 0 : segment->idle.bytes;
        }
        if (idle != store->idle_bytes)
                report(audit, "host memory", "%llu idle bytes are counted, %llu are there", (unsigned long long)store->idle_bytes,
                       (unsigned long long)idle);
        check_objects(store, audit);
        check_queue(store, audit);
        pw_store_terms(store, &terms);
        if (spare < 0)
                report(audit, "host memory", "%lld bytes more are granted than there are", (long long)-spare);
        if (terms.unaccounted)
                report(audit, "host memory", "%lld bytes are unaccounted for", (long long)terms.unaccounted);
}

bool pw_store_check_step(struct pw_store *store, struct pw_store_audit *audit, uint32_t slots)
{
        if (!audit->next) {
                audit->next = 1;
                audit->state = state_of(store);
        }
        for (; audit->next <= store->extents.top && slots; audit->next++) {
                const struct extent *extent = pw_handles_get(&store->extents, audit->next);

                if (extent)
                        check_extent(store, audit, extent);
                slots -= (uint32_t)pw_min_u64(slots, extent ? extent->slot_room : 0);
        }
        if (audit->next <= store->extents.top)
                return true;
        check_sums(store, audit);
        return false;
}

uint32_t pw_store_check(struct pw_store *store, void (*found)(void *context, const char *where, const char *problem), void *context)
{
        struct pw_store_audit audit = { .found = found, .context = context };

        while (pw_store_check_step(store, &audit, UINT32_MAX)) {
        }
        return audit.count;
}
