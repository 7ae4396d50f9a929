/* Two hosts and a loop. */
#include "tests/conformance/transport/place.h"

#include <dirent.h>
#include <errno.h>
#include <event2/event.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

uint64_t pw_now_us(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* --- what proves hosts ------------------------------------------------------------------------------------------------------ */

static char files[32]; /* their folder */

static void make_secret(const char *name, const char *bytes)
{
        char path[64];
        FILE *file;

        snprintf(path, sizeof path, "%s/%s", files, name);
        file = fopen(path, "w");
        assert_non_null(file);
        fputs(bytes, file);
        assert_int_equal(fchmod(fileno(file), 0600) | fclose(file), 0);
}

/* All that scenes show to each other: of the authority that is believed, of another one, and one that is over. */
static void make_certificates(void)
{
        const char *source = getenv("PW_SRC");
        char command[1024];

        snprintf(command, sizeof command,
                 "make=%s/examples/cluster/certificates.sh; \"$make\" %s alpha beta gamma && \"$make\" --days -1 %s old && "
                 "\"$make\" %s/other alpha beta", source ? source : ".", files, files, files);
        assert_int_equal(system(command), 0);
}

void place_files_make(void)
{
        strcpy(files, "/tmp/pw-proofs-XXXXXX");
        assert_non_null(mkdtemp(files));
        make_secret("secret", "thirty-two bytes that nobody has");
        make_secret("other-secret", "thirty-two bytes that he has not");
        make_certificates();
}

static void remove_tree(const char *path)
{
        DIR *folder = opendir(path);
        struct dirent *entry;

        while (folder && (entry = readdir(folder))) {
                char inner[600];

                if (entry->d_name[0] == '.')
                        continue;
                snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
                if (unlink(inner) < 0)
                        remove_tree(inner);
        }
        if (folder)
                closedir(folder);
        rmdir(path);
}

void place_files_remove(void) { remove_tree(files); }

int place_group_begin(void **state)
{
        (void)state;
        signal(SIGPIPE, SIG_IGN); /* as pathwaysd does */
        alarm(120);
        place_files_make();
        return 0;
}

int place_group_end(void **state)
{
        (void)state;
        place_files_remove();
        return 0;
}

void place_credentials(const char *kind, const char *shown, struct pw_transport_params *params)
{
        static char paths[4][96]; /* read before the next are asked for */

        snprintf(paths[0], sizeof paths[0], "%s/%s", files, strcmp(shown, "other-secret") ? "secret" : shown);
        snprintf(paths[1], sizeof paths[1], "%s/%s.pem", files, shown);
        snprintf(paths[2], sizeof paths[2], "%s/%s-key.pem", files, shown);
        snprintf(paths[3], sizeof paths[3], "%s/ca.pem", files);
        if (!strcmp(kind, "tcp"))
                params->secret_file = paths[0];
        if (!strcmp(kind, "tls")) {
                params->tls_cert = paths[1];
                params->tls_key = paths[2];
                params->tls_ca = paths[3];
        }
}

/* --- hosts ------------------------------------------------------------------------------------------------------------------ */

static void on_timer(evutil_socket_t fd, short what, void *context) { (void)fd, (void)what, (void)context; }

static void came(void *context, struct pw_pipe *pipe_take, const struct pw_greeting *greeting)
{
        struct place *place = context;

        pw_pipe_free(place->came);
        place->came = pipe_take;
        place->greeting = *greeting;
        place->came_count++;
}

static void refused(void *context, const struct pw_error *why)
{
        struct place *place = context;

        place->refusal = *why;
        place->refused[why->status]++;
        place->refused_count++;
}

static void called(void *context, struct pw_pipe *pipe_take, const struct pw_greeting *greeting, const struct pw_error *why)
{
        struct place *place = context;

        assert_true(!pipe_take == !!why);
        place->called = pipe_take;
        if (pipe_take)
                place->answer = *greeting;
        else
                place->why = *why;
        place->called_count++;
}

static const struct pw_listener_events events = { came, refused };

static struct pw_transport *open_one(struct place *place, const struct place_params *given, const char *name, const char *shown)
{
        struct pw_transport_params params = { .loop = &place->loop, .host_name = name,
                                              .handshake_us = given->handshake_us ? given->handshake_us : 60000000 };
        struct pw_transport *transport = NULL;
        struct pw_error err = { .text = "" };

        place_credentials(given->kind, shown ? shown : name, &params);
        if (pw_transport_open(given->kind, &params, &transport, &err) != PW_OK)
                fail_msg("%s: %s", given->kind, err.text);
        return transport;
}

void place_make(struct place *place, const struct place_params *params)
{
        const char *alpha = params->alpha_name ? params->alpha_name : "alpha";
        const char *beta = params->beta_name ? params->beta_name : "beta";
        struct pw_error err = { .text = "" };
        char address[PW_TRANSPORT_ADDRESS_TEXT] = "127.0.0.1:0";

        *place = (struct place){ .kind = pw_transport_kind(params->kind) };
        pw_loop_init(&place->loop);
        place->loop.base = event_base_new();
        place->timer = event_new(place->loop.base, -1, 0, on_timer, NULL);
        strcpy(place->folder, "/tmp/pw-transport-XXXXXX");
        assert_non_null(mkdtemp(place->folder));
        place->alpha = open_one(place, params, alpha, params->alpha_shows);
        place->beta = open_one(place, params, beta, params->beta_shows);
        if (!strcmp(params->kind, "unix"))
                snprintf(address, sizeof address, "%s/peer.sock", place->folder);
        if (pw_transport_listen(place->beta, address, &events, place, &place->listener, &err) != PW_OK)
                fail_msg("%s: %s", params->kind, err.text);
        strcpy(place->address, pw_listener_address(place->listener));
}

void place_drop_pipes(struct place *place)
{
        pw_pipe_free(place->called);
        pw_pipe_free(place->came);
        place->called = place->came = NULL;
}

void place_remove(struct place *place)
{
        place_drop_pipes(place);
        pw_transport_close(place->alpha);
        pw_transport_close(place->beta);
        event_free(place->timer);
        event_base_free(place->loop.base);
        assert_int_equal(rmdir(place->folder), 0); /* a socket's file went with its listener */
}

void place_turn(struct place *place)
{
        uint64_t now_us = pw_now_us(), next_us = pw_min_u64(place->alpha ? pw_transport_next_us(place->alpha) : UINT64_MAX,
                                                            place->beta ? pw_transport_next_us(place->beta) : UINT64_MAX);
        uint64_t wait_us = next_us > now_us ? next_us - now_us : 0;
        struct timeval wait = { (time_t)(wait_us / 1000000), (suseconds_t)(wait_us % 1000000) };

        event_del(place->timer);
        if (next_us != UINT64_MAX)
                event_add(place->timer, &wait);
        event_base_loop(place->loop.base, EVLOOP_ONCE);
        if (place->alpha)
                pw_transport_turn(place->alpha, pw_now_us());
        if (place->beta)
                pw_transport_turn(place->beta, pw_now_us());
}

void place_glance(struct place *place) { event_base_loop(place->loop.base, EVLOOP_NONBLOCK); }

void place_await(struct place *place, const uint32_t *counter, uint32_t count)
{
        while (*counter < count)
                place_turn(place);
}

/* --- calls ------------------------------------------------------------------------------------------------------------------ */

void place_begin_call(struct place *place, const char *expected, enum pw_greeting_use use)
{
        struct pw_dial_params params = { .address = place->address, .expected = expected, .use = use, .ticket = "ticket",
                                         .ticket_bytes = use == PW_USE_BULK ? 6 : 0, .done = called, .context = place };

        pw_dial_free(place->dial);
        place->dial = NULL;
        if (pw_transport_dial(place->alpha, &params, &place->dial, &place->why) != PW_OK)
                place->called_count++;
}

enum pw_status place_call(struct place *place, const char *expected, enum pw_greeting_use use)
{
        uint32_t done = place->called_count, came_before = place->came_count;

        place_begin_call(place, expected, use);
        place_await(place, &place->called_count, done + 1);
        if (!place->called)
                return place->why.status;
        place_await(place, &place->came_count, came_before + 1);
        return PW_OK;
}

int place_knock(const struct place *place)
{
        struct pw_address address;
        int fd;

        assert_int_equal(place->kind->resolve(place->address, &address, NULL), PW_OK);
        fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_true(fd >= 0);
        assert_int_equal(connect(fd, &address.any, address.bytes), 0);
        return fd;
}
