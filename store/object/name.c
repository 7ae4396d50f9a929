/* Names and leases: claims that belong to no session. */
#include "store/parts.h"

#define CLAIM_BYTES 320
#define LEASES_PART 512u /* that end at once: others in the next part */

/* --- what is bound ------------------------------------------------------------------------------------------------------------ */

static uint64_t name_key(const struct pw_store *store, const char *tenant, const char *name)
{
        return pw_hash_pair(&store->params.secret, tenant, name);
}

/* A name is its reference. Those of one key are a chain; what they are is compared, the tenant too. */
struct pw_ref *pw_name_ref(struct pw_store *store, const char *tenant, const char *name)
{
        struct pw_ref *ref = pw_table_get(&store->names, name_key(store, tenant, name));

        while (ref && (strcmp(ref->name, name) || strcmp(pw_object_tenant(store, ref->object), tenant)))
                ref = ref->same_key;
        return ref;
}

static bool chain(struct pw_store *store, struct pw_ref *ref, uint64_t key)
{
        ref->same_key = pw_table_get(&store->names, key);
        if (!pw_table_put(&store->names, key, ref))
                return false;
        store->name_count++;
        return true;
}

/* False: it never was in the chain, for lack of memory. */
static bool unchain(struct pw_store *store, const struct pw_ref *ref)
{
        uint64_t key = name_key(store, pw_object_tenant(store, ref->object), ref->name);
        struct pw_ref *first = pw_table_get(&store->names, key);
        bool found = false;

        for (struct pw_ref **at = &first; *at; at = &(*at)->same_key) {
                if (*at != ref)
                        continue;
                *at = ref->same_key;
                store->name_count--;
                found = true;
                break;
        }
        if (first)
                (void)!pw_table_put(&store->names, key, first); /* its cell is there */
        else
                pw_table_remove(&store->names, key);
        return found;
}

static void end_name(struct pw_store *store, const struct pw_ref *ref)
{
        if (unchain(store, ref) && store->unnamed)
                store->unnamed(store->unnamed_context, pw_object_tenant(store, ref->object), ref->name,
                               pw_object_id(store, ref->object));
}

void pw_store_tell_unnamed(struct pw_store *store, pw_store_unnamed_fn unnamed, void *context)
{
        store->unnamed = unnamed;
        store->unnamed_context = context;
}

/* --- what is claimed ---------------------------------------------------------------------------------------------------------- */

/* Errors: PW_LIMIT. */
static enum pw_status check_claims(struct pw_store *store, const struct pw_object *object, struct pw_error *ret_err)
{
        const struct tenant *tenant = pw_segment_of(store, object->segment)->tenant;

        if (tenant->claims >= PW_STORE_CLAIMS_MAX)
                return pw_error_set(ret_err, PW_LIMIT, "tenant %s has %u names and leases, as many as there may be: remove some",
                                    tenant->name, tenant->claims);
        if (object->claims >= PW_STORE_CLAIMS_OF_ONE_MAX)
                return pw_error_set(ret_err, PW_LIMIT, "the object has %u names and leases, as many as there may be: remove some",
                                    object->claims);
        return PW_OK;
}

/* Charged to the tenant: the node, its place in the table or heap, a name. */
static void keep(struct pw_store *store, const struct pw_object *object, int64_t bytes)
{
        pw_keep_count(store, pw_segment_of(store, object->segment)->tenant, PW_KEPT_NAMES, bytes);
}

static enum pw_status add_claim(struct pw_store *store, struct pw_object *object, enum pw_owner_kind kind, struct pw_ref **ret_ref)
{
        enum pw_status status = pw_ref_add(store, object, (struct pw_owner){ kind, ++store->name_serial }, ret_ref);

        if (status != PW_OK)
                return status;
        pw_segment_of(store, object->segment)->tenant->claims++;
        object->claims++;
        keep(store, object, CLAIM_BYTES);
        return PW_OK;
}

void pw_name_ref_gone(struct pw_store *store, struct pw_ref *ref)
{
        if (ref->kind != PW_OWNER_NAME && ref->kind != PW_OWNER_LEASE)
                return;
        pw_segment_of(store, ref->object->segment)->tenant->claims--;
        ref->object->claims--;
        keep(store, ref->object, -CLAIM_BYTES);
        if (ref->kind == PW_OWNER_LEASE)
                pw_heap_remove(&store->leases, &ref->lease);
        else if (ref->name)
                end_name(store, ref);
        free(ref->name);
}

/* --- names -------------------------------------------------------------------------------------------------------------------- */

