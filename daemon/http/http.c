/* The HTTP port: libevent's evhttp behind limits of its own. */
#include "daemon/http/http.h"

#include "base/memory.h"
#include "daemon/http/health.h"
#include "daemon/http/metric.h"
#include "daemon/own_file.h"
#include "daemon/settings/http_address.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define CONNECTIONS_MAX 32u
#define BACKLOG 1024
#define PEER_MAX (CONNECTIONS_MAX / 2) /* of them from one peer, where others come */
#define YOUNG_US 20000 /* no connection makes room for another before that */
#define CONNECTION_S 5
#define SWEEP_US 10000
#define PAUSE_US 1000000u /* in accepting, where there is no descriptor */
#define HEADER_BYTES 4096
#define BODY_BYTES 0
#define PART_US 300u   /* counted in one turn */
#define PART_SLOTS 64u /* between looks at the clock */
#define METRICS_KEPT_US 1000000u
#define METRICS_SHARE 100u /* counting takes at most 1 part in so many of the time */

struct pw_http {
        struct pw_daemon *daemon;
        struct evhttp *server;
        struct evconnlistener *listener;
        struct evhttp_bound_socket *bound; /* the listener is the server's then */
        uint64_t paused_until_us;    /* when descriptors may be there again; UINT64_MAX: it is not paused */
        uint64_t sweep_us;           /* when connections are ended and dropped; UINT64_MAX: there are none */
        struct pw_list connections;
        uint32_t connection_count, ending_count;
        struct pw_http_address address;
        char text[PW_HTTP_ADDRESS_TEXT];
        struct event *counting;      /* the next part of a census */
        struct pw_census census;
        uint64_t counting_us;        /* that it took so far */
        struct evhttp_request *waiting[CONNECTIONS_MAX]; /* for it */
        uint32_t waiting_count;
        char *metrics;               /* as they were counted last */
        size_t metrics_bytes;
        uint64_t metrics_until_us;
};

/* One connection, from accept to close. */
struct connection {
        struct pw_list link;
        struct pw_http *http;
        struct bufferevent *socket;
        uint64_t since_us;
        uint64_t peer;   /* the user at the other end; of TCP its address; 0: not looked at yet */
        bool asked;      /* its request is whole */
        bool ending;     /* it was shut: evhttp sees the end, and is done with it then */
};

/* --- answers ---------------------------------------------------------------------------------------------------------- */

static enum pw_status write_metrics(struct pw_http *http, uint64_t now_us)
{
        char *text = NULL;
        size_t bytes = 0;
        FILE *out = open_memstream(&text, &bytes);
        bool bad;

        if (!out)
                return PW_NO_MEMORY;
        pw_metrics_write(http->daemon, &http->census.counts, out);
        bad = ferror(out);
        if (fclose(out) != 0 || bad) {
                free(text);
                return PW_NO_MEMORY;
        }
        free(http->metrics);
        http->metrics = text;
        http->metrics_bytes = bytes;
        http->metrics_until_us = now_us + pw_max_u64(METRICS_KEPT_US, METRICS_SHARE * (http->counting_us + pw_now_us() - now_us));
        return PW_OK;
}

static void on_answered(struct evhttp_request *request, void *context)
{
        (void)request;
        ((struct pw_http *)context)->sweep_us = pw_now_us();
}

/* It has asked all that it will. */
static void mark_asked(struct pw_http *http, struct evhttp_request *request)
{
        struct bufferevent *socket = evhttp_connection_get_bufferevent(evhttp_request_get_connection(request));
        struct connection *connection;

        pw_list_each(&http->connections, connection, struct connection, link)
                connection->asked |= connection->socket == socket;
}

struct answer { int code; const char *type, *text; size_t bytes; };

static void reply(struct pw_http *http, struct evhttp_request *request, const struct answer *answer)
{
        struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
        struct evbuffer *body = evhttp_request_get_output_buffer(request);

        evhttp_add_header(headers, "Content-Type", answer->type);
        evhttp_add_header(headers, "Connection", "close");
        evhttp_add_header(headers, "Cache-Control", "no-store");
        if (evhttp_request_get_command(request) != EVHTTP_REQ_HEAD)
                evbuffer_add(body, answer->text, answer->bytes);
        evhttp_request_set_on_complete_cb(request, on_answered, http);
        evhttp_send_reply(request, answer->code, NULL, NULL);
}

