/* What memory is taken. */
#include "tests/bench/memory.h"

#include "base/memory.h"
#include "libclient/listing.h"

#include <stdio.h>

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

static enum pw_status sum(struct pw_session *session, const char *const *terms, size_t count, uint64_t *ret_bytes,
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

enum pw_status pw_bench_term(struct pw_session *session, const char *term, uint64_t *ret_bytes, struct pw_error *ret_err)
{
        return sum(session, &term, 1, ret_bytes, ret_err);
}

enum pw_status pw_bench_granted(struct pw_session *session, uint64_t *ret_bytes, struct pw_error *ret_err)
{
        static const char *const terms[] = { "used", "idle", "letting go", "quarantined" };

        return sum(session, terms, pw_array_count(terms), ret_bytes, ret_err);
}
