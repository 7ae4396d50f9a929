/* Memfds and their users. */
#include "daemon/memory/backing.h"

#include "base/memory.h"
#include "daemon/session/process.h"
#include "daemon/session/session.h"
#include "daemon/memory/overhead.h"
#include "daemon/memory/worker.h"

struct pw_backing_line *pw_backing_line_new(void)
{
        struct pw_backing_line *line = calloc(1, sizeof *line);

        if (!line)
                return NULL;
        line->users = 1;
        pw_list_init(&line->ready);
        pw_list_init(&line->of_worker);
        return line;
}

void pw_backing_line_unkeep(struct pw_backing_line *line)
{
        if (line && !--line->users)
                free(line);
}

struct places { uint64_t bytes; uint32_t count; };

static enum pw_status new_backing(const char *name, struct places places, struct pw_backing_line *line,
                                  struct pw_backing **ret_backing, struct pw_error *ret_err)
{
        struct pw_backing *backing = calloc(1, sizeof *backing);
        enum pw_status status;
        uint64_t bytes;

        if (!backing)
                return pw_error_set(ret_err, PW_NO_MEMORY, "pathwaysd: out of memory for %s", name);
        if (__builtin_mul_overflow(places.bytes, places.count, &bytes) || bytes > INT64_MAX)
                places = (struct places){ bytes = places.bytes, 1 };
        *backing = (struct pw_backing){ .fd = -1, .ro_fd = -1, .place_count = places.count, .place_bytes = places.bytes,
                                        .line = line };
        pw_list_init(&backing->of_daemon);
        pw_list_init(&backing->segments_in);
        pw_list_init(&backing->todo);
        pw_list_init(&backing->of_line);
        status = pw_memfd_create(name, bytes, &backing->fd, ret_err);
        if (status != PW_OK) {
                free(backing);
                return status;
        }
        backing->file = pw_memfd_file(backing->fd);
        line->users++;
        *ret_backing = backing;
        return PW_OK;
}

void pw_backing_keep(struct pw_backing *backing) { backing->users++; }

void pw_backing_unkeep(struct pw_backing *backing)
{
        if (--backing->users)
                return;
        pw_list_remove(&backing->of_daemon);
        if (backing->daemon)
                pw_overhead_forget(backing);
        if (backing->tenant && !backing->frozen)
                backing->tenant->backings--;
        pw_close_fd(&backing->fd);
        pw_close_fd(&backing->ro_fd);
        pw_backing_line_unkeep(backing->line);
        free(backing);
}

static struct pw_backed use(struct pw_backing *backing, uint64_t offset, uint64_t bytes)
{
        backing->users++;
        return (struct pw_backed){ backing, offset, bytes };
}

enum pw_status pw_backing_sole(const char *name, uint64_t bytes, const struct pw_tenant *tenant, struct pw_backed *ret_backed,
                               struct pw_error *ret_err)
{
        struct pw_backing *backing;
        enum pw_status status = new_backing(name, (struct places){ bytes, 1 }, tenant->line, &backing, ret_err);

        if (status == PW_OK)
                *ret_backed = use(backing, 0, bytes);
        return status;
}

enum pw_status pw_backing_frozen(struct pw_daemon *daemon, uint64_t bytes, struct pw_tenant *tenant, struct pw_backed *ret_backed,
                                 struct pw_error *ret_err)
{
        enum pw_status status = pw_backing_sole("pathways-frozen", bytes, tenant, ret_backed, ret_err);
        struct pw_backing *backing;

        if (status != PW_OK)
                return status;
        backing = ret_backed->backing;
        backing->frozen = true;
        backing->daemon = daemon;
        backing->tenant = tenant;
        pw_list_append(&daemon->memory.backings, &backing->of_daemon);
        return PW_OK;
}

/* The tenant may end before the worker is done with it. */
void pw_backing_thaw(struct pw_backing *backing)
{
        if (!backing->frozen || !backing->daemon)
                return;
        pw_overhead_forget(backing);
        pw_list_remove(&backing->of_daemon);
        backing->daemon = NULL;
        backing->tenant = NULL;
}

void pw_backing_leave(struct pw_process *process)
{
        if (process->backing)
                pw_backing_unkeep(process->backing);
        process->backing = NULL;
}

enum pw_status pw_backing_place(const struct pw_place_params *params, struct pw_backed *ret_control, struct pw_backed *ret_segment,
                                struct pw_error *ret_err)
{
        struct pw_process *process = params->process;
        struct pw_backing *backing = process->backing;
        uint64_t offset;

        if (!backing || backing->tenant != params->tenant || backing->taken == backing->place_count) {
                struct places places = { params->control_bytes + params->segment_bytes, PW_BACKING_PLACES };
                enum pw_status status = new_backing("pathways-client", places, params->tenant->line, &backing, ret_err);

                if (status != PW_OK)
                        return status;
                pw_backing_leave(process);
                pw_list_append(&process->daemon->memory.backings, &backing->of_daemon);
                backing->tenant = params->tenant;
                backing->daemon = process->daemon;
                backing->tenant->backings++;
                backing->users = 1;
                process->backing = backing;
        }
        offset = backing->taken++ * backing->place_bytes;
        *ret_control = use(backing, offset, params->control_bytes);
        *ret_segment = use(backing, offset + params->control_bytes, params->segment_bytes);
        return PW_OK;
}

void pw_backed_unmap(struct pw_daemon *daemon, struct pw_backed *backed, struct pw_map *map, const struct pw_store_leaving *leaving)
{
        if (!backed->backing || daemon->phase == PW_STOPPING)
                pw_unmap(map);
        else
                pw_worker_ask(daemon->memory.worker,
                              &(struct pw_memory_work){ .punch = true, .backing = backed->backing, .offset = backed->offset,
                                                                 .bytes = backed->bytes, .unmap = *map, .leaving = *leaving });
        *map = (struct pw_map){ 0 };
        if (backed->backing)
                pw_backing_unkeep(backed->backing);
        *backed = (struct pw_backed){ 0 };
}

void pw_backed_done(struct pw_daemon *daemon, struct pw_backed *backed)
{
        struct pw_map none = { 0 };

        pw_backed_unmap(daemon, backed, &none, &(struct pw_store_leaving){ NULL, 0 });
}

void pw_backing_work(struct pw_backing *backing)
{
        backing->users++;
        backing->works++;
}

void pw_backing_worked(struct pw_backing *backing)
{
        backing->works--;
        pw_backing_unkeep(backing);
}

enum pw_status pw_backing_readonly(struct pw_backing *backing, int *ret_fd, struct pw_error *ret_err)
{
        enum pw_status status = backing->ro_fd < 0 ? pw_memfd_readonly(backing->fd, &backing->ro_fd, ret_err) : PW_OK;

        if (status == PW_OK)
                *ret_fd = backing->ro_fd;
        return status;
}
