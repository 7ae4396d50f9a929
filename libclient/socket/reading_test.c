/* Who reads the socket of a connection: who asks alone, the watcher thread for several, and nobody is forgotten. */
#include "libclient/socket/connection.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "plane/hint.h"

#define CALLS 2000u
#define CONNECTIONS 300u
#define THREADS 8u
#define LENT_MS 5
#define PATIENCE_US INT64_C(25000000)

/* The other side: a thread that answers as the test wants. */
struct scene {
        struct pw_connection *connection;
        struct pw_decoder decoder;
        int fd;
        pthread_t thread;
        _Atomic uint32_t nudged, gone;
        _Atomic pid_t nudged_on; /* the first time */
};

static Pathways__Wire__Request *next_request(struct scene *scene)
{
        struct pw_frame frame;
        size_t bytes;

        while (pw_frame_next(&scene->decoder, &frame, NULL) != PW_OK)
                if (pw_decoder_read(&scene->decoder, scene->fd, true, &bytes, NULL) != PW_OK)
                        return NULL;
        return frame.kind == PW_FRAME_REQUEST ? pathways__wire__request__unpack(NULL, frame.bytes, frame.payload) : NULL;
}

static void answer(struct scene *scene, uint64_t id, Pathways__Wire__Welcome *welcome, const char *text)
{
        Pathways__Wire__Reply reply = PATHWAYS__WIRE__REPLY__INIT;
        uint8_t message[256];

        reply.id = id;
        reply.text = (char *)(uintptr_t)text;
        if (welcome) {
                reply.body_case = PATHWAYS__WIRE__REPLY__BODY_WELCOME;
                reply.welcome = welcome;
        }
        assert_true(pathways__wire__reply__get_packed_size(&reply) <= sizeof message);
        assert_int_equal(pw_frame_send(scene->fd, PW_FRAME_REPLY, message, (uint32_t)pathways__wire__reply__pack(&reply, message),
                                       NULL, 0, NULL), PW_OK);
}

static void *greet(void *context)
{
        struct scene *scene = context;
        Pathways__Wire__Request *hello = next_request(scene);
        Pathways__Wire__Welcome body = PATHWAYS__WIRE__WELCOME__INIT;

        body.version = hello->hello->version;
        answer(scene, hello->id, &body, "");
        pathways__wire__request__free_unpacked(hello, NULL);
        return NULL;
}

static void on_nudge(void *context)
{
        struct scene *scene = context;

        if (!atomic_load(&scene->nudged_on))
                atomic_store(&scene->nudged_on, gettid());
        atomic_fetch_add(&scene->nudged, 1);
}

static void on_gone(void *context)
{
        struct scene *scene = context;

        atomic_fetch_add(&scene->gone, 1);
}

static void begin_with(struct scene *scene, void *(*does)(void *))
{
        struct pw_connection_params params = { .role = "client", .gone = on_gone, .nudged = on_nudge, .context = scene };
        struct pw_answer welcome;
        int ends[2];

        *scene = (struct scene){ 0 };
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        params.fd = ends[0];
        scene->fd = ends[1];
        pw_decoder_init(&scene->decoder);
        assert_int_equal(pthread_create(&scene->thread, NULL, does, scene), 0);
        assert_int_equal(pw_connection_open(&params, &scene->connection, &welcome, NULL), PW_OK);
        pw_answer_done(&welcome);
}

static void begin(struct scene *scene)
{
        begin_with(scene, greet);
        assert_int_equal(pthread_join(scene->thread, NULL), 0);
}

/* The other side does that from here on. */
static void other_side(struct scene *scene, void *(*does)(void *))
{
        assert_int_equal(pthread_create(&scene->thread, NULL, does, scene), 0);
}

static void end(struct scene *scene)
{
        pw_connection_close(scene->connection);
        assert_int_equal(pthread_join(scene->thread, NULL), 0);
        pw_decoder_done(&scene->decoder);
        close(scene->fd);
}

static void request_init(Pathways__Wire__Request *request, Pathways__Wire__NameRemove *body, char *name)
{
        pathways__wire__request__init(request);
        pathways__wire__name_remove__init(body);
        body->name = name;
        request->body_case = PATHWAYS__WIRE__REQUEST__BODY_NAME_REMOVE;
        request->name_remove = body;
}

/* The answer says what was asked. */
static enum pw_status ask(struct scene *scene, char *name)
{
        Pathways__Wire__Request request;
        Pathways__Wire__NameRemove body;
        struct pw_answer got;
        enum pw_status status;

