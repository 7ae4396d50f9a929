/* The table of hosts. */
#include "cluster/link/hosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pw_hosts_init(struct pw_hosts *hosts, const struct pw_hosts_params *params)
{
        *hosts = (struct pw_hosts){ .params = *params };
}

void pw_hosts_done(struct pw_hosts *hosts)
{
        struct pw_host *host;

        for (uint32_t i = 0; (host = pw_hosts_next(hosts, &i));) {
                pw_peer_free(host->peer);
                free(host);
        }
        pw_table_done(&hosts->by_number);
}

struct pw_host *pw_hosts_get(const struct pw_hosts *hosts, uint32_t number) { return pw_table_get(&hosts->by_number, number); }
struct pw_host *pw_hosts_next(const struct pw_hosts *hosts, uint32_t *cursor) { return pw_table_next(&hosts->by_number, cursor); }

/* --- what is told of them --------------------------------------------------------------------------------------------------- */

static enum pw_status check(const struct pw_hosts *hosts, const struct pw_host_row *row, const struct pw_host *known,
                            struct pw_error *ret_err)
{
        if (!row->number || !row->name[0])
                return pw_error_set(ret_err, PW_INVALID, "host %u, \"%s\": not a host", row->number, row->name);
        if (row->number == hosts->params.own->host)
                return pw_error_set(ret_err, PW_INVALID, "number %u of host %s is this host's", row->number, row->name);
        if (known && strcmp(known->row.name, row->name) && row->epoch <= known->row.epoch)
                return pw_error_set(ret_err, PW_EXISTS, "host %s in epoch %u has number %u of host %s, whose epoch is %u",
                                    row->name, row->epoch, row->number, known->row.name, known->row.epoch);
        return PW_OK;
}

static enum pw_status add(struct pw_hosts *hosts, uint32_t number, struct pw_host **ret_host, struct pw_error *ret_err)
{
        struct pw_host *host = calloc(1, sizeof *host);

        if (!host || !pw_table_put(&hosts->by_number, number, host)) {
                free(host);
                return pw_error_set(ret_err, PW_NO_MEMORY, "the row of host %u", number);
        }
        *ret_host = host;
        return PW_OK;
}

enum pw_status pw_hosts_put(struct pw_hosts *hosts, const struct pw_host_row *row, struct pw_host **ret_host,
                            struct pw_error *ret_err)
{
        struct pw_host *host = pw_hosts_get(hosts, row->number);
        enum pw_status status = check(hosts, row, host, ret_err);

        if (status == PW_OK && !host)
                status = add(hosts, row->number, &host, ret_err);
        if (status != PW_OK)
                return status;
        if (host->peer && strcmp(host->row.name, row->name)) { /* what was had with the one before is over */
                pw_peer_free(host->peer);
                host->peer = NULL;
        }
        if (row->epoch >= host->row.epoch)
                host->row = *row;
        if (ret_host)
                *ret_host = host;
        return PW_OK;
}

void pw_hosts_heard(struct pw_hosts *hosts, const struct pw_hello *hello)
{
        struct pw_host *host = pw_hosts_get(hosts, hello->host);

        if (!host || !hello->address || !hello->address[0] || hello->peer.epoch < host->row.epoch)
                return;
        host->row.successor = hello->peer.epoch == host->row.epoch ? host->row.successor : 0;
        host->row.epoch = hello->peer.epoch;
        snprintf(host->row.address, sizeof host->row.address, "%s", hello->address);
}

/* --- their peers ------------------------------------------------------------------------------------------------------------ */

enum pw_status pw_hosts_peer(struct pw_hosts *hosts, uint32_t number, struct pw_peer **ret_peer, struct pw_error *ret_err)
{
        const struct pw_hosts_params *params = &hosts->params;
        struct pw_host *host = pw_hosts_get(hosts, number);
        struct pw_peer_params of_peer = { params->link, params->own, host ? host->row.name : "", params->port, params->context };
        enum pw_status status = PW_OK;

        if (!host)
                return pw_error_set(ret_err, PW_NOT_FOUND, "host %u is not known here; see pathways hosts", number);
        of_peer.link.host = number;
        if (!host->peer)
                status = pw_peer_new(&of_peer, &host->peer, ret_err);
        if (status == PW_OK)
                *ret_peer = host->peer;
        return status;
}

enum pw_status pw_hosts_hello(struct pw_hosts *hosts, uint64_t connection, const struct pw_hello *hello, const char *proven,
                              uint64_t now_us, struct pw_peer **ret_peer, struct pw_error *ret_err)
{
        enum pw_status status = pw_hello_check(hosts->params.own, hello, proven, ret_err);
        struct pw_peer *peer = NULL;

        if (status == PW_OK && !pw_hosts_get(hosts, hello->host))
                status = pw_error_set(ret_err, PW_NOT_FOUND, "host %s, number %u, is not known here yet", hello->name, hello->host);
        if (status == PW_OK)
                status = pw_hosts_peer(hosts, hello->host, &peer, ret_err);
        if (status != PW_OK) {
                hosts->params.port->shut(hosts->params.context, connection);
                return status;
        }
        status = pw_peer_hello(peer, connection, hello, proven, now_us, ret_err);
        if (status == PW_OK)
                *ret_peer = peer;
        return status;
}
