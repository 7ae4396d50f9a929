/* Questions about names between hosts, and their answers. */
#include "daemon/peer/name/naming.h"

#include "base/memory.h"
#include "daemon/peer/asks.h"
#include "daemon/peer/name/handing.h"
#include "daemon/peer/name/name_codec.h"
#include "daemon/session/output.h"
#include "store/name.h"
#include "store/object.h"

#include <stdlib.h>

/* Of a session of this host; its number is that of the message. */
struct asked {
        struct pw_list link;     /* in peers->names_asked */
        uint64_t number, request;
        uint32_t host, session;
        struct pw_tenant *tenant;
        struct pw_id id;
        uint64_t since_us;
};

/* Of another host; its number is that of the request in the store. */
struct question {
        struct pw_list link;     /* in peers->name_questions */
        uint64_t number, theirs;
        uint32_t host;
};

/* What another host and this one have said of names that are waited for. */
struct waiting {
        bool told, waits;        /* this host has said WAITS, and the other one not BOUND since; and the other way about */
        uint64_t seen, theirs;   /* what the other's BOUND said last; what it has seen of ours */
};

/* --- asking ------------------------------------------------------------------------------------------------------------------- */

static void end(struct pw_peers *peers, struct asked *asked)
{
        pw_asks_end(asked->tenant, pw_session_get(&peers->daemon->registry, asked->session));
        pw_list_remove(&asked->link);
        free(asked);
}

static void refuse(struct pw_dsession *session, uint64_t request, const struct pw_foreign_name *name, struct pw_error *err)
{
        pw_error_prefix(err, "name %s", name->name);
        pw_session_reply_error(session, request, err->status, err->text);
}

static enum pw_status say(struct pw_dsession *session, const struct asked *asked, const struct pw_foreign_name *name,
                          struct pw_error *ret_err)
{
        struct pw_peers *peers = session->daemon->peers;
        struct pw_peer_name message = { .kind = name->removes ? PW_PEER_NAME_REMOVE : PW_PEER_NAME_BIND, .number = asked->number,
                                        .tenant = session->tenant->name, .name = name->name, .id = name->object,
                                        .ttl_us = name->ttl_us };
        struct pw_link_frame *frame;
        struct pw_peer *peer;
        enum pw_status status = pw_hosts_peer(&peers->hosts, asked->host, &peer, ret_err);

        if (status != PW_OK)
                return status;
        frame = pw_peer_name_frame(&message);
        if (!frame)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a question");
        pw_peer_want(peer, pw_boot_us()); /* so that the question ends in an answer, or with the term */
        pw_peers_send(peers, asked->host, PW_PEER_BODY_NAME, frame);
        return PW_OK;
}

static enum pw_status home_has_ended(struct pw_id id, struct pw_error *ret_err)
{
        char text[PW_ID_TEXT_BYTES];

        return pw_error_set(ret_err, PW_HOST_LOST, "the pathwaysd that was the home of %s has ended: what only replicas have "
                            "gets no name; put it again", pw_id_format(id, text));
}

static enum pw_status check(const struct pw_dsession *session, const struct pw_foreign_name *name,
                            struct pw_error *ret_err)
{
        if (pw_id_host(name->object) == session->daemon->host && !name->keeper)
                return home_has_ended(name->object, ret_err);
        if (!strncmp(session->tenant->name, "uid-", 4))
                return pw_error_set(ret_err, PW_DENIED, "tenant %s has no name, so that no other host knows which names are its",
                                    session->tenant->name);
        return PW_OK;
}

