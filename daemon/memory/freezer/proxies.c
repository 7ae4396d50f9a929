/* Slots for proxies, one at a time for each lane of a freezer. */
#include "daemon/memory/freezer/proxies.h"

#include "base/memory.h"
#include "daemon/memory/freezer/freezer.h"
#include "daemon/memory/room.h"
#include "daemon/memory/segment.h"
#include "store/proxy.h"

/* One that waits for its slot. */
struct slot_wait {
        struct pw_room_taker taker;
        struct pw_freezer *freezer;
        struct pw_freezer_turn turn;
        uint64_t token;
        struct pw_proxy_want want;
};

static void free_wait(struct slot_wait *wait)
{
        pw_freezer_leave(wait->freezer, &wait->turn);
        free(wait);
}

static void drop_wait(struct pw_room_taker *taker) { free_wait(pw_list_item(taker, struct slot_wait, taker)); }

/* The extent goes with the slot; if that was not claimed, at once. */
static enum pw_status claim_slot(struct pw_daemon *daemon, const struct slot_wait *wait, const struct pw_store_grant *grant,
                                 struct pw_object **ret_object, struct pw_error *ret_err)
{
        const struct pw_segment *futures = wait->freezer->tenant->futures;
        uint64_t word = pw_entry_load(pw_map_entry(&futures->map, grant->first_slot));
        struct pw_proxy_slot slot = { .session = wait->freezer->session, .home = wait->want.home, .number = wait->want.number,
                                      .cell = pw_cell_object(0, futures->number, grant->first_slot, pw_word_generation(word)) };
        struct pw_object *object;
        enum pw_status status;

        object = pw_store_find(daemon->store, 0, futures->number, grant->first_slot, pw_word_generation(word));
        if (!object)
                return pw_error_set(ret_err, PW_GONE, "pathwaysd has lost a slot for an object of another host");
        status = pw_freezer_hold(daemon, object, ret_err); /* first: what is no proxy yet says nothing of its end */
        if (status != PW_OK)
                return status;
        status = pw_store_proxy(daemon->store, &slot, ret_object, ret_err);
        if (status != PW_OK)
                pw_freezer_let_go(daemon, object);
        return status;
}

static void take_slot(struct pw_daemon *daemon, struct pw_room_taker *taker, const struct pw_store_action *action)
{
        struct slot_wait *wait = pw_list_item(taker, struct slot_wait, taker);
        struct pw_proxy_want want = wait->want;
        struct pw_object *object = NULL;
        struct pw_error err;
        enum pw_status status;

        if (action->kind == PW_STORE_GRANT) {
                status = claim_slot(daemon, wait, &action->grant, &object, &err);
                pw_store_extent_end(daemon->store, &action->grant, pw_now_us());
        } else {
                status = pw_error_set(&err, action->kind == PW_STORE_REFUSE ? action->status : PW_NO_SPACE, "%s",
                                      action->text ? action->text : "the slot for an object of another host was taken back");
        }
        free_wait(wait);
        want.made(want.context, status == PW_OK ? object : NULL, &err);
}

static enum pw_status no_memory(struct pw_error *ret_err)
{
        return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for an object of another host");
}

/* It has a lane. */
static void ask_slot(struct pw_freezer_turn *turn)
{
        const struct slot_wait *wait = pw_list_item(turn, struct slot_wait, turn);
        struct pw_daemon *daemon = wait->freezer->daemon;

        pw_store_room_request(daemon->store, &(struct pw_room_request){ .token = wait->token, .session = wait->freezer->session,
                                                                        .lane = turn->lane, .futures = true, .count = 1,
                                                                        .now_us = pw_now_us(),
                                                                        .deadline_us = wait->want.until_us });
        daemon->loop.more = true;
}

enum pw_status pw_proxies_make(struct pw_daemon *daemon, const struct pw_proxy_want *want, struct pw_error *ret_err)
{
        struct slot_wait *wait = calloc(1, sizeof *wait);
        enum pw_status status = wait ? pw_freezer_of(daemon, want->tenant, PW_FREEZER_FROZEN, &wait->freezer, ret_err)
                                     : no_memory(ret_err);

        if (status == PW_OK) {
                wait->token = pw_rooms_wait_for(daemon, &(struct pw_room_for){ .taker = &wait->taker, .until_us = want->until_us });
                status = wait->token ? PW_OK : no_memory(ret_err);
        }
        if (status != PW_OK) {
                free(wait);
                return status;
        }
        wait->taker = (struct pw_room_taker){ take_slot, drop_wait };
        wait->want = *want;
        wait->turn.begin = ask_slot;
        pw_freezer_enter(wait->freezer, &wait->turn);
        return PW_OK;
}

void pw_proxies_handed_out(struct pw_daemon *daemon, struct pw_object *object) { pw_freezer_let_go(daemon, object); }
