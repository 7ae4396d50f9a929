/* Hosts of a cluster. */
#include "tests/conformance/members.h"

#include "base/memory.h"

#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void note_answer(void *context, const struct pw_name_answer *answer)
{
        struct host *host = context;

        host->answer = *answer;
        host->answers++;
}

static void note_event(void *context, const struct pw_meta_event *event)
{
        struct host *host = context;

        host->counts[event->kind]++;
        host->status[event->kind] = event->status;
        snprintf(host->text[event->kind], sizeof host->text[0], "%s", event->text ? event->text : "");
        if (event->kind == PW_META_JOINED)
                host->is = event->host;
        if (event->kind == PW_META_HOST)
                host->row = *event->row;
        if (event->kind == PW_META_CHANGED)
                host->changed = event->id;
}

static const struct pw_meta_listener listener = { note_answer, note_event };

int members_set_up(void **state)
{
        struct scene *scene = calloc(1, sizeof *scene);

        *state = scene;
        scene->loop = event_base_new();
        snprintf(scene->folder, sizeof scene->folder, "/tmp/pw-members-XXXXXX");
        return mkdtemp(scene->folder) && scene->loop ? 0 : -1;
}

static void remove_state(const struct scene *scene, uint32_t i)
{
        static const char *const files[] = { "cluster", "cluster.lock", "cluster.new", "" };
        char path[128];

        for (uint32_t j = 0; j < pw_array_count(files); j++) {
                snprintf(path, sizeof path, "%s/%u/%s", scene->folder, i, files[j]);
                if (unlink(path) < 0)
                        rmdir(path);
        }
}

int members_tear_down(void **state)
{
        struct scene *scene = *state;

        for (uint32_t i = 0; i < HOSTS; i++) {
                pw_meta_close(scene->hosts[i].meta);
                remove_state(scene, i);
        }
        if (*scene->server.folder)
                server_end(&scene->server);
        event_base_free(scene->loop);
        rmdir(scene->folder);
        free(scene);
        return 0;
}

void members_open(struct scene *scene, uint32_t i, bool new_cluster)
{
        static const char *const names[HOSTS] = { "anna", "berta", "clara" };
        static uint64_t instance = 100;
        struct host *host = &scene->hosts[i];
        struct pw_meta_cluster cluster = { .loop = scene->loop, .address = *scene->address ? scene->address : scene->server.address,
                                           .user = scene->user, .password = scene->password, .name = "ants",
                                           .host_name = names[scene->same_name ? 0 : i],
                                           .machine = "m1", .own_address = "127.0.0.1:1", .instance = ++instance,
                                           .lease_us = LEASE_US, .new_cluster = new_cluster };
        char state_dir[96];
        struct pw_meta_params params = { .state_dir = state_dir, .now_s = 1000, .listener = &listener, .context = host,
                                         .cluster = &cluster };
        struct pw_error err = { .text = "" };

        snprintf(state_dir, sizeof state_dir, "%s/%u", scene->folder, i);
        *host = (struct host){ .answers = 0 };
        if (pw_meta_kind("redis")->open(&params, &host->meta, &host->is, &err) != PW_OK)
                fail_msg("%s", err.text);
}

void members_close(struct scene *scene, uint32_t i)
{
        pw_meta_close(scene->hosts[i].meta);
        scene->hosts[i].meta = NULL;
}

void members_turn(struct scene *scene)
{
        struct timeval pause = { 0, 20000 };

        for (uint32_t i = 0; i < HOSTS; i++) {
                struct host *host = &scene->hosts[i];
                uint64_t from_us = pw_now_us();

                if (!host->meta)
                        continue;
                pw_meta_turn(host->meta);
                host->slowest_us = pw_max_u64(host->slowest_us, pw_now_us() - from_us);
                if (pw_meta_next_us(host->meta) <= pw_now_us())
                        pause = (struct timeval){ 0, 0 };
        }
        event_base_loopexit(scene->loop, &pause);
        event_base_loop(scene->loop, EVLOOP_ONCE);
}

void members_begin(struct scene *scene, uint32_t count)
{
        if (!server_is_there())
                skip();
        server_begin(&scene->server, NULL);
        for (uint32_t i = 0; i < count; i++) {
                members_open(scene, i, i == 0);
                until(scene, scene->hosts[i].is.epoch);
        }
}

struct pw_id members_object(const struct host *host, uint32_t number)
{
        return pw_id_make(host->is.host, host->is.epoch, 7, number, 1);
}

void members_submit(struct scene *scene, uint32_t i, enum pw_name_ask_kind kind, const char *name, struct pw_id id)
{
        struct host *host = &scene->hosts[i];

        host->answers = 0;
        assert_int_equal(pw_meta_submit(host->meta, &(struct pw_name_ask){ 1, kind, "ada", name, id, { 0, 0 } }), PW_OK);
}

enum pw_name_outcome members_ask(struct scene *scene, uint32_t i, enum pw_name_ask_kind kind, const char *name, struct pw_id id)
{
        struct host *host = &scene->hosts[i];

        members_submit(scene, i, kind, name, id);
        until(scene, host->answers);
        return host->answer.outcome;
}

enum pw_name_outcome members_resolve(struct scene *scene, uint32_t i, const char *name)
{
        return members_ask(scene, i, PW_NAME_RESOLVE, name, (struct pw_id){ 0 });
}

void members_expect(const struct host *host, enum pw_meta_event_kind kind, enum pw_status status, const char *words)
{
        assert_true(host->counts[kind] > 0);
        if (host->status[kind] != status || !strstr(host->text[kind], words))
                fail_msg("status %d, \"%s\", and not %d, \"%s\"", host->status[kind], host->text[kind], status, words);
}
