/* Redis and daemons, started and ended. */
#include "tests/bench/cluster/hosts.h"

#include "base/memory.h"
#include "libclient/listing.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SERVER "/usr/bin/redis-server"
#define LINKED_S 10.0 /* that hosts have to find each other */

bool pw_bench_cluster_possible(struct pw_bench_context *context)
{
        bool is = access(SERVER, X_OK) == 0;

        for (uint32_t i = 0; !is && i < context->row_count; i++)
                context->rows[i].remark = "there is no " SERVER " on this machine";
        return is;
}

/* --- Redis -------------------------------------------------------------------------------------------------------------------- */

/* In the child, which ends. */
static void exec_redis(const struct pw_bench_cluster *cluster, int out)
{
        char socket[96];

        snprintf(socket, sizeof socket, "%s/redis.sock", cluster->folder);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (dup2(out, STDOUT_FILENO) >= 0)
                execl(SERVER, "redis-server", "--port", "0", "--save", "", "--dir", cluster->folder, "--unixsocket", socket,
                      (char *)NULL);
        _exit(127);
}

/* Until it says that it listens. */
static enum pw_status start_redis(struct pw_bench_cluster *cluster, struct pw_error *ret_err)
{
        bool listens = false;
        char line[512];
        int ends[2];

        if (pipe2(ends, O_CLOEXEC) < 0)
                return pw_error_errno(ret_err, errno, "pipe");
        cluster->redis = fork();
        if (cluster->redis == 0)
                exec_redis(cluster, ends[1]);
        close(ends[1]);
        FILE *said = fdopen(ends[0], "r");
        while (said && !listens && fgets(line, sizeof line, said))
                listens = strstr(line, "connections at") != NULL;
        if (said)
                fclose(said);
        return listens ? PW_OK : pw_error_set(ret_err, PW_FAILED, "redis-server did not start");
}

/* --- hosts -------------------------------------------------------------------------------------------------------------------- */

static const char *text_of(const Pathways__Wire__Row *row, const char *key)
{
        for (size_t i = 0; i < row->n_cells; i++)
                if (!strcmp(row->cells[i]->key, key))
                        return row->cells[i]->text;
        return "";
}

/* Links of a host that are up. */
static enum pw_status count_links(struct pw_session *session, uint32_t *ret_count, struct pw_error *ret_err)
{
        struct pw_listing *listing;
        enum pw_status status = pw_list(session, "hosts", NULL, 0, &listing, ret_err);

        if (status != PW_OK)
                return status;
        *ret_count = 0;
        for (size_t i = 0; i < pw_listing_rows(listing)->n_rows; i++)
                *ret_count += !strcmp(text_of(pw_listing_rows(listing)->rows[i], "link"), "up");
        pw_listing_free(listing);
        return PW_OK;
}

/* Until host `i` has a link with each other one. */
static enum pw_status await_links(const struct pw_bench_cluster *cluster, uint32_t i, struct pw_error *ret_err)
{
        double until = pw_bench_seconds() + LINKED_S;
        struct pw_session *session;
        uint32_t links = 0;
        enum pw_status status = pw_bench_cluster_connect(cluster, i, &session, ret_err);

        if (status != PW_OK)
                return status;
        while (status == PW_OK && links + 1 < cluster->count) {
                sched_yield();
                status = count_links(session, &links, ret_err);
                if (status == PW_OK && pw_bench_seconds() > until)
                        status = pw_error_set(ret_err, PW_FAILED, "the hosts of a cluster do not find each other: host %u has %u "
                                              "links", i, links);
        }
        pw_close(session);
        return status;
}

static enum pw_status start_host(const struct pw_bench_cluster_params *params, struct pw_bench_cluster *cluster,
                                 struct pw_error *ret_err)
{
        char name[16], metadata[96], secret[96], cert[96], key[96];
        const char *more[32] = { "--cluster", "bench", "--metadata", metadata, "--host-name", name, "--listen", "127.0.0.1:0",
                                 "--lease", params->lease ? params->lease : "3s" };
        const struct pw_bench_daemon_params daemon = { .devices = 1, .host_memory = params->host_memory, .more = more };
        int count = 10;

