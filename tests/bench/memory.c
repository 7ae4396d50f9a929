/* What memory is taken. */
#include "tests/bench/memory.h"

#include "base/memory.h"
#include "libclient/listing.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

uint64_t pw_bench_private_bytes(pid_t pid)
{
        static const char *const keys[] = { "RssAnon:", "VmPTE:" };
        char path[40], line[256];
        uint64_t kib = 0;
        FILE *file;

        snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
        file = fopen(path, "re");
        while (file && fgets(line, sizeof line, file))
                for (size_t i = 0; i < pw_array_count(keys); i++)
                        if (!strncmp(line, keys[i], strlen(keys[i])))
                                kib += strtoull(line + strlen(keys[i]), NULL, 10);
        if (file)
                fclose(file);
        return kib * 1024;
}

static const Pathways__Wire__Cell *cell(const Pathways__Wire__Row *row, const char *key)
{
        for (size_t i = 0; i < row->n_cells; i++)
                if (!strcmp(row->cells[i]->key, key))
                        return row->cells[i];
        return NULL;
}

/* The row's bytes, if it is that term of host memory. */
static uint64_t bytes_of(const Pathways__Wire__Row *row, const char *term)
{
        const Pathways__Wire__Cell *memory = cell(row, "memory"), *name = cell(row, "term"), *bytes = cell(row, "bytes");

        return memory && name && bytes && !strchr(memory->text, ':') && !strcmp(name->text, term) ? bytes->number : 0;
}

static int compare(const void *left, const void *right)
{
        const struct stat *one = left, *other = right;

        return (one->st_ino > other->st_ino) - (one->st_ino < other->st_ino);
}

static bool is_memfd(const char *path)
{
        char name[64];
        ssize_t length = readlink(path, name, sizeof name - 1);

        return length > 7 && !strncmp(name, "/memfd:", 7);
}

uint64_t pw_bench_shared_bytes(pid_t pid)
{
        char folder[40], path[300];
        struct stat *files = NULL;
        uint32_t count = 0, capacity = 0;
        uint64_t bytes = 0;
        struct dirent *item;

        snprintf(folder, sizeof folder, "/proc/%d/fd", (int)pid);
        DIR *all = opendir(folder);
        while (all && (item = readdir(all))) {
                snprintf(path, sizeof path, "%s/%s", folder, item->d_name);
                if (is_memfd(path) && pw_grow((void **)&files, &capacity, count + 1, sizeof *files) &&
                    stat(path, &files[count]) == 0)
                        count++;
        }
        if (all)
                closedir(all);
        if (count)
                qsort(files, count, sizeof *files, compare);
        for (uint32_t i = 0; i < count; i++)
                if (!i || files[i].st_ino != files[i - 1].st_ino)
                        bytes += (uint64_t)files[i].st_blocks * 512;
        free(files);
        return bytes;
}

/* The sum of so many terms. */
static enum pw_status sum_terms(struct pw_session *session, const char *const *terms, size_t count, uint64_t *ret_bytes,
                                struct pw_error *ret_err)
{
        struct pw_listing *listing;
        enum pw_status status = pw_list(session, "memory", NULL, 0, &listing, ret_err);

        if (status != PW_OK)
                return status;
        *ret_bytes = 0;
        for (size_t i = 0; i < pw_listing_rows(listing)->n_rows; i++)
                for (size_t t = 0; t < count; t++)
                        *ret_bytes += bytes_of(pw_listing_rows(listing)->rows[i], terms[t]);
        pw_listing_free(listing);
        return PW_OK;
}

enum pw_status pw_bench_granted(struct pw_session *session, uint64_t *ret_bytes, struct pw_error *ret_err)
{
        static const char *const terms[] = { "used", "idle", "letting go", "quarantined" };

        return sum_terms(session, terms, pw_array_count(terms), ret_bytes, ret_err);
}

enum pw_status pw_bench_used(struct pw_session *session, uint64_t *ret_bytes, struct pw_error *ret_err)
{
        static const char *const terms[] = { "used", "letting go" };

        return sum_terms(session, terms, pw_array_count(terms), ret_bytes, ret_err);
}
