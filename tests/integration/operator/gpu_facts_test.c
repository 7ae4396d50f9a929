/* What the driver says of GPUs, by the fake NVML: in listings and metrics, and that nobody waits for it. */
#include "tests/integration/folder.h"
#include "tests/integration/gpus.h"
#include "tests/integration/operator/command.h"
#include "tests/integration/operator/exposition.h"
#include "tests/integration/operator/http.h"
#include "tests/integration/scene.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONF "memory_total = 80000000\nmemory_used = 5000000\npower = 311500\ntemperature = 41\necc = 7\n"

static struct it_gpus gpus;

/* Another configuration of NVML, whole at any time. */
static void say(const char *conf)
{
        char path[96], next[96];
        FILE *file;

        snprintf(path, sizeof path, "%s/fake_nvml.conf", gpus.folder);
        snprintf(next, sizeof next, "%s/next", gpus.folder);
        file = fopen(next, "we");
        assert_non_null(file);
        fputs(conf, file);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(rename(next, path), 0);
}

/* A daemon of GPUs 2 and 0, and an NVML that says `conf`; NULL: there is none. */
static struct it_host *begin(void **state, const char *conf)
{
        struct it_host *host = *state;
        char nvml[96], library[600];

        it_gpus_init(&gpus, "devices = 3\n");
        if (it_gpus_given())
                it_skip("only the fake NVML says what is asked of it");
        snprintf(nvml, sizeof nvml, "%s/libnvidia-ml.so.1", gpus.folder);
        it_built("tests/fake_nvml/.libs/libnvidia-ml.so.1", library);
        if (conf) {
                assert_int_equal(symlink(library, nvml), 0);
                say(conf);
        }
        it_start(host, IT_ARGS("--devices", "cuda@2,0", "--cuda-driver", gpus.driver, "--nvml", nvml, "--host-memory", "64MiB",
                               "--device-memory", "8MiB", "--no-nccl", "--http", "127.0.0.1:0"));
        host->session = it_connect(host);
        return host;
}

static void end(struct it_host *host)
{
        int64_t since_us;

        it_host_clean(host);
        since_us = it_now_us();
        assert_int_equal(it_host_end(host, SIGTERM), 0);
        it_within("the end of the daemon", since_us, 5 * IT_SECOND);
        it_gpus_done(&gpus);
}

static bool is_shown(const struct pw_listing *devices, size_t row, const char *key)
{
        const Pathways__Wire__Row *one = pw_listing_rows(devices)->rows[row];

        for (size_t i = 0; i < one->n_cells; i++)
                if (!strcmp(one->cells[i]->key, key))
                        return true;
        return false;
}

/* For it_until(): the first device's `key` is `value`. */
struct fact { const char *key; int64_t value; };

static bool is_said(const struct pw_listing *devices, void *context)
{
        const struct fact *fact = context;

        return it_number(devices, 0, fact->key) == fact->value;
}

static void until_said(struct it_host *host, const char *key, int64_t value)
{
        it_until(host->session, "devices", is_said, &(struct fact){ key, value });
}

static void check_row(const struct pw_listing *devices, size_t row, int64_t more)
{
        assert_int_equal(it_number(devices, row, "gpu_memory"), 80000000);
        assert_int_equal(it_number(devices, row, "gpu_used"), 5000000 + more);
        assert_int_equal(it_number(devices, row, "gpu_power"), 311500 + more);
        assert_int_equal(it_number(devices, row, "gpu_celsius"), 41 + more);
        assert_int_equal(it_number(devices, row, "gpu_ecc_errors"), 7 + more);
        assert_string_equal(it_text(devices, row, "gpu_error"), "");
}

/* Each device is the GPU of its ordinal; what changes is shown. */
static void facts_are_shown_and_change(void **state)
{
        struct it_host *host = begin(state, CONF);
        struct pw_listing *devices;

        until_said(host, "gpu_power", 313500);
        devices = it_list(host->session, "devices", NULL);
        assert_int_equal(it_rows(devices), 2);
        check_row(devices, 0, 2000);
        check_row(devices, 1, 0);
        pw_listing_free(devices);
        it_command_expect(host, 0, "name|power|313.5 W|311.5 W", IT_ARGS("devices"));
        say("memory_total = 80000000\nmemory_used = 6000000\npower = 90000\ntemperature = 30\necc = 8\n");
        until_said(host, "gpu_power", 92000);
        until_said(host, "gpu_used", 6002000);
        end(host);
}

