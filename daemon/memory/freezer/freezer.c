/* Freezers of tenants, their lanes, and what begins and ends in their rooms. */
#include "daemon/memory/freezer/freezer.h"

#include "base/memory.h"
#include "daemon/memory/segment.h"

#include <sys/mman.h>

#define FREEZER_SLOTS (PW_SLOT_MAX + 1)
#define ROOM_SPACE 4u /* addresses for each byte of host memory, as a client's segment has */

/* The daemon's own, like a run's (there is no run 0). */
static const struct pw_owner claim = { PW_OWNER_RUN, 0 };

void pw_freezer_free(struct pw_freezer *freezer)
{
        if (freezer)
                pw_unmap(&freezer->control);
        free(freezer);
}

struct pw_backing *pw_freezer_backing(const struct pw_freezer *freezer) { return freezer->segment->backed.backing; }

static enum pw_status open_freezer(struct pw_daemon *daemon, struct pw_tenant *tenant, struct pw_freezer *freezer,
                                   struct pw_error *ret_err)
{
        uint64_t rooms = ROOM_SPACE * pw_round_up(daemon->settings.host_memory, 4096);
        struct pw_segment like = { .layout = pw_segment_layout(PW_SEGMENT_CLIENT, FREEZER_SLOTS, rooms), .tenant = tenant,
                                   .session = freezer->session, .fetched = freezer->kind == PW_FREEZER_FETCHED };
        enum pw_status status = pw_store_session_open(daemon->store,
                                                      &(struct pw_store_session_params){ .session = freezer->session,
                                                                                         .tenant = tenant->name,
                                                                                         .client = "pathwaysd",
                                                                                         .control =
                                                                                         (struct pw_control *)freezer->control.base,
                                                                                         .control_bytes = PW_CONTROL_BYTES,
                                                                                         .now_us = pw_now_us() },
                                                      ret_err);

        if (status != PW_OK)
                return status;
        status = pw_backing_frozen(daemon, like.layout.bytes, tenant, &like.backed, ret_err);
        if (status == PW_OK)
                status = pw_segment_new(daemon, &like, &freezer->segment, ret_err);
        if (status != PW_OK) {
                if (like.backed.backing)
                        pw_backing_thaw(like.backed.backing);
                pw_backed_done(daemon, &like.backed);
                pw_store_session_end(daemon->store, freezer->session, true, pw_now_us());
        }
        return status;
}

enum pw_status pw_freezer_of(struct pw_daemon *daemon, struct pw_tenant *tenant, enum pw_freezer_kind kind,
                             struct pw_freezer **ret_freezer, struct pw_error *ret_err)
{
        struct pw_freezer *freezer = tenant->freezers[kind] ? NULL : calloc(1, sizeof *freezer);
        void *control;
        enum pw_status status;

        *ret_freezer = tenant->freezers[kind];
        if (*ret_freezer)
                return PW_OK;
        control = freezer ? mmap(NULL, PW_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                                 0) : MAP_FAILED;
        if (control == MAP_FAILED) {
                free(freezer);
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for what it makes for tenant %s",
                                    tenant->name);
        }
        freezer->control = (struct pw_map){ control, PW_CONTROL_BYTES, true };
        freezer->daemon = daemon;
        freezer->tenant = tenant;
        freezer->kind = kind;
        pw_list_init(&freezer->queue);
        freezer->session = ++daemon->registry.next_session;
        status = open_freezer(daemon, tenant, freezer, ret_err);
        if (status != PW_OK) {
                pw_freezer_free(freezer);
                return status;
        }
        *ret_freezer = tenant->freezers[kind] = freezer;
        return PW_OK;
}

static void end_freezer(struct pw_daemon *daemon, struct pw_freezer *freezer)
{
        if (!freezer || freezer->users)
                return;
        freezer->tenant->freezers[freezer->kind] = NULL;
        pw_store_session_end(daemon->store, freezer->session, true, pw_now_us());
        pw_freezer_free(freezer);
        daemon->loop.more = true;
}

void pw_freezer_end(struct pw_daemon *daemon, struct pw_tenant *tenant)
{
        for (uint32_t kind = 0; kind < PW_FREEZERS; kind++)
                end_freezer(daemon, tenant->freezers[kind]);
}

/* PW_LANES_MAX: none is free. */
static uint32_t find_lane(struct pw_freezer *freezer)
{
        for (uint32_t lane = 0; lane < PW_LANES_MAX; lane++) {
                if (freezer->busy[lane])
                        continue;
                freezer->busy[lane] = true;
                return lane;
        }
        return PW_LANES_MAX;
}