static void reply_text(struct pw_http *http, struct evhttp_request *request, int code, const char *text)
{
        reply(http, request, &(struct answer){ code, "text/plain; charset=utf-8", text, strlen(text) });
}

static void reply_metrics(struct pw_http *http, struct evhttp_request *request)
{
        reply(http, request,
              &(struct answer){ 200, "text/plain; version=0.0.4; charset=utf-8", http->metrics, http->metrics_bytes });
}

/* Whose connection ended meanwhile is let go by evhttp as it is answered. */
static void answer_waiting(struct pw_http *http, bool good)
{
        for (uint32_t i = 0; i < http->waiting_count; i++) {
                if (good)
                        reply_metrics(http, http->waiting[i]);
                else
                        reply_text(http, http->waiting[i], 503, "out of memory\n");
        }
        http->waiting_count = 0;
}

/* The next part of the census, in a turn of its own. */
static void on_count(evutil_socket_t fd, short what, void *context)
{
        struct pw_http *http = context;
        uint64_t since_us = pw_now_us(), now_us;
        bool more;

        (void)fd;
        (void)what;
        pw_woken(&http->daemon->loop);
        http->daemon->loop.doing = "counting for /metrics";
        http->daemon->loop.more = true;
        do {
                more = pw_store_census(http->daemon->store, &http->census, PART_SLOTS);
                now_us = pw_now_us();
        } while (more && now_us - since_us < PART_US);
        http->counting_us += now_us - since_us;
        if (!more || event_add(http->counting, &(struct timeval){ 0, 0 }) < 0)
                answer_waiting(http, !more && write_metrics(http, now_us) == PW_OK);
}

static void on_metrics(struct evhttp_request *request, void *context)
{
        struct pw_http *http = context;

        if (!http->waiting_count && pw_now_us() < http->metrics_until_us) {
                reply_metrics(http, request);
                return;
        }
        if (http->waiting_count == CONNECTIONS_MAX) {
                reply_text(http, request, 503, "too many ask at a time\n");
                return;
        }
        mark_asked(http, request);
        http->waiting[http->waiting_count++] = request;
        if (http->waiting_count > 1)
                return;
        http->census = (struct pw_census){ .next = 0 };
        http->counting_us = 0;
        on_count(-1, 0, http);
}

static void on_health(struct evhttp_request *request, void *context)
{
        struct pw_http *http = context;
        char text[PW_HEALTH_BYTES];
        bool well = pw_health(http->daemon, text);

        reply_text(http, request, well ? 200 : 503, text);
}

static void on_other(struct evhttp_request *request, void *context)
{
        reply_text(context, request, 404, "there are /metrics and /health\n");
}

/* --- connections ------------------------------------------------------------------------------------------------------ */

static uint64_t peer_of(struct connection *connection)
{
        struct sockaddr_storage address = { 0 };
        struct ucred user;
        int fd = bufferevent_getfd(connection->socket);
        socklen_t bytes = sizeof user;

        if (connection->peer || fd < 0)
                return connection->peer;
        if (connection->http->address.any.sa_family == AF_UNIX && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &user, &bytes) == 0)
                return connection->peer = 1 + (uint64_t)user.uid;
        bytes = sizeof address;
        if (getpeername(fd, (struct sockaddr *)&address, &bytes) == 0 && address.ss_family == AF_INET)
                return connection->peer = 1 + (uint64_t)((struct sockaddr_in *)&address)->sin_addr.s_addr;
        return connection->peer = 1; /* IPv6 has one address here */
}

static uint32_t count_of(struct pw_http *http, uint64_t peer)
{
        struct connection *connection;
        uint32_t count = 0;

        pw_list_each(&http->connections, connection, struct connection, link)
                count += !connection->ending && peer_of(connection) == peer;
        return count;
}

/* Which one makes room for another: of those whose peer has its share, where there are any, one that has not asked yet, the oldest.
 * NULL: all of these are young. Others' are older then, and make no room all the same. */
static struct connection *oldest(struct pw_http *http, uint64_t now_us)
{
        struct connection *connection, *found = NULL;
        bool any_over = false;

