/* A client that writes over all that it may write: its segment, rings and slots, its tenant's hint page. And one that says garbage.
 *
 * It may lose its session or crash itself; the daemon lives, others of the same tenant go on and find their values, and once it is
 * dead `check` finds nothing and every byte is accounted for. PW_VANDALS is how many, from PW_SEED.
 */
#include "libclient/session.h"
#include "libclient/socket/connection.h"
#include "plane/control.h"
#include "tests/integration/raw.h"
#include "tests/integration/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAPS_MAX 64
#define BLOWS 3000 /* words written over; each may populate a page */
#define WORKERS 2
#define NEAR (UINT64_C(1) << 18) /* where rings, entries and counters begin */

struct map { char *base; uint64_t bytes; };

struct scene {
        struct it_host *host;
        uint64_t seed;
        struct board { _Atomic bool stop; _Atomic uint64_t steps[WORKERS]; } *board;
        int worker;
};

/* --- the vandal ----------------------------------------------------------------------------------------------------------- */

/* The writable shared memory that this process has of pathwaysd. */
static uint32_t find_maps(struct map *maps)
{
        FILE *file = fopen("/proc/self/maps", "re");
        uint32_t count = 0;
        char line[400];

        while (file && count < MAPS_MAX && fgets(line, sizeof line, file)) {
                uint64_t from, to;
                char access[8];

                if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &from, &to, access) == 3 && !strcmp(access, "rw-s") &&
                    strstr(line, "memfd:pathways"))
                        maps[count++] = (struct map){ (char *)(uintptr_t)from, to - from };
        }
        if (file)
                fclose(file);
        return count;
}

static void strike(const struct map *map, uint64_t *seed)
{
        static const uint64_t words[] = { 0, 1, UINT64_MAX, UINT64_C(0x8000000000000000), UINT64_C(0x0101010101010101) };
        uint64_t reach = it_random(seed) % 4 && map->bytes > NEAR ? NEAR : map->bytes, value = it_random(seed);
        uint64_t at = it_random(seed) % (reach / 8) * 8;

        if (it_random(seed) % 2)
                value = words[value % (sizeof words / sizeof *words)];
        if (it_random(seed) % 2)
                *(volatile uint64_t *)(map->base + at) = value;
        else
                *(volatile uint8_t *)(map->base + at + value % 8) = (uint8_t)(value >> 8);
}

/* Ordinary work between the blows: whatever it ends in. */
static void work(struct pw_session *session, struct pw_program *program, uint64_t *seed)
{
        double numbers[32] = { 1 };
        struct pw_put_params params = { .dtype = PW_F64, .dims = PW_DIMS(32), .timeout_us = IT_SECOND / 20 };
        struct pw_future *future, *result = NULL;
        struct pw_view view;

        if (pw_put(session, numbers, sizeof numbers, &params, &future, NULL) != PW_OK)
                return;
        if (it_random(seed) % 2 && pw_run(program, PW_FUTURES(future), &result, NULL) == PW_OK &&
            pw_get(result, IT_SECOND / 20, &view, NULL) == PW_OK)
                pw_view_done(&view);
        if (result)
                pw_unref(result);
        if (pw_get(future, 0, &view, NULL) == PW_OK)
                pw_view_done(&view);
        if (it_random(seed) % 4)
                pw_unref(future);
}

static int be_a_vandal(void *context, int pipe)
{
        struct scene *scene = context;
        struct pw_session *session = it_connect(scene->host);
        struct pw_program *program = it_one_node(session, it_slice(session, 2, 1), "pw/nop", PW_DIMS(32), NULL);
        struct rlimit no_core = { 0, 0 };
        struct map maps[MAPS_MAX];
        uint32_t count;

        signal(SIGABRT, SIG_DFL);
        setrlimit(RLIMIT_CORE, &no_core);
        for (int i = 0; i < 20; i++)
                work(session, program, &scene->seed);
        count = find_maps(maps);
        if (write(pipe, &count, sizeof count) != sizeof count)
                return 2;
        for (int i = 0; count && i < BLOWS; i++) {
                strike(&maps[it_random(&scene->seed) % count], &scene->seed);
                if (i % 16 == 0)
                        work(session, program, &scene->seed);
        }
        return 0;
}

/* --- the others ------------------------------------------------------------------------------------------------------------ */

