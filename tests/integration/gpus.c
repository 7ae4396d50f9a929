/* A folder with a link to the fake driver, and its configuration. Executors of another user read both.
 * Or a driver that is there. */
#include "tests/integration/gpus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const libraries[] = { "tests/kernels/libpw_fake_kernels.so", "tests/kernels/libdigits_fake_kernels.so",
                                         "tests/kernels/libtensor_fake_kernels.so",
                                         "tests/kernels/libgpu_fake_kernels.so" };

static void write_conf(const struct it_gpus *gpus, const char *conf)
{
        char path[96], library[600];
        FILE *file;

        snprintf(path, sizeof path, "%s/fake_cuda.conf", gpus->folder);
        file = fopen(path, "w");
        assert_non_null(file);
        fprintf(file, "kernels = ");
        for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
                it_built(libraries[i], library);
                if (access(library, R_OK))
                        it_skip("there are no kernels for a fake GPU: is there a C++ compiler?");
                fprintf(file, "%s%s", i ? ":" : "", library);
        }
        fprintf(file, "\n%s", conf ? conf : "");
        assert_int_equal(fclose(file), 0);
}

/* What a configuration asks of the fake driver that holds on any: kernels that hang or trap do so by themselves. */
static bool is_for_any(const char *conf)
{
        static const char *const keys[] = { "devices", "delay_us", "hang", "trap" };

        while (conf && *conf) {
                bool known = false;

                for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
                        known |= !strncmp(conf, keys[i], strlen(keys[i]));
                if (!known)
                        return false;
                conf += strcspn(conf, "\n");
                conf += *conf == '\n';
        }
        return true;
}

/* The library of $`name`, in `path`. */
static void given(const char *name, char path[IT_GPUS_PATH])
{
        assert_true(strlen(getenv(name)) < IT_GPUS_PATH);
        snprintf(path, IT_GPUS_PATH, "%s", getenv(name));
}

bool it_gpus_given(void) { return getenv("PW_CUDA_DRIVER") != NULL; }

void it_gpus_init(struct it_gpus *gpus, const char *conf)
{
        char library[600];

        *gpus = (struct it_gpus){ .folder = "" };
        if (it_gpus_given()) {
                if (!is_for_any(conf))
                        it_skip("only the fake driver does what is asked of it: %s", conf);
                given("PW_CUDA_DRIVER", gpus->driver);
                return;
        }

        snprintf(gpus->folder, sizeof gpus->folder, "/tmp/pathways-gpus-XXXXXX");
        assert_non_null(mkdtemp(gpus->folder));
        assert_int_equal(chmod(gpus->folder, 0755), 0);
        snprintf(gpus->driver, sizeof gpus->driver, "%s/libcuda.so.1", gpus->folder);
        it_built("tests/fake_cuda/.libs/libcuda.so.1", library);
        assert_int_equal(symlink(library, gpus->driver), 0);
        write_conf(gpus, conf);
}

void it_gpus_nccl(struct it_gpus *gpus, const char *conf)
{
        char path[96], library[600];
        FILE *file;

        if (it_gpus_given()) {
                if (!getenv("PW_NCCL_LIBRARY"))
                        it_skip("there is no NCCL beside the driver that is given");
                if (conf && *conf)
                        it_skip("only the fake NCCL does what is asked of it: %s", conf);
                given("PW_NCCL_LIBRARY", gpus->nccl);
                return;
        }
        snprintf(gpus->nccl, sizeof gpus->nccl, "%s/libnccl.so.2", gpus->folder);
        it_built("tests/fake_nccl/.libs/libnccl.so.2", library);
        assert_int_equal(symlink(library, gpus->nccl), 0);
        assert_int_equal(chmod(gpus->folder, 01777), 0);
        snprintf(path, sizeof path, "%s/fake_nccl.conf", gpus->folder);
        file = fopen(path, "w");
        assert_non_null(file);
        fputs(conf ? conf : "", file);
        assert_int_equal(fclose(file), 0);
}

/* With what ranks that were killed left where they met. */
void it_gpus_done(struct it_gpus *gpus)
{
        DIR *folder = gpus->folder[0] ? opendir(gpus->folder) : NULL;
        const struct dirent *entry;

        if (!gpus->folder[0])
                return;
        assert_non_null(folder);
        while ((entry = readdir(folder)))
                if (entry->d_name[0] != '.')
                        unlinkat(dirfd(folder), entry->d_name, 0);
        closedir(folder);
        rmdir(gpus->folder);
}

/* "cuda:8" where there are but 3 GPUs is "cuda@0,1,2,0,1,2,0,1". */
static char *spread(const char *devices, unsigned long most)
{
        const char *at = strstr(devices, "cuda:");
        unsigned long count = at ? strtoul(at + 5, NULL, 10) : 0;
        char *text, *all;

        if (!most || count <= most || asprintf(&text, "%.*scuda@0", (int)(at - devices), devices) < 0)
                return NULL;
        for (unsigned long i = 1; i < count; i++) {
                char *longer;

                assert_true(asprintf(&longer, "%s,%lu", text, i % most) > 0);
                free(text);
                text = longer;
        }
        at += 5 + strspn(at + 5, "0123456789");
        assert_true(asprintf(&all, "%s%s", text, at) > 0);
        free(text);
        return all;
}

void it_gpus_spread(const char **all, size_t count)
{
        for (size_t i = 1; i < count; i++) {
                char *text = strcmp(all[i - 1], "--devices") ? NULL : spread(all[i], it_environment("PW_CUDA_COUNT", 0));

                if (text)
                        all[i] = text;
        }
}

size_t it_gpus_arguments(const struct it_gpus *gpus, const char **all, size_t count, size_t most)
{
        static const char emulated[] = "emulated", other[] = "cuda";

        for (size_t i = 1; i < count; i++) {
                const char *at = strcmp(all[i - 1], "--devices") ? NULL : strstr(all[i], emulated);
                char *text;

                if (at && asprintf(&text, "%.*s%s%s", (int)(at - all[i]), all[i], other, at + strlen(emulated)) > 0)
                        all[i] = text;
        }
        if (count + 4 < most) {
                all[count++] = "--cuda-driver";
                all[count++] = gpus->driver;
                all[count++] = gpus->nccl[0] ? "--nccl-library" : "--no-nccl";
                if (gpus->nccl[0])
                        all[count++] = gpus->nccl;
        }
        return count;
}
