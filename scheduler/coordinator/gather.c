/* Rooms of a run on all of its hosts, or on none.
 *
 * On one host it waits for its turn. Several are asked together, and do not wait. If one of them has no room now, what the others
 * have is given back, and they are asked one after the other, by their numbers, and wait: so who waits at a host has rooms on hosts
 * before it only, and waits form no cycle. A host where no run will give back what is lacking says so, DEFERRED, and waits on: what
 * the others have is given back until it has room, and then they are asked together again. The run keeps its number in each
 * queue.
 *
 * A host may let a run take over the blocks of one that is not admitted yet, and says whose. Who took over is asked for at a
 * further host after that one has rooms there, is admitted after it, and loses its blocks with it.
 */
#include "scheduler/coordinator/ahead.h"
#include "scheduler/step.h"

#include "base/error.h"

const uint8_t pw_live_host_rules[PW_LIVE_HOST_STATES][PW_LIVE_HOST_EVENTS] = {
        [PW_LIVE_HOST_IDLE] = { [PW_LIVE_HOST_ASK] = PW_LIVE_HOST_ASKED },
        [PW_LIVE_HOST_ASKED] = { [PW_LIVE_HOST_RESERVE] = PW_LIVE_HOST_RESERVED, [PW_LIVE_HOST_REFUSE] = PW_LIVE_HOST_IDLE,
                                 [PW_LIVE_HOST_GIVE_BACK] = PW_LIVE_HOST_IDLE, [PW_LIVE_HOST_FINISH] = PW_LIVE_HOST_DONE },
        [PW_LIVE_HOST_RESERVED] = { [PW_LIVE_HOST_REFUSE] = PW_LIVE_HOST_IDLE, [PW_LIVE_HOST_GIVE_BACK] = PW_LIVE_HOST_IDLE,
                                    [PW_LIVE_HOST_LOSE] = PW_LIVE_HOST_ASKED, [PW_LIVE_HOST_PREPARE] = PW_LIVE_HOST_PREPARING },
        [PW_LIVE_HOST_PREPARING] = { [PW_LIVE_HOST_ANSWER] = PW_LIVE_HOST_PREPARED, [PW_LIVE_HOST_FINISH] = PW_LIVE_HOST_DONE },
        [PW_LIVE_HOST_PREPARED] = { [PW_LIVE_HOST_FINISH] = PW_LIVE_HOST_DONE },
};

bool pw_live_asked(const struct pw_live *live) { return live->hosts_in[PW_LIVE_HOST_IDLE] < live->host_count; }

static bool is_alone(const struct pw_live *live) { return live->host_count == 1; }

/* --- giving back -------------------------------------------------------------------------------------------------------------- */

static void give_back(struct pw_live *live, uint32_t host);
static void lose_behind(struct pw_live *live, uint32_t host);

/* Who goes one after the other begins again with the host that it has not. */
static void fall_back(struct pw_live *live, uint32_t host)
{
        if (is_alone(live))
                return;
        live->short_now |= live->at_once;
        while (!live->at_once && ++host < live->host_count)
                give_back(live, host);
        pw_ahead_wake(live);
}

/* What it took over there goes with the blocks: its host says so next, to those behind it too. Who took over elsewhere has rooms
 * only where `ahead` has some, or it would wait there for what they keep from it. */
static void lose(struct pw_live *live, uint32_t host, const struct pw_live *ahead)
{
        if (pw_ahead_is(&live->hosts[host], ahead)) {
                pw_ahead_forget(live, host);
                live->hosts[host].lost = true;
                pw_live_host_step(live, host, PW_LIVE_HOST_LOSE);
        } else {
                give_back(live, host);
        }
        fall_back(live, host);
}

/* Each of them once: one may have taken over on several hosts, and what it took over on others it may lose too. */
static void lose_all(struct pw_live *ahead, uint32_t host)
{
        uint64_t pass = ++ahead->program->scheduler->passes;
        struct pw_list rest;

        pw_list_init(&rest);
        pw_list_splice(&rest, &ahead->behind);
        while (!pw_list_empty(&rest)) {
                struct pw_taken *taken = pw_list_first(&rest, struct pw_taken, link);

                pw_list_remove(&taken->link);
                pw_list_append(&ahead->behind, &taken->link);
                if (taken->by->pass == pass)
                        continue;
                taken->by->pass = pass;
                lose(taken->by, host, ahead);
        }
}

