/* Subcommands of objects: put, get, free. */
#include "base/error.h"
#include "base/id.h"
#include "base/memory.h"
#include "base/size.h"
#include "cli/deadline.h"
#include "cli/print/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>

#define BLOCK_BYTES (1u << 20)
#define DEFAULT_TTL_US INT64_C(600000000) /* of an object without a name: else it would end with the command */

/* --- put ---------------------------------------------------------------------------------------------------------- */

/* What is read, until when: `end_us`. */
struct source { const char *path; int fd; int64_t end_us; uint64_t done; };

static enum pw_status too_late(const struct source *source, struct pw_error *ret_err)
{
        char bytes[16];

        return pw_error_set(ret_err, PW_DEADLINE, "%s: the timeout passed while it was read, after %s", source->path,
                            pw_size_format(source->done, bytes));
}

/* There are bytes, or its end. */
static enum pw_status source_wait(const struct source *source, struct pw_error *ret_err)
{
        struct pollfd poll_fd = { source->fd, POLLIN, 0 };
        int64_t left_us;
        int count;

        do {
                left_us = pw_cli_left_us(source->end_us);
                count = poll(&poll_fd, 1, (int)pw_min_u64((uint64_t)left_us / 1000 + (left_us > 0), INT_MAX));
                if (count < 0 && errno != EINTR)
                        return pw_error_errno(ret_err, errno, "poll %s", source->path);
        } while (count <= 0 && left_us);
        return count > 0 && (left_us || !source->done) ? PW_OK : too_late(source, ret_err);
}

/* Up to `bytes` bytes; fewer only at its end. */
static enum pw_status source_read(struct source *source, void *data, uint64_t bytes, uint64_t *ret_bytes, struct pw_error *ret_err)
{
        uint64_t done = 0;

        while (done < bytes) {
                enum pw_status status = source->end_us == PW_FOREVER ? PW_OK : source_wait(source, ret_err);
                ssize_t n = status == PW_OK ? read(source->fd, (char *)data + done, bytes - done) : 0;
                if (status != PW_OK)
                        return status;
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return pw_error_errno(ret_err, errno, "read %s", source->path);
                if (n == 0)
                        break;
                done += (uint64_t)n;
                source->done += (uint64_t)n;
        }
        *ret_bytes = done;
        return PW_OK;
}

/* A file is read into the room of its object. */
static enum pw_status put_file(struct pw_invocation *invocation, struct source *source, uint64_t bytes,
                               const struct pw_put_params *params, struct pw_future **ret_future, struct pw_error *ret_err)
{
        struct pw_future *future;
        void *data;
        uint64_t got = 0;
        enum pw_status status = pw_create(invocation->session, bytes, params, &future, &data, ret_err);

        if (status != PW_OK)
                return status;
        source->end_us = PW_FOREVER;
        status = source_read(source, data, bytes, &got, ret_err);
        if (status == PW_OK && got < bytes)
                status = pw_error_set(ret_err, PW_FAILED, "%s: ended after %llu bytes while it was read", source->path,
                                      (unsigned long long)got);
        if (status == PW_OK)
                status = pw_seal(future, ret_err);
        if (status != PW_OK)
                pw_unref(future);
        else
                *ret_future = future;
        return status;
}

/* What can be put at all: all of host memory. */
static enum pw_status ask_capacity(struct pw_invocation *invocation, uint64_t *ret_bytes, struct pw_error *ret_err)
{
        struct pw_listing *listing = NULL;
        enum pw_status status = pw_list(invocation->session, "status", NULL, 0, &listing, ret_err);
        const Pathways__Wire__Listing *rows = status == PW_OK ? pw_listing_rows(listing) : NULL;

        *ret_bytes = rows && rows->n_rows ? pw_row_number(rows->rows[0], "host_capacity") : 0;
        pw_listing_free(listing);
        return status;
}

/* Where the size is not known before the end, as of a pipe; and where the room is not ours to write, as of a frozen value. */
static enum pw_status put_stream(struct pw_invocation *invocation, struct source *source, struct pw_put_params *params,
                                 struct pw_future **ret_future, struct pw_error *ret_err)
{
        uint64_t bytes = 0, got, capacity;
        pw_auto_free char *data = NULL;
        char most[16];
        enum pw_status status = ask_capacity(invocation, &capacity, ret_err);

