/* Leases: claims that last for a time and belong to no session; what lets go of all names and leases of an object. */
#include "store/name/name_private.h"

#define LEASES_PART 512u /* that end at once: others in the next part */

static enum pw_status add_lease(struct pw_store *store, struct pw_object *object, uint64_t until_us, struct pw_ref **ret_ref,
                                struct pw_error *ret_err)
{
        enum pw_status status = pw_claims_check(store, object, 1, ret_err);

        if (status != PW_OK)
                return status;
        if (object->donated == 2)
                return pw_error_set(ret_err, PW_DONATED_USE, "lease: the object was given to a run");
        if (pw_claim_add(store, object, PW_OWNER_LEASE, ret_ref) == PW_OK) {
                if (pw_heap_add(&store->leases, &(*ret_ref)->lease, until_us))
                        return PW_OK;
                pw_ref_remove(store, *ret_ref);
        }
        return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a lease");
}

enum pw_status pw_store_lease(struct pw_store *store, struct pw_object *object, uint64_t until_us, struct pw_error *ret_err)
{
        struct pw_ref *lease;

        return add_lease(store, object, until_us, &lease, ret_err);
}

enum pw_status pw_lease_of_name(struct pw_store *store, const struct pw_naming *naming, uint64_t until_us, struct pw_error *ret_err)
{
        struct pw_ref *lease;
        enum pw_status status = add_lease(store, naming->ref->object, until_us, &lease, ret_err);

        if (status == PW_OK)
                lease->ends = naming->serial;
        return status;
}

/* The node after `ref` is read before `ref` goes. */
void pw_lease_forget_name(struct pw_store *store, const struct pw_naming *naming, bool remove)
{
        struct pw_object *object = naming->ref->object;
        struct pw_ref *ref = pw_ref_next(object, NULL), *next;

        for (; ref; ref = next) {
                next = pw_ref_next(object, ref);
                if (ref->kind != PW_OWNER_LEASE || ref->ends != naming->serial)
                        continue;
                ref->ends = 0;
                if (remove)
                        pw_ref_remove(store, ref);
        }
}

/* In parts: who let many leases end at once holds nobody else up. */
static void end_leases(struct pw_store *store)
{
        for (uint32_t i = 0; i < LEASES_PART && pw_heap_first_key(&store->leases) <= store->now_us; i++) {
                struct pw_ref *lease = pw_container_of(pw_heap_first(&store->leases), struct pw_ref, lease);
                struct pw_naming *naming = lease->ends ? pw_table_get(&store->namings, lease->ends) : NULL;

                if (naming)
                        pw_name_end(store, naming);
                pw_ref_remove(store, lease);
        }
}

void pw_names_tick(struct pw_store *store)
{
        end_leases(store);
        pw_wanted_tick(store);
}

/* --- the end of an object ----------------------------------------------------------------------------------------------------- */

/* The node after `ref` is read before `ref` goes. A name goes once metadata knows. */
static uint32_t remove_refs(struct pw_store *store, struct pw_object *object, bool sessions)
{
        struct pw_ref *ref = pw_ref_next(object, NULL), *next;
        uint32_t removed = 0;

        for (; ref; ref = next) {
                next = pw_ref_next(object, ref);
                if (ref->kind == PW_OWNER_RUN || ref->kind == PW_OWNER_OBJECT || (ref->kind == PW_OWNER_SESSION && !sessions))
                        continue;
                if (ref->kind == PW_OWNER_NAME) {
                        removed += pw_name_end(store, ref->naming);
                        continue;
                }
                removed++;
                pw_ref_remove(store, ref);
        }
        return removed;
}

enum pw_status pw_store_free_object(struct pw_store *store, struct pw_object *object, bool force, uint64_t now_us,
                                    struct pw_error *ret_err)
{
        bool first = force && object->first_ref;
        uint32_t removed;

        store->now_us = now_us;
        object->forced |= force;
        object->refs++; /* so that it is listed as dropped once at most */
        removed = remove_refs(store, object, force);
        if (first) {
                object->first_ref = 0;
                object->refs--;
        }
        pw_ref_drop(store, object, 1);
        if (!removed && !force)
                return pw_error_set(ret_err, PW_NOT_FOUND,
                                    "it has neither name nor lease; --force drops the references of sessions too");
        return PW_OK;
}