static int be_a_worker(void *context, int pipe)
{
        struct scene *scene = context;
        struct pw_session *session = it_connect(scene->host);
        struct pw_slice *slice = it_slice(session, 4, 2);
        struct pw_program *program = pw_program_new(session, "test/worker");
        struct pw_value *input = pw_input(program, slice, PW_F64, PW_DIMS(64), PW_SPLIT(0), 0);

        pw_result(program, it_grow(program, slice, input, PW_SPLIT(0), 1));
        it_ok(pw_compile(program, IT_ERR));
        if (write(pipe, "w", 1) != 1)
                return 2;
        for (uint64_t i = 0; !atomic_load(&scene->board->stop); i++) {
                struct pw_future *future = it_put_f64(session, PW_DIMS(64), (double)i), *result = it_run_1(program, future);
                struct pw_view view;

                it_ok(pw_get(result, 2 * IT_LONG, &view, IT_ERR));
                for (int k = 0; k < 64; k++)
                        assert_true(((const double *)view.data)[k] == (double)i + k + 1);
                pw_view_done(&view);
                pw_unref(future);
                pw_unref(result);
                atomic_fetch_add(&scene->board->steps[scene->worker], 1);
        }
        pw_close(session);
        return 0;
}

static void others_go_on(const struct scene *scene, int vandal)
{
        int64_t since_us = it_now_us();
        uint64_t before[WORKERS];

        for (int i = 0; i < WORKERS; i++)
                before[i] = atomic_load(&scene->board->steps[i]);
        for (int i = 0; i < WORKERS; i++)
                while (atomic_load(&scene->board->steps[i]) < before[i] + 2) {
                        if (it_now_us() - since_us > it_slack() * IT_SECOND)
                                fail_msg("vandal %d: worker %d hangs", vandal, i);
                        sched_yield();
                }
}

static void nothing_wrong(const struct scene *scene, int vandal)
{
        struct pw_listing *check = it_list(scene->host->session, "check", NULL);

        if (it_rows(check)) {
                it_print(check);
                fail_msg("vandal %d: check finds %d problems", vandal, (int)it_rows(check));
        }
        pw_listing_free(check);
}

