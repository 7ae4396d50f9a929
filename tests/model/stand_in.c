/* What stands in for the files of the daemon that are not in the model: effects done at once, sessions that end, and what never
 * happens. */
#include "tests/model/world.h"

#include "daemon/child/child_board.h"
#include "daemon/client/client.h"
#include "daemon/client/lane.h"
#include "daemon/client/object/name.h"
#include "daemon/client/observer.h"
#include "daemon/effect.h"
#include "daemon/http/http.h"
#include "daemon/inspect/list.h"
#include "daemon/inspect/trace/states.h"
#include "daemon/inspect/trace/trace.h"
#include "daemon/loop/heap.h"
#include "daemon/memory/audit.h"
#include "daemon/memory/fetch/fetch.h"
#include "daemon/memory/overhead.h"
#include "daemon/memory/worker.h"
#include "daemon/meta/carry.h"
#include "daemon/peer/peers.h"
#include "daemon/notify.h"
#include "daemon/session/complaint.h"
#include "daemon/session/object.h"
#include "daemon/session/output.h"
#include "daemon/work/shape/describe.h"
#include "tests/model/runs.h"

struct pw_client_segment *world_segment(uint32_t number)
{
        return number == WORLD_FUTURES ? &world.futures : &world.clients[number / 10 - 1].segment;
}

bool pw_effects(struct pw_daemon *daemon, uint64_t now_us)
{
        struct pw_store_actions *actions = pw_store_actions(daemon->store);
        uint32_t i = 0;

        for (; i < actions->count; i++) {
                struct pw_store_action action = actions->items[i];
                uint32_t client = action.segment / 10 - 1;

                if (action.kind == PW_STORE_WAKE)
                        pw_hint_wake(world.tenant.hints, pw_map_entry(&world_segment(action.segment)->map, action.slot),
                                     action.segment, action.slot);
                else if (action.kind == PW_STORE_PUNCH || action.kind == PW_STORE_SEGMENT_IDLE)
                        world.punched |= 1u << client;
                if (action.kind == PW_STORE_SEGMENT_IDLE) {
                        struct pw_store_leaving leaving = pw_store_segment_remove(daemon->store, action.segment);
                        pw_store_pages_gone(daemon->store, leaving.owner, leaving.bytes, now_us);
                } else if (action.kind == PW_STORE_PUNCH)
                        pw_store_pages_gone(daemon->store, action.owner, action.bytes, now_us);
                if (action.kind == PW_STORE_FREE_RESULT)
                        runs_free_room(action.payload);
                else if (action.kind == PW_STORE_CANCEL_RUN)
                        runs_cancel(action.number);
                else if (action.kind == PW_STORE_END_SESSION)
                        pw_session_end(&world.clients[action.number - 1].session, action.text);
                else if (action.kind == PW_STORE_DRAIN)
                        daemon->loop.more = true, pw_lanes_hungry(daemon);
                else if (action.kind == PW_STORE_POPULATE)
                        pw_store_populated(daemon->store, action.token, PW_OK, now_us);
        }
        pw_store_actions_clear(actions);
        return i != 0;
}

void pw_session_end(struct pw_dsession *session, const char *why)
{
        struct world_client *client = &world.clients[session->number - 1];

        if (session->ended)
                return;
        model_must(!why, why ? why : "");
        pw_lanes_drain(session);
        session->ended = true;
        pw_list_remove(&session->of_speakers);
        pw_list_remove(&session->of_scan);
        pw_list_append(&world.daemon.clients.ended, &session->of_ended);
        pw_store_session_end(world.daemon.store, session->number, client->noticed, pw_now_us());
        world.daemon.loop.more = true;
}

void pw_sessions_reap(struct pw_daemon *daemon)
{
        struct pw_dsession *session;

        pw_list_each(&daemon->clients.ended, session, struct pw_dsession, of_ended) {
                pw_list_remove(&session->of_ended);
                (void)pw_lanes_end(session, &(uint32_t){ UINT32_MAX });
                pw_table_remove(&daemon->registry.sessions, session->number);
        }
}

struct pw_dsession *pw_session_get(const struct pw_registry *registry, uint32_t number)
{
        struct pw_dsession *session = pw_table_get(&registry->sessions, number);

        return session && !session->ended ? session : NULL;
}

enum pw_status pw_object_by_id(struct pw_dsession *session, const Pathways__Wire__ObjectId *wire, struct pw_object **ret_object,
                               struct pw_error *ret_err)
{
        struct pw_id id = { wire->place, wire->epoch, wire->generation };

