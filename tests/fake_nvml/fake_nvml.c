/* All of it: each call reads the configuration, then hangs, fails or answers by that. */
#include "daemon/device/nvml_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_BYTES 512

struct conf {
        unsigned long long devices, memory_total, memory_used, power, temperature, ecc;
        char fail[TEXT_BYTES], hang[TEXT_BYTES];
};

/* A handle: where GPU i is. Real ones are pointers as well. */
struct nvmlDevice_st { char none; };
static struct nvmlDevice_st all[64];

/* Declared as NVML declares them: by the table. */
#define DECLARE(name, type, parameters) type name parameters;
PW_NVML_FUNCTION_MAP(DECLARE)

static void key_read(struct conf *conf, const char *key, const char *value)
{
        const struct { const char *key; unsigned long long *number; } numbers[] = {
                { "devices", &conf->devices }, { "memory_total", &conf->memory_total }, { "memory_used", &conf->memory_used },
                { "power", &conf->power },     { "temperature", &conf->temperature },   { "ecc", &conf->ecc },
        };

        for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
                if (!strcmp(key, numbers[i].key)) {
                        *numbers[i].number = strtoull(value, NULL, 0);
                        return;
                }
        }
        if (!strcmp(key, "fail") || !strcmp(key, "hang")) {
                snprintf(*key == 'f' ? conf->fail : conf->hang, TEXT_BYTES, "%s", value);
                return;
        }
        fprintf(stderr, "fake NVML: fake_nvml.conf: no key %s\n", key);
        abort();
}

static struct conf conf_read(void)
{
        struct conf conf = { .devices = 4 };
        char path[TEXT_BYTES + 32], line[2 * TEXT_BYTES], key[64], value[TEXT_BYTES], *slash;
        Dl_info own;
        FILE *file;

        if (!dladdr(all, &own) || !own.dli_fname)
                return conf;
        snprintf(path, TEXT_BYTES, "%s", own.dli_fname);
        slash = strrchr(path, '/');
        strcpy(slash ? slash + 1 : path, "fake_nvml.conf");
        file = fopen(path, "re");
        while (file && fgets(line, sizeof line, file))
                if (sscanf(line, " %63[a-z_] = %511[^\n]", key, value) == 2)
                        key_read(&conf, key, value);
        if (file)
                fclose(file);
        return conf;
}

static enum pw_nvml_result begin(const char *call, struct conf *ret_conf)
{
        char name[TEXT_BYTES];
        const char *at;

        *ret_conf = conf_read();
        while (!strcmp(ret_conf->hang, call))
                pause();
        snprintf(name, sizeof name, "%s=", call);
        at = strstr(ret_conf->fail, name);
        return at ? (enum pw_nvml_result)atoi(at + strlen(name)) : PW_NVML_SUCCESS;
}

/* Of the GPU of a handle. */
static unsigned long long more_of(const struct nvmlDevice_st *device) { return 1000ull * (unsigned long long)(device - all); }

enum pw_nvml_result nvmlInit_v2(void)
{
        struct conf conf;

        return begin(__func__, &conf);
}

enum pw_nvml_result nvmlShutdown(void)
{
        struct conf conf;

        return begin(__func__, &conf);
}

const char *nvmlErrorString(enum pw_nvml_result result)
{
        return result == PW_NVML_DRIVER_NOT_LOADED ? "Driver Not Loaded" : "Unknown Error";
}

enum pw_nvml_result nvmlDeviceGetHandleByIndex_v2(unsigned index, struct nvmlDevice_st **device)
{
        struct conf conf;
        enum pw_nvml_result result = begin(__func__, &conf);

        if (result == PW_NVML_SUCCESS && index >= conf.devices)
                return PW_NVML_UNKNOWN;
        *device = &all[index];
        return result;
}

enum pw_nvml_result nvmlDeviceGetMemoryInfo(struct nvmlDevice_st *device, struct pw_nvml_memory *memory)
{
        struct conf conf;
        enum pw_nvml_result result = begin(__func__, &conf);

        if (result == PW_NVML_SUCCESS)
                *memory = (struct pw_nvml_memory){ .total = conf.memory_total,
                                                   .used = conf.memory_used + more_of(device),
                                                   .free = conf.memory_total - conf.memory_used - more_of(device) };
        return result;
}

enum pw_nvml_result nvmlDeviceGetPowerUsage(struct nvmlDevice_st *device, unsigned *milliwatts)
{
        struct conf conf;
        enum pw_nvml_result result = begin(__func__, &conf);

        if (result == PW_NVML_SUCCESS)
                *milliwatts = (unsigned)(conf.power + more_of(device));
        return result;
}

enum pw_nvml_result nvmlDeviceGetTemperature(struct nvmlDevice_st *device, enum pw_nvml_sensor sensor, unsigned *celsius)
{
        struct conf conf;
        enum pw_nvml_result result = begin(__func__, &conf);

        if (result == PW_NVML_SUCCESS && sensor == PW_NVML_SENSOR_GPU)
                *celsius = (unsigned)(conf.temperature + more_of(device));
        return result;
}

enum pw_nvml_result nvmlDeviceGetTotalEccErrors(struct nvmlDevice_st *device, enum pw_nvml_error_type type,
                                                enum pw_nvml_counter counter, unsigned long long *count)
{
        struct conf conf;
        enum pw_nvml_result result = begin(__func__, &conf);

        if (result == PW_NVML_SUCCESS)
                *count = type == PW_NVML_UNCORRECTED && counter == PW_NVML_VOLATILE ? conf.ecc + more_of(device) : 0;
        return result;
}
