#include "tests/integration/work/nccl_scene.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

struct it_gpus nccl_gpus;

static struct it_host *begin(void **state, const char *devices, const char *driver, const char *conf, const char *nccl,
                             const char *more)
{
        struct it_host *host = *state;

        it_gpus_init(&nccl_gpus, driver);
        it_gpus_nccl(&nccl_gpus, conf);
        it_start(host, IT_ARGS("--devices", devices, "--cuda-driver", nccl_gpus.driver, "--nccl-library",
                               nccl ? nccl : nccl_gpus.nccl, "--host-memory", "64MiB", "--device-memory", "8MiB", more));
        host->session = it_connect(host);
        return host;
}

struct it_host *nccl_begin_with(void **state, const char *devices, const char *conf, const char *nccl, const char *more)
{
        return begin(state, devices, NULL, conf, nccl, more);
}

struct it_host *nccl_begin_slow(void **state, const char *devices)
{
        return begin(state, devices, "delay_us = 4000\n", "trace = trace\ndelay_us = 0\n", NULL, NULL);
}

struct it_host *nccl_begin(void **state, const char *conf, const char *nccl)
{
        return nccl_begin_with(state, "cuda:4", conf, nccl, NULL);
}

void nccl_end(struct it_host *host)
{
        it_host_clean(host);
        assert_int_equal(it_host_end(host, SIGTERM), 0);
        it_gpus_done(&nccl_gpus);
}

struct pw_program *nccl_reducer(struct it_host *host, struct pw_slice *slice, const char *function, uint32_t times)
{
        struct pw_program *program = pw_program_new(host->session, "test/reducer");
        struct pw_value *value = pw_input(program, slice, PW_F64, PW_DIMS(NCCL_ELEMENTS), PW_BROADCAST, 0);

        for (uint32_t i = 0; i < times; i++) {
                value = pw_call(program, slice, i ? "pw/nop" : function, PW_ARGS(value), PW_PARTIAL(PW_SUM));
                value = pw_as(value, PW_BROADCAST);
        }
        pw_result(program, value);
        it_ok(pw_compile(program, IT_ERR));
        return program;
}

struct nccl_scene nccl_scene_over(struct it_host *host, uint32_t devices)
{
        struct nccl_scene scene = { .host = host };

        scene.slice = it_slice(host->session, devices, 1);
        scene.program = nccl_reducer(host, scene.slice, "pw/nop", 1);
        scene.input = it_put_f64(host->session, PW_DIMS(NCCL_ELEMENTS), 1);
        return scene;
}

struct nccl_scene nccl_scene_begin(void **state, const char *conf, const char *nccl)
{
        return nccl_scene_over(nccl_begin(state, conf, nccl), 4);
}

void nccl_scene_close(struct nccl_scene *scene)
{
        pw_unref(scene->input);
        pw_program_free(scene->program);
        pw_slice_close(scene->slice);
}

void nccl_scene_end(struct nccl_scene *scene)
{
        nccl_scene_close(scene);
        nccl_end(scene->host);
}

void nccl_expect_sum(struct pw_future *result, double times)
{
        double expected[NCCL_ELEMENTS];

        for (uint32_t i = 0; i < NCCL_ELEMENTS; i++)
                expected[i] = times * (i + 1);
        it_expect_f64(result, expected, NCCL_ELEMENTS);
        pw_unref(result);
}

void nccl_expect_right(const struct nccl_scene *scene) { nccl_expect_sum(it_run_1(scene->program, scene->input), 4); }

void nccl_expect_fails(const struct nccl_scene *scene, enum pw_status status, const char *texts)
{
        struct pw_future *result = it_run_1(scene->program, scene->input);

        it_fails_with(result, status, texts);
        pw_unref(result);
}

void nccl_expect_way(const struct nccl_scene *scene, const char *way)
{
        struct pw_session *session = scene->host->session;
        char program[32];
        struct pw_listing *nodes;

        snprintf(program, sizeof program, "%lld", (long long)it_listed(session, "programs", "program"));
        nodes = it_list(session, "programs", program);
        assert_string_equal(it_text(nodes, it_find(nodes, "name", "all-reduce"), "way"), way);
        assert_string_equal(it_text(nodes, it_find(nodes, "name", "pw/nop"), "way"), "");
        pw_listing_free(nodes);
}

int nccl_calls_of(const char *function)
{
        char path[96], line[200], name[64];
        FILE *file;
        int count = 0;

        snprintf(path, sizeof path, "%s/trace", nccl_gpus.folder);
        file = fopen(path, "re");
        assert_non_null(file);
        while (fgets(line, sizeof line, file))
                count += sscanf(line, "%*d %63s", name) == 1 && !strcmp(name, function);
        fclose(file);
        return count;
}

/* It is stopped when its state says so, not when the signal was sent. */
void nccl_stop(const struct it_host *host, size_t device)
{
        struct pw_listing *devices = it_list(host->session, "devices", NULL);
        pid_t executor = (pid_t)it_number(devices, device, "pid");
        char path[40], state = 0;
        FILE *file;

        pw_listing_free(devices);
        assert_int_equal(kill(executor, SIGSTOP), 0);
        snprintf(path, sizeof path, "/proc/%d/stat", (int)executor);
        while (state != 'T') {
                file = fopen(path, "re");
                assert_non_null(file);
                assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
                fclose(file);
        }
}
