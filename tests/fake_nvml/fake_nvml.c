/* All of it: each call reads the configuration, then hangs, fails or answers by that. */
#include "daemon/device/nvml_library.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_BYTES 512

struct conf {
        unsigned long long devices, memory_total, memory_used, power, temperature, ecc, unavailable;
        char fail[TEXT_BYTES], hang[TEXT_BYTES];
};

/* A handle: where GPU i is. Real ones are pointers as well. */
struct nvmlDevice_st { char none; };
static struct nvmlDevice_st all[64];

/* Declared as NVML declares them: by the table. */
#define DECLARE(name, type, parameters) type name parameters;
PW_NVML_FUNCTION_MAP(DECLARE)
PW_NVML_OPTIONAL_MAP(DECLARE)

static void key_read(struct conf *conf, const char *key, const char *value)
{
        const struct { const char *key; unsigned long long *number; } numbers[] = {
                { "devices", &conf->devices }, { "memory_total", &conf->memory_total }, { "memory_used", &conf->memory_used },
                { "power", &conf->power },     { "temperature", &conf->temperature },   { "ecc", &conf->ecc },
                { "unavailable", &conf->unavailable },
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

/* Of a file beside this library; "": of the folder. */
static bool path_of(const char *name, char path[TEXT_BYTES + 300])
{
        Dl_info own;
        char *slash;

        if (!dladdr(all, &own) || !own.dli_fname)
                return false;
        snprintf(path, TEXT_BYTES, "%s", own.dli_fname);
        slash = strrchr(path, '/');
        snprintf(slash ? slash + 1 : path, 300, "%s", name);
        return true;
}

static struct conf conf_read(void)
{
        struct conf conf = { .devices = 4 };
        char path[TEXT_BYTES + 300], line[2 * TEXT_BYTES], key[64], value[TEXT_BYTES];
        FILE *file;

        if (!path_of("fake_nvml.conf", path))
                return conf;
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

/* What the file of a process and device says that it uses (tests/fake_cuda). */
static unsigned long long used_by(const char *name)
{
        char path[TEXT_BYTES + 300];
        unsigned long long used = 0;
        FILE *file = path_of(name, path) ? fopen(path, "re") : NULL;

        if (file && fscanf(file, "%llu", &used) != 1)
                used = 0;
        if (file)
                fclose(file);
        return used;
}

enum pw_nvml_result nvmlDeviceGetComputeRunningProcesses_v2(struct nvmlDevice_st *device, unsigned *count,
                                                            struct pw_nvml_process *processes)
{
        char path[TEXT_BYTES + 300];
        struct conf conf;
        enum pw_nvml_result result = begin(__func__, &conf);
        DIR *folder = result == PW_NVML_SUCCESS && path_of("", path) ? opendir(path) : NULL;
        const struct dirent *entry;
        unsigned most = *count;

        *count = 0;
        while (folder && (entry = readdir(folder))) {
                unsigned pid, number;
                if (sscanf(entry->d_name, "used.%u.%u", &pid, &number) != 2 || number != (unsigned)(device - all) ||
                    (kill((pid_t)pid, 0) < 0 && errno == ESRCH))
                        continue;
                if (*count < most)
                        processes[*count] = (struct pw_nvml_process){
                                pid, conf.unavailable ? PW_NVML_NOT_AVAILABLE : used_by(entry->d_name), ~0u, ~0u };
                ++*count;
        }
        if (folder)
                closedir(folder);
        return *count > most ? PW_NVML_INSUFFICIENT_SIZE : result;
}