void pw_naming_ask(struct pw_dsession *session, uint64_t request, const struct pw_foreign_name *name)
{
        struct pw_peers *peers = session->daemon->peers;
        struct asked *asked = malloc(sizeof *asked);
        struct pw_error err;
        enum pw_status status = asked ? check(session, name, &err)
                                      : pw_error_set(&err, PW_NO_MEMORY, "pathwaysd: out of memory for a question");

        if (status == PW_OK)
                status = pw_asks_begin(session, &err);
        if (status == PW_OK) {
                *asked = (struct asked){ .number = ++peers->next_name, .request = request,
                                         .host = name->keeper ? name->keeper : pw_id_host(name->object),
                                         .session = session->number, .tenant = session->tenant, .id = name->object,
                                         .since_us = pw_now_us() };
                pw_list_init(&asked->link);
                pw_list_append(&peers->names_asked, &asked->link);
                status = say(session, asked, name, &err);
                if (status == PW_OK)
                        return;
                end(peers, asked);
                asked = NULL;
        }
        free(asked);
        refuse(session, request, name, &err);
}

/* A session that does not read its replies ends with one, and all that it asked with it: so this is over before it is told. */
static void finish(struct pw_peers *peers, struct asked *asked, enum pw_status status, const char *text)
{
        struct pw_dsession *session = pw_session_get(&peers->daemon->registry, asked->session);
        uint64_t request = asked->request;

        end(peers, asked);
        if (session && status == PW_OK)
                pw_session_reply_ok(session, request);
        else if (session)
                pw_session_reply_error(session, request, status, text);
}

static void answered(struct pw_peers *peers, uint32_t host, const struct pw_peer_name *message)
{
        struct asked *asked;

        pw_list_each(&peers->names_asked, asked, struct asked, link) {
                if (asked->number != message->number || asked->host != host)
                        continue;
                finish(peers, asked, message->status, message->text);
                return;
        }
        if (message->number & PW_HANDING_NUMBERS)
                pw_handing_answered(peers, host, message->number & ~PW_HANDING_NUMBERS, message->status);
}

void pw_naming_session_end(struct pw_dsession *session)
{
        struct asked *asked;

        pw_list_each(&session->daemon->peers->names_asked, asked, struct asked, link)
                if (asked->session == session->number)
                        end(session->daemon->peers, asked);
}

void pw_naming_each_wait(const struct pw_peers *peers, const struct pw_dsession *session,
                         void (*row)(void *, const struct pw_wait_row *), void *context)
{
        const struct asked *asked;

        pw_list_each(&peers->names_asked, asked, struct asked, link) {
                struct pw_dsession *asker = pw_session_get(&peers->daemon->registry, asked->session);

                if (asker && (!session || asker == session))
                        row(context, &(struct pw_wait_row){ .kind = PW_WAIT_KIND_NAMING, .session = asker, .id = asked->id,
                                                            .since_us = asked->since_us, .until_us = UINT64_MAX });
        }
}

/* --- being asked -------------------------------------------------------------------------------------------------------------- */

void pw_naming_answer(struct pw_peers *peers, uint32_t host, uint64_t theirs, enum pw_status status, const char *text)
{
        struct pw_peer_name message = { .kind = PW_PEER_NAME_ANSWER, .number = theirs, .status = status, .text = text };
        struct pw_link_frame *frame = pw_peer_name_frame(&message);
        struct pw_error err;

        pw_peers_work_done(peers, host);
        if (frame) {
                pw_peers_send(peers, host, PW_PEER_BODY_NAME, frame);
                return;
        }
        (void)!pw_error_set(&err, PW_NO_MEMORY, "pathwaysd: out of memory for an answer");
        pw_peers_give_up(peers, host, &err);
}

static void answer(struct pw_peers *peers, const struct question *question, enum pw_status status, const char *text)
{
        pw_naming_answer(peers, question->host, question->theirs, status, text);
}

static struct question *question_new(struct pw_peers *peers, uint32_t host, uint64_t theirs)
{
        struct question *question = malloc(sizeof *question);

        if (!question)
                return NULL;
        *question = (struct question){ .number = ++peers->next_name, .theirs = theirs, .host = host };
        pw_list_init(&question->link);
        return question;
}

