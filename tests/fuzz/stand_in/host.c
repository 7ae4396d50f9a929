/* The daemon that targets play with: what is not the product's is a stand-in, and honest. */
#include "tests/fuzz/stand_in/host.h"

#include "daemon/child/child_board.h"
#include "daemon/client/client.h"
#include "daemon/client/lane.h"
#include "daemon/client/scan.h"
#include "daemon/client/object/name.h"
#include "daemon/effect.h"
#include "daemon/http/http.h"
#include "daemon/inspect/list.h"
#include "daemon/inspect/trace/trace.h"
#include "daemon/inspect/trace/trace_private.h"
#include "daemon/loop/heap.h"
#include "daemon/memory/audit.h"
#include "daemon/memory/fetch/fetch.h"
#include "daemon/memory/overhead.h"
#include "daemon/memory/recount.h"
#include "daemon/memory/room.h"
#include "daemon/memory/worker.h"
#include "daemon/meta/carry.h"
#include "daemon/peer/draining.h"
#include "daemon/peer/peers.h"
#include "daemon/module/module.h"
#include "daemon/loop/turn.h"
#include "daemon/notify.h"
#include "daemon/session/output.h"
#include "daemon/work/shape/describe.h"
#include "daemon/work/place.h"
#include "daemon/work/program.h"
#include "daemon/work/submit.h"
#include "pathways.h"
#include "program/graph/graph_make.h"
#include "program/lower/lower.h"

#include <assert.h>
#include <stdio.h>
#include <sys/mman.h>

#define DEVICE_BYTES PW_MIB
#define TURNS_MAX 64

static struct fuzz_host *now; /* the one there is: for the clock */

/* --- stand-ins for the rest of the daemon --------------------------------------------------------------------------------- */

uint64_t pw_now_us(void) { return now->now_us; }
void pw_log(const struct pw_log *log, enum pw_log_level level, const char *format, ...) { (void)log, (void)level, (void)format; }

static struct fuzz_client *client_of(const struct pw_dsession *session)
{
        return pw_container_of(session, struct fuzz_client, session);
}

struct pw_dsession *pw_session_get(const struct pw_registry *registry, uint32_t number)
{
        struct pw_dsession *session = pw_table_get(&registry->sessions, number);

        return session && !session->ended ? session : NULL;
}

void pw_session_end(struct pw_dsession *session, const char *why)
{
        if (session->ended)
                return;
        assert(session == &now->clients[0].session || !why); /* the other one never breaks the protocol */
        if (!why)
                pw_lanes_drain(session);
        if (session->ended)
                return;
        session->ended = true;
        pw_list_remove(&session->of_scan);
        pw_list_append(&session->daemon->clients.ended, &session->of_ended);
        pw_store_session_end(session->daemon->store, session->number, client_of(session)->dead, pw_now_us());
        session->daemon->loop.more = true;
}

void pw_sessions_reap(struct pw_daemon *daemon)
{
        struct pw_dsession *session;

        pw_list_each(&daemon->clients.ended, session, struct pw_dsession, of_ended) {
                pw_list_remove(&session->of_ended);
                (void)pw_lanes_end(session, &(uint32_t){ UINT32_MAX });
                pw_trace_session_end(session);
                pw_table_remove(&daemon->registry.sessions, session->number);
        }
}

/* Packed as it would be sent: every text and list of it is read. */
void pw_session_reply(struct pw_dsession *session, uint64_t id, Pathways__Wire__Reply *reply, const int *fds, uint32_t fd_count)
{
        uint8_t *packed = malloc(pathways__wire__reply__get_packed_size(reply));

        (void)session, (void)id, (void)fds, (void)fd_count;
        assert(packed);
        pathways__wire__reply__pack(reply, packed);
        free(packed);
}
void pw_session_reply_error(struct pw_dsession *session, uint64_t id, enum pw_status status, const char *text)
{
        (void)session, (void)id, (void)status, (void)text;
}

