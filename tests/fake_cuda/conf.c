/* The configuration: fake_cuda.conf in the folder of the path by which this library was loaded. An executor's environment is empty,
 * so that is how a test speaks to the driver of its executors. */
#include "tests/fake_cuda/fake.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static struct fake_conf conf = {
        .devices = 4, .capacity = UINT64_C(1) << 30, .arch = 90, .driver = 13000, .delay_us = 25, .seed = 1,
};

static const struct { const char *key; uint64_t *number; } numbers[] = {
        { "devices", &conf.devices },     { "capacity", &conf.capacity },
        { "arch", &conf.arch },           { "driver", &conf.driver },
        { "delay_us", &conf.delay_us },   { "seed", &conf.seed },
        { "refuse_write_value", &conf.refuse_write_value }, { "refuse_register", &conf.refuse_register },
        { "refuse_read_only", &conf.refuse_read_only },
        { "mps", &conf.mps },             { "context", &conf.context },
        { "account", &conf.account },
};
static const struct { const char *key; char *text; } texts[] = {
        { "kernels", conf.kernels }, { "counts", conf.counts }, { "hang", conf.hang }, { "trap", conf.trap },
};

const struct fake_conf *fake_conf(void) { return &conf; }

void fake_abort(const char *format, ...)
{
        va_list args;

        va_start(args, format);
        fputs("fake CUDA: ", stderr);
        vfprintf(stderr, format, args);
        fputc('\n', stderr);
        va_end(args);
        abort();
}

char *fake_conf_path(const char *path, char text[2 * FAKE_TEXT_BYTES])
{
        snprintf(text, 2 * FAKE_TEXT_BYTES, "%s%s%s", *path == '/' ? "" : conf.folder, *path == '/' ? "" : "/", path);
        return text;
}

static enum fake_call call_find(const char *name)
{
#define FIND(field, symbol, parameters)                                                                                \
        if (!strcmp(name, #field) || !strcmp(name, #symbol))                                                           \
                return FAKE_##field;
        PW_CUDA_FUNCTION_MAP(FIND)
#undef FIND
        fake_abort("fake_cuda.conf: no function %s", name);
}

/* "cuMemCreate@3=2, ...": the third call gives 2. */
static void fails_read(char *value)
{
        char *rest = NULL;

        for (char *one = strtok_r(value, ", ", &rest); one; one = strtok_r(NULL, ", ", &rest)) {
                struct fake_fail *fail = &conf.fails[conf.fail_count];
                char name[64];
                int result;

                if (conf.fail_count++ == FAKE_FAILS_MAX || sscanf(one, "%63[^@]@%" SCNu64 "=%d", name, &fail->at, &result) != 3)
                        fake_abort("fake_cuda.conf: fail = %s is not FUNCTION@COUNT=RESULT, or one too many", one);
                fail->call = call_find(name);
                fail->result = (enum pw_cuda_result)result;
        }
}

static void key_read(const char *key, char *value)
{
        for (size_t i = 0; i < pw_array_count(numbers); i++) {
                if (!strcmp(key, numbers[i].key)) {
                        *numbers[i].number = strtoull(value, NULL, 0);
                        return;
                }
        }
        for (size_t i = 0; i < pw_array_count(texts); i++) {
                if (!strcmp(key, texts[i].key)) {
                        snprintf(texts[i].text, FAKE_TEXT_BYTES, "%s", value);
                        return;
                }
        }
        if (strcmp(key, "fail"))
                fake_abort("fake_cuda.conf: no key %s", key);
        fails_read(value);
}

static void file_read(FILE *file)
{
        char line[2 * FAKE_TEXT_BYTES], key[64], value[FAKE_TEXT_BYTES];

        while (fgets(line, sizeof line, file)) {
                value[0] = 0;
                if (sscanf(line, " %63[a-z_] = %1023[^\n]", key, value) >= 1)
                        key_read(key, value);
                else if (line[strspn(line, " \t\n")] && line[0] != '#')
                        fake_abort("fake_cuda.conf: %s", line);
        }
}

/* When it is loaded: later the process may have gone elsewhere, or see fewer files. */
__attribute__((constructor)) static void conf_read(void)
{
        char path[FAKE_TEXT_BYTES + 32], *slash;
        Dl_info own;
        FILE *file;

        if (!dladdr(&conf, &own) || !own.dli_fname)
                return;
        snprintf(conf.folder, sizeof conf.folder, "%s", own.dli_fname);
        slash = strrchr(conf.folder, '/');
        if (slash)
                *slash = 0;
        else
                strcpy(conf.folder, ".");
        snprintf(path, sizeof path, "%s/fake_cuda.conf", conf.folder);
        file = fopen(path, "re");
        if (!file)
                return;
        file_read(file);
        fclose(file);
        if (!conf.devices || conf.devices > FAKE_DEVICES_MAX)
                fake_abort("fake_cuda.conf: devices = %" PRIu64 ", at most %u", conf.devices, FAKE_DEVICES_MAX);
}