        snprintf(name, sizeof name, "host%u", cluster->count);
        snprintf(metadata, sizeof metadata, "redis+unix:%s/redis.sock", cluster->folder);
        snprintf(secret, sizeof secret, "%s/secret", cluster->folder);
        snprintf(cert, sizeof cert, "%s/cert.pem", cluster->folder);
        snprintf(key, sizeof key, "%s/key.pem", cluster->folder);
        if (params->tls) {
                const char *const proof[] = { "--tls-cert", cert, "--tls-key", key, "--tls-ca", cert };

                memcpy(&more[count], proof, sizeof proof);
                count += (int)pw_array_count(proof);
        } else {
                more[count++] = "--secret-file";
                more[count++] = secret;
        }
        if (!cluster->count)
                more[count++] = "--new-cluster";
        return pw_bench_daemon_start(&daemon, &cluster->hosts[cluster->count++], ret_err);
}

enum pw_status pw_bench_cluster_add(const struct pw_bench_cluster_params *params, struct pw_bench_cluster *cluster,
                                    struct pw_error *ret_err)
{
        enum pw_status status = start_host(params, cluster, ret_err);

        for (uint32_t i = 0; i < cluster->count && status == PW_OK; i++)
                status = await_links(cluster, i, ret_err);
        return status;
}

enum pw_status pw_bench_cluster_start(const struct pw_bench_cluster_params *params, struct pw_bench_cluster *ret_cluster,
                                      struct pw_error *ret_err)
{
        struct pw_bench_cluster *cluster = ret_cluster;
        enum pw_status status;

        *cluster = (struct pw_bench_cluster){ .folder = "/tmp/pathways-bench-XXXXXX" };
        if (!mkdtemp(cluster->folder)) {
                status = pw_error_errno(ret_err, errno, "mkdtemp %s", cluster->folder);
                cluster->folder[0] = 0;
                return status;
        }
        status = pw_bench_proof_make(cluster->folder, ret_err);
        if (status == PW_OK)
                status = start_redis(cluster, ret_err);
        while (status == PW_OK && cluster->count < params->hosts)
                status = pw_bench_cluster_add(params, cluster, ret_err);
        return status;
}

static void remove_file(const struct pw_bench_cluster *cluster, const char *name)
{
        char path[96];

        snprintf(path, sizeof path, "%s/%s", cluster->folder, name);
        unlink(path);
}

void pw_bench_cluster_stop(struct pw_bench_cluster *cluster)
{
        static const char *const files[] = { "redis.sock", "dump.rdb", "secret", "cert.pem", "key.pem" };

        for (uint32_t i = 0; i < cluster->count; i++)
                pw_bench_daemon_stop(&cluster->hosts[i]);
        if (cluster->redis > 0) {
                kill(cluster->redis, SIGKILL);
                while (waitpid(cluster->redis, NULL, 0) < 0 && errno == EINTR)
                        ;
        }
        for (size_t i = 0; cluster->folder[0] && i < pw_array_count(files); i++)
                remove_file(cluster, files[i]);
        if (cluster->folder[0])
                rmdir(cluster->folder);
        *cluster = (struct pw_bench_cluster){ 0 };
}

enum pw_status pw_bench_cluster_connect(const struct pw_bench_cluster *cluster, uint32_t i, struct pw_session **ret_session,
                                        struct pw_error *ret_err)
{
        return pw_connect(cluster->hosts[i].socket, ret_session, ret_err);
}

double pw_bench_host_cpu_seconds(const struct pw_bench_cluster *cluster, uint32_t i)
{
        struct timespec used = { 0 };
        clockid_t clock;

        if (clock_getcpuclockid(cluster->hosts[i].pid, &clock) == 0)
                clock_gettime(clock, &used);
        return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}