        pw_list_each(&http->connections, connection, struct connection, link) {
                bool over = !connection->ending && count_of(http, peer_of(connection)) >= PEER_MAX;

                if (over && !any_over)
                        found = NULL; /* from now on only those */
                any_over |= over;
                if (connection->ending || over != any_over || now_us - connection->since_us < YOUNG_US)
                        continue;
                if (!found || found->asked > connection->asked)
                        found = connection;
        }
        return found;
}

static void end(struct connection *connection)
{
        if (connection->ending)
                return;
        connection->ending = true;
        connection->http->ending_count++;
        shutdown(bufferevent_getfd(connection->socket), SHUT_RDWR);
}

static bool is_crowded(const struct pw_http *http) { return http->connection_count - http->ending_count >= CONNECTIONS_MAX; }

/* Accept while there is room for connections, or one can make room, and for descriptors. */
static void set_listening(struct pw_http *http)
{
        bool room = !is_crowded(http) || (http->ending_count < CONNECTIONS_MAX && oldest(http, pw_now_us()));

        if (room && http->paused_until_us == UINT64_MAX)
                evconnlistener_enable(http->listener);
        else
                evconnlistener_disable(http->listener);
}

/* No descriptor is left: the connection stays in the socket's queue. */
static void on_accept_error(struct evconnlistener *listener, void *context)
{
        struct pw_http *http = context;

        (void)listener;
        http->paused_until_us = pw_now_us() + PAUSE_US;
        set_listening(http);
}

static void drop(struct connection *connection)
{
        pw_list_remove(&connection->link);
        connection->http->connection_count--;
        connection->http->ending_count -= connection->ending;
        bufferevent_decref(connection->socket);
        free(connection);
}

/* evhttp takes its callbacks off what it is done with. */
static bool is_over(const struct connection *connection)
{
        bufferevent_event_cb on_event;

        bufferevent_getcb(connection->socket, NULL, NULL, &on_event, NULL);
        return !on_event;
}

static void sweep(struct pw_http *http, uint64_t now_us)
{
        struct connection *connection;

        pw_list_each(&http->connections, connection, struct connection, link) {
                if (is_over(connection))
                        drop(connection);
                else if (now_us - connection->since_us >= CONNECTION_S * 1000000)
                        end(connection);
        }
        http->sweep_us = http->connection_count ? now_us + SWEEP_US : UINT64_MAX;
}

uint64_t pw_http_next_us(const struct pw_daemon *daemon)
{
        return daemon->http ? pw_min_u64(daemon->http->sweep_us, daemon->http->paused_until_us) : UINT64_MAX;
}

void pw_http_tick(struct pw_daemon *daemon, uint64_t now_us)
{
        struct pw_http *http = daemon->http;

        if (http->sweep_us <= now_us)
                sweep(http, now_us);
        if (http->paused_until_us <= now_us)
                http->paused_until_us = UINT64_MAX;
        set_listening(http);
}

/* evhttp gets a socket that has a second reference, ours: so we know how many there are, and can end each. Without memory evhttp
 * makes one of its own, whose only deadline is that on silence. */
static struct bufferevent *on_connection(struct event_base *base, void *context)
{
        struct pw_http *http = context;
        struct connection *connection = calloc(1, sizeof *connection), *other = is_crowded(http) ? oldest(http, pw_now_us()) : NULL;

        if (!connection)
                return NULL;
        if (other)
                end(other);
        connection->http = http;
        connection->since_us = pw_now_us();
        connection->socket = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
        if (!connection->socket) {
                free(connection);
                return NULL;
        }
        bufferevent_incref(connection->socket);
        pw_list_append(&http->connections, &connection->link);
        if (!http->connection_count++)
                http->sweep_us = connection->since_us + SWEEP_US;
        set_listening(http);
        return connection->socket;
}

/* --- life --------------------------------------------------------------------------------------------------------------- */

static enum pw_status cannot_listen(struct pw_http *http, int number, struct pw_error *ret_err)
{
        return pw_error_errno(ret_err, number, "--http: listen on %s", http->text);
}

static enum pw_status open_socket(struct pw_http *http, int *ret_fd, struct pw_error *ret_err)
{
        struct pw_http_address *address = &http->address;
        bool is_unix = address->any.sa_family == AF_UNIX;
        pw_auto_close int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        enum pw_status status = PW_OK;
        mode_t mask;
        int yes = 1;
        bool bound;