/* It has no rooms there any more, so neither have those behind it, nor those behind them: as many as there may be runs. */
static void lose_behind(struct pw_live *live, uint32_t host)
{
        struct pw_scheduler *scheduler = live->program->scheduler;

        if (is_alone(live))
                return;
        if (pw_list_empty(&live->hosts[host].losing))
                pw_list_append(&scheduler->losing, &live->hosts[host].losing);
        if (scheduler->is_losing)
                return;
        scheduler->is_losing = true;
        while (!pw_list_empty(&scheduler->losing)) {
                struct pw_live_host *at = pw_list_first(&scheduler->losing, struct pw_live_host, losing);

                pw_list_remove(&at->losing);
                lose_all(at->live, (uint32_t)(at - at->live->hosts));
        }
        scheduler->is_losing = false;
}

static void give_back(struct pw_live *live, uint32_t host)
{
        if (live->hosts[host].state != PW_LIVE_HOST_ASKED && live->hosts[host].state != PW_LIVE_HOST_RESERVED)
                return;
        pw_core_tell(live->program->scheduler,
                     &(struct pw_core_message){ .kind = PW_CORE_GIVE_BACK, .run = live->id, .slot = live->slot,
                                                .host = live->program->hosts[host], .serial = live->hosts[host].serial }, NULL);
        pw_ahead_forget(live, host);
        pw_live_host_step(live, host, PW_LIVE_HOST_GIVE_BACK);
        lose_behind(live, host);
}

void pw_live_give_back(struct pw_live *live)
{
        for (uint32_t host = 0; host < live->host_count; host++)
                give_back(live, host);
        for (uint32_t i = 0; i < live->run.result_count; i++)
                pw_result_live(live->run.results[i])->kept = false;
}

static void give_back_rooms(struct pw_live *live)
{
        for (uint32_t host = 0; host < live->host_count; host++)
                if (live->hosts[host].state == PW_LIVE_HOST_RESERVED)
                        give_back(live, host);
}

/* --- asking ------------------------------------------------------------------------------------------------------------------- */

static void ask(struct pw_live *live, uint32_t host)
{
        uint32_t how = live->run.sequential ? PW_RESERVE_SEQUENTIAL : 0;

        if (!is_alone(live))
                how |= PW_RESERVE_SHARED | (live->at_once ? PW_RESERVE_AT_ONCE : 0);
        live->hosts[host].serial = ++live->program->scheduler->asked_count;
        live->hosts[host].lost = false;
        live->hosts[host].placed = 0;
        pw_live_host_step(live, host, PW_LIVE_HOST_ASK);
        if (pw_live_ask(live, host, how) != PW_OK) {
                struct pw_error why;

                pw_error_set(&why, PW_NO_MEMORY, "pathwaysd is out of memory to ask for rooms of run %lu",
                             (unsigned long)live->run.number);
                pw_live_host_step(live, host, PW_LIVE_HOST_REFUSE);
                pw_live_doom(live, why.status, why.text);
        }
        for (uint32_t i = 0; pw_live_is_asked(live, host) && i < live->run.result_count; i++)
                pw_result_kept(pw_result_live(live->run.results[i]), host);
}

static void ask_all(struct pw_live *live)
{
        live->at_once = true;
        for (uint32_t host = 0; host < live->host_count && !live->refusal; host++)
                if (!pw_live_is_asked(live, host))
                        ask(live, host);
}

static uint32_t first_idle(const struct pw_live *live)
{
        uint32_t host = 0;

        while (pw_live_is_asked(live, host))
                host++;
        return host;
}

static bool has_rooms_behind(const struct pw_live *live, uint32_t host)
{
        while (++host < live->host_count)
                if (live->hosts[host].state == PW_LIVE_HOST_RESERVED)
                        return true;
        return false;
}

/* Whom it waits for before it asks the hosts that are next: one that has no rooms on one of them. */
static const struct pw_live *ahead_of_idle(const struct pw_live *live, bool all)
{
        const struct pw_live *ahead = NULL;

        for (uint32_t host = first_idle(live); host < live->host_count && !ahead; host++) {
                if (!pw_live_is_asked(live, host))
                        ahead = pw_ahead_first(live, host);
                if (!all)
                        break;
        }
        return ahead;
}