        request_init(&request, &body, name);
        status = pw_connection_call(scene->connection, &request, &got, NULL);
        if (status != PW_OK)
                return status;
        assert_string_equal(got.reply->text, name);
        pw_answer_done(&got);
        return PW_OK;
}

static void post(struct scene *scene)
{
        Pathways__Wire__Request request;
        Pathways__Wire__NameRemove body;
        char name[] = "post";

        request_init(&request, &body, name);
        assert_int_equal(pw_connection_post(scene->connection, &request, NULL), PW_OK);
}

/* How often the watcher thread has slept. */
static long watcher_sleeps(void)
{
        DIR *tasks = opendir("/proc/self/task");
        const struct dirent *task;
        long sleeps = -1;

        assert_non_null(tasks);
        while ((task = readdir(tasks))) {
                char path[300], line[128];
                bool is_watcher = false;

                snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
                FILE *file = fopen(path, "re");
                while (file && fgets(line, sizeof line, file)) {
                        is_watcher |= !strcmp(line, "Name:\tpathways\n");
                        if (is_watcher && !strncmp(line, "voluntary", 9))
                                sleeps = atol(strchr(line, ':') + 1);
                }
                if (file)
                        fclose(file);
        }
        closedir(tasks);
        assert_true(sleeps >= 0);
        return sleeps;
}

/* --- one at a time ------------------------------------------------------------------------------------------------------------ */

static void *answer_all(void *context)
{
        struct scene *scene = context;
        Pathways__Wire__Request *request;

        while ((request = next_request(scene))) {
                answer(scene, request->id, NULL, request->name_remove->name);
                pathways__wire__request__free_unpacked(request, NULL);
        }
        return NULL;
}

static void test_who_asks_alone_reads(void **state)
{
        struct scene scene;
        char name[16];
        int64_t start_ns;
        long sleeps;

        (void)state;
        begin(&scene);
        other_side(&scene, answer_all);
        assert_int_equal(ask(&scene, strcpy(name, "first")), PW_OK);
        sleeps = watcher_sleeps();
        start_ns = pw_now_ns();
        for (uint32_t i = 0; i < CALLS; i++) {
                snprintf(name, sizeof name, "%u", i);
                assert_int_equal(ask(&scene, name), PW_OK);
        }
        /* It looks now and then; where this thread was held up meanwhile, it takes the socket, and leaves it to the next call. */
        assert_true(watcher_sleeps() - sleeps <= 2 * ((pw_now_ns() - start_ns) / 1000000 / LENT_MS) + CALLS / 4);
        end(&scene);
        assert_int_equal(scene.gone, 1);
}

static void *greet_and_answer(void *context)
{
        greet(context);
        return answer_all(context);
}

/* Who asks as soon as it is connected reads only when the watcher has looked at what came behind the Welcome. */
static void test_asked_at_once(void **state)
{
        struct scene scene;
        char name[16];

        (void)state;
        for (uint32_t i = 0; i < CONNECTIONS; i++) {
                begin_with(&scene, greet_and_answer);
                for (uint32_t j = 0; j < 3; j++)
                        assert_int_equal(ask(&scene, strcpy(name, "first")), PW_OK);
                end(&scene);
        }
}

/* --- several ------------------------------------------------------------------------------------------------------------------ */

/* Two at a time, the later one first, for as long as there may be two. */
static void *answer_backwards(void *context)
{
        struct scene *scene = context;
        Pathways__Wire__Request *first, *second;

        while ((first = next_request(scene))) {
                struct pollfd on = { .fd = scene->fd, .events = POLLIN };

                second = poll(&on, 1, 1) == 1 ? next_request(scene) : NULL;
                for (uint32_t i = 0; i < 2; i++) {
                        Pathways__Wire__Request *request = i ? first : second;

                        if (request)
                                answer(scene, request->id, NULL, request->name_remove->name);
                        if (request)
                                pathways__wire__request__free_unpacked(request, NULL);
                }
        }
        return NULL;
}

static void *ask_often(void *context)
{
        struct scene *scene = context;
        char name[16];

        for (uint32_t i = 0; i < CALLS / THREADS; i++) {
                snprintf(name, sizeof name, "%d-%u", (int)gettid(), i);
                assert_int_equal(ask(scene, name), PW_OK);
        }
        return NULL;
}

static void test_several_are_all_told(void **state)
{
        pthread_t threads[THREADS];
        struct scene scene;

        (void)state;
        begin(&scene);
        other_side(&scene, answer_backwards);
        for (uint32_t count = 1; count <= THREADS; count *= 2) {
                for (uint32_t i = 0; i < count; i++)
                        assert_int_equal(pthread_create(&threads[i], NULL, ask_often, &scene), 0);
                for (uint32_t i = 0; i < count; i++)
                        assert_int_equal(pthread_join(threads[i], NULL), 0);
        }
        end(&scene);
}

