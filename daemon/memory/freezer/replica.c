/* Replicas: room, bytes, and the object that a proxy holds. */
#include "daemon/memory/freezer/replica.h"

#include "base/memory.h"
#include "base/size.h"
#include "daemon/memory/freezer/freezer.h"
#include "daemon/memory/room.h"
#include "daemon/memory/segment.h"
#include "store/fetched.h"
#include "store/proxy.h"

struct pw_replica {
        struct pw_room_taker taker;
        struct pw_freezer *freezer;
        struct pw_freezer_turn turn; /* while it waits for a lane, and for room */
        uint64_t token;            /* likewise; then 0 */
        bool waits;
        struct pw_object *object;  /* PENDING, once there is room; else NULL */
        struct pw_described described;
        struct pw_replica_want want;
};

static void leave_lane(struct pw_replica *replica)
{
        if (replica->waits)
                pw_freezer_leave(replica->freezer, &replica->turn);
        replica->waits = false;
        replica->token = 0;
}

static void free_replica(struct pw_replica *replica)
{
        leave_lane(replica);
        replica->freezer->users--;
        free(replica);
}

static void drop_replica(struct pw_room_taker *taker) { free_replica(pw_list_item(taker, struct pw_replica, taker)); }

static bool note_token(struct pw_daemon *daemon, struct pw_replica *replica);
static void ask_replica_room(struct pw_freezer_turn *turn);

static void take_replica_room(struct pw_daemon *daemon, struct pw_room_taker *taker, const struct pw_store_action *action)
{
        struct pw_replica *replica = pw_list_item(taker, struct pw_replica, taker);
        struct pw_error err;
        enum pw_status status;

        status = pw_freezer_begin(daemon, replica->freezer, action, &replica->object, &err);
        if (status == PW_NOT_READY && note_token(daemon, replica)) {
                ask_replica_room(&replica->turn);
                return;
        }
        leave_lane(replica);
        replica->described.room_segment = replica->freezer->segment->number;
        replica->described.room_offset = action->grant.room_offset;
        replica->want.room(replica->want.context, replica, status == PW_OK ? NULL : &err);
        if (status != PW_OK)
                free_replica(replica);
}

/* False: out of memory. */
static bool note_token(struct pw_daemon *daemon, struct pw_replica *replica)
{
        replica->token = pw_rooms_wait_for(daemon, &(struct pw_room_for){ .taker = &replica->taker, .bytes = replica->want.bytes,
                                                                          .until_us = replica->want.until_us });
        return replica->token != 0;
}

/* It has a lane. */
static void ask_replica_room(struct pw_freezer_turn *turn)
{
        const struct pw_replica *replica = pw_list_item(turn, struct pw_replica, turn);
        struct pw_daemon *daemon = replica->freezer->daemon;
        uint64_t bytes = pw_max_u64(replica->described.bytes, 1);

        pw_store_room_request(daemon->store, &(struct pw_room_request){ .token = replica->token,
                                                                        .session = replica->freezer->session,
                                                                        .lane = turn->lane,
                                                                        .at_once = true,
                                                                        .size_class = pw_size_class(bytes),
                                                                        .count = 1,
                                                                        .need_bytes = bytes,
                                                                        .now_us = pw_now_us(),
                                                                        .deadline_us = replica->want.until_us });
        daemon->loop.more = true;
}

enum pw_status pw_replica_ask(struct pw_daemon *daemon, const struct pw_replica_want *want, struct pw_replica **ret_replica,
                              struct pw_error *ret_err)
{
        struct pw_replica *replica = calloc(1, sizeof *replica);
        enum pw_status status = replica ? pw_freezer_of(daemon, want->tenant, want->kind, &replica->freezer, ret_err)
                                        : pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a replica");

        if (status != PW_OK) {
                free(replica);
                return status;
        }
        replica->freezer->users++;
        replica->taker = (struct pw_room_taker){ take_replica_room, drop_replica };
        replica->want = *want;
        replica->described = (struct pw_described){ .bytes = want->bytes, .dtype = PW_OPAQUE };
        if (!note_token(daemon, replica)) {
                free_replica(replica);
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for a replica");
        }
        replica->waits = true;
        replica->turn.begin = ask_replica_room;
        pw_freezer_enter(replica->freezer, &replica->turn);
        *ret_replica = replica;
        return PW_OK;
}

uint8_t *pw_replica_bytes(const struct pw_replica *replica)
{
        return replica->object ? replica->freezer->segment->map.base + replica->described.room_offset : NULL;
}

uint64_t pw_replica_token(const struct pw_replica *replica) { return replica->token; }

static void end_replica(struct pw_daemon *daemon, struct pw_replica *replica)
{
        pw_freezer_let_go(daemon, replica->object);
        free_replica(replica);
}

enum pw_status pw_replica_done(struct pw_daemon *daemon, struct pw_replica *replica, struct pw_object *proxy,
                               struct pw_error *ret_err)
{
        enum pw_status status;

        pw_freezer_decide(daemon, replica->object, &replica->described, PW_OK);
        status = proxy ? pw_store_proxy_back(daemon->store, proxy, replica->object, pw_now_us(), ret_err)
                       : pw_error_set(ret_err, PW_GONE, "nobody on this host wants the bytes any more");
        end_replica(daemon, replica);
        return status;
}

enum pw_status pw_replica_fetched(struct pw_daemon *daemon, struct pw_replica *replica, struct pw_object *object,
                                  const uint64_t *offsets, struct pw_error *ret_err)
{
        enum pw_status status;

        pw_freezer_decide(daemon, replica->object, &replica->described, PW_OK);
        status = pw_store_fetched(daemon->store, object, replica->object, offsets, pw_now_us(), ret_err);
        end_replica(daemon, replica);
        return status;
}

struct pw_replica_place pw_replica_at(const struct pw_replica *replica)
{
        return (struct pw_replica_place){ replica->described.room_segment, replica->described.room_offset };
}

void pw_replica_give_up(struct pw_daemon *daemon, struct pw_replica *replica)
{
        if (!replica->object) {
                pw_rooms_cancel(daemon, replica->token);
                free_replica(replica);
                return;
        }
        pw_freezer_decide(daemon, replica->object, &replica->described, PW_CANCELLED);
        end_replica(daemon, replica);
}
