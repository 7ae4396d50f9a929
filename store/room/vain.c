/* Requests for futures that would wait in vain: nobody else in the process is there to let go of anything, its session holds all
 * objects that there are, and what is lacking is not somebody else's. Objects are looked at in parts, as a search does. */
#include "store/parts.h"

#include <stdio.h>

/* Objects of its tenant are counted, bytes are not told apart by whose they are. */
static bool lacks_bytes(const struct request *request) { return !request->over || pw_quota_of_bytes(request->tenant, 0); }

/* Does it stay until the lane that waits gives it back? What that took from its own extents for results is not known yet, nor is
 * what a client put and nobody else ever heard of. What is idle was taken back, or is of no use. */
static bool stays(struct pw_store *store, const struct row *row, const struct extent *extent, const struct pw_object *object)
{
        if (object->taken)
                return true;
        if (object->known)
                return pw_store_holds(store, object, extent->session->number);
        return extent->row == row || !pw_extent_futures(extent);
}

static bool is_in_flight(const struct extent *extent, const struct pw_object *object)
{
        const struct pw_entry *entry = pw_segment_entry(extent->segment, object->slot);

        return object->known && object->claimed && pw_word_state(pw_entry_load(entry)) == PW_ENTRY_PENDING;
}

/* Do all objects of the extent stay? Where bytes are lacking, runs that are in flight are awaited first: they give some back. */
static bool look_at(struct pw_store *store, struct request *request, const struct extent *extent)
{
        const struct row *row = pw_row_known(request->session, request->ask.lane, PW_KIND_FUTURES);
        bool bytes = lacks_bytes(request);

        request->vain.no = extent->populating;
        request->vain.awaits = false;
        for (uint32_t i = 0; i < extent->slot_count && !request->vain.no; i++) {
                const struct pw_object *object = pw_object_at(extent->segment, extent->first_slot + i);

                request->vain.awaits = bytes && is_in_flight(extent, object);
                extent->segment->awaited |= request->vain.awaits;
                request->vain.no = request->vain.awaits || !stays(store, row, extent, object);
        }
        return !request->vain.no;
}

/* Of what is looked at in this part, and when the queue is served. */
static void take(struct pw_store *store, uint32_t *left, uint32_t count)
{
        *left -= (uint32_t)pw_min_u64(*left, count);
        store->search_left -= (uint32_t)pw_min_u64(store->search_left, count);
}

/* Could others give back what is lacking? */
static bool may_be_helped(struct pw_store *store, const struct request *request, uint32_t *left)
{
        const struct session *session;

        if (!lacks_bytes(request))
                return false;
        if (!request->over && pw_pages_most(store) >= 0)
                return true;
        for (uint32_t i = 0; (session = pw_table_next(&store->sessions, &i)); take(store, left, 1))
                if (!*left || (session != request->session && (!request->over || session->tenant == request->tenant)))
                        return true;
        return false;
}

static void refuse(struct pw_store *store, const struct request *request)
{
        const struct tenant *tenant = request->tenant;
        char text[400], lack[200], used[16], most[16];

        if (!request->over)
                snprintf(lack, sizeof lack, "of %s of host memory on h%u nothing is free",
                         pw_size_format(store->params.capacity_bytes, most), store->params.host);
        else if (lacks_bytes(request))
                snprintf(lack, sizeof lack, "tenant %.100s has %s of its quota of %s of host memory", tenant->name,
                         pw_size_format(pw_tenant_charged(tenant), used), pw_size_format(tenant->quota.host_bytes, most));
        else
                snprintf(lack, sizeof lack, "tenant %.100s has %llu slots of its quota of %llu objects", tenant->name,
                         (unsigned long long)tenant->slots, (unsigned long long)tenant->quota.objects);
        snprintf(text, sizeof text,
                 "%s, all held by this session, which waits: nobody else could let go of any; pw_unref() what is not needed, or "
                 "raise --%s",
                 lack, request->over ? "quota" : "host-memory");
        pw_store_answer(store, request->ask.token, PW_NO_SPACE, text);
}

/* Looks at who is there, then at the next extents. True: all of them were looked at, and their objects stay. */
static bool look(struct pw_store *store, struct request *request, uint32_t *left)
{
        if (!request->vain.next) {
                request->vain.no = may_be_helped(store, request, left);
                if (request->vain.no)
                        return false;
                request->vain.next = 1;
        }
        for (; request->vain.next <= store->extents.top; request->vain.next++) {
                const struct extent *extent = pw_handles_get(&store->extents, request->vain.next);

                if (!*left)
                        return false;
                take(store, left, 1);
                if (!extent || extent->session != request->session)
                        continue;
                take(store, left, extent->slot_count);
                if (!look_at(store, request, extent))
                        return false;
                request->vain.slots += extent->slot_count - extent->taken;
        }
        request->vain.no = request->vain.slots != request->tenant->slots;
        return !request->vain.no;
}

bool pw_room_refuse_vain(struct pw_store *store, struct request *request, bool came)
{
        uint32_t left = (uint32_t)pw_min_u64(PW_SEARCH_QUANTUM, store->search_left);

        if (!request->ask.futures || !request->ask.alone ||
            !pw_search_done(store, request->over ? &request->own_search : &request->search))
                return false;
        if (came && request->vain.no && !request->vain.awaits)
                request->vain.slots = request->vain.next = 0;
        request->vain.no &= !came;
        if (request->vain.no)
                return false;
        if (request->ask.token > store->search_after && look(store, request, &left)) { /* else others look or search first */
                refuse(store, request);
                return true;
        }
        store->searching |= !request->vain.no;
        return false;
}