/* --- one that waits for long -------------------------------------------------------------------------------------------------- */

static void until(const _Atomic uint32_t *count, uint32_t want)
{
        int64_t start_ns = pw_now_ns();

        while (atomic_load(count) < want) {
                assert_true(pw_now_ns() - start_ns < PATIENCE_US * 1000);
                sched_yield();
        }
}

/* The watcher sleeps for ten times as long as between looks. */
static void until_it_rests(void)
{
        int64_t start_ns = pw_now_ns();
        long before, sleeps = watcher_sleeps();

        do {
                before = sleeps;
                assert_true(pw_now_ns() - start_ns < PATIENCE_US * 1000);
                (void)poll(NULL, 0, 10 * LENT_MS);
                sleeps = watcher_sleeps();
        } while (sleeps != before);
}

/* What answers a post comes while a caller reads: the watcher is told; and it rests while the caller waits on. */
static void *answer_the_post_first(void *context)
{
        struct scene *scene = context;
        Pathways__Wire__Request *request;
        uint64_t post_id = 0, call_id = 0;
        uint32_t nudged;

        while (!(post_id && call_id) && (request = next_request(scene))) {
                if (!strcmp(request->name_remove->name, "short"))
                        answer(scene, request->id, NULL, "short");
                else if (!strcmp(request->name_remove->name, "long"))
                        call_id = request->id;
                else
                        post_id = request->id;
                pathways__wire__request__free_unpacked(request, NULL);
        }
        until_it_rests();
        atomic_store(&scene->nudged_on, 0);
        nudged = atomic_load(&scene->nudged);
        answer(scene, post_id, NULL, "post");
        until(&scene->nudged, nudged + 1);
        until_it_rests();
        answer(scene, call_id, NULL, "long");
        return answer_all(context);
}

static void test_long_waits(void **state)
{
        struct scene scene;
        uint32_t nudged;
        char name[16];

        (void)state;
        begin(&scene);
        other_side(&scene, answer_the_post_first);
        for (uint32_t i = 0; i < 10; i++)
                assert_int_equal(ask(&scene, strcpy(name, "short")), PW_OK);
        post(&scene);
        assert_int_equal(ask(&scene, strcpy(name, "long")), PW_OK);
        assert_int_not_equal(scene.nudged_on, gettid());
        until_it_rests(); /* it was told that nobody reads any more */
        nudged = atomic_load(&scene.nudged);
        post(&scene); /* nobody reads for himself: the watcher does again */
        until(&scene.nudged, nudged + 1);
        end(&scene);
}

/* --- the end ------------------------------------------------------------------------------------------------------------------ */

static void *hang_up(void *context)
{
        struct scene *scene = context;
        Pathways__Wire__Request *request = next_request(scene);

        pathways__wire__request__free_unpacked(request, NULL);
        shutdown(scene->fd, SHUT_RDWR);
        return NULL;
}

static void test_the_end_while_one_reads(void **state)
{
        struct scene scene;
        char name[16];

        (void)state;
        begin(&scene);
        other_side(&scene, hang_up);
        assert_int_equal(ask(&scene, strcpy(name, "last")), PW_DAEMON_GONE);
        assert_true(pw_connection_hung_up(scene.connection));
        assert_int_equal(ask(&scene, strcpy(name, "late")), PW_DAEMON_GONE);
        end(&scene);
        assert_int_equal(scene.gone, 1);
}

static void *end_it(void *context)
{
        struct scene *scene = context;
        Pathways__Wire__Request *request = next_request(scene);

        pathways__wire__request__free_unpacked(request, NULL);
        pw_connection_end(scene->connection);
        return NULL;
}

/* Another thread of the process ends the session. */
static void test_ended_while_one_reads(void **state)
{
        struct scene scene;
        char name[16];

        (void)state;
        begin(&scene);
        other_side(&scene, end_it);
        assert_int_equal(ask(&scene, strcpy(name, "last")), PW_DAEMON_GONE);
        assert_int_equal(pthread_join(scene.thread, NULL), 0);
        other_side(&scene, answer_all);
        end(&scene);
        assert_int_equal(scene.gone, 1);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_who_asks_alone_reads),
                                            cmocka_unit_test(test_asked_at_once),
                                            cmocka_unit_test(test_several_are_all_told),
                                            cmocka_unit_test(test_long_waits),
                                            cmocka_unit_test(test_the_end_while_one_reads),
                                            cmocka_unit_test(test_ended_while_one_reads) };

        return cmocka_run_group_tests_name("reading", tests, NULL, NULL);
}
