#include "tests/integration/operator/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void http_address(struct it_host *host, char text[120])
{
        struct pw_listing *status = it_list(host->session, "status", NULL);

        snprintf(text, 120, "%s", it_text(status, 0, "http"));
        pw_listing_free(status);
}

int http_dial(const char *text)
{
        struct sockaddr_in in = { .sin_family = AF_INET };
        struct sockaddr_un un = { .sun_family = AF_UNIX };
        bool is_unix = !strncmp(text, "unix:", 5);
        const char *colon = strrchr(text, ':');
        int fd = socket(is_unix ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_true(fd >= 0);
        if (is_unix)
                snprintf(un.sun_path, sizeof un.sun_path, "%s", text + 5);
        in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        in.sin_port = htons((in_port_t)strtoul(colon + 1, NULL, 10));
        if (connect(fd, is_unix ? (struct sockaddr *)&un : (struct sockaddr *)&in, is_unix ? sizeof un : sizeof in) < 0)
                fail_msg("connect to %s: %s", text, strerror(errno));
        return fd;
}

size_t http_read(int fd, char *text)
{
        size_t used = 0;

        for (;;) {
                struct pollfd on = { .fd = fd, .events = POLLIN };
                ssize_t got;

                if (poll(&on, 1, IT_LONG / 1000) != 1)
                        fail_msg("the connection does not end");
                got = recv(fd, text + used, HTTP_ANSWER_BYTES - 1 - used, 0);
                if (got <= 0)
                        break;
                used += (size_t)got;
        }
        text[used] = 0;
        close(fd);
        return used;
}

void http_send(int fd, const char *text)
{
        (void)!send(fd, text, strlen(text), MSG_NOSIGNAL); /* who is not wanted may be cut off before */
}

int http_ask(const char *address, const char *request, char *body)
{
        int fd = http_dial(address), code = 0;
        char *head;

        http_send(fd, request);
        http_read(fd, body);
        if (sscanf(body, "HTTP/1.%*d %d", &code) != 1)
                fail_msg("no answer: \"%s\"", body);
        head = strstr(body, "\r\n\r\n");
        assert_non_null(head);
        memmove(body, head + 4, strlen(head + 4) + 1);
        return code;
}
