/* Who holds host memory: rooms with values, summed by whom they are charged to. */
#include "store/parts.h"

#include <stdio.h>

#define HOLDERS_MAX 64u /* summed apart; what is beyond goes to nobody */
#define HOLDERS_SHOWN 4u

struct holder {
        enum pw_owner_kind kind; /* 0: nobody is left */
        uint64_t number, bytes, since_us;
        const char *tenant, *name;
};
struct holders {
        struct holder items[HOLDERS_MAX];
        uint32_t count;
};

static void add(struct holders *holders, const struct holder *holder)
{
        uint32_t i = 0;

        while (i < holders->count && (holders->items[i].kind != holder->kind || holders->items[i].number != holder->number))
                i++;
        if (i == HOLDERS_MAX)
                return;
        if (i == holders->count) {
                holders->items[holders->count++] = *holder;
                return;
        }
        holders->items[i].bytes += holder->bytes;
        holders->items[i].since_us = pw_min_u64(holders->items[i].since_us, holder->since_us);
}

/* The grantee while it holds the object, then the oldest holder. */
static void charge(struct holders *holders, const struct extent *extent, const struct pw_object *object)
{
        struct holder holder = { 0, 0, extent->room_bytes, extent->granted_us, extent->segment->tenant->name, NULL };
        const struct pw_ref *oldest = NULL;

        for (const struct pw_ref *ref = NULL; object->known && (ref = pw_ref_next(object, ref));)
                if (!oldest || ref->since_us < oldest->since_us)
                        oldest = ref;
        if (object->grantee && (!object->known || object->first_ref)) {
                holder.kind = PW_OWNER_SESSION;
                holder.number = object->grantee;
        } else if (oldest) {
                holder.kind = oldest->kind;
                holder.number = oldest->number;
                holder.name = oldest->name;
        }
        add(holders, &holder);
}

static void sum(struct pw_store *store, struct holders *holders)
{
        for (uint32_t i = 1; i <= store->extents.top; i++) {
                const struct extent *extent = pw_handles_get(&store->extents, i);

                for (uint32_t j = 0; extent && extent->span_bytes && !extent->populating && j < extent->slot_count; j++) {
                        const struct pw_object *object = pw_object_at(extent->segment, extent->first_slot + j);

                        if (!object->taken && !pw_slot_idle(extent, object))
                                charge(holders, extent, object);
                }
        }
}

static struct holder *largest(struct holders *holders)
{
        struct holder *found = NULL;

        for (uint32_t i = 0; i < holders->count; i++)
                if (holders->items[i].bytes && (!found || holders->items[i].bytes > found->bytes))
                        found = &holders->items[i];
        return found;
}

static void describe(struct pw_store *store, const struct holder *holder, char *text, size_t text_bytes)
{
        const struct session *session = holder->kind == PW_OWNER_SESSION ? pw_session_of(store, (uint32_t)holder->number) : NULL;

        if (session)
                snprintf(text, text_bytes, "%s", session->client);
        else if (holder->kind == PW_OWNER_NAME)
                snprintf(text, text_bytes, "name %s", holder->name ? holder->name : "?");
        else if (holder->kind == PW_OWNER_RUN)
                snprintf(text, text_bytes, "run %llu", (unsigned long long)holder->number);
        else if (holder->kind == PW_OWNER_LEASE)
                snprintf(text, text_bytes, "a lease");
        else
                snprintf(text, text_bytes, "nobody: it is being reclaimed");
}

char *pw_store_holders_text(struct pw_store *store, char *text, size_t text_bytes, uint64_t now_us)
{
        struct holders holders = { .count = 0 };
        char size[16], age[16], who[120];
        struct holder *holder;
        size_t used = 0;

        sum(store, &holders);
        snprintf(text, text_bytes, "nobody holds any");
        for (uint32_t i = 0; i < HOLDERS_SHOWN && used < text_bytes && (holder = largest(&holders)); i++) {
                describe(store, holder, who, sizeof who);
                used += (size_t)snprintf(text + used, text_bytes - used, "%s%s held by tenant %s, %s, %s", used ? "; " : "",
                                         pw_size_format(holder->bytes, size), holder->tenant, who,
                                         pw_duration_format(now_us - pw_min_u64(now_us, holder->since_us), age));
                holder->bytes = 0;
        }
        return text;
}
