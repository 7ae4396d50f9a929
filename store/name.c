/* Names and leases: claims that belong to no session. */
#include "store/parts.h"

static uint64_t name_key(const char *tenant, const char *name)
{
        return pw_text_key(tenant) * UINT64_C(0x9e3779b97f4a7c15) ^ pw_text_key(name);
}

/* A name is its reference. The table holds one per key: of two names with one key the second cannot be bound. */
struct pw_ref *pw_name_ref(struct pw_store *store, const char *tenant, const char *name)
{
        struct pw_ref *ref = pw_table_get(&store->names, name_key(tenant, name));

        if (!ref || strcmp(ref->name, name) || strcmp(pw_object_tenant(store, ref->object), tenant))
                return NULL;
        return ref;
}

enum pw_status pw_store_name_bind(struct pw_store *store, const char *tenant, const char *name, struct pw_object *object,
                                  struct pw_error *ret_err)
{
        uint64_t key = name_key(tenant, name);
        struct pw_ref *ref = pw_name_ref(store, tenant, name);
        char *copy;

        /* A name is found by the tenant of its object: an operator's session sees objects of tenants whose names it
         * does not share. */
        if (strcmp(pw_object_tenant(store, object), tenant))
                return pw_error_set(ret_err, PW_DENIED,
                                    "name %s: the object is of tenant %s, names of tenant %s are for its own objects", name,
                                    pw_object_tenant(store, object), tenant);
        if (ref && ref->object == object)
                return PW_OK;
        if (pw_table_get(&store->names, key))
                return pw_error_set(ret_err, PW_EXISTS, "name %s: bound already; remove it first", name);
        if (object->donated == 2)
                return pw_error_set(ret_err, PW_DONATED_USE, "name %s: the object was given to a run", name);
        copy = strdup(name);
        if (copy && pw_ref_add(store, object, (struct pw_owner){ PW_OWNER_NAME, ++store->name_serial }, &ref) == PW_OK) {
                ref->name = copy;
                if (pw_table_put(&store->names, key, ref))
                        return PW_OK;
                pw_ref_remove(store, ref);
        } else {
                free(copy);
        }
        return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for name %s", name);
}

void pw_name_forget(struct pw_store *store, const struct pw_ref *ref)
{
        if (ref->kind == PW_OWNER_NAME)
                pw_table_remove(&store->names, name_key(pw_object_tenant(store, ref->object), ref->name));
}

static void remove_ref(struct pw_store *store, struct pw_ref *ref)
{
        pw_name_forget(store, ref);
        pw_ref_remove(store, ref);
}

enum pw_status pw_store_name_remove(struct pw_store *store, const char *tenant, const char *name, uint64_t now_us,
                                    struct pw_error *ret_err)
{
        struct pw_ref *ref = pw_name_ref(store, tenant, name);

        if (!ref)
                return pw_error_set(ret_err, PW_NOT_FOUND, "name %s: not bound", name);
        store->now_us = now_us;
        remove_ref(store, ref);
        return PW_OK;
}

struct pw_object *pw_store_name_find(struct pw_store *store, const char *tenant, const char *name)
{
        struct pw_ref *ref = pw_name_ref(store, tenant, name);

        return ref ? ref->object : NULL;
}

/* Leases lie in order of their end; most are as long as the one before, and end last. */
enum pw_status pw_store_lease(struct pw_store *store, struct pw_object *object, uint64_t until_us, struct pw_error *ret_err)
{
        struct pw_list *before = store->leases.prev;
        struct pw_ref *ref;

        if (object->donated == 2)
                return pw_error_set(ret_err, PW_DONATED_USE, "lease: the object was given to a run");
        if (pw_ref_add(store, object, (struct pw_owner){ PW_OWNER_LEASE, ++store->name_serial }, &ref) != PW_OK)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a lease");
        ref->until_us = until_us;
        while (before != &store->leases && pw_list_item(before, struct pw_ref, of_owner)->until_us > until_us)
                before = before->prev;
        pw_list_append(before->next, &ref->of_owner);
        return PW_OK;
}

void pw_lease_tick(struct pw_store *store)
{
        struct pw_ref *ref;

        pw_list_each(&store->leases, ref, struct pw_ref, of_owner) {
                if (ref->until_us > store->now_us)
                        return;
                pw_ref_remove(store, ref);
        }
}

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
                remove_ref(store, ref);
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
