/* Idle slots: a request that waits for room has them taken back from the lanes that have them, in parts, extent by extent. */
#include "store/parts.h"

/* What was granted to somebody since this request came, or, however long ago, to one who takes it at once, and is still to be used:
 * its lane is about to. Two who take theirs at once would else take it from each other again and again, each asking anew. */
static bool is_promised(const struct request *request, const struct extent *extent)
{
        if (!extent->untouched || (extent->grant <= request->arrived && !extent->at_once))
                return false;
        for (uint32_t i = 0; i < extent->slot_count; i++)
                if (!pw_slot_idle(extent, pw_object_at(extent->segment, extent->first_slot + i)))
                        return false;
        return true;
}

/* Nothing was granted since that may have become idle: while somebody waits, slots do not go back to their lanes. */
bool pw_search_done(const struct pw_store *store, const struct search *search)
{
        return search->grants == store->grants && !search->next;
}

/* Who searched when the queue was served last comes behind the others. */
bool pw_search_may(const struct pw_store *store, const struct request *request, const struct search *search)
{
        return !pw_search_done(store, search) && store->search_left && request->ask.token > store->search_after;
}

/* So much memory could be had; 0 bytes: the tenant's quota allows one slot more. */
static bool could_be_had(const struct pw_store *store, const struct request *request, uint64_t bytes)
{
        if (!bytes)
                return pw_quota_fits(request->tenant, pw_store_room_bytes(&request->ask), 1) != 0;
        return pw_pages_most(store) >= (int64_t)bytes;
}

/* Take the idle slots of the next extents back, the asking row's own excepted, until so many bytes of memory could be had; 0 bytes:
 * those of its tenant, until its quota allows one slot more. What is left of it is done when the queue is served next; and also
 * what was left because there was enough, if that is gone by then. */
void pw_search(struct pw_store *store, const struct row *row, const struct request *request, uint64_t bytes, struct search *search)
{
        uint32_t most = (uint32_t)pw_min_u64(PW_SEARCH_QUANTUM, store->search_left), budget = most, i;
        bool enough = false;

        if (!pw_search_may(store, request, search))
                return;
        if (!search->next)
                *search = (struct search){ .grants = store->grants, .next = 1 };
        for (i = search->next; i <= store->extents.top && budget && !(enough = could_be_had(store, request, bytes)); i++) {
                struct extent *extent = pw_handles_get(&store->extents, i);

                if (!extent || extent->populating || extent->segment->ended || extent->row == row ||
                    (bytes ? !extent->span_bytes : extent->segment->tenant != request->tenant))
                        continue;
                budget -= (uint32_t)pw_min_u64(budget, extent->slot_count);
                if (is_promised(request, extent))
                        search->again = true;
                else
                        pw_extent_take_idle(store, extent);
        }
        search->next = i > store->extents.top ? 0 : i;
        store->search_left -= most - budget;
        store->searching |= search->next && !enough;
}

/* Something came: who passed by what was about to be used looks there again. */
void pw_search_anew(struct search *search)
{
        if (!search->again || search->next)
                return;
        search->again = false;
        search->grants = UINT64_MAX;
}
