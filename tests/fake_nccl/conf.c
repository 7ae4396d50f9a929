/* The configuration: fake_nccl.conf in the folder of the path by which this library was loaded. An executor's environment is empty,
 * so that is how a test speaks to the NCCL of its executors. */
#include "tests/fake_nccl/fake.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static struct fake_conf conf = { .version = 22800, .seed = 1, .delay_us = 200 };

static const struct { const char *key; uint64_t *number; } numbers[] = {
        { "version", &conf.version },       { "seed", &conf.seed },
        { "delay_us", &conf.delay_us },     { "hang_abort", &conf.hang_abort },
        { "refuse_register", &conf.refuse_register },
        { "refuse_nvls", &conf.refuse_nvls }, { "memory", &conf.memory },
};

const struct fake_conf *fake_conf(void) { return &conf; }

void fake_abort(const char *format, ...)
{
        va_list args;

        va_start(args, format);
        fputs("fake NCCL: ", stderr);
        vfprintf(stderr, format, args);
        fputc('\n', stderr);
        va_end(args);
        abort();
}

static enum fake_call call_find(const char *name)
{
#define FIND(function, type, parameters)                                                                               \
        if (!strcmp(name, #function))                                                                                  \
                return FAKE_##function;
        PW_NCCL_FUNCTION_MAP(FIND)
#undef FIND
        fake_abort("fake_nccl.conf: no function %s", name);
}

/* "ncclAllReduce@3=2, ...": the third call gives 2; -1: it does not return. */
static void fails_read(char *value)
{
        char *rest = NULL;

        for (char *one = strtok_r(value, ", ", &rest); one; one = strtok_r(NULL, ", ", &rest)) {
                struct fake_fail *fail = &conf.fails[conf.fail_count];
                char name[64];
                int result;

                if (conf.fail_count++ == FAKE_FAILS_MAX || sscanf(one, "%63[^@]@%" SCNu64 "=%d", name, &fail->at, &result) != 3)
                        fake_abort("fake_nccl.conf: fail = %s is not FUNCTION@COUNT=RESULT, or one too many", one);
                fail->call = call_find(name);
                fail->result = (enum pw_nccl_result)result;
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
        if (!strcmp(key, "trace"))
                snprintf(conf.trace, sizeof conf.trace, "%s", value);
        else if (!strcmp(key, "counts"))
                snprintf(conf.counts, sizeof conf.counts, "%s", value);
        else if (!strcmp(key, "fail"))
                fails_read(value);
        else
                fake_abort("fake_nccl.conf: no key %s", key);
}

static void file_read(FILE *file)
{
        char line[2 * FAKE_TEXT_BYTES], key[64], value[FAKE_TEXT_BYTES];

        while (fgets(line, sizeof line, file)) {
                value[0] = 0;
                if (sscanf(line, " %63[a-z_] = %1023[^\n]", key, value) >= 1)
                        key_read(key, value);
                else if (line[strspn(line, " \t\n")] && line[0] != '#')
                        fake_abort("fake_nccl.conf: %s", line);
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
        snprintf(path, sizeof path, "%s/fake_nccl.conf", conf.folder);
        file = fopen(path, "re");
        if (!file)
                return;
        file_read(file);
        fclose(file);
}
