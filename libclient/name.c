/* Names and leases: references that outlive the session, asked of the daemon. */
#include "libclient/session.h"

static enum pw_status name_check(const char *name, struct pw_error *ret_err)
{
        size_t bytes = name ? strlen(name) : 0;
        if (bytes < 1 || bytes > 255)
                return pw_error_set(ret_err, PW_INVALID, "a name has 1 to 255 bytes, this one %zu", bytes);
        for (size_t i = 0; i < bytes; i++)
                if ((unsigned char)name[i] <= ' ' || name[i] == 0x7f)
                        return pw_error_set(ret_err, PW_INVALID, "name: byte %zu is a space or cannot be printed", i);
        return PW_OK;
}

static Pathways__Wire__ObjectId object_of(const struct pw_future *future)
{
        Pathways__Wire__ObjectId object = PATHWAYS__WIRE__OBJECT_ID__INIT;
        struct pw_id id = pw_future_id(future);
        object.place = id.place;
        object.epoch = id.epoch;
        object.generation = id.generation;
        return object;
}

enum pw_status pw_name(struct pw_future *future, const char *name, struct pw_error *ret_err)
{
        enum pw_status status = pw_future_check(future, ret_err);
        if (status == PW_OK)
                status = name_check(name, ret_err);
        if (status != PW_OK)
                return status;
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__NameBind bind = PATHWAYS__WIRE__NAME_BIND__INIT;
        Pathways__Wire__ObjectId object = object_of(future);
        bind.name = (char *)(uintptr_t)name;
        bind.object = &object;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_NAME_BIND;
        request.name_bind = &bind;
        return pw_session_tell(pw_future_session(future), &request, ret_err);
}

enum pw_status pw_unname(struct pw_session *session, const char *name, struct pw_error *ret_err)
{
        enum pw_status status = pw_session_check(session, ret_err);
        if (status == PW_OK)
                status = name_check(name, ret_err);
        if (status != PW_OK)
                return status;
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__NameRemove name_remove = PATHWAYS__WIRE__NAME_REMOVE__INIT;
        name_remove.name = (char *)(uintptr_t)name;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_NAME_REMOVE;
        request.name_remove = &name_remove;
        return pw_session_tell(session, &request, ret_err);
}

enum pw_status pw_lookup(struct pw_session *session, const char *name, int64_t timeout_us, struct pw_future **ret_future,
                         struct pw_error *ret_err)
{
        enum pw_status status = pw_session_check(session, ret_err);
        if (status == PW_OK)
                status = name_check(name, ret_err);
        if (status != PW_OK)
                return status;
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__NameLookup lookup = PATHWAYS__WIRE__NAME_LOOKUP__INIT;
        lookup.name = (char *)(uintptr_t)name;
        lookup.timeout_us = timeout_us == PW_FOREVER ? -1 : timeout_us < 0 ? 0 : timeout_us;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_NAME_LOOKUP;
        request.name_lookup = &lookup;
        struct pw_answer answer;
        status = pw_session_call(session, &request, PATHWAYS__WIRE__REPLY__BODY_OBJECT, &answer, ret_err);
        if (status != PW_OK)
                return status;
        if (answer.reply->object->object)
                status = pw_session_adopt(session, answer.reply->object->object, ret_future, ret_err);
        else
                status = pw_error_set(ret_err, PW_PROTOCOL, "pathwaysd found name %s but sent no id", name);
        pw_answer_done(&answer);
        return status;
}

enum pw_status pw_lease(struct pw_future *future, int64_t ttl_us, struct pw_error *ret_err)
{
        enum pw_status status = pw_future_check(future, ret_err);
        if (status != PW_OK)
                return status;
        if (ttl_us <= 0)
                return pw_error_set(ret_err, PW_INVALID, "a lease of %lld us", (long long)ttl_us);
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__Lease lease = PATHWAYS__WIRE__LEASE__INIT;
        Pathways__Wire__ObjectId object = object_of(future);
        lease.object = &object;
        lease.ttl_us = ttl_us;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_LEASE;
        request.lease = &lease;
        return pw_session_tell(pw_future_session(future), &request, ret_err);
}
