/* Donation: a session's reference becomes a run's; after the scan it is known whether anybody else holds the object. */
#include "store/parts.h"

enum pw_status pw_store_donate(struct pw_store *store, uint32_t session, struct pw_object *object, uint64_t run,
                               struct pw_error *ret_err)
{
        bool first = object->first_ref && object->grantee == session;
        struct pw_ref *ref = first ? NULL : pw_ref_find(store, object, (struct pw_owner){ PW_OWNER_SESSION, session });
        enum pw_status status;

        if (object->donated)
                return pw_error_set(ret_err, PW_DONATED_USE, "it was given to another run");
        if (!first && !ref)
                return pw_error_set(ret_err, PW_GONE, "the session holds no reference to give away");
        status = pw_store_hold(store, object, (struct pw_owner){ PW_OWNER_RUN, run }, ret_err);
        if (status != PW_OK)
                return status;
        if (first)
                pw_ref_drop_first(store, object);
        else
                pw_store_release(store, object, (struct pw_owner){ PW_OWNER_SESSION, session }, store->now_us);
        object->donated = pw_object_flag(store, object, PW_ENTRY_DONATED, true);
        pw_scan_for(store, pw_segment_of(store, object->segment), object);
        return PW_OK;
}

bool pw_store_donated_alone(struct pw_store *store, struct pw_object *object)
{
        if (object->donated == 1 && object->refs == 1 && !object->proxied && !pw_scan_goes_on(store, object)) {
                object->donated = 2;
                return true;
        }
        if (object->donated == 1) {
                pw_object_flag(store, object, PW_ENTRY_DONATED, false);
                object->donated = 0;
        }
        return false;
}