        if (status != PW_OK)
                return status;
        do {
                char *grown = realloc(data, bytes + BLOCK_BYTES);
                if (!grown)
                        return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for %s after %llu bytes", source->path,
                                            (unsigned long long)bytes);
                data = grown;
                status = source_read(source, data + bytes, BLOCK_BYTES, &got, ret_err);
                if (status != PW_OK)
                        return status;
                bytes += got;
                if (bytes > capacity)
                        return pw_error_set(ret_err, PW_TOO_LARGE, "%s: more than the %s of host memory that the daemon has",
                                            source->path, pw_size_format(capacity, most));
        } while (got == BLOCK_BYTES);
        if (source->end_us != PW_FOREVER)
                params->timeout_us = (int64_t)pw_max_u64((uint64_t)pw_cli_left_us(source->end_us), 1);
        return pw_put(invocation->session, data, bytes, params, ret_future, ret_err);
}

static enum pw_status put_path(struct pw_invocation *invocation, struct pw_future **ret_future, struct pw_error *ret_err)
{
        const char *path = invocation->operands[0];
        uint64_t timeout_us = invocation->settings.timeout_us;
        bool given = timeout_us != PW_NOT_GIVEN;
        struct pw_put_params params = { .timeout_us = given ? (int64_t)pw_max_u64(pw_min_u64(timeout_us, PW_FOREVER), 1) : 0 };
        struct stat stat;
        enum pw_status status = pw_type_parse(&invocation->settings, &params.dtype, &params.dims, ret_err);

        if (status != PW_OK)
                return status;
        pw_auto_close int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
        if (fd < 0)
                return pw_error_errno(ret_err, errno, "open %s", path);
        struct source source = { path, fd, given ? pw_cli_end_us(timeout_us) : PW_FOREVER, 0 };
        params.flags = invocation->settings.frozen ? PW_PUT_FROZEN : 0;
        if (!params.flags && fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_size) /* those of /proc say 0 */
                return put_file(invocation, &source, (uint64_t)stat.st_size, &params, ret_future, ret_err);
        return put_stream(invocation, &source, &params, ret_future, ret_err);
}

/* The command ends now: a name keeps the object, for a time where one is given, or a lease. */
static enum pw_status keep(struct pw_invocation *invocation, struct pw_future *future, struct pw_error *ret_err)
{
        const struct pw_command_settings *settings = &invocation->settings;
        bool given = settings->ttl_us != PW_NOT_GIVEN;
        int64_t ttl_us = (int64_t)pw_min_u64(settings->ttl_us, INT64_MAX);

        if (settings->name)
                return pw_name_for(future, settings->name, given ? ttl_us : 0, ret_err);
        return pw_lease(future, given ? ttl_us : DEFAULT_TTL_US, ret_err);
}

enum pw_status pw_command_put(struct pw_invocation *invocation, struct pw_error *ret_err)
{
        struct pw_future *future = NULL;
        char id[PW_ID_TEXT_BYTES];
        enum pw_status status = put_path(invocation, &future, ret_err);

        if (status == PW_OK)
                status = keep(invocation, future, ret_err);
        if (status == PW_OK) {
                Pathways__Wire__Cell cell = pw_cell_text("id", pw_id_format(pw_future_id(future), id));
                if (invocation->settings.json)
                        status = pw_output_cells(invocation, &cell, 1, ret_err);
                else
                        fprintf(invocation->out, "%s\n", id);
        }
        pw_unref(future);
        return status;
}

/* --- get ---------------------------------------------------------------------------------------------------------- */

static enum pw_status write_view(const char *path, const struct pw_view *view, struct pw_error *ret_err)
{
        FILE *file = path ? fopen(path, "we") : stdout;

