/* Every kind of metadata keeps the contract of daemon/meta/meta.h. */
#include "base/memory.h"
#include "daemon/loop.h"
#include "daemon/meta/meta.h"
#include "tests/conformance/server.h"

#include <dirent.h>
#include <event2/event.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

struct setting {
        char folder[64], state[96];
        struct server server; /* of kinds that have one */
        struct event_base *loop;
};

#define TOKENS 256u

/* What a kind said, by token. */
struct heard {
        struct pw_name_answer answers[TOKENS];
        uint32_t counts[TOKENS], total, events;
        bool submitting; /* nothing may be said meanwhile */
        struct pw_meta *meta;
        uint64_t again;  /* asked from inside an answer; 0: nothing */
        struct event_base *loop;
        struct pw_meta_host host; /* as JOINED told */
};

static void note_answer(void *context, const struct pw_name_answer *answer)
{
        struct heard *heard = context;

        assert_false(heard->submitting);
        assert_true(answer->token && answer->token < TOKENS);
        heard->answers[answer->token] = *answer;
        heard->counts[answer->token]++;
        heard->total++;
        if (heard->again) {
                struct pw_name_ask ask = { heard->again, PW_NAME_RESOLVE, "ada", "weights", { 0 }, { 0, 0 } };

                heard->again = 0;
                assert_int_equal(pw_meta_submit(heard->meta, &ask), PW_OK);
        }
}

static void note_event(void *context, const struct pw_meta_event *event)
{
        struct heard *heard = context;

        assert_false(heard->submitting);
        assert_true(event->kind >= PW_META_JOINED && event->kind <= PW_META_TROUBLE);
        if (event->kind == PW_META_JOINED)
                heard->host = event->host;
        heard->events++;
}

static const struct pw_meta_listener listener = { note_answer, note_event };

static int make_folder(void **state)
{
        struct setting *setting = calloc(1, sizeof *setting);

        if (!setting)
                return -1;
        snprintf(setting->folder, sizeof setting->folder, "/tmp/pw-meta-XXXXXX");
        *state = setting;
        if (!mkdtemp(setting->folder))
                return -1;
        snprintf(setting->state, sizeof setting->state, "%s/not/there/yet", setting->folder);
        setting->loop = event_base_new();
        if (server_is_there())
                server_begin(&setting->server, NULL);
        return setting->loop ? 0 : -1;
}

static void remove_tree(const char *path)
{
        DIR *folder = opendir(path);
        struct dirent *entry;

        while (folder && (entry = readdir(folder))) {
                char inner[600];

                if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
                        continue;
                snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
                if (unlink(inner) < 0)
                        remove_tree(inner);
        }
        if (folder)
                closedir(folder);
        rmdir(path);
}

static int drop_folder(void **state)
{
        struct setting *setting = *state;

        if (setting->server.pid)
                server_end(&setting->server);
        event_base_free(setting->loop);
        remove_tree(setting->folder);
        free(setting);
        return 0;
}

static struct pw_id first, second; /* two objects of this host; */
static const struct pw_id nothing;

/* The kinds that this machine can try; each has a state dir of its own. */
static const struct pw_meta_kind *kind_at(uint32_t i, struct setting *setting)
{
        const struct pw_meta_kind *kind = pw_meta_kind_at(i);

        if (kind)
                snprintf(setting->state, sizeof setting->state, "%s/not/there/yet/%s", setting->folder, kind->name);
        return kind && (!strcmp(kind->name, "embedded") || server_is_there()) ? kind : NULL;
}

/* A turn, and before it what the loop has heard; where there is nothing to do yet, it waits until there is. */
static bool turn(struct pw_meta *meta, struct heard *heard)
{
        uint64_t now_us = pw_now_us(), next_us = pw_meta_next_us(meta);
        struct timeval pause = { (time_t)(next_us - now_us) / 1000000, (suseconds_t)((next_us - now_us) % 1000000) };

        if (next_us > now_us && next_us != UINT64_MAX)
                event_base_loopexit(heard->loop, &pause);
        event_base_loop(heard->loop, EVLOOP_ONCE | (next_us > now_us && next_us != UINT64_MAX ? 0 : EVLOOP_NONBLOCK));
        return pw_meta_turn(meta);
}

static struct pw_meta *join(const struct pw_meta_kind *kind, const struct setting *setting, uint32_t now_s, struct heard *heard,
                            struct pw_meta_host *ret_host)
{
        static uint64_t instance;
        struct pw_meta_cluster cluster = { .loop = setting->loop, .address = setting->server.address, .name = "ants",
                                           .host_name = "anna",
                                           .machine = "m1", .own_address = "127.0.0.1:1", .instance = ++instance,
                                           .lease_us = 3000000, .new_cluster = true };
        struct pw_meta_params params = { .state_dir = setting->state, .now_s = now_s, .listener = &listener, .context = heard,
                                         .cluster = &cluster };
        struct pw_meta *meta = NULL;
        struct pw_error err = { .text = "" };