const struct pw_live *pw_live_ahead(const struct pw_live *live)
{
        if (live->run.state != PW_RUN_QUEUED || live->hosts_in[PW_LIVE_HOST_ASKED])
                return NULL;
        if (!live->hosts_in[PW_LIVE_HOST_IDLE])
                return pw_ahead_first(live, PW_NODE_NONE);
        return ahead_of_idle(live, live->at_once || has_rooms_behind(live, first_idle(live)));
}

/* One thing more. False: the next comes with an answer. */
static bool gather_more(struct pw_live *live)
{
        bool together;

        if (live->run.state != PW_RUN_QUEUED || live->refusal || live->hosts_in[PW_LIVE_HOST_ASKED])
                return false;
        if (live->short_now) {
                give_back_rooms(live);
                live->at_once = live->short_now = false;
                return true;
        }
        if (!live->hosts_in[PW_LIVE_HOST_IDLE]) {
                if (!pw_ahead_first(live, PW_NODE_NONE))
                        pw_live_admit(live);
                return false;
        }
        together = live->at_once || has_rooms_behind(live, first_idle(live));
        if (ahead_of_idle(live, together))
                return false;
        if (together)
                ask_all(live);
        else
                ask(live, first_idle(live));
        return true;
}

/* Answers that come meanwhile are seen by whoever asks. */
void pw_live_gather(struct pw_live *live)
{
        if (live->is_gathering)
                return;
        live->is_gathering = true;
        while (gather_more(live))
                ;
        live->is_gathering = false;
}

/* Once around: what they wake goes on in the next turn. */
void pw_gathering_go_on(struct pw_scheduler *scheduler)
{
        struct pw_list woken;

        pw_list_init(&woken);
        pw_list_splice(&woken, &scheduler->gathering);
        while (!pw_list_empty(&woken)) {
                struct pw_live *live = pw_list_first(&woken, struct pw_live, gathering);

                pw_list_remove(&live->gathering);
                pw_live_gather(live);
        }
}

void pw_live_begin_gathering(struct pw_live *live)
{
        if (is_alone(live)) {
                ask(live, 0);
                return;
        }
        live->at_once = true;
        pw_live_gather(live);
}

void pw_live_end_gathering(struct pw_live *live)
{
        if (is_alone(live))
                return;
        for (uint32_t host = 0; host < live->host_count; host++) {
                pw_ahead_forget(live, host);
                pw_list_remove(&live->hosts[host].losing);
        }
        pw_list_remove(&live->gathering);
        pw_ahead_leave(live);
}

/* --- answers ------------------------------------------------------------------------------------------------------------------ */

static bool answers(const struct pw_live *live, uint32_t host, const struct pw_core_message *message)
{
        return live->hosts[host].serial == message->serial && live->run.state == PW_RUN_QUEUED;
}

enum pw_status pw_live_check_rooms(struct pw_live *live, uint32_t host, const struct pw_core_message *message,
                                   const struct pw_core_body *body, struct pw_error *ret_err)
{
        const struct pw_result_type *type = live->run.results[message->result]->type;
        const struct pw_slice_map *map = &live->program->row.slices[type->value.slice];
        const struct pw_program_slice *slice = &live->program->slices[type->value.slice];
        const struct pw_program_part *part = pw_places_of(slice, message->host);

        (void)host;
        for (uint32_t i = 0; part && i < body->room_count && i < part->count; i++) {
                const struct pw_room *room = &body->rooms[i];
                uint32_t place = slice->places[part->first + i];

                if (room->host != message->host || room->device != map->places[place].device ||
                    room->bytes < pw_type_shard_bytes(type, place))
                        return pw_error_set(ret_err, PW_PROTOCOL, "result %u of run %lu does not lie at place %u as host %u says",
                                            message->result, (unsigned long)live->run.number, place, message->host);
        }
        return PW_OK;
}

