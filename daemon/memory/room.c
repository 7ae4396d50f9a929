/* Room requests by token, while the store decides. */
#include "daemon/memory/room.h"

#include "base/memory.h"
#include "base/size.h"
#include "daemon/memory/segment.h"
#include "daemon/session/output.h"
#include "daemon/wait.h"

struct pw_room_wait {
        struct pw_list of_session; /* among those of its session; alone once that has ended */
        uint32_t session, lane;
        uint64_t id, token; /* of the request */
        uint64_t bytes, since_us, until_us;
        struct pw_room_taker *taker; /* that it is for; NULL: the session's own */
};

static bool valid(const Pathways__Wire__RoomRequest *request)
{
        return request->lane < PW_LANES_MAX && request->count >= 1 && request->count <= PW_SLOT_MAX &&
               (request->futures || request->inline_only || request->size_class < PW_CLASS_COUNT);
}

/* A record of who waits, by a new token; NULL: out of memory. */
static struct pw_room_wait *note_wait(struct pw_daemon *daemon, struct pw_dsession *session, const struct pw_room_wait *like)
{
        struct pw_room_wait *wait = malloc(sizeof *wait);

        if (!wait)
                return NULL;
        *wait = *like;
        pw_list_init(&wait->of_session);
        wait->token = ++daemon->memory.next_token;
        if (pw_table_put(&daemon->memory.room_tokens, wait->token, wait)) {
                if (session)
                        pw_list_append(&session->room_waits, &wait->of_session);
                wait->session = session ? session->number : 0;
                return wait;
        }
        free(wait);
        return NULL;
}

uint64_t pw_rooms_wait_for(struct pw_daemon *daemon, const struct pw_room_for *room)
{
        const struct pw_room_wait *wait =
                note_wait(daemon, room->session, &(struct pw_room_wait){ .lane = room->lane, .bytes = room->bytes,
                                                                         .since_us = pw_now_us(), .until_us = room->until_us,
                                                                         .taker = room->taker });

        return wait ? wait->token : 0;
}

void pw_rooms_ask(struct pw_dsession *session, uint64_t id, const Pathways__Wire__RoomRequest *request)
{
        struct pw_daemon *daemon = session->daemon;
        uint64_t now_us = pw_now_us();
        struct pw_room_wait *wait;
        struct pw_error err;
        enum pw_status status;

        if (session->role != PW_ROLE_CLIENT || !valid(request)) {
                pw_session_reply_error(session, id, PW_INVALID, "room request: lane, count or size class cannot be");
                return;
        }
        status = request->futures ? PW_OK : pw_segment_begin(daemon, session->own, &err);
        if (status != PW_OK) {
                pw_session_reply_error(session, id, status, err.text);
                return;
        }
        wait = note_wait(daemon, session,
                         &(struct pw_room_wait){ .lane = request->lane, .id = id, .bytes = request->room_bytes, .since_us = now_us,
                                                          .until_us = request->timeout_us < 0 ? UINT64_MAX :
                                                          now_us + (uint64_t)request->timeout_us });
        if (!wait) {
                pw_session_reply_error(session, id, PW_NO_MEMORY, "pathwaysd is out of memory");
                return;
        }
        pw_store_room_request(daemon->store,
                              &(struct pw_room_request){ .token = wait->token,
                                                         .session = session->number,
                                                         .lane = request->lane,
                                                         .futures = request->futures,
                                                         .inline_only = request->inline_only,
                                                         .alone = request->alone,
                                                         .size_class = request->size_class,
                                                         .count = request->count,
                                                         .need_bytes = request->room_bytes,
                                                         .now_us = now_us,
                                                         .deadline_us = wait->until_us });
        daemon->loop.more = true;
}

static void send_grant(struct pw_dsession *session, uint64_t id, const struct pw_store_action *action)
{
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        Pathways__Wire__RoomGrant grant = PATHWAYS__WIRE__ROOM_GRANT__INIT;

        grant.look = action->kind == PW_STORE_LOOK_AGAIN;
        grant.extent = action->grant.extent;
        grant.segment = action->grant.segment;
        grant.first_slot = action->grant.first_slot;
        grant.slot_count = action->grant.slot_count;
        grant.room_offset = action->grant.room_offset;
        grant.room_bytes = action->grant.room_bytes;
        grant.return_ring = action->grant.return_ring;
        reply.body_case = PATHWAYS__WIRE__REPLY__BODY_ROOM;
        reply.room = &grant;
        pw_session_reply(session, id, &reply, NULL, 0);
}

void pw_rooms_answer(struct pw_daemon *daemon, const struct pw_store_action *action)
{
        struct pw_room_wait *wait = pw_table_remove(&daemon->memory.room_tokens, action->token);
        struct pw_dsession *session = wait ? pw_session_get(&daemon->registry, wait->session) : NULL;

        if (wait)
                pw_list_remove(&wait->of_session);
        if (wait && wait->taker)
                wait->taker->answer(daemon, wait->taker, action);
        else if (session && action->kind == PW_STORE_REFUSE)
                pw_session_reply_error(session, wait->id, action->status,
                                       action->text ? action->text : pw_status_text(action->status));
        else if (session)
                send_grant(session, wait->id, action);
        else if (!wait && action->kind == PW_STORE_GRANT) /* the session has ended since; or who asked has taken it back */
                pw_store_extent_end(daemon->store, &action->grant, pw_now_us());
        free(wait);
}

void pw_rooms_each_wait(struct pw_daemon *daemon, const struct pw_dsession *session,
                        void (*row)(void *, const struct pw_wait_row *), void *context)
{
        const struct pw_room_wait *wait;

        for (uint32_t i = 0; (wait = pw_table_next(&daemon->memory.room_tokens, &i));) {
                struct pw_dsession *asker = pw_session_get(&daemon->registry, wait->session);

                if (asker && (!session || asker == session))
                        row(context, &(struct pw_wait_row){ .kind = PW_WAIT_KIND_ROOM, .session = asker, .lane = wait->lane,
                                                            .thread = atomic_load(&asker->control->lanes[wait->lane].thread_id),
                                                            .bytes = wait->bytes, .token = wait->token, .since_us = wait->since_us,
                                                            .until_us = wait->until_us });
        }
}

static void free_wait(struct pw_room_wait *wait)
{
        pw_list_remove(&wait->of_session);
        if (wait->taker)
                wait->taker->drop(wait->taker);
        free(wait);
}

void pw_rooms_cancel(struct pw_daemon *daemon, uint64_t token)
{
        struct pw_room_wait *wait = pw_table_remove(&daemon->memory.room_tokens, token);

        pw_store_room_cancel(daemon->store, token);
        if (wait)
                pw_list_remove(&wait->of_session);
        free(wait);
}

void pw_rooms_session_end(struct pw_dsession *session)
{
        struct pw_room_wait *wait;

        pw_list_each(&session->room_waits, wait, struct pw_room_wait, of_session) {
                pw_store_room_cancel(session->daemon->store, wait->token);
                pw_table_remove(&session->daemon->memory.room_tokens, wait->token);
                free_wait(wait);
        }
}

void pw_rooms_done(struct pw_daemon *daemon)
{
        struct pw_room_wait *wait;

        for (uint32_t i = 0; (wait = pw_table_next(&daemon->memory.room_tokens, &i));)
                free_wait(wait);
        pw_table_done(&daemon->memory.room_tokens);
}