struct pw_segment *pw_segment_get(const struct pw_memory *memory, uint32_t number)
{
        (void)memory;
        for (uint32_t i = 0; i < FUZZ_CLIENTS; i++)
                if (now->clients[i].segment.number == number)
                        return &now->clients[i].segment;
        return now->futures.number == number ? &now->futures : NULL;
}
/* Whoever looks there now crashes. */
void pw_segment_quiet(struct pw_segment *segment) { segment->map = (struct pw_map){ 0 }; }

void pw_segment_remove(struct pw_daemon *daemon, struct pw_segment *segment)
{
        pw_store_segment_remove(daemon->store, segment->number);
        segment->number = 0;
}
void pw_worker_ask(struct pw_worker *worker, const struct pw_memory_work *work)
{
        (void)worker;
        if (!work->punch)
                pw_store_populated(now->daemon.store, work->token, PW_OK, pw_now_us());
}
void pw_rooms_answer(struct pw_daemon *daemon, const struct pw_store_action *action) { (void)daemon, (void)action; }
void pw_child_end_gang(struct pw_daemon *daemon, uint32_t device, uint64_t seq, enum pw_status status, const char *why)
{
        (void)status, (void)why;
        if (atomic_load(&daemon->children.all[device].board->running) == seq)
                now->ending |= UINT64_C(1) << device;
}
void pw_child_kill(struct pw_daemon *daemon, uint32_t device, enum pw_status status, const char *why)
{
        (void)daemon, (void)status, (void)why;
        now->ending |= UINT64_C(1) << device;
}
bool pw_lists_turn(struct pw_daemon *daemon) { (void)daemon; return false; }
bool pw_inputs_turn(struct pw_daemon *daemon) { (void)daemon; return false; }
bool pw_processes_turn(struct pw_daemon *daemon) { (void)daemon; return false; }
bool pw_names_turn(struct pw_daemon *daemon) { (void)daemon; return false; }
uint64_t pw_boot_us(void) { return pw_now_us(); }
bool pw_trace_elsewhere(struct pw_dsession *session, uint64_t id, const Pathways__Wire__TraceRequest *request)
{
        (void)session, (void)id, (void)request;
        return false;
}
void pw_trace_answer_host(struct pw_trace *trace, const Pathways__Wire__Trace *message) { (void)trace, (void)message; }
void pw_trace_refuse_host(struct pw_daemon *daemon, uint32_t host, uint64_t number, const struct pw_error *err)
{
        (void)daemon, (void)host, (void)number, (void)err;
}
uint32_t pw_draining_successor(const struct pw_daemon *daemon, uint32_t host, bool *ret_done)
{
        (void)daemon, (void)host;
        return *ret_done = false;
}
bool pw_peers_turn(struct pw_daemon *daemon) { (void)daemon; return false; }
uint64_t pw_peers_next_us(const struct pw_daemon *daemon) { (void)daemon; return UINT64_MAX; }
void pw_peers_tick(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; }
bool pw_peers_want_drops(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; return false; }
void pw_peers_decided(struct pw_daemon *daemon, struct pw_object *object) { (void)daemon, (void)object; }
bool pw_meta_carry(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; return false; }
uint64_t pw_meta_carry_next_us(const struct pw_daemon *daemon) { (void)daemon; return UINT64_MAX; }
void pw_fetches_tick(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; }
uint64_t pw_fetches_next_us(const struct pw_daemon *daemon) { (void)daemon; return UINT64_MAX; }
void pw_audits_tick(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; }
uint64_t pw_audits_next_us(const struct pw_daemon *daemon) { (void)daemon; return UINT64_MAX; }
void pw_module_uses_drop(struct pw_daemon *daemon, struct pw_module_uses *uses) { (void)daemon, (void)uses; }
void pw_program_ended(struct pw_daemon *daemon, struct pw_program_row *row) { (void)daemon, (void)row; }
void pw_describe_tick(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; }
uint64_t pw_describe_next_us(const struct pw_daemon *daemon) { (void)daemon; return UINT64_MAX; }
void pw_children_tick(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; }
uint64_t pw_children_next_us(const struct pw_daemon *daemon) { (void)daemon; return UINT64_MAX; }
uint64_t pw_strangers_next_us(const struct pw_daemon *daemon) { (void)daemon; return UINT64_MAX; }
void pw_strangers_tick(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; }
uint64_t pw_listening_next_us(const struct pw_daemon *daemon) { (void)daemon; return UINT64_MAX; }
void pw_listening_tick(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; }
uint64_t pw_http_next_us(const struct pw_daemon *daemon) { (void)daemon; return UINT64_MAX; }
void pw_http_tick(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; }
uint64_t pw_outputs_next_us(const struct pw_daemon *daemon) { (void)daemon; return UINT64_MAX; }
void pw_outputs_tick(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; }
uint64_t pw_watchdog_next_us(const struct pw_daemon *daemon) { (void)daemon; return UINT64_MAX; }
void pw_watchdog_tick(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; }
uint64_t pw_heap_next_us(const struct pw_daemon *daemon) { (void)daemon; return UINT64_MAX; }
void pw_heap_tick(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; }
void pw_recount_mark(struct pw_daemon *daemon, struct pw_tenant *tenant, const struct pw_hint_marks *marks)
{
        (void)daemon, (void)tenant, (void)marks;
}
bool pw_recounts_turn(struct pw_daemon *daemon, uint64_t now_us) { (void)daemon, (void)now_us; return false; }
uint64_t pw_recounts_next_us(const struct pw_daemon *daemon) { (void)daemon; return UINT64_MAX; }
void pw_overhead_turn(struct pw_daemon *daemon) { (void)daemon; }
void pw_pinned_turn(struct pw_daemon *daemon) { (void)daemon; }
void pw_overhead_reserved(struct pw_backing *backing) { (void)backing; }