        if (fd < 0)
                return cannot_listen(http, errno, ret_err);
        if (is_unix && connect(fd, &address->any, address->bytes) < 0 && errno == ECONNREFUSED) /* of somebody who is dead */
                status = pw_old_socket_remove(address->un.sun_path, ret_err);
        if (status != PW_OK)
                return status;
        if (!is_unix)
                setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        mask = umask(0); /* a socket in a file system begins with the mode of its descriptor: no path is looked up again */
        bound = (!is_unix || fchmod(fd, http->daemon->settings.socket_mode) == 0) && bind(fd, &address->any, address->bytes) == 0;
        umask(mask);
        if (!bound || listen(fd, BACKLOG) < 0)
                return cannot_listen(http, errno, ret_err);
        if (!is_unix && getsockname(fd, &address->any, &address->bytes) < 0)
                return cannot_listen(http, errno, ret_err);
        pw_http_address_format(address, http->text);
        *ret_fd = fd;
        fd = -1;
        return PW_OK;
}

static enum pw_status serve(struct pw_http *http, struct pw_error *ret_err)
{
        struct event_base *base = http->daemon->loop.base;
        int fd = -1;
        enum pw_status status = open_socket(http, &fd, ret_err);

        if (status != PW_OK)
                return status;
        http->listener = evconnlistener_new(base, NULL, NULL, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
        if (!http->listener)
                close(fd);
        http->counting = event_new(base, -1, 0, on_count, http);
        http->server = evhttp_new(base);
        if (!http->listener || !http->counting || !http->server)
                return pw_error_set(ret_err, PW_NO_MEMORY, "--http: out of memory");
        evconnlistener_set_error_cb(http->listener, on_accept_error);
        evhttp_set_bevcb(http->server, on_connection, http);
        evhttp_set_timeout(http->server, CONNECTION_S);
        evhttp_set_max_headers_size(http->server, HEADER_BYTES);
        evhttp_set_max_body_size(http->server, BODY_BYTES);
        evhttp_set_allowed_methods(http->server, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
        evhttp_set_gencb(http->server, on_other, http);
        if (evhttp_set_cb(http->server, "/metrics", on_metrics, http) < 0 ||
            evhttp_set_cb(http->server, "/health", on_health, http) < 0)
                return pw_error_set(ret_err, PW_NO_MEMORY, "--http: out of memory");
        http->bound = evhttp_bind_listener(http->server, http->listener);
        return http->bound ? PW_OK : pw_error_set(ret_err, PW_NO_MEMORY, "--http: out of memory");
}

enum pw_status pw_http_new(struct pw_daemon *daemon, struct pw_http **ret_http, struct pw_error *ret_err)
{
        struct pw_http *http = calloc(1, sizeof *http);
        enum pw_status status;

        if (!http)
                return pw_error_set(ret_err, PW_NO_MEMORY, "--http: out of memory");
        http->daemon = daemon;
        http->paused_until_us = http->sweep_us = UINT64_MAX;
        pw_list_init(&http->connections);
        status = pw_http_address_parse(daemon->settings.http, &http->address, ret_err);
        if (status == PW_OK) {
                pw_http_address_format(&http->address, http->text);
                status = serve(http, ret_err);
        }
        if (status != PW_OK) {
                pw_http_free(http);
                return status;
        }
        *ret_http = http;
        return PW_OK;
}

const char *pw_http_address(const struct pw_http *http)
{
        return http ? http->text : "";
}

void pw_http_free(struct pw_http *http)
{
        struct connection *connection;

        if (!http)
                return;
        if (http->listener && !http->bound)
                evconnlistener_free(http->listener);
        for (uint32_t i = 0; i < http->waiting_count; i++) /* the server has the others */
                if (!evhttp_request_get_connection(http->waiting[i]))
                        evhttp_request_free(http->waiting[i]);
        if (http->server)
                evhttp_free(http->server);
        pw_list_each(&http->connections, connection, struct connection, link)
                drop(connection);
        if (http->counting)
                event_free(http->counting);
        if (http->bound && http->address.any.sa_family == AF_UNIX)
                (void)!pw_old_socket_remove(http->address.un.sun_path, NULL);
        free(http->metrics);
        free(http);
}