        if (!file)
                return pw_error_errno(ret_err, errno, "open %s", path);
        bool written = (!view->bytes || fwrite(view->data, 1, view->bytes, file) == view->bytes) && !fflush(file);
        int number = errno;
        if (path)
                fclose(file);
        return written ? PW_OK : pw_error_errno(ret_err, number, "write %s", path ? path : "to standard output");
}

static enum pw_status print_view(struct pw_invocation *invocation, struct pw_id id, const struct pw_view *view,
                                 struct pw_error *ret_err)
{
        char text[PW_ID_TEXT_BYTES], dims[160];
        Pathways__Wire__Cell cells[] = {
                pw_cell_text("id", pw_id_format(id, text)),
                pw_cell_number("bytes", view->bytes),
                pw_cell_text("dtype", pw_dtype_text(view->dtype)),
                pw_cell_text("dims", pw_dims_format(&view->dims, dims, sizeof dims)),
        };

        return pw_output_cells(invocation, cells, pw_array_count(cells), ret_err);
}

/* The bytes go to the file or to standard output; with --json a row goes there in their place. */
enum pw_status pw_command_get(struct pw_invocation *invocation, struct pw_error *ret_err)
{
        const struct pw_command_settings *settings = &invocation->settings;
        struct pw_future *future;
        struct pw_view view;
        enum pw_status status = pw_operand_open(invocation, invocation->operands[0],
                                                settings->wait ? (int64_t)settings->timeout_us : 0, &future, ret_err);

        if (status != PW_OK)
                return status;
        status = pw_get(future, (int64_t)pw_min_u64(settings->timeout_us, PW_FOREVER), &view, ret_err);
        if (status == PW_OK) {
                if (settings->output || !settings->json)
                        status = write_view(settings->output, &view, ret_err);
                if (status == PW_OK && settings->json)
                        status = print_view(invocation, pw_future_id(future), &view, ret_err);
                pw_view_done(&view);
        }
        pw_unref(future);
        return status;
}

/* --- free --------------------------------------------------------------------------------------------------------- */

static enum pw_status find_id(struct pw_invocation *invocation, struct pw_id *ret_id, struct pw_error *ret_err)
{
        struct pw_future *future;
        enum pw_status status;

        if (pw_id_parse(invocation->operands[0], ret_id, NULL) == PW_OK)
                return PW_OK;
        status = pw_lookup(invocation->session, invocation->operands[0], 0, &future, ret_err);
        if (status == PW_OK) {
                *ret_id = pw_future_id(future);
                pw_unref(future);
        }
        return status;
}

/* Is it an object of another host? */
static enum pw_status find_home(struct pw_invocation *invocation, struct pw_id id, bool *ret_elsewhere, struct pw_error *ret_err)
{
        struct pw_listing *listing = NULL;
        enum pw_status status = pw_list(invocation->session, "status", NULL, 0, &listing, ret_err);
        char host[16];

        snprintf(host, sizeof host, "h%u", pw_id_host(id));
        if (status == PW_OK)
                *ret_elsewhere = pw_listing_rows(listing)->n_rows &&
                                 strcmp(pw_row_text(pw_listing_rows(listing)->rows[0], "host"), host) != 0;
        pw_listing_free(listing);
        return status;
}

/* Of an object of another host the name alone goes, which its home removes: what else is there is for who asks there. */
enum pw_status pw_command_free(struct pw_invocation *invocation, struct pw_error *ret_err)
{
        const char *operand = invocation->operands[0];
        bool elsewhere = false;
        struct pw_id id;
        char text[PW_ID_TEXT_BYTES];
        enum pw_status status = find_id(invocation, &id, ret_err);

        if (status == PW_OK && pw_id_parse(operand, &id, NULL) != PW_OK)
                status = find_home(invocation, id, &elsewhere, ret_err);
        if (status == PW_OK)
                status = elsewhere ? pw_unname(invocation->session, operand, ret_err)
                                   : pw_free_object(invocation->session, id, invocation->settings.force, ret_err);
        if (status == PW_OK && invocation->settings.json) {
                Pathways__Wire__Cell cell = pw_cell_text("id", pw_id_format(id, text));
                status = pw_output_cells(invocation, &cell, 1, ret_err);
        }
        return status;
}