enum pw_status pw_naming_take(struct pw_peers *peers, const struct pw_naming_taken *taken, struct pw_error *ret_err)
{
        struct question *question = question_new(peers, taken->host, taken->theirs);
        struct pw_name_request request = { .tenant = taken->tenant, .name = taken->name, .now_us = pw_now_us(),
                                           .session = peers->names_session };
        enum pw_status status;

        if (!question)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a question");
        request.request = question->number;
        status = pw_store_name_take(peers->daemon->store, &request, taken->object, &taken->from, taken->until_us, ret_err);
        peers->daemon->loop.more = true;
        if (status == PW_OK)
                pw_list_append(&peers->name_questions, &question->link);
        else
                free(question);
        return status;
}

static enum pw_status bind_it(struct pw_peers *peers, const struct pw_name_request *request, const struct pw_peer_name *message,
                              struct pw_error *ret_err)
{
        struct pw_daemon *daemon = peers->daemon;
        struct pw_id id = message->id;
        struct pw_object *object;
        char text[PW_ID_TEXT_BYTES];

        if (pw_id_host(id) != daemon->host || id.epoch != daemon->epoch)
                return home_has_ended(id, ret_err);
        object = pw_store_find(daemon->store, 0, pw_id_segment(id), pw_id_slot(id), id.generation);
        if (!object || strcmp(pw_object_tenant(daemon->store, object), message->tenant))
                return pw_error_set(ret_err, PW_GONE, "%s is gone", pw_id_format(id, text)); /* or not theirs to know of */
        return pw_store_name_bind(daemon->store, request, object,
                                  message->ttl_us ? request->now_us + (uint64_t)message->ttl_us : 0, ret_err);
}

static enum pw_status asked_for(struct pw_peers *peers, uint32_t host, const struct pw_peer_name *message, struct pw_error *ret_err)
{
        struct question *question = question_new(peers, host, message->number);
        struct pw_name_request request = { .tenant = message->tenant, .name = message->name, .now_us = pw_now_us() };
        struct pw_error err;
        enum pw_status status;

        if (!question)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a question");
        request.session = peers->names_session;
        request.request = question->number;
        status = message->kind == PW_PEER_NAME_BIND ? bind_it(peers, &request, message, &err)
                                                    : pw_store_name_remove(peers->daemon->store, &request, &err);
        peers->daemon->loop.more = true;
        if (status == PW_OK) {
                pw_list_append(&peers->name_questions, &question->link);
                return PW_OK;
        }
        answer(peers, question, status, err.text);
        free(question);
        return PW_OK;
}

void pw_naming_told(struct pw_daemon *daemon, const struct pw_name_told *told)
{
        struct pw_peers *peers = daemon->peers;
        struct question *question;

        if (told->session != peers->names_session)
                return;
        pw_list_each(&peers->name_questions, question, struct question, link) {
                if (question->number != told->request)
                        continue;
                pw_list_remove(&question->link);
                answer(peers, question, told->status, told->text);
                free(question);
                return;
        }
}

/* --- waiting ------------------------------------------------------------------------------------------------------------------ */

static struct waiting *waiting_of(struct pw_peers *peers, uint32_t host)
{
        struct waiting *waiting = pw_table_get(&peers->names_waiting, host);

        if (waiting)
                return waiting;
        waiting = calloc(1, sizeof *waiting);
        if (waiting && pw_table_put(&peers->names_waiting, host, waiting))
                return waiting;
        free(waiting);
        return NULL;
}

/* Without memory it is said in a later turn, or with the next beat of metadata. */
static bool say_of_all(struct pw_peers *peers, uint32_t host, enum pw_peer_name_kind kind, uint64_t number)
{
        struct pw_link_frame *frame = pw_peer_name_frame(&(struct pw_peer_name){ .kind = kind, .number = number });

        if (frame)
                pw_peers_send(peers, host, PW_PEER_BODY_NAME, frame);
        return frame;
}