/* --- boards and programs --------------------------------------------------------------------------------------------------- */

static void *zeroed(void **memory, uint64_t bytes)
{
        if (!*memory)
                *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        else
                madvise(*memory, bytes, MADV_DONTNEED);
        assert(*memory != MAP_FAILED);
        return *memory;
}

static void open_boards(struct fuzz_host *host)
{
        static void *islands[FUZZ_ISLANDS], *devices[FUZZ_DEVICES], *bells;
        struct pw_daemon *daemon = &host->daemon;
        enum pw_status status = PW_OK;

        daemon->boards = pw_boards_new(daemon->host);
        daemon->children.bells = zeroed(&bells, sizeof *daemon->children.bells);
        assert(daemon->boards);
        pw_boards_bells(daemon->boards, daemon->children.bells);
        for (uint32_t i = 0; i < FUZZ_ISLANDS && status == PW_OK; i++) {
                daemon->children.islands[i].board = zeroed(&islands[i], PW_ISLAND_BOARD_BYTES);
                status = pw_boards_island(daemon->boards, i, daemon->children.islands[i].board, PW_ISLAND_BOARD_BYTES, NULL);
        }
        for (uint32_t i = 0; i < FUZZ_DEVICES && status == PW_OK; i++) {
                struct pw_device_add add = { i, i / 2, "emulated", DEVICE_BYTES, false, false };

                daemon->children.all[i] = (struct pw_child){ .daemon = daemon, .number = i, .island = i / 2,
                                                         .board = zeroed(&devices[i], sizeof(struct pw_device_board)) };
                status = pw_boards_device(daemon->boards, i, i / 2, daemon->children.all[i].board, NULL);
                if (status == PW_OK)
                        status = pw_scheduler_device_add(daemon->scheduler, &add, NULL);
                if (status == PW_OK)
                        status = pw_scheduler_segment(daemon->scheduler, i, "ann", 100 + i, DEVICE_BYTES, NULL);
        }
        assert(status == PW_OK);
}