static enum pw_status check_bind(struct pw_store *store, const char *tenant, const char *name, const struct pw_object *object,
                                 struct pw_error *ret_err)
{
        /* A name is found by the tenant of its object: an operator's session sees objects of tenants whose names it
         * does not share. */
        if (strcmp(pw_object_tenant(store, object), tenant))
                return pw_error_set(ret_err, PW_DENIED,
                                    "name %s: the object is of tenant %s, names of tenant %s are for its own objects", name,
                                    pw_object_tenant(store, object), tenant);
        if (pw_name_ref(store, tenant, name))
                return pw_error_set(ret_err, PW_EXISTS, "name %s: bound already; pw_unname() or `pathways free` lets it go", name);
        if (object->donated == 2)
                return pw_error_set(ret_err, PW_DONATED_USE, "name %s: the object was given to a run", name);
        return check_claims(store, object, ret_err);
}

enum pw_status pw_store_name_bind(struct pw_store *store, const char *tenant, const char *name, struct pw_object *object,
                                  struct pw_error *ret_err)
{
        struct pw_ref *ref = pw_name_ref(store, tenant, name);
        enum pw_status status;

        if (ref && ref->object == object)
                return PW_OK;
        status = check_bind(store, tenant, name, object, ret_err);
        if (status != PW_OK)
                return status;
        if (add_claim(store, object, PW_OWNER_NAME, &ref) == PW_OK) {
                ref->name = strdup(name);
                if (ref->name && chain(store, ref, name_key(store, tenant, name)))
                        return PW_OK;
                pw_ref_remove(store, ref);
        }
        return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for name %s", name);
}

enum pw_status pw_store_name_remove(struct pw_store *store, const char *tenant, const char *name, uint64_t now_us,
                                    struct pw_error *ret_err)
{
        struct pw_ref *ref = pw_name_ref(store, tenant, name);

        if (!ref)
                return pw_error_set(ret_err, PW_NOT_FOUND, "name %s: not bound", name);
        store->now_us = now_us;
        pw_ref_remove(store, ref);
        return PW_OK;
}

struct pw_object *pw_store_name_find(struct pw_store *store, const char *tenant, const char *name)
{
        struct pw_ref *ref = pw_name_ref(store, tenant, name);

        return ref ? ref->object : NULL;
}

/* --- leases ------------------------------------------------------------------------------------------------------------------- */

static enum pw_status add_lease(struct pw_store *store, struct pw_object *object, uint64_t until_us, struct pw_ref **ret_ref,
                                struct pw_error *ret_err)
{
        enum pw_status status = check_claims(store, object, ret_err);

        if (status != PW_OK)
                return status;
        if (object->donated == 2)
                return pw_error_set(ret_err, PW_DONATED_USE, "lease: the object was given to a run");
        if (add_claim(store, object, PW_OWNER_LEASE, ret_ref) == PW_OK) {
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

enum pw_status pw_store_name_until(struct pw_store *store, const char *tenant, const char *name, uint64_t until_us,
                                   struct pw_error *ret_err)
{
        const struct pw_ref *ref = pw_name_ref(store, tenant, name);
        struct pw_ref *lease;
        char *copy = strdup(name);
        enum pw_status status = PW_NO_MEMORY;

        if (!ref)
                status = pw_error_set(ret_err, PW_NOT_FOUND, "name %s: not bound", name);
        else if (!copy)
                pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a lease");
        else
                status = add_lease(store, ref->object, until_us, &lease, ret_err);
        if (status != PW_OK) {
                free(copy);
                return status;
        }
        lease->name = copy;
        lease->ends = ref->number;
        return PW_OK;
}

static void end_lease(struct pw_store *store, struct pw_ref *lease)
{
        struct pw_ref *name = lease->name ? pw_name_ref(store, pw_object_tenant(store, lease->object), lease->name) : NULL;

        if (name && name->number == lease->ends)
                pw_ref_remove(store, name);
        pw_ref_remove(store, lease);
}

/* In parts: who let many leases end at once holds nobody else up. */
void pw_lease_tick(struct pw_store *store)
{
        for (uint32_t i = 0; i < LEASES_PART && pw_heap_first_key(&store->leases) <= store->now_us; i++)
                end_lease(store, pw_container_of(pw_heap_first(&store->leases), struct pw_ref, lease));
}

/* --- the end of an object ----------------------------------------------------------------------------------------------------- */

/* The node after `ref` is read before `ref` goes. */
static uint32_t remove_refs(struct pw_store *store, struct pw_object *object, bool sessions)
{
        struct pw_ref *ref = pw_ref_next(object, NULL), *next;
        uint32_t removed = 0;

        for (; ref; ref = next) {
                next = pw_ref_next(object, ref);
                if (ref->kind == PW_OWNER_RUN || ref->kind == PW_OWNER_OBJECT || (ref->kind == PW_OWNER_SESSION && !sessions))
                        continue;
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
