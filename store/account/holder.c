/* Who is charged: for an object; and who holds host memory, rooms with values and what is kept summed by that. Of many rooms, those
 * that were granted: who is told has waited, and then what is idle is taken back. */
#include "store/parts.h"

#include "base/text.h"

#include <stdio.h>

#define HOLDERS_MAX 64u /* summed apart; what is beyond goes to nobody */
#define HOLDERS_SHOWN 4u
#define LOOKED_AT 8192u  /* slots whose objects are looked at one by one */
#define EXTENTS 8192u    /* that are looked at: where a segment has more than are left, it is looked at as a whole */
#define HIDDEN UINT8_MAX /* the kind of who holds what the reader may not see */
#define HEIRS (UINT8_MAX - 1) /* the kind of who holds what ended sessions made */
#define KEPT (UINT8_MAX - 2)  /* of what is kept because of a tenant; its number is what */
#define LITTLE_BYTES PW_MIB   /* of what comes with rooms and sessions: those say who holds it */

struct holder {
        struct pw_charge charge;
        uint64_t bytes, objects;
        const char *tenant;
};
struct holders {
        struct holder items[HOLDERS_MAX];
        uint32_t count;
};
/* At extents whose session ended, or did not; and how many, of how many slots, it may look at yet. */
struct look { struct holders holders; uint32_t slots, extents; bool ended; };

static void add(struct holders *holders, const struct holder *holder)
{
        struct holder *item = holders->items, *end = item + holders->count;

        while (item < end && (item->charge.kind != holder->charge.kind || item->charge.number != holder->charge.number ||
                               (holder->charge.kind >= KEPT && holder->charge.kind != HIDDEN &&
                                strcmp(item->tenant, holder->tenant))))
                item++;
        if (item == holders->items + HOLDERS_MAX)
                return;
        if (item == end) {
                *item = *holder;
                holders->count++;
                return;
        }
        item->bytes += holder->bytes;
        item->objects += holder->objects;
        item->charge.since_us = pw_min_u64(item->charge.since_us, holder->charge.since_us);
}

/* Whose value lies in the room of another object is charged for it. */
static struct pw_charge charge_of_owner(struct pw_store *store, const struct pw_ref *ref)
{
        const struct pw_object *owner = pw_object_of_place(store, ref->number);

        return owner ? pw_object_charge(store, pw_extent_of(store, owner), owner) : (struct pw_charge){ .since_us = ref->since_us };
}

struct pw_charge pw_object_charge(struct pw_store *store, const struct extent *extent, const struct pw_object *object)
{
        const struct pw_ref *oldest = NULL;

        for (const struct pw_ref *ref = NULL; object->known && (ref = pw_ref_next(object, ref));)
                if (!oldest || ref->charged > oldest->charged ||
                    (ref->charged == oldest->charged && ref->since_us < oldest->since_us))
                        oldest = ref;
        if (object->grantee && (!object->known || object->first_ref) && !(oldest && oldest->charged))
                return (struct pw_charge){ PW_OWNER_SESSION, object->grantee, extent->granted_us, NULL };
        if (oldest && oldest->kind == PW_OWNER_OBJECT)
                return charge_of_owner(store, oldest);
        if (oldest)
                return (struct pw_charge){ oldest->kind, oldest->number, oldest->since_us, pw_ref_name(oldest) };
        return (struct pw_charge){ .since_us = extent->granted_us };
}

static void charge(struct holders *holders, const struct pw_holders_of *of, struct holder holder)
{
        if (of->reader && strcmp(holder.tenant, of->reader))
                holder.charge = (struct pw_charge){ .kind = HIDDEN, .since_us = holder.charge.since_us };
        add(holders, &holder);
}

static void charge_each(struct pw_store *store, const struct pw_holders_of *of, const struct extent *extent,
                        struct holders *holders)
{
        for (uint32_t i = 0; i < extent->slot_count; i++) {
                const struct pw_object *object = pw_object_at(extent->segment, extent->first_slot + i);

                if (!object->taken && !pw_slot_idle(extent, object))
                        charge(holders, of, (struct holder){ pw_object_charge(store, extent, object), extent->room_bytes, 1,
                                                             extent->segment->tenant->name });
        }
}

/* What it was granted is held by its session, as long as that lives. */
static void charge_all(const struct pw_holders_of *of, const struct extent *extent, struct holders *holders)
{
        const struct session *session = extent->session;
        uint64_t objects = extent->slot_count - extent->taken;
        bool lives = session && !session->ended;

        if (objects)
                charge(holders, of,
                       (struct holder){ { lives ? PW_OWNER_SESSION : HEIRS, lives ? session->number : 0, extent->granted_us, NULL },
                                                     objects * extent->room_bytes, objects, extent->segment->tenant->name });
}

/* More extents than may be looked at: all of it is held by who was granted most of it. */
static void charge_segment(const struct pw_holders_of *of, const struct segment *segment, struct holders *holders)
{
        const struct session *session = segment->session;
        bool lives = session && !session->ended;

        charge(holders, of, (struct holder){ { lives ? PW_OWNER_SESSION : HEIRS, lives ? session->number : 0,
                                               session ? session->since_us : of->now_us, NULL },
                                             segment->sums.booked, segment->sums.held, segment->tenant->name });
}

