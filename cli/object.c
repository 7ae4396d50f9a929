/* Subcommands of objects: put, get, free. */
#include "base/error.h"
#include "base/memory.h"
#include "base/size.h"
#include "cli/print/output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define BLOCK_BYTES (1u << 20)
#define DEFAULT_TTL_US INT64_C(600000000) /* of an object without a name: else it would end with the command */

/* --- put ---------------------------------------------------------------------------------------------------------- */

/* Up to `bytes` bytes; fewer only at the end of the file. */
static enum pw_status read_some(int fd, const char *path, void *data, uint64_t bytes, uint64_t *ret_bytes, struct pw_error *ret_err)
{
        uint64_t done = 0;

        while (done < bytes) {
                ssize_t n = read(fd, (char *)data + done, bytes - done);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return pw_error_errno(ret_err, errno, "read %s", path);
                if (n == 0)
                        break;
                done += (uint64_t)n;
        }
        *ret_bytes = done;
        return PW_OK;
}

/* A file is read into the room of its object. */
static enum pw_status put_file(struct pw_invocation *invocation, int fd, uint64_t bytes, const struct pw_put_params *params,
                               struct pw_future **ret_future, struct pw_error *ret_err)
{
        const char *path = invocation->operands[0];
        struct pw_future *future;
        void *data;
        uint64_t got = 0;
        enum pw_status status = pw_create(invocation->session, bytes, params, &future, &data, ret_err);

        if (status != PW_OK)
                return status;
        status = read_some(fd, path, data, bytes, &got, ret_err);
        if (status == PW_OK && got < bytes)
                status = pw_error_set(ret_err, PW_FAILED, "%s: ended after %llu bytes while it was read", path,
                                      (unsigned long long)got);
        if (status == PW_OK)
                status = pw_seal(future, ret_err);
        if (status != PW_OK)
                pw_unref(future);
        else
                *ret_future = future;
        return status;
}

/* Where the size is not known before the end, as of a pipe; and where the room is not ours to write, as of a frozen value. */
static enum pw_status put_stream(struct pw_invocation *invocation, int fd, const struct pw_put_params *params,
                                 struct pw_future **ret_future, struct pw_error *ret_err)
{
        uint64_t bytes = 0, got;
        pw_auto_free char *data = NULL;

        do {
                char *grown = realloc(data, bytes + BLOCK_BYTES);
                if (!grown)
                        return pw_error_set(ret_err, PW_NO_MEMORY, "no memory for %s after %llu bytes", invocation->operands[0],
                                            (unsigned long long)bytes);
                data = grown;
                enum pw_status status = read_some(fd, invocation->operands[0], data + bytes, BLOCK_BYTES, &got, ret_err);
                if (status != PW_OK)
                        return status;
                bytes += got;
        } while (got == BLOCK_BYTES);
        return pw_put(invocation->session, data, bytes, params, ret_future, ret_err);
}

static enum pw_status put_path(struct pw_invocation *invocation, struct pw_future **ret_future, struct pw_error *ret_err)
{
        const char *path = invocation->operands[0];
        int64_t timeout_us = (int64_t)pw_min_u64(invocation->settings.timeout_us, PW_FOREVER);
        struct pw_put_params params = { .timeout_us = timeout_us ? timeout_us : 1 };
        struct stat stat;
        enum pw_status status = pw_type_parse(&invocation->settings, &params.dtype, &params.dims, ret_err);

        if (status != PW_OK)
                return status;
        pw_auto_close int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
        if (fd < 0)
                return pw_error_errno(ret_err, errno, "open %s", path);
        params.flags = invocation->settings.frozen ? PW_PUT_FROZEN : 0;
        if (!params.flags && fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_size) /* those of /proc say 0 */
                return put_file(invocation, fd, (uint64_t)stat.st_size, &params, ret_future, ret_err);
        return put_stream(invocation, fd, &params, ret_future, ret_err);
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

enum pw_status pw_command_free(struct pw_invocation *invocation, struct pw_error *ret_err)
{
        struct pw_id id;
        char text[PW_ID_TEXT_BYTES];
        enum pw_status status = find_id(invocation, &id, ret_err);

        if (status == PW_OK)
                status = pw_free_object(invocation->session, id, invocation->settings.force, ret_err);
        if (status == PW_OK && invocation->settings.json) {
                Pathways__Wire__Cell cell = pw_cell_text("id", pw_id_format(id, text));
                status = pw_output_cells(invocation, &cell, 1, ret_err);
        }
        return status;
}