static void vandals(void **state)
{
        struct it_host *host = *state;
        struct scene scene = { .host = host, .seed = it_environment("PW_SEED", 1) };
        int count = (int)it_environment("PW_VANDALS", 6);
        struct it_child workers[WORKERS];
        uint32_t maps;
        char byte;

        print_message("PW_SEED=%" PRIu64 " PW_VANDALS=%d\n", scene.seed, count);
        scene.board = mmap(NULL, sizeof *scene.board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_true(scene.board != MAP_FAILED);
        for (scene.worker = 0; scene.worker < WORKERS; scene.worker++) {
                workers[scene.worker] = it_fork(be_a_worker, &scene);
                it_read(&workers[scene.worker], &byte, 1);
        }
        for (int i = 0; i < count; i++, scene.seed++) {
                struct it_child vandal = it_fork(be_a_vandal, &scene);

                it_read(&vandal, &maps, sizeof maps);
                assert_true(maps >= 2); /* segment and session at least, or it strikes nothing */
                it_reap_within(&vandal, IT_LONG);
                others_go_on(&scene, i);
                nothing_wrong(&scene, i);
        }
        atomic_store(&scene.board->stop, true);
        for (int i = 0; i < WORKERS; i++)
                assert_int_equal(it_reap(&workers[i], 0), 0);
        munmap(scene.board, sizeof *scene.board);
}

/* --- a record that cannot be, found when its session has ended ---------------------------------------------------------------- */

static int say_and_leave(void *context, int pipe)
{
        struct it_host *host = context;
        struct map maps[MAPS_MAX];
        uint32_t found = 0;

        it_connect(host);
        for (uint32_t i = find_maps(maps); i-- > 0;) {
                struct pw_control *control = (struct pw_control *)(void *)maps[i].base;

                if (maps[i].bytes != PW_CONTROL_BYTES)
                        continue;
                control->lanes[0].ring.cells[0] = (struct pw_cell){ UINT64_MAX, UINT64_MAX };
                atomic_store(&control->lanes[0].ring.tail, 1);
                atomic_store(&control->lane_count, 1);
                found++;
        }
        return write(pipe, &found, sizeof found) != sizeof found;
}

static void last_words(void **state)
{
        struct it_host *host = *state;

        for (int i = 0; i < 3; i++) {
                struct it_child child = it_fork(say_and_leave, host);
                uint32_t found;

                it_read(&child, &found, sizeof found);
                assert_int_equal(found, 1);
                assert_int_equal(it_reap(&child, 0), 0);
                assert_true(it_listed(host->session, "status", "host") >= 0);
        }
}

/* --- who leaves is believed, unless it broke the protocol before -------------------------------------------------------------- */

#define KEPT (UINT64_C(3) << 20)
#define ENDS 50

static void break_ring(struct pw_session *session)
{
        struct pw_ring *ring = &session->control->lanes[0].ring;
        uint32_t tail = atomic_load(&ring->tail);

        ring->cells[tail % PW_RING_CELLS] = (struct pw_cell){ UINT64_MAX, UINT64_MAX };
        atomic_store(&ring->tail, tail + 1);
}

static void *get(void *argument)
{
        struct pw_view view;

        return (void *)(uintptr_t)pw_get(argument, PW_FOREVER, &view, NULL);
}

static void await_waiter(struct pw_session *session, const struct pw_future *future)
{
        char id[PW_ID_TEXT_BYTES];
        bool waits = false;

        pw_id_format(pw_future_id(future), id);
        for (int64_t end_us = it_now_us() + IT_LONG; !waits;) {
                struct pw_listing *object = it_list(session, "object", id);

                for (size_t i = 0; i < it_rows(object); i++)
                        waits |= !strcmp(it_text(object, i, "part"), "waiter");
                pw_listing_free(object);
                assert_true(it_now_us() < end_us);
        }
}

/* Who waits for what the session was to make ready hears that it ended, not that the value failed or is gone. */
static void who_waits_hears_of_the_end(void **state)
{
        struct it_host *host = *state;

        for (int i = 0; i < ENDS; i++) {
                struct pw_session *session = it_connect(host);
                struct pw_future *pending;
                pthread_t thread;
                void *data, *status;

                it_ok(pw_create(session, 100, NULL, &pending, &data, IT_ERR));
                assert_int_equal(pthread_create(&thread, NULL, get, pending), 0);
                await_waiter(session, pending);
                break_ring(session);
                assert_true(it_listed(host->session, "status", "host") >= 0); /* all rings are read for it */
                pthread_join(thread, &status);
                assert_int_equal((uintptr_t)status, PW_DAEMON_GONE);
                pw_unref(pending);
                pw_close(session);
        }
}

/* Leaves, as pw_close() says it, and writes on into its room. */
static int leave_and_stay(void *context, int pipe)
{
        struct it_host *host = context;
        struct pw_session *session = it_connect(host);
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__Leave none = PATHWAYS__WIRE__LEAVE__INIT;
        struct pw_future *future;
        void *data;

        it_ok(pw_create(session, KEPT, NULL, &future, &data, IT_ERR));
        break_ring(session);
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_LEAVE;
        request.leave = &none;
        it_ok(pw_connection_post(session->connection, &request, IT_ERR));
        (void)!pw_wait(&future, 1, 1, IT_LONG, NULL, NULL); /* decided, or the session's end was seen first */
        if (write(pipe, "l", 1) != 1)
                return 2;
        for (;;)
                memset(data, 1, KEPT);
}

static bool is_quarantined(const struct pw_listing *memory, void *context)
{
        (void)context;
        return it_number(memory, it_find(memory, "term", "quarantined"), "bytes") >= (int64_t)KEPT;
}

static void who_broke_the_protocol_has_not_left(void **state)
{
        struct it_host *host = *state;
        struct it_child child = it_fork(leave_and_stay, host);
        char byte;

        it_read(&child, &byte, 1);
        it_until(host->session, "memory", is_quarantined, NULL);
        assert_int_equal(it_reap(&child, SIGKILL), 128 + SIGKILL);
}

/* The daemon reads all rings before it lists, and finds what ends the session that asks. */
static int list_and_break(void *context, int pipe)
{
        struct pw_session *session = it_connect(context);
        Pathways__Wire__Request request = PATHWAYS__WIRE__REQUEST__INIT;
        Pathways__Wire__ListRequest list = PATHWAYS__WIRE__LIST_REQUEST__INIT;
        struct pw_future *future;
        void *data;

        (void)pipe;
        it_ok(pw_create(session, 8, NULL, &future, &data, IT_ERR));
        break_ring(session);
        list.what = "objects";
        request.body_case = PATHWAYS__WIRE__REQUEST__BODY_LIST;
        request.list = &list;
        it_ok(pw_connection_post(session->connection, &request, IT_ERR));
        return pw_wait(&future, 1, 1, IT_LONG, NULL, NULL) == PW_DEADLINE;
}

static void who_lists_may_have_broken_the_protocol(void **state)
{
        struct it_host *host = *state;

        for (int i = 0; i < 3; i++) {
                struct it_child child = it_fork(list_and_break, host);

                assert_int_equal(it_reap(&child, 0), 0);
                assert_true(it_listed(host->session, "status", "host") >= 0);
        }
}

/* --- words that say that somebody decides ------------------------------------------------------------------------------------- */

struct spoiler { struct it_host *host; uint64_t clear, set; };

/* A value of its own, whose word says from then on what only pathwaysd may say. */
static int spoil_word(void *context, int pipe)
{
        const struct spoiler *spoiler = context;
        struct pw_session *session = it_connect(spoiler->host);
        struct pw_future *future;
        char text[60] = "a value that does not lie in its entry";

        it_ok(pw_put(session, text, sizeof text, NULL, &future, IT_ERR));
        struct pw_id id = pw_future_id(future);
        struct pw_entry *entry = pw_map_entry(&session->own->map, pw_id_slot(id));
        atomic_store(&entry->word, (pw_entry_load(entry) & ~spoiler->clear) | spoiler->set);
        if (write(pipe, &id, sizeof id) != sizeof id)
                return 2;
        return (int)pw_wait(&future, 1, 1, 0, NULL, NULL) + pause();
}

/* Who opens it is told at once what it has come to, and its producer loses its session. */
static void who_opens_a_spoiled_value_does_not_wait(void **state)
{
        static const struct spoiler kinds[] = { { NULL, PW_ENTRY_STATE, PW_ENTRY_CLOSING },
                                                { NULL, 0, PW_ENTRY_SHARDED | PW_ENTRY_MOVING } };
        struct it_host *host = *state;

        for (uint32_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
                struct spoiler spoiler = { host, kinds[i].clear, kinds[i].set };
                struct it_child child = it_fork(spoil_word, &spoiler);
                struct pw_future *future;
                struct pw_view view;
                struct pw_id id;

                it_read(&child, &id, sizeof id);
                int64_t begun_us = it_now_us();
                enum pw_status status = pw_open(host->session, id, &future, NULL);
                if (status == PW_OK) {
                        assert_int_equal(pw_get(future, IT_LONG, &view, NULL), PW_PROTOCOL);
                        pw_unref(future);
                }
                assert_true(status == PW_OK || status == PW_GONE);
                assert_true(it_now_us() - begun_us < 2 * IT_SECOND);
                assert_int_equal(it_reap(&child, SIGKILL), 128 + SIGKILL);
        }
}

/* --- garbage on the socket --------------------------------------------------------------------------------------------------- */

static void garbage(void **state)
{
        struct it_host *host = *state;
        uint64_t seed = it_environment("PW_SEED", 1);

        for (int i = 0; i < 50; i++) {
                uint8_t bytes[512];
                int fd = raw_connect(host);

                for (size_t k = 0; k < sizeof bytes; k++)
                        bytes[k] = (uint8_t)it_random(&seed);
                bytes[0] |= 1; /* zero bytes are doorbells */
                send(fd, bytes, 1 + it_random(&seed) % sizeof bytes, MSG_NOSIGNAL);
                shutdown(fd, SHUT_WR);
                raw_is_hung_up(fd);
        }
        assert_true(it_listed(host->session, "status", "host") >= 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_TEST(vandals), IT_TEST(last_words), IT_TEST(who_waits_hears_of_the_end),
                        IT_TEST(who_broke_the_protocol_has_not_left),
                IT_TEST(who_lists_may_have_broken_the_protocol), IT_TEST(who_opens_a_spoiled_value_does_not_wait),
                IT_TEST(garbage),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
