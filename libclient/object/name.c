/* Names, leases and transfers: who holds an object. The daemon is asked, but for names that this host keeps. */
#include "libclient/listing.h"
#include "libclient/object/foreign.h"

static enum pw_status name_check(const char *name, struct pw_error *ret_err)
{
        if (!name)
                return pw_given_check(name, "the name", ret_err);
        size_t bytes = strlen(name);
        if (bytes < 1 || bytes > 255)
                return pw_error_set(ret_err, PW_INVALID, "a name has 1 to 255 bytes, this one %zu", bytes);
        for (size_t i = 0; i < bytes; i++)
                if (name[i] <= ' ' || name[i] > '~') /* as the daemon has it */
                        return pw_error_set(ret_err, PW_INVALID, "name: byte %zu, 0x%02x, is not a printable ASCII character", i,
                                            (unsigned char)name[i]);
        return PW_OK;
}

/* Ask something about the object of `future`: `ret_id` is where the request's message has its id. */
static enum pw_status tell_about(const struct pw_future *future, Pathways__Wire__Request *request,
                                 Pathways__Wire__ObjectId **ret_id, struct pw_error *ret_err)
{
        enum pw_status status = pw_future_check(future, ret_err);
        if (status != PW_OK)
                return status;
        Pathways__Wire__ObjectId id = pw_wire_id(pw_future_local_id(future));
        *ret_id = &id;
        return pw_session_tell(pw_future_session(future), request, ret_err);
}

enum pw_status pw_name(struct pw_future *future, const char *name, struct pw_error *ret_err)
{
        return pw_name_for(future, name, 0, ret_err);
}

enum pw_status pw_name_for(struct pw_future *future, const char *name, int64_t ttl_us, struct pw_error *ret_err)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__NameBind bind = PATHWAYS__WIRE__NAME_BIND__INIT;
        enum pw_status status = name_check(name, ret_err);
        if (status != PW_OK)
                return status;
        bind.name = (char *)(uintptr_t)name;
        bind.ttl_us = ttl_us;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_NAME_BIND;
        request.name_bind = &bind;
        return tell_about(future, &request, &bind.object, ret_err);
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

/* It is bound on this host, and so in shared memory; an object that is gone by now the daemon knows more of. */
static bool is_found_here(struct pw_session *session, const char *name, struct pw_future **ret_future)
{
        const struct pw_name_cell *names = pw_session_names(session);
        struct pw_cell cell;
        if (!names || !pw_names_find(names, name, &cell))
                return false;
        struct pw_id id = pw_id_make(session->host, session->epoch, pw_cell_segment(cell), pw_cell_slot(cell),
                                     pw_cell_generation(cell));
        return pw_open(session, id, ret_future, NULL) == PW_OK;
}

enum pw_status pw_lookup(struct pw_session *session, const char *name, int64_t timeout_us, struct pw_future **ret_future,
                         struct pw_error *ret_err)
{
        enum pw_status status = pw_session_check(session, ret_err);
        if (status == PW_OK)
                status = name_check(name, ret_err);
        if (status == PW_OK)
                status = pw_given_check(ret_future, "ret_future", ret_err);
        if (status != PW_OK || is_found_here(session, name, ret_future))
                return status;
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__NameLookup lookup = PATHWAYS__WIRE__NAME_LOOKUP__INIT;
        lookup.name = (char *)(uintptr_t)name;
        lookup.timeout_us = timeout_us == PW_FOREVER ? -1 : timeout_us < 0 ? 0 : timeout_us;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_NAME_LOOKUP;
        request.name_lookup = &lookup;
        struct pw_answer answer;
        pw_session_ref(session); /* pw_close() may come meanwhile */
        status = pw_session_call(session, &request, PATHWAYS__WIRE__REPLY__BODY_OBJECT, &answer, ret_err);
        if (status == PW_OK) {
                status = pw_session_adopt(session, answer.reply->object, ret_future, ret_err);
                pw_answer_done(&answer);
        }
        pw_session_unref(session);
        return status;
}

enum pw_status pw_lease(struct pw_future *future, int64_t ttl_us, struct pw_error *ret_err)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__Lease lease = PATHWAYS__WIRE__LEASE__INIT;
        if (ttl_us <= 0)
                return pw_error_set(ret_err, PW_INVALID, "a lease of %lld us: it has to be for a time to come", (long long)ttl_us);
        lease.ttl_us = ttl_us;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_LEASE;
        request.lease = &lease;
        return tell_about(future, &request, &lease.object, ret_err);
}

enum pw_status pw_transfer(struct pw_future *future, const char *to, struct pw_error *ret_err)
{
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__Transfer transfer = PATHWAYS__WIRE__TRANSFER__INIT;
        if (!to || !*to)
                return pw_error_set(ret_err, PW_INVALID, "transfer: to nobody; name an owner: PROCESS[PID], pid N or name NAME");
        transfer.to = (char *)(uintptr_t)to;
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_TRANSFER;
        request.transfer = &transfer;
        return tell_about(future, &request, &transfer.object, ret_err);
}