static void sum_extents(struct pw_store *store, const struct pw_holders_of *of, const struct segment *segment, struct look *look)
{
        const struct extent *extent;

        pw_list_each(&segment->extents, extent, struct extent, of_segment) {
                if (extent->populating || (!extent->session || extent->session->ended) != look->ended ||
                    (!of->tenant && !extent->span_bytes))
                        continue;
                if (extent->slot_count > look->slots) {
                        charge_all(of, extent, &look->holders);
                } else {
                        look->slots -= extent->slot_count;
                        charge_each(store, of, extent, &look->holders);
                }
        }
}

/* Extents whose session ended, or did not: of the first the objects alone say who holds them, so those are looked at first. */
static void sum_of(struct pw_store *store, const struct pw_holders_of *of, struct look *look)
{
        const struct segment *segment;

        for (uint32_t i = 0; (segment = pw_table_next(&store->segments, &i));) {
                bool ended = !segment->session || segment->session->ended;

                if (!segment->sums.held || (of->tenant && strcmp(segment->tenant->name, of->tenant)) ||
                    (!of->tenant && !segment->sums.spans))
                        continue;
                if (segment->sums.extents <= look->extents) {
                        look->extents -= (uint32_t)segment->sums.extents;
                        sum_extents(store, of, segment, look);
                } else if (ended == look->ended) {
                        charge_segment(of, segment, &look->holders);
                }
        }
}

static void sum_kept(const struct pw_store *store, const struct pw_holders_of *of, struct holders *holders)
{
        const struct tenant *tenant;

        for (uint32_t i = 0; !of->slots && (tenant = pw_table_next(&store->tenants, &i));)
                for (uint32_t kind = 0; kind < PW_KEPT_KINDS && (!of->tenant || !strcmp(tenant->name, of->tenant)); kind++)
                        if (tenant->kept[kind] > (kind < PW_KEPT_SLOTS ? 0 : LITTLE_BYTES))
                                charge(holders, of, (struct holder){ { .kind = KEPT, .number = kind, .since_us = of->now_us },
                                                                     tenant->kept[kind], 1, tenant->name });
}

static void sum(struct pw_store *store, const struct pw_holders_of *of, struct look *look)
{
        sum_kept(store, of, &look->holders);
        look->extents = EXTENTS;
        look->ended = true;
        sum_of(store, of, look);
        look->extents = EXTENTS;
        look->ended = false;
        sum_of(store, of, look);
}

static bool larger(const struct holder *left, const struct holder *right)
{
        return left->bytes > right->bytes || (left->bytes == right->bytes && left->objects > right->objects);
}

static struct holder *largest(struct holders *holders)
{
        struct holder *found = NULL;

        for (uint32_t i = 0; i < holders->count; i++)
                if (holders->items[i].objects && (!found || larger(&holders->items[i], found)))
                        found = &holders->items[i];
        return found;
}

char *pw_store_charge_text(struct pw_store *store, const struct pw_charge *charge, char *text, size_t text_bytes)
{
        const struct session *session = charge->kind == PW_OWNER_SESSION ? pw_session_of(store, (uint32_t)charge->number) : NULL;

        if (session)
                snprintf(text, text_bytes, "%s", session->client);
        else if (charge->kind == PW_OWNER_NAME)
                snprintf(text, text_bytes, "name %s", charge->name ? charge->name : "?");
        else if (charge->kind == PW_OWNER_RUN)
                snprintf(text, text_bytes, "run %llu", (unsigned long long)charge->number);
        else if (charge->kind == PW_OWNER_LEASE)
                snprintf(text, text_bytes, "a lease");
        else if (charge->kind == PW_OWNER_OBJECT)
                snprintf(text, text_bytes, "a value that was moved into its room");
        else
                snprintf(text, text_bytes, "nobody: it is being reclaimed");
        return text;
}

/* "held by tenant bo, digits[4411], 40 s" */
static size_t holder_text(struct pw_store *store, const struct holder *holder, uint64_t now_us, char *text, size_t text_bytes)
{
        char age[16], who[300];

        if (holder->charge.kind == HIDDEN)
                return (size_t)snprintf(text, text_bytes, " held by other tenants");
        if (holder->charge.kind == HEIRS)
                return (size_t)snprintf(text, text_bytes,
                                        " held by tenant %s, names, leases and others that `pathways owners` lists",
                                        holder->tenant);
        if (holder->charge.kind == KEPT)
                return (size_t)snprintf(text, text_bytes, " held by tenant %s, %s", holder->tenant,
                                        pw_kept_name((enum pw_kept_kind)holder->charge.number));
        return (size_t)snprintf(text, text_bytes, " held by tenant %s, %s, %s", holder->tenant,
                                pw_store_charge_text(store, &holder->charge, who, sizeof who),
                                pw_duration_format(now_us - pw_min_u64(now_us, holder->charge.since_us), age));
}

char *pw_store_holders_text(struct pw_store *store, const struct pw_holders_of *of, char *text, size_t text_bytes)
{
        struct look look = { .slots = LOOKED_AT };
        char whole[1600] = "nobody holds any", size[16], objects[32];
        struct holder *holder;
        size_t used = 0;

        sum(store, of, &look);
        for (uint32_t i = 0; i < HOLDERS_SHOWN && used < sizeof whole && (holder = largest(&look.holders)); i++) {
                snprintf(objects, sizeof objects, "%llu objects", (unsigned long long)holder->objects);
                used += (size_t)snprintf(whole + used, sizeof whole - used, "%s%s", used ? "; " : "",
                                         holder->bytes ? pw_size_format(holder->bytes, size) : objects);
                if (used < sizeof whole)
                        used += holder_text(store, holder, of->now_us, whole + used, sizeof whole - used);
                holder->objects = 0;
        }
        pw_text_format(text, text_bytes, "%s", whole);
        return text;
}