enum pw_status pw_live_placed(struct pw_live *live, uint32_t host, const struct pw_core_message *message,
                              const struct pw_core_body *body, struct pw_error *ret_err)
{
        struct pw_result *result = live->run.results[message->result];
        const struct pw_program_slice *slice = &live->program->slices[result->type->value.slice];
        const struct pw_program_part *part = is_alone(live) ? slice->parts : pw_places_of(slice, message->host);
        uint32_t count = part ? part->count : 0;

        if (!answers(live, host, message) || live->hosts[host].state != PW_LIVE_HOST_ASKED ||
            message->result != live->hosts[host].placed)
                return PW_EXISTS;
        if (body->room_count != count)
                return pw_error_set(ret_err, PW_PROTOCOL, "result %u of run %lu lies in %u places of host %u", message->result,
                                    (unsigned long)live->run.number, body->room_count, message->host);
        if (is_alone(live))
                memcpy(result->rooms, body->rooms, count * sizeof *result->rooms);
        for (uint32_t i = 0; !is_alone(live) && i < count; i++)
                result->rooms[slice->places[part->first + i]] = body->rooms[i];
        live->hosts[host].placed++;
        return PW_OK;
}

enum pw_status pw_live_reserved(struct pw_live *live, uint32_t host, const struct pw_core_message *message,
                                const struct pw_core_body *body, struct pw_error *ret_err)
{
        enum pw_status status;

        if (!answers(live, host, message) || live->hosts[host].state != PW_LIVE_HOST_ASKED || live->hosts[host].lost)
                return PW_EXISTS;
        if (body->slot_count > live->program->chain_count) {
                struct pw_error wrong;

                pw_error_set(&wrong, PW_PROTOCOL, "run %lu took over the blocks of %u runs, says host %u",
                             (unsigned long)live->run.number, body->slot_count, message->host);
                pw_live_doom(live, wrong.status, wrong.text);
                return pw_error_set(ret_err, PW_PROTOCOL, "%s", wrong.text);
        }
        live->hosts[host].arrival = message->arrival;
        if (!pw_ahead_note(live, host, body, &status)) { /* who was ahead gave back meanwhile, so this one has, too */
                live->hosts[host].lost = true;
                return PW_OK;
        }
        if (status != PW_OK) {
                pw_live_doom(live, PW_NO_MEMORY, "pathwaysd is out of memory to admit it");
                return pw_error_set(ret_err, PW_NO_MEMORY, "no memory to admit run %lu", (unsigned long)live->run.number);
        }
        pw_live_host_step(live, host, PW_LIVE_HOST_RESERVE);
        if (is_alone(live)) {
                pw_live_admit(live);
                return PW_OK;
        }
        pw_ahead_wake_behind(live);
        pw_live_gather(live);
        return PW_OK;
}

enum pw_status pw_live_deferred(struct pw_live *live, uint32_t host, const struct pw_core_message *message,
                                const struct pw_core_body *body, struct pw_error *ret_err)
{
        (void)body, (void)ret_err;
        if (!answers(live, host, message) || live->hosts[host].state != PW_LIVE_HOST_ASKED)
                return PW_EXISTS;
        if (live->hosts[host].arrival == message->arrival && !live->hosts_in[PW_LIVE_HOST_RESERVED])
                return PW_EXISTS;
        live->hosts[host].arrival = message->arrival;
        give_back_rooms(live);
        return PW_OK;
}

/* It would have waited, or lost its blocks with the run ahead. */
static enum pw_status refused_now(struct pw_live *live, uint32_t host, const struct pw_core_message *message)
{
        live->hosts[host].arrival = message->arrival;
        pw_ahead_forget(live, host);
        pw_live_host_step(live, host, PW_LIVE_HOST_REFUSE);
        lose_behind(live, host);
        fall_back(live, host);
        return PW_OK;
}

enum pw_status pw_live_refused(struct pw_live *live, uint32_t host, const struct pw_core_message *message,
                               const struct pw_core_body *body, struct pw_error *ret_err)
{
        enum pw_live_host_state state = live->hosts[host].state;

        (void)ret_err;
        if (message->refusal == PW_REFUSED_EXPECTED && live->run.state == PW_RUN_WAITING && live->submitted) {
                pw_live_fail(live, message->status, pw_core_text(body));
                return PW_OK;
        }
        if (message->refusal == PW_REFUSED_EXPECTED || !answers(live, host, message) ||
            (state != PW_LIVE_HOST_ASKED && state != PW_LIVE_HOST_RESERVED))
                return PW_EXISTS;
        if (message->refusal == PW_REFUSED_NOW && !is_alone(live))
                return refused_now(live, host, message);
        pw_ahead_forget(live, host);
        pw_live_host_step(live, host, PW_LIVE_HOST_REFUSE);
        lose_behind(live, host);
        pw_live_doom(live, message->status, pw_core_text(body));
        return PW_OK;
}
