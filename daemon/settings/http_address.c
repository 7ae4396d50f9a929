/* Addresses of the HTTP port, as people write them. */
#include "daemon/settings/http_address.h"

#include "base/memory.h"

#include <arpa/inet.h>
#include <stdio.h>

static enum pw_status bad(const char *text, struct pw_error *ret_err)
{
        return pw_error_set(
                ret_err, PW_INVALID,
                "--http \"%.80s\": ADDR:PORT or unix:PATH, for example 127.0.0.1:9464, [::1]:9464, unix:/run/pathways/http.sock",
                text);
}

static enum pw_status not_here(const char *text, struct pw_error *ret_err)
{
        return pw_error_set(ret_err, PW_INVALID,
                            "--http %.80s: beyond this host nothing is served without TLS, which --http does not speak; listen on "
                            "127.0.0.1, [::1] or unix:PATH, behind a proxy that does",
                            text);
}

static enum pw_status parse_unix(const char *text, struct pw_http_address *ret_address, struct pw_error *ret_err)
{
        const char *path = text + strlen("unix:");

        if (*path != '/')
                return pw_error_set(ret_err, PW_INVALID, "--http %.80s: the path of a socket begins with a slash", text);
        if (strlen(path) >= sizeof ret_address->un.sun_path)
                return pw_error_set(ret_err, PW_INVALID, "--http %.80s...: too long for a socket (%zu bytes at most)", text,
                                    sizeof ret_address->un.sun_path - 1);
        *ret_address = (struct pw_http_address){ .un = { .sun_family = AF_UNIX }, .bytes = sizeof ret_address->un };
        strcpy(ret_address->un.sun_path, path);
        return PW_OK;
}

/* "9464", 0 included. */
static bool parse_port(const char *text, in_port_t *ret_port)
{
        size_t digits = strspn(text, "0123456789");
        unsigned long port = digits >= 1 && digits <= 5 && !text[digits] ? strtoul(text, NULL, 10) : 65536;

        *ret_port = htons((in_port_t)port);
        return port <= 65535;
}

static enum pw_status parse_in(const char *text, const char *host, in_port_t port, struct pw_http_address *ret_address,
                               struct pw_error *ret_err)
{
        struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = port };

        if (inet_pton(AF_INET, strcmp(host, "localhost") ? host : "127.0.0.1", &in.sin_addr) != 1)
                return pw_error_set(ret_err, PW_INVALID, "--http %.80s: names are not looked up, give a number such as 127.0.0.1",
                                    text);
        if (ntohl(in.sin_addr.s_addr) >> 24 != IN_LOOPBACKNET)
                return not_here(text, ret_err);
        *ret_address = (struct pw_http_address){ .in = in, .bytes = sizeof in };
        return PW_OK;
}

static enum pw_status parse_in6(const char *text, const char *host, in_port_t port, struct pw_http_address *ret_address,
                                struct pw_error *ret_err)
{
        struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = port };

        if (inet_pton(AF_INET6, host, &in6.sin6_addr) != 1)
                return bad(text, ret_err);
        if (!IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr))
                return not_here(text, ret_err);
        *ret_address = (struct pw_http_address){ .in6 = in6, .bytes = sizeof in6 };
        return PW_OK;
}

enum pw_status pw_http_address_parse(const char *text, struct pw_http_address *ret_address, struct pw_error *ret_err)
{
        const char *colon = strrchr(text, ':');
        char host[64];
        in_port_t port;
        size_t length;

        if (!strncmp(text, "unix:", 5))
                return parse_unix(text, ret_address, ret_err);
        length = colon ? (size_t)(colon - text) : 0;
        if (!length || !parse_port(colon + 1, &port))
                return bad(text, ret_err);
        if (length >= sizeof host)
                return bad(text, ret_err);
        if (*text == '[' && colon[-1] == ']') {
                snprintf(host, sizeof host, "%.*s", (int)length - 2, text + 1);
                return parse_in6(text, host, port, ret_address, ret_err);
        }
        snprintf(host, sizeof host, "%.*s", (int)length, text);
        return strchr(host, ':') ? bad(text, ret_err) : parse_in(text, host, port, ret_address, ret_err);
}

char *pw_http_address_format(const struct pw_http_address *address, char text[PW_HTTP_ADDRESS_TEXT])
{
        char host[INET6_ADDRSTRLEN] = "?";

        if (address->any.sa_family == AF_UNIX) {
                snprintf(text, PW_HTTP_ADDRESS_TEXT, "unix:%s", address->un.sun_path);
        } else if (address->any.sa_family == AF_INET6) {
                inet_ntop(AF_INET6, &address->in6.sin6_addr, host, sizeof host);
                snprintf(text, PW_HTTP_ADDRESS_TEXT, "[%s]:%u", host, ntohs(address->in6.sin6_port));
        } else {
                inet_ntop(AF_INET, &address->in.sin_addr, host, sizeof host);
                snprintf(text, PW_HTTP_ADDRESS_TEXT, "%s:%u", host, ntohs(address->in.sin_port));
        }
        return text;
}