static uint32_t compile(struct fuzz_host *host, struct pw_graph *graph)
{
        struct pw_image *image = NULL;
        uint32_t handle = 0;
        uint64_t placed_bytes;
        struct pw_program_row *row;
        enum pw_status status = pw_graph_check(graph, NULL);

        if (status == PW_OK)
                status = pw_make_shapes(graph, NULL);
        if (status == PW_OK)
                status = pw_lower(graph, &image, NULL);
        if (status == PW_OK)
                status = pw_scheduler_program_add(host->daemon.scheduler, image, graph, "ann", 1, &handle, NULL);
        assert(status == PW_OK);
        row = pw_scheduler_program(host->daemon.scheduler, handle);
        status = pw_boards_image_reserve(host->daemon.boards, row, &placed_bytes, NULL);
        assert(status == PW_OK);
        pw_boards_image_fill(host->daemon.boards, row);
        pw_graph_free(graph);
        for (uint32_t i = 0; i < FUZZ_CLIENTS; i++)
                pw_table_put(&host->clients[i].session.programs, handle, host);
        return handle;
}

static uint32_t open_slice(struct fuzz_host *host, struct pw_graph *graph, uint32_t devices, uint32_t islands)
{
        struct pw_slice_ask ask = { .tenant = "ann", .device_count = devices, .island_count = islands, .session = 1 };
        const struct pw_slice_map *map;

        if (islands < 2)
                ask.island = 1;
        if (pw_scheduler_slice_open(host->daemon.scheduler, &ask, &map, NULL) != PW_OK || !pw_graph_add_slice(graph, map))
                abort();
        return graph->slice_count - 1;
}

static void make_programs(struct fuzz_host *host)
{
        struct pw_sharding broadcast = PW_BROADCAST, split = PW_SPLIT(0), partial = PW_PARTIAL(PW_SUM);
        struct pw_graph *graph = pw_graph_new("one");
        uint32_t slice = open_slice(host, graph, 1, 1), a, b;

        a = pw_make_input(graph, slice, PW_DIMS(64), broadcast, 0);
        pw_graph_add_result(graph, PW_MAKE_CALL(graph, slice, "m/any", PW_BROADCAST, a));
        host->programs[0] = compile(host, graph);
        graph = pw_graph_new("two");
        slice = open_slice(host, graph, 2, 1);
        a = pw_make_input(graph, slice, PW_DIMS(64), split, PW_DONATED);
        b = pw_make_input(graph, slice, PW_DIMS(64), broadcast, 0);
        pw_graph_add_result(graph, pw_make_call(graph, &(struct pw_make_call){ slice, "m/update", &a, 1, &split, 1 }));
        pw_graph_add_result(graph, pw_make_call(graph, &(struct pw_make_call){ slice, "m/any", &b, 1, &broadcast, 1 }));
        host->programs[1] = compile(host, graph);
        graph = pw_graph_new("far");
        slice = open_slice(host, graph, 4, 2);
        a = pw_make_input(graph, slice, PW_DIMS(64), broadcast, 0);
        a = pw_make_call(graph, &(struct pw_make_call){ slice, "m/any", &a, 1, &partial, 1 });
        pw_graph_add_result(graph, pw_make_as(graph, a, slice, broadcast));
        host->programs[2] = compile(host, graph);
}

/* --- clients ----------------------------------------------------------------------------------------------------------------- */

static void open_client(struct fuzz_host *host, struct fuzz_client *client)
{
        struct pw_dsession *session = &client->session;

        client->memory = fixture_client(&host->fixture, "ann");
        client->segment =
                (struct pw_segment){ .number = client->memory->segment, .map = client->memory->map, .tenant = &host->tenant };
        *session = (struct pw_dsession){ .daemon = &host->daemon, .number = client->memory->session, .role = PW_ROLE_CLIENT,
                                         .tenant = &host->tenant, .control = (struct pw_control *)(void *)client->memory->control };
        for (uint32_t i = 0; i < PW_LANES_MAX; i++)
                client->lanes[i].ring = &session->control->lanes[i].ring;
        pw_list_init(&session->of_ended);
        pw_list_init(&session->of_scan);
        atomic_store(&session->control->lane_count, 3);
        pw_table_put(&host->daemon.registry.sessions, session->number, session);
        client->rooms = fixture_grant(&host->fixture, client->memory, 256, FUZZ_SLOTS);
        client->futures = fixture_grant_futures(&host->fixture, client->memory, FUZZ_SLOTS);
        for (uint32_t i = 0; i < FUZZ_CLIENTS; i++)
                if (pw_store_reader_add(host->daemon.store, client->memory->segment, i + 1, NULL) != PW_OK &&
                    i < host->fixture.client_count)
                        abort();
}