        heard->loop = setting->loop;
        if (kind->open(&params, &meta, ret_host, &err) != PW_OK)
                fail_msg("%s: %s", kind->name, err.text);
        assert_ptr_equal(meta->kind, kind);
        while (!ret_host->epoch) {
                turn(meta, heard);
                *ret_host = heard->host;
        }
        first = pw_id_make(ret_host->host, ret_host->epoch, 1, 2, 3);
        second = pw_id_make(ret_host->host, ret_host->epoch, 4, 5, 6);
        return meta;
}

/* The clock may stand still or go back: the epoch never does. */
static void test_epochs_only_rise(void **state)
{
        static const uint32_t clocks[] = { 1000, 1000, 1000, 7, 1002, 5000 };
        const struct pw_meta_kind *kind;

        for (uint32_t i = 0; (kind = kind_at(i, *state)); i++) {
                uint32_t last = 0;

                for (uint32_t j = 0; j < pw_array_count(clocks); j++) {
                        struct pw_meta_host host = { 99, 0, 0 };
                        struct heard heard = { .total = 0 };
                        struct pw_meta *meta = join(kind, *state, clocks[j], &heard, &host);

                        assert_true(host.epoch > last);
                        assert_true(host.epoch >= clocks[j]);
                        assert_true(host.host < 0xffff);
                        last = host.epoch;
                        pw_meta_close(meta);
                }
        }
}

static void submit(struct pw_meta *meta, struct heard *heard, const struct pw_name_ask *ask)
{
        heard->submitting = true;
        assert_int_equal(pw_meta_submit(meta, ask), PW_OK);
        heard->submitting = false;
}

/* Ask, and turn until the answer is there. */
static struct pw_name_answer ask(struct pw_meta *meta, struct heard *heard, enum pw_name_ask_kind kind, const char *tenant,
                                 const char *name, struct pw_id id)
{
        static uint64_t last;
        uint64_t token = last++ % (TOKENS - 1) + 1;

        heard->counts[token] = 0;
        submit(meta, heard, &(struct pw_name_ask){ token, kind, tenant, name, id, { 0, 0 } });
        assert_int_equal(heard->counts[token], 0);
        while (!heard->counts[token])
                turn(meta, heard);
        assert_int_equal(heard->counts[token], 1);
        return heard->answers[token];
}

static void assert_answer(struct pw_name_answer answer, enum pw_name_outcome outcome, struct pw_id id)
{
        assert_int_equal(answer.outcome, outcome);
        assert_true(pw_id_equal(answer.id, id));
}

/* A name is bound by one compare-and-set, and unbound by who bound it. */
static void test_names(void **state)
{
        const struct pw_meta_kind *kind;

        for (uint32_t i = 0; (kind = kind_at(i, *state)); i++) {
                struct pw_meta_host host;
                struct heard heard = { .total = 0 };
                struct pw_meta *meta = join(kind, *state, 1, &heard, &host);
                struct pw_name_answer bound;

                assert_answer(ask(meta, &heard, PW_NAME_RESOLVE, "ada", "weights", nothing), PW_NAMED_NOT_FOUND, nothing);
                bound = ask(meta, &heard, PW_NAME_BIND, "ada", "weights", first);
                assert_answer(bound, PW_NAMED_OK, first);
                assert_true(bound.version > 0);
                assert_answer(ask(meta, &heard, PW_NAME_BIND, "bo", "weights", second), PW_NAMED_OK, second);
                assert_answer(ask(meta, &heard, PW_NAME_BIND, "ada", "weights", second), PW_NAMED_TAKEN, first);
                assert_int_equal(ask(meta, &heard, PW_NAME_BIND, "ada", "weights", first).version, bound.version);
                assert_answer(ask(meta, &heard, PW_NAME_RESOLVE, "ada", "weights", nothing), PW_NAMED_OK, first);
                assert_answer(ask(meta, &heard, PW_NAME_UNBIND, "ada", "weights", second), PW_NAMED_TAKEN, first);
                assert_answer(ask(meta, &heard, PW_NAME_UNBIND, "ada", "weights", first), PW_NAMED_OK, first);
                assert_answer(ask(meta, &heard, PW_NAME_UNBIND, "ada", "weights", first), PW_NAMED_NOT_FOUND, nothing);
                assert_true(ask(meta, &heard, PW_NAME_BIND, "ada", "weights", second).version > bound.version);
                assert_answer(ask(meta, &heard, PW_NAME_RESOLVE, "bo", "weights", nothing), PW_NAMED_OK, second);
                pw_meta_close(meta);
        }
}