        *ret_object = pw_store_find(session->daemon->store, session->number, pw_id_segment(id), pw_id_slot(id), id.generation);
        return *ret_object ? PW_OK : pw_error_set(ret_err, PW_GONE, "gone");
}

uint64_t pw_now_us(void) { return 1000000; }
void pw_log(const struct pw_log *log, enum pw_log_level level, const char *format, ...) { (void)log, (void)level, (void)format; }

bool pw_boards_poll(struct pw_boards *boards, struct pw_scheduler *scheduler, uint64_t now_us)
{
        (void)boards, (void)scheduler, (void)now_us;
        return false;
}
void pw_child_boards_scan(struct pw_daemon *daemon) { (void)daemon; }
bool pw_boards_sleep(struct pw_boards *boards, struct pw_scheduler *scheduler, uint64_t now_us)
{
        return pw_boards_poll(boards, scheduler, now_us);
}
void pw_scheduler_tick(struct pw_scheduler *scheduler, uint64_t now_us) { (void)scheduler, (void)now_us; }
uint64_t pw_scheduler_next_us(const struct pw_scheduler *scheduler) { (void)scheduler; return UINT64_MAX; }
bool pw_scheduler_waits_for_holders(const struct pw_scheduler *scheduler) { (void)scheduler; return false; }
void pw_overhead_turn(struct pw_daemon *daemon) { (void)daemon; }
void pw_pinned_turn(struct pw_daemon *daemon) { (void)daemon; }
bool pw_processes_turn(struct pw_daemon *daemon) { (void)daemon; return false; }
bool pw_names_turn(struct pw_daemon *daemon) { (void)daemon; return false; }
bool pw_lists_turn(struct pw_daemon *daemon) { (void)daemon; return false; }
bool pw_peers_turn(struct pw_daemon *daemon) { (void)daemon; return false; }
uint64_t pw_peers_next_us(const struct pw_daemon *daemon) { (void)daemon; return UINT64_MAX; }
void pw_peers_tick(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; }
bool pw_peers_want_drops(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; return false; }
void pw_peers_decided(struct pw_daemon *daemon, struct pw_object *object) { (void)daemon, (void)object; }
bool pw_meta_carry(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; return false; }
uint64_t pw_meta_carry_next_us(const struct pw_daemon *daemon) { (void)daemon; return UINT64_MAX; }
void pw_describe_tick(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; }
uint64_t pw_describe_next_us(const struct pw_daemon *daemon) { (void)daemon; return UINT64_MAX; }
void pw_states_follow(struct pw_daemon *daemon) { (void)daemon; }
void pw_traces_collect(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; }
static void moved(struct pw_daemon *daemon, const struct pw_moved *move) { (void)daemon, (void)move; }
const struct pw_client_observer world_observer = { .moved = moved };
void pw_traces_tick(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; }
void pw_fetches_tick(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; }
uint64_t pw_fetches_next_us(const struct pw_daemon *daemon) { (void)daemon; return UINT64_MAX; }
void pw_audits_tick(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; }
uint64_t pw_traces_next_us(const struct pw_daemon *daemon) { (void)daemon; return UINT64_MAX; }
uint64_t pw_audits_next_us(const struct pw_daemon *daemon) { (void)daemon; return UINT64_MAX; }
void pw_children_tick(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; }
uint64_t pw_children_next_us(const struct pw_daemon *daemon) { (void)daemon; return UINT64_MAX; }
uint64_t pw_strangers_next_us(const struct pw_daemon *daemon) { (void)daemon; return UINT64_MAX; }
void pw_strangers_tick(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; }
uint64_t pw_listening_next_us(const struct pw_daemon *daemon) { (void)daemon; return UINT64_MAX; }
void pw_listening_tick(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; }
uint64_t pw_complaints_next_us(const struct pw_daemon *daemon) { (void)daemon; return UINT64_MAX; }
void pw_complaints_tick(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; }
uint64_t pw_http_next_us(const struct pw_daemon *daemon) { (void)daemon; return UINT64_MAX; }
void pw_http_tick(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; }
uint64_t pw_outputs_next_us(const struct pw_daemon *daemon) { (void)daemon; return UINT64_MAX; }
void pw_outputs_tick(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; }
uint64_t pw_watchdog_next_us(const struct pw_daemon *daemon) { (void)daemon; return UINT64_MAX; }
void pw_watchdog_tick(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; }
uint64_t pw_heap_next_us(const struct pw_daemon *daemon) { (void)daemon; return UINT64_MAX; }
void pw_heap_tick(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; }
