/* The options of metadata. */
#include "daemon/settings/metadata.h"

#include "base/memory.h"
#include "base/size.h"
#include "cluster/link/hosts.h"
#include "daemon/meta/redis/address.h"

#include <string.h>

#define LEASE_LEAST_US 100000u
#define LEASE_MOST_US UINT64_C(3600000000)
#define LINK_RESERVE_MOST (32 * PW_MIB)

static enum pw_status check_name(const char *option, const char *name, struct pw_error *ret_err)
{
        if (pw_host_name_ok(name))
                return PW_OK;
        return pw_error_set(ret_err, PW_INVALID, "--%s %.80s: 1 to %u letters, digits and \"-._\"", option, name, PW_HOST_NAME_MAX);
}

/* What only a host of a cluster has. */
static enum pw_status check_alone(const struct pw_settings *settings, struct pw_error *ret_err)
{
        const struct { const char *option; bool given; } options[] = {
                { "cluster", settings->cluster },
                { "new-cluster", settings->new_cluster },
                { "host-name", settings->host_name },
                { "redis-user", settings->redis_user },
                { "redis-password-file", settings->redis_password_file },
                { "redis-plaintext", settings->redis_plaintext },
                { "listen", settings->listen },
                { "secret-file", settings->secret_file },
                { "tls-cert", settings->tls_cert },
                { "tls-key", settings->tls_key },
                { "tls-ca", settings->tls_ca },
        };

        for (uint32_t i = 0; i < pw_array_count(options); i++)
                if (options[i].given)
                        return pw_error_set(ret_err, PW_INVALID,
                                            "--%s: is for a host of a cluster, and metadata is embedded; give --metadata too, for "
                                            "example redis://127.0.0.1:6379",
                                            options[i].option);
        return PW_OK;
}

static enum pw_status check_address(const struct pw_settings *settings, struct pw_error *ret_err)
{
        struct pw_redis_address address;
        struct pw_error why;
        enum pw_status status = pw_redis_address_parse(settings->metadata, &address, &why);

        if (status != PW_OK)
                return pw_error_set(ret_err, status, "--metadata %.300s", why.text);
        if (!address.is_loopback && !settings->redis_plaintext)
                return pw_error_set(ret_err, PW_INVALID,
                                    "--metadata %.120s: is on another machine, and nothing is encrypted on the way; give "
                                    "--redis-plaintext if that network is trusted, or a tunnel's end on this machine",
                                    settings->metadata);
        return PW_OK;
}

/* What proves this host where it listens. */
static enum pw_status check_listening(const struct pw_settings *settings, struct pw_error *ret_err)
{
        bool tls = settings->tls_cert || settings->tls_key || settings->tls_ca;

        if (!settings->listen && (tls || settings->secret_file))
                return pw_error_set(ret_err, PW_INVALID, "--%s: proves this host to others; give --listen too",
                                    tls ? "tls-cert" : "secret-file");
        if (!settings->listen || settings->listen[0] == '/')
                return PW_OK;
        if (tls && (!settings->tls_cert || !settings->tls_key || !settings->tls_ca))
                return pw_error_set(ret_err, PW_INVALID, "--tls-cert, --tls-key and --tls-ca: one of them is missing");
        if (tls && settings->secret_file)
                return pw_error_set(ret_err, PW_INVALID, "--secret-file: certificates prove this host already");
        if (!tls && !settings->secret_file)
                return pw_error_set(ret_err, PW_INVALID, "--listen %.80s: nothing proves this host there; give --tls-cert, "
                                    "--tls-key and --tls-ca, or on loopback --secret-file", settings->listen);
        return PW_OK;
}

enum pw_status pw_metadata_check(const struct pw_settings *settings, struct pw_error *ret_err)
{
        enum pw_status status;

        if (settings->lease_us < LEASE_LEAST_US || settings->lease_us > LEASE_MOST_US)
                return pw_error_set(ret_err, PW_INVALID, "--lease: from 100ms to 1h");
        if (settings->link_reserve < PW_MIB || settings->link_reserve > LINK_RESERVE_MOST)
                return pw_error_set(ret_err, PW_INVALID, "--link-reserve: from 1 MiB to 32 MiB");
        if (!strcmp(settings->metadata, "embedded"))
                return check_alone(settings, ret_err);
        status = check_address(settings, ret_err);
        if (status != PW_OK)
                return status;
        if (!settings->cluster)
                return pw_error_set(ret_err, PW_INVALID, "--metadata %.120s: give the cluster's name too, by --cluster",
                                    settings->metadata);
        if (settings->redis_user && !settings->redis_password_file)
                return pw_error_set(ret_err, PW_INVALID, "--redis-user %.80s: give the password too, by --redis-password-file",
                                    settings->redis_user);
        status = check_name("cluster", settings->cluster, ret_err);
        if (status == PW_OK && settings->host_name)
                status = check_name("host-name", settings->host_name, ret_err);
        return status == PW_OK ? check_listening(settings, ret_err) : status;
}
