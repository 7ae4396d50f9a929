/* Leases: claims that last for a time and belong to no session; what lets go of all names and leases of an object. */
#include "store/name/name_private.h"

#define LEASES_PART 512u /* that end at once: others in the next part */

static enum pw_status check_given(const struct pw_object *object, struct pw_error *ret_err)
{
        return object->donated == 2 ? pw_error_set(ret_err, PW_DONATED_USE, "lease: the object was given to a run") : PW_OK;
}

static enum pw_status add_lease(struct pw_store *store, struct pw_object *object, uint64_t until_us, struct pw_ref **ret_ref,
                                struct pw_error *ret_err)
{
        enum pw_status status = pw_claims_check(store, object, 1, ret_err);
        struct pw_ref *ref;

        if (status == PW_OK)
                status = check_given(object, ret_err);
        if (status != PW_OK)
                return status;
        if (pw_claim_add(store, object, PW_OWNER_LEASE, &ref) == PW_OK) {
                if (pw_heap_add(&store->leases, &ref->lease, until_us)) {
                        *ret_ref = ref;
                        return PW_OK;
                }
                pw_ref_remove(store, ref);
        }
        return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a lease");
}

enum pw_status pw_store_lease(struct pw_store *store, struct pw_object *object, uint64_t until_us, struct pw_error *ret_err)
{
        struct pw_ref *lease;

        return add_lease(store, object, until_us, &lease, ret_err);
}

enum pw_status pw_lease_of_name(struct pw_store *store, struct pw_naming *naming, uint64_t until_us, struct pw_error *ret_err)
{
        struct pw_object *object = naming->ref->object;
        enum pw_status status;

        if (!until_us) {
                if (naming->lease)
                        pw_ref_remove(store, naming->lease);
                return PW_OK;
        }
        if (naming->lease) {
                status = check_given(object, ret_err);
                if (status == PW_OK)
                        pw_heap_move(&store->leases, &naming->lease->lease, until_us);
                return status;
        }
        status = add_lease(store, object, until_us, &naming->lease, ret_err);
        if (status == PW_OK)
                naming->lease->ends = naming->serial;
        return status;
}

void pw_lease_forget_name(struct pw_naming *naming)
{
        if (naming->lease)
                naming->lease->ends = 0;
        naming->lease = NULL;
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
