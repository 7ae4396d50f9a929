/* What names and leases hold, one by one, and who keeps a binding: so that a host that drains hands them on. */
#include "store/name/name_private.h"

bool pw_name_is_kept_by(const struct pw_name_answer *answer, const struct pw_name_keeper *host)
{
        struct pw_name_keeper home = { pw_id_host(answer->id), answer->id.epoch };
        const struct pw_name_keeper *keeper = answer->keeper.host ? &answer->keeper : &home;

        return keeper->host == host->host && keeper->epoch == host->epoch;
}

bool pw_name_is_kept_here(const struct pw_store *store, const struct pw_name_answer *answer)
{
        return pw_name_is_kept_by(answer, &(struct pw_name_keeper){ store->params.host, store->params.epoch });
}

const char *pw_ref_name(const struct pw_ref *ref) { return ref->kind == PW_OWNER_NAME ? ref->naming->name : NULL; }

static struct pw_claim_row row_of(struct pw_store *store, const struct pw_ref *ref)
{
        return (struct pw_claim_row){ .number = ref->number, .object = ref->object,
                                      .tenant = pw_object_tenant(store, ref->object) };
}

struct pw_claim_stamp pw_store_claim_stamp(const struct pw_store *store)
{
        return (struct pw_claim_stamp){ store->name_serial, store->name_count, store->leases.count, store->name_bound_count };
}

void pw_store_each_claim(struct pw_store *store, void (*each)(void *, const struct pw_claim_row *), void *context)
{
        const struct pw_naming *naming;
        struct pw_claim_row row;

        for (uint32_t at = 0; (naming = pw_table_next(&store->namings, &at));) {
                if (naming->state == PW_NAME_ENDING)
                        continue;
                row = row_of(store, naming->ref);
                row.name = naming->name;
                row.is_settled = naming->state == PW_NAME_BOUND;
                row.until_us = naming->lease ? naming->lease->lease.key : 0;
                each(context, &row);
        }
        for (uint32_t i = 0; i < store->leases.count; i++) {
                const struct pw_ref *lease = pw_container_of(store->leases.items[i], struct pw_ref, lease);

                if (lease->ends)
                        continue;
                row = row_of(store, lease);
                row.is_settled = true;
                row.until_us = lease->lease.key;
                each(context, &row);
        }
}

static struct pw_ref *find(const struct pw_object *object, uint64_t number)
{
        struct pw_ref *ref = NULL;

        while ((ref = pw_ref_next(object, ref)))
                if ((ref->kind == PW_OWNER_NAME || ref->kind == PW_OWNER_LEASE) && ref->number == number)
                        return ref;
        return NULL;
}

bool pw_store_claim_see(struct pw_store *store, const struct pw_object *object, uint64_t number, struct pw_claim_row *ret_row)
{
        const struct pw_ref *ref = find(object, number);

        if (!ref || (ref->kind == PW_OWNER_NAME && ref->naming->state != PW_NAME_BOUND))
                return false;
        *ret_row = row_of(store, ref);
        ret_row->is_settled = true;
        if (ref->kind == PW_OWNER_LEASE) {
                ret_row->until_us = ref->lease.key;
                return true;
        }
        ret_row->name = ref->naming->name;
        ret_row->until_us = ref->naming->lease ? ref->naming->lease->lease.key : 0;
        return true;
}

void pw_store_claim_end(struct pw_store *store, const struct pw_object *object, uint64_t number, uint64_t now_us)
{
        struct pw_ref *ref = find(object, number);

        store->now_us = now_us;
        if (ref && ref->kind == PW_OWNER_NAME)
                (void)pw_name_end(store, ref->naming);
        else if (ref)
                pw_ref_remove(store, ref);
}