static void metrics_have_them(void **state)
{
        struct it_host *host = begin(state, CONF);
        char *text = malloc(HTTP_ANSWER_BYTES), address[120];
        const char *bad;

        assert_non_null(text);
        until_said(host, "gpu_power", 313500);
        http_address(host, address);
        assert_int_equal(http_ask(address, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", text), 200);
        if ((bad = exposition_check(text)))
                fail_msg("%s", bad);
        assert_true(exposition_value(text, "pathways_gpu_memory_bytes{device=\"h0:0\",term=\"capacity\"}") == 80000000);
        assert_true(exposition_value(text, "pathways_gpu_memory_bytes{device=\"h0:1\",term=\"used\"}") == 5000000);
        assert_true(exposition_value(text, "pathways_gpu_power_watts{device=\"h0:0\"}") == 313.5);
        assert_true(exposition_value(text, "pathways_gpu_temperature_celsius{device=\"h0:1\"}") == 41);
        assert_true(exposition_value(text, "pathways_gpu_ecc_errors_total{device=\"h0:1\"}") == 7);
        assert_true(exposition_value(text, "pathways_gpu_said_seconds{device=\"h0:1\"}") < 25);
        free(text);
        end(host);
}

/* The others are there; a call that fails otherwise is named. */
static void what_is_not_supported_is_left_out(void **state)
{
        struct it_host *host = begin(state, CONF "fail = nvmlDeviceGetPowerUsage=3\n");
        struct pw_listing *devices;

        until_said(host, "gpu_celsius", 2041);
        devices = it_list(host->session, "devices", NULL);
        assert_false(is_shown(devices, 0, "gpu_power"));
        assert_int_equal(it_number(devices, 0, "gpu_used"), 5002000);
        assert_false(is_shown(devices, 0, "gpu_error"));
        pw_listing_free(devices);
        say(CONF "fail = nvmlDeviceGetTotalEccErrors=999\n");
        until_said(host, "gpu_power", 313500);
        devices = it_list(host->session, "devices", NULL);
        assert_string_equal(it_text(devices, 0, "gpu_error"), "nvmlDeviceGetTotalEccErrors: Unknown Error");
        assert_false(is_shown(devices, 0, "gpu_ecc_errors"));
        pw_listing_free(devices);
        end(host);
}

static int lines_with(const struct it_host *host, const char *text)
{
        FILE *file = fopen(host->log, "re");
        char line[2000];
        int count = 0;

        assert_non_null(file);
        while (fgets(line, sizeof line, file))
                count += strstr(line, text) != NULL;
        fclose(file);
        return count;
}

/* Devices work, nothing is shown, and the log says so once. A driver that comes later is found. */
static void without_nvml(void **state)
{
        struct it_host *host = begin(state, NULL);
        char nvml[96], library[600];
        struct pw_listing *devices;
        int64_t end_us = it_now_us() + IT_LONG;

        while (!lines_with(host, "what the driver says of GPUs is not shown reason=\"no NVML: ") && it_now_us() < end_us)
                it_listed(host->session, "devices", "gpu_power");
        devices = it_list(host->session, "devices", NULL);
        assert_false(is_shown(devices, 0, "gpu_said_us"));
        assert_false(is_shown(devices, 1, "gpu_memory"));
        pw_listing_free(devices);
        snprintf(nvml, sizeof nvml, "%s/libnvidia-ml.so.1", gpus.folder);
        say(CONF "fail = nvmlInit_v2=9\n");
        it_built("tests/fake_nvml/.libs/libnvidia-ml.so.1", library);
        assert_int_equal(symlink(library, nvml), 0);
        while (!lines_with(host, "nvmlInit: Driver Not Loaded") && it_now_us() < end_us)
                it_listed(host->session, "devices", "gpu_power");
        say(CONF);
        until_said(host, "gpu_power", 313500);
        assert_int_equal(lines_with(host, "no NVML: "), 1);
        assert_int_equal(lines_with(host, "Driver Not Loaded"), 1);
        end(host);
}

static bool is_old(const struct pw_listing *devices, void *context)
{
        (void)context;
        return it_number(devices, 0, "gpu_said_us") > 2 * IT_SECOND + IT_SECOND / 2;
}

/* It said something, then hangs: what it said last stays, with its age, and is there at once. */
static void a_driver_that_hangs_later(void **state)
{
        struct it_host *host = begin(state, CONF);
        struct pw_listing *devices;
        int64_t since_us;

        until_said(host, "gpu_power", 313500);
        say(CONF "hang = nvmlDeviceGetMemoryInfo\n");
        it_until(host->session, "devices", is_old, NULL); /* asked after one second, it would have been said by two */
        since_us = it_now_us();
        devices = it_list(host->session, "devices", NULL);
        it_within("a listing while NVML hangs", since_us, IT_SECOND / 10);
        check_row(devices, 0, 2000);
        pw_listing_free(devices);
        it_put_and_get(host, 1);
        end(host);
}

static void a_driver_that_hangs_at_once(void **state)
{
        struct it_host *host = begin(state, "hang = nvmlInit_v2\n");
        int64_t since_us = it_now_us();
        struct pw_listing *devices = it_list(host->session, "devices", NULL);

        it_within("a listing while NVML hangs", since_us, IT_SECOND / 10);
        assert_string_equal(it_text(devices, 0, "state"), "ready");
        assert_false(is_shown(devices, 0, "gpu_said_us"));
        pw_listing_free(devices);
        end(host);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                IT_FOLDER_TEST(facts_are_shown_and_change), IT_FOLDER_TEST(metrics_have_them),
                IT_FOLDER_TEST(what_is_not_supported_is_left_out), IT_FOLDER_TEST(without_nvml),
                IT_FOLDER_TEST(a_driver_that_hangs_later), IT_FOLDER_TEST(a_driver_that_hangs_at_once),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
