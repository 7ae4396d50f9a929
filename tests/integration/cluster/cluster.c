/* Daemons of one cluster. */
#include "tests/integration/cluster/cluster.h"

#include "tests/integration/folder.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[CLUSTER_HOSTS] = { "anna", "bert", "cleo" };

const char *cluster_name(int i) { return names[i]; }

int cluster_set_up(void **state)
{
        struct cluster *cluster = calloc(1, sizeof *cluster);

        if (!server_is_there()) {
                free(cluster);
                it_skip("there is no redis-server here");
                return 0;
        }
        assert_non_null(cluster);
        *state = cluster;
        for (int i = 0; i < CLUSTER_HOSTS; i++) {
                it_host_init(&cluster->hosts[i]);
                cluster->ready[i] = -1;
        }
        server_begin(&cluster->server, NULL);
        return 0;
}

struct proof { char address[300], cert[300], key[300], ca[300]; };

/* How host `i` is called, and how it proves who it is: further arguments, `count` of which are there. */
static int listens(const struct cluster *cluster, int i, struct proof *proof, const char **args, int count)
{
        args[count++] = "--listen";
        args[count++] = proof->address;
        snprintf(proof->address, sizeof proof->address, "127.0.0.1:0");
        if (cluster->certificates) {
                snprintf(proof->cert, sizeof proof->cert, "%s/%s.pem", cluster->certificates, names[i]);
                snprintf(proof->key, sizeof proof->key, "%s/%s-key.pem", cluster->certificates, names[i]);
                snprintf(proof->ca, sizeof proof->ca, "%s/ca.pem", cluster->certificates);
                memcpy(args + count, (const char *[]){ "--tls-cert", proof->cert, "--tls-key", proof->key, "--tls-ca", proof->ca },
                       6 * sizeof *args);
                return count + 6;
        }
        if (cluster->secret_file) {
                args[count++] = "--secret-file";
                args[count++] = cluster->secret_file;
        } else {
                snprintf(proof->address, sizeof proof->address, "%s/%s.peer", cluster->server.folder, names[i]);
        }
        return count;
}

void cluster_launch(struct cluster *cluster, int i, const char *name, bool founds)
{
        const char *lease = cluster->lease ? cluster->lease : "400ms";
        const char *args[32] = { IT_SMALL, "--lease", lease, "--cluster", "ants", "--metadata", cluster->server.address,
                                 "--host-name", name ? name : names[i] };
        int count = 14;
        struct proof proof;

        if (cluster->linked)
                count = listens(cluster, i, &proof, args, count);
        if (cluster->apart)
                args[count++] = "--emulated-apart";
        if (cluster->serves) {
                args[count++] = "--http";
                args[count++] = "127.0.0.1:0";
        }

        if (cluster->password_file) {
                args[count++] = "--redis-password-file";
                args[count++] = cluster->password_file;
        }
        if (cluster->tenants[i]) {
                args[count++] = "--tenant";
                args[count++] = cluster->tenants[i];
        }
        if (founds)
                args[count++] = "--new-cluster";
        cluster->ready[i] = it_host_launch(&cluster->hosts[i], args);
}

void cluster_await(struct cluster *cluster, int i)
{
        char said[600];
        int code, ready = cluster->ready[i];

        cluster->ready[i] = -1;
        if (!it_host_await(&cluster->hosts[i], ready, &code, said))
                fail_msg("pathwaysd of host %d ended with %d: %s", i, code, said);
        cluster->hosts[i].session = it_connect(&cluster->hosts[i]);
}

void cluster_start(struct cluster *cluster, int i, bool founds)
{
        cluster_launch(cluster, i, NULL, founds);
        cluster_await(cluster, i);
}

void cluster_start_all(struct cluster *cluster)
{
        cluster->linked = true;
        for (int i = 0; i < CLUSTER_HOSTS; i++)
                cluster_start(cluster, i, i == 0);
        cluster_meet(cluster);
}

static bool has_all(const char *text, const char *texts)
{
        char *list = strdup(texts), *rest = list, *one;
        bool has = true;

        while ((one = strsep(&rest, "|")))
                has &= strstr(text, one) != NULL;
        free(list);
        return has;
}

void cluster_until_refused(struct cluster *cluster, int i, enum pw_status status, const char *texts)
{
        int64_t limit_us = it_now_us() + IT_LONG;
        struct pw_session *session = NULL;
        struct pw_error err = { PW_OK, "" };

        while (pw_connect(cluster->hosts[i].socket, &session, &err) != status || !has_all(err.text, texts)) {
                pw_close(session);
                session = NULL;
                if (it_now_us() > limit_us)
                        fail_msg("host %d says to who connects: %d, %s", i, (int)err.status, err.text);
                sched_yield();
        }
}

void cluster_end(struct cluster *cluster, int i)
{
        it_host_clean(&cluster->hosts[i]);
        assert_int_equal(it_host_end(&cluster->hosts[i], SIGTERM), 0);
}

void cluster_kill(struct cluster *cluster, int i)
{
        struct it_host *host = &cluster->hosts[i];

        assert_int_equal(it_host_end(host, SIGKILL), 128 + SIGKILL);
        pw_close(host->session);
        host->session = NULL;
}

struct cell { const char *key, *text; };

static bool cell_is(const struct pw_listing *listing, void *context)
{
        const struct cell *cell = context;
        const char *text = it_text(listing, 0, cell->key);

        return cell->text ? strstr(text, cell->text) != NULL : !*text;
}

void cluster_until(struct cluster *cluster, int i, const char *key, const char *text)
{
        it_until(cluster->hosts[i].session, "status", cell_is, &(struct cell){ key, text });
}

struct link { const char *host, *state; };

static bool link_is(const struct pw_listing *listing, void *context)
{
        const struct link *link = context;

        for (size_t row = 0; row < it_rows(listing); row++)
                if (!strcmp(it_text(listing, row, "name"), link->host))
                        return !strcmp(it_text(listing, row, "link"), link->state);
        return false;
}

void cluster_until_link(struct cluster *cluster, int i, int other, const char *state)
{
        it_until(cluster->hosts[i].session, "hosts", link_is, &(struct link){ names[other], state });
}

void cluster_meet(struct cluster *cluster)
{
        for (int i = 0; i < CLUSTER_HOSTS; i++)
                for (int other = 0; other < CLUSTER_HOSTS; other++)
                        if (i != other && cluster->hosts[i].session && cluster->hosts[other].session)
                                cluster_until_link(cluster, i, other, "up");
}

int cluster_tear_down(void **state)
{
        struct cluster *cluster = *state;
        int status = 0;

        if (!cluster)
                return 0;
        for (int i = 0; i < CLUSTER_HOSTS; i++) {
                struct it_host *host = &cluster->hosts[i];

                if (host->session)
                        it_host_clean(host);
                if (host->pid)
                        status |= it_host_end(host, SIGTERM);
                it_host_done(host);
        }
        server_end(&cluster->server);
        free(cluster);
        assert_int_equal(status, 0);
        return 0;
}

void cluster_print_logs(const struct cluster *cluster)
{
        char line[600];

        for (int i = 0; i < CLUSTER_HOSTS; i++) {
                FILE *log = fopen(cluster->hosts[i].log, "re");

                print_error("log of host %d\n", i);
                while (log && fgets(line, sizeof line, log))
                        print_error("  %s", line);
                if (log)
                        fclose(log);
        }
}