void fuzz_host_cell(struct fuzz_client *client, uint32_t lane, struct pw_cell cell)
{
        pw_ring_write(&client->lanes[lane], cell);
        pw_ring_publish(&client->lanes[lane], false);
}

struct pw_cell fuzz_host_operand(struct place place) { return pw_cell_object(0, place.segment, place.slot, place.generation); }

void fuzz_host_run(struct fuzz_client *client, uint32_t lane, const struct fuzz_run *run)
{
        struct pw_ring_writer *writer = &client->lanes[lane];

        pw_ring_write(writer, pw_cell_run(0, (uint16_t)run->input_count, (uint16_t)run->result_count, run->program));
        pw_ring_write(writer, (struct pw_cell){ 0, 0 });
        for (uint32_t i = 0; i < run->input_count; i++)
                pw_ring_write(writer, run->inputs[i]);
        for (uint32_t i = 0; i < run->result_count; i++)
                pw_ring_write(writer, run->results[i]);
        pw_ring_publish(writer, true);
}

void fuzz_host_end(struct fuzz_host *host, struct fuzz_client *client, bool dead)
{
        bool was = client->dead;

        client->dead |= dead;
        if (!client->session.ended)
                pw_session_end(&client->session, NULL);
        else if (dead && !was)
                pw_store_session_dead(host->daemon.store, client->session.number, pw_now_us());
}

/* Client 1 puts a value and runs program 0 on it. */
static void begin_kept(struct fuzz_host *host)
{
        struct fuzz_client *client = &host->clients[1];
        struct pw_cell input, result;

        host->kept = fixture_create(client->memory, client->rooms.first_slot);
        *host->kept.entry = (struct pw_entry){ .word = host->kept.entry->word, .bytes = 256,
                                               .room_offset = client->rooms.room_offset,
                                               .room_segment = client->memory->segment, .rank = 1, .body.dims = { 256 } };
        fixture_seal(host->kept, PW_OK);
        host->result = fixture_future(&host->fixture, client->futures.first_slot);
        input = fuzz_host_operand(host->kept);
        result = fuzz_host_operand(host->result);
        fuzz_host_run(client, 0, &(struct fuzz_run){ host->programs[0], &input, 1, &result, 1 });
        pw_lanes_rung(&client->session);
}

/* --- life -------------------------------------------------------------------------------------------------------------------- */

void fuzz_host_open(struct fuzz_host *host)
{
        struct pw_daemon *daemon = &host->daemon;

        memset(host, 0, sizeof *host);
        now = host;
        host->now_us = 1000000;
        fixture_open(&host->fixture, 16 * PW_MIB);
        host->tenant = (struct pw_tenant){ .name = (char *)(uintptr_t)"ann", .hints = host->fixture.hints };
        host->futures = (struct pw_segment){ .number = FIXTURE_FUTURES, .map = host->fixture.futures, .tenant = &host->tenant };
        daemon->settings.host_memory = 16 * PW_MIB;
        daemon->phase = PW_SERVING;
        daemon->device_count = FUZZ_DEVICES;
        daemon->loop.settle = pw_effects;
        daemon->store = host->fixture.store;
        daemon->scheduler = pw_scheduler_new(&(struct pw_scheduler_params){ .ahead = 4 }, NULL);
        daemon->children.all = calloc(FUZZ_DEVICES + 1, sizeof *daemon->children.all);
        assert(daemon->scheduler && daemon->children.all);
        pw_loop_init(&daemon->loop);
        pw_clients_init(&daemon->clients);
        pw_memory_init(&daemon->memory);
        pw_work_init(&daemon->work);
        pw_inspection_init(&daemon->inspection);
        pw_scans_tenant_init(&host->tenant);
        pw_submit_tenant_init(&host->tenant);
        open_boards(host);
        for (uint32_t i = 0; i < FUZZ_CLIENTS; i++)
                open_client(host, &host->clients[i]);
        make_programs(host);
        begin_kept(host);
}

