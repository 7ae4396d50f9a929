/* Transfer: an object goes on to another owner, who is charged for it from then on and holds a reference to it. */
#include "store/parts.h"

/* Whoever it was transferred to before, is charged no more for that. */
static void forget_charge(const struct pw_object *object)
{
        for (struct pw_ref *ref = NULL; (ref = pw_ref_next(object, ref));)
                ref->charged = 0;
}

/* The session's claim: it has one, or is given one, which the next reference that it takes is. */
static enum pw_status claim_of(struct pw_store *store, struct pw_object *object, const struct session *session,
                               struct pw_ref **ret_ref)
{
        struct pw_owner owner = { PW_OWNER_SESSION, session->number };
        enum pw_status status;

        *ret_ref = pw_ref_find(store, object, owner);
        if (*ret_ref)
                return PW_OK;
        status = pw_ref_add(store, object, owner, ret_ref);
        if (status == PW_OK)
                (*ret_ref)->given = 1;
        return status;
}

enum pw_status pw_store_transfer(struct pw_store *store, struct pw_object *object, uint32_t to, uint64_t now_us,
                                 struct pw_error *ret_err)
{
        const struct session *session = pw_session_of(store, to);
        struct pw_ref *ref;

        store->now_us = now_us;
        if (!session || session->tenant != pw_segment_of(store, object->segment)->tenant)
                return pw_error_set(ret_err, PW_NOT_FOUND, "transfer: the tenant of the object has no such session");
        if (object->donated)
                return pw_error_set(ret_err, PW_DONATED_USE, "transfer: the object was given to a run");
        if (object->first_ref && object->grantee == to) {
                forget_charge(object);
                return PW_OK;
        }
        if (claim_of(store, object, session, &ref) != PW_OK)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a reference");
        forget_charge(object);
        ref->charged = 1;
        return PW_OK;
}

enum pw_status pw_store_transfer_to_name(struct pw_store *store, struct pw_object *object, const char *name,
                                         struct pw_error *ret_err)
{
        struct pw_ref *ref = pw_name_ref(store, pw_object_tenant(store, object), name);

        if (!ref)
                return pw_error_set(ret_err, PW_NOT_FOUND, "transfer: name %.255s is not bound: pw_name() it first", name);
        if (ref->object != object)
                return pw_error_set(ret_err, PW_EXISTS, "transfer: name %.255s is bound to another object", name);
        forget_charge(object);
        ref->charged = 1;
        return PW_OK;
}

bool pw_store_holds(struct pw_store *store, const struct pw_object *object, uint32_t session)
{
        return (object->first_ref && object->grantee == session) ||
               pw_ref_find(store, object, (struct pw_owner){ PW_OWNER_SESSION, session });
}
