/* Addresses of Redis. */
#include "daemon/meta/redis/address.h"

#include "base/memory.h"

#include <arpa/inet.h>
#include <stdio.h>

static enum pw_status bad(const char *text, const char *why, struct pw_error *ret_err)
{
        return pw_error_set(ret_err, PW_INVALID, "metadata %s: %s; say redis://ADDR:PORT or redis+unix:/PATH", text, why);
}

static enum pw_status parse_port(const char *text, const char *digits, uint16_t *ret_port, struct pw_error *ret_err)
{
        char *end;
        unsigned long port = strtoul(digits, &end, 10);

        if (digits[0] < '0' || digits[0] > '9' || *end || !port || port > UINT16_MAX)
                return bad(text, "its port is no number from 1 to 65535", ret_err);
        *ret_port = (uint16_t)port;
        return PW_OK;
}

static bool is_numeric(struct pw_redis_address *address)
{
        struct in6_addr six;
        struct in_addr four;

        if (inet_pton(AF_INET, address->host, &four) == 1) {
                address->is_loopback = ntohl(four.s_addr) >> 24 == 127;
                return true;
        }
        address->is_loopback = !strcmp(address->host, "::1");
        return inet_pton(AF_INET6, address->host, &six) == 1;
}

static enum pw_status parse_path(const char *text, const char *path, struct pw_redis_address *address, struct pw_error *ret_err)
{
        if (*path != '/' || strlen(path) >= sizeof address->host)
                return bad(text, "its path does not begin with /, or has more than 107 bytes", ret_err);
        snprintf(address->host, sizeof address->host, "%s", path);
        address->is_path = address->is_loopback = true;
        return PW_OK;
}

enum pw_status pw_redis_address_parse(const char *text, struct pw_redis_address *ret_address, struct pw_error *ret_err)
{
        struct pw_redis_address address = { .port = 6379 };
        const char *host, *end, *port;
        enum pw_status status;

        if (!strncmp(text, "redis+unix:", 11)) {
                address.port = 0;
                status = parse_path(text, text + 11, &address, ret_err);
                if (status == PW_OK)
                        *ret_address = address;
                return status;
        }
        if (strncmp(text, "redis://", 8))
                return bad(text, "no such kind of address", ret_err);
        host = text + 8 + (text[8] == '[');
        end = text[8] == '[' ? strchrnul(host, ']') : strchrnul(host, ':');
        port = end + (text[8] == '[' && *end);
        if ((size_t)(end - host) >= sizeof address.host || (*port && *port != ':') ||
            (text[8] == '[' && *end != ']'))
                return bad(text, "it is not ADDR:PORT", ret_err);
        snprintf(address.host, sizeof address.host, "%.*s", (int)(end - host), host);
        if (!is_numeric(&address))
                return bad(text, "its address is not numeric, and names are not looked up", ret_err);
        if (*port && (status = parse_port(text, port + 1, &address.port, ret_err)) != PW_OK)
                return status;
        *ret_address = address;
        return PW_OK;
}