/* What is asked about one name is done in that order, however soon it is asked; who asks from inside an answer is answered later;
 * with nothing asked there is nothing to do soon. */
static void test_order(void **state)
{
        const struct pw_meta_kind *kind;

        for (uint32_t i = 0; (kind = kind_at(i, *state)); i++) {
                struct pw_meta_host host;
                struct heard heard = { .total = 0 };
                struct pw_meta *meta = join(kind, *state, 1, &heard, &host);

                while (turn(meta, &heard) || pw_meta_next_us(meta) < pw_now_us() + 1000000) {
                }
                for (uint64_t token = 1; token <= 90; token += 3) {
                        submit(meta, &heard, &(struct pw_name_ask){ token, PW_NAME_BIND, "ada", "weights", first, { 0, 0 } });
                        submit(meta, &heard, &(struct pw_name_ask){ token + 1, PW_NAME_BIND, "ada", "weights", second, { 0, 0 } });
                        submit(meta, &heard, &(struct pw_name_ask){ token + 2, PW_NAME_UNBIND, "ada", "weights", first, { 0, 0 } });
                }
                heard.meta = meta;
                heard.again = 91;
                while (heard.total < 91)
                        turn(meta, &heard);
                for (uint64_t token = 1; token <= 91; token++)
                        assert_int_equal(heard.counts[token], 1);
                for (uint64_t token = 1; token <= 90; token += 3) {
                        assert_answer(heard.answers[token], PW_NAMED_OK, first);
                        assert_answer(heard.answers[token + 1], PW_NAMED_TAKEN, first);
                        assert_answer(heard.answers[token + 2], PW_NAMED_OK, first);
                }
                assert_answer(heard.answers[91], PW_NAMED_NOT_FOUND, nothing);
                pw_meta_close(meta);
        }
}

/* Who is not answered by the end is told that it is one. */
static void test_close_answers(void **state)
{
        const struct pw_meta_kind *kind;

        for (uint32_t i = 0; (kind = kind_at(i, *state)); i++) {
                struct pw_meta_host host;
                struct heard heard = { .total = 0 };
                struct pw_meta *meta = join(kind, *state, 1, &heard, &host);

                submit(meta, &heard, &(struct pw_name_ask){ 1, PW_NAME_BIND, "ada", "weights", first, { 0, 0 } });
                submit(meta, &heard, &(struct pw_name_ask){ 2, PW_NAME_RESOLVE, "ada", "weights", nothing, { 0, 0 } });
                pw_meta_close(meta);
                for (uint32_t token = 1; token <= 2; token++) {
                        assert_int_equal(heard.counts[token], 1);
                        assert_int_equal(heard.answers[token].outcome, PW_NAMED_AWAY);
                }
        }
}

/* A state that is no number is not overwritten: another host's ids might come back. */
static void test_spoilt_state(void **state)
{
        const struct setting *setting = *state;
        struct pw_meta_params params = { .state_dir = setting->state, .now_s = 1 };
        struct pw_meta_host host = { 99, 99, 0 };
        struct heard heard = { .total = 0 };
        struct pw_meta *meta = NULL;
        struct pw_error err = { .text = "" };
        char path[128];
        FILE *file;

        pw_meta_close(join(pw_meta_kind("embedded"), setting, 1, &heard, &host));
        snprintf(path, sizeof path, "%s/epoch", setting->state);
        file = fopen(path, "w");
        assert_non_null(file);
        fputs("tomorrow\n", file);
        fclose(file);
        assert_int_equal(pw_meta_kind("embedded")->open(&params, &meta, &host, &err), PW_SYSTEM);
        assert_null(meta);
        assert_non_null(strstr(err.text, path));
}

static void test_kinds(void **state)
{
        (void)state;
        assert_ptr_equal(pw_meta_kind_at(0), pw_meta_kind("embedded"));
        assert_null(pw_meta_kind("carrier pigeons"));
        assert_null(pw_meta_kind_at(1000));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_epochs_only_rise, make_folder, drop_folder),
                cmocka_unit_test_setup_teardown(test_names, make_folder, drop_folder),
                cmocka_unit_test_setup_teardown(test_order, make_folder, drop_folder),
                cmocka_unit_test_setup_teardown(test_close_answers, make_folder, drop_folder),
                cmocka_unit_test_setup_teardown(test_spoilt_state, make_folder, drop_folder),
                cmocka_unit_test(test_kinds),
        };

        signal(SIGPIPE, SIG_IGN); /* as pathwaysd does */
        return cmocka_run_group_tests(tests, NULL, NULL);
}