enum pw_status pw_freezer_take_lane(struct pw_freezer *freezer, const char *what, uint32_t *ret_lane, struct pw_error *ret_err)
{
        uint32_t lane = find_lane(freezer);

        if (lane == PW_LANES_MAX)
                return pw_error_set(ret_err, PW_LIMIT, "tenant %s has %u %s that wait for room: let some end first",
                                    freezer->tenant->name, PW_LANES_MAX, what);
        freezer->users++;
        *ret_lane = lane;
        return PW_OK;
}

/* The next in the queue has it. */
static void pass_lane(struct pw_freezer *freezer, uint32_t lane)
{
        struct pw_freezer_turn *turn;

        freezer->busy[lane] = !pw_list_empty(&freezer->queue);
        if (!freezer->busy[lane])
                return;
        turn = pw_list_first(&freezer->queue, struct pw_freezer_turn, link);
        pw_list_remove(&turn->link);
        turn->lane = lane;
        turn->begin(turn);
}

void pw_freezer_give_lane(struct pw_freezer *freezer, uint32_t lane)
{
        freezer->users--;
        pass_lane(freezer, lane);
}

void pw_freezer_enter(struct pw_freezer *freezer, struct pw_freezer_turn *turn)
{
        pw_list_init(&turn->link);
        freezer->users++;
        turn->lane = find_lane(freezer);
        if (turn->lane == PW_LANES_MAX)
                pw_list_append(&freezer->queue, &turn->link);
        else
                turn->begin(turn);
}

void pw_freezer_leave(struct pw_freezer *freezer, struct pw_freezer_turn *turn)
{
        uint32_t lane = turn->lane;

        pw_list_remove(&turn->link);
        turn->lane = PW_LANES_MAX;
        freezer->users--;
        if (lane != PW_LANES_MAX)
                pass_lane(freezer, lane);
}

static void drop(struct pw_daemon *daemon, uint32_t session, struct pw_cell cell)
{
        if (pw_store_drop(daemon->store, session, cell, pw_now_us()) != PW_OK)
                pw_log(&daemon->log, PW_LOG_ERROR, "freezer: the store does not know its own slot");
}

enum pw_status pw_freezer_hold(struct pw_daemon *daemon, struct pw_object *object, struct pw_error *ret_err)
{
        return pw_store_hold(daemon->store, object, claim, ret_err);
}

void pw_freezer_let_go(struct pw_daemon *daemon, struct pw_object *object)
{
        if (object->first_ref)
                drop(daemon, object->grantee, pw_object_cell(object));
        pw_store_release(daemon->store, object, claim, pw_now_us());
}

static enum pw_status hold(struct pw_daemon *daemon, const struct pw_freezer *freezer, const struct pw_store_grant *grant,
                           struct pw_object **ret_object, struct pw_error *ret_err)
{
        const struct pw_segment *segment = freezer->segment;
        uint32_t slot = grant->first_slot, generation;
        struct pw_object *object;

        if (!pw_entry_take(pw_map_entry(&segment->map, slot), &generation))
                return pw_error_set(ret_err, PW_NOT_READY, "the room was taken back");
        object = pw_store_find(daemon->store, 0, segment->number, slot, generation);
        if (!object || pw_store_hold(daemon->store, object, claim, NULL) != PW_OK) {
                drop(daemon, freezer->session, pw_cell_object(0, segment->number, slot, generation));
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd is out of memory");
        }
        *ret_object = object;
        return PW_OK;
}

enum pw_status pw_freezer_begin(struct pw_daemon *daemon, struct pw_freezer *freezer, const struct pw_store_action *action,
                                struct pw_object **ret_object, struct pw_error *ret_err)
{
        enum pw_status status;

        if (action->kind == PW_STORE_REFUSE)
                return pw_error_set(ret_err, action->status, "%s", action->text ? action->text : pw_status_text(action->status));
        if (action->kind != PW_STORE_GRANT) /* an earlier room of this lane came back: not for others, an extent has one value */
                return pw_error_set(ret_err, PW_NOT_READY, "rooms came back");
        status = hold(daemon, freezer, &action->grant, ret_object, ret_err);
        pw_store_extent_end(daemon->store, &action->grant, pw_now_us());
        return status;
}

void pw_freezer_decide(struct pw_daemon *daemon, struct pw_object *object, const struct pw_described *described,
                       enum pw_status status)
{
        struct pw_entry *entry = pw_object_entry(daemon->store, object);
        uint64_t old;

        pw_entry_fill(entry, described, NULL);
        entry->label = 0;
        pw_entry_decide(entry, object->generation, status, PW_ENTRY_FROZEN, UINT32_MAX, &old);
}
