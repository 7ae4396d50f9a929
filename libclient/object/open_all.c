/* Many references by id at once: those to objects of other hosts are asked for together. */
#include "libclient/object/foreign.h"
#include "libclient/object/unref.h"

#include "base/memory.h"

#define AT_ONCE 512u /* of a session at a time; a daemon takes no more than some from one */

/* Those that are asked for together: requests, their parts, answers, and which of the caller's ids each is. */
struct batch {
        Pathways__Wire__Request requests[AT_ONCE], *pointers[AT_ONCE];
        Pathways__Wire__ObjectOpen opens[AT_ONCE];
        Pathways__Wire__ObjectId objects[AT_ONCE];
        struct pw_answer answers[AT_ONCE];
        size_t places[AT_ONCE];
        uint32_t count;
};

static void batch_add(struct batch *batch, struct pw_id id, size_t place)
{
        uint32_t i = batch->count++;
        pathways__wire__request__init(&batch->requests[i]);
        pathways__wire__object_open__init(&batch->opens[i]);
        batch->objects[i] = pw_wire_id(id);
        batch->opens[i].object = &batch->objects[i];
        batch->opens[i].timeout_us = PW_FOREIGN_OPEN_US;
        batch->requests[i].body_case = PATHWAYS__WIRE__REQUEST__BODY_OBJECT_OPEN;
        batch->requests[i].object_open = &batch->opens[i];
        batch->pointers[i] = &batch->requests[i];
        batch->places[i] = place;
}

static enum pw_status take_answer(struct pw_session *session, const struct pw_answer *answer, struct pw_future **ret_future,
                                  struct pw_error *ret_err)
{
        enum pw_status status = pw_answer_status(answer, ret_err);
        if (status != PW_OK)
                return status;
        if (answer->reply->body_case != PATHWAYS__WIRE__REPLY__BODY_OBJECT)
                return pw_error_set(ret_err, PW_PROTOCOL, "pathwaysd answered an open with body %d", (int)answer->reply->body_case);
        return pw_session_adopt(session, answer->reply->object, ret_future, ret_err);
}

/* Ask for what is in it; it is empty then. Each that was got is a future, also where another one failed: the first one says why. */
static enum pw_status batch_ask(struct pw_session *session, struct batch *batch, struct pw_future **ret_futures,
                                struct pw_error *ret_err)
{
        struct pw_error other;
        enum pw_status status = PW_OK;
        if (batch->count)
                status = pw_connection_call_all(session->connection, batch->pointers, batch->count, batch->answers, ret_err);
        for (uint32_t i = 0; status != PW_DAEMON_GONE && i < batch->count && batch->answers[i].reply; i++) {
                enum pw_status one = take_answer(session, &batch->answers[i], &ret_futures[batch->places[i]],
                                                 status == PW_OK ? ret_err : &other);
                status = status == PW_OK ? one : status;
                pw_answer_done(&batch->answers[i]);
        }
        batch->count = 0;
        return status;
}

static enum pw_status open_all(struct pw_session *session, const struct pw_id *ids, size_t count, struct batch *batch,
                               struct pw_future **ret_futures, struct pw_error *ret_err)
{
        enum pw_status status = PW_OK;
        for (size_t i = 0; i < count && status == PW_OK; i++) {
                if (pw_id_host(ids[i]) == session->host)
                        status = pw_open(session, ids[i], &ret_futures[i], ret_err);
                else
                        batch_add(batch, ids[i], i);
                if (status == PW_OK && batch->count == AT_ONCE)
                        status = batch_ask(session, batch, ret_futures, ret_err);
        }
        return status == PW_OK ? batch_ask(session, batch, ret_futures, ret_err) : status;
}

enum pw_status pw_open_all(struct pw_session *session, const struct pw_id *ids, size_t count, struct pw_future **ret_futures,
                           struct pw_error *ret_err)
{
        enum pw_status status = pw_session_check(session, ret_err);
        if (status == PW_OK && count)
                status = pw_given_check(ids, "ids", ret_err);
        if (status == PW_OK && count)
                status = pw_given_check(ret_futures, "ret_futures", ret_err);
        if (status != PW_OK || !count)
                return status;
        pw_auto_free struct batch *batch = malloc(sizeof *batch);
        pw_auto_free struct pw_future **futures = calloc(count, sizeof *futures);
        if (!batch || !futures)
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory to open %zu objects", count);
        batch->count = 0;
        pw_session_ref(session); /* pw_close() may come meanwhile */
        status = open_all(session, ids, count, batch, futures, ret_err);
        if (status == PW_OK)
                memcpy(ret_futures, futures, count * sizeof *futures);
        for (size_t i = 0; status != PW_OK && i < count; i++)
                pw_unref(futures[i]);
        pw_session_unref(session);
        return status;
}
