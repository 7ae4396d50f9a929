/* Addresses as text. */
#include "daemon/transport/address.h"

#include "base/memory.h"

#include <arpa/inet.h>
#include <stdio.h>

static enum pw_status bad(const char *text, struct pw_error *ret_err)
{
        return pw_error_set(ret_err, PW_INVALID,
                            "address \"%.80s\": ADDR:PORT in numbers, for example 127.0.0.1:7400, [::1]:7400, 10.0.0.7:0", text);
}

enum pw_status pw_address_parse(const char *text, struct pw_address *ret_address, struct pw_error *ret_err)
{
        const char *colon = strrchr(text, ':'), *end = colon;
        char host[INET6_ADDRSTRLEN];
        struct sockaddr_in in = { .sin_family = AF_INET };
        struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
        size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
        unsigned long port = digits && digits <= 5 && !colon[1 + digits] ? strtoul(colon + 1, NULL, 10) : 65536;
        bool six = text[0] == '[';

        if (port > 65535 || (six && (end - text < 2 || *--end != ']')) || end - text - six >= (ptrdiff_t)sizeof host)
                return bad(text, ret_err);
        memcpy(host, text + six, (size_t)(end - text - six));
        host[end - text - six] = 0;
        in.sin_port = in6.sin6_port = htons((in_port_t)port);
        if (six ? inet_pton(AF_INET6, host, &in6.sin6_addr) != 1 : inet_pton(AF_INET, host, &in.sin_addr) != 1)
                return bad(text, ret_err);
        if (six)
                *ret_address = (struct pw_address){ .in6 = in6, .bytes = sizeof in6 };
        else
                *ret_address = (struct pw_address){ .in = in, .bytes = sizeof in };
        return PW_OK;
}

enum pw_status pw_address_parse_path(const char *text, struct pw_address *ret_address, struct pw_error *ret_err)
{
        size_t bytes = strlen(text);

        if (*text != '/')
                return pw_error_set(ret_err, PW_INVALID, "address \"%.80s\": the path of a socket begins with a slash", text);
        if (bytes >= sizeof ret_address->un.sun_path)
                return pw_error_set(ret_err, PW_INVALID, "address \"%.80s...\": too long for a socket (%zu bytes at most)", text,
                                    sizeof ret_address->un.sun_path - 1);
        *ret_address = (struct pw_address){ .un = { .sun_family = AF_UNIX }, .bytes = sizeof ret_address->un };
        memcpy(ret_address->un.sun_path, text, bytes + 1);
        return PW_OK;
}

bool pw_address_is_local(const struct pw_address *address)
{
        const struct in6_addr *six = &address->in6.sin6_addr;

        switch (address->any.sa_family) {
        case AF_UNIX: return true;
        case AF_INET: return ntohl(address->in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
        case AF_INET6: return IN6_IS_ADDR_LOOPBACK(six) || (IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == IN_LOOPBACKNET);
        default: return false;
        }
}

char *pw_address_format(const struct pw_address *address, char *text, size_t text_bytes)
{
        char host[INET6_ADDRSTRLEN] = "?";

        if (address->any.sa_family == AF_INET) {
                inet_ntop(AF_INET, &address->in.sin_addr, host, sizeof host);
                snprintf(text, text_bytes, "%s:%u", host, ntohs(address->in.sin_port));
        } else if (address->any.sa_family == AF_INET6) {
                inet_ntop(AF_INET6, &address->in6.sin6_addr, host, sizeof host);
                snprintf(text, text_bytes, "[%s]:%u", host, ntohs(address->in6.sin6_port));
        } else if (address->any.sa_family == AF_UNIX && address->bytes > sizeof(sa_family_t) && address->un.sun_path[0]) {
                snprintf(text, text_bytes, "%.*s", (int)(address->bytes - sizeof(sa_family_t)), address->un.sun_path);
        } else {
                snprintf(text, text_bytes, "a process of this host");
        }
        return text;
}
