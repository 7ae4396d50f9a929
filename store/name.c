/* Names and leases: claims that belong to no session. */
#include "store/state.h"

static uint64_t name_key(const char *tenant, const char *name)
{
        return pw_text_key(tenant) * UINT64_C(0x9e3779b97f4a7c15) ^ pw_text_key(name);
}

/* A name is its reference node; those of one key are few: the table holds the last, `number` counts names up, texts decide. */
static struct pw_ref *find_name(struct pw_store *store, const char *tenant, const char *name)
{
        struct pw_ref *ref = pw_table_get(&store->names, name_key(tenant, name));

        if (!ref || strcmp(ref->name, name) || strcmp(pw_object_tenant(store, ref->object), tenant))
                return NULL;
        return ref;
}

enum pw_status pw_store_name_bind(struct pw_store *store, const char *tenant, const char *name, struct pw_object *object, struct pw_error *ret_err)
{
        uint64_t key = name_key(tenant, name);
        struct pw_ref *ref = NULL;
        char *copy;

        if (pw_table_get(&store->names, key))
                return pw_error_set(ret_err, PW_EXISTS, "name %s: bound already; remove it first", name);
        copy = strdup(name);
        if (copy && pw_ref_add(store, object, (struct pw_owner){ PW_OWNER_NAME, ++store->name_serial }, 0, &ref) == PW_OK) {
                ref->name = copy;
                if (pw_table_put(&store->names, key, ref))
                        return PW_OK;
                pw_ref_remove(store, ref, 0);
        } else {
                free(copy);
        }
        return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a name");
}

static void remove_name(struct pw_store *store, struct pw_ref *ref, uint64_t now_us)
{
        pw_table_remove(&store->names, name_key(pw_object_tenant(store, ref->object), ref->name));
        pw_ref_remove(store, ref, now_us);
}

enum pw_status pw_store_name_remove(struct pw_store *store, const char *tenant, const char *name, uint64_t now_us, struct pw_error *ret_err)
{
        struct pw_ref *ref = find_name(store, tenant, name);

        if (!ref)
                return pw_error_set(ret_err, PW_NOT_FOUND, "name %s: not bound", name);
        remove_name(store, ref, now_us);
        return PW_OK;
}

struct pw_object *pw_store_name_find(struct pw_store *store, const char *tenant, const char *name)
{
        struct pw_ref *ref = find_name(store, tenant, name);

        return ref ? ref->object : NULL;
}

enum pw_status pw_store_lease(struct pw_store *store, struct pw_object *object, uint64_t until_us, struct pw_error *ret_err)
{
        struct pw_ref *ref;

        if (pw_ref_add(store, object, (struct pw_owner){ PW_OWNER_LEASE, ++store->name_serial }, 0, &ref) != PW_OK)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a lease");
        ref->until_us = until_us;
        pw_list_append(&store->leases, &ref->of_owner);
        return PW_OK;
}

/* The node after `ref` is read before `ref` goes. */
static uint32_t remove_refs(struct pw_store *store, struct pw_object *object, bool sessions, uint64_t now_us)
{
        struct pw_ref *ref = object->holders, *next;
        uint32_t removed = 0;

        for (; ref; ref = next) {
                next = ref->next;
                if (ref->kind == PW_OWNER_RUN || (ref->kind == PW_OWNER_SESSION && !sessions))
                        continue;
                removed++;
                if (ref->kind == PW_OWNER_NAME)
                        remove_name(store, ref, now_us);
                else
                        pw_ref_remove(store, ref, now_us);
        }
        return removed;
}

enum pw_status pw_store_free_object(struct pw_store *store, struct pw_object *object, bool force, uint64_t now_us, struct pw_error *ret_err)
{
        uint32_t removed;

        object->refs++; /* so that it does not go while its claims do */
        removed = remove_refs(store, object, force, now_us);
        object->refs--;
        if (force && object->first_ref) {
                pw_ref_drop_first(store, object);
                return PW_OK;
        }
        if (!removed)
                return pw_error_set(ret_err, PW_NOT_FOUND, "it has neither name nor lease; --force drops the references of sessions too");
        if (!object->refs)
                pw_ref_lost(store, object);
        return PW_OK;
}