void fuzz_host_turn(struct fuzz_host *host)
{
        int turns = 0;

        while (pw_turn(&host->daemon) && ++turns < TURNS_MAX)
                ;
        assert(turns < TURNS_MAX); /* it comes to rest */
        (void)!pw_turn_may_sleep(&host->daemon);
        pw_boards_awake(host->daemon.boards);
}

void fuzz_host_work(struct fuzz_host *host, uint32_t device)
{
        struct pw_device_board *board = host->daemon.children.all[device].board;
        const struct pw_island_board *orders = host->daemon.children.islands[host->daemon.children.all[device].island].board;
        uint64_t head = atomic_load(&orders->head), seq = atomic_load(&board->done.seq) + 1;

        for (; seq <= head; seq++) {
                const struct pw_order *order = &orders->log[seq % PW_ORDER_LOG];
                uint64_t count = atomic_load(&board->history_count);

                if (!(order->members >> device & 1))
                        continue;
                board->history[count % PW_HISTORY] =
                        (struct pw_history){ .seq = seq, .node = order->node, .start_ns = 1, .end_ns = 2 };
                atomic_store(&board->history_count, count + 1);
                atomic_fetch_add(&board->done.count, 1);
                atomic_store(&board->done.seq, seq);
        }
}

void fuzz_host_kill_device(struct fuzz_host *host, uint32_t device)
{
        host->ending &= ~(UINT64_C(1) << device);
        snprintf(host->daemon.children.all[device].ended_how, sizeof host->daemon.children.all[device].ended_how, "SIGKILL");
        pw_child_board_down(&host->daemon.children.all[device], PW_CRASHED);
        pw_scheduler_device_up(host->daemon.scheduler, device, pw_now_us());
}

static void settle(struct fuzz_host *host)
{
        for (int i = 0; i < 16; i++) {
                fuzz_host_turn(host);
                for (uint32_t device = 0; device < FUZZ_DEVICES; device++)
                        fuzz_host_work(host, device);
        }
        fuzz_host_turn(host);
}

static void found(void *context, const char *where, const char *problem)
{
        (void)context;
        fprintf(stderr, "%s: %s\n", where, problem);
        abort();
}

static void all_free(void *context, const struct pw_device_row *row)
{
        (void)context;
        assert(row->free == row->capacity && row->ordered == row->done);
}

void fuzz_host_close(struct fuzz_host *host)
{
        struct pw_daemon *daemon = &host->daemon;
        struct fuzz_client *good = &host->clients[1];

        fuzz_host_end(host, &host->clients[0], true);
        settle(host);
        assert(fixture_state(host->kept) == PW_ENTRY_READY && fixture_state(host->result) == PW_ENTRY_READY);
        assert(pw_scheduler_check(daemon->scheduler, found, NULL) == 0);
        fuzz_host_end(host, good, true);
        settle(host);
        assert(daemon->counters.runs_in_flight == 0);
        pw_scheduler_each_device(daemon->scheduler, all_free, NULL);
        assert(pw_scheduler_check(daemon->scheduler, found, NULL) == 0);
        fixture_close(&host->fixture);
        pw_scheduler_free(daemon->scheduler);
        pw_boards_free(daemon->boards);
        for (uint32_t i = 0; i < FUZZ_CLIENTS; i++)
                pw_table_done(&host->clients[i].session.programs);
        pw_table_done(&daemon->registry.sessions);
        free(daemon->children.all);
}
