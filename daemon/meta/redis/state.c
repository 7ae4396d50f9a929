/* The file of a member. */
#include "daemon/meta/redis/state.h"

#include "base/memory.h"
#include "daemon/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>

#define PATH_BYTES 4096

static void path_of(const char *folder, const char *name, char path[PATH_BYTES])
{
        snprintf(path, PATH_BYTES, "%s/%s", folder, name);
}

static enum pw_status lock(struct pw_redis_state *state, struct pw_error *ret_err)
{
        enum pw_status status = pw_own_file(state->folder, "cluster.lock", &state->lock_fd, ret_err);

        if (status != PW_OK)
                return status;
        if (flock(state->lock_fd, LOCK_EX | LOCK_NB) == 0)
                return PW_OK;
        if (errno != EWOULDBLOCK)
                return pw_error_errno(ret_err, errno, "lock %s/cluster.lock", state->folder);
        return pw_error_set(ret_err, PW_EXISTS, "%s: a living daemon has this state dir; give this one another with --state-dir",
                            state->folder);
}

/* --- reading ----------------------------------------------------------------------------------------------------------------- */

/* A line of a host. False: it is none. */
static bool read_row(const char *line, struct pw_host_row *ret_row)
{
        *ret_row = (struct pw_host_row){ .number = 0 };
        return sscanf(line, "row %u %u %64s %255s %u", &ret_row->number, &ret_row->epoch, ret_row->name, ret_row->address,
                      &ret_row->successor) >= 4 && ret_row->number && ret_row->number <= 65534 && ret_row->successor <= 65534;
}

/* The four lines before the rows. */
static bool read_head(FILE *file, struct pw_redis_state *state, char cluster[65], char host[65], char machine[65])
{
        unsigned long long incarnation;
        uint32_t version;
        bool read = fscanf(file, "version %u cluster %64s host %64s machine %64s incarnation %llx number %u epoch %u confirmed %u ",
                           &version, cluster, host, machine, &incarnation, &state->number, &state->epoch, &state->confirmed) == 8;

        if (read)
                state->incarnation = incarnation;
        return read && version == 1 && state->number && state->number <= 65534;
}

static enum pw_status check_owner(const struct pw_redis_state *state, const char *cluster, const char *host, const char *machine,
                                  struct pw_error *ret_err)
{
        if (!strcmp(cluster, state->cluster) && !strcmp(host, state->host) && !strcmp(machine, state->machine))
                return PW_OK;
        return pw_error_set(ret_err, PW_EXISTS,
                            "%s: this state dir is of host %s of cluster %s on machine %s, and this is host %s of cluster %s on "
                            "machine %s; give each a state dir of its own, or remove the file \"cluster\" there to join as a new "
                            "host",
                            state->folder, host, cluster, machine, state->host, state->cluster, state->machine);
}

static enum pw_status read_file(struct pw_redis_state *state, FILE *file,
                                void (*row)(void *context, const struct pw_host_row *row), void *context, struct pw_error *ret_err)
{
        char cluster[65], host[65], machine[65], line[400];
        enum pw_status status;

        if (!read_head(file, state, cluster, host, machine))
                return pw_error_set(ret_err, PW_SYSTEM,
                                    "%s/cluster: is spoilt; put a copy back, or remove it: this host then joins as a new one, and "
                                    "what others know of its objects is lost",
                                    state->folder);
        status = check_owner(state, cluster, host, machine, ret_err);
        while (status == PW_OK && fgets(line, sizeof line, file)) {
                struct pw_host_row known;

                if (!read_row(line, &known))
                        return pw_error_set(ret_err, PW_SYSTEM, "%s/cluster: has a line that is no host's; remove it: %.40s",
                                            state->folder, line);
                row(context, &known);
        }
        return status;
}

enum pw_status pw_redis_state_open(struct pw_redis_state *state, const char *folder,
                                   void (*row)(void *context, const struct pw_host_row *row), void *context,
                                   struct pw_error *ret_err)
{
        char path[PATH_BYTES];
        enum pw_status status;
        FILE *file;
        int fd;

        state->lock_fd = -1;
        state->folder = strdup(folder);
        if (!state->folder)
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory for metadata");
        status = lock(state, ret_err);
        if (status != PW_OK)
                return status;
        path_of(state->folder, "cluster", path);
        fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0)
                return errno == ENOENT ? PW_OK : pw_error_errno(ret_err, errno, "open %s", path);
        file = fdopen(fd, "r");
        if (!file) {
                close(fd);
                return pw_error_set(ret_err, PW_NO_MEMORY, "out of memory for %s", path);
        }
        status = read_file(state, file, row, context, ret_err);
        fclose(file);
        return status;
}

/* --- writing ----------------------------------------------------------------------------------------------------------------- */

enum pw_status pw_redis_state_text(const struct pw_redis_state *state,
                                   const struct pw_host_row *(*next)(void *context, uint32_t *cursor), void *context,
                                   char **ret_text, struct pw_error *ret_err)
{
        const struct pw_host_row *row;
        char *text = NULL;
        size_t bytes = 0;
        FILE *file = open_memstream(&text, &bytes);
        bool whole;

        if (!file)
                return pw_error_set(ret_err, PW_NO_MEMORY, "%s/cluster: out of memory to write it", state->folder);
        fprintf(file, "version 1\ncluster %s\nhost %s\nmachine %s\nincarnation %016llx\nnumber %u\nepoch %u\nconfirmed %u\n",
                state->cluster, state->host, state->machine, (unsigned long long)state->incarnation, state->number, state->epoch,
                state->confirmed);
        for (uint32_t i = 0; (row = next(context, &i));)
                fprintf(file, row->successor ? "row %u %u %s %s %u\n" : "row %u %u %s %s\n", row->number, row->epoch, row->name,
                        row->address, row->successor);
        whole = !ferror(file);
        if (fclose(file) == 0 && whole) {
                *ret_text = text;
                return PW_OK;
        }
        free(text);
        return pw_error_set(ret_err, PW_NO_MEMORY, "%s/cluster: out of memory to write it", state->folder);
}

static bool write_all(int fd, const char *text)
{
        size_t bytes = strlen(text), done = 0;

        while (done < bytes) {
                ssize_t count = TEMP_FAILURE_RETRY(write(fd, text + done, bytes - done));

                if (count < 0)
                        return false;
                done += (size_t)count;
        }
        return true;
}

/* That the new name is there after the machine went down, too; where a folder cannot be synced, it is as it is. */
static void sync_folder(const char *folder)
{
        pw_auto_close int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd >= 0)
                (void)!fsync(fd);
}

enum pw_status pw_redis_state_write(const char *folder, const char *text, struct pw_error *ret_err)
{
        char path[PATH_BYTES], other[PATH_BYTES];
        pw_auto_close int fd = -1;
        enum pw_status status = pw_own_file(folder, "cluster.new", &fd, ret_err);

        if (status != PW_OK)
                return status;
        path_of(folder, "cluster", path);
        path_of(folder, "cluster.new", other);
        if (ftruncate(fd, 0) < 0 || !write_all(fd, text) || fsync(fd) < 0 || rename(other, path) < 0)
                return pw_error_errno(ret_err, errno, "write %s", path);
        sync_folder(folder);
        return PW_OK;
}

void pw_redis_state_remove(const char *folder)
{
        char path[PATH_BYTES];

        path_of(folder, "cluster", path);
        unlink(path);
        sync_folder(folder);
}

void pw_redis_state_close(struct pw_redis_state *state)
{
        if (state->folder && state->lock_fd >= 0)
                close(state->lock_fd);
        free(state->folder);
        state->folder = NULL;
}