void pw_naming_turn(struct pw_peers *peers, const struct pw_host *host)
{
        const struct pw_store *store = peers->daemon->store;
        uint64_t bound = pw_store_names_bound_count(store);
        bool wanted = pw_store_names_wanted(store);
        struct waiting *waiting = pw_table_get(&peers->names_waiting, host->row.number);

        if (!waiting && wanted)
                waiting = waiting_of(peers, host->row.number);
        if (!waiting || host->peer->link->state != PW_LINK_UP)
                return;
        if (waiting->waits && waiting->theirs != bound)
                waiting->waits = !say_of_all(peers, host->row.number, PW_PEER_NAME_BOUND, bound);
        if (wanted && !waiting->told)
                waiting->told = say_of_all(peers, host->row.number, PW_PEER_NAME_WAITS, waiting->seen);
}

static void told_of_all(struct pw_peers *peers, uint32_t host, const struct pw_peer_name *message)
{
        struct waiting *waiting = waiting_of(peers, host);

        if (message->kind == PW_PEER_NAME_BOUND)
                pw_store_names_bound(peers->daemon->store);
        peers->daemon->loop.more = true;
        if (!waiting)
                return;
        if (message->kind == PW_PEER_NAME_WAITS) {
                waiting->waits = true;
                waiting->theirs = message->number;
        } else {
                waiting->told = false;
                waiting->seen = message->number;
        }
}

/* --- links -------------------------------------------------------------------------------------------------------------------- */

enum pw_status pw_naming_hear(struct pw_peers *peers, uint32_t host, const uint8_t *bytes, uint32_t count, struct pw_error *ret_err)
{
        struct pw_peer_name message;
        enum pw_status status = pw_peer_name_unpack(bytes, count, &message, ret_err);

        if (status != PW_OK)
                return status;
        if (message.kind == PW_PEER_NAME_ANSWER)
                answered(peers, host, &message);
        else if (message.kind == PW_PEER_NAME_TAKE)
                status = pw_handing_take(peers, host, &message, ret_err);
        else if (!pw_peer_name_is_question(message.kind))
                told_of_all(peers, host, &message);
        else
                status = asked_for(peers, host, &message, ret_err);
        pw_peer_name_done(&message);
        return status;
}

void pw_naming_ended(struct pw_peers *peers, uint32_t host)
{
        const struct pw_host *lost = pw_hosts_get(&peers->hosts, host);
        struct question *question;
        struct pw_list ended;
        struct asked *asked;
        struct pw_error err;

        (void)!pw_error_set(&err, PW_HOST_LOST, "host %s (h%u) was given up before it said what came of the name: look it up to "
                            "know", lost ? lost->row.name : "?", host);
        free(pw_table_remove(&peers->names_waiting, host));
        pw_list_init(&ended);
        pw_list_each(&peers->names_asked, asked, struct asked, link)
                if (asked->host == host) {
                        pw_list_remove(&asked->link);
                        pw_list_append(&ended, &asked->link);
                }
        while (!pw_list_empty(&ended))
                finish(peers, pw_list_first(&ended, struct asked, link), err.status, err.text);
        pw_list_each(&peers->name_questions, question, struct question, link)
                if (question->host == host) {
                        pw_list_remove(&question->link);
                        free(question);
                }
}

void pw_naming_done(struct pw_peers *peers)
{
        struct question *question;
        struct waiting *waiting;
        struct asked *asked;

        for (uint32_t at = 0; (waiting = pw_table_next(&peers->names_waiting, &at));)
                free(waiting);
        pw_table_done(&peers->names_waiting);
        pw_list_each(&peers->names_asked, asked, struct asked, link)
                free(asked);
        pw_list_each(&peers->name_questions, question, struct question, link) {
                pw_list_remove(&question->link);
                free(question);
        }
}
